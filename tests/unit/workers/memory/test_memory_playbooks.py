"""Playbooks: the page is read and written without loss, cells become functions that give the same, drift is found."""

from __future__ import annotations

import contextlib
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.steps import ColumnNote, FileAbstract, TableNote
from core.team_folder.folder import TeamFolder
from workers.memory.playbooks.lifting import Cell, lift
from workers.memory.playbooks.matching import Candidate, PlaybookIndex, drift
from workers.memory.playbooks.page import (
    Input,
    Parameter,
    Playbook,
    PlaybookFault,
    PlaybookStage,
    file_name,
    lint,
    read_playbook,
    write_playbook,
)
from workers.memory.playbooks.shelf import Shelf

CHURN = Playbook(
    name="Monthly churn by plan",
    when="How many customers left in October, by plan?",
    stages=(
        PlaybookStage("Load the customers", "the number of rows", "def load(*, month=10):\n    return month"),
        PlaybookStage("Count who left", "a table with plan, left", "left = load()\nleft"),
    ),
    words=("cancellations",),
    inputs=(
        Input(file="customers.csv", columns=("customer_id", "plan", "churned")),
        Input(source="shop", table="orders", columns=("id",)),
    ),
    parameters=(Parameter("month", "int", 10, "named in the question"),),
    checks=("the report gives: left · basic",),
    owner="Ana",
    approved=("Ben",),
    kept="2026-11-03",
    thread="T1:C1:100.1",
    proof="Reproduced.",
)  # fmt: skip


def file(name: str, *columns: str) -> FileAbstract:
    notes = tuple(ColumnNote(name=column, dtype="object") for column in columns)
    table = TableNote(name=name, rows=1, columns=notes)
    return FileAbstract(path=name, format="csv", size=1, sha256="0" * 64, tables=(table,))


def unlined(book: Playbook) -> Playbook:
    return replace(book, stages=tuple(replace(stage, line=0) for stage in book.stages))


def test_a_written_page_reads_as_the_same_playbook() -> None:
    assert unlined(read_playbook(write_playbook(CHURN))) == CHURN
    assert lint(read_playbook(write_playbook(CHURN))) == []


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("# no header", 1, "no header"),
        ("---\nplaybook: [\n---\n", 3, "no YAML"),
        ("---\nplaybook: a\n---\n## 1. x\n", 1, "needs"),
        ("---\nplaybook: a\nwhen: b\ncolour: red\n---\n## 1. x\n", 1, "unknown name 'colour'"),
        ("---\nplaybook: a\nwhen: b\n---\ntext\n", 0, "no stage"),
        ("---\nplaybook: a\nwhen: b\n---\n```python\nx\n```\n", 5, "before the first stage"),
        ("---\nplaybook: a\nwhen: b\n---\n## 1. x\n```python\n1\n", 8, "no end"),
        ("---\nplaybook: a\nwhen: b\ninputs: x\n---\n## 1. x\n", 1, "must be a list"),
    ],
)
def test_a_page_that_is_no_playbook_says_where_and_why(text: str, line: int, says: str) -> None:
    with pytest.raises(PlaybookFault) as caught:
        read_playbook(text)
    assert caught.value.line == line
    assert says in caught.value.message


@pytest.mark.parametrize("value", ["2026-02-30", "2026-11-03 25:00:00", "!!int x", "!!timestamp x", "[" * 3_000])
def test_a_value_that_is_none_of_its_kind_costs_its_own_page_and_no_other(tmp_path: Path, value: str) -> None:
    wrong = write_playbook(CHURN).replace("'2026-11-03'", value)
    with pytest.raises(PlaybookFault):
        read_playbook(wrong)
    folder = tmp_path / "everyone" / "playbooks"
    folder.mkdir(parents=True)
    (folder / "right.md").write_text(write_playbook(CHURN), encoding="utf-8")
    (folder / "wrong.md").write_text(wrong, encoding="utf-8")
    index = Shelf(TeamFolder(tmp_path)).index(["everyone"])
    assert [each.file for each in index.candidates] == ["everyone/playbooks/right.md"]


