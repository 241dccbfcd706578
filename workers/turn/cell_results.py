"""A cell's result, as the executor gives it, becomes a step.

Everything is bounded once more here, because all steps of a thread are read again in each of its turns: at most
`OUTPUT_CHARS` characters of each text, `TABLE_CHARS` characters of table rows and `CHART_CHARS` characters of chart
points per cell. Totals say how much there was. A text that was cut is kept whole in the file store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from core.steps import CellRan, ChartData, DataCheck, EndedBy, FileProblem, Scalar, SeriesData, TableData
from core.values import Language, StoredFile
from executor.values import Artifact, CellResult, Notice, Rejected, Series
from workers.agent.actions import RunCell
from workers.agent.text import clip
from workers.delivery.notices import in_words, worded

OUTPUT_CHARS = 50_000
"""Characters of stdout, of stderr, of the shown result and of an error: head and tail. The model sees less, the
notebook no more."""
TABLE_CHARS = 64_000
"""Characters of a cell's tables with their headings: the same as for the text of its result (`executor/wire.py`)."""
CHART_CHARS = 64_000
"""Characters of the points of all charts of a cell."""
VARIABLES_CHARS = 4_000
_ITEM_CHARS = 4  # quotes, comma and space of an item in JSON, or the brackets of a row

Item = TypeVar("Item")


def cell_ran(
    action: RunCell,
    result: CellResult,
    keep: Callable[[Artifact], StoredFile],
    keep_text: Callable[[str, str], StoredFile],
    language: Language,
) -> CellRan:
    """The step of a cell that ended. `language` is that of the thread.

    `keep` puts an artifact into the file store, `keep_text` a text: (the name of its field, the text).
    """
    error = result.error
    texts = {
        "stdout": result.stdout,
        "stderr": result.stderr,
        "result": result.result.text if result.result else "",
        "error": (error.traceback or error.message) if error else "",
    }
    kept = {name: clip(text, OUTPUT_CHARS) for name, text in texts.items()}
    whole = tuple(keep_text(name, text) for name, text in texts.items() if len(text) > OUTPUT_CHARS)
    return CellRan(
        call_id=action.call_id,
        cell_id=action.cell_id,
        title=action.title,
        code=action.code,
        language=action.language,
        status=result.status,
        stdout=kept["stdout"],
        stderr=kept["stderr"],
        result=kept["result"],
        whole_outputs=whole,
        tables=tables_of(result),
        charts=charts_of(result),
        error_name=error.name if error else "",
        error=kept["error"],
        error_line=error.line if error else None,
        ended_by=_ended_by(result),
        variables=clip(error.variables, VARIABLES_CHARS) if error else "",
        checks=tuple(DataCheck(code=one.code, names=one.names, numbers=one.numbers) for one in result.checks),
        figures=tuple(keep(made) for made in result.artifacts if made.kind == "figure"),
        files=tuple(keep(made) for made in result.artifacts if made.kind == "file"),
        rejected=tuple(_rejected(refused, language) for refused in result.rejected),
        files_read=result.files_read,
        duration_s=result.duration_s,
        user=action.user,
        author=action.author,
        plan_step=action.plan_step,
        notice=worded(result, "en"),
        notice_text=worded(result, language),
    )


_BY_PERSON = frozenset({"on_request", "on_request_in_line"})
_BY_MACHINE = frozenset({"shutting_down", "moved_away", "was_reset", "zygote_ended"})


def _ended_by(result: CellResult) -> EndedBy:
    """Who ended a cell, as the notices of the session host say: a person, or the machine that ended its process."""
    codes = set(_codes(result.notices))
    if result.status == "killed":
        return "person" if codes & _BY_PERSON else ""
    return "machine" if result.status == "died" and codes & _BY_MACHINE else ""


def _codes(notices: Iterable[Notice]) -> Iterator[str]:
    """The codes of notices, and of the clauses in them that say why."""
    for notice in notices:
        yield notice.code
        yield from _codes(value for value in notice.values.values() if isinstance(value, Notice))


def _rejected(refused: Rejected, language: Language) -> FileProblem:
    why, text = in_words((refused.why,), "en"), in_words((refused.why,), language)
    return FileProblem(name=refused.name, why=why, why_text=text if text != why else "")


def tables_of(result: CellResult) -> tuple[TableData, ...]:
    """The table that a cell's last value is, with as many of its first rows as have room; none for other values."""
    table = result.result.table if result.result else None
    if table is None:
        return ()
    room = TABLE_CHARS - _size(table.columns) - _size(table.dtypes)
    rows = _while_there_is_room([tuple(map(_scalar, row)) for row in table.rows], room, _size)
    return (
        TableData(
            columns=table.columns,
            dtypes=table.dtypes,
            rows=tuple(rows),
            total_rows=table.total_rows,
            total_columns=table.total_columns,
        ),
    )


def charts_of(result: CellResult) -> tuple[ChartData, ...]:
    """What the figures of a cell show, one entry per pair of axes. Points that have no room are left out."""
    room = CHART_CHARS
    found = []
    for figure in (made for made in result.artifacts if made.kind == "figure"):
        for chart in figure.chart:
            series = []
            for one in chart.series:
                series.append(_series(one, room))
                room -= sum(map(_size, series[-1].points))
            made = ChartData(figure=figure.name, title=chart.title, x=chart.x, y=chart.y, series=tuple(series))
            found.append(made.model_copy(update={"more": chart.more}))
    return tuple(found)


def _series(series: Series, room: int) -> SeriesData:
    points = [(_scalar(x), _scalar(y)) for x, y in series.points]
    return SeriesData(
        kind=series.kind,
        name=series.name,
        points=tuple(_while_there_is_room(points, room, _size)),
        total_points=series.total_points,
    )


def _while_there_is_room(items: Iterable[Item], room: int, size: Callable[[Item], int]) -> Iterator[Item]:
    """The first items whose sizes together are at most `room`."""
    for item in items:
        room -= size(item)
        if room < 0:
            return
        yield item


def _size(items: Sequence[object]) -> int:
    """About the characters that the items take as JSON."""
    return _ITEM_CHARS + sum(len(str(item)) + _ITEM_CHARS for item in items)


def _scalar(item: object) -> Scalar:
    """The item itself: the executor has checked that it is a scalar."""
    return item if item is None or isinstance(item, (bool, int, float, str)) else str(item)
