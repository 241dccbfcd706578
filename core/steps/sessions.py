"""What became of the session of a thread: undone, reset, moved, copied to a new thread."""

from __future__ import annotations

from typing import Literal

from core.clean_room import LeftOutWhy
from core.values import Value


class LeaseGone(Value):
    """Another worker has the thread now. This step is seen by the worker that lost it and is never stored."""

    kind: Literal["lease_gone"] = "lease_gone"


class Resumed(Value):
    """A person asked a turn that had given up to go on. The end before this step no longer counts.

    `model` is the name under `[models]` with which it goes on, "" for the one that it had. Until `waits_until`, in
    seconds since 1970, a model that is unavailable is tried again by itself.
    """

    kind: Literal["resumed"] = "resumed"
    user: str
    author: str
    text: str
    ts: str
    model: str = ""
    waits_until: float | None = None


class Undone(Value):
    """A person took a cell back. The session is as it was before that cell."""

    kind: Literal["undone"] = "undone"
    cell_id: str
    title: str
    user: str
    author: str
    ts: str


class Forgot(Value):
    """The end of a turn that asked whether to reset the session. `done`: it was reset; otherwise nothing was changed.
    `text` is what people read."""

    kind: Literal["forgot"] = "forgot"
    done: bool
    user: str
    author: str
    text: str


ShellIs = Literal["", "moved", "anew"]


class Moved(Value):
    """From here on the thread's session is at another node. `came`: a session was imported or found there. `cells` are
    the titles of the cells whose effects are not in it, `lost` the names of variables that could not be kept.

    `shell`: commands of bash ran before, and the next one gets a new shell, because the thread is at another node
    ("moved") or its session was put away meanwhile ("again").
    """

    kind: Literal["moved"] = "moved"
    node: str
    came: bool
    cells: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    shell: ShellIs = ""

    @property
    def is_whole(self) -> bool:
        """Whether nothing of the Python session is missing."""
        return self.came and not self.cells and not self.lost


RebuildWhy = LeftOutWhy | Literal["rests", "stopped", "failed", "file"]
"""Why a cell's effects are not in a session that was rebuilt. `rests`: it needs another cell that was not run.
`stopped`: it was stopped halfway, or there was no time for it. `failed`: it failed this time. `file`: a file of it is
gone."""


class NotRebuilt(Value):
    """A cell whose effects are not in a session that was rebuilt: its number among the cells of its notebook."""

    cell: int
    title: str
    why: RebuildWhy


class Forked(Value):
    """A person began a new thread from this one, as it was after the first `steps` of its turn `turn`."""

    kind: Literal["forked"] = "forked"
    thread: str
    turn: int
    steps: int
    user: str
    author: str
    ts: str


class Inherited(Value):
    """All earlier steps of this thread were copied from the thread `source`, as it was after the first `steps` of its
    turn `turn`; `state` is the hash of what it said then. It never changes.

    The code was run again in a session of this thread: `ran` cells. `missing` are those whose effects are not there,
    `other` the titles of cells that show something else now.
    """

    kind: Literal["inherited"] = "inherited"
    source: str
    turn: int
    steps: int
    state: str
    ran: int = 0
    missing: tuple[NotRebuilt, ...] = ()
    other: tuple[str, ...] = ()
    user: str
    author: str
    ts: str
