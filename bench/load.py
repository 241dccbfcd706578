"""P9 and P10: a hundred threads at once, how throughput grows with the workers, and a worker killed in mid-cell.

The whole stack runs as real processes, with a scripted model that answers at once. Slack is the playground, on the
same cores: its share of the processor time is shown beside ours. Limits on running turns are off: the machine is
measured. The Store is an SQLite file, and then a Postgres that lets the user postgres in without a password (PGHOST and
PGPORT, else 127.0.0.1:5432). Where none answers, that part is left out with a line.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psutil
import psycopg
from rich.console import Console
from rich.table import Table

from bench.processes import pss_mib
from core.retry import wait_until
from core.steps import CellRan
from core.values import ThreadKey
from tryout.stack.blocks_text import message_text
from tryout.stack.conversation import Conversation
from tryout.stack.stack import Stack, running

THREADS = 100
WORKERS = (1, 2, 4)
PEOPLE = ("ana", "ben")
CHANNEL = "#sales"
TIMEOUT_S = 300.0
REPORT = "The answer is 60."
GOAL_TURNS_S, GOAL_BACK_S = 25.0, 5.0
STORES = ("sqlite", "postgres")


def measure() -> dict[str, Any]:
    """Measure both, print tables, return the raw figures."""
    console = Console()
    # In turns: what else the machine does meets both.
    rounds = [_with_workers(count, store) for count in WORKERS for store in _stores()]
    console.print(_rounds_table(rounds))
    best = max(rounds, key=lambda each: each["turns_per_s"])
    console.print(_shares_table(best))
    killed = _killed_in_mid_cell()
    console.print(
        f"P10  kill -9 of a job in mid-cell: turn over {killed['back_s']:.1f} s later (goal {GOAL_BACK_S:g} s), "
        f"{killed['reports']} report, cells run {killed['cells_run']}"
    )
    return {"p9": rounds, "p10": killed, "load_average": os.getloadavg()}


def _script(*cells: str) -> list[dict[str, Any]]:
    calls = [
        {"calls": [{"name": "run_python", "arguments": {"code": code, "title": f"Cell {n}"}}]}
        for n, code in enumerate(cells)
    ]
    return [*calls, {"calls": [{"name": "finish", "arguments": {"report": REPORT}}]}]


def _stores() -> tuple[str, ...]:
    """The kinds of database that are measured."""
    try:
        psycopg.connect(_server(), connect_timeout=5).close()
    except psycopg.OperationalError as error:
        print(f"left out: the Store on Postgres ({str(error).splitlines()[0]})")
        return STORES[:1]
    return STORES


def _server(database: str = "postgres") -> str:
    host, port = os.environ.get("PGHOST", "127.0.0.1"), os.environ.get("PGPORT", "5432")
    return f"postgresql://postgres@{host}:{port}/{database}"


@contextmanager
def _database(store: str) -> Iterator[str]:
    """The URL of a database of a stack's own; "" for the SQLite file that it makes."""
    if store == "sqlite":
        yield ""
        return
    name = f"bench_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(_server(), autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
        try:
            yield _server(name).replace("postgresql:", "postgresql+psycopg:", 1)
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def _stack(workers: int, script: list[dict[str, Any]], store: str = "sqlite") -> Iterator[Stack]:
    with tempfile.TemporaryDirectory(prefix="bench-") as name, _database(store) as url:
        folder = Path(name)
        (folder / "script.json").write_text(json.dumps({"turns": [script]}))
        fairness = "[fairness]\nrunning = 0\nper_channel = 0\nper_person = 0\n"
        (folder / "threadbook.toml").write_text(f"[workers]\ncount = {workers}\n{fairness}")
        changes = {
            "THREADBOOK_MODEL": f"scripted:{folder / 'script.json'}",
            "THREADBOOK_CONFIG": str(folder / "threadbook.toml"),
        }
        with patch.dict("os.environ", changes), running(folder / "home", lambda _: None, database_url=url) as stack:
            stack.slack.set_options(share_delay_s=0)
            yield stack


