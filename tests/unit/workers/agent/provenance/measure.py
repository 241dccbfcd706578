"""Measures the check of figures on generated reports and on those written by hand.

PYTHONPATH=. python tests/unit/workers/agent/provenance/measure.py [CASES] [FIRST_SEED]
"""

from __future__ import annotations

import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from generator import KINDS, Case, cases

from core.steps import Asked, Briefed, CellRan, ColumnNote, FileAbstract, Level, Step, TableNote
from workers.agent.provenance import Facts, Provenance, Traced, facts_of, trace

HELD_OUT = Path(__file__).with_name("held_out.yaml")
HELD_OUT_2 = Path(__file__).with_name("held_out_2.yaml")
HELD_OUT_3 = Path(__file__).with_name("held_out_3.yaml")
HELD_OUT_4 = Path(__file__).with_name("held_out_4.yaml")
HELD_OUT_5 = Path(__file__).with_name("held_out_5.yaml")
HELD_OUT_6 = Path(__file__).with_name("held_out_6.yaml")
HELD_OUT_7 = Path(__file__).with_name("held_out_7.yaml")
HELD_OUT_8 = Path(__file__).with_name("held_out_8.yaml")
HELD_OUT_9 = Path(__file__).with_name("held_out_9.yaml")
HELD_OUT_10 = Path(__file__).with_name("held_out_10.yaml")
HELD_OUT_11 = Path(__file__).with_name("held_out_11.yaml")
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
    for turns, reports in _worlds(path):
        yield facts_of(turns), reports


def _worlds(path: Path) -> Iterator[tuple[list[list[Step]], list[dict[str, Any]]]]:
    for world in yaml.safe_load(path.read_text(encoding="utf-8")):
        turns = [world["earlier"], world] if "earlier" in world else [world]
        yield [_steps(turn) for turn in turns], world["reports"]


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


def first_drafts(path: Path = HELD_OUT_8) -> Measured:
    """The eighth to the eleventh set: what a model wrote before the check said anything. Each has a fault or more."""
    measured = Measured()
    for facts, reports in by_hand(path):
        for report in reports:
            clean = trace(report["report"], facts)
            measured.count(clean)
            for old, new, kind in report["wrong"]:
                measured.fault(kind, clean, trace(report["report"].replace(old, new, 1), facts))
    return measured


@dataclass
class Dialogue:
    """Reports that a model wrote and mended: figures flagged although true, in the first drafts and in the last ones,
    and how many planted faults were found."""

    reports: int = 0
    figures: int = 0
    first: int = 0
    first_reports: int = 0
    last: int = 0
    last_reports: int = 0
    planted: int = 0
    found: int = 0


def dialogue(*, tokens: bool, path: Path = HELD_OUT_7) -> Dialogue:
    """The seventh set: the reports of the model that follows the rules on tokens, or of the one that uses none."""
    counted = Dialogue()
    for world in yaml.safe_load(path.read_text(encoding="utf-8")):
        for number, one in enumerate(world["reports"], 1):
            if (number < 3) != tokens:
                continue
            first = trace(one["report"], facts_of([_steps(world)]))
            facts, last = facts_of([_steps(world, one)]), one.get("mended", one["report"])
            clean = trace(last, facts)
            old, new, _ = one["wrong"]
            faulty = trace(last.replace(old, new, 1), facts)
            more = Counter(each.text for each in faulty.unsourced) - Counter(each.text for each in clean.unsourced)
            counted.reports += 1
            counted.figures += len(first.figures)
            counted.first += len(first.unsourced)
            counted.first_reports += bool(first.unsourced)
            counted.last += len(clean.unsourced)
            counted.last_reports += bool(clean.unsourced)
            counted.planted += 1
            counted.found += bool(more)
    return counted


