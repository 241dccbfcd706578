"""Makes tables safe before they are sent: text stays text, whatever code wrote it. Each file is checked.

A spreadsheet program runs text that looks like a formula. In a .csv or .tsv, nothing may be a formula. In an .xlsx or
.ods, a formula stays if it uses only known functions and cells of its own workbook; others become text. A workbook with
parts that we do not know (macros, links to other workbooks, data connections, embedded objects) is not sent.

The bytes are hostile: XML is read as a stream without document types, sizes are counted as they are unpacked.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, cast
from xml.sax import SAXException, expatreader, handler
from xml.sax.saxutils import XMLGenerator
from xml.sax.xmlreader import AttributesImpl, InputSource

from workers.delivery.reports.tables import inert

_UNPACKED: Final = 400_000_000
_PARTS: Final = 2_000
_CHUNK: Final = 1 << 16
_LONGEST: Final = 10_000_000
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
csv.field_size_limit(_LONGEST)


@dataclass(frozen=True, slots=True)
class Checked:
    """What was done: how many places became text; `held` when the file must not leave."""

    changed: int = 0
    held: bool = False


def make_safe(name: str, copy: Path) -> Checked:
    """Make a copy of a file safe to open in a spreadsheet, in place. Files of other kinds stay as they are."""
    ending = name.rstrip(". ").rpartition(".")[2].casefold()  # Windows drops dots and blanks at the end of a name
    if ending in ("csv", "tsv", "tab"):
        return _safe_text(copy, "\t" if ending != "csv" else None)
    if ending in ("xlsx", "xltx", "ods"):
        return _safe_package(copy, _ODS if ending == "ods" else _XLSX)
    return Checked(held=ending in _NEVER)


_NEVER = frozenset(
    """
    xlsm xlsb xls xltm xlt xlw xlm xll xlam xla slk dif iqy oqy dqy rqy odc dde ots fods sxc stc uos
    """.split()  # noqa: SIM905 - words are read more easily as words
)
"""Endings of other kinds that a spreadsheet program opens: with macros, formulas or queries that are not read here."""


# --- text


def _safe_text(copy: Path, separator: str | None) -> Checked:
    with copy.open("rb") as file:
        head = file.read(_CHUNK)
    encoding = _encoding(head)
    text = head.decode(encoding, "replace")
    if separator is None:
        line = re.sub(r'"[^"]*"', "", text.partition("\n")[0])
        named = _NAMED_SEPARATOR.match(text)
        separator = named[1] if named else max(",;\t|", key=line.count)
    ending = "\r\n" if "\r\n" in text else "\n"
    changed = 0
    written = copy.with_name(copy.name + ".safe")
    try:
        with (
            copy.open(encoding=encoding, errors="surrogateescape", newline="") as rows,
            written.open("w", encoding=encoding, errors="surrogateescape", newline="") as safe,
        ):
            writer = csv.writer(safe, delimiter=separator, lineterminator=ending)
            for row in csv.reader(rows, delimiter=separator):
                told = [inert(cell) for cell in row]
                changed += sum(one != other for one, other in zip(row, told, strict=True))
                writer.writerow(told)
        if changed:
            written.replace(copy)
    except (csv.Error, TypeError, ValueError):
        return Checked(held=True)
    finally:
        written.unlink(missing_ok=True)
    return Checked(changed)


_NAMED_SEPARATOR = re.compile(r'"?sep=([^\r\n])', re.IGNORECASE)
"""The first line of a text file in which Excel is told how its cells are separated, by any character."""


def _encoding(head: bytes) -> str:
    """UTF-8 or UTF-16 by their marks, else UTF-8 with its odd bytes kept as they are."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    return "utf-8-sig" if head.startswith(codecs.BOM_UTF8) else "utf-8"


# --- formulas

