"""docs/settings.md, written from the settings themselves."""

from __future__ import annotations

import inspect
import types
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from core.settings import NAMED_TABLES, environment_names, tables
from core.team_settings import ChannelAccess, ChannelApprovals, ChannelPrivacy, SessionLimits, tables_in


def settings_markdown() -> str:
    """The page docs/settings.md: every setting with its type, default and meaning, from the models above."""
    lines = [
        "# Settings",
        "",
        "Generated from `core/settings.py` and `core/team_settings.py`; a test compares the two.",
        "",
        "Secrets and what differs per node are read from the environment, then from `.env` in the current folder. What",
        "a team decides stands in `threadbook.toml`. An unknown key is refused with the nearest known name.",
        "",
        "## Environment and `.env`",
        "",
        "| name | type | default | meaning |",
        "| --- | --- | --- | --- |",
    ]
    lines += [_row(name, field) for name, field in environment_names().items()]
    lines += ["", "## `threadbook.toml`", ""]
    found = tables()
    for name, (key, table) in NAMED_TABLES.items():
        found |= {f"{name}.{key}": table} | {f"{name}.{key}.{inner}": own for inner, own in tables_in(table).items()}
    for name, table in found.items():
        about = (inspect.getdoc(table) or "").partition(": ")[2]
        lines += [f"### `[{name}]`", "", about[:1].upper() + about[1:], ""]
        lines += ["| name | type | default | meaning |", "| --- | --- | --- | --- |"]
        own = [(key, field) for key, field in table.model_fields.items() if key not in tables_in(table)]
        lines += [_row(key, field, default=table not in _OWN) for key, field in own]
        lines.append("")
    return "\n".join(lines)


_OWN = (SessionLimits, ChannelAccess, ChannelApprovals, ChannelPrivacy)
"""Tables of one channel: what is left out is as for all."""


def _row(name: str, field: FieldInfo, *, default: bool = True) -> str:
    shown = "" if not default or field.is_required() or field.default in (None, "", ()) else f"`{field.default}`"
    return f"| `{name}` | {_type_name(field.annotation)} | {shown} | {field.description} |"


def _type_name(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " or ".join(f"`{value}`" for value in arguments)
    if origin in (Union, types.UnionType):
        return " or ".join(_type_name(item) for item in arguments if item is not type(None))
    if origin is tuple:
        return "list of text"
    if origin is Annotated:
        return _type_name(arguments[0])
    names = {
        SecretStr: "secret",
        str: "text",
        Path: "path",
        int: "whole number",
        float: "number",
        bool: "true or false",
    }
    return names.get(annotation, str(annotation))
