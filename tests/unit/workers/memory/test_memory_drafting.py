"""A draft names the columns that its statements need of each table, and what its stages have to show."""

from __future__ import annotations

import pytest

from core.steps import CellRan, ChartData, SourcePlace, StatementRan
from workers.memory.playbooks.drafting import tables_asked
from workers.memory.playbooks.showing import given, of_then, shows


def named(*statements: str) -> dict[str, tuple[str, ...]]:
    ran = tuple(StatementRan(source="erp", sql=sql, rows=1) for sql in statements)
    cell = CellRan(call_id="c", cell_id="c", title="", code="", status="ok", statements=ran)
    return {each.table: each.columns for each in tables_asked([cell])}


def test_a_column_belongs_to_the_table_that_its_alias_names() -> None:
    sql = (
        'SELECT a.day, COUNT(r.id) AS n FROM "erp"."orders" AS a JOIN "erp"."lines" AS p ON p.no = a.no AND p.gone = 0 '
        'LEFT JOIN "erp"."returns" AS r ON r.no = p.no WHERE a.state = 40 GROUP BY 1'
    )
    assert named(sql) == {
        "erp.orders": ("day", "no", "state"),
        "erp.lines": ("gone", "no"),
        "erp.returns": ("id", "no"),
    }


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT orders.day FROM orders JOIN lines ON lines.no = orders.no",
        "SELECT o.day, o.no FROM orders AS o JOIN lines AS l ON l.no = o.no",
        "WITH l AS (SELECT no FROM lines) SELECT o.day FROM orders AS o JOIN l ON l.no = o.no",
    ],
)
def test_a_table_is_named_by_itself_an_alias_or_beside_a_part_of_the_statement(sql: str) -> None:
    assert named(sql) == {"orders": ("day", "no"), "lines": ("no",)}


def test_a_column_that_may_be_of_two_tables_is_of_neither() -> None:
    assert named("SELECT day FROM orders JOIN lines USING (no)") == {"orders": (), "lines": ()}
    twice = "SELECT (SELECT MAX(t.day) FROM orders AS t), (SELECT MAX(t.no) FROM lines AS t)"
    assert named(twice) == {"orders": ("day",), "lines": ("no",)}


def test_the_columns_of_all_statements_count_together() -> None:
    assert named(
        "SELECT day FROM orders", "SELECT o.no FROM orders AS o JOIN lines AS l ON TRUE", "SELECT * FROM x"
    ) == {
        "orders": ("day", "no"),
        "lines": (),
        "x": (),
    }


PRINTED = """KPI by month 2026 (EUR)
  month  net_revenue  orders
2026-01    355641.59     475
2026-02    330907.30     428
Further figures 2026
           mean  best
country
AT        36.10  40.7
wrong item 60.10  61.2
→ January 2026: net revenue 3939986.17 EUR, orders 5211, AOV 756.09 EUR
best month: 2026-01
"""


def ran(stdout: str = "", code: str = "", title: str = "") -> CellRan:
    charts = (ChartData(figure="f.png", title=title, x="", y="", series=()),) if title else ()
    return CellRan(call_id="c", cell_id="c", title="", code=code, status="ok", stdout=stdout, charts=charts)


def nothing(_text: str) -> str:
    return ""


def test_a_stage_shows_columns_rows_and_labels_without_their_values() -> None:
    assert shows(ran(PRINTED, title="Net revenue by month, 2026")) == (
        "a chart: Net revenue by month · KPI by month · a table with month, net_revenue, orders · Further figures"
        " · a table with mean, best for AT, wrong item · January, net revenue, orders, AOV · best month"
    )
    assert shows(ran()) == "nothing; it prepares what follows"


def test_of_rows_that_not_everybody_may_read_a_stage_says_what_its_code_says() -> None:
    code = 'plt.title("Net revenue, 2026"); print(t[["month", "net_revenue"]]); print(f"→ {m}: net revenue {n} EUR")'
    kept = shows(ran(PRINTED, code, "Net revenue, 2026"), nothing)
    assert kept == "a chart: Net revenue · a table with month, net_revenue · net revenue"
    assert shows(ran(PRINTED), nothing) == "…"


def place(about: str, number: float) -> SourcePlace:
    return SourcePlace(what="output", cell_id="c", line=1, about=about, value="", number=number)


def test_a_check_names_a_figure_as_people_call_it() -> None:
    places = [
        place("2026-07 · net_revenue", 441026.6),
        place("2026-02 · net_revenue", 330907.3),
        place("ACME · orders", 5),
        place(
            "→ January to October 2026: net revenue 3939986.17 EUR, orders 5211, distinct buying customers 1553", 1553
        ),
        place("2026-07 441026.60 570 442", 570),
    ]
    assert list(given(places, "")) == ["net_revenue", "ACME · orders", "distinct buying customers"]
    assert list(given(places, "net_revenue orders", nothing)) == ["net_revenue", "orders"]


def test_values_of_the_data_of_then_are_found_in_code() -> None:
    code = 'q("… >= \'2026-01-01\'")\nx = k.loc["2026-07"]\nprint(f"{667.51 / 756.09:.2f}")\nax.set_ylim(0, 540)'
    assert of_then(code, PRINTED + "June: AOV 667.51") == ["2026-01-01", "2026-07", "667.51", "756.09"]
    assert of_then("n = 90\nshare = 0.5", "n 90, share 0.5") == []
