"""`threadbook export`: the team's threads as files that trainers load, with a card that says what is in them."""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

from sqlalchemy.exc import SQLAlchemyError

from core.actions import Action
from core.rows import TurnRow, VoteRow
from core.settings import Settings
from core.steps import Asked, Decided, Imported, Questioned, Step
from core.store import Store
from core.thread_cells import sources_asked
from core.values import ThreadKey
from tryout.commands.operator import permitted, why_unreadable
from tryout.commands.whole_files import whole_file
from workers.agent.actions import Message
from workers.agent.replies.tools import TOOLS
from workers.agent.thread.training import (
    ImportedConversation,
    Preference,
    conversation,
    imported,
    imported_preferences,
    is_report_of_person,
    people_in,
    preferences,
    question_of,
    report_of,
    without_names,
)
from workers.agent.turn import AgentLimits, Environment, Turn
from workers.privacy.masking import Masker, masked_in
from workers.turn.prompts import load_prompts

Format = Literal["sft", "preferences", "messages", "openai-jsonl", "sharegpt"]
FORMATS: tuple[Format, ...] = ("sft", "preferences", "messages", "openai-jsonl", "sharegpt")
Json = dict[str, Any]
Tools = Sequence[Mapping[str, Any]]
Split = Literal["train", "test"]
Only = Literal["", "approved", "examples"]
ONLY: tuple[Only, ...] = ("", "approved", "examples")
"""Which turns: all, those that people agreed with, or those that somebody marked as an example to learn from."""

_CONTEXT_CHARS = 400_000
"""More than any endpoint's default: what was shortened in a prompt cannot be learned."""
_prompts = cache(load_prompts)
_ABOUT = ("thread", "turn", "votes", "by_person")
"""Fields that describe a record. Two records that differ only in these fields are the same."""
_SHAREGPT = {"user": "human", "tool": "observation"}


@dataclass
class Statistics:
    """What went into the files, and what did not."""

    threads: set[str] = field(default_factory=set)
    with_sources: set[str] = field(default_factory=set)
    records: Counter[str] = field(default_factory=Counter)
    characters: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    attempts_left_out: int = 0
    by_person: int = 0


@dataclass(frozen=True, slots=True)
class _Thread:
    """A thread as it is exported: no names, no personal values of the kinds that are masked."""

    id: str
    turns: Sequence[Sequence[Step]]
    rows: Sequence[TurnRow]
    votes: Mapping[int, Sequence[VoteRow]]
    mask: Callable[[Sequence[Message]], tuple[Message, ...]]

    @property
    def name(self) -> str:
        """Stands for the thread's id, which holds Slack's ids."""
        return hashlib.sha256(self.id.encode()).hexdigest()[:16]


def run(
    settings: Settings,
    kind: Format,
    *,
    since: datetime | None = None,
    only: Only = "",
    out: Path | None = None,
) -> int:
    """Write the examples: to standard output, or to FILE, FILE's twin for tests and their card. 1 when refused."""
    statistics = Statistics()
    with closing(Store(settings.database_url)) as store:
        try:
            details = {"format": kind, "only": only}
            if not permitted(settings, store, Action.EXPORT, "all threads", details):
                return 1
            found = _records(settings, store, kind, statistics, since=since, only=only)
            records = list(_once(found, statistics))
        except SQLAlchemyError as error:
            print(why_unreadable(store, error), file=sys.stderr)
            return 1
    if out is None:
        for split, record in records:
            print(json.dumps({**record, "split": split}, ensure_ascii=False))
    else:
        _write(settings, kind, records, out, statistics)
    total = sum(statistics.records.values())
    dropped = ", ".join(f"{count} {why}" for why, count in sorted(statistics.left_out.items()))
    print(f"{total} records of {len(statistics.threads)} threads. Left out: {dropped or 'nothing'}.", file=sys.stderr)
    return 0


# --- records


def _records(
    settings: Settings,
    store: Store,
    kind: Format,
    statistics: Statistics,
    *,
    since: datetime | None,
    only: Only,
) -> Iterator[tuple[Split, Json, str]]:
    """Each record with its split and its thread's id."""
    voted: dict[str, dict[str, list[tuple[_Thread, int]]]] = {}
    for found in reversed(store.find_threads(since=since, limit=1_000_000)):
        thread = _thread(settings, store, found.thread_id, statistics)
        if thread is None:
            continue
        for number, row in enumerate(thread.rows, start=1):
            taken, votes = imported(thread.turns[number - 1]), thread.votes[number]
            splits = {split_at(each, settings.export.test_percent) for each in _groups(thread, taken)}
            mixed = "turns composed of threads of both splits" if len(splits) > 1 else ""
            if why := _left_out(store, thread, row, only) or mixed:
                statistics.left_out[why] += 1
                continue
            (split,) = splits
            own = partial(_own, thread, row, kind, statistics, voted)
            for record in own() if taken is None else _imported(thread, taken, number, kind, votes):
                yield split, record, thread.id
    for question in voted.values():
        for better, worse in zip(question.get("up", []), question.get("down", []), strict=False):
            # Both answers go where the question's first thread goes: a pair belongs to two threads.
            split = split_of(better[0].id, settings.export.test_percent)
            if split_of(worse[0].id, settings.export.test_percent) == split:
                yield split, _voted(better, worse), better[0].id


