"""Running the code behind a report once more: which cells run, and which results differ. Pure.

`plan` chooses the cells whose results the report shows, and all that those need. Cells with effects outside of the
session do not run again. `compare` looks at each figure of the report at the place that it was bound to, at the data of
the charts, and at the tables and text files that the report rests on.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from core.clean_room import CleanRoom, Difference, LeftOut, LeftOutWhy, Why
from core.steps import (
    CellRan,
    ChartData,
    FigureSource,
    Finished,
    Moved,
    Scalar,
    SourcePlace,
    Step,
    TableData,
)
from core.thread_cells import since_reset
from workers.agent.about_steps import Turns, cells
from workers.agent.allowed_cells import approved_cells
from workers.agent.code.chance import draws, reads_clock
from workers.agent.code.program import Part, ended_in_a_line, program
from workers.agent.code.risks import touched
from workers.agent.code.slicing import Slice, slice_cells, uses_in
from workers.agent.code.uses import ANY, uses_of
from workers.agent.provenance import Facts, facts_of, trace
from workers.agent.report.sourcing import ABOUT_CHARS
from workers.agent.text import one_line

MOST_DIFFERENCES = 20
_SHOWN_BY_CELLS = frozenset({"output", "table", "chart", "statement", "count"})
_EFFECTS: Mapping[str, LeftOutWhy] = {"process": "process", "network": "network", "outside": "outside"}
_TEXT_FILES = frozenset({".csv", ".tsv", ".json", ".jsonl", ".txt", ".md"})
"""Files of these kinds have the same bytes when the same content is written. Others hold the time they were made."""
_UNDEFINED = re.compile(r"(?:name|variable) '(\w+)'")
_QUOTED = re.compile(r"'([^'\n]{1,200})'\s*$")
_SHELL_WORD = re.compile(r"[^\s;|&<>=\"'()]+")


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be run, in order: the parts of the thread's program that count, by the numbers that people see.

    `wanted` are the cells whose results are compared, `unseen` those that cannot be; `needs` are the cells that each of
    them needs. `expected_s` is how long these cells took before.
    """

    parts: tuple[tuple[int, Part], ...]
    wanted: frozenset[str]
    unseen: frozenset[str]
    needs: Mapping[str, frozenset[str]]
    left_out: tuple[LeftOut, ...]

    @property
    def expected_s(self) -> float:
        """How long these cells took before."""
        return sum(part.cell.duration_s for _, part in self.parts)


def plan(turns: Turns, *, asks_sources: bool = False) -> Plan | None:
    """The cells that have to run again for the report of the last turn. None if the report has no cells.

    With `asks_sources`, statements are sent again, so it does not matter whether their rows were kept.
    """
    finished = next((step for step in reversed(turns[-1]) if isinstance(step, Finished)), None)
    parts = _parts(turns)
    shown = _shown(turns[-1], finished) & {part.cell.cell_id for part in parts} if finished else set()
    if not shown:
        return None
    kept = {part.cell.cell_id for part in parts if part.kept != "not"}
    found = slice_cells([(part.cell.cell_id, code_to_slice(part)) for part in parts], shown & kept)
    effects = effects_in(turns, parts)
    if asks_sources:
        effects = {cell_id: why for cell_id, why in effects.items() if why != "no_rows"}
    unseen = {
        cell_id for cell_id in shown if cell_id not in kept or not effects.keys().isdisjoint(found.needs[cell_id])
    }
    wanted = shown - unseen
    run = {cell_id for cell_id in wanted for cell_id in found.needs[cell_id]}
    numbered = list(enumerate(parts, 1))
    hindering = {cell_id for each in unseen & kept for cell_id in found.needs[each]} & effects.keys()
    hindering |= unseen & effects.keys()
    return Plan(
        parts=tuple((n, part) for n, part in numbered if part.cell.cell_id in run and part.code),
        wanted=frozenset(wanted),
        unseen=frozenset(unseen),
        needs=found.needs,
        left_out=tuple(
            LeftOut(cell=n, title=one_line(part.cell.title, 80), why=effects[part.cell.cell_id])
            for n, part in numbered
            if part.cell.cell_id in hindering
        ),
    )