def test_the_model_reads_a_page_without_the_types_of_its_columns(tmp_path: Path) -> None:
    typed = tuple(replace(each, types=(("id", "integer"), ("plan", "text"))) for each in CHURN.inputs)
    folder = tmp_path / "everyone" / "playbooks"
    folder.mkdir(parents=True)
    (folder / "churn.md").write_text(write_playbook(replace(CHURN, inputs=typed)), encoding="utf-8")
    note = Shelf(TeamFolder(tmp_path)).find(["everyone"], CHURN.when, [])
    assert note is not None
    assert note.text == write_playbook(CHURN)


def test_the_linter_finds_what_is_odd() -> None:
    odd = replace(
        CHURN,
        stages=(PlaybookStage("A", "", "def f(:"), PlaybookStage("B", "x", ""), PlaybookStage("C", "x", "def g(): 1"),
                PlaybookStage("D", "x", "def g(): 2")),
        inputs=(Input(file="a.csv"), Input()),
        owner="",
    )  # fmt: skip
    said = " ".join(sentence for _, sentence in lint(odd))
    for part in ("is no Python", "no block of Python", "does not say what it shows", "two stages define g()",
                 "no stage uses the parameter month", "lists no columns", "needs either", "no owner"):  # fmt: skip
        assert part in said


def run(codes: list[str]) -> tuple[str, dict[str, Any]]:
    names: dict[str, Any] = {}
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        for code in codes:
            exec(compile(code, "cell", "exec"), names)
    return out.getvalue(), names


