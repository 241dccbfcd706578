"""P1 to P6: the executor through its public client, with the full sandbox, beside the alternatives of a user.

Rounds are interleaved (A B C A B C …), so that a busy machine is busy for every contestant.
The goals are ratios of medians; absolute times differ from machine to machine. A rival that cannot be installed is left
out with the reason. It takes about seven minutes, and the first time as long again for the rivals' environments.
`python -m bench executor [--json]`, or `python -m bench.executor --sessions N [--json]` for fewer sessions at once.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.goals import ALL_SESSIONS, OURS, Row, rows
from bench.many import show
from bench.processes import COLD_AFTER_S, children_of, free_mib, new_memory_s, peak_rss_mib, pss_mib, rss_mib, tree
from bench.rivals.contestants import Contestant, Session, Threadbook, rivals
from core.retry import wait_until
from executor.client import SessionClient
from executor.launch import running_host
from executor.values import Limits

ROUNDS, SLOW_ROUNDS = 5, 3
CELLS, SLOW_CELLS = 200, 5
CLIENTS = 8  # that ask for sessions at once in P4, as workers would
FIRST = "import pandas as pd, matplotlib.pyplot as plt\nprint(pd.Series([1, 2]).sum() + len(plt.get_fignums()))"
PRINTS = "for i in range(20_000): print('x' * 51)"
GROUP_BY = "print(pd.DataFrame({'k': [1, 1, 2], 'v': [1, 2, 3]}).groupby('k').v.sum().to_dict())"
FLOOD = "line = 'x' * 1023\nfor i in range(102_400): print(line)"
MAKE_CSV = """
import numpy as np, pandas as pd
rng, n = np.random.default_rng(1), 1_000_000
money = lambda: rng.integers(0, 100_000, n) / 100
pd.DataFrame({"id": range(n), "units": rng.integers(1, 99, n), "price": money(), "discount": money(), "paid": money()
}).to_csv("data.csv", index=False)
"""
READ = "import pandas as pd\nframe = pd.read_csv('data.csv')"
CHECK = "print(len(frame), frame.memory_usage().sum(), round(frame.paid.sum(), 2))"


def measure(sessions: int = ALL_SESSIONS) -> dict[str, Any]:
    """Measure everything and print the table. Returns the raw figures (seconds, MiB) and the judged goals."""
    _progress("installing the rivals, where they are not yet")
    others, left_out = rivals()
    raw: dict[str, Any] = {"left_out": left_out}
    raw |= _side_by_side(others, left_out)
    raw["memory"] = _memory(others, left_out, sessions)
    raw["flood"] = _flood()
    raw["restore"] = _restore()
    _progress(f"the show: {sessions} sessions, half of them put to rest")
    raw["many"] = show(sessions)
    judged = rows(raw)
    _print(judged, raw)
    return raw | {"goals": [asdict(row) for row in judged]}


def _side_by_side(others: list[Contestant], left_out: dict[str, str]) -> dict[str, Any]:
    """Measures start, trivial cells and 20,000 prints of every contestant, in rounds.

    "Without a spare" is the product when no session was made in advance. A rival that fails goes to `left_out`.
    """
    with ExitStack() as hosts:
        ours = Threadbook(hosts.enter_context(running_host(limits=Limits(idle_s=3600))))
        bare = Threadbook(hosts.enter_context(running_host(limits=Limits(idle_s=3600, spare_sessions=0))))
        bare.name = f"{OURS}, no spare"
        everybody: list[Contestant] = [ours, *others]
        start, cell, prints = ({each.name: [] for each in everybody} for _ in range(3))
        no_spare: list[float] = []
        for number in range(1, ROUNDS + 1):
            for contestant in everybody:
                if contestant.name in left_out or (contestant.slow and number > SLOW_ROUNDS):
                    continue
                _progress(f"round {number} of {ROUNDS}: {contestant.name}")
                try:
                    with contestant.open(FIRST) as session:
                        _expect(session.first, "3\n")
                        start[contestant.name].append(session.first_s)
                        cell[contestant.name] += _trivial_cells(session, SLOW_CELLS if contestant.slow else CELLS)
                        prints[contestant.name] += session.timed(PRINTS, 1)
                except (RuntimeError, OSError) as error:
                    if contestant is ours:
                        raise
                    left_out[contestant.name] = f"failed in round {number}: {error}"
            with bare.open(FIRST) as session:
                no_spare.append(session.first_s)
        sandbox = asdict(ours.client.ping().sandbox)
    return {"sandbox": sandbox, "start_s": start, "no_spare_start_s": no_spare, "cell_s": cell, "prints_s": prints}


def _trivial_cells(session: Session, count: int) -> list[float]:
    session.run("x = 1")
    times = session.timed("x = x + 1", count)
    _expect(session.run("print(x)"), f"{count + 1}\n")
    return times


def _memory(others: list[Contestant], left_out: dict[str, str], sessions: int) -> dict[str, Any]:
    """P3 and P4: more and more sessions, and the memory of all processes together at 1, 50 and all sessions.

    Each has pandas and pyplot imported; the group-by in each comes after the memory was read.
    """
    found: dict[str, Any] = {"sessions": sessions, "at": {}, "why": "", "rivals_mib": {}}
    with running_host(limits=Limits(idle_s=3600)) as client, ThreadPoolExecutor(CLIENTS) as clients:
        host = client.ping().pid
        everyone = [f"T:many:{number}" for number in range(sessions)]
        wrong: list[str] = []

        def ask(cell: str, code: str, wanted: str) -> Callable[[str], None]:
            def one(thread: str) -> None:
                result = client.run(thread, cell, code)
                if result.stdout != wanted:
                    wrong.append(f"{thread}: {result.status} {result.notices or result.stdout[:80]!r}")

            return one

        up_s, so_far, first_mib, up = 0.0, 0, 0.0, {}
        free_before = free_mib()
        for count in sorted({1, min(50, sessions), sessions}):
            _progress(f"{count} sessions")
            begin = time.perf_counter()
            list(clients.map(ask("start", FIRST, "3\n"), everyone[so_far:count]))
            up_s, so_far = up_s + time.perf_counter() - begin, count
            up[str(count)] = round(up_s, 3)
            time.sleep(0.5)  # until the spare has been made again
            try:
                mib = pss_mib(tree(host))
            except PermissionError:
                found["why"] = "a sandboxed process shows its memory only to root"
                mib = None
            if count == 1:
                first_mib = mib or 0.0
            else:
                found["at"][str(count)] = {"pss_mib": None if mib is None else (mib - first_mib) / (count - 1)}
        found["new_memory_mib"] = free_before - free_mib()
        begin = time.perf_counter()
        list(clients.map(ask("group", GROUP_BY, "{1: 3, 2: 3}\n"), everyone))
        found |= {"up_s": up_s, "up_at_s": up, "group_by_s": time.perf_counter() - begin}
        found |= {"alive": sum(info.thread_id in everyone for info in client.sessions())}
        found |= {"wrong": len(wrong), "wrong_examples": wrong[:3]}
        if not found["why"]:
            found["after_group_by_mib"] = (pss_mib(tree(host)) - first_mib) / max(1, sessions - 1)
    _progress(f"{found['new_memory_mib']:.0f} MiB of new memory")
    time.sleep(COLD_AFTER_S)
    found["new_memory_s"] = new_memory_s(found["new_memory_mib"])
    for contestant in others:
        if contestant.name not in left_out:
            found["rivals_mib"][contestant.name] = _further_mib(contestant)
    return found


def _further_mib(contestant: Contestant) -> float:
    """What each session after the first adds to the memory of all of the contestant's processes."""
    _progress(f"{contestant.copies} sessions of {contestant.name}")
    with ExitStack() as opened:
        roots = [int(opened.enter_context(contestant.open(FIRST)).pid or 0)]
        first = pss_mib(tree(roots[0]))
        for _ in range(contestant.copies - 1):
            roots.append(int(opened.enter_context(contestant.open(FIRST)).pid or 0))
        return (pss_mib(pid for root in roots for pid in tree(root)) - first) / (contestant.copies - 1)


