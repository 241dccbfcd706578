"""The tables of a report as an Excel workbook: one sheet each, the answer and the sources of its figures beside them.

Text stays text: a cell of the data that begins like a formula is stored as a string and marked as one.
"""

from __future__ import annotations

import io
import re
from datetime import date, datetime
from typing import Any, Final

from openpyxl import Workbook
from openpyxl.cell import Cell
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE
from openpyxl.styles import Alignment, Font, PatternFill
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.properties import PageSetupProperties
from openpyxl.worksheet.worksheet import Worksheet

from core.figure_sources import shown_there, source_line
from core.phrases import say
from core.slack.text import clip
from workers.agent.report.sourcing import SIGN
from workers.delivery.reports import compose
from workers.delivery.reports.formats.prose import Grid, Line, parts_of
from workers.delivery.reports.formats.tables import TEXT, Column, DataTable, Item, tables_of
from workers.delivery.reports.tables import FORMULA
from workers.delivery.reports.values import ReportInput
from workers.delivery.reports.whole_charts import places

_TITLE: Final = 31
_TEXT: Final = 32_000
"""Characters of a cell; Excel takes 32,767."""
_LINE, _FITS = 15.5, 100
"""Points of a line of the answer, and the characters that it holds."""
_NARROW, _WIDE, _PROSE = 8.0, 60.0, 110.0
_QUIET = "FF5F6B7A"
_HEAD = PatternFill("solid", start_color="FFE8EEF5")


def excel(given: ReportInput) -> bytes:
    """The workbook; b"" when the report has no table. The first sheet is the answer."""
    tables = tables_of(given)
    if not tables:
        return b""
    book = Workbook()
    names: set[str] = set()
    answer: Worksheet = book.create_sheet(_sheet_name(say("format_answer", given.language), names), 0)
    book.remove(book.worksheets[-1])
    _answer(answer, given)
    for table in tables:
        _table(book.create_sheet(_sheet_name(table.title, names)), table)
    if given.sources:
        _table(book.create_sheet(_sheet_name(say("report_figures", given.language), names)), _sources(given))
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


