"""Rubric answers: a model grades a report criterion by criterion."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from tryout.evals.scoring import Outcome
from workers.agent.text import clip, quoted
from workers.models.base import Model, ModelError, ModelRequest
from workers.turn.prompts import Prompts

_OBJECT = re.compile(r"\{.*\}", re.DOTALL)
_MAX_REPORT = 40_000


@dataclass(frozen=True, slots=True)
class Grade:
    """The outcome of a rubric."""

    outcome: Outcome
    why: str = ""


def grade(model: Model | None, prompts: Prompts, question: str, report: str, criteria: Sequence[str]) -> Grade:
    """Right when the judge finds every criterion met; skipped without a model to judge."""
    if model is None:
        return Grade("skipped", "no model to judge by a rubric: set OPENAI_API_KEY or OPENAI_BASE_URL")
    if not report.strip():
        return Grade("declined", "there is no report")
    text = prompts.render(
        "rubric", question=quoted(question), report=quoted(clip(report, _MAX_REPORT)), criteria=list(criteria)
    )
    try:
        reply = model.complete(ModelRequest(({"role": "user", "content": text},), purpose="check"), lambda _: None)
    except ModelError as error:
        return Grade("error", f"the judge could not be asked: {error}")
    return read_grade(reply.text, len(criteria))


def read_grade(text: str, count: int) -> Grade:
    """The grade in a judge's reply; an error when it is no verdict on exactly `count` criteria."""
    found = _OBJECT.search(text[:20_000])
    try:
        value = json.loads(found.group()) if found else None
    except (ValueError, RecursionError):
        value = None
    met = value.get("met") if isinstance(value, dict) else None
    if not isinstance(met, list) or len(met) != count or not all(isinstance(each, bool) for each in met):
        return Grade("error", "the judge's reply could not be read")
    why = str(value.get("why") or "")[:500] if isinstance(value, dict) else ""
    missing = [str(number) for number, each in enumerate(met, 1) if not each]
    return Grade("wrong", f"not met: {', '.join(missing)}. {why}".strip()) if missing else Grade("right", why)
