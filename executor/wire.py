"""Values to JSON and back. Everything read is checked and bounded here: the other side may be hostile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from typing import Any, Literal, cast, get_args

from executor.counters import Counters
from executor.frames import Message, ProtocolError
from executor.values import (
    HOST_LIMITS,
    Artifact,
    CellError,
    CellResult,
    CellStatus,
    Chart,
    DataCheck,
    Display,
    HostInfo,
    Limits,
    Notice,
    Rejected,
    Sandbox,
    Series,
    SessionInfo,
    Table,
    Variable,
    Where,
)

TEXT_LIMIT = 64_000
VARIABLES_LIMIT = 4_000
NAME_LIMIT = 300
TABLE_ROWS, TABLE_COLUMNS = 100, 50
CHART_POINTS = 20_000  # of all figures of one result: each is checked and copied while everybody else waits
_MANY = 2_000
_FAR_FUTURE = 1e9
_NESTED = 3


def clean(text: str) -> str:
    """Text that any database and any encoder takes: lone surrogates and NULs become U+FFFD."""
    return (
        text.encode("utf-8", "replace").decode().replace("\0", "\ufffd") if not text.isascii() or "\0" in text else text
    )


def _field(message: Mapping[str, Any], key: str) -> Any:
    """What is under `key`. What a list of objects holds may be anything: it is here that it is an object or not."""
    if type(message) is not dict and not isinstance(message, Mapping):  # the first is asked often and costs little
        raise ProtocolError(f"{key} is looked for in what is no object")
    return message.get(key)


def text(message: Mapping[str, Any], key: str, limit: int = NAME_LIMIT) -> str:
    """The text under `key`, at most `limit` characters of it. Raises ProtocolError when it is something else."""
    value = _field(message, key)
    if not isinstance(value, str):
        raise ProtocolError(f"{key} is not a text")
    return clean(value[:limit])


def optional_text(message: Mapping[str, Any], key: str, limit: int = NAME_LIMIT) -> str | None:
    """Like `text`; None stays None."""
    return None if _field(message, key) is None else text(message, key, limit)


def content_name(data: Mapping[str, Any]) -> str:
    """The sha256 of a content, which is the name of its file. Raises ProtocolError for anything else."""
    sha256 = text(data, "sha256", 64)
    if len(sha256) != 64 or not set(sha256) <= set("0123456789abcdef"):
        raise ProtocolError("a content has no such name")
    return sha256


def integer(message: Mapping[str, Any], key: str) -> int:
    """The whole number under `key`, of at most 63 bits and not negative."""
    value = _field(message, key)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63:
        raise ProtocolError(f"{key} is not a count")
    return value


def number(message: Mapping[str, Any], key: str) -> float:
    """The number under `key`, not negative."""
    value = _field(message, key)
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value < _FAR_FUTURE:
        raise ProtocolError(f"{key} is not a number")
    return float(value)


def mapping(message: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The object under `key`."""
    value = _field(message, key)
    if not isinstance(value, dict):
        raise ProtocolError(f"{key} is not an object")
    return value


def sequence(message: Mapping[str, Any], key: str, limit: int = _MANY) -> list[Any]:
    """The list under `key`, at most `limit` items of it."""
    value = _field(message, key)
    if not isinstance(value, list):
        raise ProtocolError(f"{key} is not a list")
    return value[:limit]


def one_of(message: Mapping[str, Any], key: str, choices: tuple[str, ...]) -> str:
    """The text under `key`, which must be one of `choices`."""
    value = _field(message, key)
    if value not in choices:
        raise ProtocolError(f"{key} is none of {', '.join(choices)}")
    return str(value)


def texts(message: Mapping[str, Any], key: str, limit: int = NAME_LIMIT, many: int = _MANY) -> tuple[str, ...]:
    """The list of texts under `key`."""
    items = sequence(message, key, many)
    return tuple(text({"item": item}, "item", limit) for item in items)


def display_from(data: Mapping[str, Any]) -> Display:
    """A Display that a subprocess described."""
    table = None if _field(data, "table") is None else table_from(mapping(data, "table"))
    return Display(text(data, "text", TEXT_LIMIT), table)


def table_from(data: Mapping[str, Any]) -> Table:
    """A Table that a subprocess described: rows are cut or filled to the number of columns."""
    columns = texts(data, "columns", many=TABLE_COLUMNS)
    dtypes = texts(data, "dtypes", many=TABLE_COLUMNS)
    if len(dtypes) != len(columns):
        raise ProtocolError("a table has as many dtypes as columns")
    rows = tuple(_row(row, len(columns)) for row in sequence(data, "rows", TABLE_ROWS))
    return Table(columns, dtypes, rows, integer(data, "total_rows"), integer(data, "total_columns"))


