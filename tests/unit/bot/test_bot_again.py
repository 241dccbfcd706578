"""What the Store could not take is done once it is back, in order, and once."""

from __future__ import annotations

import threading
from collections.abc import Callable

from bot.again import Again
from core.store import StoreUnreachable


def test_events_are_kept_in_their_order_as_soon_as_the_store_is_back() -> None:
    away, done, tries, all_done = True, [], 0, threading.Event()

    def keep(what: str) -> Callable[[], None]:
        def work() -> None:
            nonlocal away, tries
            tries += 1
            away = away and tries < 4
            if away:
                raise StoreUnreachable("away")
            done.append(what)
            if len(done) == 2:
                all_done.set()

        return work

    again = Again(every_s=0.001)
    again.when_back(keep("first"))
    again.when_back(keep("second"))
    assert all_done.wait(60)
    assert done == ["first", "second"]


def test_one_that_fails_for_another_reason_does_not_hold_up_the_next() -> None:
    done = threading.Event()

    def fail() -> None:
        raise RuntimeError("ours")

    again = Again(every_s=0.001)
    again.when_back(fail)
    again.when_back(done.set)
    assert done.wait(60)
