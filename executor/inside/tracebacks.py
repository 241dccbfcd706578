"""An exception as the person who wrote the cell wants to see it: their own frames, their own lines."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Any

_TEXT_LIMIT = 20_000
_MESSAGE_LIMIT = 4_000
_OURS = re.compile(rf"^([ |]*){re.escape(__name__.rpartition('.')[0])}\.\w+\.(?=\w+(?::|$))", re.MULTILINE)
"""Where an exception of ours stands in a traceback: its module says nothing to who wrote the cell."""

OwnFile = Callable[[str], bool]


def describe_error(error: BaseException, cell_file: str, own: OwnFile) -> dict[str, Any]:
    """The exception as a CellError in JSON. `own(filename)` says whether a frame belongs to the person's code."""
    try:
        name = type(error).__name__
        message = _message(error)
        summary = traceback.TracebackException.from_exception(error, compact=True)
        _keep_own_frames(summary, own, set())
        text = _OURS.sub(r"\1", "".join(summary.format()))
        line = _cell_line(error, error.__traceback__, cell_file)
    except BaseException as problem:
        # the exception's own __str__, __cause__ or __class__ may raise anything
        name, message, line = type(error).__name__, "(this exception cannot be shown)", None
        text = f"{name}: {message} [{type(problem).__name__} while showing it]\n"
    return {"name": name[:200], "message": message, "traceback": shorten(text, _TEXT_LIMIT), "line": line}


def _message(error: BaseException) -> str:
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    return shorten(str(message), _MESSAGE_LIMIT)


def _keep_own_frames(summary: traceback.TracebackException, own: OwnFile, seen: set[int]) -> None:
    if id(summary) in seen:
        return
    seen.add(id(summary))
    summary.stack[:] = [frame for frame in summary.stack if own(frame.filename)]
    for other in (summary.__cause__, summary.__context__, *(summary.exceptions or ())):
        if other is not None:
            _keep_own_frames(other, own, seen)
    # an error that a library turned into another one, without any line of the cell's, explains nothing
    if summary.__cause__ is not None and not summary.__cause__.stack:
        summary.__cause__ = None
    if summary.__context__ is not None and not summary.__context__.stack:
        summary.__context__ = None


def _cell_line(error: BaseException, trace: TracebackType | None, cell_file: str) -> int | None:
    line = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == cell_file:
            line = trace.tb_lineno
        trace = trace.tb_next
    if line is None and isinstance(error, SyntaxError) and error.filename == cell_file:
        line = error.lineno
    return line


def shorten(text: str, limit: int) -> str:
    """`text`, or its head and tail with a line between them that says how much was left out."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half:,} characters left out here ...]\n{text[-half:]}"
