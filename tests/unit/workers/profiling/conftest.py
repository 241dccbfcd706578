"""Runs the describing cell as a session would: its source in a namespace, its output read back."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from core.steps import FileAbstract, FileProblem
from executor.values import CellResult
from workers.profiling.file_profiles import describe_code, read_abstracts

RunCell = Callable[..., CellResult]
Describe = Callable[..., tuple[list[FileAbstract], list[FileProblem]]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder of the session."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run_cell(folder: Path) -> RunCell:
    """The cell's result, run in the folder."""

    def run(paths: Sequence[str], namespace: dict[str, object] | None = None, **bounds: int) -> CellResult:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(describe_code(paths, **bounds), {} if namespace is None else namespace)
        return CellResult(id="files", status="ok", stdout=output.getvalue())

    return run


@pytest.fixture
def describe(run_cell: RunCell) -> Describe:
    """Abstracts and problems of files in the folder."""

    def run(*paths: str, **bounds: int) -> tuple[list[FileAbstract], list[FileProblem]]:
        return read_abstracts(run_cell(paths, **bounds), "en", paths)

    return run