def with_codes(made: Plan, codes: Mapping[str, str]) -> Plan:
    """The same plan with other code for some cells, by their ids. A run of it shows whether they give the same
    results."""
    parts = tuple(
        (n, replace(part, code=codes.get(part.cell.cell_id, part.code), kept="whole")) for n, part in made.parts
    )
    return replace(made, parts=parts)


def tools_of(made: Plan) -> list[str]:
    """The tools of other systems that cells of a plan called, each once: "server.tool"."""
    called = (f"{one.server}.{one.tool}" for _, part in made.parts for one in part.cell.tool_calls)
    return list(dict.fromkeys(called))


def rests_on_cells(turns: Turns) -> bool:
    """Whether a cell stands behind the report that ends the last turn."""
    finished = next((step for step in reversed(turns[-1]) if isinstance(step, Finished)), None)
    ran = {cell.cell_id for steps in since_reset(turns) for cell in cells(steps)}
    return finished is not None and not ran.isdisjoint(_shown(turns[-1], finished))


def compare(turns: Turns, made: Plan, ran: Mapping[str, CellRan]) -> CleanRoom:
    """What came out differently. `ran` are the cells as they ran now, by their ids."""
    return _Comparison(turns, made, ran).outcome()


def _parts(turns: Turns) -> tuple[Part, ...]:
    return program([cell for steps in since_reset(turns) for cell in cells(steps)])


def code_to_slice(part: Part) -> str:
    """The code for a slice. A command of a shell stands for the files that it may write."""
    if part.cell.language == "bash" and part.cell.status == "ok":
        return "\n".join(f"open({word!r}, 'w')" for word in _SHELL_WORD.findall(part.cell.code)[:200])
    return part.code


def _shown(steps: Sequence[Step], finished: Finished) -> set[str]:
    """The cells whose results people see: behind the figures of the report, and with charts or files of this turn."""
    found = {place.cell_id for source in finished.sources for place in places_of(source)}
    made = {cell.cell_id for cell in cells(steps) if cell.status == "ok" and (cell.charts or _text_files(cell))}
    return found | made


def places_of(source: FigureSource) -> list[SourcePlace]:
    """The places in outputs of cells that a figure of a report comes from."""
    if source.state not in ("sourced", "derived"):
        return []
    return [place for place in source.places if place.cell_id and place.what in _SHOWN_BY_CELLS]


def _text_files(cell: CellRan) -> dict[str, str]:
    return {file.name: file.sha256 for file in cell.files if PurePath(file.name).suffix.lower() in _TEXT_FILES}


def effects_in(turns: Turns, parts: Sequence[Part]) -> dict[str, LeftOutWhy]:
    """The cells that are not run again, with the reason."""
    approved = _approved(turns)
    found: dict[str, LeftOutWhy] = {}
    for part in (part for part in parts if part.code or part.cell.language == "bash"):
        cell = part.cell
        risks = [finding.rule for finding in touched(part.code).risks] if part.code else []
        if cell.language == "bash":
            found[cell.cell_id] = "shell"
        elif cell.cell_id in approved:
            found[cell.cell_id] = "approved"
        elif effect := next((_EFFECTS[rule] for rule in risks if rule in _EFFECTS), None):
            found[cell.cell_id] = effect
        elif not _is_kept(cell):
            found[cell.cell_id] = "no_rows"
    return found


def _is_kept(cell: CellRan) -> bool:
    """Whether all that data sources told a cell was kept."""
    rows = (ran.rows_file for ran in cell.statements if not ran.error)
    return None not in (*rows, *(each.answer for each in cell.lookups))


def _approved(turns: Turns) -> set[str]:
    """The cells that ran because a person approved them."""
    return {cell.cell_id for steps in turns for cell in approved_cells(steps)}


