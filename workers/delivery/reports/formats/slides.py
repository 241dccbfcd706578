"""A report as slides: one message each, charts that can be edited where their data is known, sources in the notes.

The first slide is the answer. Then come the charts, what the report says under each of its headings, and how it was
done. The sections of a fixed layout come before the charts. Content that does not fit on a slide continues on the next
one. Code is cut to one slide, and a deck to 60 slides: the report's page has all of it.
"""

from __future__ import annotations

import io
import itertools
import math
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pptx import Presentation
from pptx.chart import data as chart_data
from pptx.dml import color
from pptx.enum.chart import XL_CHART_TYPE, XL_LEGEND_POSITION, XL_TICK_LABEL_POSITION
from pptx.enum.text import MSO_ANCHOR, PP_ALIGN
from pptx.oxml.ns import qn
from pptx.util import Emu, Inches, Pt

from core.clean_room import CleanRoom
from core.figure_sources import source_line
from core.phrases import say
from core.slack.text import clip, clip_words
from core.slack.views.report_badge import badge
from core.steps import CellRan, ChartData, FigureSource
from workers.delivery.reports import compose
from workers.delivery.reports.formats.prose import Grid, Line, Part, Run, parts_of
from workers.delivery.reports.second import second_line
from workers.delivery.reports.tables import alignments, widths
from workers.delivery.reports.values import PAGE, ReportInput
from workers.delivery.reports.whole_charts import along_keys, bars_lie, is_whole, is_xy, labels_along, places

