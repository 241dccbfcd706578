"""A shop's database and a thread whose scheduled report asks it: its statements are sent again at each due time."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import ExitStack, closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import sources_world
from turn_world import Meanwhile, World, cell, finish

from core.values import ThreadKey
from workers.models.scripted import ScriptedModel
from workers.service.schedules.runner import Runner, begin_due
from workers.sources.broker.client import BrokerClient
from workers.turn.clean_rooms.room import Room

ASK = (
    "orders = query('select amount, customer from orders where amount is not null', source='shop')\n"
    "print('total', orders.amount.astype(float).sum())\nprint('orders', len(orders))"
)
REPORT = finish("The total is **122.74** over **4** orders.")
EVERY = "every Monday 9:00 run this again"
TEAM = '[sources.shop]\nurl_env = "SHOP"\n'


class Shop:
    """A thread with an answered and scheduled question about the orders of a shop, which may change meanwhile."""

    def __init__(self, world: World, url: str, write: Callable[[list[str]], None]) -> None:
        """`url` is what the broker reads, `write` changes the shop."""
        self.world, self._url, self._write = world, url, write
        self.key: ThreadKey
        self._open = ExitStack()

    def change(self, *statements: str) -> None:
        """Somebody writes to the shop. The broker is away meanwhile: DuckDB lets nobody write beside a reader."""
        self.close()
        self._write(list(statements))
        self.open()

    def open(self) -> None:
        """The broker serves."""
        self._open.enter_context(sources_world.served(self.world.settings, SHOP=self._url))

    def close(self) -> None:
        """The broker is away."""
        self._open.close()

    def schedule(self, code: str = ASK, report: Any = REPORT) -> None:
        self.world.model = Meanwhile(ScriptedModel([cell(code, "Sum up"), report]), {})
        self.key = self.world.say("How much was ordered?")
        self.world.settle(self.key)
        self.world.say(EVERY, thread=self.key)
        self.world.settle(self.key)
        self.world.model = Meanwhile(ScriptedModel([]), {})

    def run(self, times: int = 1) -> str:
        """The next due time comes, and its run is made: what the thread says now."""
        (found,) = self.world.store.schedules(self.key.id)
        assert begin_due(self.world.store, found.next_at, self.world.settings) == 1
        self.work(found.next_at, times)
        return self.said()

    def work(self, at: datetime, times: int = 1) -> None:
        work(self.world, at, times)

    def said(self) -> str:
        return str(self.world.messages(self.key, ours=True)[-1]["text"])

    def state(self) -> str:
        (found,) = self.world.store.schedules(self.key.id)
        return found.state


def work(world: World, at: datetime, times: int = 1) -> None:
    """What the process of scheduled runs does on this node, a few seconds after that time."""
    context = world.worker().context
    settings = context.settings
    room = Room(settings, context.blobs, context.sessions, context.files)
    broker = BrokerClient(settings.broker_socket, back_s=0.1)
    later = at + timedelta(seconds=5)
    runner = Runner(settings, context.store, context.slack, room, broker, away_s=0.0, clock=lambda: later)
    runner.begin()
    for _ in range(times):
        runner.next()


def of_file(world: World, path: Path) -> Shop:
    """The sample shop in a file of SQLite or DuckDB, by its ending."""
    is_duckdb = path.suffix == ".duckdb"

    def write(statements: list[str]) -> None:
        with closing(duckdb.connect(str(path)) if is_duckdb else sqlite3.connect(path)) as file:
            for each in statements:
                file.execute(each)
            file.commit()

    write(sources_world.statements(json="json" if is_duckdb else "text"))
    shop = Shop(world, f"{'duckdb' if is_duckdb else 'sqlite'}:///{path}", write)
    shop.open()
    return shop