class _Comparison:
    """One report, before and now."""

    def __init__(self, turns: Turns, made: Plan, ran: Mapping[str, CellRan]) -> None:
        self._turns = turns
        self._plan = made
        self._ran = ran
        self._parts = _parts(turns)
        self._before = {part.cell.cell_id: part.cell for part in self._parts}
        self._numbers = {part.cell.cell_id: n for n, part in enumerate(self._parts, 1)}
        self._finished = next(step for step in reversed(turns[-1]) if isinstance(step, Finished))
        self._whole = self._slice_of_all()
        self._failed: set[str] = set()
        self._figures = self._unseen = self._charts = self._files = 0
        self._of_failed = False

    def outcome(self) -> CleanRoom:
        differences = list(self._broken())
        differences += self._figures_that_differ()
        told = {each.cell for each in differences}
        differences += [each for each in self._tables() if each.cell not in told]
        differences += self._charts_that_differ()
        differences += self._files_that_differ()
        is_partial = self._plan.unseen or self._unseen
        return CleanRoom(
            state="differs" if differences else "partly" if is_partial else "reproduced",
            cells=len(self._plan.parts),
            figures=self._figures,
            charts=self._charts,
            files=self._files,
            unseen=self._unseen,
            of_failed=self._of_failed,
            differences=tuple(differences[:MOST_DIFFERENCES]),
            left_out=self._plan.left_out,
            partly_run=tuple(n for n, part in self._plan.parts if part.kept == "partly"),
        )

    # --- cells that fail now

    def _broken(self) -> Iterator[Difference]:
        """Cells that ran well before and fail now. What is shown by a cell that needs one of them is not compared."""
        told: set[str] = set()
        kept = {part.cell.cell_id: part.kept for _, part in self._plan.parts}
        for cell_id in sorted(self._plan.wanted, key=lambda each: self._numbers[each]):
            needed = sorted(self._plan.needs[cell_id] & kept.keys(), key=lambda each: self._numbers[each])
            broken = next((each for each in needed if kept[each] == "whole" and self._ran[each].status != "ok"), None)
            if broken is None:
                continue
            self._failed.add(cell_id)
            if broken not in told:
                told.add(broken)
                now = self._ran[broken]
                why, other, name = self._why(broken, now)
                yield self._difference(
                    "cell", one_line(now.title, 80), broken, now=now.error_name or now.status, why=(why, other, name)
                )

    # --- what is shown

    def _figures_that_differ(self) -> Iterator[Difference]:
        facts = facts_of(self._turns_now())
        before, now = _Shown(facts_of(self._turns)), _Shown(facts)
        again: set[str] | None = None
        for source in self._finished.sources:
            places = places_of(source)
            if not places:
                continue
            if any(not self._is_seen(place, now) for place in places):
                self._unseen += 1
                continue
            if any(place.cell_id in self._failed for place in places):
                continue
            self._figures += 1
            for place in places:
                if place.number is None:
                    again = self._traced_again(facts) if again is None else again
                    if source.figure not in again:
                        yield self._difference("figure", source.figure, place.cell_id, now="–")
                        break
                    continue
                values = now.at(place)
                if any(same_number(place.number, value) for value in values):
                    continue
                at = next((n for n, value in enumerate(before.at(place)) if same_number(place.number, value)), 0)
                other = _text(values[at]) if at < len(values) else "–"
                yield self._difference("figure", source.figure, place.cell_id, was=_text(place.number), now=other)
                break

    def _is_seen(self, place: SourcePlace, now: _Shown) -> bool:
        """Whether the place can be compared. What a failed cell showed with its error is not shown again."""
        is_failed = (
            self._before[place.cell_id].status not in ("ok", "undone") if place.cell_id in self._before else True
        )
        if place.cell_id in self._plan.wanted and (not is_failed or now.at(place)):
            return True
        self._of_failed = self._of_failed or is_failed
        return False

    def _traced_again(self, facts: Facts) -> set[str]:
        """The figures of the report that something backs, traced to what the cells show now."""
        traced = trace(self._finished.report, facts)
        return {one_line(figure.text, 60) for figure in traced.figures if figure.state != "unsourced"}

    def _tables(self) -> Iterator[Difference]:
        cited = {
            place.cell_id for source in self._finished.sources for place in places_of(source) if place.what == "table"
        }
        for cell_id in self._compared(cited):
            before, now = self._before[cell_id].tables, self._ran[cell_id].tables
            if len(before) != len(now) or any(not _same_table(*pair) for pair in zip(before, now, strict=True)):
                yield self._difference("table", one_line(self._before[cell_id].title, 80), cell_id)

    def _charts_that_differ(self) -> Iterator[Difference]:
        for cell_id in self._compared({cell.cell_id for cell in cells(self._turns[-1]) if cell.charts}):
            before, now = self._before[cell_id].charts, self._ran[cell_id].charts
            self._charts += len(before)
            for place, chart in enumerate(before):
                label = one_line(chart.title or chart.figure, 80)
                if place >= len(now):
                    yield self._difference("chart", label, cell_id, now="–")
                elif point := _other_point(chart, now[place]):
                    yield self._difference("chart", label, cell_id, was=point[0], now=point[1])

    def _files_that_differ(self) -> Iterator[Difference]:
        for cell_id in self._compared({cell.cell_id for cell in cells(self._turns[-1]) if _text_files(cell)}):
            now = _text_files(self._ran[cell_id])
            for name, sha256 in _text_files(self._before[cell_id]).items():
                self._files += 1
                if now.get(name) != sha256:
                    yield self._difference("file", one_line(name, 80), cell_id, now="" if name in now else "–")

    def _compared(self, cell_ids: set[str]) -> list[str]:
        return sorted(cell_ids & self._plan.wanted - self._failed, key=lambda each: self._numbers[each])

    def _turns_now(self) -> list[tuple[Step, ...]]:
        """The thread with what its cells show now."""
        return [
            tuple(self._ran.get(step.cell_id, step) if isinstance(step, CellRan) else step for step in steps)
            for steps in self._turns
        ]

    def _difference(
        self,
        what: str,
        label: str,
        cell_id: str,
        *,
        was: str = "",
        now: str = "",
        why: tuple[Why, int, str] | None = None,
    ) -> Difference:
        reason, other, name = why or self._why(cell_id, None)
        return Difference.model_validate(
            {
                "what": what,
                "label": label,
                "cell": self._numbers[cell_id],
                "was": was,
                "now": now,
                "why": reason,
                "other": other,
                "name": one_line(name, 60),
            }
        )

    # --- why

    def _slice_of_all(self) -> Slice:
        """The slice that also has the cells that are not run: those that failed and those that were taken back."""
        codes = [
            (part.cell.cell_id, code_to_slice(part) if part.cell.language == "bash" else part.cell.code)
            for part in self._parts
            if part.cell.status in ("ok", "undone") or ended_in_a_line(part.cell)
        ]
        return slice_cells(codes, self._plan.wanted | {part.cell.cell_id for _, part in self._plan.parts})

    def _why(self, cell_id: str, failed: CellRan | None) -> tuple[Why, int, str]:
        """The likely reason: (why, number of the other cell, name)."""
        codes = [part.code for _, part in self._plan.parts if part.cell.cell_id in self._plan.needs.get(cell_id, ())]
        codes = codes or [self._before[cell_id].code]
        name = self._missing(failed) if failed is not None else ""
        if giver := self._giver(cell_id, name, is_file=failed is not None and failed.error_name == "FileNotFoundError"):
            why: Why = (
                "undone_cell" if giver.status == "undone" else "failed_cell" if giver.status != "ok" else "left_out"
            )
            return why, self._numbers[giver.cell_id], name
        if failed is not None:
            return ("file_gone" if failed.error_name == "FileNotFoundError" else "error"), 0, name
        if draws(codes):
            return "random", 0, ""
        if reads_clock(codes):
            return "time", 0, ""
        if any(isinstance(step, Moved) and not step.is_whole for steps in self._turns for step in steps):
            return "restart", 0, ""
        return ("order" if self._sets_twice(cell_id) else "unknown"), 0, ""

    def _missing(self, failed: CellRan) -> str:
        """The name or file that a cell missed."""
        last = failed.error.strip().rpartition("\n")[2]
        pattern = _UNDEFINED if failed.error_name in ("NameError", "UnboundLocalError") else _QUOTED
        found = pattern.search(last)
        return found[1] if found else ""

    def _giver(self, cell_id: str, name: str, *, is_file: bool) -> CellRan | None:
        """The last cell before this one that may have given what it used, and that is not run now, or only in part."""
        run_whole = {part.cell.cell_id for _, part in self._plan.parts if part.kept == "whole"}
        needed = self._whole.needs.get(cell_id, frozenset()) - run_whole
        codes = [part.cell.code for part in self._parts]
        uses = dict(zip(self._before, uses_in(codes), strict=True))
        for part in reversed(self._parts):
            cell = part.cell
            if cell.cell_id not in needed or self._numbers[cell.cell_id] >= self._numbers[cell_id]:
                continue
            own = uses[cell.cell_id]
            if is_file and (ANY in own.files_written or PurePath(name).name in own.files_written):
                return cell
            if not is_file and (name in own.sets if name else own.sets | own.changes | own.files_written):
                return cell
        return None

    def _sets_twice(self, cell_id: str) -> bool:
        needed = self._plan.needs.get(cell_id, frozenset())
        names = [name for _, part in self._plan.parts if part.cell.cell_id in needed for name in set(_sets(part))]
        return len(names) > len(set(names))


