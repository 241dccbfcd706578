"""The offline analyst as a Model: from the messages of a request to its next call of a tool."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import chain

from workers.agent.steps import ToolCall
from workers.models.base import ModelReply, ModelRequest, OnDelta
from workers.models.offline import preparing
from workers.models.offline.analysing import TABLES, analysis_cell, tables_cell
from workers.models.offline.judge import verdict
from workers.models.offline.lexicon import greets_only, has
from workers.models.offline.looking import questions_to_the_data
from workers.models.offline.reading import read
from workers.models.offline.repair import error_of, fixes_of, read_plainly
from workers.models.offline.report import report
from workers.models.offline.tasks import tasks
from workers.models.offline.thread import Thread, attempts, done, lost_session, understand_thread
from workers.models.offline.values import Cell, Exchange, Join
from workers.models.offline.wording import say

MAX_ATTEMPTS = 6
"""Failures of one stage after which it is left out, or the turn ends when nothing works without it."""


@dataclass(frozen=True, slots=True)
class Move:
    """What to do next: a few words for people and one call of a tool."""

    text: str
    tool: str
    arguments: dict[str, object]


class OfflineAnalyst:
    """A rule-based analyst without network. Keeps nothing between calls."""

    @property
    def name(self) -> str:
        """ "offline-analyst"."""
        return "offline-analyst"

    @property
    def native_tools(self) -> bool:
        """True: it calls tools natively."""
        return True

    def complete(self, request: ModelRequest, on_delta: OnDelta) -> ModelReply:
        """The next call of a tool, or a verdict as JSON when asked to check a report. Never raises on any messages."""
        if request.purpose == "check":
            text = verdict(request.messages)
            on_delta(text)
            return ModelReply(text)
        thread = understand_thread(read(request.messages))
        move = next_move(thread)
        introduced = any(turn.exchanges for turn in thread.situation.turns)
        text = move.text if introduced else say("talk", "first", thread.language) + move.text
        on_delta(text)
        calls = sum(len(turn.exchanges) for turn in thread.situation.turns)
        arguments = json.dumps(move.arguments, ensure_ascii=False)
        return ModelReply(
            text, (ToolCall(id=f"call-{calls + 1}", name=move.tool, arguments=arguments),), finish="tool_calls"
        )


def next_move(thread: Thread) -> Move:
    """What the analyst does next in this thread."""
    language = thread.language
    join = thread.join
    if join is None:
        return _without_data(thread)
    if thread.unclear:
        question = say("talk", "ask_measure", language, {"word": thread.unclear.word})
        return Move(question, "ask_user", {"question": question, "options": list(thread.unclear.options[:5])})
    if not thread.ready or not thread.intents:
        return _prepare(thread, join)
    if (thread.facts.get("clean") or [{}])[-1].get("rows_read") == 0:
        return _finish("", say("frame", "no_rows", language, {"names": [table.path for table in join.tables]}))
    if greets_only(thread.text):
        return _finish("", say("talk", "welcome" if has("thanks", thread.text) else "help", language))
    for cell in questions_to_the_data(thread, join):
        if not attempts(cell.stage, thread.since):
            return _run(cell, say("talk", "analyse", language, {"title": cell.title}))
    found = tasks(thread, join)
    for task in found:
        failed = attempts(task.stage, thread.since)
        if done(task.stage, thread.since) or len(failed) >= MAX_ATTEMPTS:
            continue
        cell = analysis_cell(task)
        if not _tried(cell, failed):
            return _run(cell, say("talk", "analyse", language, {"title": cell.title}))
    if not done(TABLES, thread.since) and not attempts(TABLES, thread.since) and (saving := tables_cell(found)):
        return _run(saving, say("talk", "analyse", language, {"title": saving.title}))
    return _finish(say("talk", "done", language), report(thread, join))


def _tried(cell: Cell, failed: list[Exchange]) -> bool:
    """True when this very code has failed: running it again would not help."""
    return any(str(exchange.arguments.get("code", "")).strip() == cell.code.strip() for exchange in failed)


def _prepare(thread: Thread, join: Join) -> Move:
    """Load, then clean; a failed attempt changes the code of the next by what its error says."""
    every = tuple(chain.from_iterable(turn.exchanges for turn in thread.situation.turns))
    fixes = fixes_of(every, join)
    join = read_plainly(join, fixes)
    lost = any(lost_session(exchange) for exchange in thread.situation.current.exchanges)
    for stage, compose in (("load", preparing.load_cell), ("clean", preparing.clean_cell)):
        if done(stage, thread.since):
            continue
        failed = attempts(stage, thread.since)
        cell = compose(thread, join, fixes)
        if len(failed) >= MAX_ATTEMPTS or _tried(cell, failed):
            return _unreadable(thread, failed)
        text = (
            say("talk", "repair", thread.language, {"error": error_of(failed[-1])})
            if failed
            else say("talk", stage, thread.language)
        )
        return _run(cell, say("talk", "lost", thread.language) if lost and stage == "load" and not failed else text)
    return _finish("", say("frame", "no_load", thread.language, {"error": ""}))


def _unreadable(thread: Thread, failed: list[Exchange]) -> Move:
    """Nothing loads the data. When the same code failed in an earlier turn, asking again is said not to help."""
    earlier = [exchange for turn in thread.situation.turns[:-1] for exchange in turn.exchanges]
    codes = {str(exchange.arguments.get("code", "")) for exchange in earlier}
    again = str(failed[-1].arguments.get("code", "")) in codes
    key = "no_load_again" if again else "no_load"
    return _finish("", say("frame", key, thread.language, {"error": error_of(failed[-1])}))


def _without_data(thread: Thread) -> Move:
    """There is no table: greet, explain what can be read, or ask for a file."""
    language, current = thread.language, thread.situation.current
    problems = [problem for turn in thread.situation.turns for problem in turn.problems]
    documents = [name for turn in thread.situation.turns for name in turn.documents]
    if problems or documents:
        parts = [say("talk", "problems", language, {"problems": problems})] if problems else []
        parts.append(
            say("talk", "document", language, {"names": documents})
            if documents
            else say("talk", "no_file_report", language)
        )
        return _finish("", "\n\n".join(parts))
    if not thread.text or (has("greetings", thread.text) and len(thread.text) < 40):
        return _finish("", say("talk", "help", language))
    if any(exchange.tool == "ask_user" for exchange in current.exchanges):
        return _finish("", say("talk", "no_file_report", language))
    question = say("talk", "no_file", language, {"text": thread.text[:200]})
    return Move(question, "ask_user", {"question": question, "options": []})


def _run(cell: Cell, text: str) -> Move:
    return Move(text, "run_python", {"code": cell.code, "title": cell.title})


def _finish(text: str, markdown: str) -> Move:
    return Move(text, "finish", {"report": markdown})
