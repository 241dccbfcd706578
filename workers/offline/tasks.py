"""The analyses of what is asked, each with all that its cell and its part of the report are made from."""

from __future__ import annotations

from dataclasses import dataclass

from core.phrases import UNSPACED
from core.values import Language
from workers.offline import cells, dates
from workers.offline.reading import facts_of
from workers.offline.subject import (
    BAND,
    Subject,
    label,
    plain,
    pretty,
    rows_lines,
    scope,
    spacing,
    span_in_years,
    subject,
)
from workers.offline.thread import Thread, chosen, names_looked_up, rows_meant
from workers.offline.values import Analysis, Cell, Intent, Join, Unplaced, of_kind
from workers.offline.wording import signed

MAX_DRIVERS = 2
FEW_VALUES = 6
"""A number with at most this many values is grouped by its values, not in bands."""
REPORT_ROWS = 12


@dataclass(frozen=True, slots=True)
class Task:
    """One analysis of a thread. Its cell and its part of the report are made from this."""

    thread: Thread
    join: Join
    intent: Intent
    stage: str
    analysis: Analysis

    @property
    def language(self) -> Language:
        """The language of the report."""
        return self.thread.language

    @property
    def kind(self) -> str:
        """The kind of the analysis; one whose cell or sentences differ has a name of its own."""
        kind = self.analysis.kind
        if kind == "trend" and self.analysis.by:
            return "trend_by"
        if kind == "compare" and self.join.kind(self.intent.measure) != "number":
            return "breakdown"
        return kind

    @property
    def measured(self) -> Subject:
        """What is measured."""
        return subject(self.thread, self.join, self.intent)

    @property
    def frequency(self) -> str:
        """The length of a trend's periods: as asked, else by the length of the data; never finer than its dates."""
        years = span_in_years(self.thread)
        usual = "M" if years is None else "D" if years < 0.2 else "W" if years < 0.5 else "M" if years <= 12 else "Y"
        return dates.coarser(self.intent.frequency or usual, spacing(self.thread, self.intent.date))

    @property
    def change_frequency(self) -> str:
        """The length of the periods between which a change is computed."""
        if self.intent.period:
            return dates.frequency_of(self.intent.period)
        return dates.coarser(self.intent.frequency or "M", self.frequency if self.frequency in "QY" else "D")

    @property
    def period(self) -> str:
        """The word for one step of a trend."""
        return self.thread.say("periods", self.frequency)

    @property
    def by(self) -> str:
        """What is grouped by, in words; empty when nothing is."""
        return label(self.thread, self.analysis.by[0]) if self.analysis.by else ""

    @property
    def has_table(self) -> bool:
        """True when the cell leaves a table behind."""
        kinds = ("trend", "breakdown", "compare", "profile", *(() if self.analysis.other else ("correlate",)))
        return self.intent.listed or self.analysis.kind in kinds

    @property
    def outgrows_the_report(self) -> bool:
        """True when the table has more rows than a report shows: periods, columns, or many groups."""
        facts = facts_of(self.thread.since)
        if self.intent.listed:
            return any(told.get("rows", 0) > REPORT_ROWS for told in facts.get("ranked", ()))
        many = {str(told["by"]) for told in facts.get("groups", ()) if told.get("count", 0) > REPORT_ROWS}
        return self.analysis.kind in ("trend", "profile") or plain(next(iter(self.analysis.by), "")) in many

    def name(self, column: str) -> str:
        """A column's name for people."""
        return pretty(column, self.language)

    def unit(self, name: str | None) -> str:
        """The sign of currency of a column of money."""
        return self.thread.sign_of(self.join.column(name))

    def axis(self, name: str | None) -> str:
        """The label of an axis that shows a column."""
        sign = self.unit(name)
        return f"{self.name(name or '')} ({sign})" if sign else self.name(name or "")

    def format_of(self, name: str | None, form: str = ",.10g") -> str:
        """The format of an axis, or of labels, that show values of a column."""
        return signed(f"{{:{form}}}", self.unit(name), self.language)


def tasks(thread: Thread, join: Join) -> list[Task]:
    """The analyses of what is asked in order, each with the name of its stage, unique within the turn.

    Breakdowns by drivers join the list when the model has named them. Parts without an answer have none.
    """
    answered = [intent for intent in thread.intents if answerable(thread, intent)]
    wanted = [(intent, analysis) for intent in answered for analysis in intent.analyses]
    for intent in answered:  # at the end, so that no stage changes its name when drivers become known
        drivers = _drivers(thread, join) if intent.by_drivers else []
        wanted += [
            (intent, Analysis("breakdown", (by,))) for by in drivers if (by,) not in [a.by for a in intent.analyses]
        ]
    return [
        Task(thread, join, intent, f"{analysis.kind}{number}", analysis)
        for number, (intent, analysis) in enumerate(wanted, start=1)
    ]


def _drivers(thread: Thread, join: Join) -> list[str]:
    """The groupings by the columns that this turn's model relies on most, numbers in bands."""
    told = facts_of(thread.since).get("driver", ())[:MAX_DRIVERS]
    named = [column for driver in told if (column := join.column(str(driver.get("column"))))]
    many = [column for column in of_kind(named, "number") if (column.unique or FEW_VALUES + 1) > FEW_VALUES]
    return [f"{BAND if column in many else ''}{column.name}" for column in named]


MAX_COLUMNS = 30
"""Columns that a name is looked for in."""


def questions_to_the_data(thread: Thread, join: Join) -> list[Cell]:
    """The cells that have to run before the analyses: one for names not seen so far, one for each choice of rows."""
    looked_up = names_looked_up(thread.facts)
    named = [word.text for intent in thread.intents for word in intent.unplaced if word.named]
    if unknown := [name for name in dict.fromkeys(named) if name not in looked_up]:
        columns = join.names("category", "id", "text")[:MAX_COLUMNS]
        quoted = [thread.say("words", "quoted", text=name) for name in unknown]
        listed = ("、" if thread.language in UNSPACED else ", ").join(quoted)
        sought = {"names": unknown, "columns": columns, "listed": listed}
        return [cells.cell("look_up", "seek", thread.language, sought)]
    found = []
    for number, intent in enumerate(thread.intents, start=1):
        if intent.filters and not missing_names(thread, intent) and chosen(intent, thread.facts) is None:
            before = ["steps = []", "work = df", *rows_lines(thread, join, intent)]
            values = {"of": rows_meant(intent), "scope": scope(thread, intent)}
            found.append(cells.cell("choose", f"choose{number}", thread.language, values, before=before))
    return found


def missing_names(thread: Thread, intent: Intent) -> list[Unplaced]:
    """The names that the question insists on and the data does not have."""
    looked_up = names_looked_up(thread.facts)
    return [word for word in intent.unplaced if word.demanded and looked_up.get(word.text, word) is None]


def emptied_by(thread: Thread, intent: Intent) -> dict[str, object] | None:
    """What is known of the filter that left no row; None when rows are left or nothing was counted."""
    return next((step for step in chosen(intent, thread.facts) or () if not step.get("rows")), None)


def answerable(thread: Thread, intent: Intent) -> bool:
    """True when there are rows to answer from."""
    return not missing_names(thread, intent) and emptied_by(thread, intent) is None
