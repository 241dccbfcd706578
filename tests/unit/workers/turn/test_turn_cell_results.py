"""A cell's result becomes a step: nothing of it is lost, and its data stays bounded."""

from __future__ import annotations

import hashlib

import pytest

from core.steps import ChartData, FileProblem, SeriesData, TableData, dump_step, load_step
from core.values import StoredFile
from executor.notices import notice
from executor.values import (
    Artifact,
    CellError,
    CellResult,
    CellStatus,
    Chart,
    Display,
    Notice,
    Rejected,
    Series,
    Table,
)
from workers.agent.actions import RunCell
from workers.turn.cell_results import CHART_CHARS, OUTPUT_CHARS, TABLE_CHARS, cell_ran, charts_of, tables_of

ACTION = RunCell("call", "T1/c1", "Sum it up", "df", "python")
TABLE = Table(("region", "net"), ("object", "float64"), (("North", 1.5), ("South", None)), 2, 2)
LINE = Series("line", "net", (("2024-01", 1.5), ("2024-02", 2)), 2)


def keep(made: Artifact) -> StoredFile:
    return StoredFile(name=made.name, mimetype=made.mimetype, size=made.size, sha256=made.sha256)


def keep_text(name: str, text: str) -> StoredFile:
    size = len(text.encode())
    return StoredFile(name=name, mimetype="text/plain", size=size, sha256=hashlib.sha256(text.encode()).hexdigest())


def figure(*series: Series, name: str = "sales.png") -> Artifact:
    return Artifact(name, "image/png", 10, "ab" * 32, "/x", "figure", (Chart("Sales", "Month", "EUR", series),))


def table_of(rows: int, text: str) -> CellResult:
    return CellResult("c", "ok", result=Display("", Table(("a",), ("object",), ((text,),) * rows, rows, 1)))


@pytest.mark.parametrize(
    ("status", "notices", "ended_by"),
    [
        ("killed", (notice("on_request", what="cell"), notice("all_kept")), "person"),
        ("killed", (notice("on_request_in_line", what="cell", line=12, source="x = 1"),), "person"),
        ("killed", (notice("over_limit", what="cell", why=notice("used_processes", limit=64)),), ""),
        ("timeout", (notice("after_time", what="cell", seconds=60.0),), ""),
        ("died", (notice("ended", process="Python", what="cell", why=notice("shutting_down")),), "machine"),
        ("died", (notice("not_started", process="Python", why=notice("moved_away")),), "machine"),
        ("died", (notice("ended", process="Python", what="cell", why=notice("closed")),), ""),
        ("died", (Notice("text", {"text": "the host is shutting down"}),), ""),
        ("ok", (notice("as_before"), notice("was_reset")), ""),
    ],
)
def test_who_ended_a_cell_follows_from_the_codes_of_its_notices(
    status: CellStatus, notices: tuple[Notice, ...], ended_by: str
) -> None:
    step = cell_ran(ACTION, CellResult("T1/c1", status, notices=notices), keep, keep_text, "en")
    assert step.ended_by == ended_by


def test_a_result_becomes_a_step_with_all_that_it_says() -> None:
    result = CellResult(
        id="T1/c1",
        status="error",
        stdout="out",
        stderr="err",
        result=Display("the table", TABLE),
        error=CellError("KeyError", "'b'", "Traceback", 3),
        artifacts=(figure(LINE), Artifact("made.csv", "text/csv", 3, "cd" * 32, "/y")),
        rejected=(Rejected("link", notice("file_link")),),
        files_read=("sales.csv",),
        duration_s=0.5,
        notices=(notice("all_kept"),),
    )
    step = cell_ran(ACTION, result, keep, keep_text, "zh")
    assert (step.call_id, step.cell_id, step.title, step.code) == ("call", "T1/c1", "Sum it up", "df")
    assert (step.status, step.stdout, step.stderr, step.result) == ("error", "out", "err", "the table")
    assert (step.error_name, step.error, step.error_line) == ("KeyError", "Traceback", 3)
    assert ([one.name for one in step.figures], [one.name for one in step.files]) == (["sales.png"], ["made.csv"])
    assert step.rejected == (FileProblem(name="link", why="it is a symbolic link", why_text="它是符号链接"),)
    assert (step.files_read, step.duration_s) == (("sales.csv",), 0.5)
    assert (step.notice, step.notice_text) == ("All variables are kept.", "所有变量都已保留。")
    assert load_step(dump_step(step)) == step


def test_a_long_output_keeps_its_head_and_tail_and_is_whole_in_the_file_store() -> None:
    text = "first\n" + "x\n" * 500_000 + "last"
    error = CellError("ValueError", "long", text, 3)
    step = cell_ran(ACTION, CellResult("c", "error", stdout=text, stderr="short", error=error), keep, keep_text, "en")
    for kept in (step.stdout, step.error):
        assert kept.startswith("first\n")
        assert kept.endswith("\nlast")
        assert len(kept) <= OUTPUT_CHARS + 120
    assert step.stderr == "short"
    assert step.whole_outputs == (keep_text("stdout", text), keep_text("error", text))


def test_the_table_of_the_last_value_is_carried() -> None:
    (table,) = tables_of(CellResult("c", "ok", result=Display("the table", TABLE)))
    rows = (("North", 1.5), ("South", None))
    assert table == TableData(
        columns=("region", "net"), dtypes=("object", "float64"), rows=rows, total_rows=2, total_columns=2
    )


def test_the_points_of_charts_are_carried_with_their_figure() -> None:
    (chart,) = charts_of(CellResult("c", "ok", artifacts=(figure(LINE),)))
    series = SeriesData(kind="line", name="net", points=(("2024-01", 1.5), ("2024-02", 2)), total_points=2)
    assert chart == ChartData(figure="sales.png", title="Sales", x="Month", y="EUR", series=(series,))


@pytest.mark.parametrize("value", [True, 7, 1.5, "7", None])
def test_items_keep_their_type_in_the_store(value: object) -> None:
    result = CellResult("c", "ok", result=Display("", Table(("a",), ("x",), ((value,),), 1, 1)))
    step = load_step(dump_step(cell_ran(ACTION, result, keep, keep_text, "en")))
    assert [type(item) for item in step.tables[0].rows[0]] == [type(value)]


def test_rows_beyond_the_bound_are_left_out_and_counted() -> None:
    (table,) = tables_of(table_of(100, "x" * 1_000))
    assert 0 < len(table.rows) < 100
    assert table.total_rows == 100
    assert len(table.model_dump_json()) <= TABLE_CHARS


def test_points_beyond_the_bound_are_left_out_and_counted() -> None:
    many = Series("scatter", "", (("x" * 200, 1.5),) * 200, 200)
    charts = charts_of(CellResult("c", "ok", artifacts=tuple(figure(*[many] * 10, name=f"{n}.png") for n in range(9))))
    assert len(charts) == 9
    assert {series.total_points for chart in charts for series in chart.series} == {200}
    assert len(charts[0].series[0].points) == 200
    assert charts[-1].series[-1].points == ()
    assert sum(len(repr(series.points)) for chart in charts for series in chart.series) <= CHART_CHARS


def test_a_cell_without_a_table_or_a_figure_carries_none() -> None:
    step = cell_ran(ACTION, CellResult("c", "ok", result=Display("7")), keep, keep_text, "en")
    assert (step.tables, step.charts) == ((), ())
