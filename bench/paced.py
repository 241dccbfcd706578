"""P12, the last row: what a turn takes while calls to Slack keep to its rate budgets. `python -m bench paced`.

The whole stack runs as real processes with one worker and a scripted model that answers at once. Questions come at an
even pace in three channels, in turn with and without rate budgets. A turn has no files here: a card, a report and five
decorative calls.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

from rich.console import Console
from rich.table import Table

from core.retry import wait_until
from tryout.stack.conversation import Conversation
from tryout.stack.stack import Stack, running

CHANNELS = ("#sales", "#churn", "#general")
TURNS, EVERY_S = 40, 1.0
BUCKETS_FILL_S = 20.0
"""A burst is 4 to 20 calls, and a budget at least 18 a minute: what the warm-up turn took is there again."""
GOAL_S = 0.6
TIMEOUT_S = 300.0
CHOICES = ("never", "always")
"""Of `[slack] rate_budgets`."""


def measure() -> dict[str, Any]:
    """Measure both, print a table, return the raw figures in seconds."""
    rounds = {choice: _seconds_per_turn(choice) for choice in CHOICES}
    table = Table(
        *("rate budgets", "p50", "p90", "longest"),
        title=f"P12: {TURNS} turns of three cells, one each {EVERY_S:g} s, one worker (goal ≤ {GOAL_S:g} s)",
    )
    for choice, seconds in rounds.items():
        table.add_row(
            "kept" if choice == "always" else "none",
            *(f"{each:.2f} s" for each in (statistics.median(seconds), statistics.quantiles(seconds, n=10)[8])),
            f"{max(seconds):.2f} s",
        )
    Console().print(table)
    return {"paced_s": rounds}


def _seconds_per_turn(choice: str) -> list[float]:
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        (folder / "script.json").write_text(json.dumps({"turns": [_script()]}))
        (folder / "threadbook.toml").write_text(f'[workers]\ncount = 1\n[slack]\nrate_budgets = "{choice}"\n')
        changes = {
            "THREADBOOK_MODEL": f"scripted:{folder / 'script.json'}",
            "THREADBOOK_CONFIG": str(folder / "threadbook.toml"),
        }
        with patch.dict("os.environ", changes), running(folder / "home", lambda _: None) as stack:
            stack.slack.set_options(share_delay_s=0)
            Conversation(stack, CHANNELS[0]).say("warm up", [])
            time.sleep(BUCKETS_FILL_S)
            return _ask(stack)


def _ask(stack: Stack) -> list[float]:
    keys = []
    for number in range(TURNS):
        channel = CHANNELS[number % len(CHANNELS)]
        keys.append(stack.slack.say(channel, "ana", f"@threadbook question {number}").thread)
        time.sleep(EVERY_S)

    def all_over() -> bool:
        stack.check()
        return all([turn.status for turn in stack.store.turns(key.id)] == ["done"] for key in keys)

    if not wait_until(all_over, for_s=TIMEOUT_S, every_s=0.2):
        raise TimeoutError(f"not all of {TURNS} turns were over within {TIMEOUT_S:.0f} s")
    turns = [turn for key in keys for turn in stack.store.turns(key.id)]
    return [(turn.ended_at - turn.created_at).total_seconds() for turn in turns if turn.ended_at]


def _script() -> list[dict[str, Any]]:
    cells = ["x = 20", "y = x * 2", "print(x + y)"]
    calls = [
        {"calls": [{"name": "run_python", "arguments": {"code": code, "title": f"Cell {number}"}}]}
        for number, code in enumerate(cells)
    ]
    return [*calls, {"calls": [{"name": "finish", "arguments": {"report": "The answer is 60."}}]}]