_FUNCTIONS = frozenset(
    """
    ABS AND AVERAGE AVERAGEIF AVERAGEIFS CEILING CHOOSE CONCAT CONCATENATE CORREL COUNT COUNTA COUNTBLANK COUNTIF
    COUNTIFS DATE DATEDIF DAY EDATE EOMONTH EXP FALSE FIND FLOOR HLOOKUP HOUR IF IFERROR IFNA IFS INDEX INT
    ISBLANK ISERROR ISNUMBER ISTEXT LARGE LEFT LEN LN LOG LOG10 LOWER MATCH MAX MAXIFS MEDIAN MID MIN MINIFS
    MINUTE MOD MONTH NETWORKDAYS NOT NOW OR PERCENTILE PI PMT POWER PRODUCT PROPER QUARTILE RANK REPLACE RIGHT
    ROUND ROUNDDOWN ROUNDUP ROW ROWS COLUMN COLUMNS SEARCH SECOND SIGN SMALL SQRT STDEV STDEV.S STDEV.P SUBSTITUTE
    SUBTOTAL SUM SUMIF SUMIFS SUMPRODUCT TEXT TODAY TRIM TRUE TRUNC UPPER VALUE VAR VLOOKUP WEEKDAY WEEKNUM
    XLOOKUP YEAR
    """.split()  # noqa: SIM905 - words are read more easily as words
)
"""None of them reaches a file, a program or an address."""
_STRING = re.compile(r'"(?:[^"]|"")*"')
_SHEET = re.compile(r"(?<!')'(?:[^'\[\]|\\/:]|'')*+'!")
_CALLED = re.compile(r"(?<![\w.])([\w.]++)\s*+\(")
_CALLS_VALUE = re.compile(r"[)}]\s*+\(|_xleta\.", re.IGNORECASE)
"""Excel calls what a function returns, and _xleta.NAME is a function as a value: IF(TRUE,_xleta.WEBSERVICE)(A1)."""
_PLAIN = re.compile(r"[\w.$:!(),;+\-*/^&=<>%{}#\s?]*")
_OWN_CELLS = re.compile(r"\[(?:\$?'[^'\[\]|\\/:#]*'|\$?\w+)?(\.\$?[A-Z]{1,3}\$?\d+)(?::(\.\$?[A-Z]{1,3}\$?\d+))?\]")


def is_plain(formula: str) -> bool:
    """Whether a formula is made of known functions and of cells of its own workbook."""
    rest = _SHEET.sub("S!", _STRING.sub("0", formula.strip().removeprefix("=")))
    names = [name.upper().removeprefix("_XLFN.") for name in _CALLED.findall(rest)]
    return (
        _PLAIN.fullmatch(rest) is not None
        and _CALLS_VALUE.search(rest) is None
        and all(name in _FUNCTIONS for name in names)
    )


def _is_plain_ods(formula: str) -> bool:
    said = formula.removeprefix("of:")
    return said.startswith("=") and is_plain(_OWN_CELLS.sub("A1", said))


# --- workbooks


@dataclass(frozen=True, slots=True)
class _Package:
    """The parts that a kind of workbook may have, and what reads those with formulas."""

    parts: re.Pattern[str]
    rewrite: Callable[[str], type[_Copy] | None]


class _Refused(SAXException):
    """The part has what no workbook of ours has."""


class _Copy(XMLGenerator):
    """Writes an XML part as it is read. `changed` counts what was made text."""

    def __init__(self, out: IO[bytes]) -> None:
        super().__init__(cast(Any, out), "utf-8", short_empty_elements=True)
        self.changed = 0

    def startDTD(self, *_: object) -> None:
        raise _Refused("a document type")

    def comment(self, _: str) -> None:
        """Comments are left out."""

    def endDTD(self) -> None:
        """Never reached."""

    def startCDATA(self) -> None:
        """Its text is written as text."""

    def endCDATA(self) -> None:
        """As above."""


def _local(name: str) -> str:
    return name.rpartition(":")[2]


_TEXTS = frozenset({"definedName", "formula", "formula1", "formula2", "calculatedColumnFormula", "totalsRowFormula"})


