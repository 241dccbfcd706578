"""The steps of a turn: what happened, in order, as stored. Memory is this list; the prompt is a view of it.

Each step is a frozen value with a `kind`. `dump_step` makes it JSON for the Store, `load_step` reads it back. Only this
file knows the JSON. How steps become model messages is in `workers/agent/messages.py`; what follows from them is in
`workers/agent/decide.py`.

A newer version may have written a step that this one does not know. Nothing of it is lost: unknown fields stay on the
step (`Value.later_fields`), a step that cannot be read at all becomes an `UnknownStep`. Both are dumped back as stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, TypeGuard

from pydantic import AliasChoices, Field, TypeAdapter, ValidationError

from core.clean_room import LeftOutWhy
from core.command_words import without_marks
from core.commands import ANSWERS
from core.rows import Spent
from core.second_route import SecondRoute
from core.values import FileRef, StoredFile, Value


class Level(Value):
    """One value of a column that has few different ones, and its number of rows."""

    value: str
    rows: int


class ColumnNote(Value):
    """One column of a table: dtype as pandas names it, share of missing values 0..1, a few sample values as text.

    Name and values keep their blanks. `spread` is minimum, quartiles and maximum of numbers, or first and last of
    dates; `levels` are all values of a column of words that has few of them; `dates` says whether the day or the month
    stands first in dates that are text.
    """

    name: str
    dtype: str
    missing: float = 0.0
    unique: int | None = None
    samples: tuple[str, ...] = ()
    spread: tuple[str, ...] = ()
    levels: tuple[Level, ...] = ()
    dates: str = ""


class TotalRow(Value):
    """A row that is labelled as a total, by its place among the rows, counted from 0."""

    row: int
    label: str


class TableNote(Value):
    """One table inside a file (a CSV has one, a workbook one per sheet). `rows` is None when only a sample was read.

    `more_names` are the columns that are not described; `above` the lines above the header, which may hold units;
    `read` is the line of Python that loads this table, where it is not the file's own.
    """

    name: str
    rows: int | None
    columns: tuple[ColumnNote, ...]
    head: str = ""
    sampled: bool = False
    more_names: tuple[str, ...] = ()
    above: tuple[str, ...] = ()
    totals: tuple[TotalRow, ...] = ()
    read: str = ""


class FileAbstract(Value):
    """The description of a file that the analyst gets before any code runs. `path` is relative to the working folder.

    `format` is csv, tsv, xlsx, xls, ods, json, jsonl, parquet, txt, md, html, sqlite, duckdb, stata, spss, sas, pdf,
    png, jpeg, gif, webp, zip, repository (an archive of source code) or other; `encoding` and `separator` are set for
    text tables; `text` holds the first characters of a document, or the outline of source code; `read_hint` is a line
    of Python that loads it; `smaller` is a copy of a large picture, for models that see.
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
    smaller: StoredFile | None = None


class FileProblem(Value):
    """A file that could not be used, and why: a text for people (in their language) and for the model.

    `why_text` is what people read where the model reads another text, "" where both read `why`.
    """

    name: str
    why: str
    why_text: str = ""


class ToolCall(Value):
    """A call as the model made it; `arguments` is the model's own text, not yet parsed.

    `id` is what we call it. `wire_id` is the endpoint's own id where that is too long for us: endpoints get it back.
    """

    id: str
    name: str
    arguments: str
    wire_id: str = ""


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


class Briefed(Value):
    """The files of the messages read so far: in the workspace with a description, or refused with a reason."""

    kind: Literal["briefed"] = "briefed"
    files: tuple[FileAbstract, ...] = ()
    problems: tuple[FileProblem, ...] = ()


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
    changed or removed since."""

    kind: Literal["recalled"] = "recalled"
    notes: tuple[TeamNote, ...] = ()
    clashes: tuple[str, ...] = ()
    playbook: PlaybookNote | None = None
    functions: tuple[FunctionNote, ...] = ()
    gone: tuple[str, ...] = ()


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
    person who wrote it, and the last one counts. After a build a change begins a proposal of its own; its `origin` is
    the id of the first one. Of packages `text` is the lock as JSON, `about` what is approved, and `origin` the program
    that needs them, in `version`. `ts` is that of the message that asked for it.
    """

    kind: Literal["proposed"] = "proposed"
    what: Literal["entry", "forget", "playbook", "program", "function", "packages"]
    id: str
    file: str
    title: str
    text: str
    about: str = ""
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


