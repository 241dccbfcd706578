"""Tables anywhere in a JSON value: lists of records, whose columns are named by their path, and other shapes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .bounds import Bounds
from .frames import describe_frame

_DEEPEST = 6
_MOST_TABLES = 12
_LOOKED_AT = 1_000
_META = 5
_NAMING = ("id", "key", "code", "name", "number", "date")


def is_records(value: Any) -> bool:
    """Whether a value is a list of objects."""
    return isinstance(value, list) and bool(value) and all(isinstance(record, dict) for record in value[:_LOOKED_AT])


def too_wide(records: Sequence[Any], bounds: Bounds) -> bool:
    """Whether the flattened table would have more cells than may be held: each record may bring keys of its own."""
    keys: set[str] = set()
    most = min(bounds.columns_most, bounds.cells // max(1, len(records)))
    for record in records:
        todo: list[tuple[str, Any]] = [("", record)]
        while todo:
            path, value = todo.pop()
            if isinstance(value, dict) and value:
                todo += ((f"{path}.{key}", held) for key, held in value.items())
            else:
                keys.add(path)
            if len(keys) + len(todo) > most or len(path) > _LONGEST_PATH:
                return True
    return False


_LONGEST_PATH = 4_000


def tables_in(value: Any, loading: str, stem: str, bounds: Bounds) -> list[dict[str, Any]]:
    """A note for each list of records, and for each list inside the records of one, the largest first.

    Tables of another shape come last. `loading` is the expression of the whole value.
    """
    import pandas as pd  # noqa: PLC0415 - imported where it is installed: inside the sandbox

    found: list[dict[str, Any]] = []
    lists = sorted(_lists(value, ()), key=lambda one: -len(one[1]))
    for path, records in lists[:_MOST_TABLES]:
        if too_wide(records, bounds):
            continue
        name = ".".join(path) if path else stem
        place = loading + "".join(f"[{key!r}]" for key in path)
        table = describe_frame(pd.json_normalize(records), name, bounds)
        found.append(table | {"read": f"pd.json_normalize({place})"})
        for inner in _inner(records):
            if len(found) >= _MOST_TABLES:
                break
            rows = sum(len(record.get(inner) or ()) for record in records)
            meta = _meta(records, inner)
            if rows * (len(meta) + 1) > bounds.cells or any(
                too_wide(record[inner], bounds) for record in records if record.get(inner)
            ):
                continue
            given: dict[str, Any] = {"record_path": [inner], "meta": meta, "record_prefix": f"{inner}."}
            kept = [record for record in records if record.get(inner)]
            frame = pd.json_normalize(kept, **given, errors="ignore")
            arguments = ", ".join(f"{key}={told!r}" for key, told in given.items())
            lines = f"[r for r in {place} if r.get({inner!r})]"
            table = describe_frame(frame, f"{name}[].{inner}", bounds)
            found.append(table | {"read": f"pd.json_normalize({lines}, {arguments}, errors='ignore')"})
    for path, shape, place in itertools.islice(_shapes(value, (), loading), _MOST_TABLES - len(found)):
        if (records := shape.records(_at(value, path))) and not too_wide(records, bounds):
            table = describe_frame(pd.json_normalize(records), ".".join(path) if path else stem, bounds)
            found.append(table | {"read": shape.line.format(place=place)})
    return found


@dataclass(frozen=True)
class _Shape:
    """A way to write a table that is no list of records."""

    line: str
    """The expression that loads it, of `{place}`."""
    records: Callable[[Any], list[dict[str, Any]]]


_FEWEST_ENTRIES = 3
_ALIKE = 0.5


def _is_plain(value: Any) -> bool:
    return not isinstance(value, dict | list)


def _is_list_of_rows(value: Any) -> bool:
    """Names of columns, and below them rows of plain values: what a census office answers."""
    if not isinstance(value, list) or len(value) < 2 or not all(isinstance(row, list) for row in value):
        return False
    names = value[0]
    named = len(names) > 1 and all(isinstance(name, str) for name in names) and len(set(names)) == len(names)
    return named and all(len(row) == len(names) and all(map(_is_plain, row)) for row in value)


def _is_dict_of_columns(value: Any) -> bool:
    """A list of plain values for each column, all of the same length: what weather services answer."""
    if not isinstance(value, dict) or len(value) < 2 or not all(isinstance(held, list) for held in value.values()):
        return False
    lengths = {len(held) for held in value.values()}
    return len(lengths) == 1 and min(lengths) > 1 and all(all(map(_is_plain, held)) for held in value.values())


def _is_dict_of_records(value: Any) -> bool:
    """A record under each key, such as a day or an id, with much the same fields."""
    if not isinstance(value, dict) or len(value) < _FEWEST_ENTRIES:
        return False
    if not all(isinstance(held, dict) and held and all(map(_is_plain, held.values())) for held in value.values()):
        return False
    fields = {field for held in value.values() for field in held}
    alike = sum(map(len, value.values())) >= _ALIKE * len(fields) * len(value)
    return alike and "key" not in fields


def _is_split(value: Any) -> bool:
    """What `DataFrame.to_json(orient="split")` writes."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("data"), list)
        and _is_list_of_rows([value.get("columns"), *value["data"]])
    )


