"""Tracing a report: processor time for reading a thread's outputs and looking up each figure, small and large."""

from __future__ import annotations

import random
import statistics
import time

from core.steps import Asked, CellRan, Step
from workers.agent.provenance import facts_of, trace

REPEATS = 30
GOAL_MS = 100.0


def measure() -> dict[str, object]:
    """Print and return, by the size of the thread, the time of a report and its ratio to the goal."""
    found: dict[str, object] = {}
    for name, cells, rows, figures, invented in (
        ("small", 3, 8, 12, False),
        ("usual", 8, 30, 30, False),
        ("large", 20, 60, 120, False),
        ("invented", 8, 30, 30, True),
    ):
        steps, report = _thread(cells, rows, figures, invented=invented)
        taken, reading = [], []
        for _ in range(REPEATS):
            started = time.process_time()
            facts = facts_of([steps])
            read = time.process_time()
            traced = trace(report, facts)
            taken.append((time.process_time() - started) * 1_000)
            reading.append((read - started) * 1_000)
        taken.sort()
        p50, p95 = statistics.median(taken), taken[len(taken) * 95 // 100]
        ratio, share = p95 / GOAL_MS, sum(reading) / sum(taken)
        found[name] = {
            "cells": cells, "numbers_shown": cells * rows * 2, "figures": len(traced.figures),
            "unsourced": len(traced.unsourced), "p50_ms": round(p50, 1), "p95_ms": round(p95, 1),
            "max_ms": round(taken[-1], 1), "p95_by_goal": round(ratio, 2), "share_of_reading": round(share, 2),
        }  # fmt: skip
        print(f"provenance {name}: {len(traced.figures)} figures over {cells * rows * 2} numbers: p50 {p50:.1f} ms, "
              f"p95 {p95:.1f} ms, max {taken[-1]:.1f} ms; p95 is {ratio:.2f} of the goal of {GOAL_MS:.0f} ms; "
              f"{share:.0%} is the reading of the outputs")  # fmt: skip
    return found


def _thread(cells: int, rows: int, figures: int, *, invented: bool) -> tuple[list[Step], str]:
    """A thread of tables, and a report that names values of the last one, or values and shares that none shows."""
    rng = random.Random(1)
    steps: list[Step] = [Asked(user="U1", author="Ana", text="How much per place (EUR)?", ts="1.0")]
    values: list[tuple[str, int]] = []
    for number in range(cells):
        values = [(f"Place {_name(row)}", rng.randint(10_000, 999_999)) for row in range(rows)]
        lines = [f"{'place':<14}{'revenue':>12}{'orders':>10}"]
        lines += [f"{place:<14}{value:>12}{value // 97:>10}" for place, value in values]
        steps.append(
            CellRan(
                call_id=f"c{number}", cell_id=f"T/c{number}", title=f"Table {number}", code="print(table)", status="ok",
                stdout="\n".join(lines) + "\n",
            )
        )  # fmt: skip
    chosen = [values[n % rows] for n in range(figures)]
    if invented:
        return steps, "\n".join(f"- {place} made {value + 1_111:,} EUR, {n / 7:.1f} % of all." for n, (place, value) in
                                enumerate(chosen, 1))  # fmt: skip
    return steps, "\n".join(f"- {place} made {value:,} EUR." for place, value in chosen)


def _name(row: int) -> str:
    return chr(65 + row // 26) + chr(97 + row % 26)
