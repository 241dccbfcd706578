"""A function that a team may keep, with its schema and tests, and ways to spoil it."""

from __future__ import annotations

import json
from typing import Any

from core.steps import FunctionDraft

NAME = "churn_rate"
CODE = '''"""The share of customers who left."""

LARGEST = 1.0


def churn_rate(left: int, before: int) -> float:
    """The share of customers who left, of those who were there before."""
    if before <= 0 or left < 0:
        raise ValueError("needs customers")
    return min(LARGEST, left / before)
'''
TESTS = """import pytest
from team import churn_rate


def test_of_the_thread():
    assert churn_rate(12, 240) == pytest.approx(0.05)


def test_nobody_left():
    assert churn_rate(0, 5) == 0


def test_never_above_one():
    assert churn_rate(9, 3) == 1.0


def test_without_customers():
    with pytest.raises(ValueError):
        churn_rate(1, 0)
    with pytest.raises(ValueError):
        churn_rate(-1, 5)


def test_one_customer():
    assert churn_rate(1, 1) == 1.0
"""
PROPERTY = """
from hypothesis import given, strategies as st


@given(st.integers(0, 1000), st.integers(1, 1000))
def test_is_a_share(left, before):
    assert 0 <= churn_rate(left, before) <= 1
"""
SCHEMA: dict[str, Any] = {
    "description": "The share of customers who left in a period.",
    "when": "Churn, attrition or cancellations as a share of customers.",
    "parameters": {
        "type": "object",
        "properties": {
            "left": {"type": "integer", "description": "customers who left"},
            "before": {"type": "integer", "description": "customers at the beginning"},
        },
        "required": ["left", "before"],
    },
    "returns": {"type": "number", "description": "0 to 1"},
}
NEED = "computes the churn rate from the customers who left and those before"


def draft(
    code: str = CODE, tests: str = TESTS, schema: dict[str, Any] | None = None, name: str = NAME
) -> FunctionDraft:
    """The sample, or a part of it replaced."""
    return FunctionDraft(
        name=name, schema_text=json.dumps(schema if schema is not None else SCHEMA), code=code, tests=tests
    )


def reply(code: str = CODE, tests: str = TESTS, schema: dict[str, Any] | None = None, name: str = NAME) -> str:
    """What a model writes that makes this function."""
    about = {"name": name, **(schema if schema is not None else SCHEMA)}
    return f"Here it is.\n\n```json\n{json.dumps(about)}\n```\n\n```python\n{code}```\n\n```python\n{tests}```\n"
