"""The code of the version before this one, out of the repository's own history."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from services import missing

ROOT = Path(__file__).parents[1]
MIGRATIONS = "core/store/migrations/versions"
COMMIT = "ece1e00ade87c489d43e22d5200eaab23ec1a449"
"""The version before: the newest one whose schema is older than ours. tests/releases/README.md says when it changes."""


@dataclass(frozen=True)
class OlderCode:
    """Code whose schema is older than ours."""

    folder: Path
    schema: str
    """The newest revision that it knows."""
    protocol: int
    """The version in which its clients and its session host talk."""


def older_code(folder: Path) -> OlderCode:
    """The version before, unpacked into `folder`: what still runs while a team upgrades.

    The test is skipped with the reason where the code came without its history. A clone that was cut short can get it,
    so there the test fails in CI.
    """
    if not (ROOT / ".git").exists():
        pytest.skip("the version before is in the repository's history, which did not come with this copy")
    if not _has_commit() and _git("rev-parse", "--is-shallow-repository").strip() == b"true":
        missing("the version before", "this clone was cut short: `git fetch --unshallow`")
    files = _git("archive", "--format=tar", COMMIT, ":!tests", ":!docs", ":!bench")
    with tarfile.open(fileobj=io.BytesIO(files)) as archive:
        archive.extractall(folder, filter="data")
    older = OlderCode(folder, newest_schema(folder), _protocol(folder))
    assert older.schema < newest_schema(), f"{older} has our schema"
    return older


def newest_schema(code: Path = ROOT) -> str:
    """The newest revision that this code knows."""
    return max(path.name for path in (code / MIGRATIONS).glob("[0-9]*.py")).partition("_")[0]


def _has_commit() -> bool:
    known = subprocess.run(["git", "cat-file", "-e", COMMIT], cwd=ROOT, stderr=subprocess.DEVNULL, check=False)
    return known.returncode == 0


def _protocol(folder: Path) -> int:
    """Asks the code itself, and makes sure that a process in its folder runs it and not ours."""
    asked = "import executor.frames as frames; print(frames.__file__, frames.PROTOCOL_VERSION)"
    said = subprocess.run([sys.executable, "-c", asked], cwd=folder, capture_output=True, text=True, check=True).stdout
    file, version = said.split()
    assert Path(file).is_relative_to(folder), f"{file} is not in {folder}"
    return int(version)


def _git(*words: str) -> bytes:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.run(["git", *words], cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True).stdout