def _own(
    thread: _Thread,
    row: TurnRow,
    kind: Format,
    statistics: Statistics,
    voted: dict[str, dict[str, list[tuple[_Thread, int]]]],
) -> Iterator[Json]:
    """The records of a turn of ours. Gathers in `voted` what people voted on."""
    view, number, votes = _view(row), row.number, thread.votes[row.number]
    if kind == "preferences":
        _note_votes(voted, thread, number, votes)
        yield from (_pair(thread, pair) for pair in preferences(view, thread.turns, number))
        return
    one = conversation(view, thread.turns, number)
    if one is None:
        statistics.left_out["turns without an answer"] += 1
        return
    statistics.attempts_left_out += one.left_out if kind != "messages" else 0
    messages = thread.mask(one.whole if kind == "messages" else one.passing)
    by_person = one.by_person if kind == "messages" else one.passing_by_person
    weight = sum(_weight(vote) for vote in votes)
    about = {"thread": thread.name, "turn": number, "votes": weight, "by_person": list(by_person)}
    yield SHAPES[kind](messages, about, TOOLS)


def _imported(
    thread: _Thread, taken: ImportedConversation, number: int, kind: Format, votes: Sequence[VoteRow]
) -> Iterator[Json]:
    """The records of a conversation of another tool: as it stood in its file."""
    if kind == "preferences":
        yield from (_pair(thread, pair) for pair in imported_preferences(thread.turns[number - 1], number))
        return
    head = taken.head
    weight = head.votes + sum(_weight(vote) for vote in votes)
    name, by_person = head.thread or thread.name, list(taken.by_person)
    about = {"thread": name, "turn": head.turn, "votes": weight, "by_person": by_person}
    record = SHAPES[kind](thread.mask(taken.messages), about, head.tools or ())
    if kind == "openai-jsonl" and head.parallel_tool_calls is not None:
        record["parallel_tool_calls"] = head.parallel_tool_calls
    yield record


def _left_out(store: Store, thread: _Thread, row: TurnRow, only: Only) -> str:
    """Why a turn is not wanted; "" when it is."""
    if only == "approved" and not is_approved(thread.turns[row.number - 1], thread.votes[row.number]):
        return "turns that nobody approved"
    return "turns that nobody marked as an example" if only == "examples" and not store.examples(row.id) else ""


def _groups(thread: _Thread, taken: ImportedConversation | None) -> tuple[str, ...]:
    """What decides about the split: the thread, or what an imported conversation has in common with others."""
    if taken is None:
        return (hashlib.sha256(thread.id.encode()).hexdigest(),)
    return taken.head.groups or (taken.head.group,)


def _thread(settings: Settings, store: Store, thread_id: str, statistics: Statistics) -> _Thread | None:
    turns = [[step for _, step in steps] for steps in store.timed_steps(thread_id)]
    rows = store.turns(thread_id)
    if not turns:
        return None
    if set(settings.export.opted_out) & (people_in(turns) | store.thread_writers(thread_id)):
        statistics.left_out["threads of people who opted out"] += 1
        return None
    if sources_asked(turns):
        statistics.with_sources.add(thread_id)
    kinds = settings.privacy_in(ThreadKey.parse(thread_id).channel).redact
    given = masked_in(turns)

    def mask(messages: Sequence[Message]) -> tuple[Message, ...]:
        return Masker(kinds, given).messages(messages) if kinds else tuple(messages)

    votes = {number: store.votes(row.id) for number, row in enumerate(rows, start=1)}
    return _Thread(thread_id, without_names(turns), rows, votes, mask)


def _view(row: TurnRow) -> Turn:
    """What a prompt is made with: the same place for all examples, so that they differ by their threads alone."""
    limits = AgentLimits(context_chars=_CONTEXT_CHARS)
    environment = Environment(python_version="3.11", packages=(), today=f"{row.created_at:%Y-%m-%d}")
    return Turn(row.id, row.language, (), limits, environment, _prompts())


