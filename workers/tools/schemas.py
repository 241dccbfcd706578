"""What a tool's JSON schema says of an argument, in a few words: its type, the values that it may have, its default."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

_DEPTH = 3
_MOST_VALUES = 20
_MOST_FIELDS = 12

Schema = Mapping[str, object]


def kind_of(schema: object, named: object = None, depth: int = _DEPTH) -> str:
    """The type in words: `string`, `"open" | "closed"`, `array of integer`, `object {id: integer}`, `string or null`.

    `named` are the schemas that others refer to (`$defs`). What cannot be understood is `any`. The words are the
    server's, and whoever shows them has to bound them.
    """
    known = _mapping(schema)
    if isinstance(reference := known.get("$ref"), str):
        known = _mapping(_mapping(named).get(reference.rpartition("/")[2]))
    if depth <= 0:
        return "any"
    if "const" in known:
        return _written(known["const"])
    if values := _sequence(known.get("enum")):
        more = " | …" if len(values) > _MOST_VALUES else ""
        return " | ".join(_written(value) for value in values[:_MOST_VALUES]) + more
    for key in ("anyOf", "oneOf"):
        if choices := _sequence(known.get(key)):
            return " or ".join(dict.fromkeys(kind_of(one, named, depth - 1) for one in choices[:_MOST_FIELDS]))
    match kind := known.get("type"):
        case "array" if _mapping(known.get("items")):
            return f"array of {kind_of(known['items'], named, depth - 1)}"
        case "object" if fields := _mapping(known.get("properties")):
            shown = [f"{name}: {kind_of(one, named, depth - 1)}" for name, one in list(fields.items())[:_MOST_FIELDS]]
            return f"object {{{', '.join(shown)}}}"
        case str():
            return kind
        case [*kinds]:
            return " or ".join(kind_of({"type": one}, named, depth - 1) for one in kinds[:_MOST_FIELDS]) or "any"
    return "any"


def default_of(schema: object) -> str:
    """The value that an argument has when it is left out, as JSON; "" when the schema names none, or names null."""
    value = _mapping(schema).get("default")
    return "" if value is None else _written(value)


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _mapping(value: object) -> Schema:
    return value if isinstance(value, Mapping) else {}


def _sequence(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()
