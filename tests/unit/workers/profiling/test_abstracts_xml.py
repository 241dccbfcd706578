"""XML: elements that repeat are the rows of tables, loaded by the line that is given, whatever their namespaces."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from lines_that_load import loaded, sole

from core.steps import FileAbstract, FileProblem

Describe = Callable[..., tuple[list[FileAbstract], list[FileProblem]]]

ORDERS = """<?xml version="1.0" encoding="{encoding}"?>
<export made="2024-05-01">
  <orders>
    <order id="0071"><customer>Ärzte AG</customer><amount currency="EUR">12.50</amount><country>NA</country>
      <items><item sku="A1" pieces="2"/><item sku="B2" pieces="1"/></items></order>
    <order id="0072"><customer>Öl KG</customer><amount currency="EUR">7.25</amount><country>DE</country>
      <items><item sku="A1" pieces="5"/></items></order>
    <order id="0073"><customer>Bö</customer><amount currency="EUR">100</amount><country>FR</country><items/></order>
  </orders>
</export>"""
RATES = """<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01" xmlns="http://www.ecb.int/vocabulary">
<gesmes:subject>Reference rates</gesmes:subject>
<Cube><Cube time="2024-05-02"><Cube currency="USD" rate="1.0698"/><Cube currency="JPY" rate="166.58"/></Cube></Cube>
</gesmes:Envelope>"""
FEED = """<rss version="2.0"><channel><title>News</title>
<item><title>One</title><pubDate>Wed, 01 May 2024</pubDate></item>
<item><title>Two</title><pubDate>Thu, 02 May 2024</pubDate></item></channel></rss>"""


@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1", "utf-16"])
def test_each_element_that_repeats_is_a_table_with_its_line(describe: Describe, folder: Path, encoding: str) -> None:
    (folder / "orders.xml").write_bytes(ORDERS.format(encoding=encoding).encode(encoding))
    abstract = sole(describe("orders.xml"))
    assert abstract.format == "xml"
    orders, items = abstract.tables
    assert (orders.name, orders.rows, items.name, items.rows) == ("order", 3, "item", 3)
    frame = loaded(orders.read)
    assert frame["id"].tolist() == ["0071", "0072", "0073"]
    assert frame["customer"].tolist() == ["Ärzte AG", "Öl KG", "Bö"]
    assert frame["amount"].sum() == 119.75
    assert [column.name for column in orders.columns] == frame.columns.tolist()
    assert loaded(items.read)["pieces"].sum() == 8
    assert loaded(abstract.read_hint).equals(frame)
    assert "items: there are more elements inside" in abstract.note
    assert "order.country (NA)" in abstract.note
    assert "made=" in abstract.text


def test_namespaces_are_in_the_line(describe: Describe, folder: Path) -> None:
    (folder / "rates.xml").write_text(RATES)
    abstract = sole(describe("rates.xml"))
    assert [(table.name, table.rows) for table in abstract.tables] == [("Cube", 2)]
    assert loaded(abstract.read_hint).to_dict("records") == [
        {"currency": "USD", "rate": 1.0698},
        {"currency": "JPY", "rate": 166.58},
    ]


@pytest.mark.parametrize("name", ["feed.rss", "feed.txt", "feed"])
def test_xml_is_known_by_its_content(describe: Describe, folder: Path, name: str) -> None:
    (folder / name).write_text(FEED)
    assert loaded(sole(describe(name)).read_hint)["title"].tolist() == ["One", "Two"]


@pytest.mark.parametrize("text", ["<note><to>Ana</to><body>Hello</body></note>", "<a><b></a>", "<b>a;b;c\n1;2;3\n"])
def test_xml_without_records_and_what_only_looks_like_it_is_a_text(describe: Describe, folder: Path, text: str) -> None:
    (folder / "note.xml").write_text(text)
    abstract = sole(describe("note.xml"))
    assert not abstract.tables
    assert loaded(abstract.read_hint) == text


def test_a_workbook_in_the_xml_of_excel_2003_is_told(describe: Describe, folder: Path) -> None:
    (folder / "book.xml").write_text(
        '<?xml version="1.0"?><Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet"><Worksheet/></Workbook>'
    )
    assert "2003" in describe("book.xml")[1][0].why


def test_entities_that_grow_are_not_put_in(describe: Describe, folder: Path) -> None:
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    (folder / "laughs.xml").write_text(
        f'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY l0 "ha">{laughs}]><a><r><t>&l11;</t></r><r><t>1</t></r></a>'
    )
    abstract = sole(describe("laughs.xml"))
    assert not abstract.tables
    assert len(abstract.text) < 3_000
