"""The report as one HTML page that stands on its own: it loads nothing, and its policy lets it load nothing.

Everything from data or a model is escaped: by Jinja in the template, by `page_markdown.py` where it is Markdown. The
policy allows the page's own style and script, by their hashes, and pictures that are inside the page.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from importlib import resources
from typing import Any

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from core.figure_sources import counts_line, shown_there, source_line, text_with
from core.phrases import number as number_in
from core.phrases import say, written
from core.slack.sanitize import addresses
from core.slack.text import clip_words
from core.slack.views.report_badge import badge
from core.steps import CellRan, ChartData, FigureSource, Scalar, TableData
from core.thread_cells import NumberedCell
from core.values import Language
from core.weighed_cache import WeighedCache
from workers.delivery.reports import compose
from workers.delivery.reports.anchors import replaced, with_marks
from workers.delivery.reports.page_chart import NARROW, WIDE, svg
from workers.delivery.reports.page_markdown import to_html
from workers.delivery.reports.second import second_line
from workers.delivery.reports.tables import are_keys, is_number
from workers.delivery.reports.values import ReportInput

_TITLE = 140
_ROWS = 200
_LINES = 400
_LINE = 2_000
_CENTS, _HUGE = 1e4, 1e18
"""From here six digits have less than two decimals; up to there a number is written out."""

MOST_KEPT = 8_000_000
"""Characters of all kept answers together: a thread of 300 turns has about 1.5 million."""
_KEPT = WeighedCache[str](MOST_KEPT, len)
"""Each report of a thread shows all earlier answers again. They do not change, except when words are deleted."""


def page(given: ReportInput) -> str:
    """The whole page. Its head says whether the answer was reproduced, if its code is run again at all."""
    language, known = given.language, addresses(given.question)
    lines = given.question.strip().splitlines() or ["…"]
    by = say("report_asked_by", language, author=given.asker) if given.asker else ""
    style, script = _asset("page.css"), _asset("page.js")
    marked = to_html(with_marks(given.report.strip(), given.sources), known)
    return _template().render(
        language=language,
        title=clip_words(lines[0].strip(), _TITLE),
        question=given.question.strip(),
        about=" · ".join(part for part in (by, compose.footer(given)) if part),
        badge=given.clean_room
        and {"state": given.clean_room.state, "text": badge(given.clean_room, language, in_file=True)},
        second=given.second and {"state": given.second.state, "text": second_line(given.second, language, given.model)},
        second_code=given.second.code.strip() if given.second is not None else "",
        answer=Markup(replaced(marked, lambda number, shown: _figure(number, shown, given))),  # noqa: S704 - escaped
        charts=list(_charts(given)),
        sources=[_source(one, given) for one in given.sources],
        counts=counts_line(given.sources, language),
        method=Markup(to_html(compose.sections(given, charts=False))),  # noqa: S704 - escaped
        inputs=[
            {"path": file.path, "size": number_in(file.size, language), "sha256": file.sha256} for file in given.files
        ],
        cells=[_cell(one, given) for one in given.numbered.values()],
        past=[
            {"question": clip_words(" ".join(one.question.split()), _TITLE), "answer": Markup(_past(one.report))}  # noqa: S704
            for one in given.past
            if one.report
        ],
        foot=say("page_foot", language),
        words={name: say(f"page_{name}", language) for name in _WORDS}
        | {"figures": say("report_figures", language), "second": say("second_heading", language)},
        style=Markup(style),  # noqa: S704 - our own file
        script=Markup(script),  # noqa: S704 - our own file
        style_hash=_hash(style),
        script_hash=_hash(script),
    )


_WORDS = ("charts", "picture", "data", "file", "bytes", "code", "earlier")


@cache
def _template() -> Template:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True)
    return environment.from_string(_asset("page.html"))


@cache
def _asset(name: str) -> str:
    return resources.files("workers.delivery.reports").joinpath(name).read_text(encoding="utf-8").strip()


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _past(report: str) -> str:
    """An earlier answer as HTML, kept by what it says: with a word deleted it is another one."""
    return _KEPT.of(hashlib.sha256(report.encode("utf-8", "surrogatepass")).digest(), lambda: to_html(report, top=3))


# --- figures


def _figure(number: int, shown: str, given: ReportInput) -> str:
    """A figure of the answer, with what there is to know of it on hover, focus and tap. `shown` is HTML already."""
    if number >= len(given.sources):
        return shown
    one = given.sources[number]
    line = escape(source_line(one, given.numbered, given.language))
    code = "".join(f"<br><code>{escape(text)}</code>" for text in _shown(one, given))
    href = _href(one, given)
    link = f' <a href="#{href}">{escape(say("page_show", given.language))}</a>' if href else ""
    tip = f'<span class="tip" role="note"><b>{escape(one.figure)}</b> ← {line}{link}{code}</span>'
    return f'<span class="fig {one.state}" tabindex="0">{shown}{tip}</span>'


def _source(one: FigureSource, given: ReportInput) -> dict[str, Any]:
    return {
        "figure": one.figure,
        "state": one.state,
        "line": source_line(one, given.numbered, given.language),
        "shown": _shown(one, given),
        "href": _href(one, given),
    }


def _shown(one: FigureSource, given: ReportInput) -> list[str]:
    """What the cells show there."""
    shown = (shown_there(place, given.numbered) for place in one.places)
    return list(dict.fromkeys(text for text in shown if text))


def _href(one: FigureSource, given: ReportInput) -> str:
    """The id of the line that the figure comes from, else of its cell; "" when no cell shows it."""
    for place in one.places:
        if (known := given.numbered.get(place.cell_id)) is None:
            continue
        if place.what == "output" and 0 < place.line <= _LINES and (name := text_with(place, known.cell)):
            return _line_id(known.number, name, place.line)
        if place.what == "table" and known.cell.tables and 0 < place.line <= min(_ROWS, len(known.cell.tables[0].rows)):
            return _row_id(known.number, place.line)
        return _cell_id(known.number)
    return ""


def _cell_id(number: int) -> str:
    return f"cell-{number}"


def _line_id(number: int, text: str, line: int) -> str:
    return f"cell-{number}-{text}-{line}"


def _row_id(number: int, row: int) -> str:
    return f"cell-{number}-row-{row}"


# --- charts, cells and tables


def _charts(given: ReportInput) -> Iterator[dict[str, Any]]:
    for cell in given.drawn:
        number = given.numbered[cell.cell_id].number if cell.cell_id in given.numbered else 0
        for figure in cell.figures:
            data = [chart for chart in cell.charts if chart.figure == figure.name]
            titles = [chart.title for chart in data if chart.title.strip()]
            picture = given.pictures.get(figure.sha256)
            alt = say("page_chart_alt", given.language, title=titles[0] if titles else cell.title)
            drawn = (
                [svg(data[0], given.language, width, alt) for width in (WIDE, NARROW)] if len(data) == 1 else ["", ""]
            )
            yield {
                "title": titles[0] if titles else cell.title,
                "alt": alt,
                "wide": Markup(drawn[0]),  # noqa: S704 - escaped
                "narrow": Markup(drawn[1]),  # noqa: S704 - escaped
                "picture": base64.b64encode(picture).decode() if picture else "",
                "gone": say("page_chart_gone", given.language, name=figure.name),
                "cell": _cell_id(number) if number else "",
                "from": say("page_cell", given.language, number=number),
                "tables": [_chart_table(chart, given) for chart in data],
            }


def _chart_table(chart: ChartData, given: ReportInput) -> dict[str, Any]:
    """The data of a chart: a column for each series where all have the same points, else one row for each point."""
    language = given.language
    along = chart.x or say("page_x", language)
    xs = [tuple(x for x, _ in series.points) for series in chart.series]
    is_shared = bool(chart.series) and all(each == xs[0] for each in xs)
    if is_shared:
        names = [series.name or chart.y or say("page_y", language) for series in chart.series]
        columns = [along, *names]
        rows: list[tuple[Scalar, ...]] = [
            (x, *(series.points[place][1] for series in chart.series)) for place, x in enumerate(xs[0])
        ]
    else:
        columns = [say("page_series", language), along, chart.y or say("page_y", language)]
        rows = [(series.name or chart.y, x, y) for series in chart.series for x, y in series.points]
    totals = [series.total_points for series in chart.series]
    total = max(totals, default=0) if is_shared else sum(totals)
    cut = len(rows) > _ROWS or any(series.total_points > len(series.points) for series in chart.series)
    caption = say("page_chart_data", language)
    return {
        "caption": f"{caption}: {chart.title}" if chart.title.strip() and len(chart.series) else caption,
        "columns": _heads(columns, rows),
        "rows": _items(columns, rows, language),
        "more": say("page_rows", language, shown=min(len(rows), _ROWS), rows=total) if cut else "",
    }


def _cell(one: NumberedCell, given: ReportInput) -> dict[str, Any]:
    cell, language = one.cell, given.language
    return {
        "id": _cell_id(one.number),
        "number": one.number,
        "title": " ".join(cell.title.split()) or say("progress_cell", language),
        "ended": "" if cell.status == "ok" else say(f"code_ended_{cell.status}", language),
        "open": False,
        "code": cell.code.strip("\n"),
        "outputs": [
            {"lines": _lines(text, one.number, name)}
            for name, text in (("stdout", cell.stdout), ("result", "" if cell.tables else cell.result), *_error(cell))
            if text.strip()
        ],
        "tables": [_table(table, one.number if place == 0 else 0, given) for place, table in enumerate(cell.tables)],
    }


def _error(cell: CellRan) -> Iterator[tuple[str, str]]:
    if cell.status != "ok" and cell.error:
        yield "error", cell.error


def _lines(text: str, number: int, name: str) -> list[dict[str, str]]:
    lines = text.splitlines()
    shown = [
        {"id": _line_id(number, name, place) if name != "error" else "", "text": line[:_LINE]}
        for place, line in enumerate(lines[:_LINES], 1)
    ]
    return [*shown, {"id": "", "text": "…"}] if len(lines) > _LINES else shown


def _table(table: TableData, number: int, given: ReportInput) -> dict[str, Any]:
    rows = [
        {"id": _row_id(number, place) if number else "", "items": items}
        for place, items in enumerate(_items(table.columns, table.rows, given.language), 1)
    ]
    shown = len(rows)
    more = say("page_rows", given.language, shown=shown, rows=table.total_rows) if table.total_rows > shown else ""
    if table.total_columns > len(table.columns):
        counts = {"rows": table.total_rows, "columns": len(table.columns), "of": table.total_columns}
        more = say("format_table_cut", given.language, shown=shown, **counts)
    return {"columns": _heads(table.columns, table.rows), "rows": rows, "more": more}


def _heads(names: Sequence[str], rows: Sequence[Sequence[Scalar]]) -> list[dict[str, Any]]:
    """The heads of a table; that of a column of numbers stands on the right, as they do."""
    columns = [[row[place] for row in rows if place < len(row)] for place in range(len(names))]
    return [
        {
            "text": name,
            "number": bool(column) and all(_item(item, "en")["number"] for item in column if item is not None),
        }
        for name, column in zip(names, columns, strict=True)
    ]


def _items(names: Sequence[str], rows: Sequence[Sequence[Scalar]], language: Language) -> list[list[dict[str, Any]]]:
    """The first rows of a table, as they are shown."""
    keys = [are_keys(name, (row[place] for row in rows if place < len(row))) for place, name in enumerate(names)]
    return [[_item(item, language, is_key=key) for item, key in zip(row, keys, strict=False)] for row in rows[:_ROWS]]


def _item(item: Scalar, language: Language, *, is_key: bool = False) -> dict[str, Any]:
    if is_key and isinstance(item, int | float) and not isinstance(item, bool):
        return {"text": f"{item:.0f}", "number": True}
    if item is None or isinstance(item, bool):
        return {"text": "" if item is None else str(item), "number": False}
    if isinstance(item, float):
        form = ",.2f" if _CENTS <= abs(item) < _HUGE else ",.6g"
        return {"text": written(format(item, form), language), "number": True}
    if isinstance(item, int):
        return {"text": number_in(item, language), "number": True}
    text = item.removesuffix("T00:00:00")
    return {"text": text, "number": is_number(text)}
