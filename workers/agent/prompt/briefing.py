"""File profiles as the model reads them: one YAML document per file, bounded, in a stable form.

The form is documented at the top of prompts/files.yaml. When space is short, column names are dropped last: a wrong
column name is the commonest error in generated code.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import yaml

from core.hidden_characters import with_carriers_shown
from core.steps import ColumnNote, FileAbstract, TableNote
from workers.agent.text import clean, clip, one_line, shares


class _Leaner(NamedTuple):
    """How much the model is told of a file: head lines, sample values, levels of a column of words, described columns,
    characters of text, characters of the notes on the file."""

    head: int
    samples: int
    levels: int
    columns: int
    text: int
    notes: int


_STAGES = (
    _Leaner(head=11, samples=5, levels=15, columns=80, text=2_000, notes=2_000),
    _Leaner(head=6, samples=3, levels=15, columns=60, text=1_000, notes=1_600),
    _Leaner(head=4, samples=2, levels=8, columns=40, text=500, notes=1_000),
    _Leaner(head=2, samples=1, levels=4, columns=30, text=250, notes=600),
    _Leaner(head=0, samples=0, levels=0, columns=20, text=120, notes=400),
    _Leaner(head=0, samples=0, levels=0, columns=0, text=0, notes=400),
)
REPOSITORY = "repository"
"""The format of an archive of source code, whose text is an outline."""
_CODE_SHARE = 4
"""The model sees nothing else of an archive. So an outline has this many times the room of a document's first lines."""
_MIN_CHARS = 300
_LINE_CHARS = 400
_SAMPLE_CHARS = 40
_LEVEL_CHARS = 60
_NAME_CHARS = 80
_MAX_NAMES = 1_000
_MAX_TABLES = 30
_COLUMN_CHARS = 60


def file_blocks(files: tuple[FileAbstract, ...], limit: int) -> list[str]:
    """One YAML text per file, together at most about `limit` characters. Small files stay whole."""
    whole = [len(file_block(file, limit)) for file in files]
    return [file_block(file, max(share, _MIN_CHARS)) for file, share in zip(files, shares(whole, limit), strict=True)]


@lru_cache(maxsize=256)
def file_block(file: FileAbstract, limit: int) -> str:
    """The YAML of one file in at most `limit` characters (or as few as its names allow)."""
    *roomy, barest = _STAGES
    for stage in roomy:
        if _least_chars(file, stage) > limit:
            continue
        text = _yaml(_document(file, stage))
        if len(text) <= limit:
            return text
    return clip(_yaml(_document(file, barest)), limit)


def _least_chars(file: FileAbstract, stage: _Leaner) -> int:
    """A lower bound for the characters of a file's columns at this stage. It is cheaper than writing them."""
    return sum(min(len(table.columns), stage.columns) for table in file.tables[:_MAX_TABLES]) * _COLUMN_CHARS


def _document(file: FileAbstract, stage: _Leaner) -> dict[str, Any]:
    document: dict[str, Any] = {
        "path": file.path,
        "format": file.format,
        "size": file.size,
        "encoding": file.encoding,
        "separator": file.separator,
        "read": file.read_hint,
    }
    tables = file.tables[:_MAX_TABLES]
    if file.note:
        document["note"] = one_line(file.note, stage.notes)
    document["tables"] = [_table(table, stage, file.tables[:place]) for place, table in enumerate(tables)]
    if len(file.tables) > _MAX_TABLES:
        document["more_tables"] = [one_line(t.name, _NAME_CHARS) for t in file.tables[_MAX_TABLES:][:_MAX_NAMES]]
    if file.text and stage.text:
        is_code = file.format == REPOSITORY
        document["text"] = _lines(clip(file.text, stage.text * _CODE_SHARE if is_code else stage.text), 400)
    return document


