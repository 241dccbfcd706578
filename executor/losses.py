"""What a thread's next subprocess will not get of the variables, and whether somebody was told.

A cell changes variables → they are kept, or some are not → the subprocess ends → the result of the next cell says what
went with it → it is told, once. Each step is written down before the next, so that it survives the host.
"""

from __future__ import annotations

from collections.abc import Mapping

from executor.checkpoints import Checkpoint, Receiver, Refused, lost_names
from executor.frames import Message
from executor.home import ThreadHome
from executor.notices import said, together
from executor.session import Ending
from executor.tally import Tally
from executor.wire import optional_text

_SHOWN = 6
_TRIES = 3
"""To put back what is kept: some deaths come from outside, as when a zygote takes all its children with it."""


class Losses:
    """Of one thread."""

    def __init__(self, thread: ThreadHome, checkpoint: Checkpoint, tally: Tally) -> None:
        self._thread = thread
        self._checkpoint = checkpoint
        self._tally = tally
        self._why = ""
        """Why the cells that are unsettled are."""
        self._deaths = 0
        """In a row, while the variables were put back."""
        self._given_up = False
        """What is kept cannot be put back; it stays until a result has said so."""
        self._names, self.variables = checkpoint.describe()
        """What the last checkpoint could not keep, with the reasons; the variables after the last cell."""
        if thread.unsettled and checkpoint.is_after(thread.unsettled[-1]):
            thread.settled()
        names = None if thread.told else self._not_kept()
        self.note: str | None = together(_uncertain(len(thread.unsettled)), names)
        """What the next cell's result has to say about the session."""

    # What is kept, and put back

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
        why, broken = optional_text(message, "why", 600), lost_names(message)
        self._deaths = 0
        self._tally.restored += why is None
        self._tally.not_restored += why is not None
        if why is not None:
            self._nothing_comes_back(why)
        elif broken:
            self.note = together(self.note, said("some_not_restored", names=self._listed(broken)))

    def keep(self, receiver: Receiver) -> None:
        """The variables as the last cell left them have come, as far as they could be pickled."""
        what, cell = receiver.what, self._thread.cell_ids[-1]
        self.variables = list(what.variables)
        if what.keys is not None:
            others = any(unsettled != cell for unsettled in self._thread.unsettled)
            self._checkpoint.commit(receiver, cell, also_of_others=others)
            self._names = list(what.lost)
        if what.why is None:
            self._thread.settled()
        else:
            self._why = what.why

    # What ends

    def died_restoring(self, ending: Ending) -> None:
        """The subprocess ended while it was given its variables. What ends each of them is given to no more."""
        self._deaths += 1
        if self._deaths == _TRIES:
            slow = said("slow_to_restore")
            self._nothing_comes_back(slow if ending.why == slow else said("fatal"))
            self.variables, self._given_up, self._deaths = [], True, 0

    def died_keeping(self, ending: Ending) -> None:
        """The subprocess ended before what the last cell left was kept."""
        self._why = ending.why

    def ended_between_cells(self, ending: Ending) -> None:
        """The subprocess is no more, and no cell ran in it."""
        between = said("between_cells", why=ending.why) if ending.by_limit else None
        self.note = together(between, self.note or self._gone())

    def fate(self) -> str | None:
        """What becomes of the variables when a subprocess is gone in the middle of a cell."""
        kept = self._checkpoint.exists and not self._given_up
        gone = self._gone() if self.note is None else None  # else the note has it
        return together(said("as_before") if kept else None, gone)

    # What is told, and what nobody has to be told any more

    def take_note(self) -> str | None:
        """The note, for a result."""
        note, self.note = self.note, None
        return note

    def told(self, *, lives: bool) -> None:
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
        self._names, self.variables, self.note = [], [], None
        self._given_up, self._deaths = False, 0
        self._thread.settled()

    def go_on_from_what_is_kept(self) -> None:
        """What is kept has become another: the next subprocess gets it, and its first cell says what is not in it."""
        self._given_up, self._deaths = False, 0
        self._names, self.variables = self._checkpoint.describe()
        self.note = together(_uncertain(len(self._thread.unsettled)), self._not_kept())

    def files_left_out(self, reasons: Mapping[str, str]) -> None:
        """Files of the thread are not in the folder of its new subprocess."""
        if reasons:
            names = _some([f"{name} ({why})" for name, why in reasons.items()])
            self.note = together(self.note, said("files_not_placed", names=names))

    # In words

    def _nothing_comes_back(self, why: str) -> None:
        self.note = said("not_restored", why=why)
        self._names = []

    def _gone(self) -> str | None:
        """What the live subprocess has that a next one will not get."""
        changes = _changes(len(self._thread.unsettled), self._why)
        if self._checkpoint.exists or changes is not None:
            return together(changes, self._not_kept())
        return said("all_lost") if self.variables else None

    def _not_kept(self) -> str | None:
        return said("not_kept", names=self._listed(tuple(self._names))) if self._names else None

    def _listed(self, lost: tuple[tuple[str, str], ...]) -> str:
        """Names with the number of the cell that last set each, and the reason."""
        cells = {variable["name"]: f" of cell {variable['cell']}" for variable in self.variables if variable["cell"]}
        return _some([f"{name}{cells.get(name, '')} ({why})" for name, why in lost])


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"


def _changes(cells: int, why: str) -> str | None:
    """That what so many cells changed is not kept."""
    if not why:
        return _uncertain(cells)
    if cells > 1:
        return said("several_changes_not_kept", count=cells, why=why)
    return said("changes_not_kept", why=why) if cells else None


def _uncertain(cells: int) -> str | None:
    """Like `_changes`, where it is not known whether they were kept, nor why not."""
    if cells > 1:
        return said("several_changes_uncertain", count=cells)
    return said("changes_uncertain") if cells else None
