"""A zip of tables: every table in it is described and read without unpacking; what is hostile in it stays closed."""

from __future__ import annotations

import gzip
import io
import shutil
import sqlite3
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from core.steps import FileAbstract, FileProblem
from tests.unit.workers.profiling.test_abstracts_more_kinds import FILES, frames, loaded, sole

Describe = Callable[..., tuple[list[FileAbstract], list[FileProblem]]]


def members(path: Path, contents: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)


def test_each_table_of_a_zip_is_read_out_of_it(describe: Describe, folder: Path) -> None:
    book = io.BytesIO()
    pd.DataFrame({"n": [1, 2]}).to_excel(book, index=False, engine="openpyxl")
    frame = pd.DataFrame({"wage": [1.5, 2.5]})
    frame.to_stata(folder / "pay.dta", write_index=False)
    with sqlite3.connect(folder / "shop.db") as connection:
        connection.execute("CREATE TABLE a AS SELECT 41 AS n")
        connection.execute("CREATE TABLE b AS SELECT 42 AS n")
    connection.close()
    contents = {
        "2025/january.csv": "region;amount\nNorth;1,5\nSouth;2,5\n".encode("utf-16"),
        "2025/it's.csv": b"a,b\n1,2\n",
        "book.xlsx": book.getvalue(),
        "pay.dta": (folder / "pay.dta").read_bytes(),
        "shop.db": (folder / "shop.db").read_bytes(),
        "ledger.ods": (FILES / "ledger.ods").read_bytes(),
        "readme.pdf.bak": b"x",
        "__MACOSX/._january.csv": b"\0\5\x16\7",
    }
    for each in ("pay.dta", "shop.db"):
        (folder / each).unlink()
    members(folder / "all.zip", contents)
    abstract = sole(describe("all.zip"))
    assert abstract.format == "zip"
    names = [table.name for table in abstract.tables]
    assert names[:5] == ["2025/january.csv", "2025/it's.csv", "book.xlsx", "pay.dta", "shop.db / a"]
    assert "MACOSX" not in abstract.text
    read = frames(abstract)
    assert read["2025/january.csv"]["amount"].sum() == 4
    assert read["book.xlsx"]["n"].sum() == 3
    assert read["pay.dta"]["wage"].sum() == 4
    assert read["shop.db / b"]["n"].sum() == 42
    assert read["ledger.ods / Accounts"].shape == (2, 2)
    assert sorted(path.name for path in folder.iterdir()) == ["all.zip"], "nothing is unpacked beside it"


def test_a_table_in_deep_folders_is_named_by_the_end_of_its_path(describe: Describe, folder: Path) -> None:
    name = "/".join(["销售部门" * 10] * 8) + "/january.csv"
    members(folder / "deep.zip", {name: b"a,b\n1,2\n"})
    abstract = sole(describe("deep.zip"))
    assert abstract.tables[0].name.endswith("/january.csv")
    assert frames(abstract)[abstract.tables[0].name]["b"].sum() == 2


def test_what_is_to_be_said_of_a_file_in_a_zip_is_said(describe: Describe, folder: Path) -> None:
    ragged = b"a,b,c\n" + b"1,x,2\n" * 9 + b"1,x,y,2\n"
    members(folder / "months.zip", {"jan.csv": ragged, "feb.csv": ragged, "plain.csv": b"a,b\n1,2\n3,4\n"})
    abstract = sole(describe("months.zip"))
    (told,) = [sentence for sentence in abstract.note.split(".csv: ") if "skips" in sentence]
    assert "1 line has more fields than the header" in told
    assert "jan.csv, feb.csv: " in abstract.note
    assert "plain.csv" not in abstract.note


def test_the_words_behind_codes_are_told_of_a_file_in_a_zip(describe: Describe, folder: Path) -> None:
    labels = {"vote": {1: "yes", 2: "no"}}
    pd.DataFrame({"vote": [1, 2, 1]}).to_stata(folder / "poll.dta", write_index=False, value_labels=labels)
    contents = {f"{'x' * 100}{number}.txt": b"words" for number in range(30)}
    members(folder / "all.zip", contents | {"poll.dta": (folder / "poll.dta").read_bytes()})
    assert "poll.dta:\nvote:  (1 = yes; 2 = no)" in sole(describe("all.zip")).text


