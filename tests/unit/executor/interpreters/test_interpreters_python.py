"""The Python of a thread, phase by phase, with a subprocess that says what the test wants."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import cast
from unittest.mock import MagicMock

import pytest

from executor.counters import Counters
from executor.disk.durable import Disk
from executor.disk.line_file import LineFile
from executor.event_loop import Loop
from executor.files.home import ThreadHome
from executor.frames import Message, ProtocolError
from executor.interpreters.python import PythonInterpreter
from executor.notices import notice
from executor.state.checkpoints import Checkpoint
from executor.state.received_state import Receiver

STATE: Message = {
    "type": "state",
    "keys": [],
    "parts": [],
    "lost": [],
    "why": None,
    "future": 0,
    "set_by": {},
    "variables": [],
}


class SlowDisk:
    """A disk whose syncs end when the test says so."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def sync(self, written: object, then: Callable[[], None], failed: object) -> None:
        self.waiting.append(then)

    sync_soon = sync


def test_a_subprocess_has_nothing_to_say_while_its_variables_are_stored(tmp_path: Path) -> None:
    thread, disk = ThreadHome(tmp_path, "t"), SlowDisk()
    thread.started("a")
    received: list[Receiver] = []
    session = MagicMock(ready=True, receive=received.append)
    owner = MagicMock(after_result=lambda call: call())
    interpreter = PythonInterpreter(
        thread,
        owner,
        loop=Loop(),
        disk=cast(Disk, disk),
        checkpoint=Checkpoint(tmp_path, "t", b"key", {}),
        counters=Counters(),
        start=lambda listener: session,
        state_limit=lambda: 1 << 20,
    )
    interpreter.take()
    interpreter.session_ready(session)
    interpreter.begin(MagicMock())
    interpreter.session_said(session, {"type": "result"})
    interpreter.session_said(session, STATE)
    interpreter.session_saved(session, received[0])
    with pytest.raises(ProtocolError, match="out of turn"):
        interpreter.session_said(session, STATE)
    assert len(received) == 1
    assert not interpreter.kept
    disk.waiting.pop(0)()
    assert interpreter.kept


def test_a_checkpoint_that_cannot_be_written_down_ends_only_its_subprocess(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: LineFile, line: bytes) -> tuple[int, int]:
        raise OSError(errno.ENOSPC, "No space left on device")

    thread, disk, received = ThreadHome(tmp_path, "t"), SlowDisk(), list[Receiver]()
    thread.started("a")
    session = MagicMock(ready=True, receive=received.append)
    checkpoint = Checkpoint(tmp_path, "t", b"key", {})
    interpreter = PythonInterpreter(
        thread,
        MagicMock(after_result=lambda call: call()),
        loop=Loop(),
        disk=cast(Disk, disk),
        checkpoint=checkpoint,
        counters=Counters(),
        start=lambda listener: session,
        state_limit=lambda: 1 << 20,
    )
    interpreter.take()
    interpreter.session_ready(session)
    interpreter.begin(MagicMock())
    interpreter.session_said(session, {"type": "result"})
    part = {"key": "a", "size": 300_000, "checksum": 1}
    interpreter.session_said(session, STATE | {"keys": ["a"], "parts": [part]})
    received[0].feed(bytes(300_000))
    interpreter.session_saved(session, received[0])
    monkeypatch.setattr(LineFile, "append", full)
    disk.waiting.pop(0)()
    session.kill.assert_called_once_with(notice("disk_refused", error="No space left on device"))
    assert not checkpoint.exists
    assert not [path for path in (tmp_path / "state").iterdir() if path.name != "log.jsonl"]
    checkpoint.close()