_SHAPES = (
    (
        _is_list_of_rows,
        _Shape(
            "(lambda t: pd.DataFrame(t[1:], columns=t[0]))({place})",
            lambda value: [dict(zip(value[0], row, strict=True)) for row in value[1:]],
        ),
    ),
    (
        _is_dict_of_columns,
        _Shape(
            "pd.DataFrame({place})",
            lambda value: [dict(zip(value, row, strict=True)) for row in zip(*value.values(), strict=True)],
        ),
    ),
    (
        _is_split,
        _Shape(
            "(lambda t: pd.DataFrame(t['data'], columns=t['columns']))({place})",
            lambda value: [dict(zip(value["columns"], row, strict=True)) for row in value["data"]],
        ),
    ),
    (
        _is_dict_of_records,
        _Shape(
            "pd.DataFrame([{{'key': k, **r}} for k, r in {place}.items()])",
            lambda value: [{"key": key, **record} for key, record in value.items()],
        ),
    ),
)


def _shapes(value: Any, path: tuple[str, ...], place: str) -> Iterator[tuple[tuple[str, ...], _Shape, str]]:
    """Each table of another shape that is reached through objects only, with its path and its expression."""
    if is_records(value):
        return
    if (shape := next((shape for fits, shape in _SHAPES if fits(value)), None)) is not None:
        yield path, shape, place
    elif isinstance(value, dict) and len(path) < _DEEPEST:
        for key, held in list(value.items())[:_LOOKED_AT]:
            yield from _shapes(held, (*path, str(key)), f"{place}[{key!r}]")


def _at(value: Any, path: Sequence[str]) -> Any:
    for key in path:
        value = value[key]
    return value


def _lists(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
    """Each list of records that is reached through objects only, with its path."""
    if is_records(value):
        yield path, value
    elif isinstance(value, dict) and len(path) < _DEEPEST:
        for key, held in list(value.items())[:_LOOKED_AT]:
            yield from _lists(held, (*path, str(key)))


def _inner(records: Sequence[Any]) -> list[str]:
    """The fields that hold lists of records, in some record."""
    fields: dict[str, bool] = {}
    for record in records:
        for key, held in record.items():
            if held is not None and held != []:
                fields[key] = (
                    fields.get(key, True) and isinstance(held, list) and all(isinstance(v, dict) for v in held)
                )
    return [key for key, holds in fields.items() if holds][:_MOST_TABLES]


def _meta(records: Sequence[Any], inner: str) -> list[str]:
    """A few plain fields of the record itself that tell whose rows these are."""
    kept = [record for record in records if record.get(inner)]
    plain = [
        key
        for key in (kept[0] if kept else {})
        if all(not isinstance(record.get(key), dict | list) for record in kept[:_LOOKED_AT])
    ]
    first = [key for key in plain if any(word in key.casefold() for word in _NAMING)]
    return (first or plain)[:_META]