def test_one_damaged_sheet_or_file_keeps_no_others_undescribed(describe: Describe, folder: Path) -> None:
    book = io.BytesIO()
    with pd.ExcelWriter(book, engine="openpyxl") as writer:
        pd.DataFrame({"n": range(500)}).to_excel(writer, sheet_name="long", index=False)
        pd.DataFrame({"m": [1, 2]}).to_excel(writer, sheet_name="short", index=False)
    with zipfile.ZipFile(book) as whole:
        parts = {name: whole.read(name) for name in whole.namelist()}
    parts["xl/worksheets/sheet1.xml"] = parts["xl/worksheets/sheet1.xml"][:9_000]
    members(folder / "cut.xlsx", parts)
    book_alone = sole(describe("cut.xlsx"))
    assert [(table.name, table.rows) for table in book_alone.tables] == [("long", None), ("short", 2)]
    assert book_alone.note.startswith("Sheet long is damaged and could not be read.")
    parts["xl/workbook.xml"] = parts["xl/workbook.xml"][:300]
    members(folder / "worse.xlsx", parts)
    contents = {name: (folder / name).read_bytes() for name in ("cut.xlsx", "worse.xlsx")}
    members(folder / "all.zip", contents | {"good.csv": b"a,b\n1,2\n3,4\n"})
    abstract = sole(describe("all.zip"))
    assert [table.name for table in abstract.tables] == ["cut.xlsx / short", "good.csv"]
    assert "Could not be read in the zip: worse.xlsx." in abstract.note
    assert "cut.xlsx: Sheet long is damaged" in abstract.note
    assert describe("worse.xlsx")[1]


def test_a_zip_without_tables_lists_its_files(describe: Describe, folder: Path) -> None:
    members(folder / "docs.zip", {"a/letter.docx": b"x" * 10, "b.bin": b"\0"})
    abstract = sole(describe("docs.zip"))
    assert not abstract.tables
    assert "a/letter.docx (10 bytes)" in abstract.text
    assert loaded(abstract.read_hint) == ["a/letter.docx", "b.bin"]