SAMPLES = {
    "values go from stage to stage": ["n = 3\nm = n * 2", "n = n + m\nprint(n)", "print(n, m)"],
    "a function stays on top": ["import math\ndef half(x):\n    return x / 2", "a = half(9)\nprint(a, math.floor(a))"],
    "a function that reads a variable": ["t = 10\ndef share(x):\n    return x / t\nprint(share(5))", "print(share(1))"],
    "what is changed in place": ["rows = []", "rows.append(1)\nrows[0] += 4\nprint(rows)", "print(len(rows), rows)"],
    "a loop's names": ["for n in range(3):\n    last = n\nprint(last)", "print(last, n)"],
    "a string of several lines": ['text = """one\n  two\nthree"""\nprint(text)', "print(text.upper())"],
    "names of a comprehension": ["k = 2\nprint([k * i for i in range(3)])", "print({i: k for i in 'ab'})"],
    "a value that is shown": ["d = {'a': 1}\nd", "d['b'] = 2\nsorted(d)", "print(d)"],
    "two statements on a line": ["a = 1; b = 2", "print(a + b)"],
    "a deleted name": ["a = 1", "b = a\ndel a", "print(b)"],
    "a condition that sets": ["a = 1\nif a:\n    b = 5", "print(b)"],
    "an augmented number": ["n = 1", "n += 4", "print(n)"],
    "with and try": [
        "import io\nwith io.StringIO('x,y') as f:\n    t = f.read()\nprint(t)",
        "try:\n    int(t)\nexcept ValueError as e:\n    print('no', t)",
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", SAMPLES)
def test_lifted_cells_print_and_leave_what_the_cells_did(name: str) -> None:
    codes = SAMPLES[name]
    lifted, _ = lift([Cell(str(n), f"Step {n}", code) for n, code in enumerate(codes)], set(), set(), "")
    before, names = run(codes)
    after, now = run([each.code for each in lifted])
    assert after == before
    read_later = {key for key in names if not key.startswith("__") and any(key in code for code in codes[1:])}
    plain = {key: names[key] for key in read_later if isinstance(names[key], int | str | list | dict)}
    assert {key: now[key] for key in plain if key in now} == {key: plain[key] for key in plain if key in now}


def test_files_and_words_of_the_question_become_parameters_and_columns_do_not() -> None:
    code = (
        'data = open("sales.csv").read()\n'
        'ok = [r for r in rows if r["month"] == "October" and r["n"] > 90]\n'
        'print("month")'
    )
    lifted, parameters = lift(
        [Cell("1", "Read", "rows = []"), Cell("2", "Count them", code)],
        {"sales.csv"},
        {"month", "n"},
        "What left in October, above 90, by month?",
    )
    assert [(each.name, each.value) for each in parameters] == [
        ("sales_file", "sales.csv"),
        ("month", "October"),
        ("n", 90),
    ]
    assert "def count_them(rows, *, sales_file='sales.csv', month='October', n=90):" in lifted[1].code
    assert 'print("month")' in lifted[1].code


def test_a_playbook_is_found_by_other_words_for_it_and_by_its_columns() -> None:
    other = replace(CHURN, name="Revenue per region", when="What did each region sell?", words=(), inputs=())
    index = PlaybookIndex([Candidate(f"{n}.md", "", book) for n, book in enumerate((CHURN, other))])
    found = index.match("cancellations per month and plan, please: churn again")
    assert found is not None
    assert found.playbook is CHURN
    assert index.match("What is the weather like tomorrow in Rome?") is None
    assert index.match("") is None


KPIS = replace(
    CHURN,
    name="Monthly shop KPIs",
    when="KPI table by month for January to October 2026, in EUR: net revenue, number of orders, buying customers, "
    "average order value, refunds and net revenue after refunds. Which month was best and which worst, and why?",
    words=(),
    inputs=tuple(
        Input(source="shop", table=f"public.{table}", columns=("id", "month", "country"))
        for table in ("orders", "customers", "refunds", "fx_rates")
    ),
)


@pytest.mark.parametrize(
    ("question", "fits"),
    [
        (KPIS.when, True),
        (KPIS.when.replace("January to October 2026", "June to November 2027").replace(", and why", ""), True),
        ("KPI table for the shop by month", True),
        ("shop kpis with orders, customers and refunds", True),
        ("Support tickets by month from January to October, in hours: which month was best and which worst?", False),
        ("Ticket table by month in 2026: number of tickets, median hours. Which was best, which worst?", False),
        ("Net revenue by country for January to October 2026, in EUR", False),
        ("Refunds by reason and month for January to October 2026, in EUR. Which was best?", False),
        ("How many orders did customers place per month, and which refunds followed?", False),
        ("monthly tickets", False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("others", [0, 6])
def test_a_playbook_is_found_by_the_question_that_it_was_kept_from(question: str, fits: bool, others: int) -> None:
    books = [KPIS, *(replace(CHURN, name=f"Report {n}", when=f"What of matter{n}?", words=()) for n in range(others))]
    found = PlaybookIndex([Candidate(f"{n}.md", "", book) for n, book in enumerate(books)]).match(question)
    assert (found is not None) == fits
    assert found is None or found.playbook is KPIS


def test_a_short_question_is_said_again_as_a_whole() -> None:
    book = replace(CHURN, name="Attrition", words=(), inputs=())
    index = PlaybookIndex([Candidate("1.md", "", book)])
    assert index.match("How many customers left in October, by plan?") is not None
    assert index.match("How many customers left in October, by region?") is None


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("the playbook revenue  per Region, please", "Revenue per region"),
        ("run playbook Revenue per region EMEA", "Revenue per region EMEA"),
        ("请按手册 Revenue per region 来做", "Revenue per region"),
        ("units sold per area", None),
        ("which playbook is about units per areas?", None),
    ],
)
def test_a_playbook_is_asked_for_by_its_whole_name(question: str, name: str | None) -> None:
    names = ["Revenue per region", "Revenue per region EMEA", *(f"Revenue of region {n}" for n in range(4))]
    books = [replace(CHURN, name=each, when="What did each region sell?", words=(), inputs=()) for each in names]
    found = PlaybookIndex([Candidate(f"{n}.md", "", book) for n, book in enumerate(books)]).match(question)
    assert (found.playbook.name if found is not None else None) == name


def test_missing_columns_are_named_with_the_nearest_one() -> None:
    lines = drift(
        CHURN, [file("customers.csv", "customer_id", "plan_type", "churned")], {"shop.orders": {"order_id": "int"}}
    )
    assert lines == (
        "customers.csv: no column “plan”, the nearest is “plan_type”",
        "shop.orders: no column “id”",
    )
    assert drift(CHURN, [file("customers_nov.csv", "customer_id", "plan", "churned")], {}) == ()


def test_drift_is_said_in_the_language_of_the_turn() -> None:
    files = [file("customers.csv", "customer_id", "plan_type", "churned")]
    assert drift(CHURN, files, {"shop.orders": None}, "de") == (
        "customers.csv: keine Spalte “plan”, am nächsten kommt “plan_type”",
        "shop.orders: keine Tabelle, die gelesen werden darf",
    )


def test_a_name_in_any_script_gives_a_file_name() -> None:
    assert file_name("Monthly churn, by plan!") == "monthly-churn-by-plan"
    assert file_name("Größe gegenüber Vorjahr (été)") == "grosse-gegenuber-vorjahr-ete"
    assert file_name("月度流失").startswith("playbook-")
