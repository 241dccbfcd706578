"""program: the code behind a report as a command line program, tested on the thread's own files, once for each report.

No model writes any of it. First with functions and options. If these do not give the same results, with the unchanged
cells.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from core.clean_room import LeftOut
from core.commands.registry import PROGRAM, argument_of
from core.errors import BlobMissing, BlobsUnreachable, SlackFailed
from core.phrases import say
from core.slack.text import escape
from core.slack.writing.uploads import Upload
from core.steps import Briefed, FileAbstract, Finished, Step
from core.telemetry import get_logger
from core.values import Language, StoredFile
from executor.client import HostUnavailable, RequestError
from executor.values import CellResult
from workers.agent.about_steps import data_held
from workers.agent.report.rerun import Plan, plan
from workers.agent.text import one_line
from workers.delivery.reports import command_line
from workers.delivery.reports.command_line import DATA_BYTES, Option, Program
from workers.memory.playbooks.drafting import Draft, draft
from workers.sources.errors import SourceError
from workers.turn.access.messages import held_back
from workers.turn.clean_rooms.room import Room, RoomTaken
from workers.turn.commands.playbook import reported, upto
from workers.turn.commands.schedule import unseeded
from workers.turn.commands.thread import CommandThread
from workers.turn.privacy import as_people_see, privacy_in

log = get_logger(__name__)

OUT = "out/"
"""Where a program that is tested puts what it makes."""
_TABLE_BYTES = 2_000_000
_SAID = 3
_WORDS_CHARS = 100
_RUN = """
import json as _json, os as _os, runpy as _runpy
_given = _json.loads({payload})
for _name, _text in _given["files"].items():
    _os.makedirs(_os.path.dirname("program/" + _name) or ".", exist_ok=True)
    with open("program/" + _name, "w", encoding="utf-8") as _file:
        _file.write(_text)
_runpy.run_path("program/main.py")["main"](_given["arguments"])
"""


@dataclass(frozen=True, slots=True)
class Tested:
    """What became of a program in the sandbox: as a sentence, and whether it gave what the thread's cells gave."""

    said: str
    same: bool


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Post the program; say why not where the thread has no report with code behind it."""
    store, language = thread.context.store, thread.language
    turns = reported(upto(thread, thread.command.text))
    if not turns:
        thread.answer(say("program_no_report", language), done=False)
        return ()
    command = thread.command
    if refusal := held_back(thread.context, thread.key, command.user, command.author, data_held(turns)):
        thread.answer(refusal, done=False)
        return ()
    turn_id = list(store.thread_steps(thread.lease.thread_id))[len(turns) - 1]
    key = f"{turn_id}:program"
    known = store.outbox_get(key)
    if known is not None and known.status == "sent" and known.created_at.timestamp() < float(thread.command.ts):
        thread.answer(_with_words(say("program_known", language), thread))
        return ()
    seen = as_people_see(turns, privacy_in(thread.context, thread.lease.thread_id))
    made = plan(seen, asks_sources=True)
    if made is None or not made.parts:
        thread.answer(say("program_no_code", language), done=False)
        return ()
    inputs = tuple(store.thread_files(thread.lease.thread_id))
    program, tested = _best(thread, seen, made, inputs)
    if thread.stop_asked():
        thread.answer(say("program_stopped", language), done=False)
        return ()
    if repeats_not := unseeded(made, language):
        tested = replace(tested, said=f"{tested.said} {repeats_not}")
    return _post(thread, key, program, tested)


def sandbox_code(program: Program) -> str:
    """The cell that runs a program beside the thread's files. What comes from the thread is data in it."""
    arguments = [*(file.path for file in program.inputs), "--out", OUT]
    payload = {"files": command_line.program_files(program), "arguments": arguments}
    return _RUN.format(payload=repr(json.dumps(payload)))


def made_by(ran: CellResult) -> dict[str, str]:
    """What a program left: the text of its tables, and the names of everything else."""
    found = {}
    for one in ran.artifacts:
        if one.name.startswith(OUT):
            is_table = one.name.endswith(".csv") and one.size <= _TABLE_BYTES
            text = Path(one.path).read_text(encoding="utf-8", errors="replace") if is_table else ""
            found[one.name.removeprefix(OUT)] = text
    return found


def _best(
    thread: CommandThread, seen: Sequence[Sequence[Step]], made: Plan, inputs: Sequence[StoredFile]
) -> tuple[Program, Tested]:
    """The program with functions and options, if it gives the thread's numbers; else with the cells as they are."""
    found: list[tuple[Program, Tested]] = []
    for lifts in (True, False):
        program = _program(thread, seen, made, lifts=lifts)
        found.append((program, _tested(thread, program, seen, made, inputs)))
        if found[-1][1].same or program.asks_sources or thread.stop_asked():
            return found[-1]
    return found[-1]


def _program(thread: CommandThread, seen: Sequence[Sequence[Step]], made: Plan, *, lifts: bool) -> Program:
    drafted: Draft = draft(seen, made, owner="", thread="", kept="", lifts=lifts, passes=True)
    book, files = drafted.playbook, {file.path: file for file in _files(seen)}
    wanted = {each.file: each.columns for each in book.inputs if each.file in files}
    for file in _read_by(made, files):
        wanted.setdefault(file, ())
    return Program(
        question=book.when,
        language=thread.language,
        parts=[(n, replace(part, code=drafted.codes.get(part.cell.cell_id, part.code))) for n, part in made.parts],
        wanted=made.wanted,
        inputs=[file for path, file in files.items() if path in wanted],
        options=[
            Option(one.name, one.type, one.value, one.meaning)
            for one in book.parameters
            if not isinstance(one.value, bool)
        ],
        packages=thread.context.environment.packages,
        left_out=[_left(one, thread.language) for one in made.left_out],
        kinds=_kinds(thread, made),
        columns=wanted,
    )


