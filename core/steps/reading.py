"""What the steps of a turn say: who wrote one, which question is open, what was decided. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeGuard

from core.commands.registry import ANSWERS
from core.commands.words import without_marks
from core.rows import Spent
from core.steps.approvals import Agreed, Approval, Decided, Questioned, Redrafted
from core.steps.files import FilesSettled
from core.steps.imported import Imported, Loaded
from core.steps.model import Replied
from core.steps.people import Asked, Changed, Commanded, Noted, Startup
from core.steps.sessions import Forgot, Forked, Inherited, Resumed, Undone
from core.steps.stored import Step
from core.steps.team import Learning, Proposed, Settled, Unfollowed

_OF_PEOPLE = (
    *(Asked, Noted, Changed, Unfollowed, Learning, Proposed, Settled, Agreed, Commanded, Resumed, Undone, Forgot),
    *(Redrafted, Decided, FilesSettled),
    *(Forked, Inherited, Imported, Loaded, Startup),
)


def user_of(step: Step) -> str:
    """The Slack user id of the person behind a step; "" when no person is."""
    return step.user if isinstance(step, _OF_PEOPLE) else ""


def open_question(steps: Sequence[Step]) -> Questioned | None:
    """The question that nobody answered yet. Words, a decision, the answer to a reset and what a person says in the
    analyst's place close one. A stop leaves it open, and so does what the model writes for a program."""
    for step in reversed(steps):
        if isinstance(step, Questioned):
            return step
        is_reply = isinstance(step, Replied) and step.purpose != "build"
        if is_reply or isinstance(step, Asked | Decided) or answers_reset(step):
            return None
    return None


def decision_on(steps: Sequence[Step], call_id: str) -> Decided | None:
    """The last decision on the question with this id; None while there is none."""
    return next((step for step in reversed(steps) if isinstance(step, Decided) and step.call_id == call_id), None)


class Draft(NamedTuple):
    """Our question with its current text. `number` counts how often people changed it, `editor` is the last person who
    did, and `agreed` are those who said yes to just this text, with who changed it."""

    question: Questioned
    number: int = 0
    editor: str = ""
    agreed: tuple[Agreed | Redrafted, ...] = ()


def draft_of(steps: Sequence[Step], question: Questioned) -> Draft:
    """The question of these steps as people changed it while more of them had to say yes."""
    about = [step for step in steps if isinstance(step, Agreed | Redrafted) and step.call_id == question.call_id]
    places = [place for place, step in enumerate(about) if isinstance(step, Redrafted)]
    last = about[places[-1]] if places else None
    agreed = tuple(about[places[-1] :] if places else about)
    if not isinstance(last, Redrafted) or question.approval is None:
        return Draft(question, agreed=agreed)
    now = last.model_dump(include={"code", "risks", "reads", "writes"})
    approval = Approval.model_validate(question.approval.model_dump() | now)
    changed = question.model_copy(update={"approval": approval})
    return Draft(changed, len(places), last.author or last.user, agreed)


def option_of(text: str, question: Questioned) -> int | None:
    """The place of the option that a text is, in any case and with any marks around it; None when it is none."""
    for read in (lambda words: words.strip().casefold(), without_marks):
        options = [read(option) for option in question.options]
        if (said := read(text)) and said in options:
            return options.index(said)
    return None


def answers_reset(step: Step) -> TypeGuard[Commanded]:
    """Whether this step is the yes or no to our question about a reset."""
    return isinstance(step, Commanded) and step.command in ANSWERS


def total_spent(replies: Sequence[Replied]) -> Spent:
    """The sum over these calls; without a cost when none of them has one."""
    costs = [step.cost_micros for step in replies if step.cost_micros is not None]
    return Spent(
        prompt_tokens=sum(step.usage.prompt_tokens for step in replies),
        cached_tokens=sum(step.usage.cached_tokens for step in replies),
        completion_tokens=sum(step.usage.completion_tokens for step in replies),
        cost_micros=sum(costs) if costs else None,
        calls=len(replies),
    )
