"""What a reply says went wrong becomes an error of the client's."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from workers.sidecar.messages import raise_failure
from workers.tools import errors
from workers.tools.errors import LimitReached, ToolAway, ToolError


def told(reply: dict[str, Any]) -> None:
    raise_failure(reply, errors, ToolError, ToolAway)


def test_an_answer_raises_nothing() -> None:
    told({"answered": 1})


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("LimitReached", LimitReached), ("annotations", ToolAway), ("ThreadbookError", ToolAway), ("exit", ToolAway)],
)
def test_a_failure_is_an_error_of_its_kind_and_nothing_else_of_the_module(kind: str, expected: type[Exception]) -> None:
    with pytest.raises(expected, match="too much") as raised:
        told({"failed": {"kind": kind, "message": "too much"}})
    assert type(raised.value) is expected


@pytest.mark.parametrize("failed", [None, {}, {"kind": 1, "message": ""}, {"kind": "a", "message": "b", "more": 1}])
def test_a_failure_that_is_none_is_refused(failed: object) -> None:
    with pytest.raises(ValidationError):
        told({"failed": failed})
