"""PDF files, their words and tables; and pictures, of which only size and kind are known here."""

from __future__ import annotations

import contextlib
import io
import os
import zlib
from typing import Any

from .bounds import SMALLER, Bounds
from .frames import cut, describe_frame, exact
from .headers import is_data
from .kinds import Unusable
from .lines import call, note

_FEWEST_ROWS = 2
_LONGEST_NAMES = 2_000


def pdf(path: str, _size: int, bounds: Bounds) -> dict[str, Any]:
    """The words of the first pages, and the tables that are drawn with lines on them, each with its page."""
    import pdfplumber  # noqa: PLC0415 - where it is installed: inside the sandbox
    from pdfminer.pdfdocument import PDFPasswordIncorrect  # noqa: PLC0415 - as above

    texts: list[str] = []
    tables: list[dict[str, Any]] = []
    last: list[str] = []
    more = 0
    try:
        with pdfplumber.open(path) as document:
            pages = len(document.pages)
            for page in document.pages[: bounds.pages]:
                texts.append(page.extract_text() or "")
                for place, cells in enumerate(page.extract_tables()):
                    taken = f"pdfplumber.open({path!r}).pages[{page.page_number - 1}].extract_tables()[{place}]"
                    if (table := table_of_cells(cells, taken, last, bounds)) and len(tables) >= bounds.sheets:
                        more += 1
                    elif table:
                        tables.append(table | {"name": f"page {page.page_number}, table {place + 1}"})
                        last = [column["name"] for column in table["columns"]]
                page.close()
    except MemoryError:
        raise
    except Exception as error:
        # pdfminer raises whatever a damaged stream leads it to; pdfplumber wraps some of it
        causes = [error, error.__cause__, error.__context__, *error.args]
        if any(isinstance(cause, PDFPasswordIncorrect) for cause in causes):
            raise Unusable("password") from None
        if any(isinstance(cause, MemoryError) for cause in causes):
            raise MemoryError from None
        raise Unusable("corrupt", detail=cut(error, 160) or type(error).__name__) from None
    text = "\n\n".join(filter(None, texts)).strip()
    notes = [note("pdf_pages", count=pages, rows=min(pages, bounds.pages))]
    if tables:
        notes.append(note("pdf_tables"))
    if more:
        notes.append(note("more_tables", count=more))
    without = [str(number) for number, page in enumerate(texts, 1) if not page.strip()]
    if not text:
        notes.append(note("pdf_no_text"))
    elif without:
        notes.append(note("pdf_pages_no_text", count=len(without), names=cut(", ".join(without), 100)))
    opened = call("pdfplumber.open", path, {})
    return {
        "format": "pdf",
        "tables": tables,
        "text": text[: bounds.text],
        "read_hint": f"'\\n'.join(page.extract_text() for page in {opened}.pages)",
        "notes": notes,
    }


def table_of_cells(cells: Any, taken: str, last: list[str], bounds: Bounds) -> dict[str, Any] | None:
    """The note of one table; None when it has no rows below its first.

    `taken` is the expression of its cells, `last` are the columns of the table before it. A table that goes on from
    there has no header of its own.
    """
    import pandas as pd  # noqa: PLC0415 - as above

    if not cells or len(cells[0]) < 2:
        return None
    rows = [[exact(cell if cell is not None else "", bounds.name) for cell in row] for row in cells[: bounds.rows]]
    if len(last) == len(rows[0]) and is_data(rows[0], rows) and len(repr(last)) < _LONGEST_NAMES:
        frame = pd.DataFrame(cells[: bounds.rows], columns=last)
        read = f"pd.DataFrame({taken}, columns={last!r})"
    elif len(cells) < _FEWEST_ROWS:
        return None
    else:
        frame = pd.DataFrame(cells[1 : bounds.rows], columns=rows[0])
        read = f"(lambda t: pd.DataFrame(t[1:], columns=t[0]))({taken})"
    return describe_frame(frame, "", bounds) | {"read": read}


_PICTURES = {"PNG": "png", "JPEG": "jpeg", "GIF": "gif", "WEBP": "webp"}


def _make_smaller(image: Any, path: str, bounds: Bounds) -> None:
    """Write a picture upright and smaller beside it. Without room on the disk there is none, nor where a file of people
    or of a cell has that name."""
    from PIL import Image, ImageOps  # noqa: PLC0415 - as above

    upright = ImageOps.exif_transpose(image)
    upright.thumbnail((bounds.side, bounds.side))
    clear = upright.convert("RGBA")
    page = Image.new("RGB", clear.size, "white")  # a JPEG cannot be transparent
    page.paste(clear, mask=clear.getchannel("A"))
    made = io.BytesIO()
    page.save(made, "JPEG", quality=85)
    with contextlib.suppress(OSError):
        if not os.path.exists(path + SMALLER) or _holds(path + SMALLER, made.getvalue()):
            with open(path + SMALLER, "wb") as copy:
                copy.write(made.getvalue())


def _holds(path: str, content: bytes) -> bool:
    if os.path.getsize(path) != len(content):
        return False
    with open(path, "rb") as file:
        return file.read() == content


def picture(path: str, size: int, bounds: Bounds) -> dict[str, Any]:
    """The kind and size of a picture. It is decoded once, so that a damaged one is found here.

    One of many bytes gets a smaller copy beside it, for models that see.
    """
    from PIL import Image  # noqa: PLC0415 - as above

    try:
        with Image.open(path, formats=tuple(_PICTURES)) as image:
            width, height, kind = image.width, image.height, _PICTURES[str(image.format)]
            if width * height <= bounds.pixels:
                image.load()
                if size > bounds.picture:
                    _make_smaller(image, path, bounds)
    except MemoryError:
        raise
    except (OSError, ValueError, SyntaxError, zlib.error, Image.DecompressionBombError, EOFError) as error:
        raise Unusable("corrupt", detail=cut(error, 160)) from None
    if width * height > bounds.pixels:
        raise Unusable("too_much", detail=f"{width} x {height} pixels")
    name = os.path.basename(path)
    return {
        "format": kind,
        "text": f"{exact(name, 100)}: {kind.upper()}, {width} x {height} pixels",
        "read_hint": call("PIL.Image.open", path, {}),
        "notes": [],
    }
