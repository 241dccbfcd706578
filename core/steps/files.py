"""The files of a thread: how they are described, and those that wait for a yes before Slack gets them."""

from __future__ import annotations

from typing import Literal

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


class Briefed(Value):
    """The files of the messages read so far: in the workspace with a description, or refused with a reason."""

    kind: Literal["briefed"] = "briefed"
    files: tuple[FileAbstract, ...] = ()
    problems: tuple[FileProblem, ...] = ()


class Unread(Value):
    """Files that came with messages right before a stop. The next turn of the thread reads them first."""

    kind: Literal["unread"] = "unread"
    files: tuple[FileRef, ...]


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
