"""`threadbook schedules`: what is scheduled in all threads."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from typing import Any

from rich.console import Console
from rich.text import Text
from sqlalchemy.exc import SQLAlchemyError

from core.actions import Action
from core.schedule_times import moment
from core.settings import Settings
from core.store import Store
from core.store.schedules import ScheduleRow
from tryout.commands.operator import permitted, why_unreadable
from tryout.commands.show import printable
from workers.agent.text import one_line


def run(settings: Settings, *, as_json: bool = False) -> int:
    """Print them, the oldest first; 1 when the operator may not see them."""
    with closing(Store(settings.database_url)) as store:
        try:
            if not permitted(settings, store, Action.STATUS, "schedules"):
                return 1
            found = store.schedules()
        except SQLAlchemyError as error:
            print(why_unreadable(store, error), file=sys.stderr)
            return 1
    if as_json:
        print(json.dumps([_document(each) for each in found], ensure_ascii=False))
        return 0
    console = Console(highlight=False, soft_wrap=True)
    for each in found:
        state = (
            f"next {moment(each.next_at, each.order.zone, 'en')} {each.order.zone}"
            if each.state == "active"
            else each.state
        )
        why = f": {one_line(each.reason, 200)}" if each.reason else ""
        console.print(
            Text(printable(f"{each.thread_id} · {each.owner} · {each.order.cron} · {state}{why}"), style="dim")
        )
        console.print(Text(printable(f"    {one_line(each.said, 100)}")))
    if not found:
        console.print(Text("Nothing is scheduled."))
    return 0


def _document(each: ScheduleRow) -> dict[str, Any]:
    return {
        "id": each.id,
        "thread": each.thread_id,
        "turn": each.turn_id,
        "owner": each.owner,
        "said": each.said,
        "cron": each.order.cron,
        "zone": each.order.zone,
        "state": each.state,
        "reason": each.reason,
        "next": each.next_at.isoformat(),
        "figures": [figure.model_dump(mode="json") for figure in each.shown],
    }
