"""The turn that a thread's mail is for, as it was chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.rows import StoredMessage, TurnRow
from core.steps import Preferred
from core.store.thread_state import ThreadState


@dataclass(frozen=True, slots=True)
class Selected:
    """A turn to work on, with all that was read of its thread.

    `mail` was found permitted; None when it has to be read again. With `is_new` the turn is not in the Store yet: its
    first steps are stored together with it. `preferred` is what then
    holds for it by people's choice; None when they chose nothing.
    """

    row: TurnRow
    state: ThreadState
    mail: Sequence[StoredMessage] | None = None
    is_new: bool = False
    preferred: Preferred | None = None
