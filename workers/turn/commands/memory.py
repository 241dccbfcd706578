"""memory: what a person decided about a proposal to keep or forget something."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from core.errors import OursToFix
from core.phrases import say
from core.slack.blocks import SlackMessage
from core.slack.text import escape
from core.slack.views.memory import proposal_message, settled_line, settled_message
from core.steps import Proposed, Settled, Step
from core.team_folder.entries import signing
from core.team_folder.folder import NotWritten
from core.team_folder.pages import Entry, same_title
from core.team_memory import MemoryDecision, proposal_of
from core.telemetry import get_logger
from core.values import ThreadKey
from workers.memory.documents import INSTEAD, Documents
from workers.memory.team import memory_of
from workers.turn.commands.thread import CommandThread

log = get_logger(__name__)


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Do what was decided, and draw the proposal again without its buttons. A person who presses too late is told."""
    command, decision = thread.command, MemoryDecision.decode(thread.command.text)
    found = proposal_of(thread.turns, decision.proposal) if decision is not None else None
    if decision is None or found is None:
        return ()
    proposed, before = found
    slack, key = thread.context.slack, thread.key
    if proposed.what in ("playbook", "program", "packages"):
        return ()
    if before is not None:
        tell_late(thread, proposed, before)
        return ()
    proposed = proposed.model_copy(
        update={"title": decision.title or proposed.title, "text": decision.text or proposed.text}
    )
    settled = _settled(thread, proposed, decision)
    draw(thread, proposed, settled)
    if settled.outcome == "gone":
        slack.whisper(key, command.user, escape(settled_line(proposed, settled, thread.language)), lease=thread.lease)
    return (settled,)


def propose(thread: CommandThread, proposed: Proposed) -> Sequence[Step]:
    """Post a proposal with its buttons."""
    message = proposal_message(proposed, thread.lease.thread_id, thread.language)
    thread.context.slack.post(thread.lease, thread.key, _slot(thread, proposed), message.text, message.blocks)
    thread.sign(done=True)
    return (proposed,)


def tell_late(thread: CommandThread, proposed: Proposed, before: Settled) -> None:
    """Say to who pressed too late what was decided."""
    text = say("memory_late", thread.language, line=settled_line(proposed, before, thread.language))
    thread.context.slack.whisper(thread.key, thread.command.user, escape(text), lease=thread.lease)


def _settled(thread: CommandThread, proposed: Proposed, decision: MemoryDecision) -> Settled:
    documents = memory_of(thread.context.settings).documents
    outcome, why = "dropped", ""
    try:
        if proposed.what == "entry" and decision.do in ("keep", "replace") and not proposed.text.strip():
            outcome, why = "gone", say("memory_empty", thread.language)  # the message that said it was deleted
        elif proposed.what == "entry" and decision.do in ("keep", "replace"):
            outcome = _keep(thread, documents, proposed, replaces=decision.do == "replace")
        elif proposed.what == "forget" and decision.do == "forget":
            outcome = "forgotten" if _forget(documents, proposed) else "gone"
            why = "" if outcome == "forgotten" else say("memory_changed_meanwhile", thread.language)
    except NotWritten as error:
        log.warning("memory_not_written", error=error)
        outcome, why = "gone", str(error)
    return settled_as(thread, proposed, outcome, why)


def settled_as(thread: CommandThread, proposed: Proposed, outcome: str, why: str = "") -> Settled:
    """The step that says what the author of the command decided about a proposal, or why that could not be done."""
    command = thread.command
    return Settled.model_validate(
        {
            "proposal": proposed.id,
            "outcome": outcome,
            "why": why,
            "user": command.user,
            "author": command.author,
            "ts": command.ts,
        }
    )


def _keep(thread: CommandThread, documents: Documents, proposed: Proposed, *, replaces: bool) -> str:
    # Somebody who gave it another title wants another entry: what has the old title stays.
    others = [note for note in proposed.clashes if replaces and same_title(note.title, proposed.title)]
    kept = _kept_line(thread, proposed)
    kept += "".join(f"{INSTEAD}{note.place}" for note in others if note.place != proposed.file)
    old = [Entry(note.title, note.text, note.kept) for note in others if note.place == proposed.file]
    documents.keep(proposed.file, Entry(proposed.title, proposed.text, kept), instead_of=old)
    return "replaced" if old else "kept"


def _forget(documents: Documents, proposed: Proposed) -> bool:
    """Remove the entry; False when it says something else by now. One that is not there is forgotten: a worker may die
    right after it wrote. Raises NotWritten, also for a page that cannot be read."""
    file, title = proposed.file, proposed.title
    documents.folder.text(file)
    notes = documents.notes((file.rpartition("/")[0],))
    there = [note for note in notes if (note.file, note.entry.title) == (file, title)]
    same = [note for note in there if note.entry.text == proposed.text]
    return documents.forget(same[0]) if same else not there


def _kept_line(thread: CommandThread, proposed: Proposed) -> str:
    """The line that says who kept it, when, and from which message. It goes into the file, so it contains no
    Markdown."""
    when = f"{datetime.fromtimestamp(float(thread.command.ts), UTC):%Y-%m-%d}"
    keeper, speaker = (signing(step.author or step.user) for step in (thread.command, proposed))
    channel, ts = ThreadKey.parse(thread.lease.thread_id).channel, proposed.ts
    return f"Kept by {keeper} on {when}; said by {speaker} in {channel}, message {ts}"


def draw(thread: CommandThread, proposed: Proposed, settled: Settled) -> None:
    """Draw a proposal again, decided, without its buttons."""
    draw_as(thread, proposed, settled_message(proposed, settled, thread.language))


def draw_as(thread: CommandThread, proposed: Proposed, message: SlackMessage) -> None:
    """Draw a proposal's message again."""
    row = thread.context.store.outbox_get(_slot(thread, proposed))
    if row is None or not row.ts:
        return
    try:
        thread.context.slack.update(thread.lease, thread.key, row.ts, message.text, message.blocks)
    except OursToFix as error:
        log.warning("proposal_not_redrawn", error=error)


def _slot(thread: CommandThread, proposed: Proposed) -> str:
    return f"{thread.lease.thread_id}/{proposed.id}"
