"""`threadbook up` obeys Ctrl-C at every moment."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import pytest

from tryout import demo


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Puts back how this process takes signals."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


def test_ctrl_c_ends_a_stack_that_still_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def starting(*_: object, **__: object) -> Iterator[NoReturn]:
        os.kill(os.getpid(), signal.SIGINT)
        pytest.fail("it went on")
        yield

    monkeypatch.setattr(demo, "running", starting)
    monkeypatch.setattr(demo, "_fresh", lambda home: home)
    with pytest.raises(KeyboardInterrupt):
        demo.stay_up(0)
