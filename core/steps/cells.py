"""A cell that ran: its outputs, tables and charts, its statements and calls of tools."""

from __future__ import annotations

from typing import Literal

from pydantic import AliasChoices, Field

from core.steps.calls import OWN_CALL
from core.steps.files import FileProblem
from core.steps.team import FunctionUsed
from core.values import StoredFile, Value

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


EndedBy = Literal["", "question", "setup", "source", "person", "machine"]
"""What ended a cell when its code did not. question: a person is asked about its statement or its call · setup: only an
admin can mend how its data source is set up, or allow it · source: its data source does not answer now · person:
somebody stopped it · machine: its process was ended for a reason of the service."""


class CellRan(Value):
    """A cell ended, with success or not. `figures` and `files` are in the file store. Texts, `tables` (the table that
    the last value is) and `charts` (the data of the figures) are already bounded (`workers/turn/cell_results.py`).
    `whole_outputs` are the texts that were cut, whole, in the file store; each has the name of its field.

    `notice` is the executor's own text about the cell, `notice_text` the same in the language of the thread. No cell is
    stored with the status "undone": it counts as undone once a person took it back (`effective_steps`).
    `user` and `author` are the person who wrote the code, "" when the model did. `left_out` is never stored: it follows
    from a `Changed`. `variables` are those of the line where it failed, as text; `checks` what it did to its tables.
    `functions` are those of the team that it imported. `plan_step` is the number of the plan's step that it does, 0
    when the model named none. `ended_by` is written by those who refused its request or stopped it, never by its own
    subprocess. Steps of earlier versions have none.
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
    ended_by: EndedBy = ""
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
