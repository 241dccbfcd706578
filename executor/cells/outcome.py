"""How a cell ended, as its own subprocess reports it: only its shape is trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from executor.cell import Cell, stopped
from executor.frames import Message, ProtocolError
from executor.limit_errors import limit_met
from executor.notices import Notices, notice
from executor.said import checks_from, notices_from, problems_from
from executor.values import CellError, CellStatus, Chart, DataCheck, Display, Limits, Notice, Rejected
from executor.wire import (
    display_from,
    error_from,
    figures_from,
    integer,
    mapping,
    one_of,
    text,
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is known of a cell that has ended; `notices` say which limit it met or who stopped it."""

    status: CellStatus
    notices: Notices = ()
    display: Display | None = None
    error: CellError | None = None
    figures: Mapping[str, tuple[Chart, ...]] = field(default_factory=dict)
    problems: tuple[Rejected, ...] = ()
    exit_status: int | None = None
    checks: tuple[DataCheck, ...] = ()


def reported(message: Message, cell: Cell, limits: Limits, refused: Sequence[str] = ()) -> Outcome:
    """Read a report of the cell's end. Raises ProtocolError when it is malformed or of another cell.

    `refused` names system calls that it made and the sandbox refused.
    """
    if text(message, "cell", 500) != cell.id:
        raise ProtocolError("it reported a cell that does not run")
    status = one_of(message, "status", ("ok", "error", "interrupted"))
    told = Outcome(
        status="ok" if status == "ok" else "error",
        notices=notices_from(message),
        display=None if message.get("result") is None else display_from(mapping(message, "result")),
        error=None if message.get("error") is None else error_from(mapping(message, "error")),
        figures=figures_from(message),
        problems=problems_from(message),
        exit_status=None if message.get("exit_status") is None else integer(message, "exit_status"),
        checks=checks_from(message),
    )
    if status == "interrupted" and told.error is not None:
        cell.line = told.error.line
    if cell.stopped_by is not None:
        kept = (notice("all_kept"),) if cell.language == "python" or not told.notices else told.notices
        return replace(told, status=cell.stopped_by, notices=(stopped(cell), *kept), exit_status=None)
    if told.exit_status:
        failed = CellError("ExitStatus", f"the command ended with exit status {told.exit_status}", "")
        return replace(told, status="error", error=failed, notices=(*_named(refused), *told.notices))
    if status == "error" and told.error is not None and (limit := _limit(told.error, limits, refused)) is not None:
        more = told.notices if told.error.name != "MemoryError" else ()
        return replace(told, notices=(limit, notice("all_kept"), *more))
    return told


def _limit(error: CellError, limits: Limits, refused: Sequence[str]) -> Notice | None:
    """The limit that the cell met. Calls that were refused by name count as one, whatever a library made of them."""
    limit = limit_met(error, limits)
    return next(iter(_named(refused)), limit) if limit is None or limit.code == "call_refused" else limit


def _named(refused: Sequence[str]) -> Notices:
    return (notice("calls_refused", names=", ".join(refused)),) if refused else ()
