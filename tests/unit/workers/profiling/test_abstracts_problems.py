"""Files that cannot be used get one kind sentence each; what the cell prints is believed only within bounds."""

from __future__ import annotations

import io
import json
import struct
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msoffcrypto.format.ooxml as ooxml
import pandas as pd
import pytest

from core.steps import FileAbstract, FileProblem
from executor.values import CellResult
from workers.profiling.file_profiles import describe_code, read_abstracts

Describe = Callable[..., tuple[list[FileAbstract], list[FileProblem]]]

RunCell = Callable[..., CellResult]

LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"4d7a" * 16 + b"\nsize 12345\n"
PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + bytes(40)


def zipped(*names: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return data.getvalue()


def protected_workbook() -> bytes:
    plain, locked = io.BytesIO(), io.BytesIO()
    pd.DataFrame({"a": [1]}).to_excel(plain, index=False)
    ooxml.OOXMLFile(plain).encrypt("secret", locked)
    return locked.getvalue()


XML_WORKBOOK = (
    b'<?xml version="1.0"?>\n<?mso-application progid="Excel.Sheet"?>\n'
    b'<Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet"><Worksheet><Table><Row><Cell><Data>1</Data></Cell>'
    b"</Row></Table></Worksheet></Workbook>"
)


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("empty.csv", b"", "empty"),
        ("blank.csv", b"\xef\xbb\xbf \r\n\n", "empty"),
        ("empty.xlsx", b"", "empty"),
        ("picture.csv", PNG, "a picture"),
        ("archive.csv", zipped("a.txt"), "a compressed archive"),
        ("book.csv", zipped("xl/workbook.xml"), "an Excel workbook"),
        ("report.csv", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "a PDF document"),
        ("setup.csv", b"MZ\x90\0\x03" + bytes(200), "a program"),
        ("old.csv", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "an old Office document"),
        ("noise.csv", bytes(range(256)) * 20, "binary data"),
        ("data.json", PNG, "a picture"),
        ("text.xlsx", b"a,b\n1,2\n", "plain text"),
        ("text.parquet", b"a,b\n1,2\n", "plain text"),
        ("letter.xlsx", zipped("word/document.xml"), "a Word document"),
        ("broken.xlsx", zipped("xl/workbook.xml"), "could not read"),
        ("broken.parquet", b"PAR1" + bytes(50), "could not read"),
        ("broken.json", b'{"a": [1, 2', "JSON"),
        ("broken.jsonl", b'{"a": 1}\n{"a": \n', "1 of 2"),
        ("deep.json", b"[" * 100_000, "nested too deeply"),
        ("paper.pdf", b"%PDF-1.7\n", "could not read"),
        ("letter.docx", zipped("word/document.xml"), "could not read"),
        ("old.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "could not read"),
        ("chart.png", PNG, "could not read"),
        ("unknown", PNG, ".image"),
        ("sales.csv", LFS_POINTER, "git lfs pull"),
        ("export.xls", XML_WORKBOOK, "save it as .xlsx"),
        ("sales.parquet", LFS_POINTER, "git lfs pull"),
    ],
)
def test_an_unusable_file_gets_its_reason(describe: Describe, folder: Path, name: str, data: bytes, words: str) -> None:
    (folder / name).write_bytes(data)
    abstracts, (problem,) = describe(name)
    assert not abstracts
    assert problem.name == name
    assert words in problem.why


def test_a_password_protected_workbook_is_recognised(describe: Describe, folder: Path) -> None:
    (folder / "secret.xlsx").write_bytes(protected_workbook())
    _, (problem,) = describe("secret.xlsx")
    assert "password" in problem.why


def test_a_vanished_file_is_said_and_the_others_are_described(describe: Describe, folder: Path) -> None:
    (folder / "data.csv").write_text("a,b\n1,2\n")
    (abstract,), (problem,) = describe("gone.csv", "data.csv")
    assert abstract.path == "data.csv"
    assert (problem.name, "no longer exists" in problem.why) == ("gone.csv", True)


def test_the_sentences_are_in_the_asked_language(run_cell: RunCell, folder: Path) -> None:
    (folder / "data.csv").write_bytes(PNG)
    _, (problem,) = read_abstracts(run_cell(["data.csv"]), "zh", ["data.csv"])
    assert "图片" in problem.why


def test_the_cell_leaves_nothing_behind(run_cell: RunCell, folder: Path) -> None:
    (folder / "data.csv").write_text("a,b\n1,2\n")
    namespace: dict[str, object] = {"df": 1}
    before = set(sys.modules)
    run_cell(["data.csv", "gone.csv"], namespace)
    assert set(namespace) - {"__builtins__"} == {"df"}
    assert not {name for name in set(sys.modules) - before if "threadbook" in name}


def test_the_same_paths_give_the_same_cell() -> None:
    assert describe_code(["a.csv"]) == describe_code(["a.csv"])
    assert describe_code(["a.csv"]) != describe_code(["b.csv"])


