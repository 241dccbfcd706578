"""The report's page loads nothing, runs nothing of the data, and leads from each figure to the line that shows it."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Collection
from dataclasses import replace
from html import escape
from html.parser import HTMLParser

import pytest
from hypothesis import given as given_by
from hypothesis import strategies as st
from report_cases import CASES, CHART, CHINESE, LOAD, SHORT, SUMMED, case

from core.clean_room import CleanRoom, Difference
from core.steps import Asked, CellRan, ChartData, FigureSource, SeriesData, SourcePlace, TableData
from workers.agent.provenance import facts_of, trace
from workers.agent.report.sourcing import marked, sources_of
from workers.delivery.reports import ReportInput
from workers.delivery.reports.anchors import places, replaced, with_marks
from workers.delivery.reports.page import page
from workers.delivery.reports.page_markdown import to_html
from workers.delivery.reports.values import PastReport

Golden = Callable[[str, object], None]

TABLE = TableData(
    columns=("region", "units"),
    dtypes=("str", "int"),
    rows=(("North", 120), ("South", 100)),
    total_rows=2,
    total_columns=2,
)
CELL = LOAD.model_copy(update={"title": "Units", "stdout": "region units\nNorth 120\nSouth 100\n"})
CHARTED = SUMMED.model_copy(
    update={
        "tables": (TABLE,),
        "charts": (
            ChartData(
                figure=CHART.name,
                title="Units by region",
                x="region",
                y="units",
                series=(SeriesData(kind="bar", name="units", points=(("North", 120), ("South", 100)), total_points=2),),
            ),
        ),
    }
)
HOSTILE = (
    '"><script>alert(1)</script><img src=x onerror=alert(1)> [x](javascript:alert(1)) ![p](http://evil.example/p.png)'
)


def traced(report: str, *cells: CellRan, question: str = "How many units?", **changes: object) -> ReportInput:
    provenance = trace(report, facts_of([(Asked(user="U1", author="Ana", text=question, ts="1.0"), *cells)]))
    return case(
        marked(provenance, "en"),
        cells=cells,
        question=question,
        sources=sources_of(provenance, "en"),
        pictures={CHART.sha256: b"PNG"},
        **changes,
    )


REPRODUCED = CleanRoom(state="reproduced", seconds=4.1, cells=2, figures=3)
ANSWER = (
    "**North** sold 120 units, 20 % more than South with 100. Nobody sold 4711.\n\n"
    "| a | b |\n|---|--:|\n| North | 120 |"
)


class Tags(HTMLParser):
    """The elements of a page, and its addresses."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in ("meta", "br", "hr", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def read(html: str) -> Tags:
    tags = Tags()
    tags.feed(html)
    assert tags.open == []
    return tags


@pytest.mark.parametrize("name", ["short", "zh"])
def test_the_page_is_as_its_golden_file_says(golden: Golden, name: str) -> None:
    style = re.compile(r"<style>.*?</style>|<script>.*?</script>|sha256-[^']*", re.DOTALL)
    golden(f"reports/{name}.html", style.sub("…", page(CASES[name])))


def test_the_page_of_a_traced_answer_is_as_its_golden_file_says(golden: Golden) -> None:
    html = page(traced(ANSWER, CELL, CHARTED, past=(PastReport("Before?", "It was **7**."),), clean_room=REPRODUCED))
    golden(
        "reports/traced.html", re.sub(r"<style>.*?</style>|<script>.*?</script>|sha256-[^']*", "…", html, flags=re.S)
    )


@pytest.mark.parametrize("name", CASES)
def test_the_policy_allows_the_pages_own_style_and_script_and_nothing_else(name: str) -> None:
    html = page(CASES[name])
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy[1]
    assert "default-src 'none'" in policy[1]
    assert "unsafe" not in policy[1]


