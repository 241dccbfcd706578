"""How a cell makes its names."""

from __future__ import annotations

import pytest

from workers.agent.code.definitions import STATEMENT_CHARS, made_in, read_in


@pytest.mark.parametrize(
    ("code", "made"),
    [
        ("a = 1", [("a", "a = 1", True)]),
        ("a: int = 1", [("a", "a: int = 1", True)]),
        ("a, (b, c) = f()", [(name, "a, (b, c) = f()", True) for name in "abc"]),
        ("a += 1", [("a", "a += 1", False)]),
        ("df['x'] = df.y * 2", [("df", "df['x'] = df.y * 2", False)]),
        ("df.loc[df.x > 1, 'y'] = 0", [("df", "df.loc[df.x > 1, 'y'] = 0", False)]),
        ("df.dropna(inplace=True)", [("df", "df.dropna(inplace=True)", False)]),
        ("def f(a, b=2):\n    return a", [("f", "def f(a, b=2):", True)]),
        ("if x:\n    a = 1\nelse:\n    b = 2", [("a", "a = 1", True), ("b", "b = 2", True)]),
        ("with open('f') as f:\n    text = f.read()", [("text", "text = f.read()", True)]),
        ("for c in 'ab':\n    df[c] = 1", [("df", "for c in 'ab': df[c] = 1", False)]),
        ("@cache\ndef f(a):\n    return a", [("f", "def f(a):", True)]),
    ],
)
def test_statements_that_give_a_name_its_value_or_change_it_make_it(
    code: str, made: list[tuple[str, str, bool]]
) -> None:
    assert [(each.name, each.text, each.anew) for each in made_in(code)] == made


@pytest.mark.parametrize("code", ["import pandas as pd", "for n in rows:\n    last = n", "print(a)", "no python", ""])
def test_imports_loops_and_what_is_shown_make_nothing(code: str) -> None:
    assert made_in(code) == ()


def test_a_cell_reads_what_it_does_not_set() -> None:
    assert read_in("total = df.a.sum() + rate\nprint(total)") == {"df", "rate", "print"}
    assert read_in("no python") == set()


def test_a_statement_knows_what_it_reads_beyond_its_text() -> None:
    (made,) = made_in(f"df = start.assign({', '.join(f'column_{n}=0' for n in range(99))}).join(rates)")
    assert len(made.text) <= STATEMENT_CHARS
    assert made.reads == {"start", "rates"}


def test_code_that_is_too_deep_to_write_out_makes_nothing() -> None:
    code = f"text = {' + '.join(['a'] * 900)}"
    assert made_in(code) == ()
    assert read_in(code) == {"a"}