def is_approved(steps: Sequence[Step], votes: Sequence[VoteRow]) -> bool:
    """Whether people agreed with a turn: somebody voted for it or approved a stage, and nobody voted against it.

    Votes that the file of an imported conversation tells of count.
    """
    stages = {
        step.call_id
        for step in steps
        if isinstance(step, Questioned) and step.approval is not None and step.approval.what == "stage"
    }
    said_yes = any(isinstance(step, Decided) and step.call_id in stages and step.outcome == "run" for step in steps)
    said_yes |= any(isinstance(step, Imported) and step.votes > 0 for step in steps)
    return (said_yes or any(vote.vote == "up" for vote in votes)) and all(vote.vote == "up" for vote in votes)


def split_of(thread_id: str, test_percent: int) -> Split:
    """The split of a thread, always the same: no thread is in both."""
    return split_at(hashlib.sha256(thread_id.encode()).hexdigest(), test_percent)


def split_at(name: str, test_percent: int) -> Split:
    """The split of what an export calls a thread, which is the beginning of a hash."""
    return "test" if int(name[:8], 16) % 100 < test_percent else "train"


def _once(records: Iterable[tuple[Split, Json, str]], statistics: Statistics) -> Iterator[tuple[Split, Json]]:
    """The records without duplicates: the same conversation in two threads counts once, in the split of the first."""
    seen: set[str] = set()
    for split, record, thread_id in records:
        plain = {key: value for key, value in record.items() if key not in _ABOUT}
        text = json.dumps(plain, ensure_ascii=False, sort_keys=True)
        key = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
        if key in seen:
            statistics.left_out["duplicates"] += 1
            continue
        seen.add(key)
        statistics.threads.add(thread_id)
        statistics.records[split] += 1
        statistics.characters[split] += len(text)
        statistics.by_person += _count_by_person(record.get("by_person", ()))
        if "kind" in record:
            statistics.kinds[record["kind"]] += 1
        yield split, record


def _count_by_person(said: Sequence[bool] | Mapping[str, Sequence[bool]]) -> int:
    return sum(map(sum, said.values())) if isinstance(said, Mapping) else sum(said)


# --- shapes


def _plain(messages: Sequence[Message]) -> list[Json]:
    """The messages with a text in each `content`: a column that is null here and text there loads as neither."""
    return [{**message, "content": _text(message)} for message in messages]


def _text(message: Message) -> str:
    """The content as one text: an imported message may have it in parts."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(str(part.get("text") or "") for part in content)


def _sft(messages: Sequence[Message], about: Json, tools: Tools) -> Json:
    return {"messages": _plain(messages), "tools": json.dumps(list(tools)), **about}


def _whole(messages: Sequence[Message], about: Json, tools: Tools) -> Json:
    return {"messages": _plain(messages), **about}


def _openai(messages: Sequence[Message], about: Json, tools: Tools) -> Json:
    """OpenAI's file for fine-tuning knows no other key, and no call whose result is missing."""
    called = {"tools": list(tools), "parallel_tool_calls": False} if tools else {}
    return {"messages": list(messages), **called}


def _sharegpt(messages: Sequence[Message], about: Json, tools: Tools) -> Json:
    """People and observations stand at odd places, the model at even ones; what follows itself is joined.

    What is joined is by a person when a part of it is.
    """
    system = "\n\n".join(_text(message) for message in messages if message["role"] == "system")
    turns: list[Json] = []
    by_person: list[bool] = []
    for message, is_of_person in zip(messages, about["by_person"], strict=True):
        if message["role"] == "system":
            continue
        side, text = _SHAREGPT.get(message["role"], "gpt"), _text(message)
        if calls := message.get("tool_calls"):
            side = "function_call"
            called = [
                {"name": call["function"]["name"], "arguments": _loaded(call["function"]["arguments"])}
                for call in calls
            ]
            text = json.dumps(called[0] if len(called) == 1 else called, ensure_ascii=False)
        is_model = side in ("gpt", "function_call")
        if turns and (turns[-1]["from"] in ("gpt", "function_call")) == is_model:
            turns[-1]["value"] = f"{turns[-1]['value']}\n\n{text}".strip()
            by_person[-1] |= is_of_person
        else:
            turns.append({"from": side, "value": text})
            by_person.append(is_of_person)
    tools_text = json.dumps(_functions(tools))
    return {"conversations": turns, "system": system, "tools": tools_text, **about, "by_person": by_person}


def _functions(tools: Tools) -> list[Json]:
    return [tool["function"] for tool in tools if isinstance(tool.get("function"), dict)]


