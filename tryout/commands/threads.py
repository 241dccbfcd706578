"""`threadbook threads`: finds threads, shows what a thread said at any moment, and compares two states."""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text
from sqlalchemy.exc import SQLAlchemyError

from core.actions import Action
from core.errors import SettingsError
from core.meaning import threads_near
from core.rows import FoundThread
from core.settings import Settings
from core.store import Store
from core.store.full_text import words_in
from core.store.history import History
from core.values import ThreadKey
from tryout.commands import compose
from tryout.commands.named import turns_named
from tryout.commands.operator import permitted, why_unreadable
from tryout.commands.show import printable
from workers.agent.text import one_line
from workers.agent.thread.states import Difference, Item, State, differences, items_of, state_named, states

VERBS = ("show", "history", "diff", "compose")
STATES = ("running", "waiting", "done", "failed", "stopped")
"""The states of a thread (`FoundThread.state`). "waiting": it waits for a person."""
SHORT = 12
"""Characters of a hash that people see."""
_MOST_LINES = 40


@dataclass(frozen=True, slots=True)
class Filter:
    """Which threads are listed."""

    person: str = ""
    channel: str = ""
    since: datetime | None = None
    pinned: bool = False
    state: str = ""
    """One of `STATES`; "" for all."""


class NotFound(Exception):
    """No thread or no state is called so. The text says what to do."""


def run(settings: Settings, words: Sequence[str], wanted: Filter, *, as_json: bool = False) -> int:
    """List threads, or show what the words name: `show THREAD`, `history THREAD`, `diff A B`. 1 if there is none.

    A THREAD is its id or a link; `THREAD@HASH` is one of its earlier states. Raises SettingsError for wrong words.
    """
    if wanted.state and wanted.state not in STATES:
        raise SettingsError(f"--state takes one of {', '.join(STATES)}, not {wanted.state!r}.")
    verb = words[0] if words and words[0] in VERBS else ""
    names = list(words[1:]) if verb else []
    if verb == "compose":
        return compose.run(settings, names, as_json=as_json)
    if verb and len(names) != (2 if verb == "diff" else 1):
        raise SettingsError(f"threads {verb} takes {'two threads' if verb == 'diff' else 'one thread'}: ids or links.")
    with (
        closing(Store(settings.database_url)) as store,
        closing(History(settings.database_url)) as history,
    ):
        try:
            if not permitted(settings, store, Action.REPLAY, " ".join(names) or "threads"):
                return 1
            if verb == "diff":
                pair = [_state(store, history, name) for name in names]
                return _print_difference(pair[0], pair[1], as_json=as_json)
            if verb == "history":
                thread_id, _ = _named(store, history, names[0])
                return _print_history(thread_id, _states(store, thread_id), as_json=as_json)
            if verb == "show":
                return _print_state(*_shown(store, history, names[0]), as_json=as_json)
            said = " ".join(words)
            found = store.find_threads(
                words_in(said),
                near=threads_near(settings, store, said),
                user=wanted.person,
                channel=wanted.channel,
                since=wanted.since,
                pinned=wanted.pinned,
                states=[wanted.state] if wanted.state else (),
            )
        except NotFound as error:
            print(f"threadbook: {error}", file=sys.stderr)
            return 1
        except SQLAlchemyError as error:
            print(why_unreadable(store, error), file=sys.stderr)
            return 1
    return _print_found(found, as_json=as_json)


# --- names


def _named(store: Store, history: History, name: str) -> tuple[str, str]:
    """A thread's id and the beginning of a hash. Raises NotFound."""
    place, _, key = name.partition("@")
    turns = turns_named(history, place)
    if not turns:
        for stone in store.tombstones(place):
            raise NotFound(
                f"{stone.thread_id} was deleted for good on {stone.purged_at:%Y-%m-%d}. It had {stone.turns} turns; "
                f"its last state was {stone.state[:SHORT] or 'not worked out'}."
            )
        raise NotFound(f"no thread {place!r} is stored. `threadbook threads` lists them.")
    return turns[-1].thread_id, key


def _states(store: Store, thread_id: str) -> list[State]:
    return states(store.timed_steps(thread_id))


def _state(store: Store, history: History, name: str) -> State:
    thread_id, key = _named(store, history, name)
    found = state_named(_states(store, thread_id), key)
    if found is None:
        raise NotFound(f"{thread_id} has no one state {key!r}. `threadbook threads history {thread_id}` lists them.")
    return found


def _shown(store: Store, history: History, name: str) -> tuple[str, State, str]:
    thread_id, key = _named(store, history, name)
    pin = store.pin_of(thread_id)
    if key:
        return thread_id, _state(store, history, name), pin.user if pin else ""
    turns = store.timed_steps(thread_id)  # also what a running turn has come to
    newest, items = state_named(states(turns), ""), items_of(turns)
    if newest is None:
        raise NotFound(f"{thread_id} says nothing yet.")
    return (
        thread_id,
        State(newest.hash, newest.at, newest.turn, newest.event, newest.who, items),
        pin.user if pin else "",
    )


