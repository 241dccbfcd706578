"""Calls every public method of the Store, in every way its parameters allow: what a test says of all statements holds.

The methods are found in the class, and their arguments by the names of the parameters. A method with a parameter of a
new name makes these calls fail until `SAMPLES` has a value for it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import chain, combinations
from typing import Any

from sqlalchemy import Engine, event
from sqlalchemy.exc import IntegrityError
from turn_kit import ASKED, REPLIED, RESUMED

from core.clean_room import WAITING, CleanRoomOrder
from core.rows import ExportedRow, NewReport, OutboxRow, Sent, Spent
from core.schedules.values import RunOutcome, ScheduleOrder
from core.store import Store
from core.store.history import History
from core.store.installations import Installed
from core.store.lineage import CopiedTurn
from core.store.purge import PurgeOrder
from core.store.turns import new_turn
from core.store.vectors import ThreadMark
from core.values import IncomingMessage, Lease, StoredFile, ThreadKey

NOT_CALLED = {"migrate", "check_schema", "close", "rolled_back", "ping"}
"""They ask nothing about threads."""

THREAD = ThreadKey("T1", "C1", "100.000001")
TURN = f"{THREAD.id}/t1"
_FILE = StoredFile(name="a.csv", mimetype="text/csv", size=1, sha256="0" * 64)


def said(ts: str, root_ts: str = THREAD.root_ts, channel: str = THREAD.channel) -> IncomingMessage:
    """A message of a thread."""
    return IncomingMessage(
        team=THREAD.team, channel=channel, channel_type="channel", ts=ts, root_ts=root_ts, user="U1", text="how much?"
    )


SAMPLES: Mapping[str, Any] = {
    "due_at": datetime.now(UTC),
    "next_at": datetime.now(UTC),
    "until": datetime.now(UTC),
    "order": ScheduleOrder(cron="0 9 * * 1", zone="UTC", language="en"),
    "owner": "U1",
    "row": OutboxRow(f"{TURN}:card", THREAD.id, "chat.postMessage", {}, "sending", None, {}, datetime.now(UTC)),
    "run_id": 1,
    "secret": "sealed again",
    "expires_at": datetime.now(UTC),
    "told": True,
    "said": "every Monday 9:00 run this again",
    "schedule_id": f"{THREAD.id}/s1",
    "action": "stop",
    "actor": "U1",
    "after": THREAD.root_ts,
    "at": 1_900_000_000.0,
    "callers": [],
    "contents": ["0" * 64],
    "deleted": ["100.000001"],
    "details": {},
    "earlier": [],
    "exported": ExportedRow("0" * 64, None, 1),
    "turns": [CopiedTurn(new_turn("T1:C1:300.000001", 1, "en", "gpt-x"), [(datetime.now(UTC), ASKED)])],
    "copied": CopiedTurn(new_turn("T1:C1:400.000001", 1, "en", "gpt-x"), [(datetime.now(UTC), ASKED)]),
    "description": "the churn of March",
    "sources": ["T1:C1:300.000001"],
    "source_id": "T1:C1:300.000001",
    "copied_from": "T1:C1:300.000001",
    "seen": datetime.now(UTC),
    "by": "retention",
    "root_ts": THREAD.root_ts,
    "leaves": True,
    "limit": 10,
    "made": [],
    "new_text": "how many?",
    "outcome": "done",
    "reason": "the wrong year",
    "resource": THREAD.id,
    "opens": new_turn(THREAD.id, 9, "en", "gpt-x"),
    "sent": [Sent(f"{TURN}:card", "100.000009", {})],
    "texts": ["how much?"],
    "text": "how much?",
    "more_contents": ["0" * 64],
    "older_than": datetime.now(UTC) - timedelta(days=3_650),
    "near": ["T1:C1:300.000001"],
    "mark": ThreadMark(THREAD.id, THREAD.team, 1, 0),
    "dims": 1,
    "vectors": b"ab",
    "search_id": 1,
    "then": [REPLIED],
    "as_read": [],
    "author": "Ana",
    "cell_id": "here cell",
    "changes": {"language": "en"},
    "channel": THREAD.channel,
    "clean_room": CleanRoomOrder(state="due"),
    "enterprise": "E1",
    "error": "not_in_channel",
    "file": _FILE,
    "files": [_FILE],
    "installed": Installed("E1", THREAD.team, "sealed", datetime.now(UTC)),
    "key": f"{TURN}:card",
    "kind": "stop",
    "language": "en",
    "markdown": "# Report",
    "message": said("100.000002"),
    "message_id": 1,
    "message_ids": [1],
    "method": "chat.postMessage",
    "model": "gpt-x",
    "notes": True,
    "name": TURN,
    "node_id": "here",
    "pinned": True,
    "reader": "U1",
    "states": ["waiting", "done"],
    "state": "0" * 64,
    "words": ["how", "流失", "it"],
    "payload": {"text": "working"},
    "quiet": True,
    "response": {"ok": True},
    "report": NewReport(f"{THREAD.id}/t1", "# Report", [_FILE]),
    "sha256": "0" * 64,
    "shown": True,
    "stale": datetime.now(UTC) - timedelta(minutes=10),
    "since": datetime.now(UTC) - timedelta(minutes=10),
    "spent": Spent(1, 0, 1, None),
    "status": "done",
    "subject": "U1",
    "tried_at": datetime.now(UTC),
    "subjects": ["", "U1"],
    "step": RESUMED,
    "steps": [ASKED, REPLIED],
    "taken_at": datetime.now(UTC) - timedelta(minutes=5),
    "team": THREAD.team,
    "thread_id": THREAD.id,
    "thread_ids": [THREAD.id],
    "tries": 1,
    "ts": THREAD.root_ts,
    "turn_id": TURN,
    "turn_ids": [TURN],
    "user": "U1",
    "vote": "down",
}
"""A value for each name of a parameter."""

OTHERWISE: Mapping[tuple[str, str], Any] = {
    ("known_messages", "ts"): [THREAD.root_ts],
    ("end_clean_room", "outcome"): WAITING,
    ("end_run", "outcome"): RunOutcome(),
    ("purge_order_done", "order"): PurgeOrder(1, THREAD.id, datetime.now(UTC)),
    ("spent", "since"): datetime.now(UTC) - timedelta(days=1),
    **{(name, "since"): datetime.now(UTC) - timedelta(days=30) for name in ("threads_of", "spent_by_channel")},
    ("forget_installation", "at"): datetime.now(UTC),
    ("drop_old_searches", "at"): datetime.now(UTC),
    ("without_vectors", "after"): 1,
    ("add_schedule", "shown"): [],
    **{("set_schedule_state", name): value for name, value in (("state", "paused"), ("reason", ""))},
    ("fork_thread", "key"): ThreadKey("T1", "C1", "300.000001"),
    ("begin_heir", "key"): ThreadKey("T1", "C1", "500.000001"),
    ("import_thread", "key"): ThreadKey("T1", "C1", "400.000001"),
    **{(method, "key"): THREAD for method in ("has_left", "knows_thread", "note_thread")},
}
"""Where a method means something else by a name."""

USELESS = {
    ("spent", tuple(given))
    for given in ([], ["team"], ["user"], ["user", "team"], ["thread_id", "user"], ["thread_id", "user", "team"])
}
"""Methods with optional arguments that nobody gives alone: the sum over everything, or over all that a workspace or a
person ever spent, has no use."""

SELDOM = {
    "find": "`threadbook replay` looks a message up once, when a person asks for it",
    "playbook_uses": "`threadbook playbooks report` reads what a person asks for",
    "installations": "`threadbook installations` lists all of them",
    "issue_state": "when somebody installs the app; it deletes the states that have expired, by their index",
    "imported_threads": "`load` of an imported conversation looks it up once, when a person asks for it",
    "find_threads": "`find` and `threadbook threads` look through all threads, when a person asks for it",
    "without_vectors": "a process of its own reads all steps when it starts, and later the new ones",
    "vectors_of": "a search by meaning looks through vectors, when a person asks for it",
    "open_searches": "searches are few: each stays for a moment",
    "drop_old_searches": "searches are few: each stays for a moment",
    "drop_orphaned_vectors": "a process of its own, at times",
    "schedules": "`threadbook schedules` lists all of them",
    "channel_files": "a scheduled run looks for the newest file of a channel",
    "tombstones": "`threadbook threads` looks for a thread that was deleted",
    "audit_lines": "`threadbook audit` reads what an admin asks for",
    "purgeable": "`threadbook purge`, and a node once an hour",
    "purge_counts": "`threadbook purge` counts before it deletes",
    "purge_thread": "`threadbook purge` deletes a thread",
    "forget_preferences": "`threadbook purge` deletes what a person chose and thought",
    "purge_order_done": "after a purge",
    "purge_orders": "orders are few",
    "contents_deleted": "after a purge",
    "unneeded_contents": "after a purge",
}
"""Methods that may read a table whole, and why."""
LONG_PERIODS = {"spent_by_channel": "the app's home sums up a month of the workspace, for an admin who opens it"}
"""Methods that read all of a long period, and why. They do not grow with what was stored before it."""


def prepare(store: Store) -> None:
    """The thread that the samples name, with a running turn, a step, a sent message and unread mail."""
    store.record_message(said(THREAD.root_ts))
    lease = Lease(thread_id=THREAD.id, token=store.raise_fence(THREAD.id), owner="test")
    turn = store.open_turn(lease, "en", "gpt-x")
    store.take_mail(lease, turn.id, [mail.id for mail in store.unread(THREAD.id)], [ASKED])
    store.outbox_begin(lease, f"{turn.id}:card", "chat.postMessage", {"text": "working"})
    store.outbox_done(lease, f"{turn.id}:card", "100.000009", {})
    order = ScheduleOrder(cron="0 9 * * 1", zone="UTC", language="en")
    at = datetime.now(UTC)
    store.add_schedule(
        lease,
        turn.id,
        owner="U1",
        said="every Monday",
        order=order,
        next_at=at,
        shown=[],
        schedule_id=f"{THREAD.id}/s1",
    )
    store.record_message(said("100.000003"))


def methods(part: type[Store | History]) -> list[str]:
    """The public methods of a part of the Store."""
    found = inspect.getmembers(part, inspect.isfunction)
    return sorted(name for name, _ in found if not name.startswith("_") and name not in NOT_CALLED)


def call_everything(
    store: Store,
    part: Store | History,
    names: Collection[str] | None = None,
    *,
    optional_at_once: int | None = None,
    within: Callable[[], AbstractContextManager[Any]] = nullcontext,
) -> None:
    """Call each method of the part, or those of the names, with every set of its optional arguments.

    With `optional_at_once`, with sets of at most so many of them. Each call is done `within` a block of its own.
    """
    for name in methods(type(part)):
        if names is not None and name not in names:
            continue
        method = getattr(part, name)
        parameters = inspect.signature(method).parameters.values()
        given = {each.name: _sample(store, name, each.name) for each in parameters}
        optional = [each.name for each in parameters if each.default is not inspect.Parameter.empty]
        most = len(optional) if optional_at_once is None else min(len(optional), optional_at_once)
        subsets = chain.from_iterable(combinations(optional, size) for size in range(most + 1))
        for chosen in subsets:
            if (name, chosen) in USELESS:
                continue
            left_out = set(optional) - set(chosen)
            with within():
                _call(method, {key: value for key, value in given.items() if key not in left_out})


def _sample(store: Store, method: str, name: str) -> Any:
    if name == "lease":
        return Lease(thread_id=THREAD.id, token=store.fence(THREAD.id), owner="test")
    if name == "turn":
        return store.turn(TURN)
    if (method, name) not in OTHERWISE and name not in SAMPLES:
        raise AssertionError(f"tests/store_calls.py: {method} has a parameter {name!r}; give SAMPLES a value for it")
    return OTHERWISE.get((method, name), SAMPLES.get(name))


def _call(method: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    with suppress(IntegrityError):  # a second open turn: its statement was sent all the same
        result = method(**arguments)
        if inspect.isgenerator(result):
            list(result)


@dataclass
class Statements:
    """What was sent to the database: each statement once, with the arguments of its first time, and what sent it."""

    asked: dict[str, Any] = field(default_factory=dict)
    sequence: list[tuple[str, Any]] = field(default_factory=list)

    def _note(self, connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
        if statement.startswith(("SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "(")):
            given = parameters if many else [parameters]
            self.asked.setdefault(statement, given[0])
            self.sequence += [(statement, each) for each in given]


@contextmanager
def recorded() -> Iterator[Statements]:
    """Inside the block, every statement that any engine sends is noted."""
    found = Statements()
    event.listen(Engine, "before_cursor_execute", found._note)
    try:
        yield found
    finally:
        event.remove(Engine, "before_cursor_execute", found._note)
