"""A Markdown page with front matter, a table and code, each with its line: what tables and metrics are written as.

Front matter is read as names with texts or lists of texts, nothing else of YAML: `trust: yes` stays the word "yes".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

from workers.sources.knowledge.entries import Fault

LONGEST_PAGE = 512 * 1024
"""Bytes of a file."""

LONGEST_TEXT = 20_000
"""Characters of a meaning, a statement or a value of the front matter."""

LONGEST_CELL = 2_000
MOST_ROWS = 2_000
MOST_ITEMS = 200
_FENCE = re.compile(r"\A---[ \t]*\n(.*?\n)?---[ \t]*(?:\n|\Z)", re.DOTALL)
_MARKDOWN = MarkdownIt("commonmark").enable("table")


class PageFault(Exception):
    """A page cannot be read: `fault` says where and why."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault))
        self.fault = fault


@dataclass(frozen=True)
class Cells:
    """The rows of a table below its headings; `first` and `end` are lines of the file, counted from 1."""

    headings: tuple[str, ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...]
    first: int
    end: int


@dataclass(frozen=True)
class Page:
    """A page in parts: text before the table (or code) and after it, without the title."""

    file: str
    front: Mapping[str, str | tuple[str, ...]]
    lines: Mapping[str, int]
    before: str
    after: str
    table: Cells | None = None
    code: str = ""
    code_line: int = 0
    faults: tuple[Fault, ...] = field(default=())

    def text(self, name: str) -> str:
        """A value of the front matter as text; a list has commas between its items."""
        value = self.front.get(name, "")
        return value if isinstance(value, str) else ", ".join(value)

    def items(self, name: str) -> tuple[str, ...]:
        """A value of the front matter as a list; a text is split at its commas."""
        value = self.front.get(name, ())
        parts = re.split("[,，、]", value) if isinstance(value, str) else value
        return tuple(part.strip() for part in parts if part.strip())

    def fault(self, message: str, name: str = "", line: int = 0) -> PageFault:
        """A fault of this page, at a name of its front matter or at a line."""
        return PageFault(Fault(self.file, line or self.lines.get(name, 0), message))


def read_page(file: str, text: str) -> Page:
    """The parts of a page. Raises PageFault with the file and the line."""
    if len(text.encode("utf-8", "replace")) > LONGEST_PAGE:
        raise PageFault(Fault(file, 0, f"is larger than {LONGEST_PAGE // 1024} KB. Split it, or shorten it."))
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    found = _FENCE.match(text)
    if found is None:
        raise PageFault(Fault(file, 1, "begins without front matter: lines of `name: value` between two lines `---`."))
    front, lines = _front(file, found[1] or "")
    offset = found[0].count("\n")
    body = text[found.end() :]
    tokens = _MARKDOWN.parse(body)
    table = _table(file, tokens, offset)
    code, code_line, code_end = _code(tokens, offset)
    rows = body.splitlines()
    begin, end = (table.first, table.end) if table else (code_line, code_end) if code_line else (0, 0)
    cut = (begin - offset - 1, end - offset) if begin else (len(rows), len(rows))
    return Page(
        file,
        front,
        lines,
        _bounded(file, "\n".join(_without_title(rows[: cut[0]])).strip()),
        _bounded(file, "\n".join(rows[cut[1] :]).strip()),
        table,
        _bounded(file, code),
        code_line,
    )


def _front(file: str, text: str) -> tuple[dict[str, str | tuple[str, ...]], dict[str, int]]:
    """Names with texts or lists of texts, and the line of each name."""
    try:
        tree = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 1
        raise PageFault(Fault(file, line, f"the front matter cannot be read: {error.problem}.")) from None
    except (yaml.YAMLError, RecursionError):
        raise PageFault(Fault(file, 1, "the front matter cannot be read.")) from None
    front: dict[str, str | tuple[str, ...]] = {}
    lines: dict[str, int] = {}
    if tree is None:
        return front, lines
    if not isinstance(tree, yaml.MappingNode):
        raise PageFault(Fault(file, 2, "the front matter must be lines of `name: value`."))
    for key, value in tree.value:
        line = key.start_mark.line + 2
        name = str(key.value).strip().lower() if isinstance(key, yaml.ScalarNode) else ""
        if name in front:
            raise PageFault(Fault(file, line, f"{name} stands twice in the front matter."))
        front[name] = _value(file, line, name, value)
        lines[name] = line
    return front, lines


def _value(file: str, line: int, name: str, node: yaml.Node) -> str | tuple[str, ...]:
    if isinstance(node, yaml.ScalarNode):
        return _bounded(file, "" if node.tag.endswith(":null") else str(node.value).strip())
    items = node.value if isinstance(node, yaml.SequenceNode) else []
    if not items or len(items) > MOST_ITEMS or not all(isinstance(item, yaml.ScalarNode) for item in items):
        if isinstance(node, yaml.SequenceNode) and not items:
            return ()
        raise PageFault(Fault(file, line, f"{name} must be a text, or a list of at most {MOST_ITEMS} texts."))
    return tuple(_bounded(file, str(item.value).strip(), LONGEST_CELL) for item in items)


def _table(file: str, tokens: list[Token], offset: int) -> Cells | None:
    """The first table of the page."""
    begin = next((token for token in tokens if token.type == "table_open"), None)
    if begin is None or begin.map is None:
        return None
    rows: list[tuple[int, tuple[str, ...]]] = []
    cells: list[str] = []
    line = 0
    for token in tokens[tokens.index(begin) :]:
        if token.type == "tr_open":
            line, cells = (token.map[0] if token.map else 0) + offset + 1, []
        elif token.type == "inline" and token.level > begin.level:
            cells.append(_bounded(file, token.content.strip(), LONGEST_CELL))
        elif token.type == "tr_close":
            rows.append((line, tuple(cells)))
        elif token.type == "table_close":
            break
    if len(rows) > MOST_ROWS:
        raise PageFault(Fault(file, begin.map[0] + offset + 1, f"the table has more than {MOST_ROWS} rows."))
    headings = tuple(cell.lower() for cell in rows[0][1])
    return Cells(headings, tuple(rows[1:]), begin.map[0] + offset + 1, begin.map[1] + offset)


def _code(tokens: list[Token], offset: int) -> tuple[str, int, int]:
    """The first fenced block of SQL: its text, its first line, and the line at which it ends."""
    for token in tokens:
        if token.type == "fence" and token.info.strip().lower() in ("sql", "") and token.map:
            return token.content.strip(), token.map[0] + offset + 1, token.map[1] + offset
    return "", 0, 0


def _without_title(rows: Iterable[str]) -> list[str]:
    kept = list(rows)
    first = next((at for at, row in enumerate(kept) if row.strip()), None)
    return kept[first + 1 :] if first is not None and kept[first].startswith("# ") else kept


def _bounded(file: str, text: str, longest: int = LONGEST_TEXT) -> str:
    if len(text) > longest:
        raise PageFault(Fault(file, 0, f"a text of it has more than {longest:,} characters: {text[:30]!r}…"))
    return text
