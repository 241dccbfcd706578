"""What a thread's outputs say, as facts: a value with its place, and the labels of the row and column it stands in."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import Literal, NamedTuple

from workers.agent.provenance.language.numerals import Day
from workers.agent.provenance.language.words import PERCENT_WORDS, STATISTICS, Key, has_word

Label = Key | Day
"""A label in the form in which it is compared: its words, or the date that it is."""
EARLIER = -1
MAX_FACTS = 40_000


What = Literal["output", "table", "chart", "statement", "file", "code", "question", "note", "memory", "count"]
"""What a fact was found in. A count is of the rows or columns of a table, a note of another thread."""


class Place(NamedTuple):
    """Where a fact was found.

    `cell` counts the thread's cells from 1, and is 0 for what no cell showed. `line` counts from 1, and is 0 for none.
    `about` are the labels around the value as people read them, `value` is the value itself where a figure names it.
    """

    what: What
    cell: int = 0
    cell_id: str = ""
    line: int = 0
    about: str = ""
    value: str = ""


@dataclass(slots=True, eq=False)
class Family:
    """The labels of one dimension of a table: those of a column of words, or the names of its columns.

    `binds`: the labels exclude each other, so a value of one label is never a value of another. `lines`: the labels are
    the words that lines begin with, so one may go on where another ends ("Tech", "Tech tickets per month").
    `entities`: the names of columns that are rows of other tables, so that a column is of one of them, and no measure.
    `of_values`: pandas wrote a name of its own above the rows' names: the columns are values of it, as in a pivot.
    `titles`: the periods that titles of tables tell. No row says them, so only a clause that names another one
    contradicts it.
    """

    labels: dict[Label, str] = field(default_factory=dict)
    binds: bool = True
    columns: bool = False
    lines: bool = False
    entities: bool = False
    of_values: bool = False
    titles: bool = False

    def add(self, label: Label, shown: str) -> None:
        """Note a label, with the text that people see."""
        self.labels.setdefault(label, shown)


class Told(NamedTuple):
    """What a number of a file's profile is, and `names` of which a sentence has to say one: those of its column, of the
    value whose rows are counted, or of the other cells of a sample row. "rows" needs none: they go by any noun."""

    what: Literal["rows", "columns", "missing", "count", "share", "min", "median", "max", "value"]
    names: tuple[Key, ...]


@dataclass(slots=True, eq=False)
class Fact:
    """A number that an output shows. `decimals` is None for one that came as data, exact.

    `keys` says which label it has in which family. `words` are the words around it. `grid` is the table that it stands
    in, `row` and `column` its place there. `turn` is 0 for this turn, and `EARLIER` for one before. `given`: a person,
    or the data's own text, gave it, and no cell had to compute it. `told` says what a number of a file's profile is.
    `plus`: it is written with a plus.
    """

    value: float
    decimals: int | None
    place: Place
    unit: str = ""
    scale: float = 1.0
    keys: tuple[tuple[Family, Label], ...] = ()
    words: frozenset[str] = frozenset()
    grid: Grid | None = None
    row: int = -1
    column: int = -1
    turn: int = 0
    given: bool = False
    percent: bool = False
    told: Told | None = None
    plus: bool = False

    @property
    def slack(self) -> float:
        """Half a unit of the last place that is shown."""
        return 0.0 if self.decimals is None else 0.5 * 10.0**-self.decimals * self.scale

    @property
    def scaled(self) -> float:
        """The value with the scale that is written beside it: 1.2 M is 1,200,000."""
        return self.value * self.scale


Wanted = Mapping[int, Collection[Label]]
"""Labels by the id of their family."""


class LabelIndex:
    """Facts by their labels. What is looked up here must not change any more."""

    def __init__(self, facts: Sequence[Fact]) -> None:
        self._facts = facts
        self._places: dict[tuple[int, Label], list[int]] = {}
        for place, fact in enumerate(facts):
            for family, label in fact.keys:
                self._places.setdefault((id(family), label), []).append(place)

    def of(self, labels: Iterable[tuple[int, Label]]) -> Iterator[Fact]:
        """The facts with any of these labels, each given with the id of its family; in their own order."""
        return (self._facts[at] for at in sorted({at for label in labels for at in self._places.get(label, ())}))


@dataclass(slots=True, eq=False)
class Grid:
    """A table of facts: rows × columns, with the families of its labels. `record`: a mapping of few named figures.
    `title` are the words of the line above it, `in_percent` the columns whose values it says to be in percent or
    points."""

    facts: list[Fact] = field(default_factory=list)
    names: tuple[Key, ...] = ()
    rows: int = 0
    whole: bool = True
    record: bool = False
    title: frozenset[str] = frozenset()
    in_percent: frozenset[int] = frozenset()

    _columns: dict[int, list[Fact]] | None = None
    _labelled: LabelIndex | None = None
    _of_rows: frozenset[int] = frozenset()
    """The ids of the families that label its rows."""

    @property
    def columns(self) -> Mapping[int, list[Fact]]:
        """The facts of each column, from top to bottom, without rows that are labelled as a total."""
        if self._columns is None:
            self._columns = {at: [] for at in sorted({fact.column for fact in self.facts})}
            for fact in self.facts:
                if not is_total(fact):
                    self._columns[fact.column].append(fact)
        return self._columns

    def column(self, at: int) -> list[Fact]:
        """The facts of one column; see `columns`."""
        return self.columns.get(at, [])

    def named(self, wanted: Wanted) -> Iterator[Fact]:
        """The facts whose row is named: a label of it is wanted, and so is each one of a family of `wanted`."""
        if self._labelled is None:
            self._labelled = LabelIndex(self.facts)
            self._of_rows = frozenset(id(f) for fact in self.facts for f, _ in fact.keys if not f.columns)
        own = self._of_rows & wanted.keys()
        for fact in self._labelled.of((family, label) for family in own for label in wanted[family]):
            rows = [(id(family), label) for family, label in fact.keys if not family.columns and id(family) in wanted]
            if rows and all(label in wanted[family] for family, label in rows):
                yield fact

    def row(self, at: int) -> list[Fact]:
        """The facts of one row."""
        return [fact for fact in self.facts if fact.row == at]


_TOTAL = {
    ("total",), ("all",), ("sum",), ("grand", "total"), ("overall",), ("gesamt",), ("summe",), ("insgesamt",),
    ("alle",), ("zusammen",), ("ensemble",), ("todo",), ("toda",), ("tou",), ("toute",), ("合", "計"), ("総", "計"),
    ("合", "计"), ("总", "计"), ("全", "部"), ("总", "体"), ("全", "体"),
}  # fmt: skip


def is_total(fact: Fact) -> bool:
    """Whether the fact's row is labelled as the total of the others."""
    return any(is_total_of(label, family) for family, label in fact.keys if not family.columns)