@dataclass
class StackProcesses:
    """The processes of a stack by kind. The processor time of a process includes that of its dead children."""

    stack: Stack
    before: dict[str, float] = field(default_factory=dict)

    def pids(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for child in psutil.Process().children(recursive=True):
            try:
                found.setdefault(_kind(child), []).append(child.pid)
            except psutil.NoSuchProcess:
                continue
        return found

    def memory_mib(self) -> dict[str, float]:
        return {kind: round(pss_mib(pids), 1) for kind, pids in sorted(self.pids().items())}

    def seconds(self) -> dict[str, float]:
        found = {}
        for kind, pids in self.pids().items():
            total = 0.0
            for pid in pids:
                try:
                    times = psutil.Process(pid).cpu_times()
                except psutil.NoSuchProcess:
                    continue
                total += times.user + times.system + times.children_user + times.children_system
            found[kind] = total
        return found


def _kind(process: psutil.Process) -> str:
    line = " ".join(process.cmdline())
    if "executor.host" in line:
        return "session host"
    if "executor.zygote" in line:
        return "zygote and sessions"
    if "valkey" in line or "redis" in line:
        return "redis"
    for name in ("playground", "bot", "worker"):
        if f"threadbook {name}" in line:
            return {"worker": "worker service", "playground": "playground (Slack)"}.get(name, name)
    return "other"


def _with_workers(count: int, store: str) -> dict[str, Any]:
    with _stack(count, _script("x = 20", "y = x * 2", "print(x + y)"), store) as stack:
        Conversation(stack, CHANNEL).say("warm up", [])
        processes = StackProcesses(stack)
        memory, cpu = processes.memory_mib(), processes.seconds()
        began = time.time()
        keys = [
            stack.slack.say(CHANNEL, PEOPLE[number % len(PEOPLE)], f"@threadbook question {number}").thread
            for number in range(THREADS)
        ]
        asked = time.time()
        _wait(stack, keys)
        turns = [turn for key in keys for turn in stack.store.turns(key.id)]
        ended = max(turn.ended_at.timestamp() for turn in turns if turn.ended_at)
        used = {kind: round(value - cpu.get(kind, 0.0), 2) for kind, value in processes.seconds().items()}
        answers = [_reports(stack, key) for key in keys]
        return {
            "workers": count,
            "store": store,
            "turns_per_s": len(turns) / (ended - began),
            "asked_s": asked - began,
            "all_s": ended - began,
            "lost": answers.count(0),
            "twice": sum(number > 1 for number in answers) + (len(turns) - len(keys)),
            "median_wait_s": statistics.median(
                turn.ended_at.timestamp() - float(turn.thread_id.rpartition(":")[2]) for turn in turns if turn.ended_at
            ),
            "cpu_s": used,
            "memory_before_mib": memory,
            "memory_after_mib": processes.memory_mib(),
        }


def _wait(stack: Stack, keys: list[ThreadKey]) -> None:
    waiting = list(keys)

    def all_done() -> bool:
        stack.check()
        while waiting and [turn.status for turn in stack.store.turns(waiting[0].id)] == ["done"]:
            waiting.pop(0)
        return not waiting

    if not wait_until(all_done, for_s=TIMEOUT_S, every_s=0.2):
        raise TimeoutError(f"{len(waiting)} of {len(keys)} threads did not finish within {TIMEOUT_S:.0f} s")


def _reports(stack: Stack, key: ThreadKey) -> int:
    return sum(REPORT in message_text(message) for message in stack.slack.thread(key)[1:])


def _killed_in_mid_cell() -> dict[str, Any]:
    slow = "import time\nruns = globals().get('runs', 0) + 1\ntime.sleep(3)\nprint('slow ran', runs)"
    with _stack(2, _script("x = 20", slow, "print(x * 3, runs)")) as stack:
        key = stack.slack.say(CHANNEL, "ana", "@threadbook something slow").thread
        if not wait_until(lambda: len(_cells(stack, key)) == 1 and _horses(stack), for_s=TIMEOUT_S, every_s=0.05):
            raise TimeoutError("the cell did not begin")
        time.sleep(0.5)
        at = time.time()
        for horse in _horses(stack):
            horse.kill()
        _wait(stack, [key])
        steps = stack.store.steps(stack.store.turns(key.id)[0].id)
        turn = stack.store.turns(key.id)[0]
        return {
            "back_s": (turn.ended_at.timestamp() if turn.ended_at else time.time()) - at,
            "reports": _reports(stack, key),
            "cells_run": [step.stdout.strip() for step in steps if isinstance(step, CellRan)],
        }


def _cells(stack: Stack, key: ThreadKey) -> list[CellRan]:
    turns = stack.store.turns(key.id)
    return [step for turn in turns for step in stack.store.steps(turn.id) if isinstance(step, CellRan)]


def _horses(stack: Stack) -> list[psutil.Process]:
    service = psutil.Process(int((stack.home / "worker.ready").read_text()))
    forks = [child for child in service.children() if "executor.host" not in " ".join(child.cmdline())]
    return [horse for fork in forks for horse in fork.children()]


def _rounds_table(rounds: list[dict[str, Any]]) -> Table:
    title = (
        f"P9: {THREADS} threads, one turn of three cells each (goal ≥ {GOAL_TURNS_S:g} turns/s, none lost, none twice)"
    )
    names = ("workers", "store", "turns/s", "worker service", "all done in", "median wait", "lost", "twice")
    table = Table(*names, title=title)
    for each in rounds:
        table.add_row(
            str(each["workers"]),
            each["store"],
            f"{each['turns_per_s']:.1f}",
            f"{each['cpu_s']['worker service'] / THREADS * 1000:.0f} ms",
            f"{each['all_s']:.1f} s",
            f"{each['median_wait_s']:.1f} s",
            str(each["lost"]),
            str(each["twice"]),
        )
    return table


def _shares_table(each: dict[str, Any]) -> Table:
    cores = os.cpu_count() or 1
    where = f"where {each['all_s']:.1f} s × {cores} cores went, and memory (PSS, MiB)"
    title = f"{each['workers']} workers, {each['store']}: {where}"
    table = Table("process", "processor time", "per turn", "memory before", "after", title=title)
    for kind in sorted(each["cpu_s"], key=each["cpu_s"].__getitem__, reverse=True):
        used = each["cpu_s"][kind]
        before, after = each["memory_before_mib"].get(kind, 0.0), each["memory_after_mib"].get(kind, 0.0)
        share = f"{used:.1f} s, {used / each['all_s'] / cores:.0%}"
        table.add_row(kind, share, f"{used / THREADS * 1000:.0f} ms", f"{before:.0f}", f"{after:.0f}")
    return table
