"""The badge under a report: what came of running its code once more, in a few sentences of plain text."""

from __future__ import annotations

from core.clean_room import CleanRoom, Difference
from core.phrases import say
from core.values import Language

_MOST_SHOWN = 3


def badge(outcome: CleanRoom, language: Language, *, in_file: bool = False) -> str:
    """What people read under the report; `in_file`: in a file, which nobody changes later."""
    if in_file and outcome.reason == "waiting":
        return say("clean_waiting_file", language)
    parts = [_head(outcome, language)]
    shown = outcome.differences[:_MOST_SHOWN]
    parts += [_difference(each, language) for each in shown]
    if more := len(outcome.differences) - len(shown):
        parts.append(say("report_more", language, count=more) + ("。" if language == "zh" else "."))
    for left in outcome.left_out[:_MOST_SHOWN]:
        why = say(f"clean_left_{left.why}", language)
        parts.append(say("clean_left_out", language, number=left.cell, title=left.title, why=why))
    if outcome.partly_run and outcome.state != "unchecked":
        numbers = _listed([str(number) for number in outcome.partly_run[:_MOST_SHOWN]], language)
        parts.append(say("clean_partly_run", language, numbers=numbers, count=len(outcome.partly_run)))
    return ("" if language == "zh" else " ").join(parts)


def _head(outcome: CleanRoom, language: Language) -> str:
    if outcome.state == "unchecked":
        if outcome.reason == "waiting":
            return say("clean_waiting", language)
        return say(f"clean_unchecked_{outcome.reason or 'failed'}", language, limit=f"{outcome.limit_s:g}")
    return say(
        f"clean_{outcome.state}",
        language,
        seconds=f"{outcome.seconds:.1f}",
        cells=outcome.cells,
        what=_counts(outcome, language),
        unseen=outcome.unseen,
        failed=outcome.of_failed,
        count=len(outcome.differences),
    )


def _counts(outcome: CleanRoom, language: Language) -> str:
    counted = (("figures", outcome.figures), ("charts", outcome.charts), ("files", outcome.files))
    found = [say(f"clean_{what}", language, count=count) for what, count in counted if count]
    return _listed(found, language) or say("clean_results", language)


def _listed(items: list[str], language: Language) -> str:
    if language == "zh":
        return "、".join(items)
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


def _difference(one: Difference, language: Language) -> str:
    told = say(f"clean_difference_{one.what}", language, label=one.label, cell=one.cell, was=one.was, now=one.now)
    why = say(f"clean_why_{one.why}", language, name=one.name, other=one.other)
    return say("clean_difference_why", language, difference=told, why=why)
