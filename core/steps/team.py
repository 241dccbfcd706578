"""What the team has learned: entries, playbooks and functions that a turn reads, and proposals to keep more."""

from __future__ import annotations

from typing import Literal

from core.values import Value


class TeamNote(Value):
    """An entry of what the team wrote down: its page, title and text, and what its page says of where it comes from."""

    place: str
    title: str
    text: str
    kept: str = ""


class PlaybookNote(Value):
    """A playbook as it stood when a turn began to follow it. `drift` are the ways in which the data differs from it."""

    file: str
    name: str
    text: str
    owner: str = ""
    kept: str = ""
    drift: tuple[str, ...] = ()


class FunctionDraft(Value):
    """A function with its tests, as a model wrote it or as it stands in the team's folder.

    `schema_text` is JSON: description, when to use it, the schema of its arguments. Nothing of it is trusted.
    """

    name: str
    schema_text: str
    code: str
    tests: str


class FunctionNote(Value):
    """An accepted function that a question may need, as it stood then."""

    file: str
    name: str
    version: int
    signature: str
    description: str
    when: str = ""


class FunctionUsed(Value):
    """A function of the team that a cell imported: its folder, its version, its code as it was given to the cell."""

    file: str
    name: str
    version: int
    code: str


class FunctionTest(Value):
    """A test of a function and its outcome. `of` is the version whose test it is, 0 for the draft's own.
    "skipped": the library that it needs is not installed."""

    name: str
    outcome: Literal["passed", "failed", "skipped"]
    error: str = ""
    of: int = 0


class Recalled(Value):
    """The entries of the team's memory that the question needs, in their version at that time. `clashes` are titles of
    entries that exist more than once with different texts. `playbook` is the one that the turn follows, `functions` are
    those of the team's that may be of use. `gone` are titles of entries that the thread read before, and that somebody
    changed or removed since. `withheld` are titles of entries, and files of playbooks and functions, that the thread
    read before, and that not everybody may read who can read it now. `more` conventions did not fit in."""

    kind: Literal["recalled"] = "recalled"
    notes: tuple[TeamNote, ...] = ()
    clashes: tuple[str, ...] = ()
    playbook: PlaybookNote | None = None
    functions: tuple[FunctionNote, ...] = ()
    gone: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
    more: int = 0


class Unfollowed(Value):
    """A person does not want the turn to follow this playbook."""

    kind: Literal["unfollowed"] = "unfollowed"
    file: str
    user: str
    author: str
    ts: str


class Learning(Value):
    """A function is to be written, tried and proposed. The turn goes on until a `Proposed` with its `id` follows.

    `need` is what a person wants it to do. `examples` are cells of the thread with their outputs, `alike` are similar
    accepted functions. `given` is a draft that only has to be tried again, `before` is a draft that people did not
    want. `space` is the folder of the channel below the memory's.
    """

    kind: Literal["learning"] = "learning"
    id: str
    need: str
    space: str
    examples: str = ""
    alike: tuple[FunctionDraft, ...] = ()
    given: FunctionDraft | None = None
    before: FunctionDraft | None = None
    user: str
    author: str
    ts: str


class FunctionTried(Value):
    """The outcome of a draft. "refused": it could not be read, or its text may not run; "failed": it ran, and its tests
    failed or show too little; "away": no sandbox could be had. `faults` are sentences for the model and for people.

    `caught` of `broken` versions of it failed a test.
    """

    kind: Literal["function_tried"] = "function_tried"
    learning: str
    state: Literal["passed", "failed", "refused", "away"]
    draft: FunctionDraft | None = None
    faults: tuple[str, ...] = ()
    tests: tuple[FunctionTest, ...] = ()
    broken: int = 0
    caught: int = 0
    seconds: float = 0.0


class PromptPart(Value):
    """A message that a model was sent: its role and its words."""

    role: str
    text: str


class Proposed(Value):
    """Something to keep for the team, or to forget, until a person decides.

    `file` is its page below the memory's folder. `clashes` are the entries that say something else about it; the first
    one that the same page has would be replaced. A playbook's `text` is its whole page, `about` is its summary for
    people. A function's `draft` is what would be kept, `passed` whether it may be, `prompts` what the model was told. A
    program's `text` is its requirement file: each `version` of it, from 1, is a proposal with the same id, by the
    person who wrote it, and the last one counts. `questions` are those that the model left open with this version.
    After a build a change begins a proposal of its own; its `origin` is the id of the first one. Of packages `text` is
    the lock as JSON, `about` what is approved, and `origin` the program that needs them, in `version`. `ts` is that of
    the message that asked for it.
    """

    kind: Literal["proposed"] = "proposed"
    what: Literal["entry", "forget", "playbook", "program", "function", "packages"]
    id: str
    file: str
    title: str
    text: str
    about: str = ""
    questions: tuple[str, ...] = ()
    clashes: tuple[TeamNote, ...] = ()
    version: int = 0
    origin: str = ""
    draft: FunctionDraft | None = None
    passed: bool = False
    prompts: tuple[PromptPart, ...] = ()
    user: str
    author: str
    ts: str


class Settled(Value):
    """What became of a proposal, and who decided it. "gone": it could not be done, as `why` says. "again": another
    draft takes its place. "built": the program was made and posted."""

    kind: Literal["settled"] = "settled"
    proposal: str
    outcome: Literal["kept", "replaced", "forgotten", "dropped", "gone", "again", "built"]
    why: str = ""
    user: str
    author: str
    ts: str
