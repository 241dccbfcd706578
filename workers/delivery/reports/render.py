"""A report as messages within Slack's limits, and as files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from core.formats import Format
from core.phrases import say
from core.slack import blocks as kit
from core.slack.blocks import Align, Block, Limit, SlackMessage
from core.slack.charts import CHART
from core.slack.folding import folded
from core.slack.markdown import (
    Table,
    cut_markdown,
    escape_markdown,
    headings,
    plain_text,
    source_lines,
    split_tables,
    with_emphasis,
)
from core.slack.sanitize import addresses, sanitize
from core.slack.text import clip, escape
from core.slack.views.report_badge import badge_block
from core.slack.views.reports import report_buttons
from workers.delivery.reports import compose
from workers.delivery.reports.formats.tables import mark_of, with_numbers
from workers.delivery.reports.native_charts import native_charts
from workers.delivery.reports.notebook import notebook, script
from workers.delivery.reports.page import page
from workers.delivery.reports.second import second_line
from workers.delivery.reports.tables import alignments, preview, to_csv
from workers.delivery.reports.values import PAGE, Report, ReportFile, ReportInput

_MESSAGE = 10_500
"""Characters of one message, well under what Slack was seen to refuse."""
_BLOCKS = 45
"""Blocks of one message; the last ones of a report have room in it, too."""
_LEAST = 1_500
"""With less room than this a text that does not fit begins in the next message."""
_TABLE_BLOCKS = 6
"""Each table block ends its message; a report with more tables keeps the rest inside its text and does not flood."""
_SMALL_TABLE = (10, 6)
"""Rows and columns of a table that nobody needs to sort or to page through. Where a report has several tables, the
small ones stand in its text, which Slack shows as tables, too: the report stays one message."""
_THREAD = 60_000
"""Characters of the model's report that the thread shows. A longer one would flood it; report.md holds all of it."""
_QUESTION = 300
_SHORT = 600
"""Characters of an answer that is all there is to say."""
_BADGE = 1_500
_SECOND_ID = "second_route"


def render_report(given: ReportInput) -> Report:
    """The report of a finished turn: messages, files, and the whole text.

    No word of the model's report is lost: its page holds all of it, the messages up to 60,000 characters. How it was
    done, and what it cannot tell, stands on the page and behind the buttons, not in the thread.
    """
    thread = _Thread(given)
    question = given.asked
    if question:
        thread.add(kit.quote(clip(question, _QUESTION)))
    report, method = folded(given.report.strip("\n"), given.sections)
    rest = ""
    if len(report) > _THREAD:
        report, rest = cut_markdown(report, _THREAD)
    thread.add_markdown(with_emphasis(sanitize(report, addresses(given.question))))
    if rest:
        thread.add(kit.context(escape(say("report_rest_in_file", given.language))))
    if charts := native_charts(given):
        thread.add(*charts)
    if limits := compose.limits(given):
        thread.add_markdown(sanitize(limits))
    about = (compose.files_line(given), compose.sources_line(given), compose.footer(given))
    if quiet := [line for line in about if line]:
        thread.add(kit.context(*(escape(line) for line in quiet)))
    last = []
    if given.second is not None:
        line = second_line(given.second, given.language, given.model)
        last.append({**kit.context(escape(clip(line, _BADGE))), "block_id": _SECOND_ID})
    if given.clean_room is not None:
        last.append(badge_block(given.clean_room, given.language))
    if given.turn_id:
        has = {"has_sources": bool(given.sources), "has_code": bool(given.cells), "has_method": bool(method)}
        has["can_be_kept"] = any(cell.status == "ok" for cell in (*given.earlier, *given.cells))
        last.append(report_buttons(given.turn_id, given.language, **has, formats=_formats(given)))
    thread.add(*last)
    whole = compose.whole(given)
    files = (
        ReportFile(PAGE, "text/html", page(given).encode()),
        ReportFile("report.md", "text/markdown", whole.encode()),
        *thread.files,
        ReportFile("analysis.ipynb", "application/x-ipynb+json", notebook(given).encode()),
        ReportFile("analysis.py", "text/x-python", script(given).encode()),
    )
    if not given.cells and not given.earlier:
        files = files[:-2]
    shown = {file.name for file in thread.files} | ({PAGE} if _is_more_than_a_line(given) else set())
    return Report(thread.messages(), files, whole, frozenset(shown))


def _is_more_than_a_line(given: ReportInput) -> bool:
    """Whether the answer is worth a file of its own in the thread; a short one has its button for all files."""
    has_table = any(isinstance(part, Table) for part in split_tables(given.report))
    return has_table or len(given.report) > _SHORT or any(cell.figures for cell in given.cells)


