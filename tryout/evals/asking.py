"""Asks the questions of a suite: several threads at once on running stacks, each question in a thread of its own."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from queue import SimpleQueue

from core.steps import CellRan, Finished, GaveUp, Questioned, Replied, Step, total_spent
from core.store import TurnRow
from tryout.commands.ask import turn_document
from tryout.evals.results import Result
from tryout.evals.rubric import grade
from tryout.evals.scoring import End, Outcome, score_plain, score_tags
from tryout.evals.suite import Question
from tryout.stack.blocks_text import message_text
from tryout.stack.conversation import Conversation, NoAnswer
from tryout.stack.stack import Stack, running
from workers.models.base import Model
from workers.turn.prompts import Prompts

DESKS = tuple(product(("#sales", "#churn", "#general", "#leadership"), ("ana", "ben")))
"""A channel and a person of the playground for each question that is asked at the same time: the product lets one
person and one channel ask only so much at once."""
PER_STACK = 40
"""Questions after which the processes are started again: each thread keeps a subprocess with its variables."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Job:
    """A question to ask for the n-th time."""

    question: Question
    repeat: int
    data: str
    """What tells the bytes of its files."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How questions are asked: the suite's folder, where transcripts go, the judge of rubrics, the environment."""

    folder: Path
    transcripts: Path
    model: str
    plain: bool
    prompts: Prompts
    judge: Model | None
    environment: Mapping[str, str]
    at_once: int
    memory: Path | None = None
    """What the team has learned: each stack gets a copy of this folder."""


def jobs_of(questions: Sequence[Question], folder: Path, repeats: int, memory: Path | None = None) -> tuple[Job, ...]:
    """Every question, then every question once more, so that an interrupted run has asked all of them once."""
    learned = sorted(path for path in memory.rglob("*") if path.is_file()) if memory is not None else []
    known = [f"{path.relative_to(memory)}\0".encode() + _file_sha(path) for path in learned if memory is not None]
    shas = {name: _file_sha(folder / name) for question in questions for name in question.files}
    told = {question.id: _data_sha(shas, question.files, known) for question in questions}
    return tuple(Job(each, n, told[each.id]) for n in range(1, repeats + 1) for each in questions)


def _data_sha(shas: Mapping[str, bytes], files: Sequence[str], known: Sequence[bytes]) -> str:
    data = b"".join([*(name.encode() + b"\0" + shas[name] for name in files), *known])
    return hashlib.sha256(data).hexdigest()[:16]


