"""The report's page in a browser: on a desk, on a phone in the dark, in print. `SCREENSHOTS=FOLDER` keeps pictures."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pdfplumber
import pytest
from page_kit import browser, page_at
from playwright.sync_api import Browser, Page, expect
from report_cases import CHART, CHINESE, SUMMED, case
from test_reports_page import CELL, CHARTED, REPRODUCED, TABLE, traced

from core import chromium
from core.steps import ChartData, SeriesData
from core.values import Language
from workers.delivery.reports import ReportInput
from workers.delivery.reports.page import page
from workers.delivery.reports.values import PastReport

pytestmark = pytest.mark.browser
__all__ = ["browser"]

MONTHS = tuple(f"2024-{month:02}-01T00:00:00" for month in range(1, 13))
SALES = {"net": (52, 55, 61, 58, 63, 70, 74, 71, 69, 77, 83, 96), "plan": tuple(range(50, 86, 3))}
ANSWER = (
    "**North** leads with **120 units**, 20 % more than South with 100. Nobody sold 4711.\n\n"
    "## By region\n\n| region | units |\n|---|--:|\n| North | 120 |\n| South | 100 |\n\n"
    "## What to keep in mind\n\nThe file holds one year. Units that were sent back are not in it."
)


def given() -> ReportInput:
    """A report with a table, two charts, a figure that no cell computed, and an earlier question."""
    series = tuple(
        SeriesData(kind="line", name=name, points=tuple(zip(MONTHS, values, strict=True)), total_points=12)
        for name, values in SALES.items()
    )
    over_time = ChartData(figure="months.png", title="Units by month", x="", y="units", series=series)
    months = SUMMED.model_copy(
        update={
            "cell_id": "c9", "title": "Units by month", "figures": (CHART.model_copy(update={"name": "months.png"}),),
            "charts": (over_time,), "tables": (TABLE,),
        }
    )  # fmt: skip
    past = (PastReport("How many rows has the file?", "It has **1,234** rows."),)
    return traced(ANSWER, CELL, CHARTED, months, question="Which region leads?", past=past, clean_room=REPRODUCED)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the page is served, as a person's browser has it from a disk: there is nothing else."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "report.html").write_text(page(given()), encoding="utf-8")
    (folder / "favicon.ico").write_bytes(b"")
    handler = partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/report.html"
        server.shutdown()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged."""


