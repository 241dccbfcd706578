"""What a job knows of the tools of a server, without asking it for each prompt."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from workers.tools import client
from workers.tools.client import KNOWN_S, UNKNOWN_S, ToolsClient
from workers.tools.errors import ToolAway
from workers.tools.requests import ToolNote

NOTES = (ToolNote(name="close"),)


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(client, "time", made)
    return made


class Asked(ToolsClient):
    """Answers what it is given, and counts."""

    def __init__(self, *answers: tuple[ToolNote, ...] | None) -> None:
        super().__init__(Path("nowhere"))
        self.answers: Iterator[tuple[ToolNote, ...] | None] = iter(answers)
        self.count = 0

    def tools(self, server: str) -> tuple[ToolNote, ...]:
        self.count += 1
        answer = next(self.answers)
        if answer is None:
            raise ToolAway("The server does not answer in time.")
        return answer


def test_a_mute_server_is_asked_less_and_less_often(clock: Clock) -> None:
    asked = Asked(*[None] * 20)
    times = []
    while clock.now < 1_000.0 + 3_000.0:
        before = asked.count
        assert asked.known_tools("tickets") == ()
        if asked.count > before:
            times.append(clock.now - 1_000.0)
        clock.now += 1.0
    pauses = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert pauses == [UNKNOWN_S, 60.0, 120.0, 240.0, 480.0, KNOWN_S, KNOWN_S, KNOWN_S]


def test_a_server_that_is_back_is_known_at_once_and_its_failures_are_forgotten(clock: Clock) -> None:
    asked = Asked(None, NOTES, None, NOTES)
    assert asked.known_tools("tickets") == ()
    clock.now += UNKNOWN_S
    assert asked.known_tools("tickets") == NOTES
    clock.now += KNOWN_S
    assert asked.known_tools("tickets") == ()
    clock.now += UNKNOWN_S
    assert asked.known_tools("tickets") == NOTES
    assert asked.known_tools("tickets") == NOTES
    assert asked.count == 4