def _table(table: TableNote, stage: _Leaner, before: Sequence[TableNote]) -> dict[str, Any]:
    document: dict[str, Any] = {
        "name": _exact(table.name, _NAME_CHARS),
        "rows": table.rows,
        "sampled": table.sampled,
    }
    if table.read:
        document["read"] = table.read
    if table.above:
        document["above_header"] = _FlowList(_exact(line, _LINE_CHARS) for line in table.above)
    if table.totals:
        document["look_like_totals"] = _Flow(
            {str(total.row): _exact(total.label, _NAME_CHARS) for total in table.totals}
        )
    if (same := next((one for one in before if _shape(one) == _shape(table)), None)) is not None:
        document["same_columns_as"] = _exact(same.name, _NAME_CHARS)
        document["head"] = _lines(table.head, min(stage.head, _HEAD_OF_EQUALS))
        return document
    document["columns"] = [_Flow(_column(column, stage)) for column in table.columns[: stage.columns]]
    if more := (*(column.name for column in table.columns[stage.columns :]), *table.more_names):
        document["more_columns"] = _FlowList(_exact(name, _NAME_CHARS) for name in more[:_MAX_NAMES])
    document["head"] = _lines(table.head, stage.head)
    return document


_HEAD_OF_EQUALS = 3
"""Lines of a table whose columns were described with an earlier one: its header and two rows."""


def _shape(table: TableNote) -> tuple[object, ...]:
    return (*((column.name, column.dtype, column.dates) for column in table.columns), *table.more_names)


def _column(column: ColumnNote, stage: _Leaner) -> dict[str, Any]:
    document: dict[str, Any] = {
        "name": _exact(column.name, _NAME_CHARS),
        "dtype": column.dtype,
        "missing": round(column.missing, 4),
        "unique": column.unique,
    }
    if column.dates:
        document["dates"] = column.dates
    if stage.samples and (names := _RANGES.get(len(column.spread))):
        document["range"] = _Flow(zip(names, map(_plain, column.spread), strict=True))
    if column.levels and len(column.levels) <= stage.levels:
        document["levels"] = _Flow({_exact(level.value, _LEVEL_CHARS): level.rows for level in column.levels})
    else:
        document["samples"] = [_exact(sample, _SAMPLE_CHARS) for sample in column.samples[: stage.samples]]
    return document


_RANGES = {2: ("first", "last"), 5: ("min", "q25", "median", "q75", "max")}


def _plain(figure: str) -> Any:
    """A figure as YAML writes numbers; a date stays a text."""
    return _Bare(figure) if re.fullmatch(r"-?\d+(\.\d+)?", figure) else figure


def _exact(text: str, limit: int) -> str:
    """A text that code may need letter by letter. It has quotes if its blanks matter, and "…" where it is cut."""
    shown = clean(text)
    shown = shown if len(shown) <= limit else shown[: limit - 1] + "…"
    return shown if shown == " ".join(shown.split()) else _Quoted(shown)


def _lines(text: str, count: int) -> str:
    """The first lines of a text, each bounded and without trailing blanks, so that YAML can write it as a block."""
    return "\n".join(clean(line)[:_LINE_CHARS].rstrip() for line in text.expandtabs(4).splitlines()[:count])


class _Flow(dict[str, Any]):
    """A mapping that is written on one line."""


class _FlowList(list[str]):
    """A list that is written on one line."""


class _Quoted(str):
    """A text that is written in quotes."""


class _Bare(str):
    """A number as it was written."""


class _Dumper(yaml.SafeDumper):
    """Keys in the order given, long texts as blocks, a column on a line."""


_LIKE_A_NUMBER = re.compile(r"[+-]?\d[\d.,]*")
"""YAML leaves 0010118 bare, which is no octal number, and quotes 0010117: they would look like two types."""


def _write_text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    style = "|" if "\n" in text else "'" if _LIKE_A_NUMBER.fullmatch(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _write_text)
_Dumper.add_representer(
    _Quoted, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style="'")
)
_Dumper.add_representer(
    _Bare,
    lambda dumper, text: dumper.represent_scalar(
        "tag:yaml.org,2002:float" if "." in text else "tag:yaml.org,2002:int", str(text)
    ),
)
_Dumper.add_representer(
    _Flow, lambda dumper, value: dumper.represent_mapping("tag:yaml.org,2002:map", value, flow_style=True)
)
_Dumper.add_representer(
    _FlowList, lambda dumper, value: dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=True)
)


def _yaml(document: dict[str, Any]) -> str:
    text = yaml.dump(
        document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10**9, default_flow_style=False
    )
    return with_carriers_shown(text.rstrip())
