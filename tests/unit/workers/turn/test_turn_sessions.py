"""A call to a session host that is being restarted is made again."""

from __future__ import annotations

import pytest

from executor.client import HostUnavailable
from workers.turn import sessions
from workers.turn.sessions import with_session_host


def test_the_time_to_wait_begins_with_the_first_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that dies while a long cell runs gets the same time as one that is away when the cell is sent."""
    monkeypatch.setattr(sessions, "WAIT_S", 0.0)
    answers = iter([HostUnavailable("the session host ended during the call"), "the result"])

    def call() -> str:
        if isinstance(answer := next(answers), Exception):
            raise answer
        return answer

    assert with_session_host(call) == "the result"


def test_a_host_that_stays_away_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "WAIT_S", 0.0)

    def call() -> None:
        raise HostUnavailable("away")

    with pytest.raises(HostUnavailable, match="away"):
        with_session_host(call)
