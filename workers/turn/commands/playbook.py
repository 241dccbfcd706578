"""playbook: drafts a playbook from the last report, proves it in the clean room, and posts it for review."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from core.clean_room import CleanRoom
from core.commands.registry import PLAYBOOK, argument_of
from core.errors import BlobsUnreachable
from core.phrases import say
from core.slack.views.report_badge import badge as badge_text
from core.steps import Commanded, Finished, Proposed, Step
from core.telemetry import get_logger
from core.values import Language
from executor.client import HostUnavailable, RequestError
from workers.agent.about_steps import data_held
from workers.agent.report.rerun import Plan, plan
from workers.agent.text import one_line
from workers.agent.thread.effective_steps import effective_steps
from workers.memory.playbooks.drafting import NAME_CHARS, Draft, draft
from workers.memory.playbooks.page import Playbook, file_name, lint, write_playbook
from workers.memory.playbooks.shelf import PLAYBOOKS
from workers.memory.playbooks.showing import UNSHOWN
from workers.memory.team import memory_of
from workers.turn.access.messages import held_back
from workers.turn.clean_rooms.room import NotWanted, Room, RoomTaken
from workers.turn.clean_rooms.second_input import SecondRun, second_run, with_second
from workers.turn.commands.memory import propose
from workers.turn.commands.thread import CommandThread
from workers.turn.source_tables import tables_now, with_types
from workers.turn.team_memory import spaces_in

log = get_logger(__name__)

REPRODUCED = "reproduced"


@dataclass(frozen=True, slots=True)
class Proven:
    """A draft, its outcome in the clean room, and this outcome in words; `second` is the outcome on a second input."""

    draft: Draft
    outcome: CleanRoom | None
    proof: str
    second: SecondRun | None = None


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Post the draft for review; say why not where the thread has no report with code behind it. Words behind a colon
    are its name.

    Its stages say what cells showed, also before a reset: it is for who may have that, and says what everybody may.
    """
    command, language = thread.command, thread.language
    turns = reported(upto(thread, command.text))
    if not turns:
        thread.answer(say("playbook_no_report", language), done=False)
        return ()
    if refusal := held_back(thread.context, thread.key, command.user, command.author, data_held(turns)):
        thread.answer(refusal, done=False)
        return ()
    proven = prove(thread, turns)
    if proven is None:
        thread.answer(say("playbook_no_code", language), done=False)
        return ()
    name = one_line(argument_of(PLAYBOOK, command.text).strip(' .。"“”'), NAME_CHARS) or proven.draft.playbook.name
    book = replace(proven.draft.playbook, name=name, proof=proven.proof)
    tables = tables_now(thread.context, thread.lease.thread_id, turns[-1], book.inputs)
    book = replace(book, inputs=with_types(book.inputs, tables))
    spaces = spaces_in(thread.context, thread.lease.thread_id)
    file = free_file(thread, spaces.own, book.name)
    proposed = Proposed(
        what="playbook",
        id=f"playbook:{command.ts}",
        file=file,
        title=book.name,
        text=write_playbook(book),
        about=summary(replace(book, proof=_proof(proven, language)), language, proven.second),
        user=command.user,
        author=command.author,
        ts=command.ts,
    )
    return propose(thread, proposed)


def upto(thread: CommandThread, said: str) -> Sequence[Sequence[Step]]:
    """The turns that a command's text means: all of them, or up to the one whose button was pressed."""
    thread_id, _, number = said.partition("/t")
    if thread_id == thread.lease.thread_id and number.isdigit():
        return thread.turns[: int(number)]
    return thread.turns


def drafted_from(thread: CommandThread, proposed: Proposed) -> Sequence[Sequence[Step]]:
    """The turns that a draft was made from: those that its command meant, as they were then."""
    for place, steps in enumerate(thread.turns):
        for number, step in enumerate(steps):
            if isinstance(step, Commanded) and step.ts == proposed.ts:
                meant = upto(thread, step.text)
                return meant if meant is not thread.turns else [*thread.turns[:place], steps[:number]]
    return thread.turns


