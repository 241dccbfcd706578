"""Measures the check of figures on generated reports and on those written by hand.

PYTHONPATH=. python tests/unit/workers/agent/provenance/measure.py [CASES] [FIRST_SEED]
"""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from generator import KINDS, Case, cases

from core.steps import Asked, CellRan, Step
from workers.agent.provenance import Facts, Provenance, facts_of, trace

HELD_OUT = Path(__file__).with_name("held_out.yaml")
HELD_OUT_2 = Path(__file__).with_name("held_out_2.yaml")
HELD_OUT_3 = Path(__file__).with_name("held_out_3.yaml")


@dataclass
class Measured:
    """Reports and figures, how many were flagged although true, and the planted faults by kind that were found."""

    reports: int = 0
    figures: int = 0
    flagged: int = 0
    flagged_reports: int = 0
    planted: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    flags_with_faults: int = 0

    def count(self, clean: Provenance) -> None:
        self.reports += 1
        self.figures += len(clean.figures)
        self.flagged += len(clean.unsourced)
        self.flagged_reports += bool(clean.unsourced)

    def fault(self, kind: str, clean: Provenance, faulty: Provenance) -> None:
        """A fault is found when something is flagged that was not before."""
        new = Counter(one.text for one in faulty.unsourced) - Counter(one.text for one in clean.unsourced)
        self.planted[kind] += 1
        self.found[kind] += bool(new)
        self.flags_with_faults += sum(new.values())


def generated(count: int, first: int = 0) -> Measured:
    """The generated suite."""
    measured = Measured()
    for one in cases(count, first):
        facts = facts_of(one.turns)
        clean = trace(one.report, facts)
        measured.count(clean)
        for kind in KINDS:
            faulty = one.plant(kind, random.Random(one.seed * 7 + 1))
            if faulty is not None:
                measured.fault(kind, clean, trace(faulty, facts))
    return measured


def held_out(path: Path = HELD_OUT) -> Measured:
    """The reports written by hand."""
    measured = Measured()
    for world in yaml.safe_load(path.read_text(encoding="utf-8")):
        steps: list[Step] = [Asked(user="U1", author="Ana", text=world["question"], ts="1.0")]
        for n, (text, title) in enumerate(zip(world["outputs"], world["titles"], strict=True), 1):
            steps.append(
                CellRan(call_id=f"c{n}", cell_id=f"T/c{n}", title=title, code="show()", status="ok", stdout=text)
            )
        facts = facts_of([steps])
        for report in world["reports"]:
            clean = trace(report["report"], facts)
            measured.count(clean)
            old, new, kind = report["wrong"]
            measured.fault(kind, clean, trace(report["report"].replace(old, new, 1), facts))
    return measured


def random_passes(count: int, first: int = 0) -> tuple[int, int]:
    """How often a random number with the digits of a true one passes in its place, and how often it was tried."""
    rng = random.Random(5)
    passed = tried = 0
    for one in cases(count, first):
        facts = facts_of(one.turns)
        for _ in range(3):
            found = _with_random(one, facts, rng)
            if found is not None:
                tried += 1
                passed += found
    return passed, tried


def _with_random(case: Case, facts: Facts, rng: random.Random) -> bool | None:
    """Whether a random number passes in the place of one figure; None when it came out as the true one."""
    p = rng.randrange(len(case.parts))
    part = case.parts[p]
    s = rng.randrange(len(part.slots))
    text = part.slots[s].text
    first = next(n for n, char in enumerate(text) if char.isdigit())
    drawn = "".join(str(rng.randrange(n == first, 10)) if char.isdigit() else char for n, char in enumerate(text))
    if drawn == text:
        return None
    lines = [other.told(s, drawn) if n == p else other.told() for n, other in enumerate(case.parts)]
    before = re.split(re.escape(f"{{{s}}}"), part.text)[0].format(*(slot.text for slot in part.slots))
    at = sum(len(line) + 1 for line in lines[:p]) + len(before)
    figures = [one for one in trace("\n".join(lines), facts).figures if one.start < at + len(drawn) and one.end > at]
    return any(one.state != "unsourced" for one in figures) or not figures


def _print(name: str, measured: Measured) -> None:
    found, planted = sum(measured.found.values()), sum(measured.planted.values())
    wrong = measured.flagged
    print(f"{name}: {measured.reports} reports, {measured.figures} figures, {wrong} false flags in "
          f"{measured.flagged_reports} reports; {found} of {planted} faults found")  # fmt: skip
    for kind in KINDS:
        if measured.planted[kind]:
            share = measured.found[kind] / measured.planted[kind]
            print(f"  {kind:8} {measured.found[kind]:4} of {measured.planted[kind]:4}  recall {share:.3f}")


if __name__ == "__main__":
    COUNT, FIRST = (int(sys.argv[n]) if len(sys.argv) > n else default for n, default in ((1, 360), (2, 0)))
    _print("generated", generated(COUNT, FIRST))
    _print("by hand, first set", held_out())
    _print("by hand, second set", held_out(HELD_OUT_2))
    _print("by hand, third set", held_out(HELD_OUT_3))
    PASSED, TRIED = random_passes(COUNT, FIRST)
    print(f"random numbers: {PASSED} of {TRIED} pass ({PASSED / TRIED:.4f})")
