"""Who is busy for long goes behind the others, and comes back when it has rested."""

from __future__ import annotations

import os

import pytest

from executor.sessions import processor_share
from executor.sessions.processor_share import NICE, Shares

BUSY, QUIET = 1_000_001, 1_000_002
"""Of no process: nothing happens to them."""


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> dict[int, float]:
    """Seconds of the processor by pid."""
    seconds = {BUSY: 100.0, QUIET: 100.0}
    monkeypatch.setattr(processor_share, "_seconds", seconds.__getitem__)
    return seconds


@pytest.fixture
def set_to(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Whose niceness was set to what."""
    done: list[tuple[int, int]] = []
    monkeypatch.setattr(processor_share, "_set_niceness", lambda pid, members, nice: done.append((pid, nice)))
    return done


def look(shares: Shares, used: dict[int, float], since: float, until: float, of_one: float) -> None:
    """A look every other second, while the busy one uses so much of a processor."""
    for now in range(int(since), int(until), 2):
        used[BUSY] += 2 * of_one
        used[QUIET] += 0.2
        shares.look([BUSY, QUIET], float(now))


def test_who_is_busy_for_long_goes_behind_the_others_and_comes_back(
    used: dict[int, float], set_to: list[tuple[int, int]]
) -> None:
    shares = Shares()
    look(shares, used, 0, 60, of_one=1)
    assert set_to == []
    look(shares, used, 60, 80, of_one=1)
    assert set_to == [(BUSY, NICE)]
    look(shares, used, 80, 1_000, of_one=2)
    look(shares, used, 1_000, 1_080, of_one=0)
    assert set_to == [(BUSY, NICE)]
    look(shares, used, 1_080, 1_200, of_one=0)
    assert set_to == [(BUSY, NICE), (BUSY, 0)]


def test_pauses_hide_nobody_and_half_a_processor_is_everybodys(
    used: dict[int, float], set_to: list[tuple[int, int]]
) -> None:
    shares = Shares()
    look(shares, used, 0, 10_000, of_one=0.5)
    assert set_to == []
    for minute in range(170, 180):
        look(shares, used, 60 * minute, 60 * minute + 30, of_one=2)
        look(shares, used, 60 * minute + 30, 60 * minute + 60, of_one=0)
    assert set_to == [(BUSY, NICE)]


def test_what_a_session_had_used_before_it_was_seen_does_not_count(
    used: dict[int, float], set_to: list[tuple[int, int]]
) -> None:
    shares = Shares()
    used[BUSY] = 5_000
    shares.look([BUSY], 0.0)
    shares.look([], 2.0)
    used[BUSY] = 10_000
    shares.look([BUSY], 4.0)
    assert set_to == []


def test_a_process_of_its_own_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 0 < processor_share._seconds(os.getpid()) < 100_000
    assert processor_share._seconds(BUSY) == 0


@pytest.mark.parametrize(("own", "busy"), [(0, 10), (5, 15), (15, 19), (-5, 5)])
def test_a_session_is_nicer_than_the_service_and_comes_back_to_it(
    monkeypatch: pytest.MonkeyPatch, own: int, busy: int
) -> None:
    """A service that was started nice would else put those before itself that have rested."""
    done: list[int] = []
    monkeypatch.setattr(os, "getpriority", lambda which, who: own)
    monkeypatch.setattr(os, "getpgid", lambda pid: pid)
    monkeypatch.setattr(os, "setpriority", lambda which, who, nice: done.append(nice))
    for more in (NICE, 0):
        processor_share._set_niceness(BUSY, [BUSY], more)
    assert done == [busy, own]