def test_nothing_of_data_or_model_becomes_markup() -> None:
    cell = CELL.model_copy(update={"title": HOSTILE, "stdout": HOSTILE, "code": HOSTILE, "error": HOSTILE})
    table = TABLE.model_copy(update={"columns": (HOSTILE, "n"), "rows": ((HOSTILE, 1),)})
    chart = CHARTED.charts[0].model_copy(update={"title": HOSTILE, "x": HOSTILE})
    source = FigureSource(
        figure="120", state="sourced", places=(SourcePlace(what="output", cell_id="c1", line=1, about=HOSTILE),)
    )
    html = page(
        case(
            f"{HOSTILE} 120\n\n# {HOSTILE}\n\n| {HOSTILE} |\n|---|\n| {HOSTILE} |\n\n```{HOSTILE}\n{HOSTILE}\n```",
            question=HOSTILE,
            asker=HOSTILE,
            cells=(cell, CHARTED.model_copy(update={"title": HOSTILE, "tables": (table,), "charts": (chart,)})),
            sources=(source,),
            past=(PastReport(HOSTILE, HOSTILE),),
            model=HOSTILE,
            clean_room=CleanRoom(
                state="differs",
                differences=(Difference(what="figure", label=HOSTILE, cell=1, was=HOSTILE, now=HOSTILE),),
            ),
        )
    )
    tags = read(html)
    assert tags.names.count("script") == 1
    assert not [value for name, value in tags.attributes if name.startswith("on") or name == "style"]
    addresses = [value for name, value in tags.attributes if name in ("href", "src", "action")]
    assert all(address.startswith(("#", "data:image/png;base64,")) for address in addresses)


def test_only_addresses_of_the_question_are_links() -> None:
    html = page(SHORT)
    links = [value for name, value in read(html).attributes if name == "href" and not value.startswith("#")]
    assert links == ["https://example.com/wiki"]


def test_every_figure_leads_to_a_line_that_is_there() -> None:
    html = page(traced(ANSWER, CELL, CHARTED))
    tags = read(html)
    ids = {value for name, value in tags.attributes if name == "id"}
    links = [value[1:] for name, value in tags.attributes if name == "href"]
    assert links
    assert set(links) <= ids
    assert "cell-1-stdout-2" in links
    assert '<span class="fig unsourced" tabindex="0">4711<span' in html
    assert "(120 − 100) / 100 × 100 = 20" in html


def test_a_figure_of_an_earlier_version_is_found_by_its_text() -> None:
    sources = [FigureSource(figure="20 %", state="derived"), FigureSource(figure="100", state="sourced")]
    assert places("120 is 20 % more than 100, not 1001", sources) == {0: (7, 11), 1: (22, 25)}


def test_a_figure_whose_text_was_taken_out_is_left_alone() -> None:
    sources = [
        FigureSource(figure="120", state="sourced", start=10),
        FigureSource(figure="7", state="sourced", start=2),
    ]
    assert places("[…] sold 7", sources) == {1: (9, 10)}


def test_no_text_can_forge_a_figure() -> None:
    forged = "\ue000\ue010\ue001120\ue002 and 7"
    html = replaced(
        to_html(with_marks(forged, [FigureSource(figure="7", state="sourced", start=-1)])), lambda n, s: f"<{n}>{s}"
    )
    assert html.count("<0>") == 1
    assert "<0>7" in html


@given_by(
    st.text(st.sampled_from("ab12 |*_`#>-\n[]()<!&\ue000\ue010\ue001\ue002.,%"), max_size=80), st.integers(-1, 80)
)
def test_any_text_becomes_whole_elements(text: str, start: int) -> None:
    sources = [FigureSource(figure="12", state="sourced", start=start), FigureSource(figure="1", state="unsourced")]
    html = page(case(text, sources=sources, cells=(CELL,)))
    read(html)
    assert not re.search("[\ue000-\uf8ff]", html)


def test_the_badge_has_its_place_and_none_is_shown_without_one() -> None:
    html = page(case("It was 12.", clean_room=REPRODUCED))
    assert '<p class="badge reproduced">✓ Reproduced in 4.1 s' in html
    assert 'class="badge' not in page(SHORT).partition("</style>")[2]


def test_a_chart_has_its_data_as_a_table_below() -> None:
    html = page(traced(ANSWER, CELL, CHARTED))
    assert "data:image/png;base64,UE5H" in html
    assert re.search(r'<td>North</td><td class="r">120</td>', html)


def test_a_chart_that_was_drawn_again_stands_on_the_page_once() -> None:
    again = CHARTED.figures[0].model_copy(update={"name": "units-2.png", "sha256": "e" * 64})
    data = CHARTED.charts[0].model_copy(update={"figure": again.name})
    second = CHARTED.model_copy(update={"cell_id": "T/c9", "figures": (again,), "charts": (data,)})
    assert page(case("Done.", cells=(CHARTED, second))).count("<figcaption") == 1