def snap(page: Page, name: str, *, whole: bool = False) -> None:
    if folder := os.environ.get("SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=str(Path(folder) / f"report_{name}.png"), full_page=whole)


def test_a_figure_leads_to_its_line_and_a_table_is_sorted_by_its_head(browser: Browser, address: str) -> None:
    with page_at(browser, address, viewport={"width": 1000, "height": 900}) as page:
        snap(page, "page", whole=True)
        table = page.locator(".answer table")
        table.get_by_role("button", name="units").click()
        expect(table.locator("th[aria-sort=ascending]")).to_have_text("units")
        expect(table.locator("tbody tr").first).to_contain_text("South")
        figure = page.locator(".fig", has_text="120").first
        figure.focus()
        expect(figure.locator(".tip")).to_be_visible()
        snap(page, "figure")
        figure.get_by_role("link").click()
        expect(page.locator("details#cell-2[open] tr:target")).to_have_text("North120")
        expect(page.locator(".fig.unsourced")).to_contain_text("4711")


def test_a_table_is_sorted_by_numbers_as_its_language_writes_them(browser: Browser) -> None:
    written = "\n".join(f"| {each} |" for each in ("12,5 %", "1.234,5", "99", "-1.000.000", "2.000"))
    with page_at(browser, "about:blank") as opened:
        opened.set_content(page(traced(f"Ja.\n\n| Umsatz |\n|--:|\n{written}", CELL, language="de")))
        opened.locator(".answer th button").click()
        rows = opened.locator(".answer tbody .fig").evaluate_all("all => all.map(one => one.firstChild.textContent)")
    assert rows == ["-1.000.000", "12,5 %", "99", "1.234,5", "2.000"]


@pytest.mark.parametrize(
    ("language", "risen"),
    [
        ("en", ("9 EUR", "80 EUR", "1,200 EUR")),
        ("de", ("-3,5 Mio. €", "900 €", "1,2 Mio. €")),
        ("en", ("(9k)", "900k", "1.2M")),
        ("en", ("USD 9", "USD 80.5", "USD 1,200")),
        ("zh", ("900 元", "1.2 万元", "0.5 亿元")),
        ("en", ("-2", "1.2e-05", "0.3")),
        ("en", ("$ -9", "-$2", "$10")),
        ("en", ("A-1", "A-2", "A-3")),
        ("en", ("Week 2", "Week 10", "n/a")),
        ("en", ("2 MB", "500 kB", "9 kB")),  # two units: in the order of their letters
    ],
)
def test_a_table_is_sorted_by_amounts_with_their_units(
    browser: Browser, language: Language, risen: tuple[str, ...]
) -> None:
    written = "\n".join(f"| {each} |" for each in reversed(risen))
    with page_at(browser, "about:blank") as opened:
        opened.set_content(page(case(f"Done.\n\n| amount |\n|--:|\n{written}", language=language)))
        opened.locator(".answer th button").click()
        assert opened.locator(".answer tbody td").all_text_contents() == list(risen)


def test_a_wide_table_is_printed_with_all_its_columns(browser: Browser) -> None:
    heads = [f"Revenue of region {number}" for number in range(20)]
    table = f"| {' | '.join(heads)} |\n|{'--:|' * 20}\n| {' | '.join(['1,234,567'] * 20)} |"
    with page_at(browser, "about:blank", viewport={"width": 660, "height": 900}) as opened:
        opened.set_content(page(traced(f"Done.\n\n{table}", CELL)))
        opened.emulate_media(media="print")
        assert opened.evaluate("document.documentElement.scrollWidth") <= 660


def test_a_chart_says_its_values_and_keeps_the_picture_that_was_posted(browser: Browser, address: str) -> None:
    with page_at(browser, address, viewport={"width": 1000, "height": 900}) as page:
        chart = page.locator("#charts figure").last
        expect(chart.locator(".desk svg")).to_be_visible()
        expect(chart.locator(".phone svg")).to_be_hidden()
        assert chart.locator(".desk circle title").first.text_content() == "2024-01 · net: 52"
        lines = [each.get_attribute("class") for each in chart.locator(".desk path.line").all()]
        assert lines == ["line s0", "line s1"]
        colours = chart.locator(".desk path.line").evaluate_all("all => all.map(one => getComputedStyle(one).stroke)")
        assert len(set(colours)) == 2
        assert chart.locator(".desk svg").bounding_box()["width"] <= 800  # type: ignore[index]


def test_on_a_phone_in_the_dark_nothing_is_cut_off(browser: Browser, address: str) -> None:
    options = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark", "has_touch": True}
    with page_at(browser, address, **options) as page:
        expect(page.locator("#charts .phone svg").first).to_be_visible()
        expect(page.locator("#charts .desk svg").first).to_be_hidden()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        colours = page.evaluate(
            "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
        )
        paper, ink = (sum(int(part) for part in each[4:-1].split(",")) for each in colours)
        assert paper < 150 < 450 < ink
        snap(page, "phone_dark", whole=True)
        page.locator(".fig").first.tap()
        box = page.locator(".fig .tip:visible").bounding_box()
        assert box is not None
        assert 0 <= box["x"] <= box["x"] + box["width"] <= 391


def test_chinese_is_printed_on_a_machine_without_a_chinese_font() -> None:
    pdf = chromium.printed(page(CHINESE).encode(), walled=False)
    with pdfplumber.open(io.BytesIO(pdf)) as sheets:
        text = "".join(sheet.extract_text() for sheet in sheets.pages)
    assert "哪个地区卖得最多" in text  # a box says no letter


def test_the_page_is_printed_as_a_pdf_with_its_sources_open(browser: Browser, address: str) -> None:
    with page_at(browser, address) as opened:
        opened.emulate_media(media="print")
        expect(opened.locator("#charts .desk svg").first).to_be_visible()
        expect(opened.locator(".tip").first).to_be_hidden()
        opened.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        expect(opened.locator("#sources details")).to_have_attribute("open", "")
    pdf = chromium.printed(page(given()).encode(), walled=False)
    assert pdf.startswith(b"%PDF-")
    text = "".join(sheet.extract_text() for sheet in pdfplumber.open(io.BytesIO(pdf)).pages)
    for words in ("Which region leads?", "North leads with 120 units", "Units by month", "table of cell 2"):
        assert words in " ".join(text.split())