def _kinds(thread: CommandThread, made: Plan) -> dict[str, str]:
    """The kinds of the sources that the cells ask; none where the broker cannot say them now."""
    broker = thread.context.broker
    if broker is None or not any(part.cell.statements for _, part in made.parts):
        return {}
    try:
        return broker.kinds()
    except SourceError:
        return {}


def _left(one: LeftOut, language: Language) -> str:
    return say("program_left", language, number=one.cell, title=one.title, why=say(f"clean_left_{one.why}", language))


def _files(seen: Sequence[Sequence[Step]]) -> list[FileAbstract]:
    briefed = [step for steps in seen for step in steps if isinstance(step, Briefed)]
    return list({file.path: file for step in briefed for file in step.files}.values())


def _read_by(made: Plan, files: dict[str, FileAbstract]) -> set[str]:
    """The files that the cells opened. Where the host could not see that, every file of the thread may be one."""
    read = [part.cell.files_read for _, part in made.parts]
    if any(one is None for one in read):
        return set(files)
    return {path for one in read for path in one or () if path in files}


def _tested(
    thread: CommandThread,
    program: Program,
    seen: Sequence[Sequence[Step]],
    made: Plan,
    inputs: Sequence[StoredFile],
) -> Tested:
    """Run the program in a session of its own with the thread's files, and compare what it gives."""
    context, language = thread.context, thread.language
    if program.asks_sources:
        return Tested(say("program_untested_sources", language), False)
    limit_s = context.settings.report.clean_room_s
    if made.expected_s > limit_s:
        why = say("program_too_long", language, seconds=limit_s)
        return Tested(say("program_untested", language, why=why), False)
    code = sandbox_code(program)
    room = Room(context.settings, context.blobs, context.sessions, context.files)
    left: dict[str, str] = {}

    def read(ran: CellResult) -> None:
        left.update(made_by(ran))

    try:
        with context.waiting.one_more():
            ran = room.run(thread.lease.thread_id, inputs, "program", code, None, thread.stop_asked, limit_s, read=read)
    except (HostUnavailable, RequestError, BlobsUnreachable, RoomTaken) as error:
        log.warning("program_not_tested", error=error)
        return Tested(say("program_untested", language, why=say("program_away", language)), False)
    if ran.status != "ok":
        why = f"{ran.error.name}: {ran.error.message}" if ran.error else ran.status
        return Tested(say("program_fails", language, why=one_line(why, 200)), False)
    return _compared(program, seen, ran.stdout, left, language)


def _compared(
    program: Program, seen: Sequence[Sequence[Step]], said: str, left: dict[str, str], language: Language
) -> Tested:
    wanted = command_line.expected(program)
    found = command_line.differences(wanted, said, left)
    steps = len(wanted["steps"])
    if found:
        told = [_said(each, language) for each in found[:_SAID]]
        count = len({heading for heading, *_ in found})
        differing = one_line("; ".join(told), 400)
        return Tested(say("program_differs", language, count=count, steps=steps, said=differing), False)
    return Tested(say("program_same", language, steps=steps, figures=_figures(program, seen)), True)


def _said(difference: command_line.Difference, language: Language) -> str:
    heading, kind, values = difference
    words = say(f"program_step_{kind}", language, **values)
    return f"{heading.removeprefix('# ')}: {words}"


def _figures(program: Program, seen: Sequence[Sequence[Step]]) -> int:
    """The figures of the report that rest on steps that were compared."""
    finished = next(step for step in reversed(seen[-1]) if isinstance(step, Finished))
    compared = {
        part.cell.cell_id for _, part in program.parts if part.kept == "whole" and part.cell.cell_id in program.wanted
    }
    shown = [{place.cell_id for place in one.places if place.cell_id} for one in finished.sources]
    return sum(bool(cells) and cells <= compared for cells in shown)


def _post(thread: CommandThread, key: str, program: Program, tested: Tested) -> Sequence[Step]:
    language, name = thread.language, f"{program.name}.zip"
    options = ", ".join(f"--{one.name.replace('_', '-')} ({one.value})" for one in program.options)
    comment = say(
        "program_here",
        language,
        usage=program.usage,
        options=options,
        proof=tested.said,
        left_out="; ".join(program.left_out),
    )
    comment = _with_words(comment, thread)
    data = command_line.program_zip(program, tested.said, _data(thread, program))
    upload = Upload(name=name, data=data, title=name)
    try:
        steps = thread.share(key, [upload], escape(comment))
    except SlackFailed as error:
        thread.answer(say("program_refused", language, why=error.error), done=False)
        return ()
    if not thread.command.text.startswith(f"{thread.lease.thread_id}/t"):  # a press has no message to put a sign on
        thread.sign(done=True)
    return steps


def _with_words(said: str, thread: CommandThread) -> str:
    """What is said of a program, and that it does not go by the words behind the command, if there are any."""
    words = one_line(argument_of(PROGRAM, thread.command.text), _WORDS_CHARS)
    return "\n".join([said, say("program_words", thread.language, words=words)]) if words else said


def _data(thread: CommandThread, program: Program) -> dict[str, bytes]:
    """The thread's files for the tests; none when they are large or one is lost."""
    wanted = {file.path: file for file in program.inputs}
    if sum(file.size for file in wanted.values()) > DATA_BYTES:
        return {}
    try:
        return {path: thread.context.blobs.get(file.sha256) for path, file in wanted.items()}
    except BlobMissing:
        return {}
