"""The fixed layout of a channel's reports: the headings that a team wants, in their order. Pure.

A model may write a heading as `## Findings`, as `3. FINDINGS:` or as a line in bold. What it writes before the first
heading belongs to the first section. A heading that is not in the layout stays, one level lower, in the section above
it: no word of a report is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markdown_it import MarkdownIt

from core.headings import heading_key
from core.steps import CellRan
from workers.agent.text import one_line
from workers.agent.turn import Turn

_MARKDOWN = MarkdownIt("commonmark").enable("table")
_LOWER = 3
"""The level of a heading inside a section; a section's own is one less."""
_BOLD = re.compile(
    r"^\s*(\*\*|__)(?P<title>[^*_\n]{1,100}?)\s*+(?P<colon>[:：])?+\s*+\1\s*+(?P<after>[:：])?(?P<rest>.*)$"
)
_HEADING_CHARS = 80


class _Heading(NamedTuple):
    """A line that may begin a section: where it stands, its level, its words, and what follows on the same line."""

    start: int
    end: int
    level: int
    text: str
    rest: str = ""


class _Reading(NamedTuple):
    """What stands under each section, the headings that the layout does not have, and whether one of it is there."""

    bodies: dict[str, str]
    invented: tuple[str, ...]
    named: bool


@dataclass(frozen=True, slots=True)
class Faults:
    """What a report has against its layout: sections without a word, and headings that nobody asked for."""

    missing: tuple[str, ...] = ()
    invented: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.missing or self.invented)


def applies(turn: Turn, report: str, *, partial: bool) -> bool:
    """Whether a report of this turn has to keep to the channel's layout.

    An answer that computed nothing and has none of the headings stays as it is: it is only talk. So does an answer that
    says itself that it is no answer.
    """
    if not turn.sections or partial:
        return False
    computed = any(isinstance(step, CellRan) and not step.is_own for step in turn.steps)
    return computed or _read(report, turn.sections).named


def faults(report: str, sections: Sequence[str]) -> Faults:
    """What is wrong with a report by this layout. The order is no fault: `laid_out` sets it."""
    read = _read(report, sections)
    return Faults(tuple(name for name in sections if not read.bodies[name]), read.invented)


def laid_out(report: str, sections: Sequence[str], absent: str) -> str:
    """The report in this layout. A section without a word says `absent`."""
    bodies = _read(report, sections).bodies
    return "\n\n".join(f"## {name}\n\n{bodies[name] or f'*{absent}*'}" for name in sections)


def _read(report: str, sections: Sequence[str]) -> _Reading:
    names = {heading_key(name): name for name in sections}
    lines = re.split(r"\r\n|\r|\n", report)
    found = list(_headings(lines, set(names)))
    own = [heading.level for heading in found if heading_key(heading.text) in names]
    section_level = min(own, default=6)
    pieces: dict[str, list[str]] = {name: [] for name in sections}
    invented: list[str] = []
    now, at = sections[0], 0
    for heading in found:
        pieces[now].append("\n".join(lines[at : heading.start]))
        at = heading.end
        if name := names.get(heading_key(heading.text)):
            now = name
            pieces[now].append(heading.rest)
            continue
        if heading.level <= section_level:
            invented.append(one_line(heading.text, _HEADING_CHARS))
        pieces[now].append(f"{'#' * max(heading.level, _LOWER)} {' '.join(heading.text.split())}")
    pieces[now].append("\n".join(lines[at:]))
    bodies = {name: "\n\n".join(text.strip("\n") for text in told if text.strip()) for name, told in pieces.items()}
    return _Reading({name: _closed(body) for name, body in bodies.items()}, tuple(invented), bool(own))


def _closed(body: str) -> str:
    """The text with its last fence closed: what stands below is no code."""
    last = next(iter(reversed(_MARKDOWN.parse(body))), None)
    is_open = last is not None and last.type == "fence" and body.splitlines()[-1].strip() != last.markup
    return f"{body}\n{last.markup}" if is_open and last is not None else body


def _headings(lines: Sequence[str], known: set[str]) -> Iterator[_Heading]:
    """The headings of a text that stand in no list, quotation or fence, in order; lines in bold if they are `known`."""
    tokens = _MARKDOWN.parse("\n".join(lines))
    for place, token in enumerate(tokens):
        if token.level or not token.map:
            continue
        start, end = token.map
        if token.type == "heading_open":
            yield _Heading(start, end, int(token.tag[1:]), tokens[place + 1].content)
        elif token.type == "paragraph_open":
            for number in range(start, end):
                bold = _BOLD.match(lines[number])
                if bold and heading_key(bold["title"]) in known:
                    rest = bold["rest"].strip()
                    if not rest or bold["colon"] or bold["after"]:
                        yield _Heading(number, number + 1, _LOWER - 1, bold["title"], rest)
