"""A session's first steps, taken by the zygote itself, so that its forks find them taken.

What Python, a library or the runner makes on first use is then made once. What runs often is specialised by CPython,
and afterwards only read. A subprocess would do all of this again, each in pages of its own.
"""

from __future__ import annotations

import faulthandler
import linecache
import os
import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict

from executor.frames import SESSION_LIMIT, FrameReader, encode
from executor.inside.runner import Descriptors, Runner
from executor.inside.setup import Place, begin, reseed
from executor.sandbox.namespaces import Users
from executor.sandbox.steps import Plan
from executor.values import Limits

_WITHOUT_WALLS = Plan(False, False, False, False, Users(0, 0, 1))


def run_as_session(cells: Sequence[str]) -> None:
    """Be told a place, make a runner and run `cells`: a session without its walls. Leaves this process as it was.

    Raises RuntimeError when a cell fails.
    """
    with _as_before(), ExitStack() as opened:
        host, setup = (opened.enter_context(end) for end in socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        host.send(encode(_place()))
        place = Place.receive(setup, _WITHOUT_WALLS)
        reseed()
        results = opened.enter_context(open(os.memfd_create("results"), "r+b", buffering=0))
        runner = Runner(_descriptors(opened, cells, results.fileno()), place.ground.workspace, 1 << 30)
        host.send(encode({"type": "fresh"}))
        begin(runner, setup)
        runner.run_all()
        results.seek(0)
        for message in FrameReader(SESSION_LIMIT).feed(results.read()):
            if message["type"] == "result" and message["status"] != "ok":
                raise RuntimeError(f"a cell of the warm-up failed: {message['error']}")


def _place() -> dict[str, object]:
    limits = asdict(Limits())
    return {"type": "place", "language": "python", "user_of": 1, "limits": limits, "workspace": "/", "scratch": "/"}


def _descriptors(opened: ExitStack, cells: Sequence[str], results: int) -> Descriptors:
    """Cells come out of a pipe; what they print, and the bytes of their variables, goes nowhere."""
    frames, writer = os.pipe()
    opened.callback(os.close, frames)
    last = len(cells)  # after it come no answers any more, which takes the functions that ask away again
    for number, code in enumerate([*cells, "pass"]):
        run = {"type": "run", "cell": f"{number}", "number": number, "code": code, "answers": number < last}
        os.write(writer, encode(run))
    os.close(writer)
    nothing = os.open(os.devnull, os.O_WRONLY)
    opened.callback(os.close, nothing)
    return Descriptors(frames, results, nothing, nothing, nothing, nothing)


@contextmanager
def _as_before() -> Iterator[None]:
    """Puts back what a runner changes in its process."""
    names = ("stdin", "stdout", "stderr", "__stdout__", "__stderr__")
    streams = {name: getattr(sys, name) for name in names}
    main, interrupt = sys.modules["__main__"], signal.getsignal(signal.SIGINT)
    lines = set(linecache.cache)
    kept = [(number, os.dup(number)) for number in (1, 2)]
    try:
        yield
    finally:
        for number, copy in kept:
            os.dup2(copy, number)
            os.close(copy)
        faulthandler.unregister(signal.SIGUSR1)
        signal.signal(signal.SIGINT, interrupt)
        sys.modules["__main__"] = main
        for name, stream in streams.items():
            setattr(sys, name, stream)
        for name in linecache.cache.keys() - lines:
            del linecache.cache[name]
