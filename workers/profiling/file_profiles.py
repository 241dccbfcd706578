"""File profiles: what the analyst is told about files before any code runs. They come from the sandbox, so untrusted.

`describe_code` runs as a cell of the thread's session. `read_abstracts` reads what that cell printed. The cell shares a
process with code that the model wrote. So its answer is untrusted like any output: it is bounded, checked against a
schema, and may name only the files that were asked for.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Annotated, Literal, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from core.phrases import say
from core.steps import ColumnNote, FileAbstract, FileProblem, Level, TableNote, TotalRow
from core.values import Language
from executor.values import CellResult

_MODULES = (
    "bounds", "kinds", "encodings", "frames", "columns", "headers", "layout", "lines", "texts", "nested", "json_files",
    "spreadsheets", "book_notes", "databases", "statistics_files", "xml_files", "documents", "pages", "office",
    "columnar", "packed", "compressed", "formats", "apart", "cell",
)  # fmt: skip
"""The modules of `workers/profiling/inside`, each after those it imports."""

_LONGEST_ANSWER = 400_000

_CELL = """\
def _threadbook_describe():
    import sys
    import types

    package = "_threadbook_describing"
    sources = {sources}
    made = [package, *(package + "." + name for name in sources)]
    try:
        sys.modules[package] = types.ModuleType(package)
        sys.modules[package].__path__ = []
        for name, source in sources.items():
            module = types.ModuleType(package + "." + name)
            module.__package__ = package
            sys.modules[module.__name__] = module
            setattr(sys.modules[package], name, module)
            exec(compile(source, "<describing the files: " + name + ">", "exec"), module.__dict__)
        module.main({paths}, {mark}, sys.modules[package + ".bounds"].Bounds({bounds}))
    finally:
        for name in made:
            sys.modules.pop(name, None)


try:
    _threadbook_describe()
finally:
    del _threadbook_describe
"""


def describe_code(paths: Sequence[str], **bounds: int) -> str:
    """A cell that describes these files of its working folder and prints the answer for `read_abstracts`.

    It leaves no name in the session and opens no figure. The same paths give the same code. `bounds` replace
    fields of `workers.profiling.inside.bounds.Bounds`.
    """
    return _CELL.format(
        sources=_sources(),
        paths=repr(list(paths)),
        mark=repr(_mark(paths)),
        bounds=", ".join(f"{name}={int(value)}" for name, value in bounds.items()),
    )


def read_abstracts(
    result: CellResult, language: Language, paths: Sequence[str]
) -> tuple[list[FileAbstract], list[FileProblem]]:
    """The profiles and the problems of the files that were asked for. Each file is in exactly one of the two.

    `why` and `note` are sentences in `language`. Raises nothing: a file without a believable answer is a problem.
    """
    said = _answer(result, paths)
    abstracts: list[FileAbstract] = []
    problems: list[FileProblem] = []
    for path in dict.fromkeys(paths):
        match said.get(path):
            case _File(about=_About() as about) as file:
                abstracts.append(_abstract(file, about, language))
            case _File(problem=_Problem() as problem):
                problems.append(FileProblem(name=path, why=_why(problem, language)))
            case _:
                problems.append(FileProblem(name=path, why=_no_answer(result, language)))
    return abstracts, problems


@cache
def _sources() -> str:
    """What the cell brings along: the source of each module by its name, as a literal."""
    folder = resources.files("workers.profiling").joinpath("inside")
    return repr({name: folder.joinpath(f"{name}.py").read_text(encoding="utf-8") for name in _MODULES})


def _mark(paths: Sequence[str]) -> str:
    return f"=== threadbook files {hashlib.sha256(json.dumps(list(paths)).encode()).hexdigest()[:24]} ==="


_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


def _clean(value: object) -> object:
    return _CONTROLS.sub("", value) if isinstance(value, str) else value


Name = Annotated[str, BeforeValidator(_clean), Field(max_length=220)]
Short = Annotated[str, BeforeValidator(_clean), Field(max_length=80)]
Long = Annotated[str, BeforeValidator(_clean), Field(max_length=8_000)]
Hint = Annotated[str, BeforeValidator(_clean), Field(max_length=4_000)]
Count = Annotated[int, Field(ge=0, le=10**12)]


class _Said(BaseModel):
    """A part of the answer. Anything that the profiling code would not say makes the answer invalid."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class _Level(_Said):
    value: Short
    rows: Count