def _file_sha(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()


def ask_all(jobs: Sequence[Job], manner: Manner, say: Say) -> Iterator[Result]:
    """Ask the questions and yield each result when it is there. Raises what `running` raises, and ProcessDied."""
    for start in range(0, len(jobs), PER_STACK):
        with _stack(manner, say) as stack:
            yield from _ask_batch(jobs[start : start + PER_STACK], stack, manner)


@contextmanager
def _with_memory(home: Path, memory: Path | None) -> Iterator[None]:
    """Lays what the team has learned into the home folder of a stack that is about to start."""
    if memory is not None:
        shutil.copytree(memory, home / "memory")
    yield


@contextmanager
def _stack(manner: Manner, say: Say) -> Iterator[Stack]:
    with (
        tempfile.TemporaryDirectory(prefix="threadbook-eval-", ignore_cleanup_errors=True) as folder,
        _with_memory(Path(folder) / "home", manner.memory),
        running(Path(folder) / "home", say, environment=manner.environment) as stack,
    ):
        stack.slack.set_options(share_delay_s=0)
        yield stack


def _ask_batch(batch: Sequence[Job], stack: Stack, manner: Manner) -> Iterator[Result]:
    desks: SimpleQueue[tuple[str, str]] = SimpleQueue()
    for desk in DESKS[: manner.at_once]:
        desks.put(desk)
    gone = threading.Event()

    def at_a_desk(job: Job) -> Result | None:
        if gone.is_set():
            return None
        desk = desks.get()
        try:
            return _ask(job, stack, manner, *desk)
        finally:
            desks.put(desk)

    with ThreadPoolExecutor(manner.at_once) as pool:
        waiting: set[Future[Result | None]] = {pool.submit(at_a_desk, job) for job in batch}
        try:
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (result for future in done if (result := future.result()) is not None)
        finally:
            gone.set()
            for future in waiting:
                future.cancel()


def _ask(job: Job, stack: Stack, manner: Manner, channel: str, user: str) -> Result:
    """One question in a new thread. A turn that does not rest in time is a result too."""
    question = job.question
    talk = Conversation(stack, channel)
    started = time.monotonic()
    status, why = "", ""
    try:
        files = [manner.folder / name for name in question.files]
        status = talk.say(question.asked(plain=manner.plain), files, user=user)
    except (NoAnswer, TimeoutError, ValueError, OSError) as error:
        why = f"{type(error).__name__}: {error}"[:500]
    seconds = round(time.monotonic() - started, 2)
    turns = talk.turns()
    turn = turns[-1] if turns else None
    transcript = _save_transcript(job, talk, turns, manner)
    result = _scored(job, talk, turn, status, manner) if turn and status else _unasked(job, why)
    return result.model_copy(update={"seconds": seconds, "transcript": transcript, "status": status})


def _scored(job: Job, talk: Conversation, turn: TurnRow, status: str, manner: Manner) -> Result:
    question = job.question
    steps = talk.stack.store.steps(turn.id)
    stored = talk.stack.store.report(turn.id)
    report = stored.markdown if stored else ""
    end = _end(steps, status)
    outcome: Outcome = "right"
    given: dict[str, str] = {}
    why = _fault(steps)
    if why:
        outcome = "error"
    elif question.answers:
        score = score_plain if manner.plain else score_tags
        outcome, given = score(report, end, question.answers)
    if question.rubric and outcome == "right":
        graded = grade(manner.judge, manner.prompts, question.question, report, question.rubric)
        outcome, why = graded.outcome, graded.why
    spent = total_spent([step for step in steps if isinstance(step, Replied)])
    cells = [step for step in steps if isinstance(step, CellRan)]
    return _result(job, manner).model_copy(
        update={
            "outcome": outcome,
            "given": given,
            "why": why,
            "model": turn.model or manner.model,
            "cells": len(cells),
            "failed_cells": sum(cell.status != "ok" for cell in cells),
            "prompt_tokens": spent.prompt_tokens,
            "completion_tokens": spent.completion_tokens,
            "cost": None if spent.cost_micros is None else spent.cost_micros / 1e6,
        }
    )


def _fault(steps: Sequence[Step]) -> str:
    """Why the analyst could not be asked at all, "" when it could: an endpoint that is unavailable says nothing of
    answers."""
    gave_up = next((step for step in reversed(steps) if isinstance(step, GaveUp)), None)
    if gave_up is None or not (gave_up.fault == "ours" or gave_up.reason.startswith("model_")):
        return ""
    return f"{gave_up.reason}: {gave_up.text}"[:500]


def _end(steps: Sequence[Step], status: str) -> End:
    """How the turn ended, as its last words tell."""
    if status == "waiting" or (steps and isinstance(steps[-1], Questioned)):
        return "question"
    finished = next((step for step in reversed(steps) if isinstance(step, Finished)), None)
    if finished is None:
        return "gave up"
    return "partial" if finished.partial else "report"


def _unasked(job: Job, why: str) -> Result:
    return Result(id=job.question.id, repeat=job.repeat, outcome="error", why=why or "no turn was opened")


def _result(job: Job, manner: Manner) -> Result:
    question = job.question
    return Result(
        id=question.id,
        repeat=job.repeat,
        outcome="error",
        sha=question.sha,
        data=job.data,
        style="plain" if manner.plain else "tags",
        tags=question.tags,
        expected={n: "not in the data" if gold.unknown else str(gold.value) for n, gold in question.answers.items()},
    )


def _save_transcript(job: Job, talk: Conversation, turns: Sequence[TurnRow], manner: Manner) -> str:
    """The thread as a JSON file of its own; returns its name."""
    name = f"{job.question.id}-{job.repeat}.json"
    document = {
        "question": job.question.model_dump(mode="json"),
        "thread": [{"user": m.get("user", ""), "text": message_text(m)} for m in talk.messages()],
        "turns": [turn_document(talk, turn, {}) for turn in turns],
    }
    manner.transcripts.mkdir(parents=True, exist_ok=True)
    (manner.transcripts / name).write_text(json.dumps(document, ensure_ascii=False, indent=1), encoding="utf-8")
    return name
