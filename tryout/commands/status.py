"""`threadbook status`: what goes on now, read from the Store, from Redis and from this node's session host."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from redis import Redis, RedisError
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text
from sqlalchemy.exc import SQLAlchemyError

from core.actions import Action
from core.home_writes import check_home, home_refusal
from core.leases import Leases
from core.queue import connect_redis, nodes, queue_lengths
from core.redis_writes import check_writes, refusal
from core.release import UNTOLD, mixed
from core.rows import money
from core.settings import Settings
from core.store import Store, start_of_day
from core.store.history import History
from core.telemetry import redactor
from executor.client import HostUnavailable, SessionClient
from tryout.commands.operator import NOTHING_YET, permitted
from tryout.commands.show import printable

REDIS_TIMEOUT_S = 3.0
_STORE = "the Store (DATABASE_URL)"

Json = dict[str, Any]


@dataclass
class Status:
    """What was found; `problems` names what could not be read. Ages are in seconds. `is_new`: nothing is stored yet."""

    turns: list[Json] = field(default_factory=list)
    waiting: list[Json] = field(default_factory=list)
    mail: list[Json] = field(default_factory=list)
    today: Json = field(default_factory=dict)
    queues: dict[str, int] = field(default_factory=dict)
    nodes: list[Json] = field(default_factory=list)
    sessions: Json = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    is_new: bool = False


def run(settings: Settings, *, as_json: bool = False) -> int:
    """Print the status; 1 when the Store or Redis could not be read."""
    with closing(Store(settings.database_url)) as store:
        try:
            if not permitted(settings, store, Action.STATUS, ""):
                return 1
        except SQLAlchemyError:
            pass  # what cannot be read is among the problems below
    status = look(settings)
    if as_json:
        print(json.dumps(vars(status), ensure_ascii=False))
    else:
        console = Console(highlight=False)
        for part in as_tables(status):
            console.print(part)
    return 1 if status.problems else 0


def look(settings: Settings) -> Status:
    """Read every part. When one is unavailable, only its own lines are missing."""
    status = Status()
    redact = redactor(settings.secrets())
    with (
        closing(connect_redis(settings.redis_url, timeout_s=REDIS_TIMEOUT_S)) as redis,
        closing(Store(settings.database_url)) as store,
        closing(History(settings.database_url)) as history,
    ):
        looks: tuple[tuple[str, Callable[[], None]], ...] = (
            (_STORE, lambda: _read_store(status, store, history, settings)),
            ("Redis (REDIS_URL)", lambda: _read_redis(status, redis, store)),
        )
        for part, read in looks:
            try:
                read()
            except (SQLAlchemyError, RedisError, OSError) as error:
                reason = (str(error).splitlines() or [""])[0][:200]
                status.problems.append(redact(f"{part} could not be read: {reason or type(error).__name__}"))
    status.sessions = _sessions(settings)
    status.problems += _problems_of_home(settings)
    return status


def _read_store(status: Status, store: Store, history: History, settings: Settings) -> None:
    if store.is_new():
        status.is_new = True
        return
    now = datetime.now(UTC)
    spent = store.spent(since=start_of_day())
    status.today.update(
        model_calls=spent.calls,
        tokens=spent.tokens,
        cost=None if spent.cost_micros is None else spent.cost_micros / 1e6,
        currency=settings.budget.currency,
    )
    for each in history.open_turns():
        turn = each.turn
        shown: Json = {"turn": turn.id, "thread": turn.thread_id, "age_s": _age(now, turn.created_at)}
        if turn.status == "waiting":
            status.waiting.append({**shown, "waits_s": _age(now, each.moved_at), "question": each.question})
        else:
            moved: Json = {
                "steps": each.steps,
                "last_step": each.last_kind,
                "last_step_s_ago": _age(now, each.moved_at),
            }
            status.turns.append({**shown, **moved, "node": each.node_id, "model": turn.model, "worked_on": None})
    status.mail += [
        {"thread": each.thread_id, "messages": each.messages, "oldest_s": _age(now, each.oldest_at)}
        for each in history.mail()
    ]


def _read_redis(status: Status, redis: Redis, store: Store) -> None:
    leases = Leases(redis, store)
    for turn in status.turns:
        turn["worked_on"] = leases.is_held(turn["thread"])
    status.queues.update(queue_lengths(redis))
    status.nodes += [{"node": node.id, "seen_s_ago": node.seen_s_ago, **node.about} for node in nodes(redis)]
    try:
        check_writes(redis)
    except RedisError as error:
        if (why := refusal(error)) is None:
            raise
        status.problems.append(f"{why}; until then no node can announce itself")


def _problems_of_home(settings: Settings) -> list[str]:
    """Whether the disk of this node's home takes no writes. A machine without a node has no home."""
    try:
        check_home(settings.home)
    except OSError as error:  # another user than the services' may not write there: that says nothing of the disk
        return list(filter(None, [home_refusal(settings.home, error)]))
    return []