def reported(turns: Sequence[Sequence[Step]]) -> list[Sequence[Step]]:
    """The turns up to the last one that ended with a report; empty without one."""
    ends = [place for place, steps in enumerate(turns) if any(isinstance(step, Finished) for step in steps)]
    return list(turns[: ends[-1] + 1]) if ends else []


def prove(thread: CommandThread, turns: Sequence[Sequence[Step]]) -> Proven | None:
    """The draft whose stages give the same results as the cells: with functions, else with the unchanged cells. None if
    no code can run again."""
    effective = effective_steps(turns)
    made = plan(effective)
    if made is None or not made.parts:
        return None
    when = f"{datetime.fromtimestamp(float(thread.command.ts), UTC):%Y-%m-%d}"
    name = thread.command.author or thread.command.user
    told = thread.told(turns)
    best: Proven | None = None
    for lifts in (True, False):
        thread_id = thread.lease.thread_id
        drafted = draft(effective, made, owner=name, thread=thread_id, kept=when, lifts=lifts, told=told)
        outcome = run_again(thread, turns, drafted.codes)
        proof = badge_text(outcome, "en") if outcome is not None else "not run"
        found = Proven(drafted, outcome, proof)
        best = best or found
        if outcome is None or outcome.state in (REPRODUCED, "partly", "unchecked"):
            best = found
            break
    return best and _with_second(thread, turns, made, best)


def _with_second(thread: CommandThread, turns: Sequence[Sequence[Step]], made: Plan, proven: Proven) -> Proven:
    """The same, tried on a second input where there is one. What did not run on its own data is not tried."""
    if proven.outcome is None or proven.outcome.state == "unchecked":
        return proven
    codes, thread_id = proven.draft.codes, thread.lease.thread_id
    second = second_run(thread.context, thread_id, turns, made, codes, language=thread.language)
    return replace(proven, second=second, proof=with_second(proven.proof, second))


def run_again(thread: CommandThread, turns: Sequence[Sequence[Step]], codes: dict[str, str]) -> CleanRoom | None:
    """What the clean room says of these stages; None when it could not be asked now."""
    context = thread.context
    room = Room(context.settings, context.blobs, context.sessions, context.files)
    inputs = tuple(context.store.thread_files(thread.lease.thread_id))
    try:
        return room.check(thread.lease.thread_id, turns, inputs, codes=codes)
    except (HostUnavailable, RequestError, BlobsUnreachable, RoomTaken, NotWanted) as error:
        log.warning("playbook_not_proved", error=error)
        return None


def _proof(proven: Proven, language: Language) -> str:
    """The proof in the words of the thread; the page keeps it in English."""
    own = badge_text(proven.outcome, language) if proven.outcome is not None else say("playbook_not_run", language)
    return with_second(own, proven.second)


def free_file(thread: CommandThread, space: str, name: str) -> str:
    """A page of the space that no playbook has yet."""
    there = {page.file for page in memory_of(thread.context.settings).documents.folder.pages(space, PLAYBOOKS)}
    base, number = f"{space}/{PLAYBOOKS}/{file_name(name)}", 2
    file = f"{base}.md"
    while file in there:
        file, number = f"{base}-{number}.md", number + 1
    return file


def summary(book: Playbook, language: Language, second: SecondRun | None = None) -> str:
    """What people read of a playbook before they open it."""
    lines = [
        f"{number}. {stage.title}" + (f" — {stage.shows}" if stage.shows != UNSHOWN else "")
        for number, stage in enumerate(book.stages, start=1)
    ]
    inputs = "; ".join(
        each.label + (f" ({', '.join(each.columns[:8])})" if each.columns else "") for each in book.inputs
    )
    parameters = ", ".join(f"{each.name} = {each.value!r}" for each in book.parameters)
    odd = [sentence for _, sentence in lint(book)]
    return say(
        "playbook_summary",
        language,
        when=book.when,
        stages="\n".join(lines),
        inputs=inputs,
        parameters=parameters,
        proof=book.proof,
        second="\n".join(second.figures) if second else "",
        second_file=second.file if second else "",
        odd="; ".join(sentence.rstrip(".") for sentence in odd),
    )
