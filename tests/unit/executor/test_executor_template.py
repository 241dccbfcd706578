"""What every session starts from: the warmed process that is forked for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from executor.environment import clean_environment

pytestmark = pytest.mark.process

_FORK = """
import os, signal
from executor.inside.warm import warm

warm()
born, told = os.pipe()
child = os.fork()
if child == 0:
    os.write(told, b"!")
    signal.pause()
os.read(born, 1)
with open(f"/proc/{child}/smaps_rollup") as memory:
    own = next(int(line.split()[1]) for line in memory if line.startswith("Private_Dirty:"))
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
print(own)
"""


def test_a_fork_of_the_warmed_template_shares_nearly_all_of_its_memory(tmp_path: Path) -> None:
    """A library that empties a cache or renews its objects in every fork makes each session copy those pages."""
    forked = subprocess.run(
        [sys.executable, "-c", _FORK], env=clean_environment(tmp_path), capture_output=True, text=True, check=True
    )
    assert int(forked.stdout) < 2_000, "KiB that a session copies before it does anything"
