"""The analyses of what is asked, each with all that its cell and its part of the report are made from."""

from __future__ import annotations

from dataclasses import dataclass

from workers.offline import columns as cols
from workers.offline import dates
from workers.offline.looking import answerable
from workers.offline.reading import facts_of
from workers.offline.subject import BAND, Subject, label, period, plain, pretty, spacing, span_in_years, subject
from workers.offline.thread import Thread
from workers.offline.values import Analysis, Column, Intent, Join

MAX_DRIVERS = 2
FEW_VALUES = 6
"""Values of a number up to which it is grouped by as it is, and not in bands."""
REPORT_ROWS = 12


@dataclass(frozen=True, slots=True)
class Task:
    """One analysis of a thread: what its cell is composed from and its part of the report is written from."""

    thread: Thread
    join: Join
    intent: Intent
    stage: str
    analysis: Analysis

    @property
    def language(self) -> str:
        """ "en" or "zh"."""
        return self.thread.language

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
        return period(self.language, self.frequency)

    @property
    def by(self) -> str:
        """What is grouped by, in words; empty when nothing is."""
        return label(self.thread, self.analysis.by[0]) if self.analysis.by else ""

    @property
    def has_table(self) -> bool:
        """True when the cell leaves a table behind."""
        kind = self.analysis.kind
        return (
            self.intent.listed
            or kind in ("trend", "breakdown", "compare", "profile")
            or (kind == "correlate" and not self.analysis.other)
        )

    @property
    def outgrows_the_report(self) -> bool:
        """True when the table has more rows than a report shows: periods, columns, or many groups."""
        facts = facts_of(self.thread.since).get("groups", ())
        many = {str(told["by"]) for told in facts if told.get("count", 0) > REPORT_ROWS}
        if self.intent.listed:
            return any(told.get("rows", 0) > REPORT_ROWS for told in facts_of(self.thread.since).get("ranked", ()))
        return self.analysis.kind in ("trend", "profile") or bool(
            self.analysis.by and plain(self.analysis.by[0]) in many
        )

    def name(self, column: str) -> str:
        """A column's name for people."""
        return pretty(column, self.language)

    def unit(self, column: Column | None) -> str:
        """The sign of currency of a column of money."""
        return self.thread.currency if column and cols.is_money(column) else ""

    def axis(self, name: str | None) -> str:
        """The label of an axis that shows a column."""
        sign = self.unit(self.join.column(name))
        return f"{self.name(name or '')} ({sign})" if sign else self.name(name or "")

    def ticks(self, name: str | None) -> str:
        """The format of an axis that shows a column."""
        return f"{self.unit(self.join.column(name))}{{x:,.10g}}"


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
    named = [join.column(str(told.get("column"))) for told in facts_of(thread.since).get("driver", ())[:MAX_DRIVERS]]
    return [
        f"{BAND}{column.name}"
        if column.kind == "number" and (column.unique or FEW_VALUES + 1) > FEW_VALUES
        else column.name
        for column in named
        if column
    ]