def _answer(sheet: Worksheet, given: ReportInput) -> None:
    """The question and the words of the answer; its tables have sheets of their own."""
    sheet.column_dimensions["A"].width = _PROSE
    sheet.sheet_view.showGridLines = False
    _for_paper(sheet)
    asked = given.asked
    row = 1
    for text, font in ((asked, _font(italic=True, color=_QUIET)), ("", None), *_lines(given)):
        if text:
            cell = _put(sheet, row, 1, text)
            sheet.row_dimensions[row].height = _LINE * max(1, sum(-(-places(one) // _FITS) for one in text.split("\n")))
            cell.alignment = Alignment(wrap_text=True, vertical="top")
            if font is not None:
                cell.font = font
        row += 1
    if foot := compose.footer(given):
        _put(sheet, row + 1, 1, foot).font = _font(size=9, color=_QUIET)


def _lines(given: ReportInput) -> list[tuple[str, Font | None]]:
    lines: list[tuple[str, Font | None]] = []
    for part in parts_of(given.safe_report):
        if part.title:
            lines += [("", None), (part.title, _font(bold=True, size=13))]
        for item in part.items:
            match item:
                case Grid():
                    lines.append((say("format_see_sheet", given.language), _font(italic=True)))
                case Line():
                    lead = f"{'    ' * item.level}{item.bullet} " if item.bullet else ""
                    lines.append((lead + item.text, _font(bold=True) if all(run.bold for run in item.runs) else None))
    return lines


def _sources(given: ReportInput) -> DataTable:
    """Where the figures of the report come from."""
    language = given.language
    lines = [
        (
            one.figure,
            source_line(one, given.numbered, language),
            " / ".join(filter(None, (shown_there(place, given.numbered) for place in one.places))),
        )
        for one in given.sources
    ]
    rows = list(dict.fromkeys(lines))
    names = (say("format_figure", language), say("format_source", language), say("format_shown", language))
    columns = tuple(Column(name, tuple(row[place] for row in rows), TEXT) for place, name in enumerate(names))
    return DataTable(say("report_figures", language), columns)


def _table(sheet: Worksheet, table: DataTable) -> None:
    for place, column in enumerate(table.columns, 1):
        head = _put(sheet, 1, place, column.name)
        head.font, head.fill = _font(bold=True), _HEAD
        head.alignment = Alignment(horizontal="right" if column.is_number else "left", vertical="top", wrap_text=True)
        for row, value in enumerate(column.values, 2):
            cell = _put(sheet, row, place, value)
            form = _marked(column.format) if row - 2 in column.unsourced else column.format
            cell.number_format = form if not isinstance(value, str) else TEXT
            if isinstance(value, date):
                cell.alignment = Alignment(horizontal="left")
            if isinstance(value, str) and len(value) > _WIDE:
                cell.alignment = Alignment(wrap_text=True, vertical="top")
        sheet.column_dimensions[get_column_letter(place)].width = _width(column)
    last = f"{get_column_letter(len(table.columns))}{len(table.rows) + 1}"
    sheet.freeze_panes = "A2"
    _for_paper(sheet)
    sheet.auto_filter.ref = f"A1:{last}"
    below = len(table.rows) + 3
    for number, note in enumerate(filter(None, (table.missing, table.source))):
        _put(sheet, below + number, 1, note).font = _font(size=9, italic=True, color=_QUIET)


def _marked(form: str) -> str:
    """The same format with the sign of a figure that nothing backs: the number stays one."""
    return ";".join(f'{part}" {SIGN}"' for part in form.split(";"))


def _font(**look: Any) -> Font:
    """The workbook's own font in another look."""
    return Font(**{"name": "Calibri", "size": 11, **look})


def _for_paper(sheet: Worksheet) -> None:
    """All columns on one page, whoever prints it."""
    sheet.page_setup.orientation = "landscape"
    sheet.page_setup.fitToHeight = 0
    sheet.sheet_properties.pageSetUpPr = PageSetupProperties(fitToPage=True)


def _put(sheet: Worksheet, row: int, column: int, value: Item) -> Cell:
    """A value in its cell; text is never a formula, whatever it begins with."""
    cell = sheet.cell(row, column)
    assert isinstance(cell, Cell)  # noqa: S101 - a sheet of ours has no merged cells
    if isinstance(value, str):
        cell.value = clip(ILLEGAL_CHARACTERS_RE.sub(" ", value), _TEXT)
        cell.data_type = "s"
        if value.startswith(FORMULA):
            cell.quotePrefix = True
    else:
        cell.value = value
    return cell


def _width(column: Column) -> float:
    shown = [_shown(value, column.format) for value in column.values[:500]]
    longest = max((places(line) for text in (column.name, *shown) for line in text.splitlines() or [""]), default=0)
    return min(max(longest * 1.1 + 3, _NARROW), _WIDE)


def _shown(value: Item, form: str) -> str:
    """About what a spreadsheet shows of a value, for the width of its column."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return "" if value is None else str(value)
    if isinstance(value, datetime):
        return value.isoformat(" ", "minutes")
    if isinstance(value, date):
        return value.isoformat()
    decimals = len(form.partition(".")[2].partition('"')[0].rstrip("%;,+-"))
    text = f"{value:,.{min(decimals, 6)}f}" if form != "General" else str(value)
    return text + "    " if '"' in form or "%" in form else text


def _sheet_name(title: str, names: set[str]) -> str:
    """A name that Excel takes: at most 31 characters as it counts them, none of its signs, not there yet."""
    plain = " ".join(re.sub(r"[\[\]:*?/\\\x00-\x1f]", " ", title).split()).strip("' ")
    plain = _cut(plain, _TITLE).strip("' ")
    plain = plain if plain and plain.casefold() != "history" else "Table"
    name, number = plain, 2
    while name.casefold() in names:
        end = f" ({number})"
        name, number = _cut(plain, _TITLE - len(end)) + end, number + 1
    names.add(name.casefold())
    return name


def _cut(text: str, most: int) -> str:
    """The beginning of a text in at most this many units of UTF-16, by which Excel counts: an emoji has two."""
    return text.encode("utf-16-le", "replace")[: 2 * most].decode("utf-16-le", "ignore")
