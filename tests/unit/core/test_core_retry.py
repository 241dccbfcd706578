"""Retries and waits, on a clock that only the pauses move."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest
import tenacity

from core.retry import retry_call, wait_until


class FakeClock:
    """Stands for the `time` module inside tenacity: a sleep moves it, nothing else does."""

    def __init__(self) -> None:
        self.now = 100.0
        self.pauses: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    clock = FakeClock()
    monkeypatch.setattr(tenacity, "time", clock)
    monkeypatch.setattr(tenacity.nap, "time", clock)
    return clock


def failing(times: int, error: type[Exception] = OSError) -> Callable[[], str]:
    """A call that fails so many times with "no 1", "no 2", … and then works."""
    numbers = count(1)

    def call() -> str:
        if (number := next(numbers)) <= times:
            raise error(f"no {number}")
        return "done"

    return call


def test_a_call_that_works_is_made_once_without_a_pause(clock: FakeClock) -> None:
    assert retry_call(failing(0), on=OSError, for_s=10) == "done"
    assert clock.pauses == []


def test_a_call_is_made_again_until_it_works(clock: FakeClock) -> None:
    assert retry_call(failing(3), on=OSError, for_s=10, every_s=2) == "done"
    assert clock.pauses == [2, 2, 2]


def test_the_last_error_is_raised_when_the_time_is_over(clock: FakeClock) -> None:
    with pytest.raises(OSError, match="no 6"):
        retry_call(failing(100), on=OSError, for_s=10, every_s=2)
    assert clock.now == 110.0


def test_the_last_call_is_made_when_the_time_is_over(clock: FakeClock) -> None:
    with pytest.raises(OSError, match="no 4"):
        retry_call(failing(100), on=OSError, for_s=10, every_s=4)
    assert clock.pauses == [4, 4, 2]


def test_no_time_means_one_call(clock: FakeClock) -> None:
    with pytest.raises(OSError, match="no 1"):
        retry_call(failing(100), on=OSError, for_s=0)
    assert clock.pauses == []


def test_a_given_error_is_raised_from_the_last_one(clock: FakeClock) -> None:
    with pytest.raises(LookupError, match="gave up: no 3") as caught:
        retry_call(failing(9), on=OSError, attempts=3, give_up=lambda error: LookupError(f"gave up: {error}"))
    assert isinstance(caught.value.__cause__, OSError)


def test_calls_are_counted_when_attempts_are_given(clock: FakeClock) -> None:
    with pytest.raises(OSError, match="no 3"):
        retry_call(failing(9), on=OSError, attempts=3, for_s=1000, every_s=1)
    assert clock.pauses == [1, 1]


def test_pauses_double_up_to_the_longest(clock: FakeClock) -> None:
    retry_call(failing(6), on=OSError, for_s=100, every_s=0.5, longest_s=3)
    assert clock.pauses == [0.5, 1, 2, 3, 3, 3]


def test_another_error_is_raised_at_once(clock: FakeClock) -> None:
    with pytest.raises(KeyError, match="no 1"):
        retry_call(failing(1, KeyError), on=(OSError, ValueError), for_s=10)
    assert clock.pauses == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interruption_is_never_retried(clock: FakeClock, error: type[BaseException]) -> None:
    def call() -> None:
        raise error

    with pytest.raises(error):
        retry_call(call, on=Exception, for_s=10)
    assert clock.pauses == []


def test_every_error_that_is_retried_is_reported(clock: FakeClock) -> None:
    seen: list[str] = []
    retry_call(failing(2), on=OSError, for_s=10, on_retry=lambda error: seen.append(str(error)))
    assert seen == ["no 1", "no 2"]


def test_a_retry_without_an_end_is_refused(clock: FakeClock) -> None:
    with pytest.raises(ValueError, match="for_s or attempts"):
        retry_call(failing(0), on=OSError)


def test_waiting_returns_the_first_true_value(clock: FakeClock) -> None:
    answers = iter(["", "", "here", "never asked"])
    assert wait_until(lambda: next(answers), for_s=10, every_s=1) == "here"
    assert clock.pauses == [1, 1]


def test_waiting_returns_the_last_false_value_when_the_time_is_over(clock: FakeClock) -> None:
    assert wait_until(lambda: [], for_s=3, every_s=1) == []
    assert clock.pauses == [1, 1, 1]


def test_waiting_without_time_asks_once(clock: FakeClock) -> None:
    assert wait_until(lambda: 0, for_s=0, every_s=1) == 0
    assert clock.pauses == []


def test_what_a_condition_raises_ends_the_wait(clock: FakeClock) -> None:
    with pytest.raises(OSError, match="no 1"):
        wait_until(failing(1), for_s=10, every_s=1)
    assert clock.pauses == []
