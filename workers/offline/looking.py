"""The cells that run before the analyses: they look names up and count the rows that are meant."""

from __future__ import annotations

from workers.offline import cells
from workers.offline.subject import rows_lines, scope
from workers.offline.thread import Thread, chosen, names_looked_up, rows_meant
from workers.offline.values import Cell, Column, Intent, Join, Unplaced

MAX_COLUMNS = 30
"""Columns that a name is looked for in."""


def questions_to_the_data(thread: Thread, join: Join) -> list[Cell]:
    """The cells that have to run before the analyses: one for names not seen so far, one for each choice of rows."""
    looked_up = names_looked_up(thread.facts)
    named = [word.text for intent in thread.intents for word in intent.unplaced if word.named]
    if unknown := [name for name in dict.fromkeys(named) if name not in looked_up]:
        columns = [column.name for column in join.columns if _may_hold_names(column)][:MAX_COLUMNS]
        listed = ", ".join(f"“{name}”" for name in unknown)
        return [
            cells.cell("look_up", "seek", thread.language, {"names": unknown, "columns": columns, "listed": listed})
        ]
    found = []
    for number, intent in enumerate(thread.intents, start=1):
        if intent.filters and not missing_names(thread, intent) and chosen(intent, thread.facts) is None:
            before = ["steps = []", "work = df", *rows_lines(thread, join, intent)]
            values = {"of": rows_meant(intent), "scope": scope(thread, intent)}
            found.append(cells.cell("choose", f"choose{number}", thread.language, values, before=before))
    return found


def _may_hold_names(column: Column) -> bool:
    return column.kind in ("category", "id", "text")


def missing_names(thread: Thread, intent: Intent) -> list[Unplaced]:
    """The names that the question insists on and the data does not have."""
    looked_up = names_looked_up(thread.facts)
    return [word for word in intent.unplaced if word.demanded and looked_up.get(word.text, word) is None]


def emptied_by(thread: Thread, intent: Intent) -> dict[str, object] | None:
    """What is known of the filter that left no row; None when rows are left or nothing was counted."""
    return next((step for step in chosen(intent, thread.facts) or () if not step.get("rows")), None)


def answerable(thread: Thread, intent: Intent) -> bool:
    """True when there are rows to answer from."""
    return not missing_names(thread, intent) and emptied_by(thread, intent) is None
