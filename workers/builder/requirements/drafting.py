"""A requirement file out of a model's reply: the file, what people should decide, and what is wrong with it.

A draft says what a program shall do. People decide how it is built, what it may touch and which checks count. A draft
with those tables is refused, no matter who asked the model for them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from workers.agent.text import without_thoughts
from workers.builder.requirements.requirement import BuildTable, Requirement, RequirementWrong, SecurityTable, read

REPLIES = 2
"""How often a draft is asked for when the reply cannot be used."""
MOST_QUESTIONS = 3
_QUESTION_CHARS = 240
_OPENING = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,})[ \t]*\w*[ \t]*$")
_FOR_PEOPLE = ("build", "security", "run")


@dataclass(frozen=True, slots=True)
class Draft:
    """A requirement file as a model wrote it, and the questions that it leaves to people."""

    text: str
    requirement: Requirement
    questions: tuple[str, ...] = ()


class NoDraft(Exception):
    """No reply held a usable requirement file. The message says what was wrong with the last one."""


def drafted(ask: Callable[[str, str], str], before: Requirement | None = None) -> Draft:
    """The draft in the replies of `ask`, which gets what was wrong with the reply before, and that reply. Raises
    NoDraft.

    `before` is the file that is changed: what people wrote there for themselves stays allowed.
    """
    problem = reply = ""
    for _ in range(REPLIES):
        reply = ask(problem, reply)
        try:
            return read_draft(reply, before)
        except NoDraft as error:
            problem = str(error)
    raise NoDraft(problem)


def read_draft(reply: str, before: Requirement | None = None) -> Draft:
    """The draft that a reply holds. Raises NoDraft."""
    said = without_thoughts(reply.replace("\r\n", "\n"))
    blocks, around = _blocks(said)
    whole = [said] if not blocks and _is_toml(said) else []
    text = next((one for one in (*blocks, *whole) if "[project]" in one or "[[component]]" in one), "")
    if not text:
        raise NoDraft("the reply holds no TOML file with a [project] table between fences")
    try:
        requirement = read(text, "requirement.toml")
    except RequirementWrong as error:
        raise NoDraft("the file has faults:\n" + "\n".join(map(str, error.problems[:12]))) from None
    known = before or Requirement()
    own = [name for name in _FOR_PEOPLE if getattr(requirement, name) != getattr(known, name)]
    if own:
        raise NoDraft(f"the file changes a table that is for people alone: {', '.join(f'[{name}]' for name in own)}")
    asked = (line.strip()[1:].strip() for line in around.splitlines() if line.strip().startswith("? "))
    questions = tuple(one[:_QUESTION_CHARS] for one in asked if one)[:MOST_QUESTIONS]
    return Draft(text.strip("\n") + "\n", requirement, questions)


def lowered_guards(requirement: Requirement) -> list[str]:
    """What of a file lowers the guard, as the keys and values of the file."""
    return list(_lowered(requirement))


def within(requirement: Requirement) -> Requirement:
    """The requirement as it is built for a thread: with the thread's model, and no more calls than a build has."""
    most = min(requirement.build.max_calls, BuildTable().max_calls)
    build = requirement.build.model_copy(update={"model": "", "max_calls": most})
    return requirement.model_copy(update={"build": build})


def _lowered(requirement: Requirement) -> Iterator[str]:
    security, usual = requirement.security, SecurityTable()
    if security.fail_on == "never" and usual.fail_on != "never":
        yield 'fail_on = "never"'
    if security.allow:
        yield f"allow = {list(security.allow)}"
    if guards := [name for name in requirement.build.without if name in ("security", "review", "tests", "run")]:
        yield f"without = {guards}"


def _blocks(text: str) -> tuple[list[str], str]:
    """The texts between fences, and the lines outside of them. A fence ends with one that is as long, or at the end."""
    blocks, around, lines = list[str](), list[str](), text.split("\n")
    at = 0
    while at < len(lines):
        opening = _OPENING.match(lines[at])
        at += 1
        if opening is None:
            around.append(lines[at - 1])
            continue
        end = next((n for n in range(at, len(lines)) if lines[n].strip() == opening[1]), len(lines))
        blocks.append("\n".join(lines[at:end]))
        at = end + 1
    return blocks, "\n".join(around)


def _is_toml(text: str) -> bool:
    try:
        return bool(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError):
        return False
