"""The steps of a turn: what happened, in order, as stored. Memory is this list; the prompt is a view of it.

Each step is a frozen value with a `kind`. `dump_step` makes it JSON for the Store, `load_step` reads it back. Only this
file knows the JSON. How steps become model messages is in `workers/agent/messages.py`; what follows from them is in
`workers/agent/decide.py`.

A newer version may have written a step that this one does not know. Nothing of it is lost: unknown fields stay on the
step (`Value.later_fields`), a step that cannot be read at all becomes an `UnknownStep`. Both are dumped back as stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeGuard

from pydantic import AliasChoices, Field, TypeAdapter, ValidationError

from core.commands import ANSWERS
from core.rows import Spent
from core.values import FileRef, StoredFile, Value


class Level(Value):
    """One value of a column that has few different ones, and its number of rows."""

    value: str
    rows: int


class ColumnNote(Value):
    """One column of a table: dtype as pandas names it, share of missing values 0..1, a few sample values as text.

    Name and values keep their blanks. `spread` is minimum, quartiles and maximum of numbers, or first and last of
    dates; `levels` are all values of a column of words that has few of them.
    """

    name: str
    dtype: str
    missing: float = 0.0
    unique: int | None = None
    samples: tuple[str, ...] = ()
    spread: tuple[str, ...] = ()
    levels: tuple[Level, ...] = ()


class TotalRow(Value):
    """A row that is labelled as a total, by its place among the rows, counted from 0."""

    row: int
    label: str


class TableNote(Value):
    """One table inside a file (a CSV has one, a workbook one per sheet). `rows` is None when only a sample was read.

    `more_names` are the columns that are not described; `above` the lines above the header, which may hold units.
    """

    name: str
    rows: int | None
    columns: tuple[ColumnNote, ...]
    head: str = ""
    sampled: bool = False
    more_names: tuple[str, ...] = ()
    above: tuple[str, ...] = ()
    totals: tuple[TotalRow, ...] = ()


class FileAbstract(Value):
    """The description of a file that the analyst gets before any code runs. `path` is relative to the working folder.

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
    """A file that could not be used, and why: a text for people (in their language) and for the model."""

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


class Masked(Value):
    """A personal value that the model was shown as a placeholder, such as `<email_1>`."""

    placeholder: str
    value: str = Field(repr=False)


class Asked(Value):
    """A person wrote: the question that opened the turn, a message that joined it, or an answer to our question.

    `left_out` is never stored: it follows from a `Changed`.
    """

    kind: Literal["asked"] = "asked"
    user: str
    author: str
    text: str
    ts: str
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


class Briefed(Value):
    """The files of the messages read so far: in the workspace with a description, or refused with a reason."""

    kind: Literal["briefed"] = "briefed"
    files: tuple[FileAbstract, ...] = ()
    problems: tuple[FileProblem, ...] = ()


class Unread(Value):
    """Files that came with messages right before a stop. The next turn of the thread reads them first."""

    kind: Literal["unread"] = "unread"
    files: tuple[FileRef, ...]


class Replied(Value):
    """The model answered.

    `purpose` is what it was asked for: the next action ("act") or a check of its report ("check"). `finish` is the
    endpoint's finish_reason; "length" means that the reply was cut. `cost_micros` is the call's cost in millionths of
    the currency that prices are in, None when the model has no price. `masked` are the placeholders that its prompt had
    for the first time in the thread. `user` and `author` are the person who wrote the reply in the model's place, ""
    when the model did.
    """

    kind: Literal["replied"] = "replied"
    purpose: Literal["act", "check"]
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    finish: str = "stop"
    model: str = ""
    cost_micros: int | None = None
    duration_s: float = 0.0
    masked: tuple[Masked, ...] = ()
    user: str = ""
    author: str = ""


Scalar = bool | int | float | str | None
"""An item of a table or a point of a chart."""


class TableData(Value):
    """The first rows of a table, one item per column. The totals count the whole table."""

    columns: tuple[str, ...]
    dtypes: tuple[str, ...]
    rows: tuple[tuple[Scalar, ...], ...]
    total_rows: int
    total_columns: int


class SeriesData(Value):
    """One series of a chart: its first points, x as a number or a label. `total_points` counts all of them."""

    kind: Literal["line", "bar", "scatter", "pie"]
    name: str
    points: tuple[tuple[Scalar, Scalar], ...]
    total_points: int


