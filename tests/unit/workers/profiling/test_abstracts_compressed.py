"""A table that is compressed alone is described and read as it is; a table that is stored by columns, too."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from pyarrow import orc

from core.steps import FileAbstract, FileProblem
from tests.unit.workers.profiling.test_abstracts_more_kinds import sole

Describe = Callable[..., tuple[list[FileAbstract], list[FileProblem]]]
TABLE = "region;amount\nNorth;1,5\nMünchen;2,5\n"


def loaded(line: str) -> object:
    return eval(line, {"pd": pd, "gzip": gzip, "bz2": bz2, "lzma": lzma, "pyarrow": pyarrow})


@pytest.mark.parametrize(
    ("name", "pack"),
    [("orders.csv.gz", gzip.compress), ("orders.csv.bz2", bz2.compress), ("ORDERS.CSV.XZ", lzma.compress)],
)
def test_a_compressed_table_is_read_as_it_is(
    describe: Describe, folder: Path, name: str, pack: Callable[[bytes], bytes]
) -> None:
    (folder / name).write_bytes(pack(TABLE.encode("cp1252")))
    abstract = sole(describe(name))
    assert (abstract.format, abstract.encoding, abstract.tables[0].rows) == ("csv", "cp1252", 2)
    frame = loaded(abstract.read_hint)
    assert isinstance(frame, pd.DataFrame)
    assert frame["amount"].sum() == 4
    assert list(frame["region"]) == ["North", "München"]
    assert abstract.tables[0].name.lower() == "orders"


def test_a_compressed_csv_has_the_line_that_people_would_write(describe: Describe, folder: Path) -> None:
    (folder / "orders.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n"))
    assert sole(describe("orders.csv.gz")).read_hint == "pd.read_csv('orders.csv.gz')"


def test_other_kinds_are_compressed_too(describe: Describe, folder: Path) -> None:
    frame = pd.DataFrame({"n": [1, 2]})
    frame.to_excel(folder / "book.xlsx", index=False)
    (folder / "book.xlsx.gz").write_bytes(gzip.compress((folder / "book.xlsx").read_bytes()))
    (folder / "lines.jsonl.gz").write_bytes(gzip.compress(b'{"n": 1}\n{"n": 2}\n'))
    (folder / "nested.json.gz").write_bytes(gzip.compress(b'{"shop": "A", "rows": [{"n": 1}, {"n": 2}]}'))
    (folder / "server.log.gz").write_bytes(gzip.compress(b"started\nstopped\n"))
    abstracts, problems = describe("book.xlsx.gz", "lines.jsonl.gz", "nested.json.gz", "server.log.gz")
    assert not problems
    book, lines, nested, log = abstracts
    for abstract in (book, lines):
        table = loaded(abstract.read_hint)
        assert isinstance(table, pd.DataFrame)
        assert table["n"].sum() == 3
    assert "gzip.open('nested.json.gz')" in "".join([nested.read_hint, *(table.read for table in nested.tables)])
    assert "stopped" in log.text
    assert loaded(log.read_hint) == "started\nstopped\n"


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.csv.gz", gzip.compress(TABLE.encode() * 50)[:60], "ended before"),
        ("a.csv.gz", b"region;amount\nNorth;1\n", "plain text"),
        ("a.zip.gz", gzip.compress(b"PK"), "(.zip.gz)"),
        ("a.csv.gz.gz", gzip.compress(gzip.compress(b"a,b\n1,2\n")), "(.gz.gz)"),
        ("a.csv.gz", gzip.compress(b""), "empty"),
        ("a.csv.gz", gzip.compress(b"0" * 3_000_000), "more memory"),
    ],
    ids=["cut", "not packed", "a zip", "packed twice", "empty", "too large"],
)
def test_what_cannot_be_unpacked_is_refused_with_the_reason(
    describe: Describe, folder: Path, name: str, content: bytes, why: str
) -> None:
    (folder / name).write_bytes(content)
    abstracts, (problem,) = describe(name, packed=2_000_000)
    assert not abstracts
    assert why in problem.why


def test_feather_and_orc_are_read_with_every_digit(describe: Describe, folder: Path) -> None:
    table = pa.table({"id": pa.array([2**60 + 1, None, 3], pa.int64()), "city": ["Oslo", "Bergen", "Voss"]})
    pa.feather.write_feather(table, folder / "shops.feather")
    orc.write_table(table, folder / "shops.orc")
    abstracts, problems = describe("shops.feather", "shops.orc")
    assert not problems
    assert [abstract.format for abstract in abstracts] == ["feather", "orc"]
    for abstract in abstracts:
        frame = loaded(abstract.read_hint)
        assert isinstance(frame, pd.DataFrame)
        assert frame["id"].tolist() == [2**60 + 1, pd.NA, 3]
        assert abstract.tables[0].rows == 3


def test_a_text_that_begins_like_an_orc_file_is_a_text(describe: Describe, folder: Path) -> None:
    (folder / "a.csv").write_text("ORCID,n\n0000-1,5\n")
    assert [column.name for column in sole(describe("a.csv")).tables[0].columns] == ["ORCID", "n"]


def test_a_parquet_file_with_one_name_for_two_columns_is_read(describe: Describe, folder: Path) -> None:
    table = pa.table([pa.array([1, 2]), pa.array([3, 4])], names=["n", "n"])
    pyarrow.parquet.write_table(table, folder / "twice.parquet")
    frame = loaded(sole(describe("twice.parquet")).read_hint)
    assert isinstance(frame, pd.DataFrame)
    assert frame.to_numpy().sum() == 10