class _Sheet(_Copy):
    """A part of an .xlsx: formulas of cells, names, rules and charts."""

    def __init__(self, out: IO[bytes]) -> None:
        super().__init__(out)
        self._cell: list[tuple[str, Any]] | None = None
        self._text: list[str] | None = None
        self._removed: set[str] = set()

    def startElement(self, name: str, attrs: AttributesImpl) -> None:
        local = _local(name)
        if local in ("oleObject", "control", "ddeLink", "webPublishItem"):
            raise _Refused(local)
        if self._cell is not None:
            self._cell.append(("start", (name, dict(attrs))))
        elif local == "c" and "r" in attrs:
            self._cell = [("start", (name, dict(attrs)))]
        else:
            given = dict(attrs)
            if local == "cfvo" and not is_plain(given.get("val", "")):
                self.changed, given["val"] = self.changed + 1, "0"
            super().startElement(name, AttributesImpl(given))
            if local in _TEXTS or local == "f":
                self._text = []

    def characters(self, content: str) -> None:
        if self._cell is not None:
            self._cell.append(("text", content))
        elif self._text is not None:
            self._text.append(content)
        else:
            super().characters(content)

    def endElement(self, name: str) -> None:
        if self._cell is not None:
            self._cell.append(("end", name))
            if _local(name) == "c":
                cell, self._cell = self._cell, None
                self._write_cell(cell)
            return
        if self._text is not None:
            text, self._text = "".join(self._text), None
            if not is_plain(text):
                self.changed, text = self.changed + 1, "0" if _local(name) != "f" else "#REF!"
            super().characters(text)
        super().endElement(name)

    def _write_cell(self, cell: list[tuple[str, Any]]) -> None:
        opening, given = cell[0][1]
        formulas = [n for n, (kind, told) in enumerate(cell) if kind == "start" and _local(told[0]) == "f"]
        if formulas:
            first = formulas[0]
            shared = cell[first][1][1].get("si", "")
            end = next(n for n in range(first + 1, len(cell)) if cell[n][0] != "text")
            text = "".join(told for _, told in cell[first + 1 : end])
            is_one = len(formulas) == 1 and cell[end][0] == "end"
            if not is_one or not is_plain(text) or (not text and shared in self._removed):
                self._removed.add(shared)
                self.changed += 1
                self._as_text(opening, given, f"'={text}" if text else "'=")
                return
        for kind, told in cell:
            if kind == "start":
                super().startElement(told[0], AttributesImpl(told[1]))
            elif kind == "text":
                super().characters(told)
            else:
                super().endElement(told)

    def _as_text(self, name: str, given: dict[str, str], text: str) -> None:
        prefix = name[: -len("c")]
        kept = {key: value for key, value in given.items() if key in ("r", "s")} | {"t": "inlineStr"}
        super().startElement(name, AttributesImpl(kept))
        for part in ("is", "t"):
            super().startElement(prefix + part, AttributesImpl({}))
        super().characters(text)
        for part in ("t", "is", "c"):
            super().endElement(prefix + part)


class _Relations(_Copy):
    """Targets outside of the workbook lead nowhere."""

    def startElement(self, name: str, attrs: AttributesImpl) -> None:
        given = dict(attrs)
        if given.get("TargetMode", "").casefold() == "external":
            self.changed += 1
            given["Target"] = "about:blank"
        super().startElement(name, AttributesImpl(given))


_RULES = frozenset({"condition", "formatting-entry"})
_KIND_OF_RULE = re.compile(
    r"(?:formula-is|(?:not-)?(?:between|contains-text)|(?:begins|ends)-with|(?:top|bottom)-(?:elements|percent))\((.*)\)",
    re.DOTALL,
)


def _rule(value: str) -> str:
    """The formulas in a rule of LibreOffice for how cells look, such as `formula-is([.A1]>2)` or `below-average`."""
    kind = _KIND_OF_RULE.fullmatch(value)
    return _OWN_CELLS.sub("A1", kind[1] if kind else value)


class _OpenDocument(_Copy):
    """A part of an .ods: formulas are attributes; the value that was computed stays."""

    def startElement(self, name: str, attrs: AttributesImpl) -> None:
        local = _local(name)
        if local in (
            "dde-link",
            "dde-source",
            "cell-range-source",
            "table-source",
            "script",
            "event-listener",
            "plugin",
        ):
            raise _Refused(local)
        given = {}
        for key, value in attrs.items():
            if _local(key) in ("formula", "condition", "expression") and not self._stays(key, value):
                self.changed += 1
                continue
            if _local(key) == "href" and not value.startswith(("#", "Pictures/", "./Object")):
                self.changed += 1
                given[key] = "#"
                continue
            if _local(key) == "value" and local in _RULES and not is_plain(_rule(value)):
                self.changed += 1
                given[key] = "0"
                continue
            given[key] = value
        super().startElement(name, AttributesImpl(given))

    @staticmethod
    def _stays(key: str, value: str) -> bool:
        return _is_plain_ods(value) if _local(key) == "formula" else is_plain(_OWN_CELLS.sub("A1", value))