def _formats(given: ReportInput) -> list[Format]:
    """The formats that this report is worth: a spreadsheet needs a table, slides and PDF more than a line."""
    has_table = any(isinstance(part, Table) for part in split_tables(given.report))
    has_data = has_table or any(cell.tables or cell.charts for cell in given.cells if cell.status == "ok")
    whole: tuple[Format, ...] = ("slides", "pdf") if _is_more_than_a_line(given) else ()
    return [*whole, *(("excel", "csv") if has_data else ())]


class _Thread:
    """The messages under construction: blocks go into the last one while it has room, else open the next."""

    def __init__(self, given: ReportInput) -> None:
        self.files: list[ReportFile] = []
        self._given = given
        self._mark = mark_of(given.report, given.language, given.sources)
        self._messages: list[list[Block]] = [[]]
        self._tables = 0
        self._heading = ""

    def messages(self) -> tuple[SlackMessage, ...]:
        known = addresses(self._given.question)
        return tuple(SlackMessage(_summary(blocks), blocks, known) for blocks in self._messages if blocks)

    def add(self, *blocks: Block) -> None:
        """Blocks that are posted as they are, in one message, which is the same if they fit."""
        if self._room() < kit.characters(list(blocks)):
            self._messages.append([])
        self._messages[-1].extend(blocks)

    def add_markdown(self, text: str) -> None:
        """Markdown with its tables."""
        parts = split_tables(text)
        is_alone = sum(isinstance(part, Table) for part in parts) == 1
        for part in parts:
            if isinstance(part, str):
                self._heading = next(iter(reversed(headings(part))), self._heading)
                self._add_text(part)
            elif _is_small(part) and not is_alone:
                self._add_text(_aligned(part))
            elif kit.fits_table(part.rows) and self._tables < _TABLE_BLOCKS:
                self._add_table(part.rows, part)
            elif kit.fits_table(part.rows):
                self._add_text(_aligned(part))
            else:
                self._add_preview(part)

    def _add_text(self, text: str) -> None:
        text = text.strip("\n")
        while text.strip():
            room = self._room()
            if len(text) <= room:
                self._messages[-1].append(kit.markdown(text))
                return
            if room < _LEAST:
                self._messages.append([])
                continue
            piece, text = cut_markdown(text, room)
            if piece.strip():
                self._messages[-1].append(kit.markdown(piece.strip("\n")))
            self._messages.append([])
            text = text.lstrip("\n")

    def _add_table(self, rows: Iterable[Iterable[str]], table: Table) -> None:
        shown = [list(row) for row in rows]
        if len(shown) > 1:
            caption = self._heading or say("format_answer", self._given.language)
            block = kit.data_table(with_numbers(shown, self._mark), caption)
        else:
            block = kit.table(shown, alignments(shown, table.aligns[: Limit.TABLE_COLUMNS]))
        if self._room() < kit.characters([block]):
            self._messages.append([])
        self._messages[-1].append(block)
        # Slack shows a table below everything else of its message and takes only one: the text after it is a new one.
        self._messages.append([])
        self._tables += 1

    def _add_preview(self, table: Table) -> None:
        name = f"table-{len(self.files) + 1}.csv"
        self.files.append(ReportFile(name, "text/csv", to_csv(table.rows)))
        shown = preview(table.rows)
        note = say(
            "report_table_in_file",
            self._given.language,
            shown=len(shown) - 1,
            rows=len(table.rows) - 1,
            columns=len(table.rows[0]),
            name=name,
        )
        self._add_text(f"*{note}*")
        if self._tables < _TABLE_BLOCKS:
            self._add_table(shown, table)
        else:
            self._add_text(_as_markdown(shown))

    def _room(self) -> int:
        if len(self._messages[-1]) >= _BLOCKS:
            return 0
        return _MESSAGE - kit.characters(self._messages[-1])


def _is_small(table: Table) -> bool:
    rows, columns = _SMALL_TABLE
    return len(table.rows) <= rows + 1 and len(table.rows[0]) <= columns


def _aligned(table: Table) -> str:
    """The table as it is written, its columns of numbers to the right."""
    head, _, *body = source_lines(table.source)
    rule = "|".join(_RULES[each] for each in alignments(table.rows, table.aligns))
    return "".join([head, f"|{rule}|\n", *body])


_RULES: Mapping[Align | None, str] = {None: "---", "left": ":---", "center": ":---:", "right": "---:"}


def _as_markdown(rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(map(escape_markdown, row))} |" for row in rows]
    return "\n".join([lines[0], f"|{'---|' * len(rows[0])}", *lines[1:]])


def _summary(blocks: list[Block]) -> str:
    """The words of a message for notifications, quotation and footer left out."""
    lines: list[str] = []
    for block in blocks:
        if block["type"] == "markdown":
            lines.append(plain_text(block["text"]))
        elif block["type"] in ("table", "data_table"):
            lines += [" | ".join(cell["text"] for cell in row) for row in block["rows"]]
        elif block["type"] == CHART:
            lines.append(block["title"])
    text = "\n".join(line for line in lines if line.strip())
    return kit.fallback(text or "…")
