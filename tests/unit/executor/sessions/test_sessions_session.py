"""The host's side of one subprocess."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from executor.event_loop import Loop
from executor.notices import notice
from executor.sessions.session import Ending, Session
from executor.state.checkpoints import Checkpoint
from executor.state.received_state import announced


class Nobody:
    """Is notified, and does nothing."""

    def __init__(self) -> None:
        self.endings: list[Ending] = []

    def session_gone(self, session: Session, ending: Ending) -> None:
        """It has ended."""
        self.endings.append(ending)


@pytest.fixture
def session() -> Iterator[Session]:
    loop = Loop()
    made = Session(loop, 1, Nobody())  # type: ignore[arg-type]
    yield made
    made.kill(notice("was_reset"))
    made.child_ends.close()
    loop.close()


_WITH_A_THREAD_THAT_TAKES_SIGNALS = """
import signal, sys, threading, time
both = {signal.SIGINT, signal.SIGUSR1}
for each in both:
    signal.signal(each, lambda *_: None)
threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, both)
print("ready", flush=True)
sys.stdin.read()
print(len(both & signal.sigpending()), "for the main thread")
"""


@pytest.mark.parametrize("kernel", ["this one", "before 6.9"])
def test_a_stop_is_for_the_main_thread_whatever_other_threads_would_take(
    session: Session, kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread of polars keeps it to itself, and the cell runs on until it is killed."""
    send = signal.pidfd_send_signal
    if kernel == "before 6.9":

        def without_flags(pidfd: int, signum: int, siginfo: None = None, flags: int = 0) -> None:
            if flags:
                raise OSError(errno.EINVAL, "Invalid argument")
            send(pidfd, signum)

        monkeypatch.setattr(signal, "pidfd_send_signal", without_flags)
    command = [sys.executable, "-c", _WITH_A_THREAD_THAT_TAKES_SIGNALS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        session.forked(os.pidfd_open(child.pid))
        session.ask_where()
        session.interrupt()
        assert child.communicate()[0] == "2 for the main thread\n"


def test_where_a_cell_is_is_read_only_when_it_was_asked(session: Session) -> None:
    """What a subprocess writes there by itself is no answer."""
    trace = session.child_ends.descriptors[4]
    os.write(trace, b'File "<cell 1>", line 7\n')
    assert session.where() is None
    session.ask_where()
    os.write(trace, b'File "<cell 1>", line 8\n')
    assert session.where() == 8


def test_variables_for_which_the_disk_has_no_room_end_only_their_session(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    size = 100_000
    said = {"keys": ["a"], "parts": [{"key": "a", "size": size, "checksum": 1}], "lost": [], "variables": []}
    checkpoint = Checkpoint(tmp_path, "t", b"key", {})
    receiver = checkpoint.receive(announced(said | {"set_by": {}, "future": 0}))
    os.write(session.child_ends.descriptors[5], bytes(size // 2))
    monkeypatch.setattr(Path, "open", full)
    session.receive(receiver)
    assert [ending.why for ending in session._listener.endings] == [
        notice("disk_refused", error="No space left on device")
    ]
    assert list((tmp_path / "state").iterdir()) == []
