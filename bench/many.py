"""The show: hundreds of live sessions on one node, each with data of its own, half of them put to rest, all correct.

`python -m bench.many [--sessions N] [--json]`; also a part of `python -m bench executor`. Takes about two minutes.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from bench.goals import ALL_SESSIONS, many
from core.retry import wait_until
from executor.client import SessionClient
from executor.launch import running_host
from executor.values import CellResult, Limits

CLIENTS = 8
IDLE_S = 45.0  # longer than it takes to start them all
AWAKE_EVERY_S = 10.0
TIMEOUT_S = 180.0
HOLD = """
import numpy as np, pandas as pd
number = {number}
frame = pd.DataFrame({{"k": np.arange(1_000) % 4, "v": np.arange(1_000) * number}})
def total(): return int(frame.groupby("k").v.sum().loc[number % 4])
"""
ASK = "print(number, total(), len(frame))"


def show(sessions: int = ALL_SESSIONS) -> dict[str, Any]:
    """Start all, let every second one rest, ask each for its data. Returns counts and seconds."""
    threads = {f"T:show:{number}": number for number in range(sessions)}
    awake = [thread for thread, number in threads.items() if number % 2 == 0]
    with running_host(limits=Limits(idle_s=IDLE_S)) as client, ThreadPoolExecutor(CLIENTS) as clients:
        begin = time.perf_counter()
        started = list(
            clients.map(lambda each: client.run(each[0], "hold", HOLD.format(number=each[1])), threads.items())
        )
        up_s = time.perf_counter() - begin
        alive = len(_alive(client) & set(threads))
        _let_rest(client, clients, awake, set(threads) - set(awake))
        rested = set(threads) - _alive(client)
        begin = time.perf_counter()
        answers = dict(zip(threads, clients.map(lambda thread: client.run(thread, "ask", ASK), threads), strict=True))
        asked_s = time.perf_counter() - begin
    wrong = [thread for thread, number in threads.items() if answers[thread].stdout != _expected(number)]
    return {
        "sessions": sessions,
        "alive": alive,
        "up_s": up_s,
        "failed": sum(result.status != "ok" for result in started),
        "rested": len(rested),
        "asked_s": asked_s,
        "wrong": len(wrong),
        "wrong_examples": [_words(answers[thread]) for thread in wrong[:3]],
    }


def _let_rest(client: SessionClient, clients: ThreadPoolExecutor, awake: list[str], others: set[str]) -> None:
    """Use only `awake` until the session host has put all the others to rest."""
    rounds = itertools.count(1)

    def all_rest() -> bool:
        if not _alive(client) & others:
            return True
        list(clients.map(functools.partial(_touch, client, f"awake {next(rounds)}"), awake))
        return False

    wait_until(all_rest, for_s=TIMEOUT_S, every_s=AWAKE_EVERY_S)


def _touch(client: SessionClient, cell: str, thread: str) -> None:
    client.run(thread, cell, "number")


def _alive(client: SessionClient) -> set[str]:
    return {info.thread_id for info in client.sessions()}


def _expected(number: int) -> str:
    total = sum(value * number for value in range(1_000) if value % 4 == number % 4)
    return f"{number} {total} 1000\n"


def _words(result: CellResult) -> str:
    return f"{result.status}: {result.stdout[:80]!r} {result.error or ''} {result.notices or ''}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.many")
    parser.add_argument("--sessions", type=int, default=ALL_SESSIONS)
    parser.add_argument("--json", action="store_true", help="only the raw figures, as JSON")
    options = parser.parse_args()
    found = show(options.sessions)
    row = many(found)
    print(json.dumps(found) if options.json else f"{row.what}: {row.ours}; {'well' if row.met else 'NOT WELL'}")
