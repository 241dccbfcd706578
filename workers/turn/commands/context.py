"""context: a person leaves a message out of what the analyst reads, puts it back, or edits it there."""

from __future__ import annotations

from collections.abc import Sequence

from core.commands.registry import NOTE
from core.commands.stepping_in import ContextChange
from core.errors import SlackFailed, SlackUnreachable
from core.interactions import Reaction
from core.phrases import say
from core.slack.reading.files import file_refs
from core.slack.text import escape
from core.steps import Asked, Changed, Step
from workers.agent.thread.changes import CELL, MESSAGE, REPORT, message_target, with_changes
from workers.turn.commands.thread import CommandThread


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Store the step, and put its sign on the message. If nothing is changed, the person is told why."""
    command, change = thread.command, ContextChange.decode(thread.command.text)
    if change is None:
        return ()
    target = target_of(thread, change.message)
    if target is None or (change.do == "edit" and target.startswith(CELL)):
        _whisper(thread, say("context_not_there", thread.language))
        return ()
    step = Changed(
        do=change.do, target=target, text=change.text, user=command.user, author=command.author, ts=command.ts
    )
    if change.do == "leave_out" and _leaves_nothing(thread, step):
        _whisper(thread, say("context_only_question", thread.language))
        return ()
    slack, key = thread.context.slack, thread.key
    if change.do == "put_back":
        slack.unreact(key, change.message, Reaction.LEFT_OUT, lease=thread.lease)
    else:
        sign = Reaction.LEFT_OUT if change.do == "leave_out" else Reaction.EDITED
        slack.react(key, change.message, sign, lease=thread.lease)
    _whisper(thread, say(f"context_{change.do}", thread.language))
    return (step,)


def target_of(thread: CommandThread, ts: str) -> str | None:
    """The step of a message of the thread: a person's message, a cell, a report. None for everything else."""
    if (target := message_target(thread.turns, ts)) is not None:
        return target
    written = thread.context.store.written(thread.key.team, thread.key.channel, ts)
    if written is not None and written.thread_id == thread.lease.thread_id:  # no turn has read it yet
        return f"{MESSAGE}{ts}" if written.kind in ("text", NOTE) else None
    slot = slot_of(thread, ts)
    if slot is None:
        return None
    turn_id, _, kind = slot.removeprefix(f"{thread.lease.thread_id}/t").partition(":")
    name, _, cell_id = kind.partition(":")
    if name == "report" and turn_id.isdigit():
        return f"{REPORT}{turn_id}"
    return f"{CELL}{cell_id}" if name in ("figures", "own", "made") and cell_id else None


def slot_of(thread: CommandThread, ts: str) -> str | None:
    """The key of the row that sent a message of ours; None when none did.

    Slack does not always say in which message it put files: then the message's own files are looked at.
    """
    store, thread_id = thread.context.store, thread.lease.thread_id
    if (slot := store.outbox_slot(thread_id, ts)) is not None:
        return slot
    try:
        shown = thread.context.slack.message(thread.key, ts)
    except (SlackFailed, SlackUnreachable):
        return None
    ids = [file.id for file in file_refs(shown.get("files"))] if shown else []
    sent = store.outbox_files(thread_id) if ids else {}
    return next((sent[file_id] for file_id in ids if file_id in sent), None)


def _leaves_nothing(thread: CommandThread, step: Changed) -> bool:
    """Whether an open turn would have no question any more."""
    turn = thread.context.store.current_turn(thread.lease.thread_id)
    if turn is None:
        return False
    *before, now = thread.turns
    steps = with_changes([*before, [*now, step]])[-1]
    asked = [each for each in steps if isinstance(each, Asked)]
    return bool(asked) and all(each.left_out for each in asked)


def _whisper(thread: CommandThread, text: str) -> None:
    thread.context.slack.whisper(thread.key, thread.command.user, escape(text), lease=thread.lease)
