"""The playbook that a turn follows: which one, whether people are asked first, and whether they want it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from core.phrases import say
from core.steps import Asked, PlaybookNote, Questioned, Recalled, Step, Unfollowed, option_of
from core.values import Language
from workers.agent.actions import AskHuman

DRIFT_CALL = "drift:"
"""The call ids of our own questions whether to follow a playbook from which the data has drifted begin like this."""
_DECLINES = 1
"""The place of the option that says no."""
_MOST_SHOWN = 6


def playbook_of(steps: Sequence[Step]) -> PlaybookNote | None:
    """The playbook that a turn of these steps follows, as people left it."""
    unwanted = unwanted_playbooks(steps)
    notes = [step.playbook for step in steps if isinstance(step, Recalled) and step.playbook is not None]
    return next((note for note in reversed(notes) if note.file not in unwanted), None)


def unwanted_playbooks(steps: Sequence[Step]) -> set[str]:
    """The files of the playbooks that people do not want the turn to follow."""
    unwanted = {step.file for step in steps if isinstance(step, Unfollowed)}
    file, question = "", None
    for step in steps:
        if isinstance(step, Recalled) and step.playbook is not None:
            file = step.playbook.file
        elif isinstance(step, Questioned):
            question = step if step.call_id.startswith(DRIFT_CALL) else None
        elif isinstance(step, Asked) and question is not None:
            if option_of(step.text, question) == _DECLINES:
                unwanted.add(file)
            question = None
    return unwanted


def drift_question(steps: Sequence[Step], language: Language) -> AskHuman | None:
    """What people are asked, once, before the turn follows a playbook whose tables or columns have changed."""
    note = playbook_of(steps)
    if note is None or not note.drift:
        return None
    asked = sum(isinstance(step, Questioned) and step.call_id.startswith(DRIFT_CALL) for step in steps)
    drifted = sum(isinstance(step, Recalled) and bool(step.playbook and step.playbook.drift) for step in steps)
    if asked >= drifted:
        return None
    lines = "\n".join(f"• {line}" for line in note.drift[:_MOST_SHOWN])
    question = say("playbook_drift_question", language, name=note.name, lines=lines)
    options = (say("playbook_drift_follow", language), say("playbook_drift_leave", language))
    return AskHuman(f"{DRIFT_CALL}{asked + 1}", question, options)
