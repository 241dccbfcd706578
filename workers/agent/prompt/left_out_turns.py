"""The note in place of turns that are left out of a prompt: what they made, asked, answered and noted, and their files.

Its parts share the room of the prompt, so that the turn that is at work keeps about half of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from core.hidden_characters import with_carriers_shown
from core.steps import (
    OUR_CALLS,
    Asked,
    Briefed,
    CellRan,
    Finished,
    Noted,
    Step,
    open_question,
    option_of,
)
from workers.agent.about_steps import begins_anew, names_set
from workers.agent.code.definitions import Made, made_in, read_in
from workers.agent.prompt.step_blocks import FIGURES_CHARS, figures_told, files_text, sanitize_name
from workers.agent.text import one_line, shares, weight
from workers.agent.turn import Turn

_FILES, _REPORTS, _WORDS, _NAMES = 20, 60, 40, 40
_WORDS_CHARS = 300
_MESSAGE_CHARS = 1_500
_LEAST_CHARS = 40
_BRACKETS = re.compile(r"[\[\]]")


def left_out_turns(turn: Turn, count: int, room: int) -> str:
    """The note for the first `count` turns, "" for none. `room` is that of all turns in the prompt."""
    if not count:
        return ""
    gone, after = turn.earlier[:count], (*turn.earlier[count:], turn.steps)
    briefings = [step for steps in gone for step in steps if isinstance(step, Briefed) and step.files]
    names, made = _made(gone, after, room // 12)
    told = {
        "turns": count,
        "reset": any(map(begins_anew, turn.thread_steps)),
        "names": names,
        "made": made,
        "reported": _reported(gone[-_REPORTS:], room),
        "words": _said([line for steps in gone for line in _words(steps)], turn.context_chars // 16),
        "files": files_text(turn, briefings[-_FILES:], min(turn.limits.files_chars, room // 6)),
        "cells": [],
        "plan": "",
    }
    return turn.prompts.render("left_out", **told)


def _made(gone: Sequence[Sequence[Step]], after: Sequence[Sequence[Step]], room: int) -> tuple[list[str], list[str]]:
    """The names that are alive, those first on which most cells build; and how these were made, a statement a line, in
    the order in which they ran.

    A variable of a loop and an import say nothing about the thread, and are left out. So are the statements of a cell
    that a person took out of the memory. Where the statements of a name are too many, the first and the last ones stay.
    What the cells of the turn that is at work use counts for nothing here: the beginning of its prompt stays the same.
    """
    made: dict[str, list[tuple[int, Made]]] = {}
    used: Counter[str] = Counter()
    ran = 0
    for place, steps in enumerate((*gone, *after)):
        for step in steps:
            if begins_anew(step):
                made.clear()
            if not isinstance(step, CellRan) or step.status != "ok" or step.language != "python":
                continue
            if steps is not after[-1]:
                used.update(name for name in read_in(step.code) if name in made)
            for one in made_in(step.code) if place < len(gone) else ():
                ran += 1
                known = made.setdefault(one.name, [])
                if one.anew:
                    known.clear()
                if not step.left_out:
                    known.append((ran, one))
    names = [name for name in names_set(gone, after) if name in made]
    names.sort(key=lambda name: -used[name])
    told: dict[int, str] = {}
    waiting = [name for name in names[:_NAMES] if used[name]]
    while waiting and room > 0:
        known = made[waiting.pop(0)]
        fresh = [one for one in (*known[:1], *reversed(known[1:])) if one[0] not in told]
        for at, one in fresh:
            room -= weight(one.text)
            if room < 0:
                break
            told[at] = one.text
            waiting[:0] = [name for name in one.reads if name in made]
    return names[:_NAMES], list(dict.fromkeys(text for _, text in sorted(told.items())))


def _reported(gone: Sequence[Sequence[Step]], room: int) -> list[str]:
    """What each turn was asked and the figures that it answered with, a line each."""
    pairs = [pair for steps in gone if (pair := _asked_and_answered(steps)) is not None]
    asked = [weight(question) for question, _ in pairs]
    answered = [min(weight(answer), FIGURES_CHARS) for _, answer in pairs]
    granted = zip(shares(asked, room // 10), shares(answered, room // 8), strict=True)
    return [
        f"{_shortened(question, most)} → {_within(answer, most_figures)}"
        for (question, answer), (most, most_figures) in zip(pairs, granted, strict=True)
    ]


def _asked_and_answered(steps: Sequence[Step]) -> tuple[str, str] | None:
    """The question of a turn, and the figures of its report; None when nobody asked anything."""
    finished = next((step for step in steps if isinstance(step, Finished)), None)
    asked = next((_flat(step.text) for step in steps if isinstance(step, Asked) and not step.left_out), "")
    if finished is None:
        return (asked, "no report") if asked else None
    return asked, _flat(figures_told(finished.sources, FIGURES_CHARS) or finished.report, FIGURES_CHARS)


def _within(text: str, limit: int) -> str:
    """The text on one line of at most this weight."""
    return one_line(text, _chars(text, limit))


def _shortened(text: str, limit: int) -> str:
    """The text of at most this weight, without its middle: a wish mostly stands at the end of a message."""
    most = _chars(text, limit)
    if len(text) <= most:
        return text
    return f"{text[: most // 2].rstrip()} … {text[len(text) - most // 2 :].lstrip()}"


def _chars(text: str, limit: int) -> int:
    """How many characters of a text have this weight."""
    return max(limit, _LEAST_CHARS) * len(text) // max(weight(text), 1)


def _flat(text: str, limit: int = _MESSAGE_CHARS) -> str:
    """What a person wrote, on one line. It can neither end our brackets nor begin any."""
    return _BRACKETS.sub(lambda found: "(" if found[0] == "[" else ")", one_line(with_carriers_shown(text), limit))


def _said(lines: Sequence[str], room: int) -> list[str]:
    """The last of these lines, cut where all of them do not find room."""
    lines = lines[-_WORDS:]
    while sum(min(weight(line), _WORDS_CHARS) for line in lines) > room:
        lines = lines[1:]
    granted = shares(list(map(weight, lines)), room)
    return [_shortened(line, most) for line, most in zip(lines, granted, strict=True)]


def _words(steps: Sequence[Step]) -> Iterator[str]:
    """What people noted, answered or added in a turn after its question, a line each. What they were asked stands
    before an answer."""
    said = [place for place, step in enumerate(steps) if isinstance(step, Asked) and not step.left_out]
    for place, step in enumerate(steps):
        if not isinstance(step, Noted) and place not in said[1:]:
            continue
        assert isinstance(step, Asked | Noted)  # noqa: S101 - `said` holds nothing else; mypy cannot see it
        asked = open_question(steps[:place]) if isinstance(step, Asked) else None
        if asked is not None and asked.call_id.startswith(OUR_CALLS):
            if option_of(step.text, asked) is not None:
                continue  # it decided something then
            asked = None
        question = f"“{_flat(asked.question, _WORDS_CHARS)}” → " if asked is not None else ""
        yield f"{sanitize_name(step.author or step.user)}: {question}{_flat(step.text)}"
