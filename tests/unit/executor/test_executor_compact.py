"""What sessions write to is put together before they are forked, and does what it did."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import types

import pytest

from executor.inside.compact import code_of, gather, watching_code

_MODULE = """
def outer(step):
    def inner(value):
        return [value + step for _ in range(2)]
    return inner

class Holder:
    def method(self, *, word="as it was"):
        return word

def not_run():
    return 0
"""


@pytest.fixture
def module() -> types.ModuleType:
    made = types.ModuleType("gathered")
    exec(_MODULE, made.__dict__)
    return made


def test_code_that_was_moved_does_what_it_did(module: types.ModuleType) -> None:
    before = module.outer.__code__, module.Holder.method.__code__
    gather(code_of([module]))
    after = module.outer.__code__, module.Holder.method.__code__
    assert after == before
    assert not {id(code) for code in before} & {id(code) for code in after}
    assert module.outer(1)(2) == [3, 3]
    assert module.Holder().method() == "as it was"


def test_only_the_code_that_ran_is_moved(module: types.ModuleType) -> None:
    rest, ran = module.not_run.__code__, module.outer.__code__
    with watching_code() as seen:
        module.outer(1)(1)
    gather(seen)
    assert module.not_run.__code__ is rest
    assert module.outer.__code__ is not ran


def test_nobody_watches_after_the_block() -> None:
    before = sys.getprofile()
    with pytest.raises(KeyError), watching_code():
        raise KeyError
    assert sys.getprofile() is before is None


def in_a_process(code: str) -> str:
    """What it prints: a test process has more threads, and memory of another shape."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_what_libraries_have_a_forked_child_run_is_found() -> None:
    code = """
        import threading
        from executor.inside.compact import code_of_a_fork
        print("_after_fork" in {code.co_name for code in code_of_a_fork()})
    """
    assert in_a_process(textwrap.dedent(code)) == "True\n"


def test_new_objects_lie_together_after_the_holes_are_filled() -> None:
    code = """
        from executor.inside.compact import fill_holes
        scattered = [bytes(87) for _ in range(20_000)]
        del scattered[::50]
        fill_holes()
        print(len({id(fresh) // 4096 for fresh in [bytes(87) for _ in range(30)]}))
    """
    assert int(in_a_process(textwrap.dedent(code))) <= 4, "pages for 30 objects of 120 bytes"
