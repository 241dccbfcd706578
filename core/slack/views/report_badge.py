"""The badge under a report: the outcome of running its code once more, in a few sentences of plain text."""

from __future__ import annotations

from collections.abc import Sequence

from core.clean_room import CleanRoom, Difference
from core.phrases import UNSPACED, decimal, joined, listed, number, say
from core.slack import blocks as kit
from core.slack.blocks import Block
from core.slack.text import clip, escape
from core.values import Language

_MOST_SHOWN = 3
_BADGE = 1_500
_BADGE_ID = "clean_room"


def badge(outcome: CleanRoom, language: Language, *, in_file: bool = False) -> str:
    """What people read under the report; `in_file`: in a file, which nobody changes later."""
    if in_file and outcome.reason == "waiting":
        return say("clean_waiting_file", language)
    parts = [_head(outcome, language)]
    shown = outcome.differences[:_MOST_SHOWN]
    parts += [_difference(each, language) for each in shown]
    if more := len(outcome.differences) - len(shown):
        parts.append(say("report_more", language, count=more) + ("。" if language in UNSPACED else "."))
    for left in outcome.left_out[:_MOST_SHOWN]:
        why = say(f"clean_left_{left.why}", language)
        parts.append(say("clean_left_out", language, number=left.cell, title=left.title, why=why))
    if outcome.partly_run and outcome.state != "unchecked":
        numbers = listed([str(each) for each in outcome.partly_run[:_MOST_SHOWN]], language)
        parts.append(say("clean_partly_run", language, numbers=numbers, count=len(outcome.partly_run)))
    return joined(parts, language)


def _head(outcome: CleanRoom, language: Language) -> str:
    if outcome.state == "unchecked":
        if outcome.reason == "waiting":
            return say("clean_waiting", language)
        return say(f"clean_unchecked_{outcome.reason or 'failed'}", language, limit=number(outcome.limit_s, language))
    return say(
        f"clean_{outcome.state}",
        language,
        seconds=decimal(outcome.seconds, 1, language),
        cells=outcome.cells,
        what=_counts(outcome, language),
        unseen=outcome.unseen,
        failed=outcome.of_failed,
        count=len(outcome.differences),
    )


def _counts(outcome: CleanRoom, language: Language) -> str:
    counted = (("figures", outcome.figures), ("charts", outcome.charts), ("files", outcome.files))
    found = [say(f"clean_{what}", language, count=count) for what, count in counted if count]
    return listed(found, language) or say("clean_results", language)


def _difference(one: Difference, language: Language) -> str:
    told = say(f"clean_difference_{one.what}", language, label=one.label, cell=one.cell, was=one.was, now=one.now)
    why = say(f"clean_why_{one.why}", language, name=one.name, other=one.other)
    return say("clean_difference_why", language, difference=told, why=why)


def badge_block(outcome: CleanRoom, language: Language) -> Block:
    """The badge, in the report's last message, above its buttons."""
    return {**kit.context(escape(clip(badge(outcome, language), _BADGE))), "block_id": _BADGE_ID}


def with_badge(blocks: Sequence[Block], outcome: CleanRoom, language: Language) -> list[Block]:
    """These blocks of a message with this badge in place of the one that they have."""
    return [badge_block(outcome, language) if block.get("block_id") == _BADGE_ID else block for block in blocks]
