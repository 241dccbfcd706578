"""The lists of functions: what they name may be called, and wrong arguments are a refusal as all others."""

from __future__ import annotations

import pytest

from workers.sources.errors import Refused
from workers.sources.guard.check import check
from workers.sources.guard.functions import BY_DIALECT
from workers.sources.values import TableName, Visible

VISIBLE = Visible((TableName("main", "orders"),), ("main",))
ARGUMENTS = ("", "x", "x, y", "x, y, z", "'a', x", "x, y, z, w", "x, interval 1 day")


def refusals(call: str, dialect: str) -> list[str]:
    """Why each form of the call is refused; empty once one passes."""
    said = []
    for arguments in ARGUMENTS:
        try:
            check(f"SELECT {call}({arguments}) FROM orders", dialect, VISIBLE)
        except Refused as refused:
            said.append(str(refused))
        else:
            return []
    return said


@pytest.mark.parametrize("dialect", BY_DIALECT)
def test_every_function_on_a_list_may_be_called(dialect: str) -> None:
    refused = {name: said for name in sorted(BY_DIALECT[dialect]) if (said := refusals(name, dialect))}
    assert refused == {}


@pytest.mark.parametrize(
    ("dialect", "call", "said"),
    [
        ("mysql", "date_add()", "cannot be read"),
        ("mysql", "date_add(x)", "cannot be read"),
        ("tsql", "eomonth()", "cannot be written"),
    ],
)
def test_arguments_that_sqlglot_trips_over_are_a_refusal(dialect: str, call: str, said: str) -> None:
    with pytest.raises(Refused, match=said):
        check(f"SELECT {call} FROM orders", dialect, VISIBLE)


@pytest.mark.parametrize(
    ("dialect", "value"),
    [
        ("postgres", """'{"a": 1}'::jsonb ? 'a'"""),
        ("postgres", "to_number('12', '99')"),
        ("mysql", "json_set('{}', '$.a', 1)"),
        ("mysql", "json_array(1, 'a')"),
        ("duckdb", "now()"),
        ("sqlite", "json_remove('[1]', '$[0]')"),
    ],
)
def test_what_people_often_write_passes(dialect: str, value: str) -> None:
    assert check(f"SELECT {value} AS v", dialect, VISIBLE).tables == ()
