"""function: what a person decided about a function that waits for review."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from core.phrases import say
from core.slack.text import escape
from core.steps import FunctionDraft, Learning, Proposed, Step
from core.team_folder.folder import NotWritten
from core.team_folder.spaces import space_of
from core.team_memory import MemoryDecision, proposal_of
from core.telemetry import get_logger
from workers.memory.functions.shelf import UNTESTED, FunctionShelf
from workers.memory.team import memory_of
from workers.turn.commands.learn import learning_of
from workers.turn.commands.memory import draw, settled_as, tell_late
from workers.turn.commands.thread import CommandThread

log = get_logger(__name__)


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Accept it, drop it, try it again, or have another one written. Only one whose tests passed can be accepted."""
    command, decision = thread.command, MemoryDecision.decode(thread.command.text)
    found = proposal_of(thread.turns, decision.proposal) if decision is not None else None
    if decision is None or found is None or found[0].what != "function" or found[0].draft is None:
        return ()
    proposed, before = found
    if before is not None:
        tell_late(thread, proposed, before)
        return ()
    if decision.do == "keep" and not proposed.passed:
        text = say("function_not_passed", thread.language, name=proposed.title)
        thread.context.slack.whisper(thread.key, command.user, escape(text), lease=thread.lease)
        return ()
    shelf, outcome, why = memory_of(thread.context.settings).functions, "again", ""
    then = _then(thread, shelf, proposed, found[0].draft, decision)
    try:
        if decision.do == "keep":
            outcome = "kept"
            shelf.accept(space_of(proposed.file), found[0].draft, _provenance(thread, proposed))
        elif then is None:
            outcome = "dropped"
        if decision.do != "keep":
            shelf.drop_untested(space_of(proposed.file), proposed.title)
    except NotWritten as error:
        log.warning("function_not_written", error=error)
        if outcome == "kept":
            outcome, why = "gone", str(error)
    settled = settled_as(thread, proposed, outcome, why)
    draw(thread, proposed, settled)
    return (settled, then) if then is not None else (settled,)


def _then(
    thread: CommandThread, shelf: FunctionShelf, proposed: Proposed, draft: FunctionDraft, decision: MemoryDecision
) -> Learning | None:
    """What is to be done instead; None where nothing is."""
    asked = next(
        (
            step
            for steps in thread.turns
            for step in steps
            if isinstance(step, Learning) and step.id == proposed.id
        ),
        None,
    )  # fmt: skip
    examples = asked.examples if asked is not None else ""
    match decision.do:
        case "retest":
            edited = shelf.read(f"{space_of(proposed.file)}/{UNTESTED}/{proposed.title}")
            return learning_of(thread, proposed.text, examples, given=edited.draft if edited is not None else draft)
        case "again":
            return learning_of(thread, proposed.text, examples, before=draft)
        case "restate" if decision.text.strip():
            return learning_of(thread, decision.text.strip(), examples, before=draft)
    return None


def _provenance(thread: CommandThread, proposed: Proposed) -> dict[str, object]:
    command = thread.command
    return {
        "need": proposed.text,
        "asked": proposed.author or proposed.user,
        "accepted": [command.author or command.user],
        "kept": f"{datetime.fromtimestamp(float(command.ts), UTC):%Y-%m-%d}",
        "thread": thread.lease.thread_id,
    }
