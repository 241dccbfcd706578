"""The outline of an error says what went wrong and quotes nothing that people wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import redis
from pydantic import ValidationError
from sqlalchemy.exc import DataError, IntegrityError

from core.errors import LeaseLost, SettingsError, UsersMove, outline
from core.values import IncomingMessage

PLANTED = "the merger is called Nightingale"


def raised(what: object) -> Exception:
    try:
        what()  # type: ignore[operator]
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize(
    "what",
    [
        lambda: int(PLANTED),
        lambda: {}[PLANTED],
        lambda: (PLANTED + "\ud800").encode("utf-8"),
        lambda: json.loads(PLANTED),
        lambda: Path(f"/nowhere/{PLANTED}").read_bytes(),
        lambda: IncomingMessage(text=PLANTED),  # type: ignore[call-arg]
        lambda: (_ for _ in ()).throw(UsersMove("file_external", name=PLANTED)),
        lambda: (_ for _ in ()).throw(redis.ResponseError(f"ERR unknown command, with args: {PLANTED}")),
        lambda: (_ for _ in ()).throw(IntegrityError("INSERT", [PLANTED], Exception(f"no\nDETAIL: row ({PLANTED})"))),
        lambda: (_ for _ in ()).throw(DataError("INSERT", [PLANTED], Exception(f"invalid: {PLANTED}"))),
    ],
)
def test_an_outline_names_the_error_and_quotes_nothing(what: object) -> None:
    error = raised(what)
    assert outline(error).startswith(type(error).__name__)
    assert PLANTED not in outline(error)


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (LeaseLost("token 3 is old"), "LeaseLost: token 3 is old"),
        (SettingsError("set REDIS_URL"), "SettingsError: set REDIS_URL"),
        (OSError(28, "No space left on device", "/home/file"), "OSError: [Errno 28] No space left on device"),
        (ConnectionResetError("the reply was lost"), "ConnectionResetError: the reply was lost"),
        (AttributeError("'int' object has no attribute 'x'"), "AttributeError: 'int' object has no attribute 'x'"),
        (redis.ConnectionError("Error 111 connecting to host:1"), "ConnectionError: Error 111 connecting to host:1"),
    ],
)
def test_an_outline_keeps_the_words_that_help(error: Exception, shown: str) -> None:
    assert outline(error) == shown


def test_a_message_of_the_wrong_shape_is_refused_without_its_words() -> None:
    with pytest.raises(ValidationError) as refused:
        IncomingMessage(text=PLANTED)  # type: ignore[call-arg]
    assert PLANTED not in str(refused.value)