def is_total_of(label: Label, family: Family) -> bool:
    """Whether a label says that its row is the total of the others: "total", or the one row "all channels"."""
    return is_total_label(label) or (_is_of_all(label) and sum(map(_is_of_all, islice(family.labels, _MOST_ROWS))) == 1)


def is_total_label(label: Label) -> bool:
    """Whether a label says that its row is the total of the others, whatever the others are."""
    return label in _TOTAL


_MOST_ROWS = 200
_ALL = frozenset(("all", "alle", "todo", "toda", "tou", "toute"))
"""Without the s of the plural."""


def _is_of_all(label: Label) -> bool:
    return not isinstance(label, Day) and len(label) == 2 and label[0] in _ALL


@dataclass(slots=True)
class Facts:
    """Everything that a report may rest on.

    `days`, `times` and `numbers_given` are what may be named without a row: dates of outputs, files and questions.
    `currencies` and `scales` ("in T€") are those that the data or people named. `titled` are the unit and the scale
    that the title of a cell gives to what it shows ("Revenue, in k EUR"), by the cell's number.
    """

    facts: list[Fact] = field(default_factory=list)
    grids: list[Grid] = field(default_factory=list)
    days: dict[Day, Place] = field(default_factory=dict)
    times: dict[str, Place] = field(default_factory=dict)
    counts: dict[int, Place] = field(default_factory=dict)
    currencies: set[str] = field(default_factory=set)
    scales: set[float] = field(default_factory=set)
    titled: dict[int, tuple[str, float]] = field(default_factory=dict)
    families: list[Family] = field(default_factory=list)
    cells: int = 0
    _plain: _Index | None = None
    _shares: _Index | None = None
    _scaled: list[Fact] | None = None
    _labelled: LabelIndex | None = None

    def near(self, low: float, high: float, *, percent: bool) -> Iterator[Fact]:
        """The facts whose size may lie between these bounds. `percent`: only facts that may be fractions, times 100."""
        if self._plain is None or self._shares is None:
            self._plain = _Index(self.facts, 1.0)
            self._shares = _Index(
                [fact for fact in self.facts if fact.unit in ("", "%") and abs(fact.value) <= 20], 100.0
            )
        yield from (self._shares if percent else self._plain).between(low, high)

    def scaled(self) -> Iterator[Fact]:
        """The facts that are written with a scale beside them, "1.2 M"."""
        if self._scaled is None:
            self._scaled = [fact for fact in self.facts if fact.scale != 1.0]
        yield from self._scaled

    def labelled(self, labels: Iterable[tuple[int, Label]]) -> Iterator[Fact]:
        """The facts with any of these labels, each given with the id of its family; in their own order."""
        if self._labelled is None:
            self._labelled = LabelIndex(self.facts)
        return self._labelled.of(labels)

    def contradicts(self, fact: Fact, unit: str, size: float, value: float) -> bool:
        """Whether an amount of this size is not what the title of the fact's cell says of a value that it shows: €771
        for 771 under "in k EUR". A unit or a scale of the fact itself comes first."""
        titled, scale = self.titled.get(fact.place.cell, ("", 1.0))
        return titled == unit and not fact.unit and fact.scale == 1.0 and size < abs(value) * scale / 2

    def spans(self, period: Day) -> bool:
        """Whether a month or a quarter of a year lies between the first and the last day that outputs show, or the
        outputs show "Q3" or "Feb" without a year and its year elsewhere."""
        if period.year is None or period.day is not None or (period.month is None and period.quarter is None):
            return False
        part = period._replace(year=None)
        is_shown = part in self.days or any(part in family.labels for family in self.families)
        if is_shown and self.known_day(Day(period.year)) is not None:
            return True
        days = [(day.year, day.month) for day, place in self.days.items() if place.what == "output" and day.day]
        whole = [(year, month) for year, month in days if year is not None and month is not None]
        last = period.month or 3 * (period.quarter or 0)
        months = (period.month or last - 2, last)
        return bool(whole) and all(min(whole) <= (period.year, month) <= max(whole) for month in months)

    def known_day(self, day: Day) -> Place | None:
        """The facts with this date, or with a date inside its period."""
        if day in self.days:
            return self.days[day]
        return next((place for known, place in self.days.items() if day.fits(known)), None)


