"""The guards: pure questions about a turn that `decide` asks before it lets the model go on.

Each guard answers a known complaint about such systems: the same failing code for ever, no cap, endless empty replies,
invented data although a file was given.
"""

from __future__ import annotations

import fnmatch
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from core.steps import (
    Asked,
    CellRan,
    Checked,
    Compacted,
    Corrected,
    FileAbstract,
    Questioned,
    Replied,
    Step,
)
from workers.agent.allowed_cells import last_runs, needs_a_yes
from workers.agent.code.source import fingerprint, strings
from workers.agent.hints import error_line
from workers.agent.pictures import IMAGES, is_shown
from workers.agent.replies.intents import Report
from workers.agent.stages import since_decided
from workers.agent.text import one_line
from workers.agent.turn import Told, Turn, episodes, files_of, steps_after

CHANGE_OF_APPROACH = "change_of_approach"
OUT_OF_CELLS = "out_of_cells"
NO_DATA_READ = "no_data_read"
REQUIREMENT_FILE = ".toml"
"""The ending of a file that describes a program."""
UNSOURCED = "unsourced"
LAYOUT = "layout"
"""The correction that asks the model to keep to the channel's layout. It comes once in a turn."""
NEAR_THE_END = 2
"""The model is told to finish when this many replies or cells are left."""

_VARIES = re.compile(r"0x[0-9a-f]+|(?<=\bline )\d+|(?<=\bposition )\d+|(?<=\brow )\d+", re.IGNORECASE)


class Repetition(NamedTuple):
    """The same code or error came again. `what` is "code" or "error", `detail` says which one. `ran`: the code ran
    well the last time."""

    what: str
    times: int
    detail: str
    ran: bool = False


def cells_run(turn: Turn) -> int:
    """Cells of this turn so far, without people's own code."""
    return sum(isinstance(step, CellRan) and not step.is_own for step in turn.steps)


def replies_left(turn: Turn) -> int:
    """Model calls that this turn may still make, by its limit and the budgets. The judge's calls count too."""
    left = turn.limits.max_model_calls - sum(isinstance(step, Replied) and not step.user for step in turn.steps)
    return max(left if turn.allowance is None else min(left, turn.allowance.calls), 0)


def is_short_of_budget(turn: Turn) -> bool:
    """Whether only the last reply is left because of a budget, not because of the turn's limit."""
    return turn.allowance is not None and turn.allowance.calls <= replies_left(turn) < NEAR_THE_END


def cells_left(turn: Turn) -> int:
    """Cells that this turn may still run. One that stopped to ask a person and then ran again is one cell."""
    ran = sum(not cell.is_own for cell in last_runs(turn.steps))
    return max(turn.limits.max_cells - ran, 0)


def corrections(turn: Turn, reason: str) -> int:
    """How often the model was told this in this turn."""
    return sum(isinstance(step, Corrected) and step.reason == reason for step in turn.steps)


def refusals(turn: Turn) -> list[str]:
    """Why the judge sent a report of this turn back, each time; in staged review the result of this stage."""
    now = since_decided(turn.steps)
    return [step.reason for step in now if isinstance(step, Checked) and not step.is_final]


def reports_sent_back(turn: Turn) -> int:
    """How often a report of this turn, or the result of this stage, was sent back: by the judge, or for figures that
    nothing backs."""
    now = since_decided(turn.steps)
    return len(refusals(turn)) + sum(isinstance(step, Corrected) and step.reason == UNSOURCED for step in now)


def compactions(turn: Turn) -> int:
    """How often the prompt was made shorter since the model last replied."""
    since = steps_after(turn.steps, Replied)
    return sum(isinstance(step, Compacted) for step in (turn.steps if since is None else since))


def tried_cells(turn: Turn) -> list[CellRan]:
    """The model's cells since the last change of approach, without those that only waited for a person's yes."""
    cells: list[CellRan] = []
    for step in turn.steps:
        if isinstance(step, Corrected) and step.reason == CHANGE_OF_APPROACH:
            cells.clear()
        elif isinstance(step, CellRan) and step.status != "undone" and not step.is_own and not needs_a_yes(step):
            cells.append(step)
    return cells


def repetition(turn: Turn) -> Repetition | None:
    """The code or error that came too often since the last change of approach; None when there is none."""
    cells = tried_cells(turn)
    failed = [cell for cell in cells if cell.status != "ok"]
    for what, keys in (
        ("error", [(error_key(cell), error_line(cell)) for cell in failed]),
        ("code", [(fingerprint(cell.code), cell.title) for cell in cells]),
    ):
        counted = Counter(key for key, _ in keys).most_common(1)
        if counted and counted[0][1] >= turn.limits.same_failure:
            key, count = counted[0]
            shown = one_line(next(shown for k, shown in reversed(keys) if k == key), 300)
            ran = what == "code" and next(c for c in reversed(cells) if fingerprint(c.code) == key).status == "ok"
            return Repetition(what, count, shown, ran)
    return None


