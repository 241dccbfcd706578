"""The messages of a request, read back into what happened in the thread: who asked what, with which files, what ran.

The forms read here are those of prompts/task.yaml, follow_up.yaml, files.yaml and observation.yaml.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import yaml

from workers.agent.actions import Message
from workers.models.offline.columns import kind_of
from workers.models.offline.values import Column, Exchange, Facts, Situation, Table, Turn

_OPENING = re.compile(r"\A\s*# (?:Task|Follow-up)\b")
_QUOTED = re.compile(r"^> ?(.*)$", re.MULTILINE)
_FILE = re.compile(r"^```yaml\n(.*?)\n```[ \t]*$", re.MULTILINE | re.DOTALL)
_FACT = re.compile(r"^([a-z_]+): (\{.*\})$", re.MULTILINE)
_STATUS = re.compile(r'\ACell ".*": (\w+) \(')
_PROBLEM = re.compile(r"^- could not be used: (.+)$", re.MULTILINE)


def read(messages: Sequence[Message]) -> Situation:
    """The thread that these messages tell of. A thread without an opening message is one empty turn."""
    turns: list[list[Message]] = []
    for message in messages:
        text = _text(message)
        if message.get("role") == "user" and (_OPENING.match(text) or not turns):
            turns.append([])
        if turns:
            turns[-1].append(message)
    return Situation(tuple(_turn(part) for part in turns) or (Turn(),))


def _text(message: Message) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _turn(messages: Sequence[Message]) -> Turn:
    outcomes = {str(m.get("tool_call_id")): _text(m) for m in messages if m.get("role") == "tool"}
    said = [_text(message) for message in messages if message.get("role") == "user"]
    calls = [call for m in messages if m.get("role") == "assistant" for call in m.get("tool_calls") or ()]
    exchanges = tuple(_exchange(call, outcomes) for call in calls)
    asked = {exchange.id for exchange in exchanges if exchange.tool == "ask_user"}
    spoken = [m for m in messages if m.get("role") == "user" or m.get("tool_call_id") in asked]
    texts = tuple(filter(None, (quoted(_text(message)) for message in spoken)))
    documents, problems = _files_told(said)
    tables = tuple(table for document in documents for table in _tables(document))
    without = tuple(str(d.get("path", "")) for d in documents if not d.get("tables"))
    return Turn(texts, tables, without, problems, exchanges)


def quoted(text: str) -> str:
    """What people said in a message of ours: its quoted lines, without the files described in it."""
    return "\n".join(match.strip() for match in _QUOTED.findall(_FILE.sub("", text))).strip()


def _exchange(call: dict[str, Any], outcomes: dict[str, str]) -> Exchange:
    function = call.get("function") or {}
    try:
        arguments = json.loads(function.get("arguments") or "{}")
    except ValueError:
        arguments = {}
    call_id = str(call.get("id"))
    return Exchange(
        call_id, str(function.get("name")), arguments if isinstance(arguments, dict) else {}, outcomes.get(call_id)
    )


def _files_told(said: Sequence[str]) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    documents = []
    for text in said:
        for block in _FILE.findall(text):
            try:
                document = yaml.safe_load(block)
            except yaml.YAMLError:
                continue
            if isinstance(document, dict) and document.get("path"):
                documents.append(document)
    return documents, tuple(problem for text in said for problem in _PROBLEM.findall(text))


def _tables(document: dict[str, Any]) -> list[Table]:
    told = [table for table in document.get("tables") or () if isinstance(table, dict)]
    path, form = str(document["path"]), str(document.get("format") or "")
    found = []
    for table in told:
        rows = table.get("rows")
        columns = [_column(column, rows) for column in table.get("columns") or () if isinstance(column, dict)]
        columns += [Column(str(name), "text") for name in table.get("more_columns") or ()]
        if not columns:
            continue
        several = len(told) > 1
        name = str(table.get("name") or "")
        found.append(
            Table(
                name=name if several and name else path.rsplit("/", 1)[-1].rsplit(".", 1)[0],
                path=path,
                format=form,
                columns=tuple(columns),
                rows=rows if isinstance(rows, int) else None,
                sheet=name if name and (form.startswith("xls") or (form == "html" and name.isdecimal())) else None,
                encoding=document.get("encoding"),
                separator=document.get("separator"),
                read=str(document.get("read") or ""),
            )
        )
    return found


def _column(told: dict[str, Any], rows: object) -> Column:
    name, dtype = str(told.get("name")), str(told.get("dtype") or "")
    samples = tuple(str(sample) for sample in told.get("samples") or ())
    unique = told.get("unique") if isinstance(told.get("unique"), int) else None
    missing = told.get("missing")
    kind, raw = kind_of(name, dtype, unique, rows if isinstance(rows, int) else None, samples)
    share = float(missing) if isinstance(missing, int | float) else 0.0
    return Column(name, kind, dtype, raw, share, unique, samples)


def succeeded(exchange: Exchange) -> bool:
    """True when the call was a cell that ran to its end."""
    status = _STATUS.match(exchange.observation or "")
    return exchange.tool == "run_python" and status is not None and status[1] == "ok"


def failed(exchange: Exchange) -> bool:
    """True when the call was a cell that ran and did not end well."""
    status = _STATUS.match(exchange.observation or "")
    return exchange.tool == "run_python" and status is not None and status[1] != "ok"


def facts_of(exchanges: Sequence[Exchange]) -> Facts:
    """Everything that cells which ended well told, in order."""
    facts: Facts = {}
    for exchange in exchanges:
        if succeeded(exchange):
            for name, document in _FACT.findall(exchange.observation or ""):
                try:
                    facts.setdefault(name, []).append(json.loads(document))
                except ValueError:
                    continue
    return facts


def last_told(facts: Facts, name: str) -> dict[str, Any] | None:
    """The last fact of this name; None when there is none."""
    told = facts.get(name)
    return told[-1] if told else None
