"""The RQ job: advance one thread until it rests. RQ carries the wake only; the Store says what is to be done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from core.errors import LeaseLost, OursToFix
from core.installations.cipher import Undecipherable
from core.installations.tokens import NotInstalled
from core.leases import HeldLease
from core.metrics import RETRIES
from core.settings import Settings, load_settings
from core.store import Store, StoreUnreachable
from core.store.thread_state import ThreadState
from core.store.wait_queue import QueuedThread
from core.telemetry import bind_fields, get_logger
from core.values import Lease, ThreadKey
from workers.delivery.card import finish_late_cards
from workers.service.context import WorkerContext, opened
from workers.service.janitor import not_at_work, notify
from workers.service.sweeping.put_notes import noting_contents
from workers.service.sweeping.tempdir import job_tempdir
from workers.turn import runner
from workers.turn.context import RetryLater, TurnContext
from workers.turn.uninstalled import end_uninstalled

log = get_logger(__name__)


class JobFailed(OursToFix):
    """What RQ learns of a job that failed; the log has the error."""


_prepared: list[tuple[Settings, Store]] = []
"""What the worker that forks the processes of turns gives them: a job has its arguments only, and those must hold no
secret."""


def prepare(settings: Settings, store: Store) -> None:
    """Let the turns of this process and of its forks use these settings and this Store, which must be closed."""
    _prepared[:] = [(settings, store)]


def prepared() -> tuple[Settings, Store | None]:
    """What was prepared; else the settings of the environment."""
    return _prepared[0] if _prepared else (load_settings(), None)


def advance(thread_id: str, holder: str = "") -> None:
    """Advance this one thread, in a process of its own. Everything is opened here and closed here.

    The processes that hold many turns are in `turn_process.py`. `holder` names this process in its lease.
    """
    settings, store = prepared()
    try:
        with job_tempdir(settings), opened(settings, store=store, holder=holder) as worker:
            with bind_fields(thread=thread_id):
                run(worker, thread_id)
            finish_late_cards()
    except Exception:
        log.exception("job_failed", thread=thread_id)
        # RQ logs the error of a failed job and keeps it in Redis, with all that its message quotes.
        raise JobFailed(thread_id) from None


class NeedsOwnProcess(Exception):
    """Processes have died at this turn. It must not take the other turns of a process along."""


def run(worker: WorkerContext, thread_id: str) -> None:
    """Take the thread's lease and work until nothing is left to do.

    Does nothing when another worker has the lease, or when the limits on running turns say that the thread must wait.
    After the lease is given back the mail is read again, so mail that came in between is not forgotten. That is left
    out when the turn came to rest without mail, and Redis knows that nobody has come since: whoever comes stores the
    mail first and then finds the lease taken, which leaves a mark. A thread without work, or without a place, is read
    again for such a mark alone. Raises NeedsOwnProcess, in a process that is shared.
    """
    worker.wakes.claimed(thread_id)
    store, here = worker.context.store, worker.context.settings.node_id
    while True:
        with worker.leases.hold_and_read(thread_id) as taken:
            if taken is None:
                return
            held, state = taken
            admitted = False
            # An old wake, from while that node was unavailable. The node that has the session now is to be woken.
            is_elsewhere = state.queued is not None and worker.wakes.is_elsewhere(state.node_id, here)
            if state.queued is not None and not is_elsewhere:
                with worker.admission.admit(state.queued) as admitted:
                    advanced = _advance(worker, held, state) if admitted else _LEFT_ALONE
        if is_elsewhere:
            worker.wakes.wake(thread_id)
            return
        if not admitted:
            if held.was_wanted():  # who came has found the lease taken, and the mail is newer than `state`
                continue
            if state.queued is not None:
                _wait(worker, state.queued)
            return
        if advanced.rests_without_mail and held.was_left_alone():
            return
        worker.admission.forget_waiting()
        queue = store.wait_queue()
        others = [queued for queued in queue if queued.thread_id != thread_id]
        has_more = advanced.may_go_on and len(queue) > len(others)
        if not has_more and not _is_any_due(worker, others):
            return
        others = not_at_work(others, store, worker.leases, worker.backoff)
        if others:
            worker.admission.note_waiting()
        notify(others, worker.wakes, worker.admission)
        if not has_more:
            return
        if others:  # a thread that never rests lets the others go first
            worker.wakes.wake(thread_id)
            return


def _wait(worker: WorkerContext, queued: QueuedThread) -> None:
    """Leave the thread, whose lease was given back, to the next one that ends.

    One that ended before saw the lease held, and so nothing to wake: it may have freed the place, and taken the mark.
    """
    worker.admission.note_waiting()
    notify([queued], worker.wakes, worker.admission)


def _is_any_due(worker: WorkerContext, others: Sequence[QueuedThread]) -> bool:
    """Whether any of these threads was not woken yet and is free. Few are asked further about, however many wait."""
    unnotified = set(worker.wakes.unnotified([queued.thread_id for queued in others]))
    asked = [queued for queued in others if queued.thread_id in unnotified]
    return bool(not_at_work(asked, worker.context.store, worker.leases, worker.backoff))


class _Advanced(NamedTuple):
    """How a thread was left that was advanced once."""

    may_go_on: bool
    """If not, it is to be left alone for now."""
    rests_without_mail: bool
    """Whether it rests, and had no unread mail then."""


_LEFT_ALONE = _Advanced(may_go_on=False, rests_without_mail=False)


def _advance(worker: WorkerContext, held: HeldLease, state: ThreadState) -> _Advanced:
    """Advance the thread once under its lease."""
    rests_without_mail = False
    lease = held.lease
    step = state.progress  # a key for the backoff: it changes with every stored step and every message sent
    begun = worker.backoff.begin(step)
    if begun.is_suspect and worker.is_shared:
        worker.backoff.withdraw(step)
        raise NeedsOwnProcess(lease.thread_id)
    try:
        context = _context_of(worker, lease)
        with _leaving_no_contents(worker.context, lease):
            if context is None:
                end_uninstalled(worker.context, lease, state)
            elif not begun.is_hopeless:
                rests_without_mail = runner.advance(context, lease, state, held.is_lost, delays=begun.delays)
            else:
                runner.abandon(context, lease, state)
    except LeaseLost:
        RETRIES.labels("turn", "lease_lost").inc()
        log.warning("lease_lost")
    except RetryLater as error:
        RETRIES.labels("turn", "put_off").inc()
        log.warning("turn_postponed", why=error, seconds=worker.backoff.postpone(lease.thread_id, step))
    except Exception:
        # It counts like a crash: after a few of them the turn is closed instead of tried for ever.
        RETRIES.labels("turn", "failed").inc()
        log.exception("turn_failed", seconds=worker.backoff.postpone(lease.thread_id, step))
        return _LEFT_ALONE
    else:
        worker.backoff.end(step, forgets_delays=True)
        return _Advanced(True, rests_without_mail)
    worker.backoff.end(step)
    return _LEFT_ALONE


@contextmanager
def _leaving_no_contents(context: TurnContext, lease: Lease) -> Iterator[None]:
    """If the block fails because the thread was purged meanwhile, what it put into the file store is deleted too.

    The purge did not know of it: a content is put before a step names it.
    """
    with noting_contents(context.settings, context.store, context.blobs, lease.thread_id) as put:
        try:
            yield
        except Exception:
            try:
                if put and context.store.give_up_contents(lease.thread_id, put):
                    log.info("contents_given_up", contents=len(put))
            except StoreUnreachable as error:
                log.warning("contents_not_given_up", why=error)
            raise


def _context_of(worker: WorkerContext, lease: Lease) -> TurnContext | None:
    """What the turns of the lease's thread work with; None when its workspace has uninstalled the app.

    Raises RetryLater while its token cannot be read.
    """
    try:
        return worker.context_of(ThreadKey.parse(lease.thread_id).team)
    except NotInstalled:
        return None
    except (StoreUnreachable, Undecipherable) as error:
        raise RetryLater(str(error)) from error
