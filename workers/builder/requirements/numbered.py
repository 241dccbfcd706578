"""One text of requirements as numbered, testable ones: R1, R2 …

Too many requirements at once confuse a model. Numbered, each can be asked for, tested and judged by itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MOST = 60
"""More than these are not distinguished; the last one then holds the rest."""
_ITEM = re.compile(r"^(?P<indent>[ \t]*)(?:[-*•]|\(?\d{1,2}[.)])[ \t]+(?=\S)")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s")
_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(])|(?<=[。！？])\s*(?=\S)")
_NOT_AN_END = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|Mr|Dr|No|Fig)|\b[A-Z])\.$|\.\.\.$")
_FENCE = re.compile(r"^\s*(```|~~~|''')")


@dataclass(frozen=True, slots=True)
class Numbered:
    """One requirement. `id` is "R" and its number."""

    id: str
    text: str


def numbered(text: str) -> tuple[Numbered, ...]:
    """The requirements in a text: items of lists, else sentences. Blocks of code stay with what stands before them."""
    parts = [part for part in _parts(text) if part.strip()]
    if len(parts) > MOST:
        parts = [*parts[: MOST - 1], "\n".join(parts[MOST - 1 :])]
    return tuple(Numbered(f"R{number}", part) for number, part in enumerate(parts, 1))


def _parts(text: str) -> list[str]:
    """The text cut into requirements; what belongs to the one before is joined to it."""
    parts: list[str] = []
    paragraph: list[str] = []
    in_item = in_code = False

    def close() -> None:
        if paragraph:
            parts.extend(_sentences(" ".join(paragraph)))
            paragraph.clear()

    for line in text.expandtabs(4).splitlines():
        if _FENCE.match(line):
            in_code = not in_code
            close()
            _append(parts, line.rstrip())
        elif in_code:
            _append(parts, line.rstrip())
        elif not line.strip() or _HEADING.match(line):
            close()
            in_item = False
        elif match := _ITEM.match(line):
            close()
            words = line[match.end() :].strip()
            if match["indent"] and in_item:  # an item of an item belongs to it
                _append(parts, f"- {words}")
            else:
                parts.append(words)
                in_item = True
        elif in_item and line[:1] == " ":
            _append(parts, line.strip(), " ")
        else:
            in_item = False
            paragraph.append(line.strip())
    close()
    return parts


def _append(parts: list[str], line: str, by: str = "\n") -> None:
    if parts:
        parts[-1] += by + line
    elif line.strip():
        parts.append(line)


def _sentences(text: str) -> list[str]:
    found: list[str] = []
    for piece in _END.split(text):
        if found and _NOT_AN_END.search(found[-1]):
            found[-1] += " " + piece
        elif piece.strip():
            found.append(piece.strip())
    return found