def _row(row: object, width: int) -> tuple[object, ...]:
    if not isinstance(row, list) or len(row) != width:
        raise ProtocolError("a table's row has one item per column")
    return tuple(_scalar(item) for item in row)


def _scalar(item: object) -> object:
    if item is None or isinstance(item, (bool, float)):
        return item
    if isinstance(item, int):
        return item if abs(item) < 1 << 63 else str(item)[:NAME_LIMIT]
    if isinstance(item, str):
        return clean(item[:NAME_LIMIT])
    raise ProtocolError("a table's item is not a scalar")


def error_from(data: Mapping[str, Any]) -> CellError:
    """A CellError that a subprocess described."""
    line = None if _field(data, "line") is None else integer(data, "line")
    variables = text(data, "variables", VARIABLES_LIMIT) if "variables" in data else ""
    message, traceback = text(data, "message", TEXT_LIMIT), text(data, "traceback", TEXT_LIMIT)
    return CellError(text(data, "name"), message, traceback, line, variables)


def result_to(result: CellResult) -> Message:
    """A CellResult as JSON."""
    return {
        "id": result.id,
        "status": result.status,
        "stdout": result.stdout,
        "stderr": result.stderr,
        "result": None if result.result is None else asdict(result.result),
        "error": None if result.error is None else asdict(result.error),
        "artifacts": [asdict(artifact) for artifact in result.artifacts],
        "rejected": [{"name": one.name, "why": one.why.code, "notice": asdict(one.why)} for one in result.rejected],
        "files_read": result.files_read,
        "duration_s": result.duration_s,
        "notices": [asdict(notice) for notice in result.notices],
        "exit_status": result.exit_status,
        "checks": [asdict(check) for check in result.checks],
    }


def result_from(data: Mapping[str, Any]) -> CellResult:
    """The CellResult that `result_to` wrote."""
    return CellResult(
        id=text(data, "id"),
        status=cast("CellStatus", one_of(data, "status", get_args(CellStatus))),
        stdout=text(data, "stdout", 1 << 30),
        stderr=text(data, "stderr", 1 << 30),
        result=None if _field(data, "result") is None else display_from(mapping(data, "result")),
        error=None if _field(data, "error") is None else error_from(mapping(data, "error")),
        artifacts=tuple(_artifact_from(item) for item in sequence(data, "artifacts")),
        rejected=tuple(_rejected_from(item) for item in sequence(data, "rejected")),
        files_read=None if _field(data, "files_read") is None else texts(data, "files_read"),
        duration_s=number(data, "duration_s"),
        notices=_notices_from(data),
        exit_status=None if _field(data, "exit_status") is None else integer(data, "exit_status"),
        checks=tuple(_check_from(item) for item in sequence(data, "checks")) if "checks" in data else (),
    )


def _check_from(data: Mapping[str, Any]) -> DataCheck:
    numbers = tuple(each for each in sequence(data, "numbers", 20) if isinstance(each, int))
    return DataCheck(text(data, "code"), texts(data, "names"), numbers)


def _rejected_from(data: Mapping[str, Any]) -> Rejected:
    """A file that was not taken. One that a host of version 3 stored has an English sentence as its `why`."""
    if "notice" in data:
        return Rejected(text(data, "name"), _notice_from(data["notice"]))
    return Rejected(text(data, "name"), Notice("text", {"text": text(data, "why", 1_000)}))


def _notices_from(data: Mapping[str, Any]) -> tuple[Notice, ...]:
    """The notices of a result. One that an old host stored may have an English `notice` instead."""
    if "notices" in data:
        return tuple(_notice_from(item) for item in sequence(data, "notices"))
    words = optional_text(data, "notice", TEXT_LIMIT)
    return (Notice("text", {"text": words}),) if words else ()


def _notice_from(data: Mapping[str, Any], depth: int = 0) -> Notice:
    if depth > _NESTED or not isinstance(data, dict):
        raise ProtocolError("a notice is not an object")
    values = mapping(data, "values")
    return Notice(
        text(data, "code"),
        {
            name: _notice_from(value, depth + 1)
            if isinstance(value, dict)
            else text(values, name, 4_000)
            if isinstance(value, str)
            else integer(values, name)
            if isinstance(value, int)
            else number(values, name)
            for name, value in values.items()
        },
    )


