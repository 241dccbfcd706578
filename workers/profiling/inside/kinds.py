"""Finds what a file really is by its first bytes, not by its name. Also the reasons why a file cannot be used."""

from __future__ import annotations

import zipfile


class Unusable(Exception):
    """Nothing can be done with the file. `code` is the reason, `values` what a sentence about it needs."""

    def __init__(self, code: str, **values: str) -> None:
        super().__init__(code)
        self.code = code
        self.values = values


BINARY_TABLES = {"xlsx": "xlsx", "xlsm": "xlsx", "parquet": "parquet", "pq": "parquet"}
"""Extensions of binary formats that are read, and the kind their content must have."""

TEXTS = frozenset({"csv", "tsv", "tab", "txt", "log", "json", "jsonl", "ndjson", "md", "markdown", "html", "htm"})

_DOCUMENTS = {"pdf", "doc", "docx", "odt", "rtf", "ppt", "pptx", "xls", "xlsb", "ods", "numbers"}
_MEDIA = {"png", "jpg", "jpeg", "gif", "webp", "bmp", "tif", "tiff", "svg", "heic", "mp3", "mp4", "mov", "wav"}
_PACKED = {"zip", "gz", "bz2", "xz", "7z", "rar", "tar", "exe", "dll", "so", "bin"}
_DATA = {
    "db",
    "sqlite",
    "sqlite3",
    "mdb",
    "accdb",
    "pkl",
    "pickle",
    "feather",
    "arrow",
    "orc",
    "avro",
    "h5",
    "sav",
    "dta",
}
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
    (b"SQLite format 3\0", "database"),
)
_ZIPPED = (("xl/", "xlsx"), ("word/", "document"), ("ppt/", "document"))
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_LARGEST_DIRECTORY = 64_000_000


def kind_of(path: str, head: bytes) -> str:
    """text, xlsx, parquet, pdf, image, program, office, archive, document, database or binary."""
    if head.startswith(b"PK\x03\x04") or head.startswith(b"PK\x05\x06"):
        return _kind_of_zip(path)
    for magic, kind in _MAGIC:
        if head.startswith(magic) and (kind != "program" or b"\0" in head[:512]):
            return kind
    return "binary" if _is_binary(head) else "text"


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
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return "archive"
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
