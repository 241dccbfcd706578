"""`threadbook audit`: who did what, from the Store's append-only table."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from dataclasses import asdict
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text
from sqlalchemy.exc import SQLAlchemyError

from core.actions import Action
from core.settings import Settings
from core.store import Store
from core.store.audit import AuditLine
from tryout.commands.operator import permitted, why_unreadable
from tryout.commands.show import printable


def run(
    settings: Settings, *, since: datetime | None = None, thread: str = "", person: str = "", as_json: bool = False
) -> int:
    """Print the lines that fit, oldest first; 1 when the operator may not read them. Reading is a line itself."""
    with closing(Store(settings.database_url)) as store:
        try:
            if not permitted(settings, store, Action.AUDIT, thread or person):
                return 1
            lines = store.audit_lines(since=since, resource=thread, actor=person)
        except SQLAlchemyError as error:
            print(why_unreadable(store, error), file=sys.stderr)
            return 1
    if as_json:
        print(json.dumps([_document(line) for line in lines], ensure_ascii=False))
        return 0
    table = Table("time (UTC)", "who", "did", "to", "outcome", "more")
    for line in lines:
        more = ", ".join(f"{name} {value}" for name, value in line.details.items())
        cells = (f"{line.at:%Y-%m-%d %H:%M:%S}", line.actor, line.action, line.resource, line.outcome, more)
        table.add_row(*(Text(printable(cell)) for cell in cells))
    Console(highlight=False).print(table)
    return 0


def _document(line: AuditLine) -> dict[str, Any]:
    return {**asdict(line), "at": line.at.isoformat(), "details": dict(line.details)}
