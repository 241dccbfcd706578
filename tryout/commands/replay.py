"""`threadbook replay`: the steps of a turn as they happened, from the Store alone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, assert_never
from urllib.parse import quote

from rich.console import Console
from rich.rule import Rule
from rich.text import Text
from sqlalchemy.exc import SQLAlchemyError

from core.actions import Action
from core.blobs import Blobs
from core.clean_room import CleanRoom
from core.errors import BlobMissing, BlobsUnreachable
from core.rows import Spent, money
from core.settings import Settings
from core.slack.views.report_badge import badge
from core.steps import (
    Acknowledged,
    Agreed,
    Asked,
    Briefed,
    CellRan,
    Changed,
    Checked,
    Closed,
    Commanded,
    Compacted,
    Corrected,
    Decided,
    FilesHeld,
    FilesSettled,
    Finished,
    Forgot,
    Forked,
    FunctionTried,
    GaveUp,
    Imported,
    Inherited,
    Learning,
    LeaseGone,
    Loaded,
    ModelFailed,
    Moved,
    Noted,
    Planned,
    Preferred,
    Proposed,
    Queried,
    Questioned,
    Recalled,
    Redrafted,
    Replied,
    Resumed,
    RouteBegan,
    RouteRan,
    Said,
    Settled,
    Startup,
    StatementRan,
    Step,
    ToolCalled,
    ToolRan,
    Undone,
    Unfollowed,
    UnknownStep,
    Unread,
    dump_step,
    total_spent,
)
from core.store import Store, TurnRow
from core.store.history import History, Sent, TimedStep
from tryout.commands.named import turns_named
from tryout.commands.operator import permitted, why_unreadable
from tryout.commands.pages import NoPage, write_page
from tryout.commands.show import printable
from workers.agent.about_steps import statements
from workers.agent.replies.plans import lines_of, plan_text
from workers.delivery.reports.second import second_line

OUTPUT_LINES = 12
"""Lines of one output that a person sees; `--json` has all that was stored."""

Json = dict[str, Any]


def run(
    settings: Settings,
    name: str,
    *,
    as_json: bool = False,
    outputs: Path | None = None,
    html: Path | None = None,
    pdf: Path | None = None,
) -> int:
    """Print the turns that `name` means: a turn's id, a thread's, or a link to a Slack message. 1 if there is none.

    `outputs` is a folder for the whole texts of outputs that their steps hold in part. With `html` or `pdf` the page of
    the last report is written there, and nothing else is printed.
    """
    with closing(History(settings.database_url)) as history, closing(Store(settings.database_url)) as store:
        try:
            turns = [(turn, history.steps(turn.id), history.sent(turn)) for turn in turns_named(history, name)]
            checked = {turn.id: outcome for turn, _, _ in turns if (outcome := store.clean_room(turn.id)) is not None}
            if not permitted(
                settings, store, Action.REPLAY, name, sources_asked(step for _, steps, _ in turns for step in steps)
            ):
                return 1
        except SQLAlchemyError as error:
            Console(stderr=True).print(Text(why_unreadable(store, error)))
            return 1
        if turns and (html or pdf):
            return _write_page(settings, store, [turn for turn, _, _ in turns], html, pdf)
    console = Console(highlight=False, soft_wrap=True)
    if as_json:
        print(json.dumps([as_document(*turn, checked.get(turn[0].id)) for turn in turns], ensure_ascii=False))
    if not turns and as_json:
        return 1
    if not turns:
        Console(stderr=True).print(
            Text(
                f"No turn is named {printable(name)!r}. `threadbook status` prints ids; a link to a message works too."
            )
        )
        return 1
    for turn in () if as_json else turns:
        for text in as_lines(*turn, checked.get(turn[0].id)):
            console.print(text)
    steps = [step.step for _, each, _ in turns for step in each]
    return 0 if outputs is None else _write_outputs(settings, outputs, steps)


def _write_page(settings: Settings, store: Store, turns: list[TurnRow], html: Path | None, pdf: Path | None) -> int:
    try:
        for path in write_page(store, Blobs(settings.files), turns, html, pdf):
            print(path)
    except (NoPage, OSError) as error:
        Console(stderr=True, soft_wrap=True).print(Text(str(error)))
        return 1
    return 0


def _write_outputs(settings: Settings, folder: Path, steps: Iterable[Step | UnknownStep]) -> int:
    """Write the whole texts of outputs, a file each, named by cell and field. 1 when one cannot be had."""
    blobs, console = Blobs(settings.files), Console(stderr=True, highlight=False, soft_wrap=True)
    folder.mkdir(parents=True, exist_ok=True)
    cells = [step for step in steps if isinstance(step, CellRan) and step.whole_outputs]
    for cell in cells:
        for file in cell.whole_outputs:
            path = folder / f"{quote(cell.cell_id, safe='')}-{quote(file.name, safe='')}.txt"
            try:
                blobs.fetch(file.sha256, path)
            except (BlobMissing, BlobsUnreachable) as error:
                console.print(Text(f"{path.name} cannot be read from the file store: {type(error).__name__}."))
                return 1
            console.print(Text(f"{path} · {file.size:,} bytes"))
    if not cells:
        console.print(Text("No output was cut: the steps hold all of them."))
    return 0


def sources_asked(steps: Iterable[TimedStep]) -> dict[str, str]:
    """The data sources that these steps have statements of, for the audit."""
    named = sorted({statement.source for statement in statements(each.step for each in steps)})
    return {"sources": ", ".join(named)} if named else {}


def as_document(turn: TurnRow, steps: list[TimedStep], sent: list[Sent], checked: CleanRoom | None = None) -> Json:
    """A turn for a program: every step with all that was stored of it, and its time (ISO 8601, UTC)."""
    return {
        "turn": turn.id,
        "thread": turn.thread_id,
        "status": turn.status,
        "language": turn.language,
        "model": turn.model,
        "began": turn.created_at.isoformat(),
        "ended": turn.ended_at.isoformat() if turn.ended_at else None,
        "spent": asdict(_spent(steps)),
        "steps": [{"at": step.at.isoformat(), **dump_step(step.step)} for step in steps],
        "slack": [
            {
                "slot": each.slot,
                "method": each.method,
                "begun": each.begun_at.isoformat(),
                "sent": each.sent_at.isoformat() if each.sent_at else None,
            }
            for each in sent
        ],
        "clean_room": checked.model_dump(mode="json") if checked is not None else None,
    }


def as_lines(
    turn: TurnRow, steps: list[TimedStep], sent: list[Sent], checked: CleanRoom | None = None
) -> Iterator[Rule | Text]:
    """A turn for a person: what happened and when (seconds since its start), with texts, code and output."""
    yield Rule(Text(printable(f"{turn.id} · {turn.status} · {turn.model}"), style="bold"), align="left")
    yield Text(f"began {turn.created_at:%Y-%m-%d %H:%M:%S} UTC", style="dim")
    happened: list[tuple[datetime, TimedStep | Sent]] = [(step.at, step) for step in steps]
    happened += [(each.sent_at or each.begun_at, each) for each in sent]
    for at, what in sorted(happened, key=lambda pair: pair[0]):
        clock = f"{(at - turn.created_at).total_seconds():+9.2f} s  "
        if isinstance(what, Sent):
            late = "" if what.sent_at else " (no reply seen)"
            yield Text(f"{clock}→ Slack   {what.slot}: {what.method}{late}", style="dim")
            continue
        shown = _shown(what.step)
        yield Text(clock, style="dim").append(printable(shown.title), style=shown.style)
        for detail in (*shown.details, *_later_fields(what.step)):
            yield Text(printable(_indented(detail)))
    spent = _spent(steps)
    if spent.tokens:
        cost = "" if spent.cost_micros is None else f", cost {money(spent.cost_micros)}"
        cached = f"{spent.cached_tokens:,} cached"
        if spent.cached_tokens:
            cached += f", {spent.cached_tokens / max(spent.prompt_tokens, spent.cached_tokens):.0%} of the prompts"
        yield Text(f"{spent.calls} model calls, {spent.tokens:,} tokens ({cached}){cost}", style="dim")
    if checked is not None:
        yield Text(printable(f"clean room: {badge(checked, 'en')}"), style="bold")
    if turn.ended_at:
        yield Text(f"{(turn.ended_at - turn.created_at).total_seconds():+9.2f} s  {turn.status}", style="bold")


def headline(step: Step) -> str:
    """What a step was, in one line."""
    return _shown(step).title


class _Shown(NamedTuple):
    """A step for a person: headline, colour, and the lines below."""

    title: str
    style: str
    details: list[str]


_PersonStep = (
    Asked
    | Changed
    | Noted
    | Preferred
    | Agreed
    | Redrafted
    | Decided
    | Commanded
    | Acknowledged
    | Resumed
    | Undone
    | Forgot
)
_FilesStep = Briefed | Unread | FilesHeld | FilesSettled
_ModelStep = (
    Replied
    | CellRan
    | Queried
    | ToolCalled
    | Planned
    | Corrected
    | Compacted
    | Checked
    | RouteBegan
    | RouteRan
    | ModelFailed
)
_EndStep = Closed | Questioned | Finished | GaveUp
_SessionStep = Moved | Forked | Startup | Loaded | Imported | Said | Inherited | LeaseGone
_MemoryStep = Recalled | Unfollowed | Learning | FunctionTried | Proposed | Settled


def _shown(step: Step) -> _Shown:
    if isinstance(step, _PersonStep):
        return _of_person(step)
    if isinstance(step, _FilesStep):
        return _of_files(step)
    if isinstance(step, _ModelStep):
        return _of_model(step)
    if isinstance(step, _EndStep):
        return _of_end(step)
    if isinstance(step, _SessionStep):
        return _of_session(step)
    if isinstance(step, _MemoryStep):
        return _of_memory(step)
    if isinstance(step, UnknownStep):
        body = _head(json.dumps(step.body, ensure_ascii=False))
        return _Shown(f"unknown step: {step.stored_kind or 'without a kind'}", "", [body])
    assert_never(step)


def _of_person(step: _PersonStep) -> _Shown:
    """What a person wrote, wanted or allowed."""
    match step:
        case Asked():
            return _Shown(f"person    {step.author or step.user}", "magenta", [step.text])
        case Changed():
            done = {"leave_out": "left out", "put_back": "put back", "edit": "edited"}[step.do]
            return _Shown(f"{done:9} {step.target} by {step.author or step.user}", "magenta", [step.text])
        case Noted():
            return _Shown(f"note      {step.author or step.user}", "magenta", [step.text])
        case Preferred():
            wanted = [f"{each.of}: {each.text}" for each in step.instructions]
            named = [*(["step by step"] if step.staged else []), *([f"model {step.model}"] if step.model else [])]
            return _Shown(f"preferred {', '.join(named)} by {step.author or step.user}", "magenta", wanted)
        case Agreed():
            return _Shown(f"agreed    {step.author or step.user}, more people are needed", "magenta", [])
        case Redrafted():
            return _Shown(f"changed   by {step.author or step.user}, asked again", "magenta", [step.code])
        case Decided():
            return _Shown(
                f"decided   {step.outcome}, {step.author or step.user}".rstrip(", "), "magenta", [step.code, step.hint]
            )
        case Commanded():
            return _Shown(f"command   {step.command} by {step.author or step.user}", "magenta", [step.text])
        case Acknowledged():
            return _Shown(f"done      {step.command}", "magenta", [])
        case Resumed():
            how = f", model {step.model}" if step.model else ", waits for the model" if step.waits_until else ""
            return _Shown(f"resumed by {step.author or step.user}{how}", "magenta", [])
        case Undone():
            return _Shown(f"undone    {step.title} by {step.author or step.user}", "magenta", [])
        case Forgot():
            kept = "" if step.done else ", but withdrawn"
            return _Shown(f"reset by {step.author or step.user}{kept}", "magenta", [])


def _of_files(step: _FilesStep) -> _Shown:
    """The files that came, and those that wait for a yes."""
    match step:
        case Briefed():
            files = [f"{file.path} ({file.format}, {file.size} bytes)" for file in step.files]
            problems = [f"not used: {problem.name}: {problem.why}" for problem in step.problems]
            return _Shown(f"files     {len(files)} described", "blue", [*files, *problems])
        case Unread():
            return _Shown("files     not read yet", "blue", [file.name for file in step.files])
        case FilesHeld():
            names = [each.name for each in step.files]
            return _Shown(f"held      {len(names)} files wait for a yes", "yellow", names)
        case FilesSettled():
            return _Shown(f"files     {step.outcome}, {step.author or step.user}", "magenta", [])


def _of_model(step: _ModelStep) -> _Shown:
    """What the model was asked, planned and ran, and what the agent made of it."""
    match step:
        case Replied():
            return _reply(step)
        case CellRan():
            return _cell(step)
        case Queried(statement=ran):
            return _Shown(f"queried   {ran.source}: {_outcome(ran)}", "blue", [])
        case ToolCalled(call=call):
            return _Shown(f"tool      {call.server}.{call.tool}: {_came(call)}", "blue", [_head(call.arguments)])
        case Planned():
            return _Shown(f"{'new plan' if step.why else 'plan':<10}{step.why}", "cyan", [plan_text(lines_of([step]))])
        case Corrected():
            return _Shown(f"corrected {step.reason}", "yellow", [_head(step.text)])
        case Compacted():
            return _Shown(f"shortened to {step.context_chars} characters, the model takes no more", "yellow", [])
        case Checked():
            verdict = "the report stands" if step.is_final else "not yet"
            return _Shown(f"checked   {verdict}", "cyan", [step.reason])
        case RouteBegan():
            return _Shown("second    way begins", "dim", [])
        case RouteRan():
            told = [step.code, step.result, _head(step.error)]
            return _Shown(
                f"second    way: {step.status} in {step.seconds:.2f} s", "cyan", [each for each in told if each]
            )
        case ModelFailed():
            return _Shown(f"model     {step.purpose}: {step.reason}", "red", [])


def _of_end(step: _EndStep) -> _Shown:
    """How a turn rests or ends."""
    match step:
        case Closed():
            return _Shown("closed    nobody asked the analyst anything", "magenta", [])
        case Questioned():
            return _Shown("question", "magenta", [step.question, " / ".join(step.options)])
        case Finished():
            by = f" by {step.author} in the analyst's place" if step.author else ""
            second = [second_line(step.second, "en")] if step.second is not None else []
            return _Shown(f"report{by}", "bold green", [step.report, *second])
        case GaveUp():
            return _Shown(f"gave up   {step.reason}, {step.fault}", "bold red", [step.text])


def _of_session(step: _SessionStep) -> _Shown:
    """What became of the session and of the thread around it."""
    match step:
        case Moved():
            missing = [*(f"not there: {title}" for title in step.cells), *(f"not kept: {name}" for name in step.lost)]
            missing += ["a new shell"] if step.shell else []
            what = "with its session" if step.came else "without its session"
            return _Shown(f"moved     to {step.node}, {what}", "yellow", missing)
        case Forked():
            return _Shown(f"forked    to {step.thread} by {step.author or step.user}", "magenta", [])
        case Startup():
            what = "set" if step.code else "taken away"
            return _Shown(f"start-up  {what} by {step.author or step.user}", "magenta", [step.code])
        case Loaded():
            about = [*step.questions, *(f"code of {cell.title}" for cell in step.cells), _head(step.report)]
            return _Shown(f"loaded    {step.source}@{step.state[:12]} by {step.author or step.user}", "magenta", about)
        case Imported():
            about = [step.startup] if step.startup else []
            return _Shown(f"imported  from {step.file}, {step.place}, by {step.author}", "yellow", about)
        case Said():
            return _Shown(f"said      {step.who}", "cyan" if step.who == "assistant" else "", [step.text])
        case Inherited():
            gone = [f"not here: cell {one.cell} {one.title} ({one.why})" for one in step.missing]
            return _Shown(f"inherited from {step.source}@{step.state[:12]}, {step.ran} cells run again", "yellow", gone)
        case LeaseGone():
            return _Shown("the lease was lost", "red", [])


def _of_memory(step: _MemoryStep) -> _Shown:
    """What a turn read of the team's memory, and what people decided about it."""
    match step:
        case Recalled():
            notes = [f"{note.place}: {note.title}" for note in step.notes]
            notes += [f"follows {step.playbook.file}", *step.playbook.drift] if step.playbook else []
            notes += [f"function {each.file} v{each.version}" for each in step.functions]
            return _Shown(f"recalled  {len(step.notes)} entries of the team", "blue", notes)
        case Learning():
            return _Shown(f"learning  a function, asked by {step.author or step.user}", "magenta", [step.need])
        case FunctionTried():
            name = step.draft.name if step.draft is not None else "no function"
            results = [f"{each.outcome}: {each.name} {each.error}".rstrip() for each in step.tests]
            what = f"tried     {name}: {step.state}, {step.caught} of {step.broken} broken versions caught"
            return _Shown(what, "cyan", [*step.faults, *results])
        case Unfollowed():
            return _Shown(f"without   {step.file}, {step.author or step.user}", "magenta", [])
        case Proposed():
            return _Shown(f"proposed  {step.what} {step.file} by {step.author or step.user}", "magenta", [step.text])
        case Settled():
            return _Shown(f"{step.outcome:9} by {step.author or step.user}", "magenta", [step.why])


