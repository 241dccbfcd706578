"""Word documents and slides: their words, their tables and the numbers behind their charts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .bounds import Bounds
from .documents import table_of_cells
from .frames import cut, describe_frame
from .kinds import Unusable
from .lines import call, call_with, note
from .pages import tables_of
from .spreadsheets import refuse_entities

_DEEPEST = 10
"""Groups of shapes inside groups."""
_OF_CHART = (
    "(lambda c: pd.DataFrame([s.values for s in c.series], [s.name for s in c.series], list(c.plots[0].categories)).T)"
)
_NAMED = ".reset_index(names='category', allow_duplicates=True)"


def word(path: str, _size: int, bounds: Bounds) -> dict[str, Any]:
    """A document's words and tables, as mammoth makes a page of them: tracked changes count as accepted."""
    import mammoth  # type: ignore[import-untyped]  # noqa: PLC0415 - imported where it is installed: inside the sandbox

    refuse_entities(path, bounds)
    try:
        with open(path, "rb") as file:
            words = mammoth.extract_raw_text(file).value
            page = mammoth.convert_to_html(file, convert_image=lambda _: []).value
    except MemoryError:
        raise
    except Exception as error:
        # it raises whatever a damaged document leads it to
        raise Unusable("corrupt", detail=cut(error, 160) or type(error).__name__) from None
    made = f"mammoth.convert_to_html(open({path!r}, 'rb'), convert_image=lambda _: []).value"
    # two paragraphs of a cell are two words
    parted = f"io.StringIO({made}.replace('</p>', '</p> '))"
    described: dict[str, Any] = {
        "format": "docx",
        "text": "\n".join(line for raw in words.splitlines() if (line := raw.strip()))[: bounds.text],
        "read_hint": f"mammoth.extract_raw_text(open({path!r}, 'rb')).value",
    }
    found = tables_of(page.replace("</p>", "</p> "), bounds, lambda more: call_with("pd.read_html", parted, more))
    for number, table in enumerate(found.get("tables", [])):
        table["name"] = f"table {number + 1}"
        table["read"] = table["read"] or f"{found['read_hint'].removesuffix('[0]')}[{number}]"
    return found | described


def slides(path: str, _size: int, bounds: Bounds) -> dict[str, Any]:
    """The words of the first slides and of their notes, their tables, and what their charts are drawn from."""
    import pptx  # noqa: PLC0415 - as above

    refuse_entities(path, bounds)
    tables: list[dict[str, Any]] = []
    texts: list[str] = []
    more = 0
    try:
        opened = pptx.Presentation(path)
        count = len(opened.slides)
        for place, slide in enumerate(opened.slides):
            if place >= bounds.pages:
                break
            texts.append(f"[{place + 1}]")
            taken = f"{call('pptx.Presentation', path, {})}.slides[{place}]"
            for number, (shape, found) in enumerate(_shapes(slide.shapes, taken, 0), 1):
                if shape.has_text_frame:
                    texts.append(shape.text_frame.text)
                table = _table(shape, found, bounds)
                if table and len(tables) >= bounds.sheets:
                    more += 1
                elif table:
                    tables.append(table | {"name": f"slide {place + 1}, shape {number}"})
            if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
                texts.append(slide.notes_slide.notes_text_frame.text)
    except MemoryError:
        raise
    except Exception as error:
        # as above
        raise Unusable("corrupt", detail=cut(error, 160) or type(error).__name__) from None
    notes = [note("slides", count=count, rows=min(count, bounds.pages))]
    if tables:
        notes.append(note("slide_tables"))
    if more:
        notes.append(note("more_tables", count=more))
    every = f"for slide in {call('pptx.Presentation', path, {})}.slides for s in slide.shapes if s.has_text_frame"
    return {
        "format": "pptx",
        "tables": tables,
        "text": "\n".join(line for text in texts for raw in text.splitlines() if (line := raw.strip()))[: bounds.text],
        "read_hint": f"'\\n'.join(s.text_frame.text {every})",
        "notes": notes,
    }


def _shapes(shapes: Any, taken: str, depth: int) -> Iterator[tuple[Any, str]]:
    """Each shape with the expression that finds it, those of groups too."""
    for place, shape in enumerate(shapes):
        found = f"{taken}.shapes[{place}]"
        if hasattr(shape, "shapes") and depth < _DEEPEST:
            yield from _shapes(shape.shapes, found, depth + 1)
        else:
            yield shape, found


def _table(shape: Any, found: str, bounds: Bounds) -> dict[str, Any] | None:
    """The note of the table that a shape is, or of its chart's numbers, with the line that reads it."""
    import pandas as pd  # noqa: PLC0415 - as above

    if getattr(shape, "has_table", False) and shape.has_table:
        cells = [[cell.text for cell in row.cells] for row in shape.table.rows]
        return table_of_cells(cells, f"[[c.text for c in r.cells] for r in {found}.table.rows]", [], bounds)
    if getattr(shape, "has_chart", False) and shape.has_chart:
        chart = shape.chart
        categories = list(chart.plots[0].categories)
        series = list(chart.series)
        if not categories or any(len(one.values) != len(categories) for one in series):
            return None  # points have no categories
        frame = pd.DataFrame([one.values for one in series], [one.name for one in series], categories).T
        named = frame.reset_index(names="category", allow_duplicates=True)
        return describe_frame(named, "", bounds) | {"read": f"{_OF_CHART}({found}.chart){_NAMED}"}
    return None
