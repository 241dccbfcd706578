"""Files of a data dictionary: written and read again, completed without a change, refused with file and line."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.sources.knowledge.entries import ColumnEntry, TableEntry, Trust
from workers.sources.knowledge.folder import read_folder
from workers.sources.knowledge.page import LONGEST_PAGE, MOST_ROWS, PageFault
from workers.sources.knowledge.table_pages import read_table, with_columns, write_table

PAGE = """---
table: sales.orders
source: the web shop
trust: high
synonyms: [purchases, 订单]
---

# Orders

One row per order.

| column | type | meaning | range | unit |
| --- | --- | --- | --- | --- |
| id | integer | the order | 1 … 9 | |
| `net_amt` | numeric | value \\| without tax | | EUR |

Refunds have rows of their own.
"""
CELL = st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), max_size=40).map(
    lambda text: " ".join(text.split())
)
NAME = CELL.filter(lambda text: bool(text.strip("`")) and text == text.strip("`") and "\\" not in text)
LINE = st.from_regex(r"[A-Za-z客户][\w ,.:;'\"%()客户-]{0,60}", fullmatch=True).map(lambda text: " ".join(text.split()))


def columns_of(names: list[str], cells: list[tuple[str, str, str, str]]) -> tuple[ColumnEntry, ...]:
    return tuple(ColumnEntry(name, *cell) for name, cell in zip(names, cells, strict=False))


PLAIN = CELL.filter(lambda text: not text.startswith("`") and not text.endswith("\\"))
ENTRIES = st.builds(
    TableEntry,
    LINE,
    LINE | st.just(""),
    LINE | st.just(""),
    st.sampled_from(Trust),
    st.lists(LINE.filter(lambda text: "," not in text), max_size=3).map(tuple),
    st.builds(
        columns_of,
        st.lists(NAME, max_size=4, unique_by=str.casefold),
        st.lists(st.tuples(PLAIN, PLAIN, PLAIN, PLAIN), min_size=4, max_size=4),
    ),
    LINE | st.just(""),
)


@given(ENTRIES)
def test_what_is_written_is_read_again(entry: TableEntry) -> None:
    assert read_table("x.md", write_table(entry)) == entry


def test_a_page_is_read_in_all_its_parts() -> None:
    entry = read_table("orders.md", PAGE)
    assert (entry.table, entry.source, entry.trust) == ("sales.orders", "the web shop", Trust.HIGH)
    assert entry.synonyms == ("purchases", "订单")
    assert entry.meaning == "One row per order."
    assert entry.notes == "Refunds have rows of their own."
    assert entry.columns[1] == ColumnEntry("net_amt", "numeric", "value | without tax", "", "EUR")
    assert entry.column("NET_AMT") == entry.columns[1]


@pytest.mark.parametrize(
    "other",
    [
        PAGE.replace("\n", "\r\n"),
        "\ufeff" + PAGE,
        PAGE.replace("| column | type | meaning | range | unit |", "| Name | Type | Description | Values | Unit |"),
        PAGE.replace("| column | type | meaning | range | unit |", "| 列 | 类型 | 含义 | 取值 | 单位 |"),
        PAGE.replace("| --- | --- | --- | --- | --- |", "|---|:--|:-:|-|-|"),
        PAGE.replace("synonyms: [purchases, 订单]", "synonyms:\n  - purchases\n  - 订单"),
        PAGE.replace("synonyms: [purchases, 订单]", "Synonyms: purchases、订单"),
    ],
)
def test_a_page_edited_by_hand_means_the_same(other: str) -> None:
    assert read_table("x.md", other) == read_table("x.md", PAGE)


def test_further_headings_are_left_alone_and_missing_ones_are_empty() -> None:
    entry = read_table("x.md", "---\ntable: t\n---\n| owner | column |\n|-|-|\n| Ana | a, b |\n")
    assert entry.columns == (ColumnEntry("a"), ColumnEntry("b"))
    assert entry.trust is Trust.UNREVIEWED


def test_the_front_matter_is_text_and_never_anything_else_of_yaml() -> None:
    entry = read_table("x.md", "---\ntable: 2024-01-01\nsource: !!python/object/apply:os.system ['x']\n---\n")
    assert entry.table == "2024-01-01"
    assert entry.source == "x"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# no front matter", "x.md:1: begins without front matter"),
        ("---\nsource: a\n---\n", "x.md:1: names no table"),
        ("---\ntable: t\nowner: Ana\n---\n", "x.md:3: unknown name 'owner'"),
        ("---\ntable: t\nsynonmys: a\n---\n", "the nearest known one is 'synonyms'"),
        ("---\ntable: t\ntrust: yes\n---\n", "x.md:3: trust is 'yes'; write one of high, medium, low, unreviewed"),
        ("---\ntable: t\ntable: u\n---\n", "x.md:3: table stands twice"),
        ("---\ntable: [a\n---\n", "the front matter cannot be read"),
        ("---\n- a\n---\n", "x.md:2: the front matter must be lines"),
        ("---\ntable: {a: {b: c}}\n---\n", "x.md:2: table must be a text"),
        ("---\ntable: t\n---\n\n| a | b |\n|-|-|\n| c | d |\n", "x.md:5: the table has no heading `column`"),
        ("---\ntable: t\n---\n\n| column |\n|-|\n| a |\n| A |\n", "x.md:8: the column A stands twice"),
        ("---\ntable: t\n---\n\n| column | type |\n|-|-|\n| | int |\n", "x.md:7: a row names no column"),
        ("---\ntable: t\n---\n" + "x" * LONGEST_PAGE, "x.md: is larger than 512 KB"),
        ("---\ntable: t\n---\n" + "word " * 5_000, "more than 20,000 characters"),
        (
            "---\ntable: t\n---\n|column|\n|-|\n" + "|c|\n" * (MOST_ROWS + 1),
            "x.md:4: the table has more than 2000 rows",
        ),
    ],
)
def test_what_cannot_be_read_is_said_with_file_and_line(text: str, said: str) -> None:
    with pytest.raises(PageFault) as error:
        read_table("x.md", text)
    assert said in str(error.value)


@given(st.text(max_size=300), st.sampled_from(["", "---\ntable: t\n---\n", "---\n"]))
def test_any_text_is_an_entry_or_a_fault(text: str, before: str) -> None:
    with suppress(PageFault):
        assert read_table("x.md", before + text).table


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_new_columns_come_below_the_last_row_and_nothing_else_changes(end: str) -> None:
    text = PAGE.replace("| column | type | meaning | range | unit |", "| range | owner | column | type | meaning |")
    text = text.replace("\n", end)
    grown = with_columns("x.md", text, [ColumnEntry("new|col", "date", "when", "a … b", "d")])
    before, after = text.splitlines(keepends=True), grown.splitlines(keepends=True)
    assert [line for line in after if line not in before] == [f"| a … b | | new\\|col | date | when |{end}"]
    assert [line for line in after if line in before] == before


def test_new_columns_come_into_a_table_that_ends_the_file_or_has_no_row() -> None:
    grown = with_columns("x.md", "---\ntable: t\n---\n| column |\n|---|", [ColumnEntry("a"), ColumnEntry("b")])
    assert [column.name for column in read_table("x.md", grown).columns] == ["a", "b"]
    with pytest.raises(PageFault, match="no table of columns"):
        with_columns("x.md", "---\ntable: t\n---\n", [ColumnEntry("a")])


def test_a_folder_is_read_as_far_as_it_can_be(tmp_path: Path) -> None:
    (tmp_path / "orders.md").write_text(PAGE, encoding="utf-8")
    (tmp_path / "second.md").write_text(PAGE.replace("sales.orders", "Sales.Orders"), encoding="utf-8")
    (tmp_path / "broken.md").write_text("nothing")
    (tmp_path / "bytes.md").write_bytes(b"\xff\xfe")
    (tmp_path / "README.md").write_text("for people")
    (tmp_path / "link.md").symlink_to("/etc/passwd")
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / "m.md").write_text("---\nmetric: m\n---\n```sql\nselect 1\n```\n")
    found = read_folder(tmp_path)
    assert [entry.table for entry in found.tables] == ["sales.orders"]
    assert found.files == {"sales.orders": "orders.md"}
    assert [metric.name for metric in found.metrics] == ["m"]
    assert [fault.file for fault in found.faults] == ["broken.md", "bytes.md", "second.md"]
    (fault,) = read_folder(tmp_path / "none").faults
    assert str(fault).endswith("is no folder. `threadbook dictionary draft` makes one.")
