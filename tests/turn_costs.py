"""Counts what one whole turn asks of the Store, of Redis and of Slack: `PYTHONPATH=.:tests python tests/turn_costs.py`.

A person mentions the bot, the bot takes the message in and wakes the thread, a worker works on it until it rests: three
cells, a judged report and its three files. The bot, the jobs, the turn, the Store, the writer and the rate budgets are
the real ones; Slack, Redis and the session host are doubles. The model answers at once, from a script.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from redis.connection import AbstractConnection
from sqlalchemy import Connection, Engine, event
from turn_world import ANA, CHANNEL, Death, World, cell, finish, hurried, new_database

from bot.message_handler import MessageHandler
from core.queue import Wakes
from core.slack.rates import Rates
from core.slack.writing.writer import SlackWriter
from core.store import Store
from core.values import IncomingMessage, ThreadKey
from workers.delivery import card
from workers.models.scripted import ScriptedModel
from workers.service import jobs

THREE_CELLS = [cell("x = 20"), cell("y = x * 2"), cell("print(x + y)"), finish("It is **60**.")]
BOT, WORKER = "bot", "worker"
_OPENING = {"HELLO", "CLIENT", "SCRIPT"}
"""What a connection to Redis says once, and a server that sees a script for the first time is told."""
_STORE = str(Path(Store.__module__.replace(".", "/")).parent)


@dataclass
class Costs:
    """What was counted, by who asked and for what.

    `statements` by method of the Store. `transactions` by the same; one of a single statement counts too. `exchanges`
    are the round trips that the Store takes on Postgres, where BEGIN and COMMIT are round trips of their own unless the
    statement commits itself. `redis` by command, those of a pipeline one by one. `slack` by method; an upload of bytes
    is "upload".
    """

    statements: Counter[str] = field(default_factory=Counter)
    transactions: Counter[str] = field(default_factory=Counter)
    exchanges: int = 0
    redis: Counter[str] = field(default_factory=Counter)
    slack: Counter[str] = field(default_factory=Counter)
    queries: list[str] = field(default_factory=list)
    strangers: frozenset[threading.Thread] = field(default_factory=lambda: frozenset(threading.enumerate()))
    """Threads that lived before: an earlier test may have left one that polls."""

    def __post_init__(self) -> None:
        self.strangers -= {threading.current_thread()}

    def _is_other(self) -> bool:
        return threading.current_thread() in self.strangers or _operation() in _BY_THE_CLOCK

    def note_begin(self, connection: Connection) -> None:
        """A transaction begins."""
        if self._is_other():
            return
        self.transactions[_operation()] += 1
        if connection.get_execution_options().get("isolation_level") != "AUTOCOMMIT":
            self.exchanges += 2

    def note_statement(self, _c: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        """A statement is sent. SQLite's BEGIN is one for the driver only."""
        if not statement.startswith("BEGIN") and not self._is_other():
            self.statements[_operation()] += 1
            self.exchanges += 1
            self.queries.append(f"{_operation()}: {' '.join(statement.split())[:150]}")


_BY_THE_CLOCK = {"stop_asked", "stops_asked"}
"""Asked every half second while something is waited for: a slow machine asks more often."""


def _renews() -> bool:
    """Whether a lease is being renewed, which goes by the clock too."""
    return threading.current_thread().name.startswith("lease ")


def _operation() -> str:
    """The method of the Store that is at work: the outermost one."""
    frame, found = sys._getframe(1), "?"
    while frame is not None:
        if _STORE in frame.f_code.co_filename and not frame.f_code.co_name.startswith(("_", "reading", "writing")):
            found = frame.f_code.co_name
        frame = frame.f_back  # type: ignore[assignment]
    return found


@contextmanager
def counted() -> Iterator[Costs]:
    """Inside the block, statements and commands of all threads are counted."""
    costs = Costs()
    send, pack = AbstractConnection.send_command, AbstractConnection.pack_commands

    def sent(connection: Any, *arguments: Any, **options: Any) -> Any:
        if _command(arguments) not in _OPENING and not _renews() and threading.current_thread() not in costs.strangers:
            costs.redis[_command(arguments)] += 1
        return send(connection, *arguments, **options)

    def packed(connection: Any, commands: Any) -> Any:
        listed = list(commands)
        if threading.current_thread() in costs.strangers:
            return pack(connection, listed)
        costs.redis.update(command for command in map(_command, listed) if command not in _OPENING)
        return pack(connection, listed)

    event.listen(Engine, "before_cursor_execute", costs.note_statement)
    event.listen(Engine, "begin", costs.note_begin)
    AbstractConnection.send_command, AbstractConnection.pack_commands = sent, packed  # type: ignore[method-assign]
    try:
        yield costs
    finally:
        AbstractConnection.send_command, AbstractConnection.pack_commands = send, pack  # type: ignore[method-assign]
        event.remove(Engine, "before_cursor_execute", costs.note_statement)
        event.remove(Engine, "begin", costs.note_begin)


def _command(arguments: Any) -> str:
    return str(arguments[0]).upper()