def test_an_archive_in_a_zip_stays_closed(describe: Describe, folder: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("deep.csv", "a,b\n1,2\n")
    members(folder / "nested.zip", {"inner.zip": inner.getvalue(), "t.csv": b"a,b\n3,4\n"})
    abstract = sole(describe("nested.zip"))
    assert [table.name for table in abstract.tables] == ["t.csv"]
    assert "not opened: inner.zip" in abstract.note


def test_a_zip_with_a_password_is_refused_with_the_reason(describe: Describe, folder: Path) -> None:
    members(folder / "locked.zip", {"a.csv": b"a,b\n1,2\n", "b.csv": b"a,b\n1,2\n"})
    packed = bytearray((folder / "locked.zip").read_bytes())
    for start, place in ((b"PK\3\4", 6), (b"PK\1\2", 8)):  # the bit by which a zip says that a file is encrypted
        found = -1
        while (found := packed.find(start, found + 1)) >= 0:
            packed[found + place] |= 1
    (folder / "locked.zip").write_bytes(packed)
    abstracts, (problem,) = describe("locked.zip")
    assert not abstracts
    assert "protected by a password" in problem.why


def test_one_locked_file_among_others_is_named(describe: Describe, folder: Path) -> None:
    members(folder / "some.zip", {"a.csv": b"a,b\n1,2\n", "b.csv": b"a,b\n1,2\n"})
    packed = bytearray((folder / "some.zip").read_bytes())
    packed[packed.find(b"PK\3\4") + 6] |= 1
    packed[packed.find(b"PK\1\2") + 8] |= 1
    (folder / "some.zip").write_bytes(packed)
    (abstract,), _ = describe("some.zip")
    assert "Locked by a password in the zip: a.csv." in abstract.note
    assert len(abstract.tables) == 1


def test_a_zip_that_holds_itself_ends(describe: Describe, folder: Path) -> None:
    """A quine: whoever opens zips in zips never finishes. Here the member has the zip's own bytes as far as they go."""
    members(folder / "r.zip", {"r/r.zip": b"PK\x03\x04" + bytes(100)})
    shutil.copy(folder / "r.zip", folder / "r2.zip")
    members(folder / "r.zip", {"r/r.zip": (folder / "r2.zip").read_bytes()})
    abstract = sole(describe("r.zip"))
    assert "not opened: r/r.zip" in abstract.note


def test_a_member_that_would_unpack_to_too_much_is_left_closed(describe: Describe, folder: Path) -> None:
    members(folder / "bomb.zip", {"zeros.csv": b"0,0\n" * 2_000_000, "t.csv": b"a,b\n3,4\n"})
    abstract = sole(describe("bomb.zip", member=1_000_000))
    assert [table.name for table in abstract.tables] == ["t.csv"]
    assert "Too large in the zip to be described here, but code can open them: zeros.csv." in abstract.note


SMALL_PARTS = {"member": 60_000, "packed": 60_000, "part": 30_000, "whole": 20_000, "head": 4_000, "block": 2_000}


@pytest.mark.parametrize("name", ["big.zip", "big.csv.gz"])
def test_the_beginning_of_a_packed_text_that_is_too_large_is_described(
    describe: Describe, folder: Path, name: str
) -> None:
    rows = "id,amount,day\n" + "".join(f"{n},{n / 2},2024-01-{n % 28 + 1:02d}\n" for n in range(10_000))
    if name.endswith("gz"):
        (folder / name).write_bytes(gzip.compress(rows.encode()))
    else:
        members(folder / name, {"big.csv": rows.encode()})
    abstract = sole(describe(name, **SMALL_PARTS))
    (table,) = abstract.tables
    assert [column.name for column in table.columns] == ["id", "amount", "day"]
    assert (table.rows, table.sampled) == (None, True)
    assert "Only the beginning of the file was looked at. Its rows were not counted." in abstract.note
    assert len(loaded(table.read or abstract.read_hint)) == 10_000


def test_a_zip_that_lies_about_its_sizes_is_counted_as_it_comes(describe: Describe, folder: Path) -> None:
    members(folder / "lie.zip", {"zeros.csv": b"0,0\n" * 2_000_000})
    data = (folder / "lie.zip").read_bytes()
    size = (8_000_000).to_bytes(4, "little")
    assert data.count(size) == 2
    (folder / "lie.zip").write_bytes(data.replace(size, (10).to_bytes(4, "little")))
    abstract = sole(describe("lie.zip", member=1_000_000))
    assert not abstract.tables
    assert "zeros.csv" in abstract.note


def test_members_together_are_bounded(describe: Describe, folder: Path) -> None:
    members(folder / "many.zip", {f"{n}.csv": b"a,b\n" + b"1,2\n" * 20_000 for n in range(10)})
    abstract = sole(describe("many.zip", packed=300_000))
    assert len(abstract.tables) == 3
    assert "Too large in the zip" in abstract.note


def test_overlapping_members_do_not_multiply(describe: Describe, folder: Path) -> None:
    """All entries of the directory point to one kernel of data: the zip bomb without nesting."""
    body = zlib.compressobj(9, zlib.DEFLATED, -15)
    plain = b"a,b\n" + b"1,2\n" * 100_000
    content = body.compress(plain) + body.flush()
    info = b"PK\x03\x04\x14\0\0\0\x08\0" + bytes(4) + zlib.crc32(plain).to_bytes(4, "little")
    local = info + len(content).to_bytes(4, "little") + len(plain).to_bytes(4, "little") + b"\5\0\0\0a.csv" + content
    directory = b""
    for _ in range(300):
        directory += (
            b"PK\x01\x02\x14\0\x14\0\0\0\x08\0" + bytes(4) + zlib.crc32(plain).to_bytes(4, "little")
            + len(content).to_bytes(4, "little") + len(plain).to_bytes(4, "little")
            + b"\5\0" + bytes(14) + (0).to_bytes(2, "little") + b"a.csv"
        )  # fmt: skip
    end = b"PK\x05\x06" + bytes(4) + (300).to_bytes(2, "little") * 2
    end += len(directory).to_bytes(4, "little") + len(local).to_bytes(4, "little") + bytes(2)
    (folder / "overlap.zip").write_bytes(local + directory + end)
    abstracts, problems = describe("overlap.zip")
    tables = [table for abstract in abstracts for table in abstract.tables]
    assert len(tables) <= 1
    assert len(abstracts) + len(problems) == 1


@pytest.mark.parametrize("name", ["../../evil.csv", "/etc/evil.csv", "a\\..\\evil.csv"])
def test_a_name_in_a_zip_is_never_a_path(describe: Describe, folder: Path, name: str) -> None:
    (folder / "work").mkdir()
    members(folder / "slip.zip", {name: b"a,b\n3,4\n"})
    abstract = sole(describe("slip.zip"))
    assert loaded(abstract.tables[0].read)["b"].sum() == 4
    assert not list(folder.parent.glob("evil*"))
    assert not Path("/etc/evil.csv").exists()
