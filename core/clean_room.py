"""The outcome of running the code behind a report once more, in a session of its own with the same inputs."""

from __future__ import annotations

from typing import Any, Literal

from core.values import StoredFile, Value

Mode = Literal["after", "before", "off"]

Why = Literal[
    "random", "time", "failed_cell", "undone_cell", "file_gone", "left_out", "restart", "error", "order", "unknown"
]
"""The likely reason of a difference.

`random`, `time`: the code draws without a seed, or reads the clock. `failed_cell`, `undone_cell`: a value came from a
cell that failed or was taken back. `file_gone`: a file is not there any more. `left_out`: it needs a cell that is not
run again. `restart`: the session was restarted or moved in between. `error`: the cell failed with an error of its own.
`order`: several cells set the same name.
"""

LeftOutWhy = Literal["shell", "process", "network", "outside", "approved", "no_rows"]
"""Why a cell is not run again. `approved`: a person had to allow it. `no_rows`: the rows of its query were not kept."""

Unchecked = Literal["waiting", "effects", "too_long", "memory", "interrupted", "stopped", "host", "failed"]
"""Why nothing was compared. `waiting`: not yet. `interrupted`: a worker died in it. `failed`: a fault of ours."""


class Difference(Value):
    """Something that came out otherwise: a figure of the report, a chart, a file, or a cell that failed.

    `cell` is the number of its cell, `was` and `now` the values as text. `other` is the number of the cell that is the
    reason, `name` the name of the variable, file or error that it is about.
    """

    what: Literal["figure", "table", "chart", "file", "cell"]
    label: str
    cell: int
    was: str = ""
    now: str = ""
    why: Why = "unknown"
    other: int = 0
    name: str = ""


class LeftOut(Value):
    """A cell that the report needs and that is not run again."""

    cell: int
    title: str
    why: LeftOutWhy


class CleanRoom(Value):
    """The outcome. `state` says what the badge shows:

    `reproduced`: all that was compared is the same. `partly`: so is all that could be compared, and the rest could not.
    `differs`: something came out otherwise. `unchecked`: nothing was compared, for `reason`.

    `cells` were run in `seconds`; `figures`, `charts` and `files` were compared; `unseen` figures could not be,
    some of them because a cell that failed showed them (`of_failed`).
    `partly_run` are the numbers of failed cells of which the lines before the error were run.
    """

    state: Literal["reproduced", "partly", "differs", "unchecked"]
    reason: Unchecked | Literal[""] = ""
    seconds: float = 0.0
    limit_s: float = 0.0
    cells: int = 0
    figures: int = 0
    charts: int = 0
    files: int = 0
    unseen: int = 0
    of_failed: bool = False
    differences: tuple[Difference, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    partly_run: tuple[int, ...] = ()


WAITING = CleanRoom(state="unchecked", reason="waiting")


class CleanRoomOrder(Value):
    """What has to be known to run a report's code again, stored with the report.

    `state`: "due" for a clean room after the report, "before" for one before it. `slot` is the outbox slot of the
    message that shows the badge; `text` and `blocks` are that message without it. `inputs` are the files that people
    had given by then, in their order.
    """

    state: Literal["due", "before"]
    slot: str = ""
    text: str = ""
    blocks: tuple[dict[str, Any], ...] = ()
    inputs: tuple[StoredFile, ...] = ()
