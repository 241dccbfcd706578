"""The host's side of one subprocess."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from executor.checkpoints import Checkpoint, announced
from executor.event_loop import Loop
from executor.notices import notice
from executor.session import Ending, Session


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
