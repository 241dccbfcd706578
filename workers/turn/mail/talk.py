"""The conversation of people that the bot was called into: its first message and its files become mail of the thread.

"The talk is wanted" is in the Store with the message that called the bot. It stands there until the talk is stored,
so a bot or a worker that dies in between loses no file, and no turn takes a step without the talk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.interactions import Reaction
from core.rows import StoredMessage
from core.slack.reading.app_messages import app_text
from core.slack.reading.incoming import Ignored, files_in, incoming, is_empty, listed
from core.slack.views.replies import HELP, HELP_STRICT, reply_key, reply_message
from core.slack.views.suggestions import suggestions_message
from core.store.thread_state import ThreadState
from core.suggesting import suggestions
from core.telemetry import get_logger
from core.values import IncomingMessage, Lease, ThreadKey
from workers.agent.turn import files_of
from workers.turn.access.messages import OpenSteps, permitted_mail
from workers.turn.context import TurnContext

log = get_logger(__name__)

MAX_EARLIER = 20
"""Messages with files that are taken from a talk, the latest ones."""


def unread_mail(
    context: TurnContext, lease: Lease, open_turn: OpenSteps, state: ThreadState | None = None
) -> list[StoredMessage]:
    """The thread's unread messages whose authors may, with the talk that one of them wants.

    A mention without a word that finds no talk either is answered with questions that fit the thread's data, or with
    the help, and is no mail any more. `open_turn`
    gives the steps of the open turn, None without one; `state` is the thread as it was just read. Raises LeaseLost,
    SlackUnreachable.
    """
    mail = permitted_mail(context, lease, open_turn, state)
    callers = [message for message in mail if message.talk_wanted]
    if not callers:
        return mail
    _take_talk(context, lease, callers)
    return permitted_mail(context, lease, open_turn)


def _take_talk(context: TurnContext, lease: Lease, callers: Sequence[StoredMessage]) -> None:
    """Store the talk above these messages, which are in the order of their ts."""
    thread = callers[-1].thread
    shown = context.slack.thread_messages(thread, upto=callers[-1].ts)
    with_files = [_with_files(caller, shown) for caller in callers]
    earlier = _relevant(context, thread, shown, {caller.ts for caller in callers})
    known = context.store.known_messages(thread.team, thread.channel, [message.ts for message, _ in earlier])
    fresh = [(message, author) for message, author in earlier if message.ts not in known]
    if not fresh and all(map(is_empty, with_files)):
        _answer_without_talk(context, lease, callers)
    context.store.take_talk(lease, with_files, fresh)
    log.info("talk_taken", messages=len(fresh))


def _with_files(caller: StoredMessage, shown: Sequence[dict[str, Any]]) -> IncomingMessage:
    """The message with its files as Slack shows them: its event may have come without."""
    message = IncomingMessage.model_validate(caller.model_dump(include=set(IncomingMessage.model_fields)))
    event = next((one for one in shown if one.get("ts") == caller.ts), None)
    if event is None:
        return message
    return message.model_copy(update={"files": files_in(event), "files_known": True})


def _relevant(
    context: TurnContext, thread: ThreadKey, shown: Sequence[dict[str, Any]], callers: set[str]
) -> list[tuple[IncomingMessage, str]]:
    """The talk's first message and the latest ones with files, with their authors."""
    above = [event for event in shown if event.get("ts") not in callers]
    first = [_as_said(context, event) for event in above if event.get("ts") == thread.root_ts]
    files = [event for event in above if event.get("ts") != thread.root_ts and files_in(event)]
    found = []
    for event in first + files[-MAX_EARLIER:]:
        message = incoming(listed(event, thread.channel), thread.team, context.slack.user_name)
        if not isinstance(message, Ignored) and not is_empty(message):
            found.append((message, context.slack.user_name(message.user)))
    return found


def _as_said(context: TurnContext, event: dict[str, Any]) -> dict[str, Any]:
    """The first message of a talk. People call the bot below what another app posted: that is read, as a quotation.

    What an app posts is often what a stranger wrote: it is data, and nobody's wish.
    """
    if not event.get("bot_id") or event.get("user") == context.slack.bot_user():
        return event
    words = "\n\n".join(filter(None, (str(event.get("text") or ""), app_text(event))))
    quoted = "\n".join(f"&gt; {line}" for line in words.splitlines())
    kept = {name: value for name, value in event.items() if name not in ("bot_id", "subtype")}
    return {**kept, "user": event.get("user") or event["bot_id"], "text": quoted}


def _answer_without_talk(context: TurnContext, lease: Lease, callers: Sequence[StoredMessage]) -> None:
    """Answer mentions without words, below a talk without words or files. A running turn is answer enough."""
    turn = context.store.current_turn(lease.thread_id)
    if turn is not None and turn.status == "running":
        return
    steps = [step for turn_steps in context.store.thread_steps(lease.thread_id).values() for step in turn_steps]
    for caller in callers:
        language = context.slack.user_language(caller.user)
        if questions := suggestions(files_of(steps), language):
            offer = suggestions_message(caller.thread, questions, language)
            context.slack.post(lease, caller.thread, reply_key(caller.thread, caller.ts), offer.text, offer.blocks)
            context.slack.unreact(caller.thread, caller.ts, Reaction.RECEIVED, lease=lease)
            continue
        strict = context.settings.strict_mention(caller.channel) and caller.channel_type != "im"
        help_text = HELP_STRICT if strict else HELP
        answer = reply_message(help_text, caller.thread, language)
        key = reply_key(caller.thread, caller.ts)
        context.slack.post(lease, caller.thread, key, answer.text, answer.blocks or None)
        context.slack.unreact(caller.thread, caller.ts, Reaction.RECEIVED, lease=lease)
