"""The sample data is found beside the commands, in a checkout and in an installed wheel."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest
import setuptools
from setuptools.command.build_py import build_py
from typer.testing import CliRunner

import threadbook
from tryout import sample_data

ROOT = Path(__file__).parents[3]


def test_the_data_of_the_demo_stands_where_its_commands_look() -> None:
    assert (sample_data.EXAMPLES / "sales" / "story.yaml").is_file()
    assert (sample_data.EXAMPLES / "telco" / "database.yaml").is_file()


def test_a_wheel_holds_the_data_beside_the_commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT)
    given: dict[str, dict[str, type[build_py]]] = {}
    monkeypatch.setattr(setuptools, "setup", given.update)
    exec(compile((ROOT / "setup.py").read_text(encoding="utf-8"), "setup.py", "exec"), {"__name__": "setup"})
    monkeypatch.setattr(build_py, "run", lambda self: None)
    build = given["cmdclass"]["build_py"](setuptools.Distribution())
    build.build_lib, build.editable_mode = str(tmp_path), False
    build.run()
    packed = {path.relative_to(tmp_path / "tryout/examples") for path in tmp_path.rglob("*") if path.is_file()}
    data = {path.relative_to(ROOT / "examples") for path in (ROOT / "examples").rglob("*.*") if path.is_file()}
    assert packed == {path for path in data if path.suffix not in {".py", ".pyc"}}


def test_the_version_is_that_of_the_package() -> None:
    printed = CliRunner().invoke(threadbook.app, ["--version"])
    assert printed.output == f"threadbook {importlib.metadata.version('threadbook')}\n"
    assert printed.exit_code == 0