class Unread(Value):
    """Files that came with messages right before a stop. The next turn of the thread reads them first."""

    kind: Literal["unread"] = "unread"
    files: tuple[FileRef, ...]


Purpose = Literal["act", "check", "route", "debug", "look", "learn", "build"]
"""What a model is asked for: the next action, a check of its report, a second way to the figures of a report, what is
behind an error that came again, whether a silent cell works, a function for the team, or a program: its requirement
file, its code, or a verdict on it."""


class Replied(Value):
    """The model answered.

    `purpose` is what it was asked for. `finish` is the endpoint's finish_reason; "length" means that the reply was cut.
    `cost_micros` is the call's cost in millionths of the currency that prices are in, None when the model has no price.
    `masked` are the placeholders that its prompt had for the first time in the thread. `pictures` is how many pictures
    the prompt showed. `user` and `author` are the
    person who wrote the reply in the model's place, "" when the model did. `gone` is never stored: so many replies of
    the turn before it are left out with their feedback, and it keeps its number.
    """

    kind: Literal["replied"] = "replied"
    purpose: Purpose
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    finish: str = "stop"
    model: str = ""
    cost_micros: int | None = None
    duration_s: float = 0.0
    masked: tuple[Masked, ...] = ()
    pictures: int = 0
    user: str = ""
    author: str = ""
    gone: int = Field(default=0, exclude=True)


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
    """What one pair of axes of a figure shows. `figure` is the name of the picture among the step's figures.

    With `more`, the picture shows what the series do not say: it cannot be drawn again from them.
    """

    figure: str
    title: str
    x: str
    y: str
    series: tuple[SeriesData, ...]
    more: bool = False


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


class LookedUp(Value):
    """What a cell asked of the catalogue of a data source: its tables, columns, or what fits some words.

    `answer` is what it was told, as JSON in the file store; None when that was not kept.
    """

    source: str
    asked: str
    answer: StoredFile | None = None


class ToolRan(Value):
    """A call of a tool of another system: its server and name, its arguments as JSON text, seconds and bytes.

    `began` alone, it is about to be made: a worker may die in it, and it is not made twice. With an `error` it gave
    nothing. `number` and `asked` tell it from others; `answer` is what it gave, as JSON in the file store.
    """

    server: str
    tool: str
    arguments: str = ""
    asked: str
    number: int = 0
    state: Literal["began", "ended"] = "ended"
    error: str = ""
    bytes: int = 0
    seconds: float = 0.0
    answer: StoredFile | None = None


class DataCheck(Value):
    """A hint for the model: something that a cell did to its tables or charts and that is easy to overlook.

    `code` is one of `executor/said.py`, `names` are those of variables and columns ("#3" for a third column), `numbers`
    are counts. `prompts/noticed.yaml` words it.
    """

    code: str
    names: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()


