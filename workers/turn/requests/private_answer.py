"""A question that is answered in a direct message, because outsiders can read the thread in which it was asked."""

from __future__ import annotations

from core.errors import SlackFailed, SlackUnreachable
from core.phrases import say
from core.slack.text import clip, escape
from core.steps import Asked
from core.telemetry import get_logger
from core.values import IncomingMessage, ThreadKey
from workers.agent.about_steps import asker
from workers.sources.errors import Refused
from workers.turn.open_turn import OpenTurn

log = get_logger(__name__)

SHOWN_CHARS = 300


def take_to_direct_message(turn: OpenTurn, source: str) -> str:
    """Begin a thread in the direct message with the person who began the turn, once per turn; returns their name.

    Their message is the question there. It is an ordinary thread: access to the source is checked again. The
    janitor wakes it, because it has mail. Raises Refused when Slack does not let us.
    """
    user, context = asker(turn.steps), turn.context
    said = [step for step in turn.steps if isinstance(step, Asked) and step.user == user]
    question = "\n".join(step.text for step in said)
    thread = ThreadKey.parse(turn.thread_id)
    intro = say(
        "source_private_intro",
        turn.language,
        channel=thread.channel,
        source=escape(source),
        question=escape(clip(" ".join(question.split()), SHOWN_CHARS)),
    )
    try:
        begun = context.slack.begin_privately(turn.lease, thread, user, f"{turn.row.id}:private", intro)
    except (SlackFailed, SlackUnreachable) as error:
        log.warning("no_direct_message", error=error)
        raise Refused(say("source_outsiders", turn.language, source=source)) from error
    context.store.begin_heir(turn.lease, begun)
    context.store.record_message(
        IncomingMessage(
            team=begun.team,
            channel=begun.channel,
            channel_type="im",
            ts=begun.root_ts,
            root_ts=begun.root_ts,
            user=user,
            text=question,
            kind="text",
            mention=True,
        )
    )
    log.info("answered_privately", source=source, user=user)
    return said[0].author or user if said else user
