"""Questions to the people in a thread, and what they decide."""

from __future__ import annotations

from typing import Literal

from core.values import Value


class Finding(Value):
    """A rule of `workers/agent/code/risks.py` that code falls under: its name, the line from 1, and the text there."""

    rule: str
    line: int
    text: str


class Approval(Value):
    """What waits for a person's yes: a cell before it runs, a statement that a cell wants to send, a plan, the result
    of a stage of it, or an expensive call of a model ("extra": one that an answer can do without). Their text is `code`
    too; the code of a stage's cells is `folded`, and so is the whole of a statement whose `code` has
    placeholders. `micros` is what a call is estimated to cost, in millionths.

    `call` is the model's call that asked for the cell, "" for a statement. `risks`, `reads` and `writes` are known
    without running the code: the rules that it falls under, and the names of files and sources.
    """

    what: Literal["python", "bash", "statement", "plan", "stage", "cost", "extra"]
    title: str
    code: str
    call: str = ""
    folded: str = ""
    risks: tuple[Finding, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    micros: int = 0


class Questioned(Value):
    """A question was put to the people in the thread; the turn is parked until an `Asked` or a `Decided` follows.

    With an `approval` it is ours: whether a cell or a statement may run, whether a plan or a result is right. Its
    options are words that decide it, in the order of `words_of`, and a yes counts once so many `people` said it. A
    decision counts `until` a moment in seconds since 1970. The question about a statement may stand before the step of
    the cell that asked.
    """

    kind: Literal["questioned"] = "questioned"
    call_id: str
    question: str
    options: tuple[str, ...] = ()
    until: float | None = None
    approval: Approval | None = None
    people: int = 1


Outcome = Literal["run", "edited", "skip", "reject", "redo", "other", "expired"]


class Agreed(Value):
    """A person said yes where more people have to. The question stays open."""

    kind: Literal["agreed"] = "agreed"
    call_id: str
    user: str
    author: str
    ts: str


class Redrafted(Value):
    """A person changed a text that needs the yes of several people. The question stays open with the new text, `code`.
    The change counts as the person's yes. Earlier yeses were for another text and no longer count. `risks`, `reads` and
    `writes` are those of the changed code.
    """

    kind: Literal["redrafted"] = "redrafted"
    call_id: str
    user: str
    author: str
    ts: str
    code: str
    risks: tuple[Finding, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


class Decided(Value):
    """The outcome of our question whether something may run: who decided what, at Slack's `ts`.

    `code` is a person's new text (edited), `hint` says what to do instead (redo). "other": the
    person wrote something else, which stands in the `Asked` before. "expired": nobody decided in time. `editor` is the
    name of the person who changed the text, if another person said the last yes.
    """

    kind: Literal["decided"] = "decided"
    call_id: str
    outcome: Outcome
    user: str = ""
    author: str = ""
    ts: str = ""
    code: str = ""
    hint: str = ""
    editor: str = ""


Word = Literal["run", "skip", "reject"]


def words_of(approval: Approval) -> tuple[Word, ...]:
    """What the options of our question mean, in their order."""
    if approval.what in ("plan", "cost"):
        return ("run", "reject")
    return ("run", "skip") if approval.what in ("statement", "stage", "extra") else ("run", "skip", "reject")