# --- what is printed


def _print_found(found: Sequence[FoundThread], *, as_json: bool) -> int:
    if as_json:
        print(json.dumps([_found(one) for one in found], ensure_ascii=False))
        return 0
    console = Console(highlight=False, soft_wrap=True)
    for one in found:
        pin = f" · pinned by {one.pinned_by}" if one.pinned_by else ""
        pin += " · imported" if ThreadKey.parse(one.thread_id).is_imported else ""
        pin += " · found by its meaning" if "words" not in one.by else ""
        turns = f"{one.turns} {'turn' if one.turns == 1 else 'turns'}"
        by = f" · {one.author}" if one.author else ""
        head = f"{one.thread_id} · {one.last_at:%Y-%m-%d %H:%M}{by} · {turns}{pin}"
        console.print(Text(printable(head), style="dim"))
        console.print(Text(printable(f"    {one_line(one.description or one.question, 100)}")))
    if not found:
        console.print(Text("No thread fits."))
    return 0


def _print_history(thread_id: str, found: Sequence[State], *, as_json: bool) -> int:
    if as_json:
        print(json.dumps({"thread": thread_id, "states": [_document(state) for state in found]}, ensure_ascii=False))
        return 0
    table = Table("state", "when (UTC)", "turn", "what", "by", "items")
    for state in found:
        cells = (state.hash[:SHORT], f"{state.at:%Y-%m-%d %H:%M:%S}", str(state.turn), state.event, state.who)
        table.add_row(*(Text(printable(cell)) for cell in (*cells, str(len(state.items)))))
    Console(highlight=False).print(table)
    return 0


def _print_state(thread_id: str, state: State, pinned_by: str, *, as_json: bool) -> int:
    if as_json:
        document = {"thread": thread_id, "pinned_by": pinned_by, **_document(state)}
        print(json.dumps({**document, "said": [_item(item) for item in state.items]}, ensure_ascii=False))
        return 0
    console = Console(highlight=False)
    pin = f" · pinned by {pinned_by}" if pinned_by else ""
    console.print(Rule(Text(printable(f"{thread_id}@{state.hash[:SHORT]}{pin}"), style="bold"), align="left"))
    for item in state.items:
        made = f" ← {item.source[:SHORT]}" if item.source else ""
        head = f"{item.at:%Y-%m-%d %H:%M:%S}  {item.kind:10} {item.who}".rstrip()
        console.print(Text(printable(f"{head}  {item.hash[:SHORT]}{made}"), style="dim"))
        for line in _lines(item.text):
            console.print(Text(printable(f"    {line}")))
    return 0


def _print_difference(one: State, other: State, *, as_json: bool) -> int:
    found = differences(one.items, other.items)
    if as_json:
        changes = [{"before": _item(each.before), "after": _item(each.after)} for each in found]
        print(json.dumps({"a": one.hash, "b": other.hash, "changes": changes}, ensure_ascii=False))
        return 0
    console = Console(highlight=False)
    console.print(Text(f"{one.hash[:SHORT]} → {other.hash[:SHORT]}: {len(found)} differences", style="bold"))
    for each in found:
        item = each.after or each.before
        sign = "+" if each.before is None else "-" if each.after is None else "~"
        console.print(Text(printable(f"{sign} {item.kind} {item.who}".rstrip() if item else sign), style="dim"))
        for line in _changed_lines(each):
            colour = {"+": "green", "-": "red"}.get(line[:1], "")
            console.print(Text(printable(f"    {line}"), style=colour))
    return 0


def _changed_lines(difference: Difference) -> Iterator[str]:
    before = difference.before.text.splitlines() if difference.before else []
    after = difference.after.text.splitlines() if difference.after else []
    lines = list(difflib.unified_diff(before, after, lineterm="", n=1))[2:]
    yield from lines[:_MOST_LINES]
    if len(lines) > _MOST_LINES:
        yield f"… {len(lines) - _MOST_LINES} more lines"


def _lines(text: str) -> list[str]:
    lines = text.strip().splitlines()
    more = len(lines) - _MOST_LINES
    return [*lines[:_MOST_LINES], f"… {more} more lines"] if more > 0 else lines


def _found(one: FoundThread) -> dict[str, Any]:
    is_imported = ThreadKey.parse(one.thread_id).is_imported
    return {**asdict(one), "last_at": one.last_at.isoformat(), "imported": is_imported}


def _document(state: State) -> dict[str, Any]:
    return {
        "state": state.hash,
        "at": state.at.isoformat(),
        "turn": state.turn,
        "event": state.event,
        "who": state.who,
        "items": [item.hash for item in state.items],
    }


def _item(item: Item | None) -> dict[str, Any] | None:
    return None if item is None else {**asdict(item), "at": item.at.isoformat()}