def _steps(world: dict[str, Any], report: dict[str, Any] | None = None) -> list[Step]:
    titles = [*world["titles"], *(report or {}).get("more_titles", ())]
    outputs = [*world["outputs"], *(report or {}).get("more_outputs", ())]
    codes = world.get("codes", ["show()"] * len(outputs))
    steps: list[Step] = [Asked(user="U1", author="Ana", text=world["question"], ts="1.0")]
    for n, (text, title, code) in enumerate(zip(outputs, titles, codes, strict=True), 1):
        steps.append(CellRan(call_id=f"c{n}", cell_id=f"T/c{n}", title=title, code=code, status="ok", stdout=text))
    return steps


@dataclass
class Numbers:
    """Figures one by one: how many are true and how many of these are flagged; the faults, and those flagged."""

    true: int = 0
    flagged: int = 0
    faults: int = 0
    found: int = 0

    @property
    def precision(self) -> float:
        """The share of the flags that are right."""
        return self.found / ((self.found + self.flagged) or 1)

    @property
    def recall(self) -> float:
        """The share of the faults that are flagged."""
        return self.found / (self.faults or 1)


def numbers(reports: Iterable[tuple[Facts, str, Sequence[str]]]) -> tuple[Numbers, Numbers]:
    """The same reports as they are, and with a token behind each figure that a cell shows.

    `reports` are (facts, the true report, those with one fault).
    """
    untagged, tagged = Numbers(), Numbers()
    for facts, true, faulty in reports:
        clean = trace(true, facts)
        marks = [(one.end, token) for one in clean.figures if (token := _token(one))]
        with_tokens = trace(_put(true, true, marks), facts)
        for counted, before in ((untagged, clean), (tagged, with_tokens)):
            counted.true += len(before.figures)
            counted.flagged += len(before.unsourced)
        for wrong in faulty:
            for counted, text, before in (
                (untagged, wrong, clean),
                (tagged, _put(true, wrong, marks), with_tokens),
            ):
                new = Counter(one.text for one in trace(text, facts).unsourced)
                counted.faults += 1
                counted.found += bool(new - Counter(one.text for one in before.unsourced))
    return untagged, tagged


def _token(one: Traced) -> str:
    """The token that binds a sourced figure to its cell; "" for a figure that no cell shows."""
    if one.state != "sourced" or not one.places or not one.places[0].cell or one.values[:1] in ((), (None,)):
        return ""
    return f" [={one.places[0].cell}:{one.values[0]!r}]"


def _changed(true: str, wrong: str) -> tuple[int, int]:
    """Where two texts differ: from here, to there in the first one."""
    first = next((n for n, (a, b) in enumerate(zip(true, wrong, strict=False)) if a != b), min(len(true), len(wrong)))
    same = 0
    while same < min(len(true), len(wrong)) - first and true[-1 - same] == wrong[-1 - same]:
        same += 1
    return first, max(len(true) - same, first + 1)


def _put(true: str, wrong: str, marks: Sequence[tuple[int, str]]) -> str:
    """A report with tokens behind its figures, at the places that they have in the true one."""
    _, ends = _changed(true, wrong) if true != wrong else (0, len(true) + 1)
    text = wrong
    for place, token in reversed(marks):
        at = place + (len(wrong) - len(true) if true != wrong and place >= ends else 0)
        text = text[:at] + token + text[at:]
    return text


def generated_numbers(count: int, first: int = 0) -> tuple[Numbers, Numbers]:
    """`numbers` of the generated suite."""
    return numbers(
        (facts_of(one.turns), one.report, [wrong for kind in KINDS if (wrong := _planted(one, kind)) is not None])
        for one in cases(count, first)
    )


def _planted(one: Case, kind: str) -> str | None:
    return one.plant(kind, random.Random(one.seed * 7 + 1))


def numbers_by_hand(path: Path) -> tuple[Numbers, Numbers]:
    """`numbers` of a set by hand."""
    return numbers(
        (facts, report["report"], [report["report"].replace(*report["wrong"][:2], 1)])
        for facts, reports in by_hand(path)
        for report in reports
    )


def processor_ms(count: int, first: int = 0) -> list[float]:
    """The processor time that each report takes, its outputs read anew, in ms and in order."""
    taken = []
    for one in cases(count, first):
        started = time.process_time()
        trace(one.report, facts_of(one.turns))
        taken.append((time.process_time() - started) * 1_000)
    return sorted(taken)


