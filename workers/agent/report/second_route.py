"""A second way to the figures of a report, which knows the question and the data but nothing of the first. Pure.

nobody wants one, or the report has no such figures → None: there is nothing to say
a person would have to allow its code, no call left → the outcome says so
nothing done yet                                    → AskModel "route"
the model wrote code                                → RunRoute, in a session of its own
it wrote none, or its code failed                   → AskModel "route" once more, then the outcome says so
a worker died while the code ran                    → RecordRoute: it is not tried again, the answer comes first
the code gave figures                               → the outcome: both values of each figure
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping, Sequence

from core import python_source
from core.second_route import NoRoute, RouteFigure, SecondRoute
from core.steps import Asked, Briefed, Noted, Questioned, Replied, RouteBegan, RouteRan, Step
from workers.agent.actions import Action, AskModel, Message, RecordRoute, RunRoute
from workers.agent.code.risks import touched
from workers.agent.code.source import tree
from workers.agent.guards import replies_left
from workers.agent.prompt.step_blocks import files_text, questions, sanitize_name, user
from workers.agent.provenance import Provenance
from workers.agent.provenance.second import chosen_figures, compare_figures
from workers.agent.replies.intents import RunPython
from workers.agent.replies.parse import read_reply
from workers.agent.text import clip, fenced_off, one_line, quoted
from workers.agent.turn import Episode, Turn

TRIES = 2
_SPARE_CALLS = 1
"""One reply must be left for a message that comes meanwhile."""
_READING_CHARS = 200
_CODE_CHARS = 20_000
_ERROR_CHARS = 3_000
_MOST_ANSWERS = 200
_NAME_CHARS = 120
_EARLIER_QUESTIONS = 3
_ENDED: Mapping[str, NoRoute] = {
    "unasked": "model",
    "interrupted": "interrupted",
    "away": "host",
    "timeout": "time",
    "killed": "memory",
    "died": "memory",
}


def second_route(turn: Turn, episode: Episode, provenance: Provenance) -> Action | SecondRoute | None:
    """What is next on the second way to the figures of this report: an action, its outcome, or nothing to say."""
    mode = turn.limits.second_route
    if mode == "off" or episode.reply.user:
        return None
    chosen = chosen_figures(provenance, all_of_them=mode == "always")
    if not chosen:
        return None
    if turn.approvals == "every cell":
        return SecondRoute(state="unchecked", reason="approval")
    so_far = [
        step
        for step in episode.steps
        if isinstance(step, RouteBegan | RouteRan) or (isinstance(step, Replied) and step.purpose == "route")
    ]
    last = so_far[-1] if so_far else None
    if last is None:
        return _ask(turn, so_far) or SecondRoute(state="unchecked", reason="budget")
    if isinstance(last, RouteBegan):
        return RecordRoute(last.cell_id, "interrupted")
    if isinstance(last, Replied):
        return _run(turn, episode, so_far, last)
    if last.status == "error":
        return _ask(turn, so_far) or _none("error", so_far)
    if last.status != "ok":
        return _none(_ENDED[last.status], so_far)
    if not last.read and (files_of_thread(turn) or turn.environment.sources):
        return _none("no_data", so_far)
    return _compared(compare_figures(provenance.report, chosen, last.result, _written(last.code)), so_far)


def _ask(turn: Turn, so_far: Sequence[Step]) -> AskModel | None:
    """Ask for code, also again after a failure. None when that was done often enough, or when no calls are left."""
    asked = sum(isinstance(step, Replied) for step in so_far)
    left = replies_left(turn) if turn.second_calls is None else min(replies_left(turn), turn.second_calls)
    return AskModel("route", _messages(turn, so_far)) if asked < TRIES and left > _SPARE_CALLS else None


def _run(turn: Turn, episode: Episode, so_far: Sequence[Step], reply: Replied) -> Action | SecondRoute:
    code = _code_of(reply)
    if code is None:
        return _ask(turn, so_far) or _none("prose", so_far)
    if turn.approvals in ("risky", "first cell") and touched(code).risks:
        return _none("approval", so_far)
    number = sum(isinstance(step, RouteRan) for step in so_far) + 1
    return RunRoute(f"{turn.id}/r{episode.number}-{number}", code)


def _code_of(reply: Replied) -> str | None:
    intent = read_reply(reply, 1).intents[0]
    return intent.code if isinstance(intent, RunPython) and intent.code.strip() else None


def _reading(so_far: Sequence[Step]) -> tuple[str, str]:
    """How the last reply understood the question, in its own words, and the name of its model."""
    reply = next((step for step in reversed(so_far) if isinstance(step, Replied)), None)
    if reply is None:
        return "", ""
    return one_line(reply.text.partition("```")[0].strip(" *_#>-"), _READING_CHARS), reply.model


def _none(reason: NoRoute, so_far: Sequence[Step]) -> SecondRoute:
    return _outcome(so_far).model_copy(update={"state": "unchecked", "reason": reason, "reading": ""})


def _compared(figures: Sequence[RouteFigure], so_far: Sequence[Step]) -> SecondRoute:
    states = {figure.state for figure in figures}
    if states == {"absent"}:
        return _none("nothing", so_far).model_copy(update={"figures": tuple(figures)})
    state = "differs" if "other" in states else "partly" if "absent" in states else "agrees"
    return _outcome(so_far).model_copy(update={"state": state, "figures": tuple(figures)})


def _outcome(so_far: Sequence[Step]) -> SecondRoute:
    ran = [step for step in so_far if isinstance(step, RouteRan)]
    reading, model = _reading(so_far)
    return SecondRoute(
        state="agrees",
        model=model,
        reading=reading,
        code=ran[-1].code if ran else "",
        seconds=round(sum(step.seconds for step in ran), 1),
    )


# --- what the second way is asked


def files_of_thread(turn: Turn) -> bool:
    """Whether the thread has files that could be read."""
    return any(isinstance(step, Briefed) and step.files for step in turn.thread_steps)


def _messages(turn: Turn, so_far: Sequence[Step]) -> tuple[Message, ...]:
    """The question and the data, and nothing of what was computed so far. The first message is always the same."""
    environment = turn.environment
    system = turn.prompts.render(
        "second_route",
        python_version=environment.python_version,
        packages=environment.packages,
        cell_timeout_s=f"{environment.cell_timeout_s:g}",
    )
    room = turn.context_chars // 2
    before = [step for steps in turn.earlier for step in steps if isinstance(step, Asked) and not step.left_out]
    briefings = [step for step in turn.thread_steps if isinstance(step, Briefed)]
    task = turn.prompts.render(
        "second_route_task",
        today=environment.today,
        earlier=questions(before[-_EARLIER_QUESTIONS:], 3_000) if before else [],
        messages=_said(turn),
        files=files_text(turn, briefings, min(turn.limits.files_chars, room)),
        sources=_sources(turn),
    )
    return ({"role": "system", "content": system}, user(task), *_again(turn, so_far))


def _sources(turn: Turn) -> str:
    """How the data sources are asked, and their tables as far as the question needs them."""
    if not (sources := turn.environment.sources):
        return ""
    described = [source for source in sources if source.schema]
    schemas = turn.prompts.render("schemas", sources=described) if described else ""
    return "\n\n".join(part for part in (turn.prompts.render("sources", sources=sources, withheld=0), schemas) if part)


def _said(turn: Turn) -> list[dict[str, str]]:
    """What was written in this turn: people's messages, the analyst's questions to them, and notes. They say what is
    meant."""
    found = []
    for step in turn.steps:
        if isinstance(step, Asked | Noted) and not (isinstance(step, Asked) and step.left_out):
            name = sanitize_name(step.author or step.user)
            found.append({"author": name, "text": quoted(clip(step.text, 4_000))})
        elif isinstance(step, Questioned) and step.approval is None:
            found.append({"author": "The analyst asks back", "text": quoted(clip(step.question, 1_000))})
    return found


def _again(turn: Turn, so_far: Sequence[Step]) -> list[Message]:
    """The second way's own tries so far, each with its outcome."""
    told: list[Message] = []
    for place, step in enumerate(so_far):
        if not isinstance(step, Replied):
            continue
        ran = next((after for after in so_far[place + 1 :] if isinstance(after, RouteRan)), None)
        text = clip(step.text or (_code_of(step) or ""), _CODE_CHARS) or "(empty reply)"
        error = fenced_off("error", clip(ran.error, _ERROR_CHARS)) if ran is not None and ran.error else ""
        told.append({"role": "assistant", "content": text})
        told.append(user(turn.prompts.render("second_route_again", error=error)))
    return told


