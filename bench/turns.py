"""P7 and P8: how soon a mention gets its first reaction or status, and our own time in a turn of three cells.

The whole stack runs as real processes with a scripted model that answers at once, so what is measured is ours: the bot,
the Store, the queue, the worker, the session host, and the playground as Slack. The time that Slack takes to scan an
upload before it shares it (0.4 s in the playground) is not ours and is switched off.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

from rich.console import Console
from rich.table import Table

from core.retry import wait_until
from core.steps import CellRan, Replied
from tryout.stack.conversation import Conversation
from tryout.stack.stack import Stack, running

CHANNEL = "#sales"
QUIET_MENTIONS = 20
BUSY_THREADS = 100
TURNS = 20
FIRST_CALLS = ("reactions.add", "assistant.threads.setStatus")


def measure() -> dict[str, Any]:
    """Measure both on one stack, print a table, return the raw figures in seconds."""
    with ExitStack() as resources:
        folder = Path(resources.enter_context(tempfile.TemporaryDirectory()))
        script = folder / "script.json"
        script.write_text(json.dumps(_script()))
        resources.enter_context(patch.dict("os.environ", {"THREADBOOK_MODEL": f"scripted:{script}"}))
        stack = resources.enter_context(running(folder / "home", lambda _: None))
        stack.slack.set_options(share_delay_s=0)
        Conversation(stack, CHANNEL).say("warm up", [])
        own = [_own_time(stack) for _ in range(TURNS)]
        quiet = _first_calls(stack, QUIET_MENTIONS, pause_s=0.5)
        busy = _first_calls(stack, BUSY_THREADS, pause_s=0.02)
    _print(quiet, busy, own)
    return {"p7_quiet_s": quiet, "p7_busy_s": busy, "p8_own_s": own}


def _script() -> list[dict[str, Any]]:
    cells = ["x = 20", "y = x * 2", "print(x + y)"]
    calls = [
        {"calls": [{"name": "run_python", "arguments": {"code": code, "title": f"Cell {n}"}}]}
        for n, code in enumerate(cells)
    ]
    return [
        *calls,
        {"calls": [{"name": "finish", "arguments": {"report": "The answer is **60**.\n\nComputed from x and y."}}]},
    ]


def _own_time(stack: Stack) -> float:
    """Seconds of one turn, from the message to its end, without the model and without the cells' own work."""
    talk = Conversation(stack, CHANNEL)
    talk.say("three cells", [])
    turn = talk.turns()[-1]
    if turn.status != "done" or turn.ended_at is None or talk.key is None:
        raise RuntimeError(f"the measured turn ended as {turn.status}")
    others = sum(step.duration_s for step in stack.store.steps(turn.id) if isinstance(step, CellRan | Replied))
    return turn.ended_at.timestamp() - float(talk.key.root_ts) - others


def _first_calls(stack: Stack, count: int, pause_s: float) -> list[float]:
    """Seconds from each of `count` mentions, in threads of their own, to the first reaction or status under it."""
    posted = []
    for _ in range(count):
        posted.append(stack.slack.say(CHANNEL, "ana", "@threadbook three cells").thread)
        time.sleep(pause_s)
    _wait_until_all_rest(stack, [key.id for key in posted])
    seen: dict[str, float] = {}
    for method in FIRST_CALLS:
        for call in stack.slack.wire(kind="call", method=method):
            ts = str(call["args"].get("timestamp") or call["args"].get("thread_ts") or "")
            seen[ts] = min(call["at"], seen.get(ts, call["at"]))
    return [seen[key.root_ts] - float(key.root_ts) for key in posted]


def _wait_until_all_rest(stack: Stack, threads: Sequence[str], timeout_s: float = 300.0) -> None:
    def all_rest() -> bool:
        stack.check()
        return all([turn.status for turn in stack.store.turns(thread)] == ["done"] for thread in threads)

    if not wait_until(all_rest, for_s=timeout_s, every_s=0.1):
        raise TimeoutError(f"not all of {len(threads)} threads finished within {timeout_s:.0f} s")


def _print(quiet: Sequence[float], busy: Sequence[float], own: Sequence[float]) -> None:
    table = Table("goal", "what", "p50", "p95", "goal met", title="The turn, against the playground")
    p7 = _p(quiet, 50) <= 0.150 and _p(busy, 95) <= 0.500
    table.add_row(
        "P7",
        f"mention → first reaction or status, {len(quiet)} mentions on a quiet stack",
        _ms(quiet, 50),
        _ms(quiet, 95),
        "",
    )
    table.add_row("P7", f"the same, {len(busy)} threads active", _ms(busy, 50), _ms(busy, 95), "yes" if p7 else "NO")
    met = "yes" if _p(own, 50) <= 0.250 else "NO"
    table.add_row("P8", f"our own time in a three-cell turn, {len(own)} turns", _ms(own, 50), _ms(own, 95), met)
    Console().print(table)


def _p(values: Sequence[float], percent: int) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def _ms(values: Sequence[float], percent: int) -> str:
    return f"{_p(values, percent) * 1000:.0f} ms"
