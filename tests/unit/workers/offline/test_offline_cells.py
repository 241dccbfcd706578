"""Cells composed from functions: what stands at their head, how values are written, what a cell may define."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import pytest

from workers.offline.cells import Code, call, cell, functions, literal, templates


def _values(function: ast.FunctionDef) -> dict[str, Any]:
    """A value for each keyword parameter, by its type."""
    made: dict[str, Any] = {}
    for parameter in function.args.kwonlyargs:
        kind = ast.unparse(parameter.annotation) if parameter.annotation else ""
        made[parameter.arg] = Code("some.total") if kind == "Any" else {"bool": True, "int": 3}.get(kind, 'wo"rd')
    return made


@pytest.mark.parametrize("name", sorted(templates()))
def test_every_template_is_called_with_a_value_for_each_parameter(name: str) -> None:
    (function,) = ast.parse(functions()[name]).body
    assert isinstance(function, ast.FunctionDef)
    assert ast.get_docstring(function)
    (called,) = ast.parse(call(name, _values(function))).body
    assert isinstance(called, ast.Expr)
    assert isinstance(called.value, ast.Call)
    assert {keyword.arg for keyword in called.value.keywords} == {one.arg for one in function.args.kwonlyargs}


def test_a_missing_value_is_refused() -> None:
    with pytest.raises(KeyError):
        call("tables", {"file": "a.xlsx"})


def test_a_cell_imports_and_defines_what_no_earlier_cell_has() -> None:
    values = {"first": Code("raw"), "files": "a.csv"}
    load = cell("load", "load", "en", values, before=["rows = 1", "raw = to_dates(pd.read_csv())"]).code
    assert "import pandas as pd" in load
    assert all(f"def {name}(" in load for name in ("tell", "bars", "to_dates"))
    assert "def rows(" not in load  # a variable of this name calls nothing
    choose = cell("choose", "choose1", "en", {"of": [], "scope": "x"}, before=["work = keep(df)"]).code
    assert "def keep(" in choose
    assert "def tell(" not in choose
    assert "import pandas" not in choose


def test_checks_of_this_repository_are_not_spoken_to_in_cells() -> None:
    assert not [name for name, source in functions().items() if "noqa" in source or "type: ignore" in source]


@pytest.mark.parametrize(
    "value", ['a"b', "a\\b", "a\nb", "{x}", "销售", "\x00", None, True, 1.5, ["a", 'b"'], {"k": "v\\"}]
)
def test_values_written_as_source_read_back_the_same(value: object) -> None:
    assert eval(literal(value)) == value


def test_every_function_for_cells_stands_alone_under_its_name() -> None:
    assert set(functions()) >= {"tell", "to_number", "to_dates", "one_spelling", "bands", "look_at", "fill_product"}
    for name, source in functions().items():
        assert inspect.cleandoc(source).startswith(f"def {name}(")
        compile(source, name, "exec")
