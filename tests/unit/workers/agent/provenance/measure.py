"""Measures the check of figures on generated reports and on those written by hand.

PYTHONPATH=. python tests/unit/workers/agent/provenance/measure.py [CASES] [FIRST_SEED]
"""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from generator import KINDS, Case, cases

from core.steps import Asked, CellRan, Step
from workers.agent.provenance import Facts, Provenance, facts_of, trace

HELD_OUT = Path(__file__).with_name("held_out.yaml")
HELD_OUT_2 = Path(__file__).with_name("held_out_2.yaml")
HELD_OUT_3 = Path(__file__).with_name("held_out_3.yaml")
HELD_OUT_4 = Path(__file__).with_name("held_out_4.yaml")
HELD_OUT_5 = Path(__file__).with_name("held_out_5.yaml")
SETTLED_ON = Path(__file__).with_name("settled_on.yaml")


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


def by_hand(path: Path) -> Iterator[tuple[Facts, list[dict[str, Any]]]]:
    """The facts of each world of a set that was written by hand, and its reports."""
    for world in yaml.safe_load(path.read_text(encoding="utf-8")):
        steps: list[Step] = [Asked(user="U1", author="Ana", text=world["question"], ts="1.0")]
        for n, (text, title) in enumerate(zip(world["outputs"], world["titles"], strict=True), 1):
            steps.append(
                CellRan(call_id=f"c{n}", cell_id=f"T/c{n}", title=title, code="show()", status="ok", stdout=text)
            )
        yield facts_of([steps]), world["reports"]


def held_out(path: Path = HELD_OUT) -> Measured:
    """The reports written by hand."""
    measured = Measured()
    for facts, reports in by_hand(path):
        for report in reports:
            clean = trace(report["report"], facts)
            measured.count(clean)
            old, new, kind = report["wrong"]
            measured.fault(kind, clean, trace(report["report"].replace(old, new, 1), facts))
    return measured


def random_passes_by_hand(path: Path, tries: int = 4) -> tuple[int, int]:
    """As `random_passes`, with every figure of the reports by hand that has two digits or more and is backed."""
    rng = random.Random(7)
    passed = tried = 0
    for facts, reports in by_hand(path):
        for text in (report["report"] for report in reports):
            backed = [one for one in trace(text, facts).figures if one.state in ("sourced", "derived")]
            for one in backed:
                digits = sum(map(str.isdigit, one.text))
                for _ in range(tries if digits > 1 else 0):
                    drawn = _drawn(one.text, rng)
                    if drawn != one.text:
                        faulty = trace(text[: one.start] + drawn + text[one.end :], facts)
                        at = [f for f in faulty.figures if f.start < one.start + len(drawn) and f.end > one.start]
                        tried += 1
                        passed += any(f.state != "unsourced" for f in at) or not at
    return passed, tried


def _drawn(text: str, rng: random.Random) -> str:
    """A random number with the digits of this one."""
    first = next(n for n, char in enumerate(text) if char.isdigit())
    return "".join(str(rng.randrange(n == first, 10)) if char.isdigit() else char for n, char in enumerate(text))


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
    drawn = _drawn(text, rng)
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
    SETS = {"first": HELD_OUT, "second": HELD_OUT_2, "third": HELD_OUT_3, "fourth": HELD_OUT_4, "fifth": HELD_OUT_5}
    SETS["settled on"] = SETTLED_ON
    for NAME, PATH in SETS.items():
        _print(f"by hand, {NAME} set", held_out(PATH))
        PASSED, TRIED = random_passes_by_hand(PATH)
        print(f"  random numbers: {PASSED} of {TRIED} pass ({PASSED / TRIED:.4f})")
    PASSED, TRIED = random_passes(COUNT, FIRST)
    print(f"random numbers: {PASSED} of {TRIED} pass ({PASSED / TRIED:.4f})")