def figures_from(message: Mapping[str, Any]) -> dict[str, tuple[Chart, ...]]:
    """The figures that a result names: file name → what it shows, as long as there is room for its points."""
    found: dict[str, tuple[Chart, ...]] = {}
    room = CHART_POINTS
    for figure in sequence(message, "figures", 100) if "figures" in message else []:
        name, charts = text(figure, "name"), sequence(figure, "chart", 4)
        room -= sum(len(sequence(one, "points", 200)) for chart in charts for one in _series_of(chart))
        found[name] = chart_from(charts) if room >= 0 else ()
    return found


def _series_of(chart: object) -> list[Any]:
    return sequence(chart, "series", 10) if isinstance(chart, dict) else []


def chart_from(items: list[Any]) -> tuple[Chart, ...]:
    """What a subprocess said that a figure shows, one Chart per pair of axes."""
    return tuple(
        Chart(
            text(item, "title"),
            text(item, "x"),
            text(item, "y"),
            tuple(_series(one) for one in sequence(item, "series", 10)),
            item.get("more") is True,
        )
        for item in items[:4]
        if isinstance(item, dict)
    )


def _series(data: Mapping[str, Any]) -> Series:
    kind = cast("Literal['line', 'bar', 'scatter', 'pie']", one_of(data, "kind", ("line", "bar", "scatter", "pie")))
    points = [_row(point, 2) for point in sequence(data, "points", 200)]
    return Series(kind, text(data, "name"), tuple((x, y) for x, y in points), integer(data, "total_points"))


def _artifact_from(data: Mapping[str, Any]) -> Artifact:
    return Artifact(
        name=text(data, "name"),
        mimetype=text(data, "mimetype"),
        size=integer(data, "size"),
        sha256=text(data, "sha256", 64),
        path=text(data, "path", 4_096),
        kind=cast("Literal['figure', 'file']", one_of(data, "kind", ("figure", "file"))),
        chart=chart_from(sequence(data, "chart", 4)) if "chart" in data else (),
    )


def sandbox_from(data: Mapping[str, Any]) -> Sandbox:
    """A Sandbox from JSON."""
    level = cast("Literal['strong', 'reduced', 'none']", one_of(data, "level", ("strong", "reduced", "none")))
    layers = mapping(data, "layers")
    return Sandbox(level, {str(name): text(layers, name, 1_000) for name in layers})


def host_info_from(data: Mapping[str, Any]) -> HostInfo:
    """A HostInfo from JSON."""
    counted = mapping(data, "counters")
    whole = {name: integer(counted, name) for name in Counters.__slots__ if name != "lived_s"}
    counters = Counters(**whole, lived_s=number(counted, "lived_s"))
    return HostInfo(integer(data, "pid"), sandbox_from(mapping(data, "sandbox")), integer(data, "sessions"), counters)


def session_info_from(data: Mapping[str, Any]) -> SessionInfo:
    """A SessionInfo from JSON."""
    return SessionInfo(text(data, "thread_id"), integer(data, "pid"), optional_text(data, "cell_id"))


def variable_from(data: Mapping[str, Any]) -> Variable:
    """A Variable from JSON."""
    return Variable(
        text(data, "name"),
        text(data, "type"),
        text(data, "shape"),
        integer(data, "bytes"),
        optional_text(data, "cell_id", 500),
    )


def where_from(data: Mapping[str, Any]) -> Where:
    """A Where from JSON."""
    line = None if _field(data, "line") is None else integer(data, "line")
    return Where(text(data, "cell_id", 500), line, text(data, "source"), number(data, "seconds"))


def limits_from(data: Mapping[str, Any]) -> Limits:
    """Limits from JSON; what is missing keeps its default, and an unknown name is a ProtocolError."""
    known = {field.name: field.type for field in fields(Limits)}
    unknown = sorted(set(data) - set(known))
    if unknown:
        raise ProtocolError(f"unknown limits: {', '.join(unknown)}")
    values: dict[str, Any] = {name: (number if known[name] == "float" else integer)(data, name) for name in data}
    return Limits(**values)


def limits_within(data: Mapping[str, Any], usual: Limits, maximum: Limits) -> Limits:
    """The limits of one thread: `usual`, with what `data` says instead.

    Raises ProtocolError, in a sentence for an administrator, for a limit that is unknown, the host's own, zero, or
    above `maximum`.
    """
    if own := sorted(HOST_LIMITS & data.keys()):
        raise ProtocolError(f"{', '.join(own)}: only the whole host has such a limit")
    asked = limits_from(data)
    for name in data:
        value, most = getattr(asked, name), getattr(maximum, name)
        if value <= 0:
            raise ProtocolError(f"{name} must be above zero")
        if value > most:
            raise ProtocolError(
                f"{name} = {value:g} is more than the {most:g} that this session host was started with; "
                "after a change of threadbook.toml the worker service has to be started again"
            )
    return replace(usual, **{name: getattr(asked, name) for name in data})