_CHARTS: Any = chart_data
_RGB: Any = color.RGBColor
"""python-pptx has types for a part of itself only."""
_WIDTH, _HEIGHT, _EDGE = Inches(13.333), Inches(7.5), Inches(0.65)
_TOP, _BODY = Inches(1.6), Inches(5.2)
_INK, _QUIET, _ACCENT, _HEAD = _RGB(0x1C, 0x24, 0x2E), _RGB(0x5F, 0x6B, 0x7A), "2F6DB5", "E8EEF5"
_SERIES: Final = ("2F6DB5", "E07B39", "3B9E6F", "B5495B", "7A5FB0", "8C8C3C", "3E9BB0", "B07A3E", "6B7785", "C25AA0")
_LINES, _CHARS, _CODE_CHARS = 14, 92, 100
"""Lines of a slide's text at its size, and the characters of one."""
_ROWS, _COLUMNS, _CELL = 13, 9, 48
_STEPS, _DECIMALS = 10, 6
"""Steps of an axis, about, and the most decimals that one shows."""
_SLIDES = 60
_TITLE = 150
_TITLE_SIZES: Final = ((52, 28), (105, 24), (165, 20))
"""The largest size in points at which titles of so many places fit above their line."""
_SMALLEST_TITLE: Final = 14
_SENTENCE_END = re.compile(r"[。！？]|[.!?](?=\s+[^\sa-zß-öø-ÿ\d])")
"""No sentence ends behind an abbreviation: "ca. 12 %", "Acme Inc. grew"."""
_NO_XML = re.compile("[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Slide:
    """One slide before it is drawn: its message, and the content below it. `of` are the figures whose sources it has.

    At most one of `lines`, `grid`, `chart` and `picture` fills it.
    """

    title: str
    lines: tuple[Line, ...] = ()
    grid: tuple[tuple[str, ...], ...] = ()
    chart: ChartData | None = None
    picture: bytes = b""
    small: str = ""
    notes: tuple[str, ...] = ()
    is_first: bool = False


def slides(given: ReportInput) -> bytes:
    """The .pptx file."""
    deck: Any = Presentation()
    _wide(deck)
    planned = plan(given)
    for number, slide in enumerate(planned, 1):
        _draw(deck, slide, f"{number} / {len(planned)}")
    deck.core_properties.title = _plain(clip_words(given.asked, 250))
    deck.core_properties.author = _plain(given.author or given.model)
    written = io.BytesIO()
    deck.save(written)
    return written.getvalue()


def plan(given: ReportInput) -> list[Slide]:
    """The slides in order, with all their words."""
    parts = parts_of(given.safe_report)
    opening = parts[0] if parts and not parts[0].title else Part("", ())
    charts = list(_charts(given))
    said = [slide for part in parts if part is not opening for slide in _part(part, given)]
    body = [*said, *charts] if given.sections else [*charts, *said]
    planned = [*_first(opening, given), *body, *_method(given)]
    if len(planned) <= _SLIDES:
        return planned
    kept = planned[: _SLIDES - 1]
    left = say("format_slides_cut", given.language, left=len(planned) - len(kept), page=PAGE)
    return [*kept, Slide("…", (Line((Run(left),)),))]


def _plain(text: str) -> str:
    """The text with a blank for each character that no XML file may hold."""
    return _NO_XML.sub(" ", text)


# --- what goes on which slide


def _first(opening: Part, given: ReportInput) -> Iterator[Slide]:
    """The answer: its first sentence is the message of the deck."""
    asked = given.asked
    lines = list(opening.lines)
    title = clip_words(asked, _TITLE)
    if lines and not lines[0].bullet:
        title, left = _headline(lines[0])
        lines[:1] = [left] if left else []
    second = second_line(given.second, given.language, given.model) if given.second is not None else ""
    about = [second, _checked(given.clean_room, given), compose.footer(given)]
    first, *more = _paged(title, lines, given) or [Slide(title)]
    yield replace(first, is_first=True, small=clip(asked, 300), notes=(*filter(None, about), *first.notes))
    yield from more
    yield from _tables(opening, title, given)


def _headline(line: Line) -> tuple[str, Line | None]:
    """The first sentence of a line, and what is left of it."""
    text = line.text
    lead = "".join(run.text for run in itertools.takewhile(lambda run: run.bold, line.runs))
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    is_sentence = lead.strip().endswith(tuple(".!?。！？")) or lead.strip() == text.strip()
    end = len(lead) if lead and is_sentence and len(lead) <= _TITLE else next((e for e in ends if e >= 15), len(text))
    if end > _TITLE:
        return clip_words(text, _TITLE), line
    left = _from(line, end)
    return text[:end].strip(), left if left.text.strip() else None


def _from(line: Line, start: int) -> Line:
    """The line from a character on."""
    runs: list[Run] = []
    for run in line.runs:
        if start < len(run.text):
            runs.append(run._replace(text=run.text[start:].lstrip() if not runs else run.text[start:]))
        start = max(start - len(run.text), 0)
    return Line(tuple(runs), line.bullet, line.level)


def _part(part: Part, given: ReportInput) -> Iterator[Slide]:
    yield from _paged(part.title, part.lines, given)
    yield from _tables(part, part.title, given)


def _tables(part: Part, title: str, given: ReportInput) -> Iterator[Slide]:
    for item in part.items:
        if not isinstance(item, Grid):
            continue
        shown = [tuple(clip(text, _CELL) for text in row[:_COLUMNS]) for row in item.rows[: _ROWS + 1]]
        rows, columns = len(item.rows) - 1, max(map(len, item.rows), default=0)
        cut = rows > _ROWS or columns > _COLUMNS
        small = ""
        if cut:
            counts = {"shown": min(rows, _ROWS), "rows": rows, "columns": min(columns, _COLUMNS), "of": columns}
            small = say("format_table_cut", given.language, **counts)
        text = " ".join(cell for row in item.rows for cell in row)
        yield Slide(title, grid=tuple(shown), small=small, notes=_notes(text, given))


def _charts(given: ReportInput) -> Iterator[Slide]:
    """The charts of the thread: drawn natively where all that they show is known, else as their picture."""
    for cell in given.drawn:
        for figure in cell.figures:
            charts = [chart for chart in cell.charts if chart.figure == figure.name]
            titles = [chart.title.strip() for chart in charts if chart.title.strip()]
            slide = Slide(" ".join((titles or [cell.title or figure.name])[0].split()), notes=_of_cell(cell, given))
            picture = given.pictures.get(figure.sha256, b"")
            if len(charts) == 1 and is_whole(charts[0]):
                yield replace(slide, chart=charts[0])
            elif size_of_png(picture):
                yield replace(slide, picture=picture)
            else:
                gone = Line((Run(say("page_chart_gone", given.language, name=figure.name), italic=True),))
                yield replace(slide, lines=(gone,))


def _of_cell(cell: CellRan, given: ReportInput) -> tuple[str, ...]:
    known = given.numbered.get(cell.cell_id)
    told = say("format_from_cell", given.language, number=known.number if known else "–", title=cell.title)
    return (told, *(f"• {name}" for name in cell.files_read or ()))


def _method(given: ReportInput) -> Iterator[Slide]:
    """How it was done, on which data, and what it could not do."""
    parts = parts_of(compose.sections(given, charts=False))
    heads = [(Line((Run(part.title, bold=True),)), *part.lines) for part in parts]
    if parts:
        lines = [*parts[0].lines, *(line for lines in heads[1:] for line in lines)]
        yield from _paged(parts[0].title, lines, given, sources=False)


def _paged(title: str, lines: Sequence[Line], given: ReportInput, *, sources: bool = True) -> list[Slide]:
    """The lines on as many slides as they need."""
    pages: list[list[Line]] = [[]]
    taken = 0
    for line in (piece for whole in lines for piece in _pieces(whole)):
        height = _height(line)
        if pages[-1] and taken + height > _LINES:
            pages.append([])
            taken = 0
        pages[-1].append(line)
        taken += height
    made = []
    for number, page in enumerate(pages, 1):
        if not page:
            continue
        text = "\n".join([title if number == 1 else "", *(line.text for line in page)])
        shown = title if number == 1 else f"{title} ({number})"
        made.append(Slide(shown, tuple(page), notes=_notes(text, given) if sources else ()))
    return made


def _height(line: Line) -> int:
    room = _CODE_CHARS if any(run.code for run in line.runs) else _CHARS - 4 * line.level
    return sum(max(1, -(-places(text) // room)) for text in line.text.splitlines() or [""])


def _pieces(line: Line) -> Iterator[Line]:
    """The line, or pieces of it that fit a slide each."""
    most = _CHARS * (_LINES - 1) // (2 if places(line.text) > len(line.text) * 1.5 else 1)
    if _height(line) <= _LINES:
        yield line
        return
    if "\n" in line.text:
        yield Line((Run("\n".join([*line.text.splitlines()[: _LINES - 1], "…"]), code=True),))
        return
    while len(line.text) > most:
        cut = line.text.rfind(" ", most // 2, most) + 1 or most
        rest = _from(line, cut)
        yield replace(line, runs=_upto(line, cut))
        line = replace(rest, bullet="")
    yield line


def _upto(line: Line, end: int) -> tuple[Run, ...]:
    runs: list[Run] = []
    for run in line.runs:
        if end > 0:
            runs.append(run._replace(text=run.text[:end]))
        end -= len(run.text)
    return tuple(runs)


# --- notes


def _notes(text: str, given: ReportInput) -> tuple[str, ...]:
    """The sources of the figures that a slide shows."""
    shown = [one for one in given.sources if one.figure and one.figure in text]
    return tuple(dict.fromkeys(_note(one, given) for one in shown))


def _note(one: FigureSource, given: ReportInput) -> str:
    return f"{one.figure} ← {source_line(one, given.numbered, given.language)}"


def _checked(outcome: CleanRoom | None, given: ReportInput) -> str:
    return badge(outcome, given.language, in_file=True) if outcome is not None else ""


# --- charts


def _chart(slide: Any, chart: ChartData) -> None:
    left, width = _EDGE, _WIDTH - 2 * _EDGE
    kind = chart.series[0].kind
    data: Any
    if is_xy(chart):
        data = _CHARTS.XyChartData()
        for one in chart.series:
            points = data.add_series(_plain(one.name or chart.y or " "))
            for x, y in one.points:
                if x is not None:
                    points.add_data_point(x, y)  # without a y it is a gap, as in the picture
        form = XL_CHART_TYPE.XY_SCATTER if kind == "scatter" else XL_CHART_TYPE.XY_SCATTER_LINES_NO_MARKERS
    else:
        data = _CHARTS.CategoryChartData()
        labels = [_plain(label) for label in labels_along([x for x, _ in chart.series[0].points])]
        lies = kind == "bar" and bars_lie(labels)
        order = slice(None, None, -1 if lies else 1)  # bars that lie are counted from below
        data.categories = labels[order]
        for one in chart.series:
            data.add_series(_plain(one.name or chart.y or " "), [y for _, y in one.points][order])
        bars = XL_CHART_TYPE.BAR_CLUSTERED if lies else XL_CHART_TYPE.COLUMN_CLUSTERED
        form = {"line": XL_CHART_TYPE.LINE, "bar": bars, "pie": XL_CHART_TYPE.PIE}[kind]
    drawn: Any = slide.shapes.add_chart(form, left, _TOP, width, _BODY, data).chart
    drawn.has_title = False
    drawn.font.size = Pt(13)
    drawn.font.color.rgb = _INK
    drawn.has_legend = kind == "pie" or len(chart.series) > 1
    if drawn.has_legend:
        drawn.legend.position = XL_LEGEND_POSITION.BOTTOM
        drawn.legend.include_in_layout = False
    if kind == "pie":
        _slices(drawn)
        return
    _axes(drawn, chart)
    _colours(drawn, kind)


def _slices(drawn: Any) -> None:
    plot = drawn.plots[0]
    plot.has_data_labels = True
    plot.data_labels.number_format, plot.data_labels.number_format_is_linked = "0%", False
    plot.data_labels.font.size = Pt(12)
    for place in range(len(plot.series[0].values)):
        _fill(plot.series[0].points[place].format, place)


def _axes(drawn: Any, chart: ChartData) -> None:
    along, up = drawn.category_axis, drawn.value_axis
    for axis, name in ((along, chart.x), (up, chart.y)):
        axis.tick_labels.font.size = Pt(12)
        axis.has_major_gridlines = axis is up
        if name.strip():
            axis.has_title = True
            axis.axis_title.text_frame.text = _plain(name)
            run = axis.axis_title.text_frame.paragraphs[0].runs[0]
            run.font.size, run.font.bold = Pt(12), False
    if is_xy(chart) and along_keys(chart):
        _whole_steps(along, [float(x) for one in chart.series for x, _ in one.points if isinstance(x, int | float)])
    up.major_gridlines.format.line.color.rgb = _RGB(0xDD, 0xE2, 0xE8)
    up.format.line.fill.background()
    amounts = [float(y) for one in chart.series for _, y in one.points if isinstance(y, int | float)]
    if chart.series[0].kind == "bar":
        amounts.append(0.0)
        # A program may let an axis begin elsewhere: nearly equal bars would look far apart.
        up.minimum_scale = 0 if min(amounts) >= 0 else None
        up.maximum_scale = 0 if max(amounts) <= 0 < -min(amounts) else None
    if min(amounts, default=0.0) < 0:
        along.tick_label_position = XL_TICK_LABEL_POSITION.LOW  # at the axis they would stand on what is below zero
    up.tick_labels.number_format = _axis_format(amounts)
    up.tick_labels.number_format_is_linked = False


def _whole_steps(along: Any, keys: Sequence[float]) -> None:
    """Makes an axis of years or keys go from one whole number to another: nobody knows the year 2018.5."""
    low, high = min(keys), max(keys)
    step = max(1, math.ceil((high - low) / _STEPS))
    along.minimum_scale, along.maximum_scale = low, low + step * max(1, math.ceil((high - low) / step))
    along.major_unit = step
    along.tick_labels.number_format, along.tick_labels.number_format_is_linked = "0", False


def _axis_format(amounts: Sequence[float]) -> str:
    """The format of an axis: so many decimals that the steps of a scale over these values differ."""
    span = max(amounts, default=0.0) - min(amounts, default=0.0)
    decimals = max(0, -math.floor(math.log10(span / _STEPS))) if span > 0 else 2
    if decimals > _DECIMALS:
        return "0.0E+00"
    return "#,##0" + (f".{'0' * decimals}" if decimals else "")


def _colours(drawn: Any, kind: str) -> None:
    for number, series in enumerate(drawn.plots[0].series):
        if kind == "bar":
            _fill(series.format, number)
        elif kind == "line":
            series.smooth = False
            series.format.line.width = Pt(2.25)
            series.format.line.color.rgb = _RGB.from_string(_SERIES[number % len(_SERIES)])
        else:
            _fill(series.marker.format, number)
            series.format.line.fill.background()
    if kind == "bar":
        drawn.plots[0].gap_width = 60


def _fill(form: Any, number: int) -> None:
    form.fill.solid()
    form.fill.fore_color.rgb = _RGB.from_string(_SERIES[number % len(_SERIES)])


# --- drawing


def _wide(deck: Any) -> None:
    """Makes the library's own template 16:9."""
    factor = _WIDTH / deck.slide_width
    deck.slide_width, deck.slide_height = _WIDTH, _HEIGHT
    for layout in (deck.slide_master, *deck.slide_layouts):
        for shape in layout.shapes:
            if shape.is_placeholder and shape.element.spPr.find(qn("a:xfrm")) is not None:
                shape.left, shape.width = Emu(int(shape.left * factor)), Emu(int(shape.width * factor))


def _draw(deck: Any, planned: Slide, place: str) -> None:
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    title = slide.shapes.title
    title.left, title.top, title.width, title.height = _EDGE, Inches(0.45), _WIDTH - 2 * _EDGE, Inches(1.0)
    frame = title.text_frame
    frame.word_wrap, frame.vertical_anchor = True, MSO_ANCHOR.MIDDLE
    size = next((size for most, size in _TITLE_SIZES if places(planned.title) <= most), _SMALLEST_TITLE)
    _write(frame.paragraphs[0], (Run(planned.title, bold=True),), size)
    bar = slide.shapes.add_shape(1, _EDGE, Inches(1.45), Inches(0.9), Inches(0.05))
    bar.fill.solid()
    bar.fill.fore_color.rgb = _RGB.from_string(_ACCENT)
    bar.line.fill.background()
    if planned.chart is not None:
        _chart(slide, planned.chart)
    elif planned.picture:
        _picture(slide, planned.picture)
    elif planned.grid:
        _grid(slide, planned.grid)
    else:
        _text(slide, planned.lines)
    _foot(slide, planned.small, place)
    if planned.notes:
        slide.notes_slide.notes_text_frame.text = _plain("\n".join(planned.notes))


def _text(slide: Any, lines: Iterable[Line]) -> None:
    frame = slide.shapes.add_textbox(_EDGE, _TOP + Inches(0.1), _WIDTH - 2 * _EDGE, _BODY).text_frame
    frame.word_wrap = True
    for number, line in enumerate(lines):
        paragraph = frame.paragraphs[0] if number == 0 else frame.add_paragraph()
        paragraph.space_after = Pt(8)
        lead = f"{line.bullet} " if line.bullet else ""
        is_code = all(run.code for run in line.runs)
        _write(paragraph, (Run(lead), *line.runs) if lead else line.runs, 12 if is_code else 18)
        if line.bullet or line.level:
            indent = 0.28 * (line.level + 1)
            properties = paragraph._p.get_or_add_pPr()
            properties.set("marL", str(Inches(indent)))
            properties.set("indent", str(-Inches(0.28) if line.bullet else 0))


def _write(paragraph: Any, runs: Iterable[Run], size: int, colour: Any = _INK) -> None:
    paragraph.alignment = PP_ALIGN.LEFT
    for run in runs:
        made = paragraph.add_run()
        made.text = _plain(run.text)
        made.font.size, made.font.bold, made.font.italic = Pt(size), run.bold or None, run.italic or None
        made.font.color.rgb = colour
        if run.code:
            made.font.name = "Consolas"


def _grid(slide: Any, rows: Sequence[Sequence[str]]) -> None:
    columns = max(map(len, rows))
    letters = [max(4, *(places(row[place]) if place < len(row) else 0 for row in rows)) for place in range(columns)]
    wide = widths([Inches(0.13) * each + Inches(0.35) for each in letters], _WIDTH - 2 * _EDGE)
    height = Inches(0.36)
    shape = slide.shapes.add_table(
        len(rows), columns, _EDGE, _TOP + Inches(0.15), Emu(int(sum(wide))), height * len(rows)
    )
    table = shape.table
    aligns = alignments(rows, ())
    for place, width in enumerate(wide):
        table.columns[place].width = Emu(int(width))
    for number, row in enumerate(rows):
        table.rows[number].height = height
        for place in range(columns):
            cell = table.cell(number, place)
            cell.margin_top = cell.margin_bottom = Inches(0.03)
            cell.vertical_anchor = MSO_ANCHOR.MIDDLE
            cell.fill.solid()
            cell.fill.fore_color.rgb = _RGB.from_string(_HEAD if number == 0 else "FFFFFF")
            paragraph = cell.text_frame.paragraphs[0]
            _write(paragraph, (Run(row[place] if place < len(row) else "", bold=number == 0),), 13)
            paragraph.alignment = PP_ALIGN.RIGHT if aligns[place] == "right" else PP_ALIGN.LEFT


def _picture(slide: Any, picture: bytes) -> None:
    """The picture as large as it fits, in the middle."""
    wide, high = size_of_png(picture) or (1, 1)
    room = _WIDTH - 2 * _EDGE
    scale = min(room / wide, _BODY / high)
    width, height = int(wide * scale), int(high * scale)
    slide.shapes.add_picture(io.BytesIO(picture), int((_WIDTH - width) / 2), _TOP, width, height)


def size_of_png(picture: bytes) -> tuple[int, int] | None:
    """Width and height of a picture in pixels; None when these bytes are no PNG, or one without a size."""
    if not picture.startswith(b"\x89PNG\r\n\x1a\n") or len(picture) < 24:
        return None
    wide, high = struct.unpack(">II", picture[16:24])
    return (wide, high) if wide and high else None


def _foot(slide: Any, small: str, place: str) -> None:
    for text, left, width, align in (
        (small, _EDGE, Inches(10.6), PP_ALIGN.LEFT),
        (place, _WIDTH - _EDGE - Inches(1.2), Inches(1.2), PP_ALIGN.RIGHT),
    ):
        if text:
            frame = slide.shapes.add_textbox(left, Inches(6.95), width, Inches(0.35)).text_frame
            frame.word_wrap = True
            _write(frame.paragraphs[0], (Run(text),), 10, _QUIET)
            frame.paragraphs[0].alignment = align
