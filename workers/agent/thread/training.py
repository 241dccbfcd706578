"""A thread as examples for training: whole conversations, and pairs of a better and a worse answer. Pure.

An example is made of the messages that the model would get (`workers/agent/prompt/messages.py`), so what is learned is
what will be asked.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal, get_args

from core.phrases import say
from core.steps import (
    Asked,
    CellRan,
    Changed,
    Checked,
    Corrected,
    Decided,
    Finished,
    Imported,
    Questioned,
    Replied,
    Resumed,
    Said,
    Step,
    ToolCall,
    decision_on,
    user_of,
)
from core.values import Language
from workers.agent.actions import Message
from workers.agent.code.program import program
from workers.agent.prompt.messages import messages
from workers.agent.prompt.step_blocks import sanitize_name
from workers.agent.replies.tools import FINISH, RUN_BASH
from workers.agent.thread.changes import REPORT, edited
from workers.agent.thread.effective_steps import effective_steps
from workers.agent.turn import Turn, episodes

Turns = Sequence[Sequence[Step]]
Pair = Literal["edit", "redo", "rejection", "failure", "vote"]
"""Where a pair comes from: a person edited it, asked for another one, or refused it; it failed and the next one passed;
people voted."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """One turn with the thread before it. `whole` has every attempt, `passing` only those that led to something.

    Code that a person edited before it ran is in `passing` as that person wrote it. `by_person` and `passing_by_person`
    say for each message whether a person wrote it in the analyst's place, or edited it.
    """

    number: int
    whole: tuple[Message, ...]
    passing: tuple[Message, ...]
    left_out: int
    by_person: tuple[bool, ...]
    passing_by_person: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Preference:
    """Two answers after the same messages: the better and the worse one. `by_person` says for each message of each side
    whether a person wrote it."""

    kind: Pair
    number: int
    prompt: tuple[Message, ...]
    chosen: tuple[Message, ...]
    rejected: tuple[Message, ...]
    by_person: Mapping[str, tuple[bool, ...]]


@dataclass(frozen=True, slots=True)
class ImportedConversation:
    """A conversation of another tool, word for word, and which messages of the assistant a person wrote in that
    tool."""

    head: Imported
    messages: tuple[Message, ...]
    by_person: tuple[bool, ...]


def people_in(turns: Turns) -> frozenset[str]:
    """The Slack ids of all people in the steps of a thread, and the names that imported messages have."""
    steps = [step for steps in turns for step in steps]
    named = {str(step.message.get("name") or "") for step in steps if isinstance(step, Said)}
    named |= {person for step in steps if isinstance(step, Imported) for person in step.people}
    return frozenset({user_of(step) or str(getattr(step, "user", "")) for step in steps} | named) - {""}


def without_names(turns: Turns) -> list[list[Step]]:
    """The same steps with "person_1", "person_2" … in place of people's names and ids, also where we put a name into
    the title of a cell: "Sum (code changed by Ana)"."""
    aliases: dict[str, str] = {}
    names: dict[str, str] = {}
    for step in (step for steps in turns for step in steps):
        if user := str(getattr(step, "user", "")):
            alias = aliases.setdefault(user, f"person_{len(aliases) + 1}")
            if author := sanitize_name(str(getattr(step, "author", ""))):
                names.setdefault(author, alias)
    return [[_as_alias(step, aliases, names) for step in steps] for steps in turns]


def _as_alias(step: Step, aliases: Mapping[str, str], names: Mapping[str, str]) -> Step:
    if isinstance(step, CellRan):
        step = step.model_copy(update={"title": _title_without(names, step)})
    if editor := str(getattr(step, "editor", "")):
        step = step.model_copy(update={"editor": names.get(sanitize_name(editor), "person")})
    alias = aliases.get(str(getattr(step, "user", "")))
    return step.model_copy(update={"user": alias, "author": alias}) if alias else step


def _title_without(names: Mapping[str, str], cell: CellRan) -> str:
    """The title with an alias where we put a name into it: once where a person wrote the cell, and behind it where one
    changed its code. The same word elsewhere is none."""
    title = cell.title
    for name, alias in sorted(names.items(), key=lambda pair: -len(pair[0])):
        if cell.user:
            title, found = re.subn(rf"(?<!\w){re.escape(name)}(?!\w)", alias, title, count=1)
            if found:
                break
    for (name, alias), language in product(names.items(), get_args(Language)):
        edited = say("edited_cell", language, title="", author=name).strip()
        if title.endswith(edited):
            title = f"{title.removesuffix(edited)}{edited.replace(name, alias)}"
    return title


def conversation(view: Turn, turns: Turns, number: int) -> Conversation | None:
    """Turn `number`, from 1, of a thread as an example; None when it has no report.

    `turns` are as they are stored. `view` gives language, limits, environment and prompts.
    """
    *earlier, steps = _marked(turns[:number])
    finished = next((step for step in steps if isinstance(step, Finished)), None)
    if finished is None or finished.partial or not any(isinstance(step, Asked) and step.text for step in steps):
        return None
    kept, left_out = passing(steps, _needed_partly([*earlier, steps]))
    whole = _messages(view, earlier, steps)
    is_same = _acted(kept) == _acted(steps)
    learned = whole if is_same else _messages(view, earlier, kept)
    by_person = _by_person(whole, [*earlier, steps])
    return Conversation(number, whole, learned, left_out, by_person, _by_person(learned, [*earlier, kept]))


def passing(steps: Sequence[Step], needed: frozenset[str] = frozenset()) -> tuple[tuple[Step, ...], int]:
    """The steps without the attempts that led to nothing, and the number of these attempts.

    A failed cell stays if later code uses its variables (`needed`). A call whose code a person edited has that code.
    """
    opening, found = episodes(steps)
    kept: list[Step] = [step for step in opening if not isinstance(step, Checked | Corrected)]
    dropped = 0
    for episode in found:
        if _failed(episode.steps, needed):
            dropped += 1
            kept += [step for step in episode.steps if isinstance(step, Asked)]
            continue
        kept += [_as_it_ran(episode.reply, episode.steps), *(step for step in episode.steps if not _is_check(step))]
    return tuple(kept), dropped


def imported(steps: Sequence[Step]) -> ImportedConversation | None:
    """The imported conversation that a turn is; None for a turn of ours."""
    head = next((step for step in steps if isinstance(step, Imported)), None)
    if head is None:
        return None
    said = [step for step in steps if isinstance(step, Said)]
    return ImportedConversation(head, tuple(step.message for step in said), tuple(map(_is_of_person, said)))


def imported_preferences(steps: Sequence[Step], number: int) -> Iterator[Preference]:
    """A pair for each message of the model that somebody edited in the other tool."""
    said = [step for step in steps if isinstance(step, Said)]
    for place, step in enumerate(said):
        is_edit = step.type == "edit" and step.message.get("role") == "assistant" and step.before
        if is_edit and step.before != step.message.get("content"):
            prompt = tuple(each.message for each in said[:place])
            worse = {**step.message, "content": step.before}
            before = tuple(map(_is_of_person, said[:place]))
            sides = {"prompt": before, "chosen": (True,), "rejected": (False,)}
            yield Preference("edit", number, prompt, (step.message,), (worse,), sides)


def preferences(view: Turn, turns: Turns, number: int) -> Iterator[Preference]:
    """The pairs of turn `number`, from what people did there and from what failed before it passed."""
    before, steps = turns[: number - 1], list(turns[number - 1])
    starts = [place for place, step in enumerate(steps) if isinstance(step, Replied) and step.purpose == "act"]
    for place, start in enumerate(starts):
        reply = steps[start]
        assert isinstance(reply, Replied)  # noqa: S101 - `starts` holds nothing else; mypy cannot see it
        after = steps[start + 1 : starts[place + 1] if place + 1 < len(starts) else len(steps)]
        better = _better(steps, starts, place, after)
        if better is None:
            continue
        kind, chosen = better
        earlier, begun = _effective([*before, steps[:start]])
        prompt = _messages(view, earlier, begun)
        sides = _sides(_by_person(prompt, [*earlier, begun]), chosen, reply)
        yield Preference(kind, number, prompt, (said(chosen),), (said(reply),), sides)
    yield from _edited_report(view, turns, number)


def said(reply: Replied) -> Message:
    """A reply as a message of the assistant, with native calls."""
    message: Message = {"role": "assistant", "content": reply.text}
    if reply.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in reply.calls
        ]
    return message


def report_of(steps: Sequence[Step]) -> str:
    """The report that ends a turn; "" without one."""
    return next((step.report for step in reversed(steps) if isinstance(step, Finished)), "")


def is_report_of_person(steps: Sequence[Step]) -> bool:
    """Whether a person wrote the report that ends a turn."""
    last = next((step for step in reversed(steps) if isinstance(step, Replied) and step.purpose == "act"), None)
    return last is not None and bool(last.user)


def question_of(steps: Sequence[Step]) -> str:
    """What was asked, as one text."""
    return "\n".join(step.text for step in steps if isinstance(step, Asked) and step.text.strip())


# --- pairs


def _better(
    steps: Sequence[Step], starts: Sequence[int], place: int, after: Sequence[Step]
) -> tuple[Pair, Replied] | None:
    """The reply that replaced this one, and why; None if this one was kept."""
    reply = steps[starts[place]]
    decided = next((step for step in after if isinstance(step, Decided)), None)
    next_good = next(
        (
            found
            for at in range(place + 1, len(starts))
            if isinstance(found := steps[starts[at]], Replied) and not _failed(_after(steps, starts, at), frozenset())
        ),
        None,
    )
    if isinstance(reply, Replied) and (as_it_ran := _as_it_ran(reply, after)) != reply:
        return "edit", as_it_ran
    if next_good is None:
        return None
    if decided is not None and decided.outcome == "redo":
        return "redo", next_good
    if decided is not None and decided.outcome == "reject":
        return "rejection", next_good
    follows = place + 1 < len(starts) and steps[starts[place + 1]] is next_good
    return ("failure", next_good) if follows and _failed(after, frozenset()) else None


def _after(steps: Sequence[Step], starts: Sequence[int], place: int) -> Sequence[Step]:
    return steps[starts[place] + 1 : starts[place + 1] if place + 1 < len(starts) else len(steps)]


def _edited_report(view: Turn, turns: Turns, number: int) -> Iterator[Preference]:
    """A report that a person edited for the model, in this turn or later."""
    edits = (step for steps in turns for step in steps if isinstance(step, Changed) and step.do == "edit")
    edit = next((step for step in reversed(list(edits)) if step.target == f"{REPORT}{number}"), None)
    steps = turns[number - 1]
    starts = [n for n, step in enumerate(steps) if isinstance(step, Replied) and step.purpose == "act"]
    written = report_of(steps)
    if edit is None or not starts or not written or edit.text.strip() == written.strip():
        return
    earlier, begun = _effective([*turns[: number - 1], steps[: starts[-1]]])
    prompt = _messages(view, earlier, begun)
    better = _reporting(edit.text).model_copy(update={"user": edit.user})
    worse = _reporting(written).model_copy(update={"user": "person" if is_report_of_person(steps) else ""})
    sides = _sides(_by_person(prompt, [*earlier, begun]), better, worse)
    yield Preference("edit", number, prompt, (said(better),), (said(worse),), sides)


def _reporting(text: str) -> Replied:
    call = ToolCall(id="report", name=FINISH, arguments=_json({"report": text}))
    return Replied(purpose="act", calls=(call,))


# --- what a person wrote


def _marked(turns: Turns) -> list[tuple[Step, ...]]:
    """The effective steps. Each report that a person edited has that person as its author."""
    edits, found = edited(turns), []
    for number, steps in enumerate(effective_steps(turns), start=1):
        edit, kept = edits.get(f"{REPORT}{number}"), list(steps)
        acted = [n for n, step in enumerate(steps) if isinstance(step, Replied) and step.purpose == "act"]
        if edit is not None and acted:
            kept[acted[-1]] = steps[acted[-1]].model_copy(update={"user": edit.user})
        found.append(tuple(kept))
    return found


def _by_person(told: Sequence[Message], turns: Turns) -> tuple[bool, ...]:
    """For each message, whether it is a reply that a person wrote or edited."""
    wrote: dict[str, list[bool]] = defaultdict(list)
    for reply in (step for steps in turns for step in steps):
        if isinstance(reply, Replied) and reply.purpose == "act":
            wrote[reply.calls[0].id if reply.calls else reply.text.strip()].append(bool(reply.user))
    found = []
    # From the end: a server may give the same id to several calls, and a long prompt lacks its beginning.
    for message in reversed(told):
        calls = message.get("tool_calls")
        same = wrote.get(calls[0]["id"] if calls else str(message["content"]).strip(), [])
        found.append(message["role"] == "assistant" and bool(same) and same.pop())
    return tuple(reversed(found))


def _sides(prompt: tuple[bool, ...], chosen: Replied, rejected: Replied) -> Mapping[str, tuple[bool, ...]]:
    return {"prompt": prompt, "chosen": (bool(chosen.user),), "rejected": (bool(rejected.user),)}


def _is_of_person(step: Said) -> bool:
    """Whether a person wrote a message that the assistant says in the other tool."""
    return step.message.get("role") == "assistant" and step.type in ("manual", "edit")


def _as_it_ran(reply: Replied, after: Sequence[Step]) -> Replied:
    """The reply with the code that ran, if a person replaced its code before a cell ran; else the reply itself."""
    for asked in (step for step in after if isinstance(step, Questioned)):
        decided = decision_on(after, asked.call_id)
        about = asked.approval
        is_cell = about is None or about.what in ("python", "bash")
        if is_cell and decided is not None and decided.outcome == "edited" and decided.code:
            written = _with_code(reply, about.call if about is not None else "", decided.code)
            return written.model_copy(update={"user": decided.user})
    return reply


def _with_code(reply: Replied, call_id: str, code: str) -> Replied:
    """The reply with this code in one call: the call with this id, else the first. Other arguments stay."""
    if not reply.calls:
        return reply.model_copy(update={"text": f"```python\n{code}\n```"})
    place = next((n for n, call in enumerate(reply.calls) if call.id == call_id), 0)
    call = reply.calls[place]
    key = "command" if call.name == RUN_BASH else "code"
    changed = call.model_copy(update={"arguments": _json({**_arguments(call), key: code})})
    return reply.model_copy(update={"calls": (*reply.calls[:place], changed, *reply.calls[place + 1 :])})


def _arguments(call: ToolCall) -> dict[str, Any]:
    try:
        found = json.loads(call.arguments)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _acted(steps: Sequence[Step]) -> list[Replied]:
    return [step for step in steps if isinstance(step, Replied) and step.purpose == "act"]


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False)


# --- what came to nothing


def _failed(steps: Sequence[Step], needed: frozenset[str]) -> bool:
    """Whether what followed a reply shows that it led to nothing."""
    ran = [step for step in steps if isinstance(step, CellRan) and not step.is_own]
    if any(cell.status != "ok" and cell.cell_id not in needed for cell in ran):
        return True
    if any(isinstance(step, Decided) and step.outcome in ("skip", "reject", "redo", "expired") for step in steps):
        return True
    return any(isinstance(step, Corrected) for step in steps)


def _is_check(step: Step) -> bool:
    is_judged = isinstance(step, Replied) and step.purpose == "check"
    is_ours = isinstance(step, Questioned) and step.approval is not None
    return is_judged or is_ours or isinstance(step, Checked | Decided | Resumed)


def _needed_partly(turns: Turns) -> frozenset[str]:
    parts = program([step for steps in turns for step in steps if isinstance(step, CellRan)])
    return frozenset(part.cell.cell_id for part in parts if part.kept == "partly")


def _effective(turns: Turns) -> tuple[list[tuple[Step, ...]], tuple[Step, ...]]:
    *earlier, steps = _marked(turns)
    return earlier, steps


def _messages(view: Turn, earlier: Sequence[tuple[Step, ...]], steps: Sequence[Step]) -> tuple[Message, ...]:
    """The conversation up to and including the last reply. What follows an ending is only for us."""
    shown = replace(view, steps=tuple(steps), earlier=tuple(past for past in earlier if past))
    found = list(messages(shown))
    if any(isinstance(step, Finished) for step in steps):
        while found and found[-1]["role"] != "assistant":
            found.pop()
    return tuple(found)
