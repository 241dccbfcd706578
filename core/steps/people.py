"""What people say and choose: questions, notes, changes, commands."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from core.values import Value


class Asked(Value):
    """A person wrote: the question that opened the turn, a message that joined it, or an answer to our question.

    `overheard`: people said it among themselves before somebody called the bot in. `left_out` is never stored: it
    follows from a `Changed`.
    """

    kind: Literal["asked"] = "asked"
    user: str
    author: str
    text: str
    ts: str
    overheard: bool = False
    left_out: bool = Field(default=False, exclude=True)


class Changed(Value):
    """A person changed what the analyst reads of the thread. Nothing that was stored before is touched.

    `target` names it: "message:TS" of a person, "cell:ID", or "report:N" of the thread's turn N. "edit" puts `text` in
    its place, later edits count; "put_back" undoes a "leave_out".
    """

    kind: Literal["changed"] = "changed"
    do: Literal["leave_out", "put_back", "edit"]
    target: str
    text: str = ""
    user: str
    author: str
    ts: str


class Noted(Value):
    """A person left a note for the model. It asks nothing and starts nothing."""

    kind: Literal["noted"] = "noted"
    user: str
    author: str
    text: str
    ts: str


class Instruction(Value):
    """What a channel, or a person, wants of every answer."""

    of: Literal["channel", "person"]
    text: str


class Preferred(Value):
    """The asker's choices when a turn began: step by step, instructions. `model` is a name
    under `[models]`; the last one that is named counts, "" is the first model of the installation."""

    kind: Literal["preferred"] = "preferred"
    user: str
    author: str
    staged: bool = False
    model: str = ""
    instructions: tuple[Instruction, ...] = ()


class Closed(Value):
    """The end of a turn in which nobody asked the analyst anything: people only gave commands."""

    kind: Literal["closed"] = "closed"


class Commanded(Value):
    """A person gave a command of `core/commands/commands.yaml`. It is carried out until an `Acknowledged` with its `ts`
    follows. `text` is empty when it came by a button or a reaction."""

    kind: Literal["commanded"] = "commanded"
    command: str
    user: str
    author: str
    text: str
    ts: str


class Acknowledged(Value):
    """The command with this `ts` was carried out, or the thread was told why not. Other steps hold its effects."""

    kind: Literal["acknowledged"] = "acknowledged"
    command: str
    ts: str


class Startup(Value):
    """Code of a person that runs whenever the thread's session starts again. The last one counts, "" is none."""

    kind: Literal["startup"] = "startup"
    code: str
    user: str
    author: str
    ts: str
