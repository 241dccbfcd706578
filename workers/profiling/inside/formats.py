"""One reader per kind of file. Each describes the file and gives a line of Python that loads it. The line was tried."""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import warnings
from collections.abc import Callable
from typing import Any

from . import (
    columnar,
    compressed,
    databases,
    documents,
    json_files,
    kinds,
    office,
    packed,
    pages,
    spreadsheets,
    statistics_files,
    xml_files,
)
from .book_notes import MOST_BOOK_NOTES, book_notes, is_hidden
from .bounds import Bounds
from .columns import named_gap_words
from .frames import cut, describe_frame
from .kinds import Unusable
from .layout import Layout, find_layout, single_column
from .lines import call as _call
from .lines import note as _note
from .spreadsheets import Spoilt, spoilt_in
from .spreadsheets import header_row as _header_row
from .texts import Text, document

Described = dict[str, Any]
"""A profile without path, size and hash: format, encoding, separator, tables, text, read_hint, notes."""


def describe_file(path: str, bounds: Bounds) -> Described:
    """What is in the file. Raises Unusable with the reason when nothing can be done with it."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        head = file.read(65_536)
    if not head.strip(b"\0 \t\r\n\xef\xbb\xbf\xff\xfe"):
        raise Unusable("empty")
    if head.startswith(kinds.LFS_POINTER):
        raise Unusable("lfs_pointer")
    if any(path.lower().endswith(f".{end}") for end in kinds.TARS):
        return packed.tarred(path, bounds)
    extension = os.path.splitext(path)[1].lower().lstrip(".")
    found = kinds.kind_of(path, head)
    if extension == "xls" and found in kinds.NAMED_XLS:
        extension = kinds.true_extension(found, head)
    if extension in kinds.BINARY_TABLES:
        if kinds.is_protected(path, found):
            raise Unusable("password")
        if found not in kinds.BINARY_TABLES[extension]:
            raise Unusable("disguised", extension=extension, found=found)
    elif extension in kinds.UNSUPPORTED:
        raise Unusable("unsupported", extension=extension)
    elif found != "text":
        if extension in kinds.TEXTS:
            raise Unusable("disguised", extension=extension, found=found)
        raise Unusable("unsupported", extension=extension or found)
    reader = _READERS.get(extension, _plain)
    if found == "duckdb":
        reader = databases.duckdb
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return reader(path, size, bounds)


# --- text tables


def _delimited(path: str, size: int, bounds: Bounds) -> Described:
    text = Text(path, size, bounds)
    layout = find_layout(text.shown()) or single_column(text.shown())
    if layout is None:
        return document(text, "txt") | {"notes": [_note("no_columns")]}
    return _table_in_text(text, layout)


def _plain(path: str, size: int, bounds: Bounds) -> Described:
    """A text file of no particular kind: a table when its lines agree on three columns or more, else a document."""
    text = Text(path, size, bounds)
    if text.head.lstrip()[:1] in ("{", "[") and (described := json_files.tables_of(path, size, bounds)):
        return described
    if xml_files.is_xml(text.head) and (described := xml_files.xml_tables(text)):
        return described
    layout = find_layout(text.shown())
    lines = text.head[:300_000].count("\n")
    sure = layout is not None and not layout.ragged and layout.columns >= (2 if layout.separator in "\t;|" else 3)
    if layout and sure and lines >= 3 and layout.header is not None and all(len(name) < 60 for name in layout.header):
        return _table_in_text(text, layout)
    return document(text, "txt")


def _table_in_text(text: Text, layout: Layout) -> Described:
    import pandas as pd  # noqa: PLC0415 - imported where it is installed: inside the sandbox

    arguments = text.arguments() | layout.arguments()
    try:
        sample, rows = _read_table(pd, text, layout, arguments)
    except pd.errors.ParserError:
        arguments["on_bad_lines"] = "skip"
        sample, rows = _read_table(pd, text, layout, arguments)
    if "low_memory" not in arguments and _has_mixed_values(sample):
        # pandas reads a long file part by part, and would keep the same value as number and as text
        arguments["low_memory"] = False
        sample, rows = _read_table(pd, text, layout, arguments)
    names_rows = layout.names_rows and not layout.names
    if names_rows:
        sample = sample.reset_index()
    notes = _notes_on(layout, arguments, counted=not text.is_sampled)
    if text.is_sampled:
        notes.append(_note("sampled", rows=len(sample)))
    if text.encoding.broken:
        notes.append(_note("broken_bytes"))
    if text.encoding.guessed:
        notes.append(_note("encoding_guess", names=text.encoding.name))
    return {
        "format": "tsv" if layout.separator == "\t" else "csv",
        "encoding": text.encoding.name,
        "separator": layout.separator,
        "tables": [
            describe_frame(
                sample,
                text.stem,
                text.bounds,
                rows=rows,
                sampled=text.is_sampled,
                above=itertools.islice(text.lines(), layout.skip),
            )
        ],
        "read_hint": _call("pd.read_csv", text.path, arguments) + (".reset_index()" if names_rows else ""),
        "notes": notes,
    }


def _notes_on(layout: Layout, arguments: dict[str, Any], *, counted: bool) -> list[dict[str, Any]]:
    """What is odd about the lines. They are counted where all of them were looked at, else some are said to be so."""
    notes = []
    if layout.open_quote:
        notes.append(_note("open_quote", rows=layout.open_quote))
    if arguments.get("on_bad_lines"):
        notes.append(_note("ragged", count=layout.ragged if counted else 0))
    if layout.short:
        first = cut(layout.first_short, 100)
        notes.append(_note("short", count=layout.short if counted else 0, names=first))
    if layout.duplicates:
        notes.append(_note("duplicates", names=cut(", ".join(layout.duplicates), 200)))
    if layout.skip:
        notes.append(_note("preamble", lines=layout.skip))
    notes += [_note("units_row", names=cut(units, 200)) for _, units in layout.units]
    if layout.header is None:
        notes.append(_note("no_header"))
    if layout.maybe_thousands:
        notes.append(_note("maybe_thousands", names=cut(", ".join(layout.maybe_thousands), 200)))
    if layout.gap_words:
        notes.append(_note("gap_words", names=cut(named_gap_words(dict(layout.gap_words)), 200)))
    if layout.signs:
        notes.append(_note("number_signs", names=cut(", ".join(layout.signs), 200)))
    if layout.maybe_words:
        notes.append(_note("maybe_words", names=cut(", ".join(layout.maybe_words), 200)))
    return notes


def _read_table(pd: Any, text: Text, layout: Layout, arguments: dict[str, Any]) -> tuple[Any, int | None]:
    if not text.is_sampled:
        frame = pd.read_csv(text.path, **arguments)
        return frame, len(frame)
    skipped = sum(bool(line.strip()) for line in itertools.islice(text.lines(), layout.skip))
    above = skipped + len(layout.left_out) + (layout.header is not None)
    rows = None if layout.quoted_lines or text.breaks_cells() else max(0, text.count_lines() - above)
    first = pd.read_csv(text.path, nrows=text.bounds.rows, **arguments)
    if layout.quoted_lines:
        # a block could begin inside a quoted cell
        return first, rows
    inner = {key: value for key, value in arguments.items() if key not in ("encoding", "encoding_errors", "low_memory")}
    pieces = io.StringIO(text.head + "".join(text.blocks()))
    try:
        return pd.read_csv(pieces, **(inner | {"on_bad_lines": "skip"})), rows
    except pd.errors.ParserError:
        return first, rows


def _has_mixed_values(frame: Any) -> bool:
    """Whether a column holds both text and other values."""
    from pandas.api import types  # noqa: PLC0415 - as above

    objects = frame.select_dtypes("object")
    return any(types.infer_dtype(objects.iloc[:, place]).startswith("mixed") for place in range(objects.shape[1]))


# --- documents


def _markdown(path: str, size: int, bounds: Bounds) -> Described:
    return document(Text(path, size, bounds), "md")


def _html(path: str, size: int, bounds: Bounds) -> Described:
    from lxml import etree  # type: ignore[import-untyped]  # noqa: PLC0415 - as above

    text = Text(path, size, bounds)
    described = document(text, "html")
    named = {"encoding": text.encoding.name} if text.encoding.name != "utf-8" else {}
    with contextlib.suppress(ValueError, etree.LxmlError):
        described["text"] = pages.words_of(text.head)
    described |= pages.tables_of(text.head, bounds, lambda more: _call("pd.read_html", path, named | more))
    described["text"] = described["text"][: bounds.text]
    return described


# --- workbooks


def _workbook(path: str, size: int, bounds: Bounds) -> Described:
    import pandas as pd  # noqa: PLC0415 - as above

    spreadsheets.refuse_entities(path, bounds)
    try:
        book = pd.ExcelFile(path, engine="openpyxl")
    except Exception as error:
        # openpyxl raises whatever its XML and zip readers raise
        raise Unusable("corrupt", detail=cut(error, 160)) from None
    with book:
        names = [str(name) for name in book.sheet_names[: bounds.sheets]]
        sheets = [_sheet(path, book, name, bounds) for name in names]
        damaged = {
            name: str(table["head"][0])
            for name, (table, _, _) in zip(names, sheets, strict=True)
            if spreadsheets.is_unread(table) and hasattr(book.book[name], "iter_rows")  # else a sheet of charts
        }
        hidden = [_note("hidden_sheet", sheet=cut(name, 60)) for name in names if is_hidden(book.book[name])]
        more = len(book.sheet_names) - len(sheets)
        several = len(book.sheet_names) > 1
    if damaged and not any(table["columns"] for table, _, _ in sheets):
        raise Unusable("corrupt", detail=next(iter(damaged.values())))
    notes = [_note("sheet_unread", sheet=cut(name, 60)) for name in damaged]
    notes += [_note("more_sheets", count=more)] if more else []
    headers = []
    first: dict[str, Any] = {}
    tables = []
    filled = [table for table, _, _ in sheets if table["columns"]]
    main = next((table for table in filled if table["rows"] != 0), next(iter(filled), None))
    for table, header, spoilt in sheets:
        tables.append(table)
        notes += spoilt.notes()
        if header:
            headers.append(_note("sheet_header", sheet=cut(table["name"], 60), header=header))
        if table is main:
            first = _excel_arguments(table, header, spoilt, several)
        elif header or spoilt.arguments():
            table["read"] = _call("pd.read_excel", path, _excel_arguments(table, header, spoilt, several))
    if several:
        notes.append(_note("sheets"))
    if any(table["sampled"] for table in tables):
        notes.append(_note("first_rows", rows=bounds.rows))
    is_small = size <= bounds.workbook and not spreadsheets.has_more_cells(path, bounds.workbook_cells)
    seen = book_notes(path, names) if is_small else None
    notes += ([_note("not_looked_for"), *hidden] if seen is None else [*hidden, *seen])[:MOST_BOOK_NOTES]
    notes += headers  # the lines of code say the same
    return {"format": "xlsx", "tables": tables, "read_hint": _call("pd.read_excel", path, first), "notes": notes}


def _excel_arguments(table: dict[str, Any], header: int, spoilt: Spoilt, several: bool) -> dict[str, Any]:
    named = {"sheet_name": table["name"]} if several else {}
    return named | ({"header": header} if header else {}) | spoilt.arguments()


def _sheet(path: str, book: Any, name: str, bounds: Bounds) -> tuple[dict[str, Any], int, Spoilt]:
    """A sheet's note, the row that holds its header, counted from 0 as pandas does, and what pandas would change."""
    try:
        top = book.parse(name, header=None, nrows=30)
        if top.empty:
            return describe_frame(_nothing(), name, bounds), 0, Spoilt()
        header = _header_row(top)
        spoilt = spoilt_in(book, name, header, bounds)
        frame = book.parse(name, header=header, nrows=bounds.rows + 1, **spoilt.arguments())
    except MemoryError:
        raise
    except Exception as error:
        # one broken sheet (a chart sheet, odd XML, an end that is missing) is no reason to refuse the others
        return spreadsheets.unread(name, bounds, error), 0, Spoilt()
    sampled = len(frame) > bounds.rows
    rows = None
    if sampled:
        rows = (spreadsheets.last_filled_row(path, name) or 0) - header - 1 - bool(spoilt.units)
        rows = rows if rows > bounds.rows else None
    above = spreadsheets.lines_above(top, header, bounds)
    frame = frame.iloc[: bounds.rows]
    return describe_frame(frame, name, bounds, rows=rows, sampled=sampled, above=above), header, spoilt


