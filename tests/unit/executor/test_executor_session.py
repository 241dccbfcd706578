"""The host's side of one subprocess."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from executor.event_loop import Loop
from executor.notices import notice
from executor.session import Ending, Session


class Nobody:
    """Is notified, and does nothing."""

    def session_gone(self, session: Session, ending: Ending) -> None:
        """It has ended."""


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