def processor_ms_by_hand(path: Path) -> list[float]:
    """The same for a set by hand; reading the outputs is counted for each report."""
    taken = []
    for turns, reports in _worlds(path):
        for report in reports:
            started = time.process_time()
            trace(report["report"], facts_of(turns))
            taken.append((time.process_time() - started) * 1_000)
    return sorted(taken)


def unrelated() -> Briefed:
    """A file whose profile has nothing to do with any of the reports: 12 columns of numbers and 4 of words."""
    rng = random.Random(11)
    columns = [ColumnNote(name=name, dtype="float64", **_numbers(rng)) for name in _UNRELATED.split()]
    for name in ("lichen", "gasket", "obelisk", "quasar"):
        levels = tuple(Level(value=f"{name}-{letter}", rows=rng.randrange(5, 900)) for letter in "abcdefgh")
        columns.append(ColumnNote(name=name, dtype="object", unique=len(levels), levels=levels))
    table = TableNote(name="unrelated", rows=2_417, columns=tuple(columns))
    return Briefed(files=(FileAbstract(path="unrelated.csv", format="csv", size=1, sha256="0" * 64, tables=(table,)),))


_UNRELATED = "torque_nm lux ph albedo turbidity brix salinity_ppt viscosity clutch molar shear tannin"


def _numbers(rng: random.Random) -> dict[str, Any]:
    """What a profile tells of a column of numbers: whole ones or not, of one to four digits."""
    top, decimals = 10 ** rng.choice((1, 2, 2, 3, 3, 4)), rng.choice((0, 0, 1, 2))
    values = [f"{rng.uniform(0, top):.{decimals}f}" for _ in range(10)]
    spread = sorted(values[:5], key=float)
    return {"unique": rng.randrange(20, 2_000), "missing": rng.random() / 9, "spread": spread, "samples": values[5:]}


def random_passes_by_hand(path: Path, tries: int = 4, *files: Briefed) -> tuple[int, int]:
    """As `random_passes`, with every figure of the reports by hand that has two digits or more and is backed. These
    files are known beside the outputs."""
    rng = random.Random(7)
    passed = tried = 0
    for turns, reports in _worlds(path):
        facts = facts_of([*turns[:-1], [*turns[-1], *files]])
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
    SETS["sixth"] = HELD_OUT_6
    SETS["settled on"] = SETTLED_ON
    for NAME, PATH in SETS.items():
        _print(f"by hand, {NAME} set", held_out(PATH))
        for WITH, FILES in (("", ()), (" beside a file", (unrelated(),))):
            PASSED, TRIED = random_passes_by_hand(PATH, 4, *FILES)
            print(f"  random numbers{WITH}: {PASSED} of {TRIED} pass ({PASSED / TRIED:.4f})")
    PASSED, TRIED = random_passes(COUNT, FIRST)
    print(f"random numbers: {PASSED} of {TRIED} pass ({PASSED / TRIED:.4f})")
    for NAME, FOUND in (
        ("generated", generated_numbers(COUNT, FIRST)),
        *((n, numbers_by_hand(p)) for n, p in SETS.items()),
    ):
        for KIND, ONE in zip(("without tokens", "with tokens"), FOUND, strict=True):
            print(f"{NAME}, {KIND}: {ONE.true} figures, {ONE.flagged} false flags, {ONE.found} of {ONE.faults} faults; "
                  f"precision {ONE.precision:.3f}, recall {ONE.recall:.3f}")  # fmt: skip
    for NAME, TAKEN in (
        ("generated", processor_ms(COUNT, FIRST)),
        *((n, processor_ms_by_hand(p)) for n, p in SETS.items()),
    ):
        P50, P95 = TAKEN[len(TAKEN) // 2], TAKEN[len(TAKEN) * 95 // 100]
        print(f"{NAME}: processor time p50 {P50:.1f} ms, p95 {P95:.1f} ms, max {TAKEN[-1]:.1f} ms")
