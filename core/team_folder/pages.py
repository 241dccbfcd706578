"""A page of what a team wrote down: Markdown in which each heading of the second level begins an entry. Pure.

    # Definitions

    ## active customer
    A customer with an order in the last 90 days.

    _Kept by Ana on 2026-11-22. Ben said it in T1:C1:100.1._

The last line of an entry may say where it comes from. Text before the first entry is an entry too, under the title of
the page. What people write in between is left as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

TITLE_CHARS = 120
ENTRY_CHARS = 4_000
"""Characters of one entry that count; people may write longer ones."""
_FENCE = re.compile(r"\A {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"\A##[ \t]+(.+?)(?:[ \t]+#+)?[ \t]*\Z")
_TITLE = re.compile(r"\A#[ \t]+(.+?)(?:[ \t]+#+)?[ \t]*\Z")
_KEPT = re.compile(r"\A_(Kept by .{1,500})_\Z")


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry. `kept` says who kept it and where it comes from, "" if that is unknown; `line` counts from 1.

    The text above the first heading `is_above`: its title is that of the page. An entry that `is_cut` is longer on its
    page.
    """

    title: str
    text: str
    kept: str = ""
    line: int = 1
    is_above: bool = False
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class _Part:
    """Lines of a page from its heading on; `title` is None for what stands before the first heading."""

    title: str | None
    start: int
    end: int


def entries_of(text: str, name: str) -> tuple[Entry, ...]:
    """The entries of a page that is called `name`. Empty ones are left out. Never raises."""
    lines = _lines(text)
    heading = next((match[1] for line in lines if (match := _TITLE.match(line))), name)
    found = []
    for part in _parts(lines):
        body = lines[part.start + (part.title is not None) : part.end]
        if part.title is None:
            body = [line for line in body if not _TITLE.match(line)]
        shown, kept = _without_kept("\n".join(body).strip().splitlines())
        if shown:
            title, is_above, is_cut = part.title or heading, part.title is None, len(shown) > ENTRY_CHARS
            found.append(
                Entry(title[:TITLE_CHARS], shown[:ENTRY_CHARS], kept, part.start + 1, is_above=is_above, is_cut=is_cut)
            )
    return tuple(found)


def as_read(entry: Entry) -> Entry:
    """An entry as it is read again once it was written: marks of headings and of code are escaped."""
    return next(iter(entries_of(with_entry("", entry), "")), entry)


def with_entry(page: str, entry: Entry, *, replaces: Entry | None = None) -> str:
    """The page with one more entry at its end, or with this one in the place of another. Other text stays as it is."""
    written = [f"## {_one_line(entry.title)[:TITLE_CHARS]}", _harmless(entry.text).strip()]
    if entry.kept:
        written += ["", f"_{_one_line(entry.kept).strip('_')}_"]
    if replaces is not None and (part := _part_of(page, replaces)) is not None:
        lines = _lines(page)
        rest = lines[part.end :]
        return "\n".join([*lines[: part.start], *written, *([""] if rest else []), *rest]).rstrip() + "\n"
    return f"{page.rstrip()}\n\n" + "\n".join(written) + "\n" if page.strip() else "\n".join(written) + "\n"


def renamed(page: str, entry: Entry, title: str) -> str | None:
    """The page with another heading above this entry; None when it does not stand there as it was read, or has none."""
    part = _part_of(page, entry)
    if part is None or part.title is None:
        return None
    lines = _lines(page)
    return "\n".join([*lines[: part.start], f"## {_one_line(title)[:TITLE_CHARS]}", *lines[part.start + 1 :]])


def without_entry(page: str, entry: Entry) -> str | None:
    """The page without this entry; None when it does not stand there any more as it was read."""
    part = _part_of(page, entry)
    if part is None:
        return None
    lines = _lines(page)
    head = [line for line in lines[part.start : part.end] if part.title is None and _TITLE.match(line)]
    return "\n".join([*lines[: part.start], *head, *lines[part.end :]]).strip() + "\n"


def same_title(one: str, other: str) -> bool:
    """Whether two titles name the same thing: letter case, blanks and quotation marks do not count."""
    return plain_title(one) == plain_title(other)


def plain_title(title: str) -> str:
    """A title as it is compared with others."""
    return " ".join(re.sub(r"[\"'`“”‘’«»*_]", "", title).casefold().split())


def _part_of(page: str, entry: Entry) -> _Part | None:
    lines = _lines(page)
    entries = {each.line: each for each in entries_of(page, "")}
    for part in _parts(lines):
        there = entries.get(part.start + 1)
        if there is None or there.is_above != (part.title is None):
            continue  # a page that begins with a heading has two parts at its first line
        if there.text == entry.text and (there.is_above or there.title == entry.title):
            return part
    return None


def _parts(lines: list[str]) -> Iterator[_Part]:
    starts: list[tuple[int, str | None]] = [(0, None)]
    fence = ""
    for number, line in enumerate(lines):
        if mark := _FENCE.match(line):
            if not fence:
                fence = mark[1]
            elif line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif not fence and (found := _HEADING.match(line)):
            starts.append((number, found[1]))
    ends = [start for start, _ in starts[1:]] + [len(lines)]
    for (start, title), end in zip(starts, ends, strict=True):
        yield _Part(title, start, end)


def _without_kept(lines: list[str]) -> tuple[str, str]:
    """The text, and what its last line says of where it comes from."""
    if lines and (found := _KEPT.match(lines[-1].strip())):
        return "\n".join(lines[:-1]).strip(), found[1]
    return "\n".join(lines).strip(), ""


def _harmless(text: str) -> str:
    """The text with no line that would begin another entry, or end a block of code that it did not begin."""
    return "\n".join(f"\\{line}" if re.match(r" {0,3}(#|`{3,}|~{3,})", line) else line for line in _lines(text))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
