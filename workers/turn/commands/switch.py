"""switch: a turn that ended because its model was unavailable goes on, with another model or when this one answers
again."""

from __future__ import annotations

from collections.abc import Sequence

from core.commands.stepping_in import Switch
from core.steps import Resumed, Step
from workers.turn.commands.thread import CommandThread

WAIT_S = 3_600.0
"""How long a model that is unavailable is tried again when somebody said to wait."""


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """The step after which the turn's end no longer counts; nothing if the turn has gone on meanwhile.

    Commands that were carried out since the end may stand behind it.
    """
    command = thread.command
    if thread.open_turn is not None:
        return ()
    wanted = Switch.decode(command.text) or Switch()
    until = float(command.ts) + WAIT_S if wanted.waits else None
    return (
        Resumed(
            user=command.user, author=command.author, text="", ts=command.ts, model=wanted.model, waits_until=until
        ),
    )
