"""A thread comes to this node: its session is imported if possible. People and model are told what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from core.phrases import say
from core.slack.text import escape
from core.steps import Moved, ShellIs, Step
from core.values import Language, Lease
from workers.agent.about_steps import cells, cells_not_in, has_shell
from workers.turn.context import TurnContext
from workers.turn.open_turn import OpenTurn
from workers.turn.sessions import with_session_host

_SHOWN = 6


def arrive(turn: OpenTurn) -> None:
    """Note that this node has the thread now. Does nothing when it had it before.

    Safe to do again after a crash: the step is stored and shown once per arrival.
    """
    context = turn.context
    here, before = context.settings.node_id, turn.node_id
    if here == before:
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
