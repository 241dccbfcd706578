"""docs/settings.md and threadbook.example.toml, written from the settings themselves."""

from __future__ import annotations

import inspect
import json
import textwrap
import types
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from core.settings import NAMED_TABLES, environment_names, tables
from core.team_settings import (
    ChannelAccess,
    ChannelApprovals,
    ChannelPrivacy,
    ChannelReport,
    SessionLimits,
    Table,
    tables_in,
)


def settings_markdown() -> str:
    """The page docs/settings.md: every setting with its type, default and meaning, from the models above."""
    lines = [
        "# Settings",
        "",
        "Generated from `core/settings.py` and `core/team_settings.py`; a test compares the two.",
        "",
        "Secrets and settings that differ per node are read from the environment, then from `.env` in the current",
        "folder. The team's decisions are in `threadbook.toml`. An unknown key is refused, and the message names the",
        "nearest known key.",
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


def example_toml() -> str:
    """The file threadbook.example.toml: every table with every key, all commented out, each at its default."""
    lines = [
        "# What a team decides: copy it to threadbook.toml and take the `#` from what you change. Values are defaults,",
        "# or examples where there are none. Secrets do not belong here: they are in .env.",
        "# Generated from the settings; a test compares the two. docs/settings.md is the same as a page.",
    ]
    for name, (table, own) in _written_tables().items():
        about = (inspect.getdoc(table) or "").partition(": ")[2]
        lines += ["", *_commented(about[:1].upper() + about[1:]), f"#[{name}]"]
        for key, field in table.model_fields.items():
            if key in tables_in(table) or (own is not None and key not in own):
                continue
            value = own[key] if own is not None else field.default
            lines += [*_commented(field.description or ""), f"#{key} = {_toml(value)}"]
    return "\n".join(lines) + "\n"


_EXAMPLES: dict[str, dict[str, Any]] = {
    "channels.ID": {"strict_mention": True},
    "channels.ID.limits": {"memory_mb": 4_096, "cell_timeout_s": 300.0},
    "channels.ID.access": {"ask": ["members", "guests"]},
    "channels.ID.approvals": {"ask": "risky", "hours": 4.0},
    "channels.ID.privacy": {"redact": ["email", "phone"]},
    "channels.ID.report": {"sections": ["Summary", "Findings", "Limits"]},
    "mcp.NAME": {
        "url": "https://tickets.example.com/mcp",
        "token_env": "TICKETS_TOKEN",
        "tools": ["search_tickets", "ticket"],
        "description": "The support desk's tickets",
        "channels": ["C0123456789"],
        "ask": "never",
    },
    "models.NAME": {"model": "gpt-4.1-mini", "key_env": "OPENAI_API_KEY"},
    'prices."MODEL"': {"input": 2.0, "cached": 0.5, "output": 8.0},
    "projects.NAME": {"channels": ["C0123456789", "C0987654321"]},
    "sources.NAME": {
        "url_env": "SALES_DATABASE_URL",
        "description": "Orders and customers of the web shop",
        "tables_allowed": ["shop.*"],
        "tables_denied": ["shop.payment_cards"],
        "dictionary": "dictionaries/sales",
        "timeout_s": 60.0,
        "max_rows": 1_000_000,
        "channels": ["C0123456789"],
    },
}
"""What stands in the example of a table that a team has one of per name: some of its keys."""


def _written_tables() -> dict[str, tuple[type[Table], dict[str, Any] | None]]:
    """Header → its table, and the values of its example; None: every key at its default."""
    found: dict[str, tuple[type[Table], dict[str, Any] | None]] = {
        name: (table, None) for name, table in tables().items()
    }
    sample = {
        "channels": "channels.C0123456789",
        "mcp": "mcp.tickets",
        "models": "models.small",
        "prices": 'prices."gpt-4.1"',
        "projects": "projects.sales",
        "sources": "sources.sales",
    }
    for name, (key, table) in NAMED_TABLES.items():
        written = sample.get(name, f"{name}.{key}")
        found[written] = (table, _EXAMPLES.get(f"{name}.{key}", {}))
        for inner, own in tables_in(table).items():
            found[f"{written}.{inner}"] = (own, _EXAMPLES.get(f"{name}.{key}.{inner}", {}))
    return found


def _commented(text: str) -> list[str]:
    return textwrap.wrap(" ".join(text.split()), 116, initial_indent="# ", subsequent_indent="# ")


def _toml(value: Any) -> str:
    """A value as TOML writes it; JSON writes strings, numbers, booleans and lists of them the same."""
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)


_OWN = (SessionLimits, ChannelAccess, ChannelApprovals, ChannelPrivacy, ChannelReport)
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
