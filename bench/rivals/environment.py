"""A separate virtual environment for a rival whose requirements conflict with ours. Made on demand and kept."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ENVIRONMENTS = Path(__file__).resolve().parents[2] / ".threadbook" / "bench-envs"


class LeftOut(Exception):
    """This rival cannot be measured here; the message says why."""


def environment(name: str, packages: Sequence[str], limit_s: float = 240.0) -> Path:
    """The interpreter of the environment that holds `packages`. Raises LeftOut when it cannot be installed in time."""
    folder = ENVIRONMENTS / name
    python, done = folder / "bin" / "python", folder / ".installed"
    wanted = "\n".join(packages)
    if python.exists() and done.exists() and done.read_text() == wanted:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    try:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True, capture_output=True, timeout=limit_s)
        install = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--retries", "1", *packages]
        subprocess.run(install, check=True, capture_output=True, text=True, timeout=limit_s)
    except subprocess.TimeoutExpired:
        raise LeftOut(f"could not be installed within {limit_s:.0f} s") from None
    except subprocess.CalledProcessError as error:
        lines = [line for line in str(error.stderr).splitlines() if line.startswith("ERROR")]
        raise LeftOut(f"could not be installed: {lines[-1][:200] if lines else error}") from None
    done.write_text(wanted)
    return python
