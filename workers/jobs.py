"""The RQ job: advance one thread until it rests. RQ is only the doorbell; what is to be done stands in the Store.

A process of a job that is still young goes on with the next thread that waits: a fork and the pages that it copies cost
about a third of a short turn (docs/performance.md).
"""

from __future__ import annotations

import os
import signal
import time

from core.errors import LeaseLost
from core.metrics import RETRIES
from core.settings import Settings, load_settings
from core.store import Store
from core.telemetry import bind_fields, get_logger
from core.values import Lease
from workers import turns
from workers.janitor import ring, waiting
from workers.scratch import scratch
from workers.wiring import Tools, opened
from workers.workshop import ComeBack

log = get_logger(__name__)


_prepared: list[tuple[Settings, Store]] = []
"""What the worker that forks the jobs gives them. RQ hands a job its arguments only, and those must hold no secret."""


def prepare(settings: Settings, store: Store) -> None:
    """Let the jobs of this process and of its forks use these settings and this Store, which must be closed."""
    _prepared[:] = [(settings, store)]


YOUNG_S = 5.0
"""For so long after its start the process of a job takes further threads."""

LAST_THREAD = signal.SIGUSR1
"""What a worker that is told to stop sends to the process of its job: end with the thread that is at work."""


def heed_last_thread() -> None:
    """In a worker, before it forks: `LAST_THREAD` waits until the process of a job looks for it, and ends nothing."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {LAST_THREAD})


def advance(thread_id: str) -> None:
    """What RQ calls, in a fork of its own: everything is opened here and closed with it.

    Threads that wait come next, as long as the process is young, was not told to end, and has the worker that watches
    over it.
    """
    settings, store = _prepared[0] if _prepared else (load_settings(), None)
    worker, old_at = os.getppid(), time.monotonic() + YOUNG_S
    following: str | None = thread_id
    with scratch(settings), opened(settings, store=store) as tools:
        while following:
            with bind_fields(thread=following):
                run(tools, following)
            goes_on = time.monotonic() < old_at and LAST_THREAD not in signal.sigpending() and os.getppid() == worker
            following = tools.wakes.take(settings.host_id) if goes_on else None


def run(tools: Tools, thread_id: str) -> None:
    """Take the thread's lease and work until nothing is left to do; nothing when somebody else has it, or when the
    limits on running turns say that it must wait.

    Whoever holds the lease looks again after giving it back, so mail that came in between is never left.
    """
    tools.wakes.answered(thread_id)
    if tools.wakes.lives_elsewhere(thread_id, tools.shop.settings.host_id):
        # An old wake of a host that was gone for a while: the thread went on where its session is now.
        tools.wakes.wake(thread_id)
        return
    while line := tools.shop.store.line(thread_id):
        with tools.leases.hold(thread_id) as held:
            if held is None:
                return
            with tools.turnstile.passing(line[0]) as admitted:
                goes_on = admitted and _advance(tools, held.lease)
        if not admitted:  # whoever leaves rings for it
            return
        others = [who for who in waiting(tools.shop.store, tools.leases, tools.patience) if who.thread_id != thread_id]
        ring(others, tools.wakes, tools.turnstile)
        if not goes_on:
            return
        if others:  # a thread that never rests lets them go first
            if has_work(tools, thread_id):
                tools.wakes.wake(thread_id)
            return


def has_work(tools: Tools, thread_id: str) -> bool:
    """Whether the thread has unread mail or a turn that is not at rest."""
    current = tools.shop.store.current_turn(thread_id)
    running = current is not None and current.status == "running"
    return running or bool(tools.shop.store.unread(thread_id))


def _advance(tools: Tools, lease: Lease) -> bool:
    """One go under a lease; False when the thread is to be left alone for now."""
    step = _place(tools, lease.thread_id)
    try:
        if tools.patience.begin(step):
            turns.advance(tools.shop, lease)
        else:
            turns.abandon(tools.shop, lease)
    except LeaseLost:
        RETRIES.labels("turn", "lease_lost").inc()
        log.warning("lease lost, another worker goes on")
    except ComeBack as error:
        RETRIES.labels("turn", "put_off").inc()
        log.warning("put off", why=str(error), seconds=tools.patience.postpone(lease.thread_id, step))
    except Exception:
        # It counts like a crash: after a few of them the turn is closed instead of tried for ever.
        RETRIES.labels("turn", "failed").inc()
        log.exception("not advanced", seconds=tools.patience.postpone(lease.thread_id, step))
        return False
    else:
        tools.patience.end(step)
        return True
    tools.patience.end(step)
    return False


def _place(tools: Tools, thread_id: str) -> str:
    """Where the thread stands, as text: it changes with every stored step."""
    current = tools.shop.store.current_turn(thread_id)
    return f"{current.id}:{len(tools.shop.store.steps(current.id))}" if current else f"{thread_id}/new"
