"""Wakes threads that have something to do and nobody at it: what a crash or a lost wake leaves behind."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence

from core.leases import Leases
from core.line import Waiting
from core.queue import Wakes
from core.store import Store
from core.telemetry import get_logger
from workers.patience import Patience
from workers.turnstile import Turnstile

log = get_logger(__name__)

SWEEP_EVERY_S = 2.0


def waiting(store: Store, leases: Leases, patience: Patience) -> list[Waiting]:
    """Threads with unread mail or a running turn, no live lease and no put-off; the one that waits longest first."""
    line = store.line()
    ids = [who.thread_id for who in line]
    busy = leases.held(ids) | patience.postponed(ids)
    if busy.issuperset(ids):
        return []
    still = set(store.threads_needing_a_wake())  # a turn that came to its end meanwhile has given its lease back
    return [who for who in line if who.thread_id not in busy and who.thread_id in still]


def ring(line: Sequence[Waiting], wakes: Wakes, turnstile: Turnstile, *, anew: bool = False) -> list[str]:
    """Ring for those of a line who may run now, before whoever came later; returns the threads rung for.

    Who was rung for already is left alone, or with `anew` looked at one by one: such a bell may have been lost.
    """
    fitting = [who.thread_id for who in turnstile.who_fits(line)]
    silent = fitting if anew else wakes.silent(fitting)
    return [thread_id for thread_id in reversed(silent) if wakes.wake(thread_id, first=True)]


def keep_sweeping(
    sweep: Callable[[], Iterable[str]], stop: threading.Event, *, swept: Callable[[], None] = lambda: None
) -> None:
    """Sweep, which gives the threads it rang for, every two seconds until `stop`; `swept` is told when it went well.

    A Store or Redis that is away for a while is logged, and tried again.
    """
    while not stop.wait(SWEEP_EVERY_S):
        try:
            for thread_id in sweep():
                log.info("woken", thread=thread_id)
            swept()
        except Exception as error:
            log.warning("not swept", error=repr(error))
