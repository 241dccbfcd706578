"""Who may do what: `may(person, action, resource)`, asked at intake, again by the worker, and by each command.

Pure. `core/authorization.py` collects the facts about the person and the resource. The team's rules stand
in `[access]` of threadbook.toml and come with the resource.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from core.actions import ADMINS, ASKER, GUESTS, MEMBERS, OPERATORS, STRANGERS, THREAD, Action
from core.commands.approvals import DECISION
from core.commands.registry import CONFIRM, DECLINE, commands, is_command
from core.commands.words import stands_in
from core.steps import RESET_CALL, Questioned, option_of
from core.values import Standing

Rules = Mapping[Action, tuple[str, ...]]
"""Who may do each action: words of `GROUPS_OF_PEOPLE`, and Slack's ids of people (U…, W…) and user groups (S…)."""


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who wants something. `groups` are the user groups of the rules that they are in."""

    user: str
    standing: Standing | Literal["operator"]
    groups: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Resource:
    """The thread, or the whole installation (""), that an action affects, with the rules that apply there.

    `askers` began the thread, or requested what is to be confirmed; `writers` wrote in it. `admins` are ids of people
    and user groups.
    """

    id: str
    rules: Rules
    askers: frozenset[str] = frozenset()
    admins: frozenset[str] = frozenset()
    writers: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Verdict:
    """True when it is allowed; else `phrase` is the sentence for the person, a key of core/phrases.yaml.

    `source` is the data source that the sentence is about, `server` the server of tools, if it is about one.
    """

    phrase: str = ""
    source: str = ""
    server: str = ""

    def __bool__(self) -> bool:
        return not self.phrase


ALLOWED: Final = Verdict()


def may(person: Person, action: Action, resource: Resource) -> Verdict:
    """Whether the person may do this to the resource, and if not, why."""
    ids = {person.user, *person.groups}
    is_admin = person.standing == "admin" or bool(ids & resource.admins)
    mine = ids | {
        name
        for name, applies in {
            MEMBERS: person.standing in ("member", "admin"),
            GUESTS: person.standing == "guest",
            STRANGERS: person.standing == "stranger",
            OPERATORS: person.standing == "operator",
            ADMINS: is_admin,
            ASKER: person.user in resource.askers,
            THREAD: person.user in resource.writers and person.standing in ("member", "admin"),
        }.items()
        if applies
    }
    who = resource.rules[action]
    if mine.intersection(who):
        return ALLOWED
    if person.standing in ("stranger", "guest") and not is_admin and action is not Action.APPROVE:
        return Verdict("access_stranger" if person.standing == "stranger" else "access_guest")
    if action is Action.APPROVE:
        return Verdict("access_approve")
    return Verdict("access_asker" if ASKER in who else "access_refused")


def action_of(kind: str, text: str, *, is_open: bool, question: Questioned | None = None) -> Action:
    """The action of a message of this kind. `is_open`: its thread has a turn that runs or waits."""
    if question is not None and question.call_id == RESET_CALL and reset_answer(text, question):
        return Action.CONFIRM
    if kind == DECISION or (question is not None and question.approval and option_of(text, question) is not None):
        return Action.APPROVE
    if question is not None and (kind in ("text", "answer") or commands()[kind].in_turn == "words"):
        return Action.ANSWER
    if question is not None and names_answer(kind, text, question):
        return Action.ANSWER
    if is_command(kind) and (named := commands()[kind].action):
        return named
    return Action.STEER if is_open else Action.ASK


def reset_answer(text: str, question: Questioned) -> str | None:
    """Yes or no to our question about a reset: an option of it, or a word that means the same."""
    for name, option in zip((CONFIRM, DECLINE), question.options, strict=False):
        if text.strip().casefold() == option.strip().casefold() or commands()[name].is_said_in(text):
            return name
    return None


def names_answer(kind: str, text: str, question: Questioned) -> bool:
    """Whether a command's word answers the analyst's question, as the question or an option of it names the word:
    “cost” answers “By cost or by revenue?”. A stop that is no option stops all the same."""
    if question.approval is not None or question.call_id == RESET_CALL or not is_command(kind):
        return False
    if option_of(text, question) is not None:
        return True
    return kind != "stop" and commands()[kind].is_said_in(text) and stands_in(text, question.question)


def is_pressed(kind: str) -> bool:
    """Whether a message of this kind came by a button or a form that only concerns who used it."""
    return kind == DECISION or (is_command(kind) and commands()[kind].by_form)
