"""Reports: where their figures come from, how they were checked, and the ends without one."""

from __future__ import annotations

from typing import Literal

from core.second_route import SecondRoute
from core.values import Value


class Checked(Value):
    """The judge's verdict on a report."""

    kind: Literal["checked"] = "checked"
    is_final: bool
    reason: str = ""


class RouteBegan(Value):
    """The code of a second way to a report's figures is about to run. A worker that finds this step without a
    `RouteRan` behind it does not run it again: the answer comes first."""

    kind: Literal["route_began"] = "route_began"
    cell_id: str


class RouteRan(Value):
    """The code of a second way ended, in a session of its own, which is gone by now.

    `result` are the figures that it computed, as JSON: name → value. `read` says whether it opened a file of the
    thread or got rows of a data source. "unasked": the model could not be asked for code; "interrupted": a worker died
    in it; "away": no session for it could be had.
    """

    kind: Literal["route_ran"] = "route_ran"
    cell_id: str
    status: Literal["ok", "error", "timeout", "killed", "died", "unasked", "interrupted", "away"]
    code: str = ""
    result: str = ""
    error: str = ""
    read: bool = False
    seconds: float = 0.0


class SourcePlace(Value):
    """A place that a figure comes from: an output, table, chart, statement or the code of a cell, a file, a question.

    `line` counts from 1, and is 0 where there is none. `about` are the labels around the value, `value` is what stands
    there. `number` is what the figure was bound to there; None when it is no number, or an earlier version stored the
    report.
    """

    what: str
    cell_id: str = ""
    line: int = 0
    about: str = ""
    value: str = ""
    number: float | None = None


class FigureSource(Value):
    """A figure of a report and where it comes from.

    `sourced`: a cell showed it. `derived`: it follows from what cells showed by the step `how`. `given`: a person, a
    file or the code's parameters state it. `unsourced`: it has no source; it is marked in the report, and `reason` says
    what was found instead (`workers/agent/provenance/claims/matching.py`). `start` is its place in the report, -1 in
    steps of versions that did not note it; `arithmetic` is the step `how` with its numbers; `near` are values that the
    outputs show instead of an unsourced one.
    """

    figure: str
    state: Literal["sourced", "derived", "given", "unsourced"]
    reason: str = ""
    how: str = ""
    places: tuple[SourcePlace, ...] = ()
    start: int = -1
    arithmetic: str = ""
    near: tuple[str, ...] = ()


class Finished(Value):
    """The report as it is posted (Markdown, answer first), figures that nothing backs marked. `partial`: it says that
    the question, or a part of it, has no answer; it gets no sign of success. `sources`: where its figures come from.
    `author`: the person who wrote it in the analyst's place. `second`: what a second way to its figures gave, None
    where nobody asked for one. `sections`: the headings of the channel's fixed layout that it has; () without one.
    """

    kind: Literal["finished"] = "finished"
    report: str
    partial: bool = False
    sources: tuple[FigureSource, ...] = ()
    author: str = ""
    second: SecondRoute | None = None
    sections: tuple[str, ...] = ()


STOPPED = "stopped"
"""The reason of a turn that a person stopped."""

UNINSTALLED = "uninstalled"
"""The reason of a turn whose workspace has uninstalled the app."""

APPROVAL_REJECTED = "approval_rejected"
APPROVAL_EXPIRED = "approval_expired"
"""The reasons of a turn that ended because a person rejected its cell, or because nobody decided in time."""


class GaveUp(Value):
    """The turn ended without an answer. `reason` is a short code, `text` what people read."""

    kind: Literal["gave_up"] = "gave_up"
    reason: str
    text: str
    fault: Literal["model", "user", "ours"] = "model"