def _flood() -> dict[str, Any]:
    """P5: the memory of the processes that outlive a cell while a cell prints 100 MB."""
    _progress("100 MB of output")
    with running_host() as client:
        client.run("T:flood", "1", "print(1)")
        host = client.ping().pid
        trusted = [host, *children_of(host)]
        time.sleep(0.5)
        before = rss_mib(trusted)
        begin = time.perf_counter()
        with peak_rss_mib(trusted) as seen:
            result = client.run("T:flood", "2", FLOOD)
        seconds = time.perf_counter() - begin
        after = rss_mib(trusted)
    said = "left out" in result.stdout or "left out" in str(result.notices)
    return {
        "status": result.status,
        "seconds": seconds,
        "before_mib": before,
        "peak_mib": max(seen),
        "after_mib": after,
        "said": said,
        "notices": [notice.code for notice in result.notices],
    }


def _restore() -> dict[str, Any]:
    """P6: how long a resting thread needs for its 40 MB frame, and a new thread to read the same data."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running_host(limits=Limits(idle_s=0.3)) as client,
    ):
        subprocess.run([sys.executable, "-c", MAKE_CSV], check=True, cwd=folder)
        data = Path(folder) / "data.csv"
        back: list[float] = []
        again: list[float] = []
        answers: set[str] = set()
        for number in range(1, ROUNDS + 1):
            _progress(f"40 MB frame, round {number} of {ROUNDS}")
            thread = f"T:rest:{number}"
            client.put(thread, "data.csv", data)
            for cell, times in (("read", again), ("back", back)):
                begin = time.perf_counter()
                result = client.run(thread, cell, f"{READ}\n{CHECK}" if cell == "read" else CHECK)
                times.append(time.perf_counter() - begin)
                answers.add(result.stdout or str(result.error or result.notices))
                if cell == "read" and not _at_rest(client, thread):
                    return {"why": "the session was not put to rest within 30 s"}
    return {"restore_s": back, "again_s": again, "same": len(answers) == 1, "answers": sorted(answers)}


def _at_rest(client: SessionClient, thread: str, timeout_s: float = 30.0) -> bool:
    def is_at_rest() -> bool:
        return all(info.thread_id != thread for info in client.sessions())

    return wait_until(is_at_rest, for_s=timeout_s, every_s=0.05)


def _print(judged: list[Row], raw: dict[str, Any]) -> None:
    names = [name for name in raw["start_s"] if name != OURS]
    sandbox = raw["sandbox"]
    off = [f"{name}: {state}" for name, state in sandbox["layers"].items() if not state.startswith("on")]
    console = Console(width=None if sys.stdout.isatty() else 200)
    table = Table(
        "goal",
        "what",
        OURS,
        *names,
        "ratio",
        "asked",
        "met",
        title=f"The executor, sandbox {sandbox['level']}; medians of {ROUNDS} interleaved rounds",
    )
    for row in judged:
        met = {True: "yes", False: "NO", None: "" if not row.asked else "not measured"}[row.met]
        table.add_row(
            row.goal, row.what, row.ours, *(row.rivals.get(name, "–") for name in names), row.ratio, row.asked, met
        )
    console.print(table)
    no_spare = sorted(raw["no_spare_start_s"])[ROUNDS // 2]
    console.print(f"P1 without a session made in advance: {no_spare * 1e3:.1f} ms")
    if "after_group_by_mib" in raw["memory"]:
        console.print(f"P3 after a group-by in each: {raw['memory']['after_group_by_mib']:.1f} MiB per further session")
    for line in [f"{row.goal}: {row.why}" for row in judged if row.why] + off:
        console.print(line, markup=False)
    for name, why in raw["left_out"].items():
        console.print(f"left out: {name}: {why}", markup=False)
    console.print(f"machine: {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end", markup=False)


def _expect(found: str, wanted: str) -> None:
    if not found.endswith(wanted):
        raise RuntimeError(f"answered {found[:200]!r} instead of {wanted!r}")


def _progress(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.executor")
    parser.add_argument("--sessions", type=int, default=ALL_SESSIONS, help="alive at once in P3 and P4")
    parser.add_argument("--json", action="store_true", help="only the raw figures, as JSON")
    options = parser.parse_args()
    with contextlib.redirect_stdout(sys.stderr if options.json else sys.stdout):
        figures = measure(options.sessions)
    if options.json:
        print(json.dumps(figures))
