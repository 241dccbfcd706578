"""A report as PDF without a browser: the same words, charts, tables and sources as its page, laid out by fpdf2."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from fpdf import FPDF
from fpdf.enums import TableBordersLayout
from fpdf.fonts import FontFace

from core.figure_sources import counts_line, source_line
from core.phrases import say
from core.slack.text import clip, clip_words
from core.slack.views.report_badge import badge
from workers.delivery.reports import compose
from workers.delivery.reports.formats.prose import Grid, Line, Part, parts_of
from workers.delivery.reports.formats.slides import size_of_png
from workers.delivery.reports.second import second_line
from workers.delivery.reports.tables import alignments, widths
from workers.delivery.reports.values import ReportInput

_INK, _QUIET, _HEAD = (28, 36, 46), (95, 107, 122), (232, 238, 245)
_TEXT, _STEP = 10.5, 5.2
"""Points of the text, millimetres of a line."""
_PIXELS = 40_000_000
"""A larger picture is left out: it would take the memory of everybody."""
_ROWS, _COLUMNS, _CELL = 200, 12, 300
_MANY, _SHORT_CELL = 6, 120
"""With more columns than these a cell has fewer characters: a row must fit on a page."""
_NARROW = 10.0
"""Millimetres of the narrowest column: a single letter must fit in, beside the padding."""
_LETTER, _PADDING = 2.0, 3.0
"""Millimetres of a digit of a table, and of what is around the text of a cell."""
_TITLE = 140
_SANS: Final = (("", "DejaVuSans.ttf"), ("B", "DejaVuSans-Bold.ttf"), ("I", "DejaVuSans-Oblique.ttf"))


def pdf(given: ReportInput) -> bytes:
    """The PDF file."""
    page = _Page(given)
    page.head()
    for part in parts_of(given.safe_report):
        page.part(part)
    page.charts()
    for part in parts_of(compose.sections(given, charts=False)):
        page.part(part)
    page.sources()
    return bytes(page.made.output())


@cache
def _fonts() -> dict[str, Path]:
    """The fonts that come with the charts: one for Western scripts, one for Chinese and Japanese."""
    specs = [find_spec(name) for name in ("matplotlib", "mplfonts")]
    western, eastern = (next(iter(spec.submodule_search_locations or ())) for spec in specs if spec is not None)
    found = {style: Path(western) / "mpl-data" / "fonts" / "ttf" / name for style, name in _SANS}
    return found | {"mono": found[""].with_name("DejaVuSansMono.ttf"), "asian": Path(eastern) / "fonts" / "SimHei.ttf"}


class _Document(FPDF):
    """Reads a font when it is first needed: the Chinese one alone takes a quarter of a second."""

    def __init__(self) -> None:
        super().__init__(format="A4")
        self.add_font("sans", "", _fonts()[""])
        self.set_fallback_fonts(["sans"], exact_match=False)

    def use_font(self, family: str, style: str, size: float) -> None:
        """Write in this font from now on."""
        if family + style not in self.fonts:
            self.add_font(family, style, _fonts()[style if family == "sans" else family])
        self.set_font(family, style, size)

    def get_fallback_font(self, char: str, style: str = "") -> str | None:
        """The font for a character that the current one lacks, or None."""
        found = super().get_fallback_font(char, style)
        if found is None and "asian" not in self.fonts:
            self.add_font("asian", "", _fonts()["asian"])
            self.set_fallback_fonts(["sans", "asian"], exact_match=False)
            found = super().get_fallback_font(char, style)
        return found


class _Page:
    """The document under construction."""

    def __init__(self, given: ReportInput) -> None:
        self._given = given
        self.made = made = _Document()
        made.set_title(clip_words(" ".join(given.question.split()), _TITLE))
        made.set_lang(given.language)
        made.set_margins(20, 18, 20)
        made.set_auto_page_break(True, 18)
        made.add_page()

    def head(self) -> None:
        given = self._given
        title, *_ = given.question.strip().splitlines() or ["…"]
        self._write(clip_words(" ".join(title.split()), _TITLE), 17, "B", 8)
        by = say("report_asked_by", given.language, author=given.asker) if given.asker else ""
        self._quiet(" · ".join(part for part in (by, compose.footer(given)) if part))
        if given.second is not None:
            self._quiet(second_line(given.second, given.language, given.model))
        if given.clean_room is not None:
            self._quiet(badge(given.clean_room, given.language, in_file=True))
        self.made.ln(3)

    def part(self, part: Part) -> None:
        if part.title:
            self.made.ln(3)
            self._write(part.title, 13, "B", 6.5)
            self.made.ln(1)
        for item in part.items:
            if isinstance(item, Grid):
                self._table(item.rows)
            else:
                self._line(item)

    def charts(self) -> None:
        given = self._given
        for cell in given.drawn:
            for figure in cell.figures:
                picture = given.pictures.get(figure.sha256, b"")
                size = size_of_png(picture)
                if size is None or size[0] * size[1] > _PIXELS:
                    self._quiet(say("page_chart_gone", given.language, name=figure.name))
                    continue
                width = min(self.made.epw, size[0] * 0.2)
                height = width * size[1] / size[0]
                if height > (most := self.made.eph - 20):
                    width, height = width * most / height, most
                if self.made.will_page_break(height + 8):
                    self.made.add_page()
                alt = say("page_chart_alt", given.language, title=cell.title)
                left = self.made.l_margin + (self.made.epw - width) / 2
                self.made.ln(3)
                self.made.image(io.BytesIO(picture), x=left, w=width, alt_text=alt)
                self._quiet(" ".join(cell.title.split()))

    def sources(self) -> None:
        given = self._given
        if not given.sources:
            return
        self.part(Part(say("report_figures", given.language), ()))
        self._quiet(counts_line(given.sources, given.language))
        rows = [(one.figure, source_line(one, given.numbered, given.language)) for one in given.sources]
        self._table([("", ""), *dict.fromkeys(rows)], shares=(1, 5), headed=False)

    def _line(self, line: Line) -> None:
        made = self.made
        left = 5.0 * (line.level + bool(line.bullet))
        is_code = "\n" in line.text and all(run.code for run in line.runs)
        if is_code:
            self._style("mono", "", 8)
            made.set_fill_color(246, 248, 250)
            made.multi_cell(0, 4, line.text, align="L", fill=True, new_x="LMARGIN", new_y="NEXT")
            made.ln(2)
            return
        made.set_left_margin(20 + left)
        if line.bullet:
            self._style("sans", "", _TEXT)
            made.set_x(20 + left - 5)
            made.write(_STEP, line.bullet)
        made.set_x(20 + left)
        for run in line.runs:
            style = ("B" if run.bold else "") or ("I" if run.italic else "")
            self._style("mono" if run.code else "sans", "" if run.code else style, _TEXT - run.code)
            made.write(_STEP, run.text)
        made.set_left_margin(20)
        made.ln(_STEP + 1.6)

    def _table(self, rows: Sequence[Sequence[str]], shares: Sequence[int] = (), *, headed: bool = True) -> None:
        made, shown = self.made, [row[:_COLUMNS] for row in rows[: _ROWS + 1]]
        columns = max(map(len, shown), default=0)
        if not columns:
            return
        most = _CELL if columns <= _MANY else _SHORT_CELL
        grid = [[clip(row[place], most) if place < len(row) else "" for place in range(columns)] for row in shown]
        aligns = tuple("RIGHT" if align == "right" and headed else "LEFT" for align in alignments(grid, ()))
        self._style("sans", "", 8.5)
        made.set_draw_color(214, 220, 228)
        head = FontFace(emphasis="BOLD", fill_color=_HEAD)
        with made.table(
            text_align=aligns,
            col_widths=tuple(shares) or self._widths(grid, columns),
            borders_layout=TableBordersLayout.HORIZONTAL_LINES,
            headings_style=head,
            first_row_as_headings=headed,
            line_height=4.6,
            padding=0.8,
        ) as table:
            for row in grid if headed else grid[1:]:
                table.row(row)
        if (of := max(map(len, rows))) > _COLUMNS:
            counts = {"shown": len(shown) - 1, "rows": len(rows) - 1, "columns": _COLUMNS, "of": of}
            self._quiet(say("format_table_cut", self._given.language, **counts))
        elif len(rows) - 1 > _ROWS:
            self._quiet(say("page_rows", self._given.language, shown=_ROWS, rows=len(rows) - 1))
        made.ln(3)

    def _widths(self, grid: Sequence[Sequence[str]], columns: int) -> tuple[float, ...]:
        """The columns' widths, about as their texts are long."""
        longest = (max(len(row[place].encode("gbk", "replace")) for row in grid) for place in range(columns))
        return tuple(widths([max(_LETTER * each + _PADDING, _NARROW) for each in longest], self.made.epw))

    def _write(self, text: str, size: float, style: str, step: float) -> None:
        self._style("sans", style, size)
        self.made.multi_cell(0, step, text, align="L", new_x="LMARGIN", new_y="NEXT")

    def _quiet(self, text: str) -> None:
        if text:
            self._style("sans", "", 8.5)
            self.made.set_text_color(*_QUIET)
            self.made.multi_cell(0, 4.4, text, align="L", new_x="LMARGIN", new_y="NEXT")
            self.made.ln(1)

    def _style(self, family: str, style: str, size: float) -> None:
        self.made.use_font(family, style, size)
        # fpdf2 takes the font for set although a fallback font was used last, and would show boxes: a change of size
        # makes it set the font again.
        self.made.set_font_size(size + 1)
        self.made.set_font_size(size)
        self.made.set_text_color(*_INK)