class ChartData(Value):
    """What one pair of axes of a figure shows. `figure` is the name of the picture among the step's figures."""

    figure: str
    title: str
    x: str
    y: str
    series: tuple[SeriesData, ...]


class StatementRan(Value):
    """A statement that a cell had run on a data source: its text as it was sent, rows, bytes and seconds.

    With an `error` it gave nothing; `sql` is then the text of the cell. `otherwise` are the team's metrics that it, or
    the code around it, computes in another way.
    """

    source: str
    sql: str
    rows: int = 0
    bytes: int = 0
    seconds: float = 0.0
    error: str = ""
    otherwise: tuple[str, ...] = ()
    asked: str = ""
    rows_file: StoredFile | None = None


class CellRan(Value):
    """A cell ended, with success or not. `figures` and `files` are in the file store. Texts, `tables` (the table that
    the last value is) and `charts` (the data of the figures) are already bounded (`workers/turn/cell_results.py`).
    `whole_outputs` are the texts that were cut, whole, in the file store; each has the name of its field.

    `notice` is the executor's own text about the cell, `notice_text` the same in the language of the thread. No cell is
    stored with the status "undone": it counts as undone once a person took it back (`effective_steps`).
    `user` and `author` are the person who wrote the code, "" when the model did. `left_out` is never stored: it follows
    from a `Changed`.
    """

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
    tables: tuple[TableData, ...] = ()
    charts: tuple[ChartData, ...] = ()
    error_name: str = ""
    error: str = ""
    error_line: int | None = None
    figures: tuple[StoredFile, ...] = ()
    files: tuple[StoredFile, ...] = ()
    rejected: tuple[FileProblem, ...] = ()
    files_read: tuple[str, ...] | None = None
    duration_s: float = 0.0
    statements: tuple[StatementRan, ...] = ()
    whole_outputs: tuple[StoredFile, ...] = ()
    notice: str = ""
    notice_text: str = Field(default="", validation_alias=AliasChoices("notice_text", "told"))
    user: str = ""
    author: str = ""
    left_out: bool = Field(default=False, exclude=True)

    @property
    def is_own(self) -> bool:
        """Whether a person had their own code run, beside what the model does."""
        return self.call_id.startswith(OWN_CALL)


class Queried(Value):
    """A statement that a cell had run. It is stored before the cell gets the rows: a worker may die before the cell
    ends, and the thread holds them all the same. The cell's own step lists its statements once more."""

    kind: Literal["queried"] = "queried"
    cell_id: str
    statement: StatementRan


class Corrected(Value):
    """A correction for the model: why its last reply could not be acted on, and what to do instead."""

    kind: Literal["corrected"] = "corrected"
    reason: str
    text: str
    call_id: str | None = None


class Finding(Value):
    """A rule of `workers/agent/risks.py` that code falls under: its name, the line from 1, and the text there."""

    rule: str
    line: int
    text: str