def _reply(step: Replied) -> _Shown:
    cost = "" if step.cost_micros is None else f", cost {money(step.cost_micros)}"
    tokens = f"{step.usage.prompt_tokens} + {step.usage.completion_tokens} tokens{cost}"
    calls = ", ".join(call.name for call in step.calls) or step.finish
    if step.pictures:
        tokens += f", {step.pictures} {'picture' if step.pictures == 1 else 'pictures'} shown"
    title = f"model     {step.purpose}: {calls} ({step.duration_s:.2f} s, {tokens})"
    if step.user:
        title = f"by hand   {calls}, {step.author or step.user} in the analyst's place"
    return _Shown(title, "cyan", [_head(step.text)])


def _cell(step: CellRan) -> _Shown:
    texts = {
        "stdout": step.stdout,
        "stderr": step.stderr,
        "result": step.result,
        "error": step.error,
        "notice": step.notice,
    }
    outputs = [f"{name}: {_head(text)}" for name, text in texts.items() if text]
    asked = [f"query on {ran.source}: {_outcome(ran)}\n{ran.sql}" for ran in step.statements]
    asked += [f"call of {call.server}.{call.tool}: {_came(call)}\n{call.arguments}" for call in step.tool_calls]
    whole = [f"whole {file.name}: {file.size:,} bytes in the file store" for file in step.whole_outputs]
    made = [f"📎 {file.name}" for file in (*step.figures, *step.files)]
    title = f"cell      {step.title or step.cell_id}: {step.status} in {step.duration_s:.2f} s"
    if step.user:
        title += f", written by {step.author or step.user}"
    return _Shown(title, "green" if step.status == "ok" else "red", [step.code, *asked, *outputs, *whole, *made])


def _outcome(ran: StatementRan) -> str:
    return ran.error or f"{ran.rows:,} {'row' if ran.rows == 1 else 'rows'} in {ran.seconds:.2f} s"


def _came(call: ToolRan) -> str:
    if call.state == "began":
        return "begins"
    return call.error or f"{call.bytes:,} bytes in {call.seconds:.2f} s"


def _later_fields(step: Step) -> list[str]:
    """A line that names what a newer version stored with a step that can be read all the same."""
    names = ", ".join(step.later_fields)
    return [f"unknown fields: {names}"] if names else []


def _spent(steps: list[TimedStep]) -> Spent:
    """The sum over the model calls of a turn, from its steps."""
    return total_spent([each.step for each in steps if isinstance(each.step, Replied)])


def _head(text: str) -> str:
    lines = text.strip().splitlines()
    more = len(lines) - OUTPUT_LINES
    return "\n".join([*lines[:OUTPUT_LINES], f"… {more} more lines"] if more > 0 else lines)


def _indented(text: str) -> str:
    return "\n".join(f"             {line}" for line in text.strip().splitlines())
