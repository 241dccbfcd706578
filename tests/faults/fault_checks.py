"""What must hold after every fault."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import psutil
from fault_cases import Case
from fault_world import World
from patience import eventually
from sqlalchemy import text

from tryout.stack.blocks_text import message_text

_MISSING = ("what the last cell changed in them may be missing", "Not kept: the changes of the last cell")


def outcome(case: Case) -> str:
    """The result of a thread that went on, as the table shows it, with what the thread said that it lost."""
    if any(key.endswith(":gone") for key in _outbox(case)):
        return "goes on, names the files that are lost"
    if any(cell.rejected for cell in case.cells()):
        return "goes on, names a file that could not be kept"
    return "goes on"


def check_thread(case: Case, *, dropped: int = 0) -> None:
    """Every message answered once, every finished cell run once, every variable there, nothing posted twice.

    `dropped` is how many uploads Slack took and will never show.
    """
    said = "\n".join(f"  | {message_text(message)[:300]}" for message in case.said())
    turns = case.world.store.turns(case.thread.id)
    where = f"{case.thread.id} {[turn.status for turn in turns]}, the thread says:\n{said}"

    assert not case.world.store.unread(case.thread.id), f"unread mail in {where}"
    assert {turn.status for turn in turns} == {"done"}, f"not all done: {where}"
    answers = {question: case.reports(question) for question in case.questions}
    assert set(answers.values()) == {1}, f"answers {answers} in {where}"

    ok = [cell for cell in case.cells() if cell.status == "ok"]
    walked = [cell.title.removeprefix("Step ") for cell in ok]
    assert walked == case.letters, f"cells that ended well: {walked}, asked for {case.letters}; {where}"
    begun = Counter(line["cell"] for line in case.journal() if "result" not in line)
    ended = Counter(line["cell"] for line in case.journal() if "result" in line)
    assert set(begun.values()) | set(ended.values()) <= {1}, f"a cell ran or ended twice: {begun} {ended}"

    everything = " ".join(case.letters)
    # When a node was killed before it kept the variables, the next cell names them as missing: those may be gone.
    seen = ok[-1].stdout.partition("seen ")[2].partition("\n")[0].split()
    missing = _named_as_missing(case)
    assert [step for step in seen if step not in missing] == [step for step in case.letters if step not in missing], (
        f"variables: {ok[-1].stdout!r}, asked for {everything}, named as missing {missing}; {_story(case)}"
    )
    # A file that could not be kept, for want of disk, is named in the cell's result: it may be as it was before.
    unkept = {cell.title.removeprefix("Step ") for cell in ok if cell.rejected}
    walked = _marks(ok[-1].stdout.rpartition("walked ")[2].split(), case)
    assert [step for step in walked if step not in unkept] == [step for step in case.letters if step not in unkept], (
        f"files: {ok[-1].stdout!r}, asked for {everything}, named as not kept {unkept}; {_story(case)}"
    )

    for question, decided in case.approvals():
        assert [each.outcome for each in decided] == ["run"], f"{question.call_id} was decided as {decided}; {where}"
    asking = sum(message_text(message).startswith("May this code run?") for message in case.said())
    assert (asking, case.buttons()) == (len(case.approvals()), []), f"one message for each question, decided: {where}"

    outbox = _outbox(case)
    keys = [key for message in case.said() if (key := _key_of(message))]
    assert len(keys) == len(set(keys)), f"posted twice: {Counter(keys).most_common(3)} in {where}"
    # An upload of files that the file store has lost is closed as unsent, and told.
    lost = {key.removesuffix(":gone") for key in outbox if key.endswith(":gone")}
    unsent = [key for key, (_, status) in outbox.items() if status not in ("sent", "dropped") and key not in lost]
    assert not unsent, f"not known to be sent: {unsent} in {where}"
    named = [key for key, (_, status) in outbox.items() if status == "dropped"]
    assert len(named) <= dropped, f"{named} are told as dropped, Slack dropped {dropped} uploads in {where}"
    uploads = sum(method == "files.completeUploadExternal" and status != "unsent" for method, status in outbox.values())
    gone = len(lost)
    # Nobody waits for the last files of a turn: Slack may show them a moment later.
    eventually(
        lambda: _shares(case) >= uploads - dropped, f"the files, {_shares(case)} for {uploads} uploads in {where}"
    )
    assert _shares(case) == uploads - dropped, f"{_shares(case)} shares for {uploads} uploads in {where}"
    walked = {name: [one for one in case.letters if one.startswith(f"{name}.")] for name in case.questions}
    with_files = [name for name, letters in walked.items() if not unkept.issuperset(letters)]
    assert uploads + gone >= len(with_files), f"{uploads} uploads for {with_files}, not kept {unkept}, in {where}"


def _shares(case: Case) -> int:
    return sum(message.get("subtype") == "file_share" for message in case.said())


def _named_as_missing(case: Case) -> set[str]:
    """The steps whose changes of variables the next cell's notice says are, or may be, lost."""
    missing, last = set(), ""
    for cell in case.cells():
        if any(words in cell.notice for words in _MISSING):
            missing.add(last)
        if cell.status == "ok":
            last = cell.title.removeprefix("Step ")
    return missing