class _Shown:
    """The numbers that outputs show, by their place: the labels around them, or else their line."""

    def __init__(self, facts: Facts) -> None:
        self._by_labels: dict[tuple[str, str, str], list[float]] = {}
        self._by_line: dict[tuple[str, str, int], list[float]] = {}
        for fact in facts.facts:
            what, cell_id = fact.place.what, fact.place.cell_id
            self._by_labels.setdefault((what, cell_id, labels_of(what, fact.place.about)), []).append(fact.value)
            self._by_line.setdefault((what, cell_id, fact.place.line), []).append(fact.value)

    def at(self, place: SourcePlace) -> list[float]:
        """The numbers at a place. The labels of a printed line may hold a number that is different now, so the line
        counts then."""
        labels = (place.what, place.cell_id, labels_of(place.what, place.about))
        return self._by_labels.get(labels) or self._by_line.get((place.what, place.cell_id, place.line), [])


def _sets(part: Part) -> frozenset[str]:
    return uses_of(part.code).sets


def rerun_step(before: CellRan, now: CellRan) -> CellRan:
    """A cell as it ran now, under the id that the thread knows it by. Its statements are those of before."""
    return now.model_copy(
        update={"cell_id": before.cell_id, "call_id": before.call_id, "statements": before.statements}
    )


