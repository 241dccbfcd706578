"""The report of staged review: the approved stages in their order, what people changed in them, and where the figures
come from. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from core.phrases import say
from core.steps import FigureSource
from core.values import moment_of
from workers.agent.edits import edits, moved
from workers.agent.replies.intents import Report
from workers.agent.replies.parse import read_reply
from workers.agent.report.sourcing import MOST_SOURCES, sources_of, trace_report, without_legend
from workers.agent.stages import Result
from workers.agent.text import one_line
from workers.agent.turn import Turn, episodes

_GAP = "\n\n"
_MOST_CHANGES, _CHANGE_CHARS = 6, 60
_MARKS = re.compile(r"[*_`|\\<>]+")


class StagedReport(NamedTuple):
    """The report, and the figures of it that have a source or are marked."""

    text: str
    sources: tuple[FigureSource, ...]


def staged_report(turn: Turn, found: Sequence[Result]) -> StagedReport:
    """The stages in their order, with who approved and who changed what."""
    text, sources = "", list[FigureSource]()
    for number, result in enumerate(found, start=1):
        text += f"{_GAP if text else ''}## {number}. {result.stage.title}{_GAP}"
        if not result.skipped:
            sources += _sources(turn, result, len(text))
            text += f"{result.text.strip()}{_GAP}"
        text += _GAP.join(f"*{line}*" for line in _decided(turn, result))
    return StagedReport(text, tuple(sources[:MOST_SOURCES]))


def _decided(turn: Turn, result: Result) -> Iterator[str]:
    if not result.skipped and (changes := _changes(result)):
        yield say("stage_changed", turn.language, editor=result.editor, changes=changes)
    key = "stage_skipped" if result.skipped else "stage_approved"
    yield say(key, turn.language, author=result.author, at=moment_of(result.ts))


def _changes(result: Result) -> str:
    """What a person changed in the result, "old → new" for each passage."""
    given, text = (without_legend(each).strip() for each in (result.given, result.text))
    told = [(_shown(each.old), _shown(each.new)) for each in edits(given, text)]
    told = [(old, new) for old, new in told if old != new]
    listed = [f"{old or '–'} → {new or '–'}" for old, new in told[:_MOST_CHANGES]]
    return "; ".join([*listed, *(["…"] if len(told) > _MOST_CHANGES else [])])


def _shown(text: str) -> str:
    return one_line(_MARKS.sub("", text), _CHANGE_CHARS)


def _sources(turn: Turn, result: Result, at: int) -> Iterator[FigureSource]:
    """The figures of a stage that begins at this place of the report, as they were traced when people were asked. What
    a person changed is theirs."""
    now = replace(turn, steps=turn.steps[: result.asked])
    replies = (read_reply(each.reply, each.number).intents for each in reversed(episodes(now.steps)[1]))
    given = (intent for intents in replies for intent in intents if intent.call_id == result.call)
    report = next(given, None)
    if not isinstance(report, Report):
        return
    changed = edits(result.given, result.text)
    lead = len(result.text) - len(result.text.lstrip())
    for source in sources_of(trace_report(now, report.text), turn.language):
        start = moved(source.start, len(source.figure), changed)
        if start is not None:
            yield source.model_copy(update={"start": at + start - lead})