def _nothing() -> Any:
    import pandas as pd  # noqa: PLC0415 - as above

    return pd.DataFrame()


def _compressed(path: str, _size: int, bounds: Bounds) -> Described:
    return compressed.compressed(path, bounds, describe_file)


def _zipped(path: str, _size: int, bounds: Bounds) -> Described:
    return packed.zipped(path, bounds, _IN_ZIPS, describe_file)


_READERS: dict[str, Callable[[str, int, Bounds], Described]] = {
    "csv": _delimited,
    "tsv": _delimited,
    "tab": _delimited,
    "json": json_files.json_value,
    "geojson": json_files.json_value,
    "jsonl": json_files.json_lines,
    "ndjson": json_files.json_lines,
    "md": _markdown,
    "markdown": _markdown,
    "html": _html,
    "htm": _html,
    "xml": _plain,
    "xlsx": _workbook,
    "xlsm": _workbook,
    "parquet": columnar.parquet,
    "pq": columnar.parquet,
    "feather": columnar.feather,
    "arrow": columnar.feather,
    "orc": columnar.orc,
    "xls": spreadsheets.xls,
    "ods": spreadsheets.ods,
    "xlsb": spreadsheets.xlsb,
    "sqlite": databases.sqlite,
    "sqlite3": databases.sqlite,
    "db3": databases.sqlite,
    "db": databases.sqlite,
    "duckdb": databases.duckdb,
    "ddb": databases.duckdb,
    "dta": statistics_files.statistics_file,
    "sav": statistics_files.statistics_file,
    "zsav": statistics_files.statistics_file,
    "sas7bdat": statistics_files.statistics_file,
    "xpt": statistics_files.statistics_file,
    "pdf": documents.pdf,
    "docx": office.word,
    "docm": office.word,
    "pptx": office.slides,
    "pptm": office.slides,
    "png": documents.picture,
    "jpg": documents.picture,
    "jpeg": documents.picture,
    "gif": documents.picture,
    "webp": documents.picture,
    "zip": _zipped,
    "gz": _compressed,
    "bz2": _compressed,
    "xz": _compressed,
}
_NOT_IN_ZIPS = frozenset({"zip", "gz", "bz2", "xz", "png", "jpg", "jpeg", "gif", "webp", "md", "markdown"})
_IN_ZIPS = frozenset(_READERS) - _NOT_IN_ZIPS | {"txt"}
"""Files of a zip that may hold tables. A zip in a zip is not opened."""