def labels_of(what: str, about: str) -> str:
    """The labels around a value. A chart's labels begin with the name of its picture, which may have changed."""
    return one_line(about.partition(": ")[2] if what == "chart" else about, ABOUT_CHARS)


def same_number(one: float, other: float) -> bool:
    """Whether two numbers are one but for the last bits of a computation."""
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)


def _same_item(one: Scalar, other: Scalar) -> bool:
    numbers = isinstance(one, int | float) and isinstance(other, int | float)
    if numbers and not isinstance(one, bool) and not isinstance(other, bool):
        return one == other or same_number(float(one or 0), float(other or 0))
    return one == other


def _same_table(one: TableData, other: TableData) -> bool:
    if (one.columns, one.total_rows, len(one.rows)) != (other.columns, other.total_rows, len(other.rows)):
        return False
    rows = zip(one.rows, other.rows, strict=True)
    return all(len(a) == len(b) and all(map(_same_item, a, b)) for a, b in rows)


def _other_point(one: ChartData, other: ChartData) -> tuple[str, str] | None:
    """The first point that differs between two charts, as text; None when they show the same."""
    if len(one.series) != len(other.series):
        return f"{len(one.series)} ×", f"{len(other.series)} ×"
    for before, now in zip(one.series, other.series, strict=True):
        if (before.name, before.total_points) != (now.name, now.total_points):
            return f"{before.name} ({before.total_points})", f"{now.name} ({now.total_points})"
        for a, b in zip(before.points, now.points, strict=False):
            if not all(map(_same_item, a, b)):
                return _point(a), _point(b)
    return None


def _point(point: tuple[Scalar, Scalar]) -> str:
    return one_line(" → ".join(_text(item) for item in point), 80)


def _text(value: Scalar) -> str:
    return f"{value:,.10g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
