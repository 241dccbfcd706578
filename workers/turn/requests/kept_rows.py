"""What cells got from data sources, kept so that a clean room can give it to the same cells once more.

Rows and answers of catalogues are contents of the file store, named by the step of their cell: a purge of the thread
deletes them, and so does a reset of its session. No more rows than `[report] clean_room_rows_mb` are kept for one
question.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from core.blobs import Blobs
from core.errors import BlobMissing, BlobsUnreachable
from core.steps import CellRan, LookedUp, StatementRan, Step, ToolRan
from core.telemetry import get_logger
from core.values import StoredFile
from executor.client import WithFile
from executor.linux import SEALS
from workers.agent.about_steps import cells
from workers.sources.broker.requests import Ask
from workers.sources.errors import Refused
from workers.tools.errors import ToolFailed
from workers.tools.requests import ToolAsk
from workers.tools.requests import asked_of as call_of

log = get_logger(__name__)

MB = 1024 * 1024
MOST_ANSWER = 1 * MB
"""Bytes of an answer of a catalogue."""
NOT_KEPT = "The rows of this query were not kept, so this cell cannot be run again."


def asked_of(ask: Ask) -> str:
    """A text that is the same for the same request of a cell. The source is no part of it: the statement names that."""
    whole = ask.model_copy(update={"source": ""}).model_dump_json()
    return hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()


def keep_rows(blobs: Blobs, descriptor: int, room: int) -> StoredFile | None:
    """Put the open file of a result into the file store; None when it is larger than `room`, or cannot be kept."""
    size = os.fstat(descriptor).st_size
    if size > room:
        return None
    try:
        sha256 = blobs.put(Path(f"/proc/self/fd/{descriptor}"))
    except (BlobsUnreachable, OSError) as error:
        log.warning("rows_not_kept", error=error)
        return None
    return StoredFile(name="rows.arrow", mimetype="application/vnd.apache.arrow.stream", size=size, sha256=sha256)


def keep_answer(blobs: Blobs, value: Any) -> StoredFile | None:
    """Put an answer of a catalogue into the file store, as JSON; None when it is too large, or cannot be kept."""
    data = json.dumps(value).encode()
    if len(data) > MOST_ANSWER:
        return None
    try:
        sha256 = blobs.put(data)
    except (BlobsUnreachable, OSError) as error:
        log.warning("catalogue_not_kept", error=error)
        return None
    return StoredFile(name="answer.json", mimetype="application/json", size=len(data), sha256=sha256)


def room_left(steps: Sequence[Step], statements: Sequence[StatementRan], limit_mb: int) -> int:
    """The bytes that may still be kept for this question."""
    ran = [*(one for cell in cells(steps) for one in cell.statements), *statements]
    return limit_mb * MB - sum(one.rows_file.size for one in ran if one.rows_file is not None)


def answers_again(blobs: Blobs, cell: CellRan) -> KeptRows | None:
    """What answers the requests of a cell that is run again; None for a cell that made none."""
    return KeptRows(blobs, cell) if cell.statements or cell.lookups or cell.tool_calls else None


class KeptRows:
    """Answers the requests of a cell that is run again, with what it got the first time. Nothing reaches a source."""

    def __init__(self, blobs: Blobs, cell: CellRan) -> None:
        self._blobs = blobs
        self._left: list[StatementRan | LookedUp] = [*cell.statements, *cell.lookups]
        self._calls = list(cell.tool_calls)

    def __call__(self, kind: str, payload: Mapping[str, Any]) -> Any:
        """The rows or the answer of the same request. Raises Refused, ToolFailed."""
        if kind == "tool":
            return self._tool(payload)
        try:
            ask = Ask.model_validate(payload)
        except ValidationError:
            raise Refused(NOT_KEPT) from None
        asked = asked_of(ask)
        for place, one in enumerate(self._left):
            if one.asked == asked and ask.source in ("", one.source):
                del self._left[place]
                return self._answer(one) if isinstance(one, StatementRan) else self._told(one.answer)
        raise Refused(NOT_KEPT)

    def _tool(self, payload: Mapping[str, Any]) -> Any:
        try:
            ask = ToolAsk.model_validate(payload)
        except ValidationError:
            raise Refused(NOT_KEPT) from None
        server, _, tool = ask.name.partition(".")
        asked = call_of(server, tool, ask.arguments)
        for place, one in enumerate(self._calls):
            if one.asked == asked:
                del self._calls[place]
                return self._given(one)
        raise Refused(NOT_KEPT)

    def _given(self, one: ToolRan) -> Any:
        if one.error:
            raise ToolFailed(one.error)
        return self._told(one.answer)

    def _told(self, answer: StoredFile | None) -> Any:
        if answer is None:
            raise Refused(NOT_KEPT)
        try:
            return json.loads(self._blobs.get(answer.sha256))
        except BlobMissing:
            raise Refused(NOT_KEPT) from None

    def _answer(self, one: StatementRan) -> WithFile:
        if one.error:
            raise Refused(one.error)
        if one.rows_file is None:
            raise Refused(NOT_KEPT)
        try:
            data = self._blobs.get(one.rows_file.sha256)
        except BlobMissing:
            raise Refused(NOT_KEPT) from None
        descriptor = os.memfd_create("rows", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            with open(descriptor, "wb", closefd=False) as file:
                file.write(data)
            os.lseek(descriptor, 0, os.SEEK_SET)
            fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, SEALS)
        except BaseException:
            os.close(descriptor)
            raise
        return WithFile({"rows": one.rows}, descriptor)