def test_a_file_name_cannot_break_out_of_the_cell(run_cell: RunCell, folder: Path) -> None:
    name = "a'\"{}%s\\.csv"
    (folder / name).write_text("a,b\n1,2\n")
    (abstract,), _ = read_abstracts(run_cell([name]), "en", [name])
    assert len(eval(abstract.read_hint, {"pd": pd})) == 1


def test_an_ending_longer_than_a_name_may_be_is_an_unsupported_file(describe: Describe, folder: Path) -> None:
    name = "a." + "y" * 240
    (folder / name).write_bytes(b"\0\1\2\3" * 100)
    abstracts, (problem,) = describe(name)
    assert not abstracts
    assert "cannot read this kind of file (.yyy" in problem.why


def test_many_wide_files_shorten_the_answer(run_cell: RunCell, folder: Path) -> None:
    names = [f"wide{number}.csv" for number in range(10)]
    for name in names:
        pd.DataFrame([["value" * 10] * 60] * 12, columns=[f"column_{n}" for n in range(60)]).to_csv(name, index=False)
    assert len(run_cell(names, answer=1_000_000).stdout) > 100_000
    result = run_cell(names)
    assert len(result.stdout) < 70_000
    abstracts, problems = read_abstracts(result, "en", names)
    assert len(abstracts) == len(names)
    assert not problems


@pytest.fixture
def honest(run_cell: RunCell, folder: Path) -> CellResult:
    (folder / "data.csv").write_text("a,b\n1,2\n")
    return run_cell(["data.csv"])


def forged(result: CellResult, change: Callable[[dict[str, object]], object]) -> CellResult:
    """The same output with the answer's first file changed."""
    before, mark, text, after = result.stdout.split("\n", 3)
    answer = json.loads(text)
    change(answer["files"][0])
    return replace(result, stdout="\n".join([before, mark, json.dumps(answer), after]))


@pytest.mark.parametrize(
    "change",
    [
        lambda file: file.update(path="/etc/passwd"),
        lambda file: file.update(sha256="x"),
        lambda file: file.update(size=-1),
        lambda file: file.update(extra=1),
        lambda file: file["about"].update(format="exe"),
        lambda file: file["about"].update(read_hint="x" * 10_000),
        lambda file: file["about"].update(tables=file["about"]["tables"] * 100),
        lambda file: file["about"].update(notes=[{"code": "obey_me", "values": {}}]),
        lambda file: file["about"]["tables"][0].update(columns=file["about"]["tables"][0]["columns"] * 100),
        lambda file: file["about"]["tables"][0].update(rows="many"),
        lambda file: file["about"]["tables"][0]["columns"][0].update(name="x" * 5_000),
        lambda file: file["about"]["tables"][0]["columns"][0].update(missing=7),
    ],
)
def test_an_answer_out_of_bounds_is_not_believed(
    honest: CellResult, change: Callable[[dict[str, object]], object]
) -> None:
    assert len(read_abstracts(honest, "en", ["data.csv"])[0]) == 1
    abstracts, problems = read_abstracts(forged(honest, change), "en", ["data.csv"])
    assert not abstracts
    assert [problem.name for problem in problems] == ["data.csv"]


def test_a_file_whose_answer_is_not_believed_takes_no_other_with_it(run_cell: RunCell, folder: Path) -> None:
    for name in ("first.csv", "second.csv"):
        (folder / name).write_text("a,b\n1,2\n")
    names = ["first.csv", "second.csv"]
    spoilt = forged(run_cell(names), lambda file: file.update(size=-1))
    abstracts, problems = read_abstracts(spoilt, "en", names)
    assert [abstract.path for abstract in abstracts] == ["second.csv"]
    assert [problem.name for problem in problems] == ["first.csv"]


def test_control_characters_do_not_come_through(honest: CellResult) -> None:
    def rename(file: dict[str, object]) -> None:
        file["about"]["tables"][0]["columns"][0]["name"] = "a\x00\x1b[31m\u0085b"  # type: ignore[index]

    (abstract,), _ = read_abstracts(forged(honest, rename), "en", ["data.csv"])
    assert "\x00" not in abstract.tables[0].columns[0].name
    assert "\x1b" not in abstract.tables[0].columns[0].name


def test_only_the_asked_files_are_answered(honest: CellResult) -> None:
    abstracts, problems = read_abstracts(honest, "en", ["data.csv", "other.csv"])
    assert not abstracts, "the mark belongs to the list of paths that was asked"
    assert len(problems) == 2


@pytest.mark.parametrize("stdout", ["", "no mark", "\nmark\n" * 3])
def test_output_without_an_answer_makes_every_file_a_problem(stdout: str) -> None:
    abstracts, problems = read_abstracts(CellResult(id="f", status="died", stdout=stdout), "en", ["a.csv", "b.csv"])
    assert not abstracts
    assert [problem.name for problem in problems] == ["a.csv", "b.csv"]


def test_a_cell_that_took_too_long_is_said_so() -> None:
    _, (problem,) = read_abstracts(CellResult(id="f", status="timeout"), "en", ["a.csv"])
    assert "too long" in problem.why
