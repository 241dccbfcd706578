"""The offline analyst as a Model: from the turn of a request to its next call of a tool, or to its verdict."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from core.steps import CellRan, ToolCall
from workers.agent import stages
from workers.agent.replies.intents import Report
from workers.agent.replies.parse import read_reply
from workers.agent.text import one_line
from workers.agent.turn import Turn
from workers.models.base import ModelReply, ModelRequest, OnDelta
from workers.offline import cells, preparation_cells
from workers.offline.analysis_cells import TABLES, analysis_cell, tables_cell
from workers.offline.lexicon import find, greets_only, has
from workers.offline.loading import error_of, fixes_of, read_plainly
from workers.offline.reading import facts_of, last_told, read
from workers.offline.report import report
from workers.offline.tasks import questions_to_the_data, tasks
from workers.offline.thread import Thread, attempts, done, lost_session, understand_thread
from workers.offline.values import Cell, Join

MAX_ATTEMPTS = 6
"""Failures of one stage after which it is left out, or the turn ends when nothing works without it."""
SURVEY = "survey"
"""The stage that looks at the tables of a data source by their first rows. All else is as with files."""
_MAX_SURVEYS = 2  # a source may be unavailable, or a person may have to say yes first


@dataclass(frozen=True, slots=True)
class Move:
    """What to do next: a few words for people and one call of a tool."""

    text: str
    tool: str
    arguments: dict[str, object]


class OfflineAnalyst:
    """A rule-based analyst that needs no network. It keeps nothing between calls."""

    name = "offline-analyst"
    native_tools = True
    sees = False

    def complete(self, request: ModelRequest, on_delta: OnDelta) -> ModelReply:
        """The next call of a tool, or a verdict as JSON when asked to check a report.

        Raises ValueError for a request without a turn: this model reads the steps, not the messages.
        """
        if request.turn is None:
            raise ValueError("the offline analyst needs the turn that the request is about (ModelRequest.turn)")
        if request.purpose == "check":
            text = verdict(request.turn)
            on_delta(text)
            return ModelReply(text)
        if request.purpose != "act":
            return ModelReply()  # its rules find their own errors, and have no second way
        sources = tuple(note.name for note in request.turn.environment.sources)
        thread = understand_thread(read(request.turn), sources, request.turn.language)
        move = _staged_move(request.turn, thread) or next_move(thread)
        calls = sum(turn.calls for turn in thread.turns)
        text = move.text if calls else thread.say("talk", "first") + move.text
        on_delta(text)
        arguments = json.dumps(move.arguments, ensure_ascii=False)
        call = ToolCall(id=f"call-{calls + 1}", name=move.tool, arguments=arguments)
        return ModelReply(text, (call,), finish="tool_calls")


def _staged_move(turn: Turn, thread: Thread) -> Move | None:
    """What comes first in staged review: the plan, then its earlier stages. None for its last stage."""
    if not turn.staged or thread.join is None:
        return None
    plan = stages.plan_of(turn.steps)
    if plan is None:
        answer = thread.say("talk", "stage_answer", question=one_line(thread.text, 100))
        return _finish(f"{thread.say('talk', 'stage_data')}\n{answer}")
    if len(stages.results(turn.steps)) >= len(plan) - 1 or not thread.ready:
        return None
    return _finish(thread.say("talk", "prepared", names=[table.path for table in thread.join.tables]))


def next_move(thread: Thread) -> Move:
    """What the analyst does next in this thread."""
    join = thread.join
    if (move := _of_sources(thread)) or join is None:
        return move or _without_data(thread)
    if thread.unclear:
        return _ask(thread.say("talk", "ask_measure", word=thread.unclear.word), thread.unclear.options)
    if not thread.ready or not thread.intents:
        return _prepare(thread, join)
    if last_told(thread.facts, "clean").get("rows_read") == 0:
        return _decline(thread.say("frame", "no_rows", names=[table.path for table in join.tables]))
    if odd := last_told(thread.facts, "odd_header"):
        return _decline(thread.say("frame", "odd_header", why=odd["why"]))
    if greets_only(thread.text):
        return _finish(thread.say("talk", "welcome" if has("thanks", thread.text) else "help"))
    for cell in questions_to_the_data(thread, join):
        if not attempts(cell.stage, thread.since):
            return _run(cell)
    found = tasks(thread, join)
    for task in found:
        failed = attempts(task.stage, thread.since)
        if done(task.stage, thread.since) or len(failed) >= MAX_ATTEMPTS:
            continue
        cell = analysis_cell(task)
        if not _tried(cell, failed):
            return _run(cell)
    if not done(TABLES, thread.since) and not attempts(TABLES, thread.since) and (saving := tables_cell(found)):
        return _run(saving)
    text, partial = report(thread, join)
    return _finish(text, partial=partial)


def _of_sources(thread: Thread) -> Move | None:
    """The first look at a data source, the question which one is meant, or the list of tables that is asked for."""
    join = thread.join
    named = [name for name in thread.sources if find([name], thread.text)]
    if not (named or join or greets_only(thread.text)):
        if len(thread.sources) > 1:
            return _ask(thread.say("talk", "which_source", sources=thread.sources), thread.sources)
        named = list(thread.sources)
    seen = {told.get("source") for told in facts_of(thread.cells).get("table", ())}
    if named and named[0] not in seen and len(attempts(SURVEY, thread.since)) < _MAX_SURVEYS:
        return _run(cells.cell(SURVEY, SURVEY, thread.language, {"source": named[0]}))
    if join and join.base.format == "source" and has("lists", thread.text):
        tables = sorted((*join.tables, *join.unused), key=lambda table: table.path)
        return _finish(thread.say("talk", "tables", tables=tables, sources=thread.sources))
    return None


def _tried(cell: Cell, failed: list[CellRan]) -> bool:
    """True when exactly this code has failed before."""
    return any(before.code.strip() == cell.code.strip() for before in failed)


def _prepare(thread: Thread, join: Join) -> Move:
    """The next cell that loads or cleans. The error of a failed attempt changes the code of the next one."""
    fixes = fixes_of(thread.cells, join)
    join = read_plainly(join, fixes)
    lost = any(lost_session(cell) for cell in thread.current.cells)
    for stage, compose in (("load", preparation_cells.load_cell), ("clean", preparation_cells.clean_cell)):
        if done(stage, thread.loaded):
            continue
        failed = attempts(stage, thread.since)
        cell = compose(thread, join, fixes)
        if len(failed) >= MAX_ATTEMPTS or _tried(cell, failed):
            again = any(failed[-1].code == before.code for turn in thread.turns[:-1] for before in turn.cells)
            key = "no_load_again" if again else "no_load"
            return _decline(thread.say("frame", key, error=error_of(failed[-1])))
        if failed:
            return _run(cell, thread.say("talk", "repair", error=error_of(failed[-1])))
        return _run(cell, thread.say("talk", "lost") if lost and stage == "load" else "")
    return _decline(thread.say("frame", "no_load", error=""))


def _without_data(thread: Thread) -> Move:
    """There is no table: greet, explain what can be read, or ask for a file."""
    if failed := attempts(SURVEY, thread.since):
        return _decline(thread.say("frame", "no_load", error=error_of(failed[-1])))
    problems = [problem for turn in thread.turns for problem in turn.problems]
    documents = [name for turn in thread.turns for name in turn.documents]
    if problems or documents:
        parts = [thread.say("talk", "problems", problems=problems)] if problems else []
        parts.append(thread.say("talk", "document" if documents else "no_file_report", names=documents))
        return _decline("\n\n".join(parts))
    if not thread.text or (has("greetings", thread.text) and len(thread.text) < 40):
        return _finish(thread.say("talk", "help"))
    if thread.current.questions:
        return _decline(thread.say("talk", "no_file_report"))
    return _ask(thread.say("talk", "no_file", text=thread.text[:200]))


def _ask(question: str, options: Sequence[str] = ()) -> Move:
    return Move(question, "ask_user", {"question": question, "options": list(options[:5])})


def _run(cell: Cell, text: str = "") -> Move:
    return Move(text or cell.title, "run_python", {"code": cell.code, "title": cell.title})


def _decline(markdown: str) -> Move:
    return _finish(markdown, partial=True)


def _finish(markdown: str, *, partial: bool = False) -> Move:
    return Move("", "finish", {"report": markdown} | ({"partial": True} if partial else {}))


_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def verdict(turn: Turn) -> str:
    """The verdict on the report in the turn's last reply, as JSON.

    Final when it gives numbers, says plainly that there are none, or when no cell ran that could have given any.
    """
    episode = turn.episode
    intents = read_reply(episode.reply, episode.number).intents if episode else ()
    report = next((intent for intent in intents if isinstance(intent, Report)), None)
    ran = any(isinstance(step, CellRan) for step in turn.thread_steps)
    if report is None or not report.text.strip():
        return json.dumps({"is_final": False, "reason": "the report is empty"})
    if ran and not _NUMBER.search(report.text) and not report.partial:
        return json.dumps({"is_final": False, "reason": "the report gives no number although cells have run"})
    return json.dumps({"is_final": True})