class _Total(_Said):
    row: Count
    label: Short


class _Column(_Said):
    name: Name
    dtype: Short
    missing: Annotated[float, Field(ge=0, le=1)]
    unique: Count | None
    samples: Annotated[list[Short], Field(max_length=20)]
    spread: Annotated[list[Short], Field(max_length=5)]
    levels: Annotated[list[_Level], Field(max_length=20)]
    dates: Name = ""


class _Table(_Said):
    name: Name
    rows: Count | None
    columns: Annotated[list[_Column], Field(max_length=100)]
    more_columns: Count
    more_names: Annotated[list[Name], Field(max_length=2_000)]
    above: Annotated[list[Name], Field(max_length=10)]
    totals: Annotated[list[_Total], Field(max_length=20)]
    head: Annotated[list[Long], Field(max_length=20)]
    sampled: bool
    read: Hint = ""


class _Note(_Said):
    code: Literal[
        "areas",
        "broken_bytes",
        "duplicates",
        "encoding_guess",
        "errors",
        "first_rows",
        "gap_words",
        "hidden_columns",
        "hidden_rows",
        "hidden_sheet",
        "large_json",
        "marked_missing",
        "maybe_thousands",
        "maybe_words",
        "members_closed",
        "members_large",
        "members_locked",
        "members_unread",
        "merged",
        "more_members",
        "more_sheets",
        "more_tables",
        "no_columns",
        "no_header",
        "no_value",
        "not_looked_for",
        "number_signs",
        "open_quote",
        "part",
        "pdf_no_text",
        "pdf_pages",
        "pdf_pages_no_text",
        "pdf_tables",
        "percents",
        "preamble",
        "cut_lines",
        "ragged",
        "remarks",
        "sampled",
        "scaled",
        "sheet_header",
        "sheet_unread",
        "sheets",
        "short",
        "signs",
        "slide_tables",
        "slides",
        "tables",
        "units_row",
        "xml_nested",
    ]
    values: Annotated[dict[Short, Name | Count], Field(max_length=5)]
    members: Name = ""


class _About(_Said):
    format: Literal[
        "csv", "tsv", "xlsx", "xlsb", "xls", "ods", "json", "jsonl", "parquet", "feather", "orc", "txt", "md", "html",
        "xml", "sqlite", "duckdb", "stata", "spss", "sas", "pdf", "docx", "pptx", "png", "jpeg", "gif", "webp", "zip",
        "repository",
    ]  # fmt: skip
    encoding: Short | None = None
    separator: Short | None = None
    tables: Annotated[list[_Table], Field(max_length=50)] = []
    text: Long = ""
    read_hint: Hint = ""
    notes: Annotated[list[_Note], Field(max_length=40)] = []


Kind = Literal[
    "text", "xlsx", "xlsb", "ods", "docx", "pptx", "document", "parquet", "arrow", "orc", "pdf", "image", "program",
    "office", "archive", "database", "duckdb", "stata", "spss", "sas", "xport", "binary",
]  # fmt: skip


class _Problem(_Said):
    code: Literal[
        "empty", "disguised", "password", "corrupt", "unsupported", "vanished", "too_much", "no_tables", "lfs_pointer",
        "xml_workbook",
    ]  # fmt: skip
    values: Annotated[dict[Short, Name], Field(max_length=5)]


