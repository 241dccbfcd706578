"""A report that is made again and again, and the outcome of one run: the values that the Store and the workers
share."""

from __future__ import annotations

from typing import Literal

from core.schedules.thresholds import Threshold
from core.schedules.words import OnDaysOff
from core.values import Language, StoredFile, Value

State = Literal["active", "paused", "stopped"]
Why = Literal["", "effects", "failed", "drift", "too_long", "memory", "left", "late", "gone", "host", "source", "off"]
"""Why a run showed nothing. `effects`: code that is not repeated · `failed`: a cell raised · `drift`: the data look
otherwise · `left`: the owner is no longer in the workspace · `late`: too long after its time · `gone`: its report is
not there any more · `host`: the machine did not let it run · `source`: a data source did not answer or may not be
asked · `off`: the day of its time became a day off."""


class ScheduleOrder(Value):
    """What is to be run and when. `inputs` are the files that the report had, in their order."""

    cron: str
    zone: str
    language: Language
    threshold: Threshold | None = None
    pattern: str = ""
    inputs: tuple[StoredFile, ...] = ()
    on_days_off: OnDaysOff = ""


class Figure(Value):
    """A figure of the report: its place among the report's figures, how it is called, and the value that a cell shows.

    `written` is how the report has it. That is `times` the value: 100 if a cell shows 0.124 and the report 12.4 %; 0 if
    nobody can tell. `percent`: the report has it in percent. `name` are the labels around it in the cell's output. For
    people, `heading` are its row and column in a table of the report, else `quote` the report's words around it if the
    name is none that a reader understands.
    """

    place: int
    name: str
    value: float
    text: str = ""
    written: str = ""
    times: float = 1.0
    percent: bool = False
    heading: str = ""
    quote: str = ""

    @property
    def words(self) -> str:
        """What people call it."""
        return self.heading or self.quote or self.name


class RunOutcome(Value):
    """The outcome of a run. `figures` are all that were seen; `files` the names of inputs that were new."""

    why: Why = ""
    details: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    files: tuple[str, ...] = ()
    seconds: float = 0.0
