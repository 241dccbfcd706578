"""Performs what `decide` asks for, stores the step that follows, shows it, and asks again.

Everything is resumable. A step is stored before it is shown, showing is idempotent (deterministic outbox keys), a cell
has the same id whenever the same steps are decided again, and mail becomes steps in one transaction. So after a crash
anywhere, `advance` goes on from what the Store holds.
"""

from __future__ import annotations

import tempfile
from contextlib import suppress
from itertools import count
from pathlib import Path

from core.errors import BlobsUnreachable, FileUnreachable, LeaseLost, SlackUnreachable, outline
from core.home_writes import refused_by_disk
from core.phrases import say
from core.steps import Asked, Commanded, Replied
from core.store import StoreUnreachable
from core.store.thread_state import ThreadState
from core.telemetry import bind_fields, get_logger
from core.values import Lease
from executor.client import HostUnavailable
from workers.agent.about_steps import cells, ending
from workers.agent.decide import decide
from workers.turn.arrival import arrive
from workers.turn.cells import show_cell
from workers.turn.closing import close, close_answered, close_as_ours, close_at_last, tell_asker_refused
from workers.turn.context import RetryLater, TurnContext
from workers.turn.mail.inbox import join_mail, show_answer, tell_file_problems, tell_file_waits, tell_playbook
from workers.turn.open_turn import IsLost, OpenTurn
from workers.turn.performing import perform
from workers.turn.preferences import by_choice
from workers.turn.selection import give_up_command, next_turn
from workers.turn.sessions import ready_session, with_session_host

log = get_logger(__name__)

_INTRODUCTIONS = {"offline-analyst": "offline_introduction"}
"""Models that say in a thread's first message what they are and how to get another."""
_UNTOLD_DELAYS = 2
"""A file store that fails for so many tries of a step, some seconds, is told to nobody: most are back by then."""
_MOST_ALONE = 1_000
"""Actions after which the model or a person must have said something new. A reply has 32 calls, a playbook more."""


def advance(
    context: TurnContext, lease: Lease, state: ThreadState, is_lost: IsLost = lambda: False, *, delays: int = 0
) -> bool:
    """Work on the lease's thread until its turn rests. Messages that arrive meanwhile are for the next call.

    Returns whether the thread had no unread mail as its turn came to rest; False when that was not looked at. `state`
    is the thread as it was read under the lease; `delays` is how often this step was postponed before. Raises LeaseLost
    when another worker took over, RetryLater when Slack, the Store, the file store or the session host is unavailable.
    """
    context = by_choice(context, state)
    if (selected := next_turn(context, lease, state)) is not None:
        with bind_fields(thread=lease.thread_id, turn=selected.row.id):
            log.info("turn_goes_on", model=selected.row.model)
            turn = OpenTurn(context, lease, selected, is_lost)
            _work(turn, delays)
            return turn.rests_without_mail
    return False


def abandon(context: TurnContext, lease: Lease, state: ThreadState) -> None:
    """Close the thread's turn without looking at it: it was resumed too often and got no further.

    In a thread at rest it may be a command that gets no further: then that is left out, and nothing else.
    """
    if give_up_command(context, lease, state):
        return
    if (selected := next_turn(context, lease, state)) is not None:
        turn = OpenTurn(context, lease, selected, lambda: False)
        turn.store_row()
        with turn.show:
            close_at_last(turn)


def _work(turn: OpenTurn, delays: int) -> None:
    """Perform action after action until the turn rests. What goes wrong ends it with a sentence, never in a loop."""
    with turn.show:
        try:
            _make_tempdir()
            _until_rest(turn)
        except (LeaseLost, RetryLater):
            raise
        except FileUnreachable as error:
            tell_file_waits(turn, error)
            raise RetryLater(str(error)) from error
        except BlobsUnreachable as error:
            if delays >= _UNTOLD_DELAYS:
                _tell_is_away(turn, "file_store", "files_unavailable")
            raise RetryLater(str(error)) from error
        except (SlackUnreachable, StoreUnreachable) as error:
            tell_asker_refused(turn, error)
            raise RetryLater(str(error)) from error
        except HostUnavailable as error:
            _tell_is_away(turn, "host", "host_unavailable")
            raise RetryLater("the session host is away") from error
        except Exception as error:
            if refused_by_disk(error):  # of a temporary file: the session host says HostUnavailable of its own
                _tell_is_away(turn, "host", "host_unavailable")
                raise RetryLater(f"the disk takes no writes: {outline(error)}") from error
            log.exception("turn_failed")
            if close_answered(turn):
                return
            with suppress(Exception):  # what people sent meanwhile is kept with its files, if that can be done
                join_mail(turn)
            close_as_ours(turn)


def _tell_is_away(turn: OpenTurn, slot: str, phrase: str) -> None:
    """Say once in the thread what is away. Where Slack or the Store is away too, the turn waits without a word."""
    with suppress(SlackUnreachable, StoreUnreachable):
        turn.store_row()
        turn.show.say(slot, say(phrase, turn.language))


def _make_tempdir() -> None:
    """Make the folder of this process's temporary files, where the disk did not take it as the process began."""
    Path(tempfile.gettempdir()).mkdir(mode=0o700, parents=True, exist_ok=True)


def _until_rest(turn: OpenTurn) -> None:
    if end := ending(turn.steps):  # it needs no session any more, so the thread stays where that is
        _show_cells(turn)
        close(turn, end)
        return
    _show_what_is_there(turn)
    heard = 0
    for number in count(1):
        if not turn.had_no_mail_just_now():
            join_mail(turn)
        view = turn.view()
        if perform(turn, view, decide(view)):
            return
        if end := ending(turn.steps):
            close(turn, end)
            return
        if number % _MOST_ALONE == 0:
            heard = _require_progress(turn, heard)


def _require_progress(turn: OpenTurn, before: int) -> int:
    """How many steps of the model and of people the turn has. Raises NoProgress unless there are more than `before`."""
    heard = sum(isinstance(step, Replied | Asked | Commanded) for step in turn.steps)
    if heard <= before:
        raise NoProgress(f"{_MOST_ALONE} actions without a word of the model or of a person")
    return heard


class NoProgress(Exception):
    """A turn goes on for ever without the model and without people: a fault of ours, which must not fill the Store."""


def _show_what_is_there(turn: OpenTurn) -> None:
    """Show what a crash may have left unshown; nothing that was shown is shown twice."""
    arrive(turn)
    if turn.has_unshown_files:
        turn.show.tell_dropped_files()
    if turn.row.model in _INTRODUCTIONS:
        text = say(_INTRODUCTIONS[turn.row.model], turn.language)
        turn.show.say_once_per_thread("introduction", text)
    with_session_host(lambda: ready_session(turn))
    _show_cells(turn)


def _show_cells(turn: OpenTurn) -> None:
    tell_file_problems(turn)
    tell_playbook(turn)
    show_answer(turn)
    for cell in cells(turn.steps):
        show_cell(turn, cell)
