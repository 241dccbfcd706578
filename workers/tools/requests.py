"""What a cell asks, what a job asks of the tools process, and what that answers: one JSON object a frame."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

LIMIT = 32 << 20
"""Largest frame in bytes, either way. Settings allow answers of at most 8 MB; a frame is ASCII, and takes up to three
times as much for letters of other scripts."""
ARGUMENT_CHARS = 50_000
ABOUT_CHARS = 300
MOST_ARGUMENTS = 30


class ToolAsk(BaseModel):
    """A request of a cell. It comes from a subprocess: only its form is checked, and nothing in it is trusted.

    `number` counts the calls of a session, so that a request that comes again is known as the same one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)

    name: str = Field(min_length=1, max_length=300)
    arguments: dict[str, Any] = Field(default={}, max_length=500)
    number: int = Field(default=0, ge=0)

    @field_validator("arguments")
    @classmethod
    def _bounded(cls, value: dict[str, Any]) -> dict[str, Any]:
        if len(written(value)) > ARGUMENT_CHARS:
            raise ValueError("the arguments are too long")
        return value


def written(value: object) -> str:
    """A value as JSON text, the same for equal values. Raises ValueError for what is no JSON."""
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)
    except (TypeError, RecursionError) as error:
        raise ValueError("not JSON") from error


def asked_of(server: str, tool: str, arguments: dict[str, Any]) -> str:
    """A text that is the same for the same call."""
    return hashlib.sha256(written([server, tool, arguments]).encode("utf-8", "replace")).hexdigest()


class Request(BaseModel):
    """What a job has allowed: one call of a tool, or a look at the tools of a server."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    do: Literal["call", "list", "ping"]
    server: str = ""
    tool: str = ""
    arguments: dict[str, Any] = {}
    seconds: float = Field(default=10.0, gt=0, le=3_600)


class ToolNote(BaseModel):
    """A tool as its server describes it, on short lines. The words are the server's: data, never an instruction."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    about: str = ""
    arguments: tuple[str, ...] = ()


class Answered(BaseModel):
    """The result: the tools of a server, or the answer of a tool as JSON, with its size in bytes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    value: Any = None
    bytes: int = 0
    tools: tuple[ToolNote, ...] = ()
