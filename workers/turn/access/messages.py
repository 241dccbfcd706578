"""Whose messages a turn may read: `may` is asked about each author once more. The bot may not have known in time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from core.access import ALLOWED, Verdict, is_pressed
from core.actions import Action
from core.authorization import Authorizer
from core.commands.approvals import DECISION, PRESSES
from core.commands.registry import commands
from core.errors import SlackUnreachable
from core.interactions import Reaction
from core.phrases import say
from core.rows import StoredMessage
from core.slack.text import escape
from core.steps import Asked, Commanded, Step
from core.store.thread_state import ThreadState
from core.telemetry import get_logger
from core.thread_cells import Held
from core.values import Language, Lease, ThreadKey
from workers.agent.about_steps import data_held
from workers.turn.context import TurnContext

log = get_logger(__name__)

OpenSteps = Callable[[], Sequence[Step] | None]

_WORDS = frozenset(
    {
        *(Action.ASK, Action.STEER, Action.ANSWER, Action.APPROVE, Action.RUN, Action.SPEAK, Action.CONTEXT),
        Action.LOOK,
        Action.TEACH,
        Action.SCHEDULE,
    }
)
"""What the analyst acts on, with everything in the thread's session. An approver may have changed the code; who speaks
in the analyst's place writes it, and who edits a message writes what is asked. A file of the thread shows its code and
its output. A playbook that somebody edits is tried on its rows, and a schedule asks for them again."""


def permitted_mail(
    context: TurnContext, lease: Lease, open_turn: OpenSteps, state: ThreadState | None = None
) -> list[StoredMessage]:
    """The thread's unread messages whose authors are allowed. Other authors are told once, and their messages are
    deleted.

    `open_turn` gives the steps of the open turn, None without one. `state` is the thread as it was just read; without
    it the Store is asked. Raises SlackUnreachable, LeaseLost.
    """
    turn = open_turn()
    mail = context.store.unread(lease.thread_id, notes=turn is not None) if state is None else state.mail
    if not mail:
        return []
    began = _began(mail, turn)
    authorizer = Authorizer(context.settings, context.store, context.slack)
    turns = cache(lambda: context.store.thread_steps(lease.thread_id) if state is None else state.steps)
    held = cache(lambda: data_held(list(turns().values())))
    permitted, refused = [], []
    for message in mail:
        if _is_ours(message):
            permitted.append(message)
            continue
        action, verdict = Action.STEER, ALLOWED
        if not _is_talk(message, began):
            action, verdict = authorizer.verdict(message, authorizer.standing(message), lambda: turn)
        if verdict and action in _WORDS:
            verdict = authorizer.may_have(message.user, message.thread, held())
        if verdict:
            permitted.append(message)
        else:
            _tell(context, lease, message, action, verdict)
            refused.append(message)
    if refused and turn is None and all(_is_talk(message, began) for message in permitted):
        refused, permitted = [*refused, *permitted], []  # nobody who may has asked for the talk
    if refused:
        context.store.drop_messages(lease, [message.id for message in refused])
    return permitted


def note_command(context: TurnContext, lease: Lease, command: Commanded, *, done: bool) -> None:
    """Write down who had a command carried out, once, if `[access]` knows it by name. `done`: it did what it is for."""
    if (action := commands()[command.command].action) is not None:
        key = f"{lease.thread_id}/{command.command}:{command.ts}"
        context.store.audit(command.user, action.value, lease.thread_id, "done" if done else "nothing", key=key)


class _Began(NamedTuple):
    """When somebody first spoke to the bot, and the number of that message in the Store, 0 for one that a turn read."""

    at: float
    number: int


def _began(mail: Sequence[StoredMessage], turn: Sequence[Step] | None) -> _Began:
    """What began the conversation with the bot. Messages that were said before it were said among people."""
    steps = (_Began(float(step.ts), 0) for step in turn or () if isinstance(step, Asked | Commanded))
    calls = (_Began(float(each.ts), each.id) for each in mail if each.mention)
    return min((*steps, *calls), default=_Began(0.0, 0))


def _is_talk(message: StoredMessage, began: _Began) -> bool:
    """Whether the message came in with a talk that the bot was called into. Such a message asks nothing of the bot.

    A talk is stored behind the message that called the bot. What was stored before it came as a reply in a thread of
    ours, and its author is asked about like every other.
    """
    said_to_us = message.mention or message.channel_type == "im" or message.kind != "text"
    return not said_to_us and float(message.ts) < began.at and message.id > began.number


def _is_ours(message: StoredMessage) -> bool:
    """Whether the worker service itself wrote this, because nobody decided in time. Messages from Slack have a user."""
    return message.kind == DECISION and not message.user


def held_back(context: TurnContext, thread: ThreadKey, user: str, author: str, held: Held) -> str:
    """Why a person may not have this data in a thread; "" when they may. Raises SlackUnreachable."""
    verdict = Authorizer(context.settings, context.store, context.slack).may_have(user, thread, held)
    return "" if verdict else _told(verdict, context.slack.user_language(user), author)


def _told(verdict: Verdict, language: Language, author: str) -> str:
    """The sentence for a person who is refused."""
    names = {"source": verdict.source, "server": verdict.server}
    why = say(verdict.phrase, language, author=author, **names)
    if verdict.source:
        return say("source_held", language, author=author, source=verdict.source, why=why)
    return say("server_held", language, author=author, server=verdict.server, why=why) if verdict.server else why


def why_not_own(context: TurnContext, thread_id: str, user: str, unknown: str) -> str:
    """The phrase for why code of this person may not do what needs a yes; "" when they may approve it themselves.

    `unknown` is the phrase for a moment at which Slack does not say who they are.
    """
    authorizer = Authorizer(context.settings, context.store, context.slack)
    try:
        return "" if authorizer.may_approve(user, ThreadKey.parse(thread_id)) else "run_strict"
    except SlackUnreachable:
        return unknown


def _tell(context: TurnContext, lease: Lease, message: StoredMessage, action: Action, verdict: Verdict) -> None:
    thread, slack, about = message.thread, context.slack, verdict.source or verdict.server
    key = f"{thread.id}/refused:{message.user}:{verdict.phrase}{about and f':{about}'}"
    log.info("message_refused", user=message.user, action=action.value, why=verdict.phrase, source=about)
    details = {"source": verdict.source} if verdict.source else {"server": about} if about else None
    context.store.audit(message.user, action.value, thread.id, "refused", key=f"{key}:{message.ts}", details=details)
    author = escape(message.author or slack.user_name(message.user))
    language = slack.user_language(message.user)
    if is_pressed(message.kind):
        text = say(verdict.phrase, language, author=author, source=verdict.source, server=verdict.server)
        slack.whisper(thread, message.user, text, lease=lease)
        return
    slack.post(lease, thread, key, _told(verdict, language, author))
    if message.text and message.kind not in PRESSES:
        slack.unreact(thread, message.ts, Reaction.RECEIVED, lease=lease)
