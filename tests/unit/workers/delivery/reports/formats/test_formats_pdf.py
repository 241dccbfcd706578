"""The PDF that needs no browser holds the words, the charts and the sources; Chromium prints only behind its wall."""

from __future__ import annotations

import dataclasses
import io
import re
from pathlib import Path

import pdfplumber
import pytest
from format_cases import FULL
from fpdf import FPDF
from report_cases import CASES, CHINESE, case, table

from core import chromium
from core.second_route import RouteFigure, SecondRoute
from workers.delivery.reports.formats.registry import files_in
from workers.delivery.reports.formats.slides import plan
from workers.delivery.reports.values import ReportInput
from workers.turn import report_formats
from workers.turn.report_formats import in_format


@pytest.fixture
def no_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chromium.shutil, "which", lambda _: None)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was written on the pages: the PDF itself holds glyphs."""
    words: list[str] = []
    for name in ("write", "multi_cell"):
        plain = getattr(FPDF, name)

        def noted(self: FPDF, *args: object, _plain: object = plain, **options: object) -> object:
            words.append(next((str(each) for each in args if isinstance(each, str)), ""))
            return _plain(self, *args, **options)  # type: ignore[operator]

        monkeypatch.setattr(FPDF, name, noted)
    return words


@pytest.mark.usefixtures("no_browser")
def test_without_a_browser_a_library_lays_the_report_out(said: list[str]) -> None:
    (file,) = in_format("pdf", FULL)
    assert file.name == "report.pdf"
    assert file.data.startswith(b"%PDF-")
    assert len(re.findall(rb"/Subtype /Image", file.data)) >= 1
    words = " ".join(said)
    for text in ("Which region sold most?", "North sold most: 1,234,567 EUR", "Findings", "Look at the South"):
        assert text in words
    assert "2 figures: 1 shown by a cell, ⚠ 1 not computed here." in words


@pytest.mark.usefixtures("no_browser")
def test_a_second_way_that_gives_something_else_is_on_paper_too(said: list[str]) -> None:
    other = RouteFigure(figure="1,234,567", state="other", value="1,300,000", name="revenue")
    given = dataclasses.replace(FULL, second=SecondRoute(state="differs", figures=(other,)))
    in_format("pdf", given)
    assert any("1,300,000" in words for words in said)
    assert any("1,300,000" in note for note in plan(given)[0].notes)


@pytest.mark.parametrize("name", sorted(CASES))
def test_every_report_fits_on_paper(name: str) -> None:
    assert files_in("pdf", CASES[name])[0].data.startswith(b"%PDF-")


@pytest.mark.parametrize(
    "lengths",
    [[3, *[60] * 5], [*[60] * 11, 2], [300] * 12],
    ids=["a narrow column beside five wide ones", "the most columns", "the longest cells"],
)
@pytest.mark.parametrize("letter", ["w", "漢"])
def test_every_table_fits_on_paper(lengths: list[int], letter: str) -> None:
    rows = [["h"] * len(lengths), ["---"] * len(lengths), [letter * length for length in lengths]]
    given = case("\n".join(f"|{'|'.join(row)}|" for row in rows))
    assert files_in("pdf", given)[0].data.startswith(b"%PDF-")


@pytest.mark.usefixtures("no_browser")
def test_a_long_text_does_not_break_the_numbers_beside_it() -> None:
    head = "| Region | Revenue | Share | Growth | When | Price | Note |\n|" + "---|" * 7
    row = f"| North | 1,234,567 | 61.7 % | +3.5 % | 2024-01-01 | $13.7K | {'Donaudampfschiff ' * 6}|"
    (file,) = in_format("pdf", case(f"Done.\n\n{head}\n{row}"))
    with pdfplumber.open(io.BytesIO(file.data)) as opened:
        words = {word["text"] for word in opened.pages[0].extract_words()}
    assert {"Growth", "1,234,567", "61.7", "+3.5", "2024-01-01", "$13.7K"} <= words


@pytest.mark.usefixtures("no_browser")
def test_a_table_with_more_columns_than_the_paper_has_says_so(said: list[str]) -> None:
    files_in("pdf", case(table(3, 40)))
    assert "Shown: the first 3 of 3 rows, 12 of 40 columns." in said


def test_chinese_is_written_in_a_font_that_has_it(said: list[str], caplog: pytest.LogCaptureFixture) -> None:
    files_in("pdf", CHINESE)
    assert "发现" in said
    assert "missing" not in caplog.text  # a glyph that no font has


@pytest.mark.usefixtures("no_browser")
@pytest.mark.parametrize(("given", "is_read"), [(FULL, False), (CHINESE, True)], ids=["English", "Chinese"])
def test_the_large_font_is_read_for_a_report_that_needs_it(
    given: ReportInput, is_read: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    plain = FPDF.add_font

    def noted(self: FPDF, family: str, style: str, path: Path) -> None:
        read.append(path.name)
        plain(self, family, style, path)

    monkeypatch.setattr(FPDF, "add_font", noted)
    files_in("pdf", given)
    assert ("SimHei.ttf" in read) is is_read
    assert len(read) == len(set(read))


def test_the_service_prints_behind_chromiums_own_wall_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def printed(page: bytes, *, walled: bool, limit_s: float) -> bytes:
        asked.append(walled)
        raise chromium.NotPrinted("its sandbox does not start")

    monkeypatch.setattr(report_formats, "browser", lambda: "/usr/bin/chromium")
    monkeypatch.setattr(report_formats, "printed", printed)
    assert in_format("pdf", FULL)[0].data.startswith(b"%PDF-")
    assert asked == [True]
    line = chromium.command("c", Path("/f"), Path("/f/a.html"), Path("/f/a.pdf"), walled=True)
    assert "--no-sandbox" not in line
