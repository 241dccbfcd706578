"""Lists of records anywhere in a JSON value, as tables whose columns are named by their path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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

    `loading` is the expression of the whole value.
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
    return found


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