# --- what it computed


def read_answers(shown: str) -> str | None:
    """The values in the code's dictionary, as JSON: name → finite number. None when the text is something else.

    `shown` comes out of a sandbox: its size is bounded there, and all else is checked here.
    """
    try:
        value = python_source.literal(shown)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return None
    if not isinstance(value, dict):
        return None
    found: dict[str, float] = {}
    for name, number in _flat(value, ""):
        if len(found) < _MOST_ANSWERS:
            found.setdefault(name, number)
    return json.dumps(found, ensure_ascii=False)


def _flat(value: object, name: str, depth: int = 0) -> Iterator[tuple[str, float]]:
    if isinstance(value, dict) and depth < 4:
        for key, item in value.items():
            yield from _flat(item, one_line(f"{name} {key}".strip(), _NAME_CHARS), depth + 1)
    elif isinstance(value, int | float) and not isinstance(value, bool) and name and abs(value) < 1e300:
        yield name, value


def _written(code: str) -> frozenset[float]:
    """The numbers that stand in a program."""
    parsed = tree(code)
    found = (node.value for node in ast.walk(parsed) if isinstance(node, ast.Constant)) if parsed else ()
    numbers = (value for value in found if isinstance(value, int | float) and not isinstance(value, bool))
    return frozenset(float(value) for value in numbers if abs(value) < 1e300)
