"""A thread comes to this node: its session is imported if possible. People and model are told what is missing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import partial

from core.phrases import say
from core.slack.text import escape
from core.steps import CellRan, Commanded, Corrected, Inherited, Moved, ShellIs, Step
from core.telemetry import get_logger
from core.values import Language, Lease
from workers.agent.about_steps import cells, cells_not_in, has_shell
from workers.agent.allowed_cells import runs_again
from workers.agent.replies.parse import read_reply
from workers.agent.turn import episodes
from workers.turn.context import TurnContext
from workers.turn.open_turn import OpenTurn
from workers.turn.sessions import with_session_host

log = get_logger(__name__)

_SHOWN = 6
_CELL = re.compile(r"(?P<thread>.+)/t(?P<turn>[0-9]+)/(?P<kind>[cp])[0-9]+")
"""The id of a cell of the model (c) or of a person (p)."""


def arrive(turn: OpenTurn) -> None:
    """Note that this node has the thread now. If it had it before, see once that the session fits the record.

    Safe to do again after a crash: the step is stored and shown once per arrival.
    """
    context = turn.context
    here, before = context.settings.node_id, turn.node_id
    if here == before:
        if not context.transfer.has_looked(turn.lease):
            _hold_against_record(turn)
        context.transfer.looked(turn.lease)
        return
    if before is not None:
        turn.store_row()
    last = turn.steps[-1] if turn.steps else None
    if isinstance(last, Moved) and last.node == here:  # a worker died behind it
        with_session_host(partial(context.transfer.import_state, turn.lease))
    elif (moved := bring(context, turn.lease, turn.turns, before)) is not None:
        turn.append(moved)
    if isinstance(last := turn.steps[-1] if turn.steps else None, Moved):
        place = sum(isinstance(step, Moved) for step in turn.steps)
        turn.show.say(f"moved:{place}", escape(sentence(last, turn.language)))
    turn.store_node(here, is_first=before is None and not turn.is_exported)
    context.transfer.looked(turn.lease)


def _hold_against_record(turn: OpenTurn) -> None:
    """Find out whether one of the Store and this node's sessions was restored from a backup, and the other was not.

    A session that went on after the backup is dropped: it has variables that no step of the thread explains, and it
    would answer a new cell with what the cell of the same id showed then. What an older session lacks is named.
    """
    context, thread_id = turn.context, turn.thread_id
    begun = frozenset(with_session_host(partial(context.sessions.export_session, thread_id)).cells)
    is_ahead = goes_further(begun, turn.turns, turn.row.id)
    if not is_ahead and not lacks_cells(begun, turn.turns):
        return
    log.warning("session_unlike_record", thread=thread_id, session="newer" if is_ahead else "older")
    turn.store_row()
    if is_ahead:
        with_session_host(partial(context.sessions.purge, thread_id))
    moved = bring(context, turn.lease, turn.turns, context.settings.node_id)
    if moved is None:
        return
    place = sum(isinstance(step, Moved) for step in turn.steps) + 1
    text = say(
        "session_unlike_record",
        turn.language,
        came=moved.came,
        cells=_shown(moved.cells, turn.language),
        names=_shown(moved.lost, turn.language),
    )
    turn.show.say(f"moved:{place}", escape(text))  # first: only this look finds it, and it is shown once
    turn.append(moved)


def goes_further(begun: Iterable[str], turns: Sequence[Sequence[Step]], turn_id: str) -> bool:
    """Whether cells have begun in a session that the thread's steps cannot have asked for yet.

    `begun` are their ids, `turns` the steps of all turns, that of the id `turn_id` last. A cell begins after the reply
    that asks for it was stored, and the next one after its result was. A reply may ask for several.
    """
    thread, _, number = turn_id.rpartition("/t")
    steps = turns[-1] if turns else ()
    stored = {step.cell_id for step in steps if isinstance(step, CellRan)}
    unknown = 0
    for cell_id in begun:
        found = _CELL.fullmatch(cell_id)
        if found is None or found["thread"] != thread:
            continue
        if int(found["turn"]) > int(number):
            return True
        unknown += found["turn"] == number and found["kind"] == "c" and cell_id not in stored
    return unknown > _asks_for_a_cell(steps)


def _asks_for_a_cell(steps: Sequence[Step]) -> bool:
    """Whether a command, or a call of the last reply, may have begun a cell whose result is not stored."""
    last = max((place for place, step in enumerate(steps) if isinstance(step, CellRan)), default=-1)
    if any(isinstance(step, Commanded) for step in steps[last + 1 :]):
        return True
    _, found = episodes(steps)
    if not found:
        return False
    answered = {step.call_id for step in found[-1].steps if isinstance(step, CellRan | Corrected)}
    asked = read_reply(found[-1].reply, found[-1].number).intents
    return any(intent.call_id not in answered - runs_again(found[-1].steps).keys() for intent in asked)


def lacks_cells(begun: Iterable[str], turns: Sequence[Sequence[Step]]) -> bool:
    """Whether a cell that ended well has never begun in the session that this node has had since it came here."""
    steps = [step for each in turns for step in each]
    came = max((place for place, step in enumerate(steps) if isinstance(step, Moved | Inherited)), default=-1)
    here: Sequence[Sequence[Step]] = [steps[came + 1 :]]
    return any(cell.status == "ok" for cell in cells_not_in(here, frozenset(begun)))


def bring(context: TurnContext, lease: Lease, turns: Sequence[Sequence[Step]], before: str | None) -> Moved | None:
    """Bring the thread's session here; None when there is nothing to say: it is new, or all of it is here already.

    `before` is the node that has it. Raises HostUnavailable, BlobsUnreachable.
    """
    here = context.settings.node_id
    is_new = before is None and not any(cells(steps) for steps in turns)
    if is_new:  # or it was purged, and what this host still has of it does not count
        with_session_host(partial(context.sessions.purge, lease.thread_id))
    imported = with_session_host(partial(context.transfer.import_state, lease))
    if imported is not None and imported.was_here:  # it may be alive, and files came while the thread was elsewhere
        with_session_host(partial(context.files.restore, lease.thread_id))
    if not any(cells(steps) for steps in turns):
        return None
    missing = cells_not_in(turns, imported.cells if imported is not None else ())
    came = imported is not None and (not missing or bool(imported.cells))
    lost = imported.lost if imported is not None else ()
    was_here = imported is not None and imported.was_here
    was_evicted = before is None  # people need not hear of it
    shell: ShellIs = "" if was_here or not has_shell(turns) else "anew" if was_evicted else "moved"
    titles = tuple(cell.title or cell.cell_id for cell in missing)
    moved = Moved(node=here, came=came, cells=titles, lost=lost, shell=shell)
    return None if moved.is_whole and not shell and (was_evicted or was_here) else moved


def sentence(moved: Moved, language: Language) -> str:
    """What people read of it."""
    shell = [say("session_new_shell", language)] if moved.shell else []
    if moved.is_whole and moved.shell == "anew":
        return shell[0]
    return " ".join([_of_python(moved, language), *shell])


def _of_python(moved: Moved, language: Language) -> str:
    if not moved.came:
        return say("session_restarted", language)
    if moved.is_whole:
        return say("session_moved", language)
    shown = {"cells": _shown(moved.cells, language), "names": _shown(moved.lost, language)}
    return say("session_moved_partly", language, **shown)


def _shown(names: Sequence[str], language: Language) -> str:
    more = [say("report_more", language, count=len(names) - _SHOWN)] if len(names) > _SHOWN else []
    return "; ".join([*names[:_SHOWN], *more])
