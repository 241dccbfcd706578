"""`threadbook ask`: a question, files and follow-ups through the whole path, printed for a person or as JSON."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from core.errors import SettingsError, ThreadbookError
from core.settings import environment_with
from core.steps import Finished
from core.store import TurnRow
from tryout.commands import show
from tryout.stack.blocks_text import message_text
from tryout.stack.conversation import Conversation, NoAnswer
from tryout.stack.processes import ProcessDied
from tryout.stack.redis_server import RedisNotStarted
from tryout.stack.stack import running
from workers.delivery.reports.formats.prose import Grid, parts_of

CHANNEL = "#sales"
FAILURES = (ThreadbookError, NoAnswer, ProcessDied, RedisNotStarted, TimeoutError)

Json = dict[str, Any]


def run(
    question: str, files: Sequence[Path], follow_ups: Sequence[str], *, interactive: bool = False, as_json: bool = False
) -> int:
    """Ask, print, and return the exit code: 0 when the last turn was answered or waits for the asker, else 1."""
    if not all(text.strip() for text in (question, *follow_ups)):
        print("threadbook ask: a question is empty; say what you want to know.", file=sys.stderr)
        return 2
    is_piped = as_json or not (interactive or sys.stdout.isatty())
    output = show.errors if is_piped else show.console
    try:
        folder = _new_folder()
        with running(folder / "home", partial(show.line, to=output)) as stack:
            names = stack.slack.names()
            talk = Conversation(stack, CHANNEL, show.Transcript(names, output, tasks_only=is_piped))
            status = talk.say(question, list(files))
            for text in follow_ups:
                status = talk.say(text, [])
            while interactive and (text := _prompt()):
                status = talk.say(text, [])
            paths = talk.save_files(folder / "files")
            kept = {turn.id: talk.save_report(turn, folder / "reports" / str(turn.number)) for turn in talk.turns()}
            if as_json:
                print(json.dumps(_document(talk, names, paths, kept), ensure_ascii=False))
            elif is_piped:
                print("\n\n".join(show.plain(message, names, paths) for message in talk.messages()))
            else:
                show.saved(paths)
                show.saved(next((each for each in reversed(kept.values()) if each), {}), "report")
    except FAILURES as error:
        print(f"threadbook ask: {error}", file=sys.stderr)
        return 1
    return 0 if status in ("done", "waiting") else 1


def _new_folder() -> Path:
    """A new folder that is kept: in THREADBOOK_HOME, else among temporary files. Raises SettingsError."""
    home = environment_with().get("THREADBOOK_HOME", "")
    if not home:
        return Path(tempfile.mkdtemp(prefix="threadbook-ask-"))
    try:
        Path(home).mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix="ask-", dir=Path(home).resolve()))
    except OSError as error:
        raise SettingsError(f"THREADBOOK_HOME cannot be used: {error}") from None


def _prompt() -> str:
    try:
        return input("\nyou> ").strip()
    except EOFError:
        return ""


def _document(
    talk: Conversation, names: dict[str, str], paths: dict[str, Path], kept: dict[str, dict[str, Path]]
) -> Json:
    """The JSON of the command: {"thread": [...], "turns": [...], "model"}; its shape is public (DESIGN §6)."""
    turns = talk.turns()
    return {
        "thread": [
            {
                "ts": message["ts"],
                "author": names.get(message.get("user", ""), message.get("username", "")),
                "text": message_text(message),
                "files": [_file(file, paths) for file in message.get("files") or ()],
            }
            for message in talk.messages()
        ],
        "turns": [turn_document(talk, turn, kept[turn.id]) for turn in turns],
        "model": turns[-1].model if turns else "",
    }


def _file(file: Json, paths: dict[str, Path]) -> Json:
    size = paths[file["id"]].stat().st_size
    return {"name": file["name"], "mimetype": file["mimetype"], "path": str(paths[file["id"]]), "size": size}


def turn_document(talk: Conversation, turn: TurnRow, kept: Mapping[str, Path]) -> Json:
    """A turn as `--json` shows it: its cells with the data of their tables and charts, and its report with its tables
    and where its figures come from. `kept`: where its own files were saved, by name."""
    report = talk.stack.store.report(turn.id)
    ended = [step for step in talk.stack.store.steps(turn.id) if isinstance(step, Finished)]
    return {
        "status": turn.status,
        "cells": [
            {
                "id": cell.cell_id,
                "title": cell.title,
                "code": cell.code,
                "status": cell.status,
                "stdout": cell.stdout,
                "error": cell.error or None,
                "artifacts": [file.model_dump(mode="json") for file in (*cell.figures, *cell.files)],
                "tables": [table.model_dump(mode="json") for table in cell.tables],
                "charts": [chart.model_dump(mode="json") for chart in cell.charts],
            }
            for cell in talk.cells(turn)
        ],
        "report": report
        and {
            "markdown": report.markdown,
            "tables": _tables(report.markdown),
            "figures": [one.model_dump(mode="json") for step in ended for one in step.sources],
            "files": [{**file.model_dump(mode="json"), "path": str(kept.get(file.name, ""))} for file in report.files],
        },
    }


def _tables(markdown: str) -> list[Json]:
    """The tables of a report, their cells as they are written there."""
    grids = (item for part in parts_of(markdown) for item in part.items if isinstance(item, Grid) and item.rows)
    return [{"columns": list(grid.rows[0]), "rows": [list(row) for row in grid.rows[1:]]} for grid in grids]
