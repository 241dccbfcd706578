"""`threadbook build` on the command line, inside real walls: packages are asked for, installed and used."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from wheel_kit import wheel

from core.settings import load_settings
from tryout.commands.build import Options, run

pytestmark = pytest.mark.process

TEXT = """
[file]
name = "p"
[project]
requirements = "Print HELLO!"
[run]
packages = ["shout"]
[build]
rounds = 0
without = ["lint", "types", "security", "coverage", "review"]
[tests]
mutants = 0
[[tests.case]]
name = "it shouts"
covers = ["R1"]
expect = { stdout = "HELLO!\\n" }
"""
RECORDED = """# Answers that were written beforehand
replies:
  - - when: ""
      text: |
        File: p.py
        ``````python
        from shout import shout
        print(shout("hello"))
        ``````
"""
EVIL = "open('MARK', 'w').write('ran')\n"


@pytest.fixture
def requirement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A requirement file with its answers, and a folder of wheels as the only registry. One is made to run here."""
    evil = EVIL.replace("MARK", str(tmp_path / "mark"))
    shout = f"try:\n    {evil}except OSError:\n    pass\ndef shout(text):\n    return text.upper() + '!'\n"
    raw = {"shout.pth": f"import os; {evil}", "shout-1.0.data/scripts/pip": evil}
    wheel(tmp_path / "shelf", "shout", files={"shout/__init__.py": shout}, raw=raw)
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "shelf"))
    monkeypatch.setattr("sys.stdin", io.StringIO())
    (tmp_path / "p.recorded.yaml").write_text(RECORDED)
    (tmp_path / "p.toml").write_text(TEXT)
    return tmp_path / "p.toml"


def build(requirement: Path, capsys: pytest.CaptureFixture[str], **options: Any) -> tuple[int, dict[str, Any], str]:
    folder = requirement.parent
    settings = load_settings({"THREADBOOK_HOME": str(folder / "home")}, folder)
    code = run(settings, requirement, Options(out=folder / "p", as_json=True, recorded=True, **options))
    said = capsys.readouterr()
    return code, json.loads(said.out), said.err


def critics(made: dict[str, Any]) -> dict[str, str]:
    return {one["critic"]: one["state"] for one in made["components"][0]["versions"][-1]["verdicts"]}


def test_packages_are_listed_and_without_a_yes_the_program_is_not_run(
    requirement: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, made, said = build(requirement, capsys)
    assert code == 1
    assert "shout 1.0, " in said
    assert "--yes-packages approves them" in said
    assert (critics(made)["run"], critics(made)["tests"]) == ("skipped", "skipped")
    assert not (requirement.parent / "home" / "packages").exists()


def test_with_a_yes_the_program_runs_inside_the_walls_with_its_packages(
    requirement: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, made, said = build(requirement, capsys, yes_packages=True)
    assert critics(made)["tests"] == "passed", made
    assert code == 0
    assert "left out of the packages: shout.pth" in said
    assert "requirements.txt" in made["files"]
    assert not (requirement.parent / "mark").exists(), "nothing of a package has run out here"
    code, made, said = build(requirement, capsys)
    assert (code, critics(made)["tests"]) == (0, "passed"), "the same wheels are asked for once"
    assert "needs packages" not in said


def test_who_sits_at_the_terminal_is_asked(
    requirement: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr("sys.stdin", type("Terminal", (io.StringIO,), {"isatty": lambda _: True})())
    monkeypatch.setattr("typer.confirm", lambda text, **_: bool(asked.append(text)))
    code, made, _ = build(requirement, capsys)
    assert len(asked) == 1
    assert (code, critics(made)["tests"]) == (1, "skipped")


@pytest.mark.parametrize("recorded", [False, True])
def test_without_a_model_nobody_is_asked_about_packages_and_the_sentence_says_what_to_set(
    requirement: Path, capsys: pytest.CaptureFixture[str], recorded: bool
) -> None:
    folder = requirement.parent
    (folder / "p.recorded.yaml").unlink()
    settings = load_settings({"THREADBOOK_HOME": str(folder / "home")}, folder)
    assert run(settings, requirement, Options(out=folder / "p", recorded=recorded, yes_packages=True)) == 2
    said = capsys.readouterr()
    assert "packages" not in said.out
    why = "there is no recording" if recorded else "no model is set, and the offline analyst writes no programs. Set "
    assert said.err.startswith(f"threadbook build: {why}")
    assert not (folder / "home" / "packages").exists()
