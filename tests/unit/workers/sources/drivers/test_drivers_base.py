"""The end of a statement: it reaches the statement that it is for, and no other."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from patience import PATIENCE_S, eventually

from workers.sources.drivers.base import Stop
from workers.sources.errors import Cancelled, LimitReached


@pytest.mark.parametrize("who", ["time", "person"])
def test_a_statement_is_left_only_after_the_end_that_is_on_its_way_to_the_server(who: str) -> None:
    on_its_way, may_arrive = threading.Event(), threading.Event()
    arrived: list[bool] = []

    def end() -> None:
        on_its_way.set()
        may_arrive.wait(PATIENCE_S)
        arrived.append(True)

    with Stop(0.001 if who == "time" else 600.0, end) as stop:
        if who == "person":
            threading.Thread(target=stop.cancel).start()
        assert on_its_way.wait(PATIENCE_S)
        threading.Timer(0.05, may_arrive.set).start()
    assert arrived


def test_a_statement_that_is_over_is_not_ended_any_more() -> None:
    ends: list[bool] = []
    with Stop(600.0, lambda: ends.append(True)) as stop:
        pass
    stop.cancel()
    stop.check()
    assert ends == []


@pytest.mark.parametrize(
    ("end", "kind"), [(lambda stop: stop.cancel(), Cancelled), (lambda stop: stop._out_of_time(), LimitReached)]
)
def test_the_first_reason_for_the_end_of_a_statement_counts(end: Callable[[Stop], None], kind: type) -> None:
    with Stop(600.0, lambda: None) as stop:
        end(stop)
        stop.cancel()
        stop._out_of_time()
        with pytest.raises(kind):
            stop.check()


@pytest.mark.parametrize("who", ["time", "person"])
def test_a_statement_that_begins_only_after_its_end_was_sent_is_ended_again(who: str) -> None:
    ends: list[bool] = []
    with Stop(0.001 if who == "time" else 600.0, lambda: ends.append(True)) as stop:
        if who == "person":
            stop.cancel()
        eventually(lambda: len(ends) > 1, "the second end, for a statement that had not begun at the first one")