def _marks(walked: list[str], case: Case) -> list[str]:
    """Marks in the file; one that a cell left before it was cut off counts together with that of its repetition."""
    cut_off = {cell.title.removeprefix("Step ") for cell in case.cells() if cell.status != "ok"}
    return [step for number, step in enumerate(walked) if step not in cut_off or step not in walked[:number]]


def _story(case: Case) -> str:
    """Every cell with its result, to find the cause of a failure."""
    return "cells:" + "".join(
        f"\n  {cell.title}: {cell.status}, {cell.notice!r}, {cell.stdout!r}" for cell in case.cells()
    )


def _key_of(message: dict[str, object]) -> str:
    metadata = message.get("metadata")
    return str(metadata["event_payload"]["outbox"]) if isinstance(metadata, dict) and metadata else ""


def _outbox(case: Case) -> dict[str, tuple[str, str]]:
    with case.world.engine.connect() as db:
        rows = db.execute(text("SELECT key, method, status FROM outbox WHERE thread_id = :id"), {"id": case.thread.id})
        return {row.key: (row.method, row.status) for row in rows}


def check_leftovers(world: World) -> None:
    """No lease, no wake key, no process and no temporary file is left."""
    for name, left in {
        "leases": lambda: list(world.redis.scan_iter(match="threadbook:lease:*")),
        "wake keys": lambda: list(world.redis.scan_iter(match="threadbook:wake:*")),
        "jobs": world.horses,
        "processes": lambda: _strangers(world),
        "temporary files": lambda: _temporaries(world),
    }.items():
        try:
            eventually(lambda left=left: not left(), name)
        except AssertionError:
            registered = [sorted(node.processes()) for node in world.nodes]
            raise AssertionError(f"{name} left behind: {left()}; known are {registered}") from None


def _strangers(world: World) -> list[str]:
    """Processes of ours that belong to no bot and no service that runs."""
    assert world.bot is not None
    family = {world.bot.pid}.union(*(node.family() for node in world.nodes))
    return [_described(one) for one in world.ours() if one.pid not in family]


def _described(process: psutil.Process) -> str:
    """A process with its age, to find out when it was left behind; only its id once it has gone."""
    with suppress(psutil.Error), process.oneshot():
        age = time.time() - process.create_time()
        line = " ".join(process.cmdline())
        return f"{process.pid} of {process.ppid()}, {process.status()}, for {age:.0f} s: {line}"
    return str(process.pid)


def _temporaries(world: World) -> list[str]:
    homes, files = [node.settings.home for node in world.nodes], Path(world.settings.files)
    folders = [world.folder / "tmp", *(home / name for home in homes for name in ("sessions/tmp", "tmp"))]
    found = [path for folder in folders if folder.is_dir() for path in folder.iterdir()]
    found += [path for home in homes for path in home.glob("*.new")]
    return [str(path) for path in (*found, *files.rglob("*.partial"))]
