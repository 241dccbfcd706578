"""The steps of a turn: what happened, in order, as stored. Memory is this list; the prompt is a view of it.

Each step is a frozen value with a `kind`, goes to the Store as JSON and comes back through `load_step`. How steps
become model messages is in `messages.py`; what follows from them is in `decide.py`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from core.values import FileRef, StoredFile, Value


class ColumnNote(Value):
    """What is known of one column: dtype as pandas names it, share of missing values 0..1, a few sample values as
    text."""

    name: str
    dtype: str
    missing: float = 0.0
    unique: int | None = None
    samples: tuple[str, ...] = ()


class TableNote(Value):
    """One table inside a file (a CSV has one, a workbook one per sheet). `rows` is None when only a sample was read."""

    name: str
    rows: int | None
    columns: tuple[ColumnNote, ...]
    head: str = ""
    sampled: bool = False


class FileAbstract(Value):
    """What the analyst is told of a file before any code runs. `path` is relative to the session's working folder.

    `format` is csv, tsv, xlsx, json, jsonl, parquet, txt, md, html or other; `encoding` and `separator` are set for
    text tables; `text` holds the first characters of a document; `read_hint` is a line of Python that loads it.
    """

    path: str
    format: str
    size: int
    sha256: str
    encoding: str | None = None
    separator: str | None = None
    tables: tuple[TableNote, ...] = ()
    text: str = ""
    read_hint: str = ""
    note: str = ""


class FileProblem(Value):
    """A file that could not be used and the reason, ready for a person (in their language) and for the model."""

    name: str
    why: str


class ToolCall(Value):
    """A call as the model made it; `arguments` is the model's own text, not yet parsed."""

    id: str
    name: str
    arguments: str


class Usage(Value):
    """Tokens of one model call, as the endpoint reported them; zero when it reported none. `cached_tokens` are among
    `prompt_tokens`."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0


class Asked(Value):
    """A person spoke: the question that opened the turn, a message that joined it, or an answer to our question."""

    kind: Literal["asked"] = "asked"
    user: str
    author: str
    text: str
    ts: str


class Briefed(Value):
    """The files of the messages read so far are in the workspace, described, or refused with a reason."""

    kind: Literal["briefed"] = "briefed"
    files: tuple[FileAbstract, ...] = ()
    problems: tuple[FileProblem, ...] = ()


class Unread(Value):
    """Files of messages that a stop came right behind: whoever goes on in the thread reads them first."""

    kind: Literal["unread"] = "unread"
    files: tuple[FileRef, ...]


class Replied(Value):
    """The model answered. `purpose` tells what it was asked for: the next action, or a judgement of its report.
    `finish` is the endpoint's finish_reason; "length" says that the reply was cut. `cost_micros` is the call's cost in
    millionths of the currency that prices are in, None when the model has no price."""

    kind: Literal["replied"] = "replied"
    purpose: Literal["act", "check"]
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    finish: str = "stop"
    model: str = ""
    cost_micros: int | None = None
    duration_s: float = 0.0


class CellRan(Value):
    """A cell ended, well or not. `artifacts` are in the file store; `stdout`, `stderr` and `result` are already
    bounded. No cell ends as "undone": it counts as that once a person took it back (`standing.py`)."""

    kind: Literal["cell"] = "cell"
    call_id: str
    cell_id: str
    title: str
    code: str
    language: Literal["python", "bash"] = "python"
    status: Literal["ok", "error", "timeout", "killed", "died", "undone"]
    stdout: str = ""
    stderr: str = ""
    result: str = ""
    error_name: str = ""
    error: str = ""
    error_line: int | None = None
    figures: tuple[StoredFile, ...] = ()
    files: tuple[StoredFile, ...] = ()
    rejected: tuple[FileProblem, ...] = ()
    files_read: tuple[str, ...] | None = None
    duration_s: float = 0.0
    notice: str = ""
    told: str = ""
    """The notice as people read it, in the language of the thread."""


class Corrected(Value):
    """Our word to the model: why its last reply could not be acted on, and what to do instead."""

    kind: Literal["corrected"] = "corrected"
    reason: str
    text: str
    call_id: str | None = None


class Questioned(Value):
    """A question was put to the people in the thread; the turn is parked until an `Asked` follows."""

    kind: Literal["questioned"] = "questioned"
    call_id: str
    question: str
    options: tuple[str, ...] = ()


class Checked(Value):
    """The judge's verdict on a report, after reading its reply as kindly as possible."""

    kind: Literal["checked"] = "checked"
    is_final: bool
    reason: str = ""


class Finished(Value):
    """The report, as the model wrote it (Markdown, answer first)."""

    kind: Literal["finished"] = "finished"
    report: str


class GaveUp(Value):
    """An honest end without an answer. `reason` is a short code, `text` what a person is told (what is known, what to
    do)."""

    kind: Literal["gave_up"] = "gave_up"
    reason: str
    text: str
    fault: Literal["model", "user", "ours"] = "model"


class Compacted(Value):
    """The endpoint found the prompt too long: for the rest of the turn it has at most `context_chars` characters."""

    kind: Literal["compacted"] = "compacted"
    context_chars: int


class Resumed(Value):
    """A person wished that a turn which had given up goes on: the end before this step does not count any more."""

    kind: Literal["resumed"] = "resumed"
    user: str
    author: str
    text: str
    ts: str


class Undone(Value):
    """A person took a cell back: the session is as it was before it."""

    kind: Literal["undone"] = "undone"
    cell_id: str
    title: str
    user: str
    author: str
    ts: str


class Forgot(Value):
    """The end of a turn that asked whether the session is to be reset: it was (`done`), or nothing was changed.
    `text` is what a person is told."""

    kind: Literal["forgot"] = "forgot"
    done: bool
    user: str
    author: str
    text: str


Step = Annotated[
    Asked
    | Briefed
    | Unread
    | Replied
    | CellRan
    | Corrected
    | Questioned
    | Checked
    | Finished
    | GaveUp
    | Compacted
    | Resumed
    | Undone
    | Forgot,
    Field(discriminator="kind"),
]

_STEP: TypeAdapter[Step] = TypeAdapter(Step)


def load_step(data: object) -> Step:
    """A step from the JSON object that the Store kept. Raises pydantic.ValidationError on anything else."""
    return _STEP.validate_python(data)


def dump_step(step: Step) -> dict[str, object]:
    """The JSON object to store for a step."""
    return step.model_dump(mode="json")
