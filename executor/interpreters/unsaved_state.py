"""Which variables a thread's next subprocess will not get, and whether a result has said so.

A cell changes variables → they are kept, or some are not → the subprocess ends → the notices of the next result say
what went with it. Each step is written down before the next one, so that it survives the host.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from executor.counters import Counters
from executor.files.home import ThreadHome
from executor.frames import Message
from executor.notices import Notices, notice, shortened_list
from executor.said import lost_from, why_from
from executor.sessions.session import Ending
from executor.state.checkpoint_log import Refused
from executor.state.checkpoints import Checkpoint
from executor.state.received_state import Receiver
from executor.values import Notice

_TRIES = 3
"""To restore what is kept: some deaths come from outside, as when a zygote takes all its children with it."""


class UnsavedState:
    """Of one thread."""

    def __init__(self, thread: ThreadHome, checkpoint: Checkpoint, counters: Counters) -> None:
        self._thread = thread
        self._checkpoint = checkpoint
        self._counters = counters
        self._why: Notice | None = None
        """Why the changes of the unsaved cells are not kept."""
        self._deaths = 0
        """In a row, while the variables were restored."""
        self._given_up = False
        """What is kept cannot be restored; it stays until a result has said so."""
        self._names, self.variables = checkpoint.describe()
        """What the last checkpoint could not keep, with the reasons; the variables after the last cell."""
        if thread.unsaved_cells:
            thread.kept_up_to(checkpoint.last_cell())
        names = () if thread.notified else self._not_kept()
        self.notices: Notices = (*_uncertain(len(thread.unsaved_cells)), *names)
        """What the next cell's result has to say about the variables."""

    # What is kept, and restored

    def open(self) -> tuple[Message, list[int]] | None:
        """What a new subprocess gets, as `Checkpoint.open` gives it; None when it begins with nothing."""
        if self._given_up:
            return None
        try:
            return self._checkpoint.open()
        except FileNotFoundError:
            return None
        except Refused as refusal:
            self._nothing_comes_back(refusal.why)
            return None

    def put_back(self, message: Message) -> None:
        """A `restored` message. Raises ProtocolError for one of another shape, and has counted nothing then."""
        why, broken = why_from(message), lost_from(message)
        self._deaths = 0
        self._counters.restored += why is None
        self._counters.not_restored += why is not None
        if why is not None:
            self._nothing_comes_back(why)
        elif broken:
            self.notices += (notice("some_not_restored", names=listed_names(broken)),)

    def prepare(self, receiver: Receiver) -> None:
        """Do now what can be done of `keep`, while the result of the cell is on its way to the disk."""
        if receiver.what.keys is not None and self._thread.cell_ids:
            cell = self._thread.cell_ids[-1]
            self._checkpoint.prepare(receiver, cell, also_of_others=self._has_unsaved_besides(cell))

    def keep(self, receiver: Receiver, once_durable: Callable[[Callable[[], None]], None]) -> None:
        """The variables as the last cell left them have come, as far as they could be pickled.

        `once_durable(write)` is to call `write` when the checkpoint is on the disk.
        """
        what, cell = receiver.what, self._thread.cell_ids[-1]
        if what.keys is not None:
            self._checkpoint.commit(receiver, cell, also_of_others=self._has_unsaved_besides(cell))
            self._names = list(what.lost)
        self.variables = list(what.variables)
        if what.why is None:
            self._thread.all_kept(once_durable)
        else:
            self._why = what.why

    def _has_unsaved_besides(self, cell: str) -> bool:
        return any(unsaved != cell for unsaved in self._thread.unsaved_cells)

    def described_variables(self) -> list[Message]:
        """The variables after the last cell: name, type, shape, bytes, and the id of the cell that last set each."""
        ids = self._thread.cell_ids
        return [
            {key: item[key] for key in ("name", "type", "shape", "bytes")}
            | {"cell_id": ids[item["cell"] - 1] if 0 < item["cell"] <= len(ids) else None}
            for item in self.variables
        ]

    # What ends

    def died_restoring(self, ending: Ending) -> None:
        """The subprocess ended while it was given its variables. After some tries no other one is given them."""
        self._deaths += 1
        if self._deaths == _TRIES:
            slow = notice("slow_to_restore")
            self._nothing_comes_back(slow if ending.why == slow else notice("fatal"))
            self.variables, self._given_up, self._deaths = [], True, 0

    def died_keeping(self, ending: Ending) -> None:
        """The subprocess ended before what the last cell left was kept."""
        self._why = ending.why

    def ended_between_cells(self, ending: Ending) -> None:
        """The subprocess is no more, and no cell ran in it."""
        between = (notice("between_cells", why=ending.why),) if ending.by_limit else ()
        self.notices = (*between, *(self.notices or self._gone()))

    def fate(self) -> Notices:
        """What becomes of the variables when a subprocess is gone in the middle of a cell."""
        kept = (notice("as_before"),) if self._checkpoint.exists and not self._given_up else ()
        return kept if self.notices else (*kept, *self._gone())  # the pending notices say what is gone

    # What a result says, and what need not be said any more

    def take_notices(self) -> Notices:
        """The notices, for a result."""
        taken, self.notices = self.notices, ()
        return taken

    def notified(self, *, lives: bool) -> None:
        """A result that says it all is written down; `lives`: the subprocess that its cell ran in does."""
        if self._given_up:
            self._checkpoint.forget()
            self._given_up = False
        self._names = []
        if not lives:
            self.variables = self._checkpoint.describe()[1]

    def forget(self) -> None:
        """The session was reset: nothing is missed."""
        self._checkpoint.forget()
        self._names, self.variables, self.notices = [], [], ()
        self._given_up, self._deaths = False, 0
        self._thread.all_kept()

    def go_on_from_what_is_kept(self) -> None:
        """Another checkpoint counts now: the next subprocess gets it, and its first cell says what is not in it."""
        self._given_up, self._deaths = False, 0
        self._names, self.variables = self._checkpoint.describe()
        self.notices = (*_uncertain(len(self._thread.unsaved_cells)), *self._not_kept())

    # As notices

    def _nothing_comes_back(self, why: Notice) -> None:
        self.notices = (notice("not_restored", why=why),)
        self._names = []

    def _gone(self) -> Notices:
        """What the live subprocess has that a next one will not get."""
        changes = _changes(len(self._thread.unsaved_cells), self._why)
        if self._checkpoint.exists or changes:
            return (*changes, *self._not_kept())
        return (notice("all_lost"),) if self.variables else ()

    def _not_kept(self) -> Notices:
        return (notice("not_kept", names=listed_names(self._names)),) if self._names else ()


def listed_names(lost: Sequence[tuple[str, str]]) -> str:
    """Names, each with the reason. No cell is named: a session counts its cells otherwise than a thread does."""
    return shortened_list([f"{name} ({why})" for name, why in lost])


def _changes(cells: int, why: Notice | None) -> Notices:
    """That what so many cells changed is not kept."""
    if not why:
        return _uncertain(cells)
    if cells > 1:
        return (notice("several_changes_not_kept", count=cells, why=why),)
    return (notice("changes_not_kept", why=why),) if cells else ()


def _uncertain(cells: int) -> Notices:
    """Like `_changes`, where it is not known whether they were kept, nor why not."""
    if cells > 1:
        return (notice("several_changes_uncertain", count=cells),)
    return (notice("changes_uncertain"),) if cells else ()
