"""The Bolt app. Listeners are thin: translate, hand over, return.

`process_before_response=True` makes Bolt send the ack after the listener has returned, so the ack means "kept": when
the Store cannot be written the listener raises, nothing is acked, and Slack delivers the event again. What nobody
listens to is acked too, or Slack would send it again and in the end no more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from slack_bolt import Ack, App, BoltContext, BoltResponse
from slack_bolt.error import BoltUnhandledRequestError
from slack_sdk import WebClient

from bot.again import Again
from bot.answers import ACTION_PREFIX, to_answer
from bot.intake import Ignored, to_message
from bot.reception import Reception
from bot.stops import STOP_ACTION, from_press, from_reaction, from_session, wish_of
from core.store import Store, StoreUnreachable
from core.telemetry import get_logger
from core.values import IncomingMessage

log = get_logger(__name__)


def build_app(client: WebClient, store: Store, reception: Reception, signing_secret: str | None = None) -> App:
    """The app with all its listeners. Calls auth.test; raises BoltError when Slack refuses the token.

    Only requests over HTTP are signed: Socket Mode needs no `signing_secret`.
    """
    app = App(
        client=client,
        name="threadbook",
        signing_secret=signing_secret,
        process_before_response=True,
        raise_error_for_unhandled_request=True,
    )

    again = Again()

    @app.event("message")
    @app.event("app_mention")
    def on_speech(event: dict[str, Any], context: BoltContext) -> None:
        hear = partial(take_in, event, context.team_id or "", context.bot_user_id or "")
        try:
            hear()
        except StoreUnreachable:
            again.when_back(hear)
            raise  # no ack: should this process die first, Slack sends it again

    def take_in(event: dict[str, Any], team: str, bot_user_id: str) -> None:
        around = reception.surroundings(team, bot_user_id)
        message = to_message(event, around)
        if isinstance(message, Ignored):
            log.debug("event_ignored", reason=message.reason, channel=event.get("channel"), ts=event.get("ts"))
        elif (wish := wish_of(message)) is not None:
            reception.wish(message.model_copy(update={"kind": wish}), around)
        else:
            reception.receive(message, around)

    @app.event("reaction_added")
    def on_reaction(event: dict[str, Any], context: BoltContext) -> None:
        stop_by(from_reaction(event, context.team_id or "", store), context)

    @app.event("agent_session_stopped")
    def on_session_stopped(event: dict[str, Any], context: BoltContext) -> None:
        stop_by(from_session(event, context.team_id or "", store), context)

    @app.action(STOP_ACTION)
    def on_stop(ack: Ack, body: dict[str, Any], context: BoltContext) -> None:
        stop_by(from_press(body, context.team_id or "", store), context)
        ack()

    def stop_by(stop: IncomingMessage | Ignored, context: BoltContext) -> None:
        if isinstance(stop, Ignored):
            log.debug("stop_ignored", reason=stop.reason)
        else:
            reception.wish(stop, reception.surroundings(stop.team, context.bot_user_id or ""))

    @app.action(re.compile(re.escape(ACTION_PREFIX) + r"\d{1,3}"))
    def on_answer(ack: Ack, body: dict[str, Any], context: BoltContext) -> None:
        answer = to_answer(body, context.team_id or "", store)
        if isinstance(answer, Ignored):
            log.info("press_ignored", reason=answer.reason)
        else:
            reception.receive(answer, reception.surroundings(answer.team, context.bot_user_id or ""))
        ack()

    @app.error
    def on_error(error: Exception, body: Mapping[str, Any]) -> BoltResponse:
        if isinstance(error, BoltUnhandledRequestError):
            log.debug("nothing_to_do", type=_kind(body))
            return BoltResponse(status=200)
        log.error("not_acked", type=_kind(body), exc_info=error)
        return BoltResponse(status=500)

    return app


def _kind(body: Mapping[str, Any]) -> str:
    event = body.get("event")
    return str(event.get("type") if isinstance(event, Mapping) else body.get("type"))