_XLSX = _Package(
    re.compile(
        r"\[Content_Types\]\.xml|(?:xl/(?:\w+/)*)?_rels/[\w.]*\.rels|docProps/\w+\.(?:xml|jpeg|png)"
        r"|xl/(?:workbook|styles|sharedStrings|metadata|calcChain)\.xml|xl/theme/\w+\.xml|xl/persons/\w+\.xml"
        r"|xl/(?:worksheets|chartsheets|charts|drawings|tables|pivotTables|pivotCache|threadedComments)/\w+\.(?:xml|vml)"
        r"|xl/comments/?\w*\.xml|xl/media/\w+\.(?:png|jpe?g|gif|bmp)|xl/printerSettings/\w+\.bin"
    ),
    lambda part: (
        _Relations if part.endswith(".rels")
        else _Sheet if re.match(r"xl/(workbook|worksheets|chartsheets|charts|tables)\b", part) else _Copy
    ),
)  # fmt: skip
_ODS = _Package(
    re.compile(
        r"mimetype|(?:META-INF/manifest|content|styles|meta|settings|Object \d+/(?:content|styles|meta))\.(?:xml|rdf)"
        r"|manifest\.rdf|META-INF/manifest\.xml|Thumbnails/\w+\.png|Pictures/\w+\.\w+|ObjectReplacements/[\w ]+"
        r"|Configurations2/(?:\w+/)*(?:\w+\.xml)?"
    ),
    lambda part: _OpenDocument,
)


def _safe_package(copy: Path, package: _Package | None) -> Checked:
    """Write the workbook again where something in it became text. Held when it has what we do not know."""
    if package is None:
        return Checked(held=True)
    written = copy.with_name(copy.name + ".safe")
    try:
        with zipfile.ZipFile(copy) as source, zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as target:
            changed = sum(_parts(source, target, package))
        if changed:
            written.replace(copy)
    except (
        SAXException,
        zipfile.BadZipFile,
        zlib.error,
        OSError,
        ValueError,
        NotImplementedError,
        EOFError,
        RuntimeError,
    ):
        return Checked(held=True)
    finally:
        written.unlink(missing_ok=True)
    return Checked(changed)


def _parts(source: zipfile.ZipFile, target: zipfile.ZipFile, package: _Package) -> Iterator[int]:
    """Copy each part, and tell how much of it became text. Raises for a part that is unknown or too large."""
    infos = [info for info in source.infolist() if not info.is_dir()]
    if len(infos) > _PARTS or len({info.filename.casefold() for info in infos}) != len(infos):
        raise zipfile.BadZipFile("parts")
    left = _UNPACKED
    for info in infos:
        name = info.filename
        if not package.parts.fullmatch(name):
            raise zipfile.BadZipFile("an unknown part")
        if name == "xl/calcChain.xml":
            continue  # Excel makes it again; it may name cells that hold no formula any more
        stored = zipfile.ZipInfo(name, _EPOCH)
        stored.compress_type = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
        with source.open(info) as content, target.open(stored, "w") as out:
            bounded = _Bounded(content, left)
            kind = package.rewrite(name) if name.endswith((".xml", ".rels", ".vml", ".rdf")) else None
            if kind is None:
                while chunk := bounded.read(_CHUNK):
                    out.write(chunk)
            else:
                yield _rewrite(bounded, kind(out))
            left = bounded.left


def _rewrite(content: _Bounded, copy: _Copy) -> int:
    parser = expatreader.create_parser()  # noqa: S315 - a document type is refused, and sizes are counted
    parser.setContentHandler(copy)
    parser.setProperty(handler.property_lexical_handler, copy)
    given = InputSource()
    given.setByteStream(content)
    parser.parse(given)
    return copy.changed


class _Bounded(io.RawIOBase):
    """A part of a zip that is unpacked up to a bound. `left` is what the parts after it may have."""

    def __init__(self, content: IO[bytes], left: int) -> None:
        super().__init__()
        self._content = content
        self.left = left

    def read(self, size: int = -1) -> bytes:
        """The next bytes; raises BadZipFile beyond the bound."""
        chunk = self._content.read(_CHUNK if size < 0 else min(size, _CHUNK))
        self.left -= len(chunk)
        if self.left < 0:
            raise zipfile.BadZipFile("too large")
        return chunk