class AtOnce(Executor):
    """Does what it is given before it returns."""

    def submit(self, work: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(work(*arguments, **options))
        except Exception as error:
            done.set_exception(error)
        return done


@dataclass
class _Paced(Death):
    """A worker that does not die, whose calls to Slack keep to the rate budgets."""

    rates: Rates | None = None

    def watch(self, when: str, effect: str) -> None:
        if when == "before" and "." in effect and self.rates is not None:
            self.rates.wait(effect, CHANNEL)


def whole_turn(world: World, thread: ThreadKey | None = None) -> tuple[ThreadKey, dict[str, Costs]]:
    """A mention, and all that follows from it: what the bot asked for, and what the worker did."""
    paced = _Paced(rates=Rates(world._redis, paced=True))
    posted = world.slack.say("how much?", user=ANA, thread_ts=thread.root_ts if thread else "")
    key = thread or ThreadKey(world.slack.team, CHANNEL, posted["ts"])
    found = {}
    before = len(world.slack.calls)
    wakes = world.wakes()
    with counted() as found[BOT]:
        _mention(world, key, str(posted["ts"]), paced, wakes)
    found[BOT].slack.update(method for method, _ in world.slack.calls[before:])
    before = len(world.slack.calls)
    worker = world.worker()
    with counted() as found[WORKER], world.watched(paced):
        taken = worker.wakes.take(worker.context.settings.node_id)
        assert taken == key.id
        jobs.run(worker, taken)
    found[WORKER].slack.update(method for method, _ in world.slack.calls[before:])
    assert world.statuses(key)[-1] == "done"
    return key, found


def _mention(world: World, key: ThreadKey, ts: str, paced: _Paced, wakes: Wakes) -> None:
    """What the bot does with a mention."""
    message = IncomingMessage(
        team=key.team,
        channel=key.channel,
        channel_type="channel",
        ts=ts,
        root_ts=key.root_ts,
        user=ANA,
        text="how much?",
        mention=True,
    )
    world.slack.watch = paced.watch
    handler = MessageHandler(
        settings=world.settings,
        store=world.store,
        wakes=wakes,
        slack=SlackWriter(world.slack.client(), world.store),
        later=AtOnce(),
        lookups=AtOnce(),
    )
    handler.take(message, handler.event_context(key.team, "U0FAKEBOT1"))
    world.slack.watch = lambda when, method: None


@contextmanager
def quick_cards() -> Iterator[None]:
    """However slow this machine is, a turn inside the block is over before its first frame."""
    first_after_s = card.FIRST_AFTER_S
    card.FIRST_AFTER_S = 1_000.0
    try:
        yield
    finally:
        card.FIRST_AFTER_S = first_after_s


def table(parts: dict[str, Costs]) -> str:
    """The counts as text."""
    lines = []
    for name, costs in parts.items():
        lines.append(
            f"{name}: {costs.statements.total()} statements in {costs.transactions.total()} transactions, "
            f"{costs.exchanges} round trips on this database, {costs.redis.total()} Redis commands, "
            f"{costs.slack.total()} calls to Slack"
        )
        for what in ("statements", "transactions", "redis", "slack"):
            counts = getattr(costs, what).most_common()
            lines.append(f"  {what}: " + ", ".join(f"{key} {count}" for key, count in counts))
    return "\n".join(lines)


def _one_worker(world: World, number: int) -> tuple[Any, ThreadKey]:
    """A worker that has just started, and a thread with a question for it. No two reports are the same."""
    world.model = ScriptedModel([*THREE_CELLS[:-1], finish(f"It is **60**, for the question {number}.")])
    key = world.say("how much?")
    return world.worker(), key


def _profile(world: World, turns: int) -> tuple[list[float], pstats.Stats]:
    """Seconds of processor time of each turn on the doubles, all threads; and a profile of as many more turns."""
    used = []
    for number in range(turns):
        worker, key = _one_worker(world, number)
        began = time.process_time()
        jobs.run(worker, key.id)
        used.append(time.process_time() - began)
    profile = cProfile.Profile(time.thread_time)
    for number in range(turns, 2 * turns):
        worker, key = _one_worker(world, number)
        profile.runcall(jobs.run, worker, key.id)
    return sorted(used), pstats.Stats(profile)


def main() -> None:
    """Print the costs of a thread's first turn and of its second one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", default="", help="the URL of an empty Postgres; SQLite without it")
    parser.add_argument("--queries", action="store_true", help="list the statements")
    parser.add_argument(
        "--profile", type=int, default=0, metavar="N", help="processor time of N turns, and where it went"
    )
    parser.add_argument("--functions", action="store_true", help="with --profile: list the functions")
    options = parser.parse_args()
    with hurried(), quick_cards(), tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with closing(World(folder / "world", new_database(folder), database_url=options.database)) as world:
            world.store.migrate()
            world.model = ScriptedModel(THREE_CELLS)
            whole_turn(world)  # what a process asks once
            world.model = ScriptedModel(turns=[THREE_CELLS, THREE_CELLS])
            key, first = whole_turn(world)
            _, second = whole_turn(world, key)
            for title, parts in (("A thread's first turn", first), ("Its second turn", second)):
                print(f"\n{title}\n{table(parts)}")
                if options.queries:
                    print("\n".join(query for costs in parts.values() for query in costs.queries))
            if options.profile:
                used, profile = _profile(world, options.profile)
                calls = profile.total_calls / options.profile  # type: ignore[attr-defined]
                print(
                    f"\nprocessor time of a turn of a worker, on the doubles: {used[0] * 1000:.1f} ms at best, "
                    f"{used[len(used) // 2] * 1000:.1f} ms p50; {calls:,.0f} calls of functions"
                )
                if options.functions:
                    profile.sort_stats("cumulative").print_stats(70)
                    profile.sort_stats("tottime").print_stats(40)


if __name__ == "__main__":
    main()
