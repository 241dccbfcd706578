"""A simulated year: many threads, a sped-up clock, and at its end no store that still grows.

Whole turns run on doubles of Slack and of the session host, on a real Store and a real file store. Each simulated night
does what a node's janitor does. `make soak-year` prints what each store holds at the end of each month, and what a
thread adds while it lives. It exits with 1 when a store grew after retention had come to its balance.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import fmean
from typing import Any

import time_machine
from turn_world import World, cell, finish, hurried, new_database, question

from core.store.purge import KEPT
from core.values import ThreadKey
from workers.models.scripted import ScriptedModel
from workers.service.sweeping.eviction import Eviction
from workers.service.sweeping.purges import carry_out_orders, keep_retention

DAYS = 365
RETENTION_DAYS = 90
EVICT_DAYS = 14
MONTH = 30
BALANCE, LAST = slice(3, 8), slice(9, 12)
"""Months 4 to 8, when threads of the first three are purged already, and the last three. Their means are compared."""
GROWTH = 1.2
"""Months differ by chance: how many threads are new, how long they live."""
TEAM = f"[retention]\ndays = {RETENTION_DAYS}\n[storage]\nevict_days = {EVICT_DAYS}\n"

READ = "import os\nif os.path.exists('given.csv'):\n    open('given.csv').close()\n"
"""An answer about a file that no cell has opened would not be accepted."""
MODEL_REPLIES = (
    [cell(READ + "n = globals().get('n', 0) + 1\nprint('n is', n)", "Count"), finish("It is counted.")],
    [cell(READ + "import numpy as np\nbig = np.arange(20_000.0)", "Make it large"), finish("It is large.")],
    [cell(READ + "print(('x' * 99 + '\\n') * 1_500)", "Print much"), finish("It is long.")],
    [cell(READ + "open('made.csv', 'w').write('a,b\\n' * 5_000)", "Write a file"), finish("See the file.")],
    [cell(READ + "1 / 0", "Fail"), cell("n = 2\nn", "Mend it"), finish("It is mended.")],
)
STOPPED = 0.02
"""Share of turns that may end without an answer. In a script that goes on from a person's answer the first cell is
left out, and with it sometimes the look into the file."""
MANY_TURNS = 60
"""More than a thread has."""
UNANSWERED = [question("Gross or net?", "gross", "net")]


@dataclass
class Year:
    """What happens in the world, day by day."""

    world: World
    threads: int
    turns_a_day: int
    draw: random.Random
    keys: list[ThreadKey] = field(default_factory=list)
    turns: int = 0
    stopped: int = 0
    """Turns that ended without an answer. They leave less behind than others."""

    def day(self) -> None:
        """People ask in new threads and in those of the last days."""
        new = self.threads / DAYS
        for number in range(self.turns_a_day):
            is_new = not self.keys or self.draw.random() < new / self.turns_a_day
            files = {"given.csv": f"x\n{self.turns}\n".encode() * 500} if is_new and number % 3 == 0 else None
            thread = None if is_new else self.draw.choice(self.keys[-max(20, self.threads // 26) :])
            replies = UNANSWERED if self.draw.random() < 0.02 else self.draw.choice(MODEL_REPLIES)
            self.world.model = ScriptedModel(turns=[list(replies)] * MANY_TURNS)  # whichever turn of its thread this is
            key = self.world.say(f"question {self.turns}?", thread=thread, files=files)
            self.world.settle(key)
            self.stopped += self.world.store.turns(key.id)[-1].status == "stopped"
            self.keys += [key] if is_new else []
            self.turns += 1

    def night(self) -> None:
        """What the janitor of a node does, and the session host: sessions come to rest."""
        world = self.world
        world.sessions.restart()
        worker = world.worker()
        context = worker.context
        Eviction(EVICT_DAYS, world.store, worker.leases, context.transfer, world.sessions).sweep()
        keep_retention(context.settings, world.store, context.blobs, world._redis, lambda: datetime.now(UTC))
        carry_out_orders(context.settings, world.store, world.sessions, context.blobs)

    def stores(self) -> dict[str, int]:
        """What each store holds now."""
        home = self.world.settings.home
        with closing(sqlite3.connect(home / "store.db")) as db:
            names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            rows = {name: db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names}
            used = db.execute("SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, "
                              "pragma_freelist_count, pragma_page_size").fetchone()[0]  # fmt: skip
        for_ever = KEPT | {"alembic_version"}
        return {
            "rows": sum(count for name, count in rows.items() if name not in for_ever and "sqlite" not in name),
            "rows for ever": sum(rows.get(name, 0) for name in for_ever),
            "database": int(used),
            "file store": _bytes(self.world.worker().context.settings.home / "files"),
            "sessions": _bytes(home / "here"),
            "Redis keys": len(self.world._redis.keys()),
        }


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def growing(months: Sequence[dict[str, int]]) -> list[str]:
    """The stores that hold more in the last month than retention explains. What is kept for ever is only shown."""
    bounded = (name for name in months[-1] if name != "rows for ever")

    def mean(name: str, which: slice) -> float:
        return fmean(month[name] for month in months[which])

    return [name for name in bounded if mean(name, LAST) > GROWTH * mean(name, BALANCE)]


def run(folder: Path, threads: int, turns_a_day: int, seed: int) -> int:
    """Live the year; returns the exit code."""
    template = new_database(folder / "template")
    with (
        hurried(),
        time_machine.travel(datetime(2026, 1, 1, 8, tzinfo=UTC), tick=True) as clock,
        closing(World(folder / "world", template, team=TEAM, hands_over=True)) as world,
    ):
        year = Year(world, threads, turns_a_day, random.Random(seed))
        months: list[dict[str, int]] = []
        for day in range(1, DAYS + 1):
            year.day()
            clock.shift(timedelta(days=1))
            year.night()
            if day % MONTH == 0:
                months.append(year.stores())
                shown = " · ".join(f"{name} {value:,}" for name, value in months[-1].items())
                print(f"month {day // MONTH}: {year.turns:,} turns, {len(year.keys):,} threads · {shown}", flush=True)
    return report(months, year, seed)


def report(months: Sequence[dict[str, int]], year: Year, seed: int) -> int:
    """Print what the year shows; returns the exit code."""
    alive = max(1, round(len(year.keys) * RETENTION_DAYS / DAYS))
    for name, value in months[-1].items():
        print(f"{name}: about {value / alive:,.0f} for each of {alive:,} threads that are kept")
    found = growing(months)
    print(
        f"seed {seed}: {year.turns:,} turns in {len(year.keys):,} threads, {year.stopped:,} without an answer; "
        f"these stores grew: {found or 'none'}"
    )
    return 1 if found or year.stopped > STOPPED * year.turns else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it as a program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=10_000, help="begun in the year")
    parser.add_argument("--turns", type=int, default=100, help="a day")
    parser.add_argument("--seed", type=int, default=1)
    given: Any = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="threadbook-year-") as folder:
        return run(Path(folder), given.threads, given.turns, given.seed)


if __name__ == "__main__":
    sys.exit(main())
