"""`make demo` and `make run`: people of the playground ask the sales story."""

from __future__ import annotations

import ast
import shutil
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import yaml

from core import python_source
from core.settings import load_settings
from tryout.commands import show
from tryout.commands.ask import CHANNEL, FAILURES
from tryout.demo_database import ask_database
from tryout.sample_data import EXAMPLES
from tryout.stack import running_stack
from tryout.stack.conversation import Conversation
from tryout.stack.stack import Stack, running

HOME = Path(".threadbook")


def run_once() -> int:
    """Ask the story's question and its first follow-up, then a database. Returns 0 only if all answers arrived."""
    story = _story()
    try:
        with running(_fresh(HOME / "demo"), show.line) as stack:
            talk = _begin(stack, story)
            follow_up = story["turns"][1]
            talk.say(follow_up["question"], [], user=follow_up["author"])
            paths = talk.save_files(HOME / "demo" / "thread")
            show.saved(paths)
            report = talk.save_report(talk.turns()[-1], HOME / "demo" / "report")
            show.saved(report, "report")
            missing = _missing(talk, report)
        show.line("the same with a database: the telco tables as a named data source")
        missing += ask_database(_fresh(HOME / "demo-database"), load_settings())
    except FAILURES as error:
        print(f"threadbook demo: {error}", file=sys.stderr)
        return 1
    for each in missing:
        print(f"threadbook demo: missing: {each}", file=sys.stderr)
    return 1 if missing else 0


def stay_up(port: int) -> int:
    """Ask the story's question, then leave everything running until Ctrl-C or SIGTERM."""
    story = _story()
    ended = threading.Event()
    try:
        with (
            running(_fresh(running_stack.HOME), show.line, port, samples=_samples()) as stack,
            running_stack.noted(stack.settings),
        ):
            talk = _begin(stack, story)
            page = f"{stack.url}/{talk.key.channel}/{talk.key.root_ts}" if talk.key else stack.url
            for line in _next(page, story["turns"][1]["question"], has_model=stack.settings.model_choice != "offline"):
                show.line(line)
            for number in (signal.SIGINT, signal.SIGTERM):  # not before: they must end a start and a question at once
                signal.signal(number, lambda *_: ended.set())
            while not ended.wait(1.0):
                stack.check()
    except FAILURES as error:
        print(f"threadbook up: {error}", file=sys.stderr)
        return 1
    return 0


def _fresh(home: Path) -> Path:
    """Empty the folder. The playground forgets its threads when it ends: what was kept about them is of no use."""
    shutil.rmtree(home, ignore_errors=True)
    return home.resolve()


def _story() -> dict[str, Any]:
    story: dict[str, Any] = yaml.safe_load((EXAMPLES / "sales" / "story.yaml").read_text(encoding="utf-8"))
    return story


def _samples() -> list[str]:
    """The first question of each story with its files, as the playground's page offers them."""
    found = []
    for path in ("sales/story.yaml", "telco/story.yaml", "sales/story_zh.yaml"):
        story = yaml.safe_load((EXAMPLES / path).read_text(encoding="utf-8"))
        files = ",".join(str((EXAMPLES / path).parent / name) for name in story["files"])
        found.append(f"{files}={story['turns'][0]['question']}")
    return found


def _next(page: str, question: str, *, has_model: bool) -> list[str]:
    """What a newcomer does next: what to open, what to ask, how to use a real model."""
    model = (
        "A model of yours answers."
        if has_model
        else "The offline analyst answers. For a real model, set OPENAI_API_KEY or OPENAI_BASE_URL and run again."
    )
    return [
        f"Open {page}   (Ctrl-C ends it)",
        f'Ask there, for example: "{question}"   Empty channels offer more, with files.',
        model,
    ]


def _begin(stack: Stack, story: dict[str, Any]) -> Conversation:
    names = stack.slack.names()
    talk = Conversation(stack, CHANNEL, show.Transcript(names))
    first = story["turns"][0]
    talk.say(first["question"], [EXAMPLES / "sales" / name for name in story["files"]], user=first["author"])
    return talk


def _missing(talk: Conversation, report: dict[str, Path]) -> list[str]:
    """What should be in the thread, or kept for the person who presses "Download all", and is not; as phrases for a
    person."""
    turns = talk.turns()
    if [turn.status for turn in turns] != ["done", "done"]:
        return [f"two answered turns (there are: {', '.join(turn.status for turn in turns) or 'none'})"]
    names = [*report, *(file["name"] for message in talk.messages() for file in message.get("files") or ())]
    wanted = {"a chart": ".png", "a page": ".html", "a report": ".md", "a notebook": ".ipynb", "a program": ".py"}
    missing = [what for what, ending in wanted.items() if not any(name.endswith(ending) for name in names)]
    first, second = ([cell.code for cell in talk.cells(turn) if cell.status == "ok"] for turn in turns)
    if not reused(first, second):
        missing.append("a variable of the first answer in the second")
    return missing


def reused(earlier: list[str], later: list[str]) -> set[str]:
    """Names that the earlier cells assigned and the later ones read before assigning them themselves."""
    known = {name for code in earlier for name in _names(code, ast.Store)}
    found: set[str] = set()
    assigned: set[str] = set()
    for code in later:
        found |= (_names(code, ast.Load) & known) - assigned
        assigned |= _names(code, ast.Store) - _names(code, ast.Load)
    return found


def _names(code: str, context: type[ast.expr_context]) -> set[str]:
    return {
        node.id
        for node in ast.walk(python_source.parsed(code))
        if isinstance(node, ast.Name) and isinstance(node.ctx, context)
    }
