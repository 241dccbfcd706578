"""Judges the executor's goals P1 to P6: raw figures in, rows out. Nothing is measured here."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

OURS = "threadbook"
ALL_SESSIONS = 500
UP_S = 5.0
FLOOD_GROWTH_MIB = 10.0  # a tenth of what the cell prints
RESTORE_FACTOR = 3.0


@dataclass(frozen=True)
class Row:
    """One line of the table. `met` is None when what the goal needs was not measured; `why` says why or adds a fact."""

    goal: str
    what: str
    ours: str
    rivals: Mapping[str, str]
    ratio: str
    asked: str
    met: bool | None
    why: str = ""


def rows(raw: Mapping[str, Any]) -> list[Row]:
    """Every goal with what was found."""
    left_out: dict[str, str] = raw["left_out"]
    memory = raw["memory"]
    return [
        _versus(
            "P1",
            "session start → pandas + pyplot usable",
            _medians(raw["start_s"]),
            _time,
            {"ipykernel": 50, "plain child": 30},
            left_out,
        ),
        _versus(
            "P2",
            "cell x = x + 1, p50",
            _medians(raw["cell_s"]),
            _time,
            {"ipykernel": 5, "open-interpreter": 100},
            left_out,
        ),
        _versus(
            "P2", "the same, p99", {name: p99(times) for name, times in raw["cell_s"].items() if times}, _time, {}, {}
        ),
        *(_memory(memory, count, left_out) for count in memory["at"]),
        _all_up(memory),
        _versus("P5", "1 MB in 20,000 prints", _medians(raw["prints_s"]), _time, {"ipykernel": 1}, left_out),
        _flood(raw["flood"]),
        _restore(raw["restore"]),
        *([many(raw["many"])] if "many" in raw else []),
    ]


def p99(values: list[float]) -> float:
    """The 99th percentile; of few values, nearly the largest."""
    return statistics.quantiles(values, n=100, method="inclusive")[98] if len(values) > 1 else values[0]


def _medians(samples: Mapping[str, list[float]]) -> dict[str, float]:
    return {name: statistics.median(found) for name, found in samples.items() if found}


def _versus(
    goal: str,
    what: str,
    values: Mapping[str, float],
    show: Callable[[float], str],
    asked: Mapping[str, float],
    left_out: Mapping[str, str],
) -> Row:
    """`asked`: how many times smaller our value has to be than each rival's."""
    ours = values[OURS]
    ratios = {name: value / ours for name, value in values.items() if name != OURS}
    missing = [name for name in asked if name not in ratios]
    missed = [name for name, factor in asked.items() if name in ratios and ratios[name] < factor]
    met = False if missed else None if missing or not asked else True
    return Row(
        goal=goal,
        what=what,
        ours=show(ours),
        rivals={name: show(value) for name, value in values.items() if name != OURS},
        ratio=", ".join(f"{_ratio(ratios[name])} {name}" for name in (asked or ratios) if name in ratios),
        asked=", ".join(f"≥ {factor:g}x {name}" for name, factor in asked.items()),
        met=met,
        why="; ".join(f"{name} not measured: {left_out.get(name, 'it failed')}" for name in missing),
    )


def _memory(memory: Mapping[str, Any], count: str, left_out: Mapping[str, str]) -> Row:
    what = f"memory per further session, at {count} (PSS)"
    ours = memory["at"][count]["pss_mib"]
    if ours is None:
        return _not_measured("P3", what, "≥ 12x less than ipykernel", memory["why"])
    return _versus("P3", what, {OURS: ours} | memory["rivals_mib"], _mib, {"ipykernel": 12}, left_out)


def _all_up(memory: Mapping[str, Any]) -> Row:
    alive, count, up_s = memory["alive"], memory["sessions"], memory["up_s"]
    well = alive == count and memory["wrong"] == 0 and up_s < UP_S
    floor = (
        f"the machine takes {memory['new_memory_s']:.2f} s only to hand out the "
        f"{memory['new_memory_mib']:.0f} MiB that they take, its cores together"
    )
    return Row(
        goal="P4",
        what=f"{count} sessions alive; then a group-by in each",
        ours=f"{alive} alive, all up in {up_s:.2f} s; group-bys {memory['group_by_s']:.2f} s, {memory['wrong']} wrong",
        rivals={},
        ratio=f"{count / up_s:.0f} started per second",
        asked=f"{ALL_SESSIONS} in < {UP_S:g} s",
        met=False if not well else True if count >= ALL_SESSIONS else None,
        why=floor if count >= ALL_SESSIONS else f"asked for {count} sessions only; {floor}",
    )


def _flood(flood: Mapping[str, Any]) -> Row:
    growth = flood["peak_mib"] - flood["before_mib"]
    noticed = flood["said"]
    return Row(
        goal="P5",
        what="100 MB of output: host and zygote",
        ours=f"RSS {flood['before_mib']:.0f} → {flood['after_mib']:.0f} MiB, peak {flood['peak_mib']:.0f}; "
        f"{flood['status']} in {_time(flood['seconds'])}, {'with' if noticed else 'NO'} notice",
        rivals={},
        ratio=f"peak {growth:+.1f} MiB",
        asked=f"grows ≤ {FLOOD_GROWTH_MIB:g} MiB, a notice",
        met=growth <= FLOOD_GROWTH_MIB and noticed,
    )


def _restore(restore: Mapping[str, Any]) -> Row:
    what, asked = "40 MB frame: back from rest / read_csv again", f"≥ {RESTORE_FACTOR:g}x faster"
    if "why" in restore:
        return _not_measured("P6", what, asked, restore["why"])
    back, again = statistics.median(restore["restore_s"]), statistics.median(restore["again_s"])
    return Row(
        goal="P6",
        what=what,
        ours=f"{_time(back)} / {_time(again)}",
        rivals={},
        ratio=_ratio(again / back),
        asked=asked,
        met=restore["same"] and again / back >= RESTORE_FACTOR,
        why="" if restore["same"] else "what came back was not the same",
    )


def many(found: Mapping[str, Any]) -> Row:
    """Judges the show of many sessions that each hold other data (`bench/many.py`)."""
    count = found["sessions"]
    return Row(
        goal="show",
        what=f"{count} sessions, each with data of its own; half put to rest; all asked",
        ours=f"{found['alive']} alive at once, up in {found['up_s']:.1f} s; {found['rested']} put to rest; "
        f"asked in {found['asked_s']:.1f} s: {count - found['wrong']} correct, {found['wrong']} wrong",
        rivals={},
        ratio=f"{count / found['up_s']:.0f} started per second",
        asked="all alive, half at rest, none wrong",
        met=found["alive"] == count and found["rested"] >= count // 2 and not found["failed"] and not found["wrong"],
        why="; ".join(found["wrong_examples"]),
    )


def _not_measured(goal: str, what: str, asked: str, why: str) -> Row:
    return Row(goal, what, "not measured", {}, "", asked, None, why)


def _ratio(value: float) -> str:
    return f"{value:.1f}x" if value < 20 else f"{value:.0f}x"


def _time(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} µs"


def _mib(value: float) -> str:
    return f"{value:.1f} MiB"
