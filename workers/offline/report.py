"""The report: the answer first, findings, method, limits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from core.phrases import joined
from workers.offline.analysis_cells import TABLES
from workers.offline.loading import error_of
from workers.offline.notes import caveats, left_out, not_understood, preparation, unanswered, unread
from workers.offline.reading import last_told
from workers.offline.sections import Section, section
from workers.offline.subject import leaves_out_refunded, scope
from workers.offline.tasks import Task, tasks
from workers.offline.thread import Thread, attempts, done
from workers.offline.values import Intent, Join
from workers.offline.wording import sentences

_SPREAD = {"rows", "compare", "correlate", "predict", "distribution"}
"""Analyses of single values. They do not put a measure together, so a report does not say how."""


def report(thread: Thread, join: Join) -> tuple[str, bool]:
    """The report of a turn whose cells have run, and whether it leaves a part of the question without an answer."""
    found = [(task, section(task)) for task in tasks(thread, join)]
    found.sort(key=lambda item: item[0].analysis.kind == "predict")  # what is seen comes before what is modelled
    sections = [part for _, part in found if part]
    answers = [*not_understood(thread, join, computed=bool(sections)), *unread(thread, join)]
    partial = bool(answers) or len(sections) < len(found)
    several = len({intent.text for intent in thread.intents}) > 1
    for intent in thread.intents:
        own = [part.answer for task, part in found if part and task.intent is intent]
        if refused := unanswered(thread, join, intent):
            own.insert(0, refused)
            partial = True
        if several and own:  # under its own words
            answers.append(thread.say("words", "quoted", text=" ".join(intent.text.split())[:200]))
        answers += own
    if any(intent.saved for intent in thread.intents):
        kept = done(TABLES, thread.since)
        file = f"tables-{thread.number}.xlsx"
        answers.insert(0, thread.say("frame", "saved" if kept else "not_saved", file=file))
        partial |= not kept
    answers += left_out(thread)
    method = [*preparation(thread), *(part.method for part in sections if part.method)]
    limits = [part.limits for part in sections if part.limits]
    limits += [_failure(task) for task, part in found if part is None]
    for intent in thread.intents:
        if any(task.intent is intent for task, _ in found):
            limits += caveats(thread, join, intent)
    parts = [
        "\n\n".join(answers),
        _assumed(thread, found),
        _block(thread.say("frame", "findings"), [line for part in sections for line in part.findings]),
        "\n\n".join(part.table for part in sections if part.table),
        _block(thread.say("frame", "method"), method),
        _block(thread.say("frame", "limits"), limits),
    ]
    return "\n\n".join(part for part in parts if part), partial


def _block(title: str, lines: Iterable[str]) -> str:
    bullets = [f"- {line}" for line in dict.fromkeys(lines)]
    return f"## {title}\n\n" + "\n".join(bullets) if bullets else ""


def _failure(task: Task) -> str:
    failed = attempts(task.stage, task.thread.since)
    title = failed[-1].title if failed else task.stage
    error = error_of(failed[-1])[:120] if failed else "–"
    return task.thread.say("frame", "failed", title=title, error=error)


def _assumed(thread: Thread, found: Sequence[tuple[Task, Section | None]]) -> str:
    """What the question left open and how it was read."""
    answered = [intent for intent in thread.intents if any(task.intent is intent for task, _ in found)]
    parts = dict.fromkeys(part for intent in answered for part in _assumptions(thread, intent))
    told = [thread.say("frame", "assumed", parts=list(parts))] if parts else []
    if thread.number > 1 and answered and not done("load", thread.since):
        told.append(thread.say("frame", "session"))
    return joined(told, thread.language)


def _assumptions(thread: Thread, intent: Intent) -> list[str]:
    """The measure, the date and the rows that one part of the question was taken to mean."""
    kinds = intent.kinds
    rows, kept = scope(thread, intent), any(item.keep for item in intent.filters)
    scoped = [thread.say("frame", "scope", scope=rows) if kept else rows] if rows else []
    if kinds == {"profile"}:
        return scoped
    parts = []
    if intent.widened:
        before = scope(thread, replace(intent, filters=intent.widened))
        parts.append(thread.say("frame", "widened", scope=before))
    whole = all(analysis.kind == "correlate" and not analysis.other for analysis in intent.analyses)
    if intent.measure and not intent.target and not whole:
        how = sentences()["frame"][thread.language]["aggregates"][intent.aggregate]
        key = "counted" if intent.aggregate == "count" else "measure"
        parts.append(thread.say("frame", key, column=intent.measure, aggregate="" if kinds & _SPREAD else how))
    if intent.date and kinds & {"trend", "forecast", "change"}:
        parts.append(thread.say("frame", "date", column=intent.date))
    if thread.join and leaves_out_refunded(thread, thread.join, intent) and not intent.no_refunds:
        parts.append(thread.say("frame", "refunded", r=last_told(thread.facts, "refunds")))
    return parts + scoped