def _loaded(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


SHAPES: Mapping[str, Callable[[Sequence[Message], Json, Tools], Json]] = {
    "sft": _sft,
    "messages": _whole,
    "openai-jsonl": _openai,
    "sharegpt": _sharegpt,
}


def _pair(thread: _Thread, pair: Preference) -> Json:
    return {
        "prompt": _plain(thread.mask(pair.prompt)),
        "chosen": _plain(thread.mask(pair.chosen)),
        "rejected": _plain(thread.mask(pair.rejected)),
        "kind": pair.kind,
        "thread": thread.name,
        "turn": pair.number,
        "by_person": {side: list(said) for side, said in pair.by_person.items()},
    }


def _note_votes(
    voted: dict[str, dict[str, list[tuple[_Thread, int]]]], thread: _Thread, number: int, votes: Sequence[VoteRow]
) -> None:
    """Gather answers to the same question that people voted on."""
    steps = thread.turns[number - 1]
    weight = sum(_weight(vote) for vote in votes)
    if weight and report_of(steps):
        question = " ".join(question_of(steps).casefold().split())
        voted.setdefault(question, {}).setdefault("up" if weight > 0 else "down", []).append((thread, number))


def _weight(vote: VoteRow) -> int:
    return 1 if vote.vote == "up" else -1


def _voted(better: tuple[_Thread, int], worse: tuple[_Thread, int]) -> Json:
    thread, number = better
    asked = "\n".join(step.text for step in thread.turns[number - 1] if isinstance(step, Asked))
    answers = [
        list(one.mask([{"role": "assistant", "content": report_of(one.turns[n - 1])}])) for one, n in (better, worse)
    ]
    by_person = [[is_report_of_person(one.turns[n - 1])] for one, n in (better, worse)]
    return {
        "prompt": list(thread.mask([{"role": "user", "content": asked}])),
        "chosen": answers[0],
        "rejected": answers[1],
        "kind": "vote",
        "thread": thread.name,
        "turn": number,
        "by_person": {"prompt": [False], "chosen": by_person[0], "rejected": by_person[1]},
    }


# --- files


def _write(
    settings: Settings, kind: Format, records: Sequence[tuple[Split, Json]], out: Path, statistics: Statistics
) -> None:
    """FILE holds the train split, FILE with ".test" before its ending the test split, README.md of both beside it."""
    test = out.with_name(f"{out.stem}.test{out.suffix or '.jsonl'}")
    for split, path in (("train", out), ("test", test)):
        with whole_file(path) as part, part.open("w", encoding="utf-8") as file:
            for own, record in records:
                if own == split:
                    file.write(json.dumps(record, ensure_ascii=False) + "\n")
        print(path)
    card = out.with_name(f"{out.stem}.README.md")
    with whole_file(card) as part:
        part.write_text(_card(settings, kind, (out.name, test.name), statistics), encoding="utf-8")
    print(card)


def _card(settings: Settings, kind: Format, names: tuple[str, str], statistics: Statistics) -> str:
    kinds = sorted({kind for channel in ("", *settings.channels) for kind in settings.privacy_in(channel).redact})
    lines = [
        "---",
        "configs:",
        "  - config_name: default",
        "    data_files:",
        f"      - {{split: train, path: {json.dumps(names[0])}}}",
        f"      - {{split: test, path: {json.dumps(names[1])}}}",
        "---",
        "",
        f"# Threads of a team as `{kind}`",
        "",
        "Questions about data that people asked in Slack, with what an analyst computed and reported.",
        "",
        "| split | records | characters |",
        "| --- | --- | --- |",
        *(f"| {split} | {statistics.records[split]} | {statistics.characters[split]} |" for split in ("train", "test")),
        "",
        f"From {len(statistics.threads)} threads. All records of a thread are in one split. Duplicates were removed.",
    ]
    if statistics.kinds:
        counted = ", ".join(f"{count} by {name}" for name, count in sorted(statistics.kinds.items()))
        lines.append(f"Pairs: {counted}.")
    if statistics.by_person:
        lines.append(f"{statistics.by_person} messages of the analyst were written or edited by a person.")
    if statistics.attempts_left_out:
        lines.append(f"{statistics.attempts_left_out} attempts that failed before one passed were left out.")
    if statistics.left_out:
        lines += ["", "Left out:", ""]
        lines += [f"- {count} {why}" for why, count in sorted(statistics.left_out.items())]
    lines += [
        "",
        "## Consent and privacy",
        "",
        f"Licence: {settings.export.licence or 'none was set; ask the team before this leaves it'}.",
        f"Threads in which one of {len(settings.export.opted_out)} people took part who opted out are not here.",
        "Names and ids of people are replaced (`person_1`). Names inside texts are not.",
        f"Masked kinds of personal values: {', '.join(kinds) or 'none (`redact` of [privacy] is empty)'}.",
        f"{len(statistics.with_sources)} threads hold rows of data sources.",
        "",
    ]
    return "\n".join(lines)
