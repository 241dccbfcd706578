"""`threadbook replay`: the steps of a turn as they happened, from the Store alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.rule import Rule
from rich.text import Text
from sqlalchemy.exc import SQLAlchemyError

from core.history import History, Sent, TimedStep
from core.rows import Spent, money
from core.settings import Settings
from core.store import TurnRow
from tryout.show import printable

OUTPUT_LINES = 12
"""Lines of one output that are shown for a person; `--json` has all that was kept."""

Json = dict[str, Any]


def run(settings: Settings, name: str, *, as_json: bool = False) -> int:
    """Print the turns that `name` means: a turn's id, a thread's, or a link to a Slack message. 1 if there is none."""
    with closing(History(settings.database_url)) as history:
        try:
            turns = [(turn, history.steps(turn.id), history.sent(turn)) for turn in history.find(name)]
        except SQLAlchemyError as error:
            Console(stderr=True).print(Text(f"The Store cannot be read: {type(error).__name__}. Check DATABASE_URL."))
            return 1
    if as_json:
        print(json.dumps([as_document(*turn) for turn in turns], ensure_ascii=False))
        return 0 if turns else 1
    console = Console(highlight=False, soft_wrap=True)
    if not turns:
        Console(stderr=True).print(
            Text(
                f"No turn goes by {printable(name)!r}. `threadbook status` prints ids; a link to the message works too."
            )
        )
        return 1
    for turn in turns:
        for text in as_lines(*turn):
            console.print(text)
    return 0


def as_document(turn: TurnRow, steps: list[TimedStep], sent: list[Sent]) -> Json:
    """A turn for a program: every step as it was stored, with its time (ISO 8601, UTC)."""
    return {
        "turn": turn.id,
        "thread": turn.thread_id,
        "status": turn.status,
        "language": turn.language,
        "model": turn.model,
        "began": turn.created_at.isoformat(),
        "ended": turn.ended_at.isoformat() if turn.ended_at else None,
        "spent": asdict(_spent(steps)),
        "steps": [{"at": step.at.isoformat(), **step.body} for step in steps],
        "slack": [
            {
                "slot": each.slot,
                "method": each.method,
                "begun": each.begun_at.isoformat(),
                "sent": each.sent_at.isoformat() if each.sent_at else None,
            }
            for each in sent
        ],
    }


def as_lines(turn: TurnRow, steps: list[TimedStep], sent: list[Sent]) -> Iterator[Rule | Text]:
    """A turn for a person: seconds since its start, what happened, and the words, code and output that belong to it."""
    yield Rule(Text(printable(f"{turn.id} · {turn.status} · {turn.model}"), style="bold"), align="left")
    yield Text(f"began {turn.created_at:%Y-%m-%d %H:%M:%S} UTC", style="dim")
    happened: list[tuple[datetime, TimedStep | Sent]] = [(step.at, step) for step in steps]
    happened += [(each.sent_at or each.begun_at, each) for each in sent]
    for at, what in sorted(happened, key=lambda pair: pair[0]):
        clock = f"{(at - turn.created_at).total_seconds():+9.2f} s  "
        if isinstance(what, Sent):
            late = "" if what.sent_at else " (no reply seen)"
            yield Text(f"{clock}→ Slack   {what.slot}: {what.method}{late}", style="dim")
            continue
        title, style, details = _told(what.body)
        yield Text(clock, style="dim").append(printable(title), style=style)
        for detail in details:
            yield Text(printable(_indented(detail)))
    spent = _spent(steps)
    if spent.tokens:
        cost = "" if spent.cost_micros is None else f", cost {money(spent.cost_micros)}"
        yield Text(
            f"{spent.calls} model calls, {spent.tokens:,} tokens ({spent.cached_tokens:,} cached){cost}", style="dim"
        )
    if turn.ended_at:
        yield Text(f"{(turn.ended_at - turn.created_at).total_seconds():+9.2f} s  {turn.status}", style="bold")


def _told(step: Json) -> tuple[str, str, list[str]]:
    """A step's headline, its colour, and what stands below. Any key may lack: another version may have written it."""
    kind = str(step.get("kind", ""))
    match kind:
        case "asked":
            return f"person    {step.get('author') or step.get('user')}", "magenta", [str(step.get("text", ""))]
        case "briefed":
            files = [
                f"{file.get('path')} ({file.get('format')}, {file.get('size')} bytes)" for file in _list(step, "files")
            ]
            problems = [f"not used: {file.get('name')}: {file.get('why')}" for file in _list(step, "problems")]
            return f"files     {len(files)} described", "blue", [*files, *problems]
        case "replied":
            usage = step.get("usage") or {}
            tokens = f"{usage.get('prompt_tokens', 0)} + {usage.get('completion_tokens', 0)} tokens{_cost(step)}"
            calls = ", ".join(str(call.get("name")) for call in _list(step, "calls")) or step.get("finish", "")
            head = f"model     {step.get('purpose')}: {calls} ({_time(step)}, {tokens})"
            return head, "cyan", [_head(str(step.get("text", "")))]
        case "cell":
            head = f"cell      {step.get('title') or step.get('cell_id')}: {step.get('status')} in {_time(step)}"
            made = [f"📎 {file.get('name')}" for name in ("figures", "files") for file in _list(step, name)]
            texts = [
                f"{name}: {_head(str(step[name]))}"
                for name in ("stdout", "stderr", "result", "error", "notice")
                if step.get(name)
            ]
            return head, "green" if step.get("status") == "ok" else "red", [str(step.get("code", "")), *texts, *made]
        case "corrected":
            return f"corrected {step.get('reason')}", "yellow", [_head(str(step.get("text", "")))]
        case "compacted":
            return f"shortened to {step.get('context_chars')} characters, the model takes no more", "yellow", []
        case "questioned":
            options = " / ".join(str(option) for option in step.get("options") or ())
            return "question", "magenta", [str(step.get("question", "")), options]
        case "checked":
            verdict = "the report stands" if step.get("is_final") else "not yet"
            return f"checked   {verdict}", "cyan", [str(step.get("reason", ""))]
        case "resumed" | "undone" | "forgot":
            return _wished(kind, step), "magenta", []
        case "finished":
            return "report", "bold green", [str(step.get("report", ""))]
        case "gave_up":
            return f"gave up   {step.get('reason')}, {step.get('fault')}", "bold red", [str(step.get("text", ""))]
        case _:
            return kind or "a step without a kind", "", [_head(json.dumps(step, ensure_ascii=False))]


