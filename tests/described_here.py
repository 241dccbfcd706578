"""Whole turns in one process describe files without a fork.

A fork of a process that has collected ten thousand tests takes 10 to 40 ms, and each page that either of the two writes
to is copied after it. What a fork is for, files that crash their reader, is tested by `unit/workers/profiling`.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from executor import fake

_FILE = "<describing the files: apart>"
_HERE = """
import gc
import json
import warnings


def apart(work, bounds, seconds):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # a fork ends with the files that a reader left open
        gc.disable()  # so all that the reader makes is young: a look through all that the tests have made takes 40 ms
        try:
            return json.loads(json.dumps(work()))
        except BaseException as error:
            too_much = isinstance(error, MemoryError | RecursionError)
            code, detail = ("too_much", "memory") if too_much else ("corrupt", type(error).__name__)
        finally:
            gc.collect(0)
            gc.enable()
        return {"problem": {"code": code, "values": {"detail": detail}}}
"""


@contextmanager
def used() -> Iterator[None]:
    """Inside the block the cells of `FakeSessions` that describe files do it in this process."""
    compiled = fake._compiled

    def here(source: str, filename: str, mode: str) -> types.CodeType:
        return compiled(_HERE if filename == _FILE else source, filename, mode)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fake, "_compiled", here)
        yield