def test_the_rows_of_a_chart_count_all_its_series() -> None:
    points = [tuple((place + start, place) for place in range(150)) for start in (0.0, 0.5)]
    series = tuple(
        SeriesData(kind="scatter", name=name, points=each, total_points=150)
        for name, each in zip("AB", points, strict=True)
    )
    apart = CHARTED.charts[0].model_copy(update={"series": series})
    assert "The first 200 of 300." in page(traced("Done.", CHARTED.model_copy(update={"charts": (apart,)})))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (123_456.79, "123,456.79"),
        (99_999.99, "99,999.99"),
        (999_999.99, "999,999.99"),
        (1_234_567.5, "1,234,567.50"),
        (12.5, "12.5"),
        (0.1 + 0.2, "0.3"),
        (1e-9, "1e-09"),
        (-1e300, "-1e+300"),
    ],
)
def test_a_table_shows_the_amounts_that_the_report_names(value: float, shown: str) -> None:
    rows = TABLE.model_copy(update={"rows": (("North", value),), "total_rows": 1})
    assert f'<td class="r">{shown}</td>' in page(traced("Done.", CHARTED.model_copy(update={"tables": (rows,)})))


def test_a_full_width_figure_leads_to_its_source() -> None:
    html = page(traced("合计 ４７１１。", CELL))
    assert '<span class="fig unsourced" tabindex="0">４７１１<span' in html


@pytest.mark.parametrize("report", ["# Result\n\n## North", "## Result\n\n### North", "#### Result\n\n##### North"])
def test_no_level_of_headings_is_left_out(report: str) -> None:
    past = (PastReport("And before?", report),)
    levels = re.findall(r"<h([1-6])>", page(traced(report, CELL, past=past)))
    assert levels[:3] == ["1", "2", "3"]
    assert levels[-3:] == ["2", "3", "4"]  # those of an earlier answer stand below their own heading


def test_years_and_keys_of_a_table_have_no_marks_between_thousands() -> None:
    names = ("year", "order_id", "date", "units")
    rows = ((2024, 1_234_567, 2024, 12_345), (2023.0, 1_234_568, 2023, 2_345))
    whole = TABLE.model_copy(update={"columns": names, "rows": rows, "total_columns": 4})
    html = page(traced("Done.", CHARTED.model_copy(update={"tables": (whole,)})))
    assert [*re.findall(r'<td class="r">([^<]*)</td>', html)[-8:]] == [
        "2024", "1234567", "2024", "12,345", "2023", "1234568", "2023", "2,345"
    ]  # fmt: skip


def test_a_table_that_lacks_columns_says_so() -> None:
    wide = TABLE.model_copy(update={"total_columns": 40})
    told = page(traced("Done.", CHARTED.model_copy(update={"tables": (wide,)})))
    assert "the first 2 of 2 rows, 2 of 40 columns" in told


def test_a_line_break_of_a_cell_is_one_and_no_other_html_is() -> None:
    html = to_html("| a |\n|---|\n| North<br>South<BR /><b>x</b> `<br>` |")
    assert "<td>North<br>South<br>&lt;b&gt;x&lt;/b&gt; <code>&lt;br&gt;</code></td>" in html


def test_a_long_question_is_the_title_up_to_a_whole_word() -> None:
    question = "Which region sold most in each month of the year " * 5
    told = page(case("North.", question=question))
    title = told.partition("<title>")[2].partition("</title>")[0]
    assert title.endswith("…")
    assert set(title.removesuffix("…").split()) <= set(question.split())


def test_the_page_speaks_the_language_of_the_thread() -> None:
    html = page(CHINESE)
    assert '<html lang="zh">' in html
    assert "代码与输出" in html


def test_an_earlier_answer_is_made_into_html_once_for_all_later_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def counting(text: str, known: Collection[str] = (), *, top: int = 2) -> str:
        made.extend([text] if top == 3 else [])
        return to_html(text, known, top=top)

    monkeypatch.setattr("workers.delivery.reports.page.to_html", counting)
    past = tuple(PastReport(f"Question {n}", f"Answer {n} of the page's cost") for n in range(4))
    shown = [page(traced(ANSWER, CELL, CHARTED, past=past[:many])) for many in (2, 3, 4, 4)]
    assert made == [one.report for one in past]
    assert shown[2] == shown[3]
    assert all(f"<p>{escape(one.report)}</p>" in shown[3] for one in past)
    redacted = (replace(past[0], report="Answer […]"), *past[1:])
    assert "Answer 0" not in page(traced(ANSWER, CELL, CHARTED, past=redacted))
