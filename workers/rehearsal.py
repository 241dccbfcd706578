"""Everything pure that a turn does, done once before a worker forks: no turn pays for first times.

A horse is a fresh fork for each job. What its parent has in memory (parsed prompts and phrases, compiled templates and
schemas) it gets for nothing; what it would have to make itself costs a quarter of a second per turn.
"""

from __future__ import annotations

from typing import get_args

from core.phrases import phrases, say
from core.settings import Settings
from core.values import Language
from workers.agent.decide import decide
from workers.agent.steps import Asked, Briefed, CellRan, FileAbstract, Finished, Replied, Step
from workers.agent.turn import AgentLimits, Turn
from workers.models.choose import opened_model
from workers.progress import progress_blocks, progress_of
from workers.prompts import load_prompts
from workers.reports import render_report, report_input
from workers.wiring import environment

_STEPS: tuple[Step, ...] = (
    Asked(user="U", author="Somebody", text="How much was sold?", ts="1.000001"),
    Briefed(files=(FileAbstract(path="sales.csv", format="csv", size=1, sha256="0" * 64),)),
    Replied(purpose="act", text="```python\n1\n```"),
    CellRan(call_id="1", cell_id="c1", title="Read", code="1", status="ok", stdout="1", files_read=("sales.csv",)),
)


def rehearse(settings: Settings) -> None:
    """Go through a turn without Slack, Store, session or network. Raises what a real turn would raise: at the start."""
    with opened_model(settings):
        pass
    languages: tuple[Language, ...] = get_args(Language)
    for language in languages:
        steps = (*_STEPS, Finished(report="# Report\n\n| a |\n| - |\n| 1 |"))
        progress_blocks(progress_of(steps, language))
        render_report(report_input(steps, language))
        for status in (key for key in phrases() if key.startswith("status_")):
            say(status, language)
        decide(
            Turn(
                id="rehearsal",
                language=language,
                steps=_STEPS,
                limits=AgentLimits(),
                environment=environment(settings),
                prompts=load_prompts(),
            )
        )