class CellRan(Value):
    """A cell ended, with success or not. `figures` and `files` are in the file store. Texts, `tables` (the table that
    the last value is) and `charts` (the data of the figures) are already bounded (`workers/turn/cell_results.py`).
    `whole_outputs` are the texts that were cut, whole, in the file store; each has the name of its field.

    `notice` is the executor's own text about the cell, `notice_text` the same in the language of the thread. No cell is
    stored with the status "undone": it counts as undone once a person took it back (`effective_steps`).
    `user` and `author` are the person who wrote the code, "" when the model did. `left_out` is never stored: it follows
    from a `Changed`. `variables` are those of the line where it failed, as text; `checks` what it did to its tables.
    `functions` are those of the team that it imported. `plan_step` is the number of the plan's step that it does, 0
    when the model named none.
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
    variables: str = ""
    checks: tuple[DataCheck, ...] = ()
    figures: tuple[StoredFile, ...] = ()
    files: tuple[StoredFile, ...] = ()
    rejected: tuple[FileProblem, ...] = ()
    files_read: tuple[str, ...] | None = None
    duration_s: float = 0.0
    statements: tuple[StatementRan, ...] = ()
    lookups: tuple[LookedUp, ...] = ()
    tool_calls: tuple[ToolRan, ...] = ()
    whole_outputs: tuple[StoredFile, ...] = ()
    functions: tuple[FunctionUsed, ...] = ()
    notice: str = ""
    notice_text: str = Field(default="", validation_alias=AliasChoices("notice_text", "told"))
    user: str = ""
    author: str = ""
    plan_step: int = 0
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


class ToolCalled(Value):
    """A call of a tool that a cell makes, stored before it is made and again with its outcome. The cell's own
    step lists those that ended once more."""

    kind: Literal["tool_called"] = "tool_called"
    cell_id: str
    call: ToolRan


class PlanStep(Value):
    """One step of a plan: what is done, and what it will show; the latter may be empty."""

    title: str
    shows: str = ""


class Planned(Value):
    """The analyst's plan, which came with a cell. A later plan replaces it. `why` is the result that contradicted the
    previous plan; `call_id` is the call of the cell that came with it.
    """

    kind: Literal["planned"] = "planned"
    steps: tuple[PlanStep, ...]
    why: str = ""
    call_id: str


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
    """What waits for a person's yes: a cell before it runs, a statement that a cell wants to send, a plan, the result
    of a stage of it, or an expensive call of a model ("extra": one that an answer can do without). Their text is `code`
    too; the code of a stage's cells is `folded`. `micros` is what a call is estimated to cost, in millionths.

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


OWN_CALL = "own:"
"""The call ids of cells with a person's own code begin so; then comes the ts of the command."""

STARTUP_CALL = f"{OWN_CALL}startup:"
"""The call ids of cells with start-up code begin like this, when a new session runs it."""

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


class HeldFile(StoredFile):
    """A file that waits for a yes. `rows` is the number of rows of its tables without headers, None if unknown."""

    rows: int | None = None


class FilesHeld(Value):
    """Files wait for a person's yes before they go to Slack. The turn does not wait for them.

    `id` names the question, `key` the upload that follows a yes. They are asked for again under the same `key`: the
    last step that has it counts. `comment` is what would stand with them, as mrkdwn. A yes counts when this number of
    `people` said it, and only `until` a time in seconds since 1970, which is `hours` after the question.
    """

    kind: Literal["files_held"] = "files_held"
    id: str
    key: str
    files: tuple[HeldFile, ...]
    comment: str = ""
    until: float
    hours: float
    people: int = 1


class FilesSettled(Value):
    """What became of files that waited, and who decided it. "expired": the decision came too late. "gone": a yes came,
    and the file store does not have them any more. "held": a yes came, and the check of tables let none of them go."""

    kind: Literal["files_settled"] = "files_settled"
    held: str
    outcome: Literal["sent", "kept", "expired", "gone", "held"]
    user: str
    author: str
    ts: str


class Checked(Value):
    """The judge's verdict on a report."""

    kind: Literal["checked"] = "checked"
    is_final: bool
    reason: str = ""


class RouteBegan(Value):
    """The code of a second way to a report's figures is about to run. A worker that finds this step without a
    `RouteRan` behind it does not run it again: the answer comes first."""

    kind: Literal["route_began"] = "route_began"
    cell_id: str


