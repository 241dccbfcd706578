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


_FIRST_CELLS = """
import os, signal
from executor.inside.warm_session import run_as_session
from executor.inside.warm import warm

def copied():
    with open("/proc/self/smaps_rollup") as memory:
        return next(int(line.split()[1]) for line in memory if line.startswith("Private_Dirty:"))

warm()
told, tell = os.pipe()
child = os.fork()
if child == 0:
    run_as_session(["import pandas as pd", "pd.DataFrame({'k': [1, 1], 'v': [1, 2]}).groupby('k').v.sum().to_dict()"])
    os.write(tell, str(copied()).encode())
    os._exit(0)
print(os.read(told, 100).decode())
os.waitpid(child, 0)
"""

_FILTER = """
from executor.inside.warm import warm
from executor.sandbox import seccomp

warm()
made = seccomp.compiled.cache_info().misses
seccomp.attach_raw = lambda code: None
seccomp.install()
print(seccomp.compiled.cache_info().misses - made)
"""

_BEFORE_AND_AFTER = """
import builtins, linecache, os, signal, sys
from executor.inside.warm_session import run_as_session

def state():
    streams = [getattr(sys, name) for name in ("stdin", "stdout", "stderr", "__stdout__", "__stderr__")]
    places = [os.readlink(f"/proc/self/fd/{number}") for number in sorted(map(int, os.listdir("/proc/self/fd")))[:-1]]
    here = sys.modules["__main__"], os.getcwd(), signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGUSR1)
    return streams, places, here, sorted(vars(builtins)), sorted(linecache.cache)

signal.signal(signal.SIGINT, signal.SIG_IGN)
before = state()
run_as_session(["print('to nobody')", "1 + 1"])
print(before == state())
"""

_FAILING = """
from executor.inside.warm_session import run_as_session

run_as_session(["import library_that_is_not_there"])
"""


def in_a_process(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=clean_environment(folder), capture_output=True, text=True, check=False)


def test_a_first_table_copies_little_of_the_template(tmp_path: Path) -> None:
    """6,460 KiB at the least; 6,860 where code is not gathered, 9,140 with holes, 11,910 when nothing was run before.

    Where objects lie differs from one process to the next: one of a few tries may copy 150 KiB more.
    """
    assert min(int(in_a_process(_FIRST_CELLS, tmp_path).stdout) for _ in range(4)) < 6_600, "KiB that two cells copy"


def test_no_subprocess_makes_the_filter_of_its_system_calls(tmp_path: Path) -> None:
    assert in_a_process(_FILTER, tmp_path).stdout == "0\n"


def test_a_warm_up_leaves_its_process_as_it_was(tmp_path: Path) -> None:
    assert in_a_process(_BEFORE_AND_AFTER, tmp_path).stdout == "True\n"


def test_a_cell_of_the_warm_up_that_fails_is_told(tmp_path: Path) -> None:
    told = in_a_process(_FAILING, tmp_path).stderr
    assert "RuntimeError: a cell of the warm-up failed" in told
    assert "library_that_is_not_there" in told


def test_a_fork_of_the_warmed_template_shares_nearly_all_of_its_memory(tmp_path: Path) -> None:
    """A library that empties a cache or renews its objects in every fork makes each session copy those pages."""
    forked = subprocess.run(
        [sys.executable, "-c", _FORK], env=clean_environment(tmp_path), capture_output=True, text=True, check=True
    )
    assert int(forked.stdout) < 2_000, "KiB that a session copies before it does anything"