def _list(step: Json, name: str) -> list[Json]:
    return [item for item in step.get(name) or () if isinstance(item, dict)]


def _wished(kind: str, step: Json) -> str:
    """What a person had done: go on, go back, or forget."""
    what = {"resumed": "resumed", "undone": f"undone    {step.get('title')}", "forgot": "reset"}[kind]
    kept = ", but withdrawn" if kind == "forgot" and not step.get("done") else ""
    return f"{what} by {step.get('author') or step.get('user')}{kept}"


def _cost(step: Json) -> str:
    return "" if step.get("cost_micros") is None else f", cost {money(int(step['cost_micros']))}"


def _spent(steps: list[TimedStep]) -> Spent:
    """What the calls of a turn took together, from its steps."""
    replies = [step.body for step in steps if step.body.get("kind") == "replied"]
    costs = [int(reply["cost_micros"]) for reply in replies if reply.get("cost_micros") is not None]

    def tokens(name: str) -> int:
        return sum(int((reply.get("usage") or {}).get(name) or 0) for reply in replies)

    return Spent(
        prompt_tokens=tokens("prompt_tokens"),
        cached_tokens=tokens("cached_tokens"),
        completion_tokens=tokens("completion_tokens"),
        cost_micros=sum(costs) if costs else None,
        calls=len(replies),
    )


def _time(step: Json) -> str:
    return f"{float(step.get('duration_s') or 0):.2f} s"


def _head(text: str) -> str:
    lines = text.strip().splitlines()
    more = len(lines) - OUTPUT_LINES
    return "\n".join([*lines[:OUTPUT_LINES], f"… {more} more lines"] if more > 0 else lines)


def _indented(text: str) -> str:
    return "\n".join(f"             {line}" for line in text.strip().splitlines())
