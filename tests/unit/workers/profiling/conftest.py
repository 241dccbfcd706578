"""Runs the describing cell as a session would: its source in a namespace, its output read back."""

from __future__ import annotations

import builtins
import contextlib
import io
import types
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import pytest

from core.steps import FileAbstract, FileProblem
from executor.values import CellResult
from workers.profiling.file_profiles import describe_code, read_abstracts

RunCell = Callable[..., CellResult]
Describe = Callable[..., tuple[list[FileAbstract], list[FileProblem]]]


@cache
def _compiled(source: str, filename: str, mode: str) -> types.CodeType:
    """`compile` for the cell: it brings fifteen modules along, and two hundred tests run it."""
    return compile(source, filename, mode, dont_inherit=True)


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
        known = {"__builtins__": {**vars(builtins), "compile": _compiled}}
        with contextlib.redirect_stdout(output):
            exec(describe_code(paths, **bounds), known if namespace is None else namespace)
        return CellResult(id="files", status="ok", stdout=output.getvalue())

    return run


@pytest.fixture
def describe(run_cell: RunCell) -> Describe:
    """Abstracts and problems of files in the folder."""

    def run(*paths: str, **bounds: int) -> tuple[list[FileAbstract], list[FileProblem]]:
        return read_abstracts(run_cell(paths, **bounds), "en", paths)

    return run
