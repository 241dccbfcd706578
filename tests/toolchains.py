"""The compilers of this machine, for tests that run them inside the walls."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

_ASKED = {
    "cargo": ("rustc", "--print", "sysroot"),
    "rustc": ("rustc", "--print", "sysroot"),
    "go": ("go", "env", "GOROOT"),
}


def toolchain_of(tool: str) -> list[Path]:
    """The folder that a session host has to show for this tool; none for one of the system. Skips where it is not."""
    found = _folder(tool)
    if isinstance(found, str):
        pytest.skip(found)
    return [] if found.is_relative_to("/usr") else [found]


def present_toolchains() -> list[Path]:
    """The folders of all compilers here that are none of the system's."""
    found = [_folder(tool) for tool in ("cargo", "go")]
    return [one for one in found if isinstance(one, Path) and not one.is_relative_to("/usr")]


def _folder(tool: str) -> Path | str:
    """Where a compiler lies, or why it cannot be used."""
    if shutil.which(tool) is None:
        return f"there is no {tool} here"
    asked = subprocess.run(_ASKED[tool], capture_output=True, text=True, check=False)
    if asked.returncode:
        return f"{tool} does not answer here: {asked.stderr.strip()}"
    return Path(asked.stdout.strip()).resolve()