class Approval(Value):
    """What waits for a person's yes: a cell before it runs, a statement that a cell wants to send, a plan, or the
    result of a stage of it. Their text is `code` too; the code of a stage's cells is `folded`.

    `call` is the model's call that asked for the cell, "" for a statement. `risks`, `reads` and `writes` are what can
    be told without running the code: rules that it falls under, and the names of files and sources.
    """

    what: Literal["python", "bash", "statement", "plan", "stage"]
    title: str
    code: str
    call: str = ""
    folded: str = ""
    risks: tuple[Finding, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


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


OWN_CALL = "own:"
"""The call ids of cells with a person's own code begin so; then comes the ts of the command."""

Outcome = Literal["run", "edited", "skip", "reject", "redo", "other", "expired"]


class Agreed(Value):
    """A person said yes where more people have to. The question stays open."""

    kind: Literal["agreed"] = "agreed"
    call_id: str
    user: str
    author: str
    ts: str


class Decided(Value):
    """What came of our question whether something may run: who decided what, at `ts` of Slack.

    `code` is the text that a person put in its place (edited), `hint` what is to be done instead (redo). "other": the
    person wrote something else, which stands in the `Asked` before. "expired": nobody decided in time.
    """

    kind: Literal["decided"] = "decided"
    call_id: str
    outcome: Outcome
    user: str = ""
    author: str = ""
    ts: str = ""
    code: str = ""
    hint: str = ""


Word = Literal["run", "skip", "reject"]


def words_of(approval: Approval) -> tuple[Word, ...]:
    """What the options of our question mean, in their order."""
    if approval.what == "plan":
        return ("run", "reject")
    return ("run", "skip") if approval.what in ("statement", "stage") else ("run", "skip", "reject")


class Checked(Value):
    """The judge's verdict on a report."""

    kind: Literal["checked"] = "checked"
    is_final: bool
    reason: str = ""


class SourcePlace(Value):
    """A place that a figure comes from: an output, table, chart, statement or the code of a cell, a file, a question.

    `line` counts from 1, and is 0 where there is none. `about` are the labels around the value, `value` is what stands
    there. `number` is what the figure was bound to there; None when it is no number, or an earlier version stored the
    report.
    """

    what: str
    cell_id: str = ""
    line: int = 0
    about: str = ""
    value: str = ""
    number: float | None = None


class FigureSource(Value):
    """A figure of a report and where it comes from.

    `sourced`: a cell showed it. `derived`: it follows from what cells showed by the step `how`. `given`: a person, a
    file or the code's parameters say it. `unsourced`: nothing backs it; it is marked in the report, and `reason` says
    what was found instead (`workers/agent/provenance/matching.py`). `start` is its place in the report, -1 in steps of
    versions that did not note it; `arithmetic` is the step `how` with its numbers; `near` are values that the outputs
    show instead of an unsourced one.
    """

    figure: str
    state: Literal["sourced", "derived", "given", "unsourced"]
    reason: str = ""
    how: str = ""
    places: tuple[SourcePlace, ...] = ()
    start: int = -1
    arithmetic: str = ""
    near: tuple[str, ...] = ()


class Finished(Value):
    """The report as it is posted (Markdown, answer first), figures that nothing backs marked. `partial`: it says that
    the question, or a part of it, has no answer; it gets no sign of success. `sources`: where its figures come from.
    `author`: the person who wrote it in the analyst's place."""

    kind: Literal["finished"] = "finished"
    report: str
    partial: bool = False
    sources: tuple[FigureSource, ...] = ()
    author: str = ""


STOPPED = "stopped"
"""The reason of a turn that a person stopped."""

APPROVAL_REJECTED = "approval_rejected"
APPROVAL_EXPIRED = "approval_expired"
"""The reasons of a turn that ended because a person rejected its cell, or because nobody decided in time."""

RESET_CALL = "reset"
"""The call id of our own question whether a session is to be reset: no model has asked it."""


CONFIRM_CALL = "confirm:"
"""The call ids of our own questions whether a statement may run begin so; then comes what tells the statement."""

APPROVE_CALL = "approve:"
"""The call ids of our own questions whether a cell may run begin so; then comes their number in the turn."""


class GaveUp(Value):
    """The turn ended without an answer. `reason` is a short code, `text` what people read."""

    kind: Literal["gave_up"] = "gave_up"
    reason: str
    text: str
    fault: Literal["model", "user", "ours"] = "model"


class Closed(Value):
    """The end of a turn in which nobody asked the analyst anything: people only gave commands."""

    kind: Literal["closed"] = "closed"


class Commanded(Value):
    """A person gave a command of `core/commands.yaml`. It is carried out until an `Acknowledged` with its `ts` follows.
    `text` is empty when it came by a button or a reaction."""

    kind: Literal["commanded"] = "commanded"
    command: str
    user: str
    author: str
    text: str
    ts: str


class Acknowledged(Value):
    """The command with this `ts` was carried out, or the thread was told why not. Its effects stand beside it."""

    kind: Literal["acknowledged"] = "acknowledged"
    command: str
    ts: str


class ModelFailed(Value):
    """The model could not be asked. `reason` is also the phrase for people; `prompt_chars` is the length of the prompt
    that was refused."""

    kind: Literal["model_failed"] = "model_failed"
    purpose: Literal["act", "check"]
    reason: Literal["model_down", "model_refused", "model_nonsense", "model_context"]
    prompt_chars: int


class LeaseGone(Value):
    """Another worker has the thread now. This step is seen by the worker that lost it and is never stored."""

    kind: Literal["lease_gone"] = "lease_gone"


class Compacted(Value):
    """The endpoint found the prompt too long: for the rest of the turn it has at most `context_chars` characters."""

    kind: Literal["compacted"] = "compacted"
    context_chars: int


class Resumed(Value):
    """A person asked a turn that had given up to go on. The end before this step no longer counts."""

    kind: Literal["resumed"] = "resumed"
    user: str
    author: str
    text: str
    ts: str


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


class Moved(Value):
    """The thread's session is at another node from here on. `came`: one was brought along or found there. `cells` are
    the titles of the cells whose effects are not in it, `lost` the names of variables that could not be kept."""

    kind: Literal["moved"] = "moved"
    node: str
    came: bool
    cells: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether nothing is missing."""
        return self.came and not self.cells and not self.lost


class UnknownStep(Value):
    """A step that this version cannot read, usually because a newer one wrote it. `body` is its JSON, unchanged.

    People see it as "unknown step" in a replay. Nothing else acts on it. In memory its `kind` is "unknown"; in the
    Store it keeps its own (`stored_kind`).
    """

    kind: Literal["unknown"] = "unknown"
    body: dict[str, Any]

    @property
    def stored_kind(self) -> str:
        """The kind under which it is stored; "" when it has none."""
        return str(self.body.get("kind", ""))


KnownStep = Annotated[
    Asked
    | Noted
    | Changed
    | Briefed
    | Unread
    | Replied
    | CellRan
    | Queried
    | Corrected
    | Questioned
    | Agreed
    | Decided
    | Checked
    | Finished
    | GaveUp
    | Commanded
    | Acknowledged
    | ModelFailed
    | Compacted
    | Resumed
    | Undone
    | Forgot
    | Closed
    | Moved,
    Field(discriminator="kind"),
]

Step = KnownStep | UnknownStep | LeaseGone

_KNOWN: TypeAdapter[KnownStep] = TypeAdapter(KnownStep)


def load_step(data: Mapping[str, object]) -> Step:
    """The step of a stored JSON object; never raises. What this version does not know is kept, see above."""
    try:
        return _KNOWN.validate_python(data, extra="allow")
    except ValidationError:
        return UnknownStep(body=dict(data))


def dump_step(step: Step) -> dict[str, Any]:
    """The JSON object to store for a step. For a step that was loaded, it holds all that was stored."""
    return dict(step.body) if isinstance(step, UnknownStep) else step.model_dump(mode="json")


_OF_PEOPLE = (Asked, Noted, Changed, Agreed, Commanded, Resumed, Undone, Forgot, Decided)


def user_of(step: Step) -> str:
    """The Slack user id of the person behind a step; "" when no person is."""
    return step.user if isinstance(step, _OF_PEOPLE) else ""


def open_question(steps: Sequence[Step]) -> Questioned | None:
    """The question that nobody answered yet. Words, a decision, the answer to a reset and what a person says in the
    analyst's place close one; a stop leaves it open."""
    for step in reversed(steps):
        if isinstance(step, Questioned):
            return step
        if isinstance(step, Asked | Decided | Replied) or answers_reset(step):
            return None
    return None


def decision_on(steps: Sequence[Step], call_id: str) -> Decided | None:
    """The last decision on the question with this id; None while there is none."""
    return next((step for step in reversed(steps) if isinstance(step, Decided) and step.call_id == call_id), None)


def agreed_on(steps: Sequence[Step], call_id: str) -> list[Agreed]:
    """Who said yes so far to the question with this id, which needs more people."""
    return [step for step in steps if isinstance(step, Agreed) and step.call_id == call_id]


def option_of(text: str, question: Questioned) -> int | None:
    """The place of the option that a text is; None when it is none."""
    said = text.strip().casefold()
    options = [option.strip().casefold() for option in question.options]
    return options.index(said) if said in options else None


def answers_reset(step: Step) -> TypeGuard[Commanded]:
    """Whether this step is the yes or no to our question about a reset."""
    return isinstance(step, Commanded) and step.command in ANSWERS


def total_spent(replies: Sequence[Replied]) -> Spent:
    """The sum over these calls; without a cost when none of them has one."""
    costs = [step.cost_micros for step in replies if step.cost_micros is not None]
    return Spent(
        prompt_tokens=sum(step.usage.prompt_tokens for step in replies),
        cached_tokens=sum(step.usage.cached_tokens for step in replies),
        completion_tokens=sum(step.usage.completion_tokens for step in replies),
        cost_micros=sum(costs) if costs else None,
        calls=len(replies),
    )