class RouteRan(Value):
    """The code of a second way ended, in a session of its own, which is gone by now.

    `result` are the figures that it computed, as JSON: name → value. `read` says whether it opened a file of the
    thread or got rows of a data source. "unasked": the model could not be asked for code; "interrupted": a worker died
    in it; "away": no session for it could be had.
    """

    kind: Literal["route_ran"] = "route_ran"
    cell_id: str
    status: Literal["ok", "error", "timeout", "killed", "died", "unasked", "interrupted", "away"]
    code: str = ""
    result: str = ""
    error: str = ""
    read: bool = False
    seconds: float = 0.0


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
    file or the code's parameters state it. `unsourced`: it has no source; it is marked in the report, and `reason` says
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
    `author`: the person who wrote it in the analyst's place. `second`: what a second way to its figures gave, None
    where nobody asked for one. `sections`: the headings of the channel's fixed layout that it has; () without one.
    """

    kind: Literal["finished"] = "finished"
    report: str
    partial: bool = False
    sources: tuple[FigureSource, ...] = ()
    author: str = ""
    second: SecondRoute | None = None
    sections: tuple[str, ...] = ()


STOPPED = "stopped"
"""The reason of a turn that a person stopped."""

UNINSTALLED = "uninstalled"
"""The reason of a turn whose workspace has uninstalled the app."""

APPROVAL_REJECTED = "approval_rejected"
APPROVAL_EXPIRED = "approval_expired"
"""The reasons of a turn that ended because a person rejected its cell, or because nobody decided in time."""

RESET_CALL = "reset"
"""The call id of our own question whether a session is to be reset: no model has asked it."""


CONFIRM_CALL = "confirm:"
"""The call ids of our own questions whether a statement may run begin so; then comes what tells the statement."""

APPROVE_CALL = "approve:"
"""The call ids of our own questions whether a cell may run begin so; then comes their number in the turn."""

HOLD_CALL = "hold-"
"""The call ids of our own questions whether a report with unsourced figures is posted begin so; then comes the number
of its episode."""

OUR_CALLS = (RESET_CALL, CONFIRM_CALL, APPROVE_CALL, HOLD_CALL, OWN_CALL)
"""No call of a model has an id that begins like one of these: an answer to our question would be taken for its own."""


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
    """The command with this `ts` was carried out, or the thread was told why not. Other steps hold its effects."""

    kind: Literal["acknowledged"] = "acknowledged"
    command: str
    ts: str


class ModelFailed(Value):
    """The model could not be asked. `reason` is also the phrase for people; `prompt_chars` is the length of the prompt
    that was refused."""

    kind: Literal["model_failed"] = "model_failed"
    purpose: Purpose
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


class Startup(Value):
    """Code of a person that runs whenever the thread's session starts again. The last one counts, "" is none."""

    kind: Literal["startup"] = "startup"
    code: str
    user: str
    author: str
    ts: str


class Imported(Value):
    """All that stands behind this was a conversation of another tool, taken from a file by `threadbook import`.

    Or it was put together of pieces of threads by `threadbook threads compose`: then `groups`, `people` and `sources`
    are those of these threads, so that their rules go on counting.

    `place` says where in the file. Conversations of one `group` have the same beginning, or came from one thread.
    `thread`, `turn` and `votes` stand in files that `threadbook export` wrote. `tools` are those that the model had
    there, None where the file has none. `startup` is a script of that tool; nothing runs it here.
    """

    kind: Literal["imported"] = "imported"
    file: str
    format: Literal["jsonl", "model_programmer_0", "model_programmer_1", "composed"]
    place: str
    group: str
    thread: str = ""
    turn: int = 1
    votes: int = 0
    tools: tuple[dict[str, Any], ...] | None = None
    parallel_tool_calls: bool | None = None
    startup: str = ""
    groups: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    user: str
    author: str