class _Index:
    """Facts by the size of their values."""

    def __init__(self, facts: Iterable[Fact], factor: float) -> None:
        ordered = sorted(
            ((abs(fact.scaled) * factor, n, fact) for n, fact in enumerate(facts)), key=lambda each: each[:2]
        )
        self._sizes = [each[0] for each in ordered]
        self._facts = [each[2] for each in ordered]
        self._slack = max(
            (fact.slack for fact in self._facts if fact.decimals is not None and fact.decimals < 0), default=0
        )
        self._factor = factor

    def between(self, low: float, high: float) -> Sequence[Fact]:
        extra = 0.51 * self._factor + self._slack * self._factor
        return self._facts[bisect_left(self._sizes, low - extra) : bisect_right(self._sizes, high + extra)]


def settle(facts: Facts) -> None:
    """Decide what needs all facts: which families bind, and which values are percentages."""
    families: dict[int, Family] = {}
    for fact in facts.facts:
        for family, _ in fact.keys:
            families.setdefault(id(family), family)
    facts.families = list(families.values())
    for family in facts.families:
        labels = [label for label in family.labels if not is_total_label(label)]
        if len(labels) < 2 or _has_statistics([label for label in labels if not isinstance(label, Day)]):
            family.binds = False
    rows = {label for family in facts.families if family.binds and not family.columns for label in family.labels}
    columns = [label for family in facts.families if family.columns for label in family.labels]
    for family in facts.families:
        own = [label for label in family.labels if not is_total_of(label, family)]
        pivoted = family.of_values and not any(_is_less_than_one(label, columns) for label in own)
        family.entities = family.columns and len(own) > 1 and (pivoted or all(label in rows for label in own))
    counts: dict[tuple[int, int], bool] = {}
    in_percent = {id(grid) for grid in facts.grids if any(fact.unit in ("%", "pp") for fact in grid.facts)}
    for fact in facts.facts:
        words = fact.words - _AMOUNT_BESIDE_RATE if id(fact.grid) in in_percent else fact.words
        rate = has_word(tuple(words - _COUNT_OR_RATE), PERCENT_WORDS)
        if not rate and has_word(tuple(words), PERCENT_WORDS):
            column = (id(fact.grid), fact.column)
            if column not in counts or fact.grid is None:
                counts[column] = _are_counts([fact] if fact.grid is None else fact.grid.column(fact.column) or [fact])
            rate = not counts[column]
        fact.percent = fact.percent or fact.unit in ("%", "pp") or rate


def _is_less_than_one(label: Label, labels: Iterable[Label]) -> bool:
    """Whether a label is a period, or one of these has all its words and more: "2024 (trips)" is beside "2024"."""
    if isinstance(label, Day):
        return True
    words = set(label)
    return any(not isinstance(other, Day) and words < set(other) for other in labels)


_COUNT_OR_RATE = frozenset(("conversion", "return", "missing"))
"""Words that name a percentage or a count: "312 conversions", "conversion 4.1"."""


_AMOUNT_BESIDE_RATE = frozenset(("change", "growth", "veränderung", "wachstum"))
"""A column of changes has no percentages where another column of its table is called "growth %"."""


def _are_counts(column: Sequence[Fact]) -> bool:
    """Whether the figures of a column are counts: whole numbers, one of them above 100."""
    return all(fact.decimals == 0 or fact.value == int(fact.value) for fact in column) and any(
        fact.value > 100 for fact in column
    )


def _has_statistics(labels: Sequence[Key]) -> bool:
    """Whether one of these labels only names a figure. "25%" does; beside "18-29" and "30-44", "65+" does not."""
    numbers = [label for label in labels if label and all(map(str.isdigit, label))]
    pairs = sorted((int(label[0]), int(label[1])) for label in numbers if len(label) == 2)
    are_bands = len(pairs) > 1 and all(low[1] <= high[0] for low, high in pairwise(pairs))
    return any(is_statistic(label) for label in labels if not (are_bands and label in numbers))


def is_statistic(label: Key) -> bool:
    """Whether a label is only the name of a figure: "count", "mean", "25%"."""
    return not label or all(word in STATISTICS or word.isdigit() for word in label)
