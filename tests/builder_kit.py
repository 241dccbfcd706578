"""Doubles for builds: walls without a sandbox, walls that answer from a list, and models that make typical mistakes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workers.builder.build import Builder
from workers.builder.build_state import Order
from workers.builder.history.handover import HandedOver, hand_over
from workers.builder.history.iterations import History
from workers.builder.progress import Progress
from workers.builder.requirements.requirement import read
from workers.builder.sandbox.walls import Job, Ran, Walls
from workers.models.base import Model
from workers.models.scripted import ScriptedModel
from workers.turn.prompts import load_prompts

FENCE = "``````"
FINE = '{"findings": [], "touches": []}'


class LocalWalls:
    """Runs Python, bash and `tools` in a folder of the test, with no walls at all. Others are not installed."""

    level = "none"

    def __init__(self, *tools: str) -> None:
        self.jobs: list[Job] = []
        self._programs = {"python", "bash", "env", *tools}

    def run(self, job: Job) -> Ran:
        self.jobs.append(job)
        program, *words = job.words
        if program not in self._programs:
            return Ran("ok", 127, stderr=f"{program}: command not found")
        if "-m" in words[:2] or "mypy" in " ".join(words[:3]):
            return Ran("ok", 1, stderr=f"No module named {words[-2]}")
        with tempfile.TemporaryDirectory() as folder:
            for path, text in job.files.items():
                (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
                (Path(folder) / path).write_text(text, encoding="utf-8")
            environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": "", **job.environment}
            try:
                if job.prepare:
                    made = subprocess.run(job.prepare, cwd=folder, capture_output=True, text=True, check=False)
                    if made.returncode:
                        return Ran("ok", made.returncode, made.stdout, made.stderr, prepared=False)
                done = subprocess.run(
                    [sys.executable if program == "python" else program, *words],
                    cwd=folder,
                    input=job.stdin,
                    capture_output=True,
                    text=True,
                    timeout=job.timeout_s,
                    env=environment,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                return Ran("timeout", None, why=f"it did not end within {job.timeout_s:g} s")
            left = {path: Path(folder) / path for path in job.wanted}
            files = {path: file.read_text() for path, file in left.items() if file.is_file()}
        said, complained = (text.replace(folder, "/workspace/job") for text in (done.stdout, done.stderr))
        return Ran("ok", done.returncode, said, complained, files)


@dataclass
class ScriptedWalls:
    """Answers each job by the first rule whose word is among the job's; else with exit code 0 and no output."""

    rules: Mapping[str, Ran] = field(default_factory=dict)
    level: str = "strong"
    jobs: list[Job] = field(default_factory=list)

    def run(self, job: Job) -> Ran:
        self.jobs.append(job)
        if "--version" in job.words:
            return Ran("ok", 0, "1.0")
        said = " ".join(job.words)
        return next((ran for word, ran in self.rules.items() if word in said), Ran("ok", 0))


def code(path: str, text: str, language: str = "python") -> str:
    """A reply with one file, in the form that is asked for."""
    return f"File: {path}\n{FENCE}{language}\n{text}\n{FENCE}\n"


def covered(*rows: tuple[str, bool, str]) -> str:
    """A judge's reply: (id, met, where)."""
    import json

    return json.dumps(
        {
            "requirements": [
                {"id": name, "met": met, "where": where, "why": "it is missing"} for name, met, where in rows
            ]
        }
    )


def reply(when: str, text: str, **more: Any) -> dict[str, Any]:
    return {"when": when, "text": text, **more}


def model(
    first: Sequence[dict[str, Any]], later: Sequence[dict[str, Any]] = (), checks: Sequence[dict[str, Any]] = ()
) -> ScriptedModel:
    """A model that answers first requests, repairs, and judges by words that they hold."""
    return ScriptedModel(replies=[list(first), list(later)] if later else [list(first)], checks=list(checks))


def build(
    folder: Path,
    text: str,
    model: Model,
    *,
    walls: Walls | None = None,
    name: str = "p.toml",
    tell: Callable[[Progress], None] = lambda _: None,
    **order: Any,
) -> HandedOver:
    """A whole build into `folder`, handed over."""
    history = History(folder)
    requirement = read(text, name)
    builder = Builder(model=model, prompts=load_prompts(), walls=walls or LocalWalls(), history=history, tell=tell)
    iteration = builder.build(Order(requirement, text, **order))
    return hand_over(history, iteration, requirement, text)
