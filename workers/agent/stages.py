"""Staged review: the plan and its stages, read from the steps of a turn. Pure.

The plan and each stage's result are questions of ours (`Questioned` with an `Approval`), decided as cells are. The plan
is a list, one stage a line: "Title — what it delivers".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from core.steps import Asked, CellRan, Checked, Corrected, Decided, Finished, Questioned, Replied, Step, decision_on
from workers.agent.text import one_line

MOST_STAGES = 12
MOST_READ = 100
"""Items of a list that are read."""
PLAN_CALL = "plan"
"""What a plan is about when we make it ourselves, because the model gives none."""
PLAN_FIRST = "plan_first"
"""The reason of the correction that asks the model for a plan."""

_TITLE_CHARS, _DELIVERS_CHARS = 120, 300
_ITEM = re.compile(r"^[ \t]*(?:[-*•]|\d{1,2}[.)、])[ \t]*(\S.*)$", re.MULTILINE)
_DASH = re.compile(r"\s+[—–-]\s+|：|:\s+")
_MARKS = re.compile(r"[*_`#]+")
_WORDS = re.compile(
    r"\b(?:step[ -]by[ -]step|stage[ -]by[ -]stage|schritt für schritt|paso a paso|[ée]tape par [ée]tape|pas à pas)\b"
    r"|逐步|分步|一步一步|分阶段|段階的に進め|ステップ(?:ごと|毎)に|一歩ずつ",
    re.IGNORECASE,
)


class Stage(NamedTuple):
    """One stage of a plan: its title, and what it delivers."""

    title: str
    delivers: str


class Result(NamedTuple):
    """A stage that people have decided on: its result, whether it counts, who decided, and the ts of Slack.

    The model `given` it with its `call`, and people were `asked` at that place of the steps. `editor` changed it.
    """

    stage: Stage
    text: str
    skipped: bool
    author: str
    ts: str
    given: str = ""
    call: str = ""
    asked: int = 0
    editor: str = ""


class Now(NamedTuple):
    """The stage that is worked on, its number from 1, and how many there are."""

    stage: Stage
    number: int
    of: int


def asks_for_stages(steps: Sequence[Step]) -> bool:
    """Whether somebody asked in a turn to go step by step."""
    return any(isinstance(step, Asked) and _WORDS.search(step.text) for step in steps)


def read_stages(text: str) -> tuple[Stage, ...]:
    """The stages of a plan, at most `MOST_STAGES`: the last one holds all that are left. None when the text is no
    list."""
    found = []
    for item in _ITEM.findall(text)[:MOST_READ]:
        title, _, delivers = _split(_MARKS.sub("", item))
        if title:
            found.append(Stage(one_line(title, _TITLE_CHARS), one_line(delivers, _DELIVERS_CHARS)))
    if len(found) > MOST_STAGES:
        rest = list(zip(*found[MOST_STAGES - 1 :], strict=True))
        titles, delivers = (one_line("; ".join(filter(None, each)), _DELIVERS_CHARS) for each in rest)
        found[MOST_STAGES - 1 :] = [Stage(titles, delivers)]
    return tuple(found)


def plan_text(stages: Sequence[Stage]) -> str:
    """A plan as people read and edit it."""
    return "\n".join(f"{number}. {line_of(stage)}" for number, stage in enumerate(stages, start=1))


def line_of(stage: Stage) -> str:
    """A stage in a line: "Title — what it delivers"."""
    return f"{stage.title} — {stage.delivers}" if stage.delivers else stage.title


def plan_of(steps: Sequence[Step]) -> tuple[Stage, ...] | None:
    """The plan that people approved, as they changed it; None while there is none."""
    for question in reversed(_questions(steps, "plan")):
        decided = decision_on(steps, question.call_id)
        if decided is not None and decided.outcome in ("run", "edited") and question.approval is not None:
            changed = _each_line(decided.code) if decided.outcome == "edited" else ""
            return read_stages(changed) or read_stages(question.approval.code)
    return None


def _each_line(text: str) -> str:
    """A plan as a person wrote it, where each line is a stage, with a number or without one."""
    return "\n".join(line if _ITEM.match(line) else f"- {line}" for line in text.splitlines() if line.strip())


def last_plan(steps: Sequence[Step]) -> tuple[Questioned, Decided | None] | None:
    """The last question about a plan, with its outcome."""
    questions = _questions(steps, "plan")
    return (questions[-1], decision_on(steps, questions[-1].call_id)) if questions else None


def results(steps: Sequence[Step]) -> list[Result]:
    """The stages that people have decided on, in their order."""
    stages = plan_of(steps) or ()
    found: list[Result] = []
    for question in _questions(steps, "stage"):
        decided = decision_on(steps, question.call_id)
        if decided is None or question.approval is None or decided.outcome not in ("run", "edited", "skip"):
            continue
        if len(found) < len(stages):
            given, author = question.approval.code, decided.author or decided.user
            text = decided.code if decided.outcome == "edited" else given
            made = Result(stages[len(found)], text, decided.outcome == "skip", author, decided.ts, given)
            asked, editor = steps.index(question), decided.editor or author
            found.append(made._replace(call=question.approval.call, asked=asked, editor=editor))
    return found


def since_decided(steps: Sequence[Step]) -> Sequence[Step]:
    """The steps since people last decided on the plan or on a stage: the stage that is worked on. All of them while
    there is no such decision, also outside staged review. A question that nobody decided in time is asked again."""
    reviews = {question.call_id for what in ("plan", "stage") for question in _questions(steps, what)}
    decided = (step for step in reversed(steps) if isinstance(step, Decided) and step.call_id in reviews)
    last = next((step for step in decided if step.outcome != "expired"), None)
    return steps if last is None else steps[steps.index(last) + 1 :]


def code_since_last_stage(steps: Sequence[Step]) -> str:
    """The code of the cells since people last decided on the plan or on a stage."""
    ran = (step for step in since_decided(steps) if isinstance(step, CellRan) and not step.is_own)
    return "\n\n".join(f"# %% {one_line(cell.title, _TITLE_CHARS)}\n{cell.code}" for cell in ran)


def stage_now(steps: Sequence[Step]) -> Now | None:
    """The stage that is worked on; None without a plan, and once all are decided."""
    plan, done = plan_of(steps) or (), len(results(steps))
    return Now(plan[done], done + 1, len(plan)) if done < len(plan) else None


def without_feedback(steps: Sequence[Step]) -> list[Step]:
    """The steps without rounds of feedback on what was approved later: results that were sent back, and the reasons.

    Cells stay: the session holds what they set. The replies that stay keep their numbers: the ids of calls that came
    without one follow from them.
    """
    gone = _approved_since(steps)
    kept: list[Step] = []
    replies = 0
    for place, step in enumerate(steps):
        if place in gone:
            replies += _is_reply(step)
        else:
            kept.append(step.model_copy(update={"gone": replies}) if _is_reply(step) and replies else step)
    return kept


def feedback_chars(steps: Sequence[Step]) -> int:
    """How many characters of words `without_feedback` saves in every further model call of these steps."""
    return sum(_chars(steps[place]) for place in _approved_since(steps))


def _chars(step: Step) -> int:
    match step:
        case Replied(purpose="act"):
            return len(step.text) + sum(len(call.arguments) for call in step.calls)
        case Asked() | Corrected():
            return len(step.text)
        case _:
            return 0


def _approved_since(steps: Sequence[Step]) -> set[int]:
    """The places of the rounds of feedback that were settled by an approval."""
    gone: set[int] = set()
    for what in ("plan", "stage"):
        rounds: list[int] = []
        for place, step in enumerate(steps):
            if not (isinstance(step, Questioned) and step.approval is not None and step.approval.what == what):
                continue
            decided = decision_on(steps, step.call_id)
            if decided is not None and decided.outcome in ("redo", "other"):
                rounds.append(place)
            elif decided is not None and decided.outcome in ("run", "edited", "skip"):
                for one in rounds:
                    gone |= set(_round(steps, one))
                rounds = []
    return gone


def _round(steps: Sequence[Step], place: int) -> range | list[int]:
    """The places of a result that was sent back: the reply, our question, what people said, the correction."""
    question = steps[place]
    reply = next((n for n in range(place - 1, -1, -1) if _is_reply(steps[n])), place)
    # A reply with several cells asks again for the second one, before the model is asked anything.
    ends = (n for n in range(place + 1, len(steps)) if _is_reply(steps[n]) or _is_review(steps[n]))
    end = next(ends, len(steps))
    kinds: tuple[type[Step], ...] = (Replied, Checked, Questioned, Decided, Corrected, Asked)
    if isinstance(question, Questioned) and question.approval is not None and question.approval.call == PLAN_CALL:
        reply = place  # the reply asked for a cell, which ran later
        kinds = (Questioned, Decided, Asked)
    return [n for n in range(reply, end) if isinstance(steps[n], kinds) and not isinstance(steps[n], Finished)]


def _is_reply(step: Step) -> bool:
    """Whether the model was asked to act, and this is what it said."""
    return isinstance(step, Replied) and step.purpose == "act"


def _is_review(step: Step) -> bool:
    """Whether people are asked about a plan or the result of a stage."""
    return isinstance(step, Questioned) and step.approval is not None and step.approval.what in ("plan", "stage")


def _questions(steps: Sequence[Step], what: str) -> list[Questioned]:
    return [s for s in steps if isinstance(s, Questioned) and s.approval is not None and s.approval.what == what]


def _split(text: str) -> tuple[str, str, str]:
    found = _DASH.split(text, maxsplit=1)
    return found[0].strip(), "", found[1].strip() if len(found) > 1 else ""
