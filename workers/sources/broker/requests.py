"""What is asked of the broker and what it answers. Each frame is one JSON object, as in `executor/frames.py`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

LIMIT = 8 << 20
"""Largest frame in bytes, either way. Rows are in no frame."""

Scalar = bool | int | float | Annotated[str, Field(max_length=100_000)] | None


class Ask(BaseModel):
    """A request of a cell. It comes from a subprocess: only its form is checked, and nothing in it is trusted."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)

    ask: Literal["rows", "tables", "columns", "sample", "schema"]
    source: str = Field(default="", max_length=200)
    sql: str = Field(default="", max_length=200_000)
    params: dict[str, Scalar | list[Scalar]] = Field(default={}, max_length=500)
    table: str = Field(default="", max_length=500)
    rows: int = Field(default=5, ge=1, le=10_000)
    words: str = Field(default="", max_length=4_000)
    """What to look for in the schema."""


def why_refused(error: ValidationError) -> str:
    """What a cell is told of a request that is none: what is too long in it, or how to ask."""
    for each in error.errors(include_url=False, include_input=False):
        if each["type"] in ("string_too_long", "too_long"):
            kind = "characters" if each["type"] == "string_too_long" else "values"
            place = ".".join(str(part) for part in each["loc"][:2])
            return f"{place} is too long: at most {each['ctx']['max_length']:,} {kind} are taken. Send less at a time."
    return "The request is not one that a cell can make. Call query(sql, source, params)."


class Request(BaseModel):
    """An `Ask` that a job has allowed, with what it may take: seconds, and bytes of the result in memory.

    `names` are those that the code of the cell computes: metrics may bear them. With `tokens`, the schema is asked for
    a prompt of so many tokens; without, it is searched. `only` gives no rows: "explain" says what would be sent, and
    "state" tells about the source.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    ask: Ask
    seconds: float = Field(gt=0)
    bytes: int = Field(gt=0)
    names: tuple[Annotated[str, Field(max_length=200)], ...] = Field(default=(), max_length=500)
    tokens: int = Field(default=0, ge=0, le=20_000)
    only: Literal["", "explain", "state"] = ""


class Answered(BaseModel):
    """The answer. With `rows` set, an open file with the rows came along; `sql` is the text that was sent, `otherwise`
    the metrics that it or the cell's code computes in another way than the team. `expected` is how many rows the
    database expects to go through for it, where the team has such statements wait."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    value: Any = None
    rows: int | None = None
    bytes: int = 0
    seconds: float = 0.0
    sql: str = ""
    otherwise: tuple[str, ...] = ()
    expected: int | None = None


class State(BaseModel):
    """What a look at a source found; no table was read. `mend` is SQL that takes away the rights of `writes`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    tables: tuple[str, ...]
    latency_ms: float
    writes: tuple[str, ...] = ()
    mend: str = ""
