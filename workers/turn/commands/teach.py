"""teach: what a person decided about a playbook that waits for review. An edited one is proved again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from core.phrases import say
from core.slack.text import escape
from core.slack.views.report_badge import badge as badge_text
from core.steps import Proposed, Step
from core.team_folder.folder import NotWritten
from core.team_memory import MemoryDecision, proposal_of
from core.telemetry import get_logger
from workers.agent.report.rerun import plan
from workers.agent.thread.effective_steps import effective_steps
from workers.memory.playbooks.page import Playbook, PlaybookFault, read_playbook, write_playbook
from workers.memory.team import memory_of
from workers.turn.clean_rooms.second_input import second_run, with_second
from workers.turn.commands.memory import draw, settled_as, tell_late
from workers.turn.commands.playbook import drafted_from, reported, run_again
from workers.turn.commands.thread import CommandThread

log = get_logger(__name__)


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Write the playbook, or not. If it cannot be read, the proposal stays open, and its editor is told why."""
    command, decision = thread.command, MemoryDecision.decode(thread.command.text)
    found = proposal_of(thread.turns, decision.proposal) if decision is not None else None
    if decision is None or found is None or found[0].what != "playbook":
        return ()
    proposed, before = found
    if before is not None:
        tell_late(thread, proposed, before)
        return ()
    outcome, why, text, file = "dropped", "", proposed.text, proposed.file
    if decision.do == "keep":
        try:
            text = _page(thread, proposed, decision.text)
            file = _write(thread, proposed.file, text)
            outcome = "kept"
        except PlaybookFault as error:
            sentence = say("playbook_unreadable", thread.language, why=str(error))
            thread.context.slack.whisper(thread.key, command.user, escape(sentence), lease=thread.lease)
            return ()
        except NotWritten as error:
            log.warning("playbook_not_written", error=error)
            outcome, why = "gone", str(error)
    settled = settled_as(thread, proposed, outcome, why)
    draw(thread, proposed.model_copy(update={"text": text, "file": file}), settled)
    return (settled,)


def _page(thread: CommandThread, proposed: Proposed, edited: str) -> str:
    """The page with who approved it. What was proved, and by whom, is ours to say. Raises PlaybookFault."""
    book, drafted = read_playbook(edited or proposed.text), read_playbook(proposed.text)
    book = replace(book, proof=drafted.proof, approved=drafted.approved, kept=drafted.kept, thread=drafted.thread)
    if [stage.code for stage in book.stages] != [stage.code for stage in drafted.stages]:
        book = replace(book, proof=_proof(thread, proposed, book))
    name = thread.command.author or thread.command.user
    return write_playbook(replace(book, approved=tuple(dict.fromkeys([*book.approved, name]))))


def _proof(thread: CommandThread, proposed: Proposed, book: Playbook) -> str:
    """What the clean room says of stages that somebody edited, where they still are the report's cells one by one."""
    turns = [steps for steps in reported(drafted_from(thread, proposed)) if steps]
    made = plan(effective_steps(turns)) if turns else None
    if made is None or len(made.parts) != len(book.stages):
        return "not run since the stages were edited"
    ids = [part.cell.cell_id for _, part in made.parts]
    codes = dict(zip(ids, (stage.code for stage in book.stages), strict=True))
    outcome = run_again(thread, turns, codes)
    if outcome is None:
        return "not run since the stages were edited"
    second = second_run(thread.context, thread.lease.thread_id, turns, made, codes, language=thread.language)
    return with_second(badge_text(outcome, "en"), second)


def _write(thread: CommandThread, file: str, text: str) -> str:
    """Write the page, or one beside it where another playbook was kept since the draft; returns which."""
    folder = memory_of(thread.context.settings).documents.folder
    free, number = file, 2
    with folder.writing():
        while folder.text(free) not in {"", text}:
            free, number = f"{file.removesuffix('.md')}-{number}.md", number + 1
        folder.write(free, text)
    return free
