"""Marks at the figures in a report's text. A renderer turns a mark into something to hover and tap.

A mark consists of private-use characters. Markdown treats them as letters. They are removed from the text first, so no
report can forge a mark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final
from unicodedata import normalize

from core.steps import FigureSource

_OPEN, _MIDDLE, _CLOSE, _ZERO = "\ue000", "\ue001", "\ue002", 0xE010
_PRIVATE: Final = re.compile("[\ue000-\uf8ff]")
_MARK: Final = re.compile(f"{_OPEN}([{chr(_ZERO)}-{chr(_ZERO + 9)}]+){_MIDDLE}([^<{_OPEN}]*?){_CLOSE}")


def with_marks(report: str, sources: Sequence[FigureSource]) -> str:
    """The report with a mark around each figure that can be found; the mark holds the figure's place in `sources`."""
    text = _PRIVATE.sub("�", report)
    for number, (start, end) in sorted(places(text, sources).items(), reverse=True):
        digits = "".join(chr(_ZERO + int(digit)) for digit in str(number))
        text = f"{text[:start]}{_OPEN}{digits}{_MIDDLE}{text[start:end]}{_CLOSE}{text[end:]}"
    return text


def places(report: str, sources: Sequence[FigureSource]) -> dict[int, tuple[int, int]]:
    """Where each figure begins and ends, by its place in `sources`.

    A figure stands where its step says. Steps of earlier versions do not say it, and a text that was changed since may
    differ: then it is the next place behind the figure before that reads the same.
    """
    found: dict[int, tuple[int, int]] = {}
    at = 0
    for number, one in enumerate(sources):
        if not one.figure:
            continue
        start = one.start
        if start < at or _narrow(report[start : start + len(one.figure)]) != _narrow(one.figure):
            match = re.compile(rf"(?<![\w.,]){re.escape(one.figure)}(?![\w])").search(report, at)
            start = match.start() if match else -1
        if start >= at:
            at = start + len(one.figure)
            found[number] = (start, at)
    return found


def _narrow(text: str) -> str:
    """The text with full-width digits as all others: a step names a figure by these."""
    return normalize("NFKC", text)


def replaced(html: str, shown: Callable[[int, str], str]) -> str:
    """Rendered HTML with each mark as `shown` has it: the figure's place in the sources, and its HTML as it stands."""

    def one(match: re.Match[str]) -> str:
        number = int("".join(str(ord(digit) - _ZERO) for digit in match[1]))
        return shown(number, match[2])

    return _PRIVATE.sub("", _MARK.sub(one, html))
