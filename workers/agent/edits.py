"""What a person changed in a text of ours: the passages that differ, word by word within lines that differ. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

_WORDS = re.compile(r"\s+|\S+")


class Edit(NamedTuple):
    """A passage that was changed: where it begins in the text before, how it read there, and how it reads now."""

    start: int
    old: str
    new: str

    @property
    def end(self) -> int:
        """Where the passage ends in the text before."""
        return self.start + len(self.old)


def edits(before: str, after: str) -> list[Edit]:
    """The passages that differ, in order. Between two of them stands more than white space."""
    found: list[Edit] = []
    lines = _differing(before.splitlines(keepends=True), after.splitlines(keepends=True), 0, junk=False)
    for line in lines:
        words = _differing(_WORDS.findall(line.old), _WORDS.findall(line.new), line.start, junk=True)
        for edit in words:
            gap = before[found[-1].end : edit.start] if found else "-"
            if gap.strip():
                found.append(edit)
            else:
                last = found.pop()
                found.append(Edit(last.start, f"{last.old}{gap}{edit.old}", f"{last.new}{gap}{edit.new}"))
    return found


def moved(place: int, length: int, changed: Sequence[Edit]) -> int | None:
    """Where a passage of the text before now begins; None when a change is in it."""
    behind = 0
    for edit in changed:
        if edit.start < place + length and place < edit.end:
            return None
        behind += len(edit.new) - len(edit.old) if edit.end <= place else 0
    return place + behind


def _differing(before: Sequence[str], after: Sequence[str], at: int, *, junk: bool) -> Iterator[Edit]:
    for tag, start, end, other, last in SequenceMatcher(None, before, after, autojunk=junk).get_opcodes():
        old = "".join(before[start:end])
        if tag != "equal":
            yield Edit(at, old, "".join(after[other:last]))
        at += len(old)
