"""Cursors: a page of a list, and where the next one starts."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import TypeVar

from playground.api.call import Call
from playground.errors import SlackError, invalid_arguments

T = TypeVar("T")
MOST = 1_000


def page(call: Call, everything: Sequence[T], default: int = 100, most: int = MOST) -> tuple[list[T], str]:
    """The part that `limit` and `cursor` ask for, and the next cursor, empty at the end. SlackError invalid_cursor.

    A part is never longer than `most`, whatever the limit.
    """
    limit = call.number("limit", default)
    if not 1 <= limit <= MOST:
        raise invalid_arguments(f"must be between 1 and {MOST} [json-pointer:/limit]")
    start = 0
    if call.text("cursor"):
        try:
            start = int(base64.b64decode(call.text("cursor"), validate=True).removeprefix(b"offset:"))
        except (binascii.Error, ValueError):
            raise SlackError("invalid_cursor") from None
    end = start + min(limit, most)
    following = base64.b64encode(b"offset:%d" % end).decode() if end < len(everything) else ""
    return list(everything[start:end]), following
