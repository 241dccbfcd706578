"""The Bolt app. Listeners are thin: translate, hand over, return.

`process_before_response=True` makes Bolt send the ack after the listener has returned, so the ack means "kept": when
the Store cannot be written the listener raises, nothing is acked, and Slack delivers the event again. Events without a
listener are acked too: Slack would send them again, and would stop sending events at all after too many failures.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from slack_bolt import Ack, App, BoltContext, BoltResponse
from slack_bolt.error import BoltUnhandledRequestError
from slack_sdk import WebClient

from bot.buttons import BUTTONS, FORMS, OTHER_BUTTONS, SHORTCUTS, Reader, Submit, Use
from bot.changes import deleted_in
from bot.commands import stop_from_reaction, stop_from_session
from bot.connection.oauth import Installing
from bot.connection.organisation import workspace_of
from bot.connection.retry_buffer import RetryBuffer
from bot.desks import Desk, Desks
from bot.intake import Ignored
from core.interactions import Interaction
from core.spool import Spooled
from core.store import Store, StoreUnreachable
from core.telemetry import get_logger
from core.values import IncomingMessage

log = get_logger(__name__)

MESSAGE_EVENTS: Final = ("message", "app_mention")
HOME_OPENED: Final = "app_home_opened"

OTHER_EVENTS: Final[tuple[tuple[str, Reader], ...]] = (
    ("reaction_added", stop_from_reaction),
    ("agent_session_stopped", stop_from_session),
)

EVENTS_DROPPED = "app_rate_limited"
"""What Slack sends, once a minute, instead of a workspace's events above 30,000 in an hour."""
_MINUTE_S, _LONG_AGO_S = 60, 3_600


def build_app(
    client: WebClient,
    store: Store,
    desks: Desks,
    retry_buffer: RetryBuffer,
    *,
    signing_secret: str | None = None,
    installing: Installing | None = None,
) -> App:
    """The app with all its listeners. With one token it calls auth.test; raises BoltError when Slack refuses it.

    Only requests over HTTP are signed: Socket Mode needs no `signing_secret`. `installing` is for many workspaces.
    """
    app = App(
        client=client,
        name="threadbook",
        signing_secret=signing_secret,
        process_before_response=True,
        raise_error_for_unhandled_request=True,
        before_authorize=_with_team,
        authorize=installing.authorize() if installing is not None else None,  # type: ignore[arg-type]
        oauth_settings=installing.oauth if installing is not None else None,
    )
    if installing is not None:
        installing.listen(app)
    on_message = _message_listener(desks, retry_buffer)
    for event in MESSAGE_EVENTS:
        app.event(event)(on_message)
    for event, read in OTHER_EVENTS:
        app.event(event)(_event_listener(read, store, desks))
    app.event(HOME_OPENED)(_home_listener(desks))
    for button, read in BUTTONS:
        app.action(button.pattern())(_press_listener(read, store, desks))
    for button, use_at in OTHER_BUTTONS:
        app.action(button.pattern())(_use_listener(button, use_at, desks))
    for shortcut, use_at in SHORTCUTS:
        app.message_shortcut(shortcut.pattern())(_use_listener(shortcut, use_at, desks))
    for form, submit_at in FORMS:
        app.view(form.pattern())(_form_listener(submit_at, desks))
    app.error(_on_error)
    return app


def _with_team(body: dict[str, Any], context: BoltContext, next: Callable[[], Any]) -> Any:
    """Note the workspace of a payload of an organisation's installation, where Bolt finds none."""
    is_org = bool(context.is_enterprise_install) or body.get("is_enterprise_install") is True
    if (is_org or not context.team_id) and (team := workspace_of(body)):
        context["team_id"] = team
    return next()


def noting_limits(note: Callable[[str, float], None]) -> Callable[..., Any]:
    """A middleware that hears when Slack drops events. `note` gets the team, and the minute in seconds since 1970."""

    def hear(body: dict[str, Any], context: BoltContext, next: Callable[[], Any]) -> Any:
        if body.get("type") == EVENTS_DROPPED:
            now, said = time.time(), body.get("minute_rate_limited")
            since = said if isinstance(said, int) and now - _LONG_AGO_S < said <= now else int(now - _MINUTE_S)
            log.warning("events_dropped", team=context.team_id, since=since)
            note(context.team_id or "", since)
        return next()

    return hear


def _message_listener(desks: Desks, retry_buffer: RetryBuffer) -> Callable[..., None]:
    def on_message(event: dict[str, Any], context: BoltContext) -> None:
        given = Spooled(event, context.team_id or "", context.bot_user_id or "")
        if retry_buffer.is_dropped(given):
            return
        if (ts := deleted_in(event)) and retry_buffer.drop((given.team, str(event.get("channel")), ts)):
            retry_buffer.add(given)  # behind the message, which may be on its way into the Store
        try:
            desks.of(given.team).handler.take_event(event, given.team, given.bot_user_id)
        except StoreUnreachable:
            retry_buffer.add(given)
            raise  # no ack: if this machine is lost first, Slack sends the event again

    return on_message


def _event_listener(read: Reader, store: Store, desks: Desks) -> Callable[..., None]:
    def on_event(event: dict[str, Any], context: BoltContext) -> None:
        message = read(event, context.team_id or "", store)
        if isinstance(message, Ignored):
            log.debug("event_ignored", reason=message.reason, type=event.get("type"))
        else:
            _take(message, desks, context)

    return on_event


def _press_listener(read: Reader, store: Store, desks: Desks) -> Callable[..., None]:
    def on_press(ack: Ack, body: dict[str, Any], context: BoltContext) -> None:
        message = read(body, context.team_id or "", store)
        if isinstance(message, Ignored):
            log.info("press_ignored", reason=message.reason)
        else:
            _take(message, desks, context)
        ack()

    return on_press


def _take(message: IncomingMessage, desks: Desks, context: BoltContext) -> None:
    handler = desks.of(message.team).handler
    handler.take(message, handler.event_context(message.team, context.bot_user_id or ""))


def _use_listener(kind: type[Interaction], use_at: Callable[[Desk], Use], desks: Desks) -> Callable[..., None]:
    def on_use(ack: Ack, body: dict[str, Any], context: BoltContext) -> None:
        team = context.team_id or ""
        log.info("interaction_used", interaction=kind.ID, outcome=use_at(desks.of(team))(body, team))
        ack()

    return on_use


def _form_listener(submit_at: Callable[[Desk], Submit], desks: Desks) -> Callable[..., None]:
    def on_submit(ack: Ack, body: dict[str, Any], context: BoltContext) -> None:
        team = context.team_id or ""
        ack(**submit_at(desks.of(team))(body, team))

    return on_submit


def _home_listener(desks: Desks) -> Callable[..., None]:
    def on_opened(event: dict[str, Any], context: BoltContext) -> None:
        team = context.team_id or ""
        log.info("home_opened", outcome=desks.of(team).home.opened(event, team))

    return on_opened


def _on_error(error: Exception, body: Mapping[str, Any]) -> BoltResponse:
    if isinstance(error, BoltUnhandledRequestError):
        log.debug("no_listener", type=_kind(body))
        return BoltResponse(status=200)
    if isinstance(error, StoreUnreachable):
        log.error("not_acked", type=_kind(body), error=error, advice=error.advice)
    else:
        log.error("not_acked", type=_kind(body), exc_info=error)
    return BoltResponse(status=500)


def _kind(body: Mapping[str, Any]) -> str:
    event = body.get("event")
    return str(event.get("type") if isinstance(event, Mapping) else body.get("type"))