def error_key(cell: CellRan) -> str:
    """What makes two errors equal: status, kind and message, without addresses and line numbers."""
    return f"{cell.status} {cell.error_name} {_VARIES.sub('#', error_line(cell))}"


def futile_replies(turn: Turn) -> int:
    """How many of the last replies in a row led to nothing but corrections."""
    count = 0
    for episode in reversed(episodes(turn.steps)[1]):
        if not episode.steps or any(isinstance(step, CellRan | Questioned | Checked | Asked) for step in episode.steps):
            break
        if any(isinstance(step, Corrected) and step.reason in (UNSOURCED, LAYOUT) for step in episode.steps):
            break
        count += 1
    return count


def unread_files(turn: Turn) -> tuple[str, ...]:
    """The files that must be read before the turn may finish; empty when it may.

    Files given in this turn: at least one must have been opened by a cell of this turn. Else, files given earlier in
    the thread: at least one must have been opened by some cell of the thread. A picture that the model is shown counts
    for nothing here: it looks at it. Neither does a requirement file: no answer is computed from it.
    """
    now = _to_read(turn, files_of(turn.steps))
    thread = list(turn.thread_steps)
    given, steps = (now, list(turn.steps)) if now else (_to_read(turn, files_of(thread)), thread)
    if any(_opens(step, given) for step in steps if isinstance(step, CellRan)):
        return ()
    return tuple(file.path for file in given)


def only_declines(turn: Turn, report: Report, unread: Collection[str]) -> bool:
    """Whether a report says, without a figure, that the unread files are pictures which the model cannot see.

    A table or a text could have been read: no report may pass over those.
    """
    files = [file for file in files_of(list(turn.thread_steps)) if file.path in unread]
    text = report.text
    for file in files:
        text = text.replace(file.path, "")
    return report.partial and all(file.format in IMAGES for file in files) and not any(map(str.isdigit, text))


def _to_read(turn: Turn, files: Sequence[FileAbstract]) -> list[FileAbstract]:
    return [
        file
        for file in files
        if not (turn.sees and is_shown(file)) and not file.path.casefold().endswith(REQUIREMENT_FILE)
    ]


def _opens(cell: CellRan, files: Sequence[FileAbstract]) -> bool:
    """Whether a cell opened one of these files: as the kernel saw it, else by the names in its code."""
    names = {_name(file.path) for file in files}
    if cell.files_read is not None:
        return any(_name(path) in names for path in cell.files_read)
    return any(_names_one(text, names) for text in strings(cell.code))


def _names_one(text: str, names: Iterable[str]) -> bool:
    """Whether a string constant names one of these files, by its name or by a pattern ("*.csv")."""
    wanted = _name(text)
    return any(
        wanted == name or ("*" in wanted and "." in wanted and fnmatch.fnmatchcase(name, wanted)) for name in names
    )


def _name(path: str) -> str:
    return unicodedata.normalize("NFC", PurePosixPath(path).name)


_MOST_ERRORS = 3
_MOST_TOLD = 2_000
"""More than is shown, because a value may stand where the text is cut."""


def failed_so_far(steps: Sequence[Step], told: Told = str) -> list[dict[str, str]]:
    """The last different errors of these steps, newest last: the cell's title and the error in one line, as people are
    `told` it. A cell that stopped to ask a person did not fail."""
    failed = (cell for cell in last_runs(steps) if cell.status not in ("ok", "undone") and not needs_a_yes(cell))
    by_error = {told(error_line(cell)): one_line(cell.title, 120) for cell in failed}
    return [{"title": title, "error": error} for error, title in list(by_error.items())[-_MOST_ERRORS:] if error]


def known_so_far(steps: Sequence[Step], told: Told = str) -> list[dict[str, str]]:
    """What the successful cells showed, newest last: titles and last lines of output, as people are `told` them. For a
    turn that gives up."""
    ran = [step for step in steps if isinstance(step, CellRan) and step.status == "ok"]
    shown = []
    for cell in ran[-5:]:
        lines = [" ".join(line.split()) for line in (cell.result or cell.stdout).splitlines() if line.strip()]
        text = told(one_line("; ".join(lines[-3:]), _MOST_TOLD))
        shown.append({"title": one_line(cell.title, 120), "text": one_line(text, 300)})
    return shown
