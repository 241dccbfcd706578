"""Finds what a file really is by its first bytes, not by its name. Also the reasons why a file cannot be used."""

from __future__ import annotations

import re
import zipfile
import zlib


class Unusable(Exception):
    """Nothing can be done with the file. `code` is the reason, `values` what a sentence about it needs."""

    def __init__(self, code: str, **values: str) -> None:
        super().__init__(code)
        self.code = code
        self.values = values


_ANY_ZIP = ("archive", "xlsx", "xlsb", "ods", "docx", "pptx", "document")
BINARY_TABLES: dict[str, tuple[str, ...]] = {
    "xlsx": ("xlsx",),
    "xlsm": ("xlsx",),
    "xls": ("office",),
    "ods": ("ods",),
    "parquet": ("parquet",),
    "pq": ("parquet",),
    "feather": ("arrow",),
    "arrow": ("arrow",),
    "orc": ("orc",),
    "xlsb": ("xlsb",),
    "sqlite": ("database",),
    "sqlite3": ("database",),
    "db3": ("database",),
    "duckdb": ("duckdb",),
    "ddb": ("duckdb",),
    "db": ("database", "duckdb"),
    "dta": ("stata",),
    "sav": ("spss",),
    "zsav": ("spss",),
    "sas7bdat": ("sas",),
    "xpt": ("xport",),
    "pdf": ("pdf",),
    "docx": ("docx",),
    "docm": ("docx",),
    "pptx": ("pptx",),
    "pptm": ("pptx",),
    "png": ("image",),
    "jpg": ("image",),
    "jpeg": ("image",),
    "gif": ("image",),
    "webp": ("image",),
    "zip": _ANY_ZIP,
    "gz": ("archive",),
    "bz2": ("archive",),
    "xz": ("archive",),
}
"""Extensions of binary formats that are read, and the kinds their content may have."""

NAMED_XLS = ("text", "xlsx")
"""What many programs give under the name .xls: a page with a table, lines with tabs, a newer workbook."""
TEXTS = frozenset(
    {"csv", "tsv", "tab", "txt", "log", "json", "geojson", "jsonl", "ndjson", "md", "markdown", "html", "htm", "xml"}
)

_DOCUMENTS = {"doc", "odt", "rtf", "ppt", "numbers"}
_MEDIA = {"bmp", "tif", "tiff", "svg", "heic", "mp3", "mp4", "mov", "wav"}
TARS = ("tar", "tgz", "tar.gz", "tar.bz2", "tar.xz")
"""Archives that are read when they hold source code."""
_PACKED = {"7z", "rar", "tar", "zst", "exe", "dll", "so", "bin"}
_DATA = {"mdb", "accdb", "pkl", "pickle", "avro", "h5", "por"}
UNSUPPORTED = frozenset(_DOCUMENTS | _MEDIA | _PACKED | _DATA)

_MAGIC = (
    (b"%PDF-", "pdf"),
    (b"\x89PNG\r\n", "image"),
    (b"\xff\xd8\xff", "image"),
    (b"GIF8", "image"),
    (b"MZ", "program"),
    (b"\x7fELF", "program"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "office"),
    (b"\x1f\x8b", "archive"),
    (b"BZh", "archive"),
    (b"\xfd7zXZ", "archive"),
    (b"7z\xbc\xaf", "archive"),
    (b"Rar!", "archive"),
    (b"PAR1", "parquet"),
    (b"ARROW1", "arrow"),
    (b"ORC", "orc"),
    (b"SQLite format 3\0", "database"),
    (b"<stata_dta>", "stata"),
    (b"$FL2", "spss"),
    (b"$FL3", "spss"),
    (b"\0" * 12 + b"\xc2\xea\x81\x60", "sas"),
    (b"HEADER RECORD*******LIB", "xport"),
)
_LIKE_WORDS = frozenset({"program", "orc"})
"""Kinds whose first bytes a text may begin with. A text has no zeros."""
LFS_POINTER = b"version https://git-lfs.github.com/spec/v1"
"""How a file begins that stands for one in Git LFS (its specification)."""
_OLD_STATA = re.compile(rb"[\x69-\x73][\x01\x02]\x01\0", re.DOTALL)
"""The version, byte order and type of a Stata file from before 2013."""
_ZIPPED = (("xl/", "xlsx"), ("word/", "docx"), ("ppt/", "pptx"))
_SPREADSHEET = b"application/vnd.oasis.opendocument.spreadsheet"
XML_WORKBOOK = b"urn:schemas-microsoft-com:office:spreadsheet"
"""The namespace of SpreadsheetML 2003, which no library here reads."""
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_LARGEST_DIRECTORY = 64_000_000


def kind_of(path: str, head: bytes) -> str:
    """text, xlsx, xlsb, ods, docx, pptx, document, parquet, arrow, orc, pdf, image, program, office, archive, database,
    duckdb, stata, spss, sas, xport or binary."""
    if head.startswith(b"PK\x03\x04") or head.startswith(b"PK\x05\x06"):
        return _kind_of_zip(path)
    for magic, kind in _MAGIC:
        if head.startswith(magic) and (kind not in _LIKE_WORDS or b"\0" in head[:512]):
            return kind
    if head[8:12] == b"DUCK":
        return "duckdb"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image"
    if _OLD_STATA.match(head):
        return "stata"
    return "binary" if _is_binary(head) else "text"


def true_extension(found: str, head: bytes) -> str:
    """The extension that a file should have whose name says .xls.

    Raises Unusable for a workbook in the XML of Excel 2003.
    """
    if found != "text":
        return found
    begin = head[:8_192].replace(b"\0", b"").lower()
    is_xml = begin.lstrip(b"\xef\xbb\xbf\xff\xfe \r\n").startswith(b"<?xml")
    if is_xml and XML_WORKBOOK in begin:
        raise Unusable("xml_workbook")
    if b"<table" in begin or b"<html" in begin:
        return "html"
    return "txt" if is_xml else "tsv"


def is_protected(path: str, kind: str) -> bool:
    """Whether an Office file is encrypted: then it is an OLE container with a stream of this name."""
    if kind != "office":
        return False
    with open(path, "rb") as file:
        return _ENCRYPTED in file.read(_LARGEST_DIRECTORY)


def _kind_of_zip(path: str) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()[:5_000]
            if "mimetype" in names and archive.getinfo("mimetype").file_size < 200:
                if archive.read("mimetype").startswith(_SPREADSHEET):
                    return "ods"
                return "document"
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError, zlib.error, EOFError):
        return "archive"
    if "xl/workbook.bin" in names:
        return "xlsb"
    return next((kind for folder, kind in _ZIPPED if any(name.startswith(folder) for name in names)), "archive")


def _is_binary(head: bytes) -> bool:
    """Whether the bytes hold control characters that no text has. UTF-16 has zeros, but at every other place."""
    sample = head[:8_192]
    if sample.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False
    zeros = sample.count(0)
    even = sample[0::2].count(0)
    if zeros > len(sample) // 5 and (even == 0 or even > 4 * (zeros - even) or zeros > 4 * even):
        sample = sample.replace(b"\0", b"")
    odd = sum(byte < 9 or 13 < byte < 27 or 27 < byte < 32 for byte in sample)
    return odd > len(sample) // 200
