"""A thread and a run of cells, printed for a person."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markdown import Markdown
from rich.panel import Panel
from rich.rule import Rule
from rich.text import Text

from tryout.stack.blocks_text import message_text

console = Console(highlight=False, soft_wrap=False)
errors = Console(stderr=True, highlight=False, soft_wrap=False)

Json = dict[str, Any]


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """The text without control characters, which could steer a terminal: people, models and programs wrote it."""
    return _CONTROL.sub("\ufffd", text)


def counted(count: int, one: str, many: str = "") -> str:
    """A number with its noun: "1 entry", "2 entries". Without `many` the plural has an s."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def line(text: str, to: Console | None = None) -> None:
    """Print a dim line about what is being done."""
    (to or console).print(Text(f"· {text}", style="dim"))


@dataclass
class Transcript:
    """Prints a thread as it grows. A progress card changes often: each of its tasks is printed once, when it ends."""

    names: Mapping[str, str]
    to: Console | None = None
    tasks_only: bool = False
    _printed: set[tuple[str, str]] = field(default_factory=set)

    def __call__(self, posted: Json) -> None:
        """A message appeared or changed."""
        tasks = [task for block in posted.get("blocks") or () for task in block.get("tasks") or ()]
        if not tasks and not self.tasks_only:
            message(posted, self.names, self.to)
        for task in tasks:
            task_key = (posted["ts"], str(task.get("task_id")))
            if task.get("status") in ("complete", "error") and task_key not in self._printed:
                self._printed.add(task_key)
                mark, colour = ("✓", "green") if task["status"] == "complete" else ("✗", "red")
                (self.to or console).print(Text(f"  {mark} {task.get('title', '')}", style=colour))


def message(posted: Json, names: Mapping[str, str], to: Console | None = None) -> None:
    """Print one message of the thread: its author, its text, its files."""
    output = to or console
    body = _body(posted, names)
    by_bot = bool(posted.get("bot_id"))
    style = "bold cyan" if by_bot else "bold magenta"
    output.print(Rule(Text(_author(posted, names), style=style), align="left", style="dim"))
    if body:
        output.print(Markdown(body) if by_bot else Text(body))
    for file in posted.get("files") or ():
        output.print(Text(f"  📎 {file['name']} ({file.get('size', 0):,} bytes)", style="green"))


def plain(posted: Json, names: Mapping[str, str], paths: Mapping[str, Path]) -> str:
    """One message of the thread as Markdown for a file or a pipe, with the paths of its files."""
    files = [f"[file] {paths[file['id']]}" for file in posted.get("files") or () if file["id"] in paths]
    text = "\n".join(part for part in (f"**{_author(posted, names)}**", "", _body(posted, names), *files))
    return "\n".join(map(printable, text.rstrip().splitlines()))


def _author(posted: Json, names: Mapping[str, str]) -> str:
    return names.get(posted.get("user", ""), posted.get("username") or "Threadbook")


def _body(posted: Json, names: Mapping[str, str]) -> str:
    body = message_text(posted)
    for user_id, name in names.items():
        body = body.replace(f"<@{user_id}>", f"@{name}")
    return body


def saved(paths: Mapping[str, Path], what: str = "files") -> None:
    """Print where files were written: those of the thread, or those that its last report has beside."""
    if not paths:
        return
    console.print(Rule(Text(what, style="bold"), align="left", style="dim"))
    for path in paths.values():
        console.print(Text(f"  {path}"), soft_wrap=True)


def cells(outcome: Json) -> None:
    """Print what `threadbook run` did, file by file."""
    for cell in outcome["cells"]:
        console.print(
            Rule(Text(f"{cell['file']} — {cell['status']} in {cell['duration_s']:.2f} s"), align="left", style="dim")
        )
        for part in ("stdout", "stderr"):
            if cell[part]:
                console.print(Text(cell[part].rstrip("\n"), style="" if part == "stdout" else "yellow"))
        if cell["result"]:
            console.print(Text(_shown(cell["result"])))
        if cell["error"]:
            console.print(Text(_shown(cell["error"]), style="red"))
        for artifact in cell["artifacts"]:
            console.print(
                Text(f"  📎 {artifact['name']} ({artifact['mimetype']}, {artifact['size']:,} bytes)", style="green")
            )
        for refused in cell["rejected"]:
            console.print(Text(f"  not taken: {refused['name']}: {refused['why']}", style="yellow"))
        if cell["notice"]:
            console.print(Panel(Text(cell["notice"]), style="yellow"))
    console.print(Text(f"sandbox: {outcome['sandbox']['level']}", style="dim"))


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return str(value.get("traceback") or value.get("text") or value.get("message") or value)
    return str(value)