class _File(_Said):
    path: Annotated[str, Field(max_length=1_000)]
    size: Count = 0
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] = "0" * 64
    about: _About | None = None
    problem: _Problem | None = None


def _believed(said: object, validate: ValidatorFunctionWrapHandler) -> object:
    """A file's part of the answer, None where it is invalid: the other files are described all the same."""
    try:
        return validate(said)
    except ValidationError:
        return None


class _Answer(_Said):
    files: Annotated[list[Annotated[_File | None, WrapValidator(_believed)]], Field(max_length=200)]


def _answer(result: CellResult, paths: Sequence[str]) -> Mapping[str, _File]:
    parts = result.stdout.split(f"\n{_mark(paths)}\n")
    if len(parts) != 3 or len(parts[1]) > _LONGEST_ANSWER:
        return {}
    try:
        answer = _Answer.model_validate_json(parts[1])
    except ValidationError:
        return {}
    return {file.path: file for file in answer.files if file is not None}


def _abstract(file: _File, about: _About, language: Language) -> FileAbstract:
    notes = [_sentence(note, language) for note in about.notes]
    notes += [
        say("file_note_more_columns", language, table=table.name, shown=len(table.columns), count=table.more_columns)
        for table in about.tables
        if table.more_columns
    ]
    return FileAbstract(
        path=file.path,
        format=about.format,
        size=file.size,
        sha256=file.sha256,
        encoding=about.encoding,
        separator=about.separator,
        tables=tuple(_table(table) for table in about.tables),
        text=about.text,
        read_hint=about.read_hint,
        note=" ".join(notes),
    )


def _sentence(note: _Note, language: Language) -> str:
    """A note in words; one about files of a zip begins with their names."""
    said = say(f"file_note_{note.code}", language, **_values(note.values))
    return f"{note.members}: {said}" if note.members else said


def _table(table: _Table) -> TableNote:
    columns = tuple(
        ColumnNote(
            name=column.name,
            dtype=column.dtype,
            missing=column.missing,
            unique=column.unique,
            samples=tuple(column.samples),
            spread=tuple(column.spread),
            levels=tuple(Level(value=level.value, rows=level.rows) for level in column.levels),
            dates=column.dates,
        )
        for column in table.columns
    )
    return TableNote(
        name=table.name,
        rows=table.rows,
        columns=columns,
        head="\n".join(table.head),
        sampled=table.sampled,
        more_names=tuple(table.more_names),
        above=tuple(table.above),
        totals=tuple(TotalRow(row=total.row, label=total.label) for total in table.totals),
        read=table.read,
    )


_NEEDED = {"names": "", "lines": 0, "rows": 0, "count": 0, "sheet": "", "header": 0}
_SENTENCES = {
    "empty": "file_empty",
    "disguised": "file_not_what_it_says",
    "password": "file_password",
    "corrupt": "file_unreadable",
    "unsupported": "file_unsupported",
    "vanished": "file_vanished",
    "too_much": "file_too_much",
    "no_tables": "file_no_tables",
    "xml_workbook": "file_xml_workbook",
    "lfs_pointer": "file_lfs_pointer",
}


def _values(said: Mapping[str, str | int]) -> dict[str, object]:
    """All values of a note. An answer may lack one, but a sentence needs all of them."""
    return _NEEDED | {name: value for name, value in said.items() if name in _NEEDED}


def _why(problem: _Problem, language: Language) -> str:
    found = problem.values.get("found", "")
    kind = found if found in get_args(Kind) else "binary"
    return say(
        _SENTENCES[problem.code],
        language,
        extension=problem.values.get("extension", ""),
        found=say(f"file_kind_{kind}", language),
        why=problem.values.get("detail", ""),
    )


def _no_answer(result: CellResult, language: Language) -> str:
    if result.status == "timeout":
        return say("file_slow", language)
    return say("file_unreadable", language, why=result.error.name if result.error else result.status)