class Said(Value):
    """A message of an imported conversation, as Chat Completions has it (`workers/memory/imports/messages.py`).

    `type` is what ModelProgrammer says of it. `source` is the hash of the message that it was made from, `before` the
    text of that one.
    """

    kind: Literal["said"] = "said"
    message: dict[str, Any]
    type: Literal["raw", "formatted", "manual", "terminal", "edit", "unknown"] = "unknown"
    source: str = ""
    before: str = ""

    @property
    def who(self) -> str:
        """The role, and the name if there is one: "user terminal"."""
        return " ".join(filter(None, (str(self.message.get("role") or ""), str(self.message.get("name") or ""))))

    @property
    def text(self) -> str:
        """What it says, and the calls of tools that it makes."""
        content, calls = self.message.get("content"), self.message.get("tool_calls")
        parts = content if isinstance(content, list) else [{"text": content}]
        texts = [part.get("text") for part in parts if isinstance(part, dict)]
        for call in calls if isinstance(calls, list) else ():
            function = call.get("function") if isinstance(call, dict) else None
            texts += [f"{function.get('name')}: {function.get('arguments')}"] if isinstance(function, dict) else []
        return "\n".join(text for text in texts if isinstance(text, str) and text)


class LoadedCell(Value):
    """The code of a cell of another thread."""

    title: str
    code: str


class LoadedMessage(Value):
    """A message of an imported conversation: its author (a role, perhaps with a name) and its text."""

    who: str
    text: str


class Loaded(Value):
    """A person loaded the thread `source` here: its questions, the code of its cells, and its last report. For an
    imported conversation, `said` are its last messages.

    `state` is the hash of what it said then, `cells` are its last ones, `more` counts those before. `sources` are the
    data sources of which it holds rows. Its files came with it in a `Briefed`.
    """

    kind: Literal["loaded"] = "loaded"
    source: str
    link: str
    state: str
    questions: tuple[str, ...] = ()
    cells: tuple[LoadedCell, ...] = ()
    more: int = 0
    report: str = ""
    sources: tuple[str, ...] = ()
    said: tuple[LoadedMessage, ...] = ()
    user: str
    author: str
    ts: str


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
    | Preferred
    | Briefed
    | Recalled
    | Unfollowed
    | Learning
    | FunctionTried
    | Proposed
    | Settled
    | Unread
    | Replied
    | CellRan
    | Queried
    | ToolCalled
    | Planned
    | Corrected
    | Questioned
    | Agreed
    | Redrafted
    | Decided
    | FilesHeld
    | FilesSettled
    | Checked
    | RouteBegan
    | RouteRan
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
    | Moved
    | Forked
    | Inherited
    | Imported
    | Said
    | Loaded
    | Startup,
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


_OF_PEOPLE = (
    *(Asked, Noted, Changed, Unfollowed, Learning, Proposed, Settled, Agreed, Commanded, Resumed, Undone, Forgot),
    *(Redrafted, Decided, FilesSettled),
    *(Forked, Inherited, Imported, Loaded, Startup),
)


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


class Draft(NamedTuple):
    """Our question with its current text. `number` counts how often people changed it, `editor` is the last person who
    did, and `agreed` are those who said yes to just this text, with who changed it."""

    question: Questioned
    number: int = 0
    editor: str = ""
    agreed: tuple[Agreed | Redrafted, ...] = ()


def draft_of(steps: Sequence[Step], question: Questioned) -> Draft:
    """The question of these steps as people changed it while more of them had to say yes."""
    about = [step for step in steps if isinstance(step, Agreed | Redrafted) and step.call_id == question.call_id]
    places = [place for place, step in enumerate(about) if isinstance(step, Redrafted)]
    last = about[places[-1]] if places else None
    agreed = tuple(about[places[-1] :] if places else about)
    if not isinstance(last, Redrafted) or question.approval is None:
        return Draft(question, agreed=agreed)
    now = last.model_dump(include={"code", "risks", "reads", "writes"})
    approval = Approval.model_validate(question.approval.model_dump() | now)
    changed = question.model_copy(update={"approval": approval})
    return Draft(changed, len(places), last.author or last.user, agreed)


def option_of(text: str, question: Questioned) -> int | None:
    """The place of the option that a text is, in any case and with any marks around it; None when it is none."""
    for read in (lambda words: words.strip().casefold(), without_marks):
        options = [read(option) for option in question.options]
        if (said := read(text)) and said in options:
            return options.index(said)
    return None


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
