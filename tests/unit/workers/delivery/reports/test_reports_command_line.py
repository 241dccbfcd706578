"""The command line of a program that was made from a thread says what is wrong with the files that it gets."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from core.steps import CellRan, FileAbstract, StatementRan
from workers.agent.code.program import Part
from workers.delivery.reports.command_line import Program, program_files, program_zip

pytestmark = pytest.mark.process

CODE = """\
import csv
rows = list(csv.DictReader(open("sales.csv", encoding="utf-8"), delimiter=";"))
print("total units", sum(int(row["Stück"]) for row in rows if row["region"]))"""
CELL = CellRan(call_id="c1", cell_id="x1", title="Totals", code=CODE, status="ok", stdout="total units 3\n")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    made = Program(
        question="How many?",
        language="en",
        parts=[(1, Part(CELL, CODE, "whole"))],
        wanted=frozenset({"x1"}),
        inputs=[FileAbstract(path="sales.csv", format="csv", size=1, sha256="0" * 64)],
        columns={"sales.csv": ("region", "Stück")},
    )
    for path, text in program_files(made).items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    return tmp_path


def ran(folder: Path, text: str, encoding: str = "utf-8") -> subprocess.CompletedProcess[str]:
    (folder / "newer.csv").write_text(text, encoding=encoding)
    command = [sys.executable, "main.py", "newer.csv"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def test_the_folder_of_a_program_keeps_letters_with_accents_as_plain_ones() -> None:
    question = "Quel est le retour sur dépenses ?"
    made = Program(question=question, language="fr", parts=[], wanted=frozenset())
    assert made.name == "quel-est-le-retour-sur-depenses"


@pytest.mark.parametrize(
    ("kind", "url", "driver"),
    [
        ("postgres", ", `postgresql+psycopg://USER:PASSWORD@HOST:5432/DATABASE`", "psycopg[binary]=="),
        ("mysql", ", `mysql+pymysql://USER:PASSWORD@HOST:3306/DATABASE`", "pymysql=="),
        ("duckdb", ", `duckdb:///FILE`", "duckdb-engine"),
        ("sqlite", ", `sqlite:///FILE`", ""),
        ("", "", ""),
    ],
)
def test_a_program_names_the_variables_of_its_sources_and_the_drivers_for_them(
    kind: str, url: str, driver: str
) -> None:
    code = 'print(query("SELECT 1", "our-shop"))'
    asked = CELL.model_copy(update={"code": code, "statements": (StatementRan(source="our-shop", sql="SELECT 1"),)})
    part = Part(asked, code, "whole")
    made = Program(question="How many?", language="en", parts=[(1, part)], wanted=frozenset(), kinds={"our-shop": kind})
    with zipfile.ZipFile(io.BytesIO(program_zip(made, "", {}))) as archive:
        files = {name.partition("/")[2]: archive.read(name).decode() for name in archive.namelist()}
    assert f"- `OUR_SHOP_DATABASE_URL`: our-shop{url}\n" in files["README.md"]
    assert "# OUR_SHOP_DATABASE_URL\n" in files["analysis.py"]
    lines = files["requirements.txt"].splitlines()
    drivers = [line for line in lines if line.startswith(("psycopg", "pymysql", "duckdb"))]
    assert len(drivers) == bool(driver)
    assert all(line.startswith(driver) for line in drivers)


def test_a_file_without_a_column_that_the_analysis_needs_is_named_with_it(program: Path) -> None:
    done = ran(program, "region;units\nN;1\nS;2\n")
    assert done.returncode == 1
    assert done.stderr == (
        "main.py: newer.csv has no column Stück. The analysis needs region, Stück. "
        "It stopped in step 1 (KeyError: 'Stück').\n"
    )


def test_a_file_with_all_columns_gives_the_figures(program: Path) -> None:
    done = ran(program, "Stück;region\n1;N\n2;S\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "# 1. Totals\ntotal units 3\n"


def test_another_error_is_shown_as_it_is(program: Path) -> None:
    done = ran(program, "region;Stück\nN;many\n")
    assert done.returncode == 1
    assert "ValueError: invalid literal" in done.stderr
    assert "has no column" not in done.stderr


def test_a_column_counts_in_every_encoding_of_text(program: Path) -> None:
    for encoding in ("cp1252", "utf-16"):
        done = ran(program, "region;Stück\nN;1\n", encoding)
        assert done.returncode == 1
        assert "UnicodeDecodeError" in done.stderr or "UnicodeError" in done.stderr
        assert "has no column" not in done.stderr
