"""Word documents, slides and binary workbooks: their tables load by the line that is given for each."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pptx
import pytest
from lines_that_load import loaded, sole
from office_files import binary_workbook, cells_of, document, paragraph, table
from pptx.chart.data import CategoryChartData, XyChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from core.steps import FileAbstract, FileProblem

Describe = Callable[..., tuple[list[FileAbstract], list[FileProblem]]]

BOX = (Inches(1), Inches(1), Inches(4), Inches(2))
SALES = [["region", "units", "price"], ["North", "1.234", "10,50"], ["South", "980", "9,25"], ["West", "12", "7,00"]]


def frames(abstract: FileAbstract) -> list[pd.DataFrame]:
    return [loaded(table.read) for table in abstract.tables]


# --- Word


@pytest.mark.parametrize("name", ["report.docx", "report.docm"])
def test_a_document_shows_its_words_and_its_tables(describe: Describe, folder: Path, name: str) -> None:
    zips = [["zip", "n"], ["01067", "1"], ["80331", "2"]]
    content = document(paragraph("Sales grew in the north."), table(SALES), paragraph("By zip:"), table(zips))
    (folder / name).write_bytes(content)
    abstract = sole(describe(name))
    assert abstract.format == "docx"
    assert abstract.text.splitlines()[0] == "Sales grew in the north."
    assert loaded(abstract.read_hint).startswith("Sales grew")
    assert [table.name for table in abstract.tables] == ["table 1", "table 2"]
    sales, by_zip = frames(abstract)
    assert sales.to_dict("list") == {
        "region": ["North", "South", "West"],
        "units": [1234, 980, 12],
        "price": [10.5, 9.25, 7],
    }
    assert by_zip["zip"].tolist() == ["01067", "80331"]


def test_a_documents_table_without_names_keeps_its_first_row(describe: Describe, folder: Path) -> None:
    (folder / "a.docx").write_bytes(document(table([["North", "1"], ["South", "2"], ["West", "3"]])))
    (frame,) = frames(sole(describe("a.docx")))
    assert frame.values.tolist() == [["North", 1], ["South", 2], ["West", 3]]


def test_two_paragraphs_of_a_cell_stay_two_words(describe: Describe, folder: Path) -> None:
    town = paragraph("New") + paragraph("York")
    (folder / "a.docx").write_bytes(document(table([["town", "n"], [town, "1"], ["Paris", "2"]])))
    (frame,) = frames(sole(describe("a.docx")))
    assert frame["town"].tolist() == ["New York", "Paris"]


def test_what_was_inserted_counts_and_what_was_deleted_does_not(describe: Describe, folder: Path) -> None:
    changed = "<w:p><w:del><w:r><w:delText>100</w:delText></w:r></w:del><w:ins><w:r><w:t>120</w:t></w:r></w:ins></w:p>"
    (folder / "a.docx").write_bytes(document(table([["region", "units"], ["North", changed], ["South", "7"]])))
    (frame,) = frames(sole(describe("a.docx")))
    assert frame["units"].tolist() == [120, 7]


def test_a_document_without_tables_has_its_words(describe: Describe, folder: Path) -> None:
    (folder / "a.docx").write_bytes(document(paragraph("Hello")))
    abstract = sole(describe("a.docx"))
    assert (abstract.text, list(abstract.tables), loaded(abstract.read_hint).strip()) == ("Hello", [], "Hello")


def test_a_table_that_only_makes_room_is_none(describe: Describe, folder: Path) -> None:
    (folder / "a.docx").write_bytes(document(table([["", ""], ["", ""]]), paragraph("Hello")))
    abstract = sole(describe("a.docx"))
    assert (abstract.text, list(abstract.tables)) == ("Hello", [])
    (folder / "b.docx").write_bytes(document(table([["", ""]]), table(SALES)))
    (frame,) = frames(sole(describe("b.docx")))
    assert frame["units"].tolist() == [1234, 980, 12]


def test_more_tables_than_are_described_are_counted(describe: Describe, folder: Path) -> None:
    (folder / "a.docx").write_bytes(document(*[table(SALES)] * 23))
    abstract = sole(describe("a.docx"))
    assert len(abstract.tables) == 20
    assert "3 more tables" in abstract.note


@pytest.mark.parametrize("packed", ["all.zip", "report.docx.gz"])
def test_a_packed_document_is_read_where_it_lies(describe: Describe, folder: Path, packed: str) -> None:
    if packed.endswith(".gz"):
        (folder / packed).write_bytes(gzip.compress(document(table(SALES))))
    else:
        with zipfile.ZipFile(folder / packed, "w") as archive:
            archive.writestr("a/report.docx", document(table(SALES)))
    (frame,) = frames(sole(describe(packed)))
    assert frame["units"].tolist() == [1234, 980, 12]


# --- slides


def test_slides_show_words_tables_and_the_numbers_of_charts(describe: Describe, folder: Path) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Revenue"
    grid = slide.shapes.add_table(3, 2, *BOX).table
    for row, cells in enumerate((("region", "revenue"), ("North", "1,200"), ("South", "900"))):
        for column, text in enumerate(cells):
            grid.cell(row, column).text = text
    data = CategoryChartData()
    data.categories = ["Q1", "Q2"]
    data.add_series("2024", (1.5, 2.5))
    data.add_series("category", (3, None))
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *BOX, data)
    slide.notes_slide.notes_text_frame.text = "say thanks"
    deck.save(folder / "deck.pptx")
    abstract = sole(describe("deck.pptx"))
    assert abstract.format == "pptx"
    assert "Revenue\nsay thanks" in abstract.text
    assert "1 slide" in abstract.note
    assert loaded(abstract.read_hint) == "Revenue"
    cells, drawn = frames(abstract)
    assert cells.to_dict("list") == {"region": ["North", "South"], "revenue": ["1,200", "900"]}
    assert drawn.columns.tolist() == ["category", "2024", "category"]
    assert drawn["2024"].tolist() == [1.5, 2.5]
    assert drawn.iloc[:, 0].tolist() == ["Q1", "Q2"]


def test_a_table_within_a_group_is_found(describe: Describe, folder: Path) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    grid = slide.shapes.add_table(2, 2, *BOX)
    for place, text in enumerate(("a", "b", "1", "2")):
        grid.table.cell(place // 2, place % 2).text = text
    group = slide.shapes.add_group_shape()
    group._element.append(grid._element)
    deck.save(folder / "deck.pptx")
    (frame,) = frames(sole(describe("deck.pptx")))
    assert frame.to_dict("list") == {"a": ["1"], "b": ["2"]}


def test_points_without_categories_are_left_out(describe: Describe, folder: Path) -> None:
    deck = pptx.Presentation()
    data = XyChartData()
    data.add_series("points").add_data_point(1, 2)
    deck.slides.add_slide(deck.slide_layouts[6]).shapes.add_chart(XL_CHART_TYPE.XY_SCATTER, *BOX, data)
    deck.save(folder / "deck.pptx")
    assert not sole(describe("deck.pptx")).tables


# --- binary workbooks


def test_a_binary_workbook_is_read(describe: Describe, folder: Path) -> None:
    north = cells_of([["region", "units"], ["North", 1234.5], ["South", 7]])
    (folder / "model.xlsb").write_bytes(binary_workbook(North=north, Zips=cells_of([["zip", "n"], ["01067", 1]])))
    abstract = sole(describe("model.xlsb"))
    assert abstract.format == "xlsb"
    assert [table.name for table in abstract.tables] == ["North", "Zips"]
    units, zips = frames(abstract)
    assert units["units"].tolist() == [1234.5, 7]
    assert zips["zip"].tolist() == ["01067"]


def test_two_cells_in_far_corners_of_a_binary_workbook_are_refused(describe: Describe, folder: Path) -> None:
    (folder / "far.xlsb").write_bytes(binary_workbook(Far={(0, 0): 1.0, (1_000_000, 16_000): 2.0}))
    _, (problem,) = describe("far.xlsb")
    assert "cells" in problem.why


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("letter.xlsx", document(paragraph("a")), "a Word document"),
        ("book.docx", binary_workbook(A={(0, 0): 1.0}), "a binary Excel workbook"),
        ("cut.docx", document(paragraph("a"))[:60], "a compressed archive"),
        ("bare.docx", document("<w:nonsense"), "could not read"),
        ("cut.xlsb", binary_workbook(A={(0, 0): 1.0}).replace(b"\x91\x01\x00", b"\x91\x01\x7f"), "could not read"),
        ("old.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), ".doc"),
    ],
    ids=["document", "workbook", "cut document", "bare document", "cut workbook", "old document"],
)
def test_what_cannot_be_read_gets_its_reason(
    describe: Describe, folder: Path, name: str, data: bytes, words: str
) -> None:
    (folder / name).write_bytes(data)
    abstracts, (problem,) = describe(name)
    assert not abstracts
    assert words in problem.why


def test_a_document_that_defines_entities_is_refused(describe: Describe, folder: Path) -> None:
    packed = io.BytesIO(document(paragraph("a")))
    with zipfile.ZipFile(packed, "a") as archive:
        archive.writestr("word/styles.xml", "<!DOCTYPE a [<!ENTITY b 'ha'>]><a>&b;</a>")
    (folder / "a.docx").write_bytes(packed.getvalue())
    _, (problem,) = describe("a.docx")
    assert "defines entities" in problem.why
