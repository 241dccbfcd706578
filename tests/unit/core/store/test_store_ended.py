"""What metrics read of stored steps is named as in the classes of the steps."""

from __future__ import annotations

import pytest

from core.steps import CellRan, Replied
from core.store.ended import _step_field


@pytest.mark.parametrize("path", ["told", "usage", "usage.prompt_tokens"])
def test_a_field_that_no_cell_has_is_refused(path: str) -> None:
    with pytest.raises((KeyError, AttributeError)):
        _step_field(path, CellRan)


def test_a_field_that_only_one_of_the_classes_has_is_refused() -> None:
    with pytest.raises(KeyError):
        _step_field("purpose", Replied, CellRan)


def test_a_number_is_read_as_a_number() -> None:
    types = [
        str(_step_field(path, Replied).type) for path in ("duration_s", "cost_micros", "usage.prompt_tokens", "model")
    ]
    assert types == ["FLOAT", "INTEGER", "INTEGER", "VARCHAR"]