def _sessions(settings: Settings) -> Json:
    """The sessions of the node that the command runs on."""
    client = SessionClient(settings.session_socket)
    try:
        answer, live = client.ping(), client.sessions()
    except (HostUnavailable, OSError):
        return {"node": settings.node_id, "up": False, "sandbox": None, "sessions": []}
    return {
        "node": settings.node_id,
        "up": True,
        "sandbox": answer.sandbox.level,
        "sessions": [{"thread": each.thread_id, "pid": each.pid, "cell": each.cell_id} for each in live],
    }


def as_tables(status: Status) -> Iterator[RenderableType]:
    """The status for a person."""
    yield from [Text(NOTHING_YET)] if status.is_new else _turns(status)
    yield from _waiting(status)
    yield from _today(status.today)
    yield Text("queues: " + (", ".join(f"{name} {count}" for name, count in status.queues.items()) or "?"))
    yield from _nodes(status)
    yield from _live_sessions(status.sessions)
    for problem in status.problems:
        yield Text(printable(problem), style="red")


def _turns(status: Status) -> Iterator[RenderableType]:
    if not status.turns:
        is_known = not any(problem.startswith(_STORE) for problem in status.problems)
        yield Text("no turn is running" if is_known else "turns: ?")
        return
    table = _table("running turns", "turn", "age", "steps", "last step", "node", "state")
    for turn in status.turns:
        state = {True: "worked on", False: "waits for a worker", None: "?"}[turn["worked_on"]]
        last = f"{turn['last_step'] or '-'}, {_span(turn['last_step_s_ago'])} ago"
        table.add_row(*_cells(turn["turn"], _span(turn["age_s"]), turn["steps"], last, turn["node"] or "-", state))
    yield table


def _today(today: Json) -> Iterator[RenderableType]:
    if today:
        cost = "" if today["cost"] is None else f", about {money(round(today['cost'] * 1e6))} {today['currency']}"
        calls = today["model_calls"]
        yield Text(f"today: {calls} model {'call' if calls == 1 else 'calls'}, {today['tokens']:,} tokens{cost}")


def _waiting(status: Status) -> Iterator[RenderableType]:
    if status.waiting:
        table = _table("waiting for a person", "turn", "since", "question")
        for turn in status.waiting:
            table.add_row(*_cells(turn["turn"], _span(turn["waits_s"]), turn["question"][:200]))
        yield table
    if status.mail:
        table = _table("unread messages", "thread", "messages", "oldest")
        for each in status.mail:
            table.add_row(*_cells(each["thread"], each["messages"], _span(each["oldest_s"])))
        yield table


def _nodes(status: Status) -> Iterator[RenderableType]:
    if not status.nodes:
        if status.queues and not status.problems:  # Redis was read and takes writes: no node has announced itself
            yield Text("no worker service is alive: start one with `threadbook worker`", style="yellow")
        return
    table = _table("nodes", "node", "seen", "workers", "sandbox", "version", "up for")
    for node in status.nodes:
        up = _span(node["up_s"]) if "up_s" in node else "?"
        seen = f"{node['seen_s_ago']:.0f} s ago"
        told = (node.get("workers", "?"), node.get("sandbox", "?"), node.get("version", UNTOLD))
        table.add_row(*_cells(node["node"], seen, *told, up))
    yield table
    if several := mixed({node["node"]: node.get("version", UNTOLD) for node in status.nodes}):
        yield Text(f"{several}. Upgrade the others too (docs/upgrade.md).", style="yellow")


def _live_sessions(here: Json) -> Iterator[RenderableType]:
    if not here["up"]:
        yield Text("no session host answers on this node")
    elif not here["sessions"]:
        yield Text(f"no session lives on this node (sandbox {here['sandbox']})")
    else:
        table = _table(f"sessions on this node (sandbox {here['sandbox']})", "thread", "pid", "cell")
        for each in here["sessions"]:
            table.add_row(*_cells(each["thread"], each["pid"], each["cell"] or "idle"))
        yield table


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _cells(*values: object) -> list[Text]:
    return [Text(printable(str(value))) for value in values]


def _age(now: datetime, then: datetime) -> float:
    return round(max(0.0, (now - then).total_seconds()), 1)


def _span(seconds: float) -> str:
    """Seconds in the units that people use: "4 s", "12 min", "3.5 h", "2.0 d"."""
    for size, unit, form in ((86_400, "d", ".1f"), (3_600, "h", ".1f"), (60, "min", ".0f")):
        if seconds >= size:
            return f"{seconds / size:{form}} {unit}"
    return f"{seconds:.0f} s"
