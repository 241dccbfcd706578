"""Where in a TOML file each key stands. The parser itself (tomllib) forgets it, and an error needs it.

Only files that tomllib has taken are looked at, so the scan trusts their syntax.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

Path = tuple[str | int, ...]
Position = tuple[int, int]
"""Line and column, both from 1."""

_PART = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([A-Za-z0-9_-]+))\s*""")
_BRACKETS = {"[": 1, "{": 1, "]": -1, "}": -1}


def positions(text: str) -> Mapping[Path, Position]:
    """The place of each key, by its path (`("component", 0, "name")`); of a table, the place of its header."""
    return _Scan(text.replace("\r\n", "\n")).found()


@dataclass(slots=True)
class _Scan:
    text: str
    places: dict[Path, Position] = field(default_factory=dict)
    counts: dict[Path, int] = field(default_factory=dict)

    def found(self) -> Mapping[Path, Position]:
        at, table = 0, Path()
        while at < len(self.text):
            end = self._line_end(at)
            line = self.text[at:end].lstrip()
            start = end - len(line)
            if line.startswith("[["):
                table = self._element(_key(line[2:])[0])
                self.places[table] = self._position(start)
                at = end + 1
            elif line.startswith("["):
                table = self._below(_key(line[1:])[0])
                self.places[table] = self._position(start)
                at = end + 1
            elif not line or line.startswith("#"):
                at = end + 1
            else:
                at = self._pair(start, table)
        return self.places

    def _pair(self, start: int, table: Path) -> int:
        """Note `key = value`; returns where the next line begins."""
        parts, length = _key(self.text[start:])
        path = (*table, *parts)
        self.places.setdefault(path, self._position(start))
        at = start + length
        while at < len(self.text) and self.text[at] != "=":
            at += 1
        at += 1
        while at < len(self.text) and self.text[at] in " \t":
            at += 1
        if self.text[at : at + 1] == "{":
            self._inline(at + 1, path)
        return self._line_end(self._value_end(at)) + 1

    def _inline(self, at: int, path: Path) -> None:
        """Note the keys of an inline table."""
        while at < len(self.text) and self.text[at] != "}":
            if self.text[at] in " \t\n,":
                at += 1
                continue
            parts, length = _key(self.text[at:])
            if not length:
                return
            inner = (*path, *parts)
            self.places.setdefault(inner, self._position(at))
            at = self.text.find("=", at + length) + 1
            while self.text[at : at + 1] in (" ", "\t"):
                at += 1
            if self.text[at : at + 1] == "{":
                self._inline(at + 1, inner)
            at = self._value_end(at, inline=True)

    def _value_end(self, at: int, *, inline: bool = False) -> int:
        """Where the value that begins here ends."""
        depth = 0
        while at < len(self.text):
            letter = self.text[at]
            if letter in "\"'":
                at = self._string_end(at)
                continue
            if letter == "#" and not inline:
                at = self._line_end(at)
                continue
            if not depth and (letter == "\n" or (inline and letter in ",}")):
                return at
            depth += _BRACKETS.get(letter, 0)
            at += 1
        return at

    def _string_end(self, at: int) -> int:
        quote = self.text[at]
        mark = quote * 3 if self.text.startswith(quote * 3, at) else quote
        at += len(mark)
        while at < len(self.text) and not self.text.startswith(mark, at):
            at += 2 if self.text[at] == "\\" and quote == '"' else 1
        at += len(mark)
        while len(mark) == 3 and self.text[at : at + 1] == quote:  # up to two quotes may stand before the last three
            at += 1
        return at

    def _element(self, parts: Path) -> Path:
        above = self._below(parts[:-1])
        path = (*above, parts[-1])
        number = self.counts.get(path, 0)
        self.counts[path] = number + 1
        return (*path, number)

    def _below(self, parts: Path) -> Path:
        """A header's path, with the number of the last element of each array of tables on the way."""
        path: Path = ()
        for part in parts:
            path = (*path, part)
            if path in self.counts:
                path = (*path, self.counts[path] - 1)
        return path

    def _line_end(self, at: int) -> int:
        end = self.text.find("\n", at)
        return len(self.text) if end < 0 else end

    def _position(self, at: int) -> Position:
        return self.text.count("\n", 0, at) + 1, at - (self.text.rfind("\n", 0, at) + 1) + 1


def _key(text: str) -> tuple[tuple[str, ...], int]:
    """The parts of a dotted key at the beginning of a text, and how long it is there."""
    parts, at = list[str](), 0
    while match := _PART.match(text, at):
        parts.append(next(group for group in match.groups() if group is not None))
        at = match.end()
        if text[at : at + 1] != ".":
            break
        at += 1
    return tuple(parts), at
