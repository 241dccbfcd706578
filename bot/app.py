"""The Bolt app. Listeners are thin: translate, hand over, return.

`process_before_response=True` makes Bolt send the ack after the listener has returned, so the ack means "kept": when
the Store cannot be written the listener raises, nothing is acked, and Slack delivers the event again. Events without a
listener are acked too: Slack would send them again, and would stop sending events at all after too many failures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from slack_bolt import Ack, App, BoltContext, BoltResponse
from slack_bolt.error import BoltUnhandledRequestError
from slack_sdk import WebClient

from bot.approvals import Approvals
from bot.buttons import (
    APPROVAL_BUTTONS,
    BUTTONS,
    FORMS,
    MENU_BUTTONS,
    MENU_FORMS,
    REPORT_BUTTONS,
    REPORT_FORMS,
    SHORTCUTS,
    Reader,
)
from bot.changes import deleted_in
from bot.commands import stop_from_reaction, stop_from_session
from bot.intake import Ignored
from bot.menu import MessageMenu
from bot.message_handler import MessageHandler
from bot.reports import Reports
from bot.retry_buffer import RetryBuffer
from core.spool import Spooled
from core.store import Store, StoreUnreachable
from core.telemetry import get_logger

log = get_logger(__name__)

MESSAGE_EVENTS: Final = ("message", "app_mention")

OTHER_EVENTS: Final[tuple[tuple[str, Reader], ...]] = (
    ("reaction_added", stop_from_reaction),
    ("agent_session_stopped", stop_from_session),
)


def build_app(
    client: WebClient,
    store: Store,
    handler: MessageHandler,
    retry_buffer: RetryBuffer,
    signing_secret: str | None = None,
) -> App:
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
    on_message = _message_listener(handler, retry_buffer)
    for event in MESSAGE_EVENTS:
        app.event(event)(on_message)
    for event, read in OTHER_EVENTS:
        app.event(event)(_event_listener(read, store, handler))
    for button, read in BUTTONS:
        app.action(button.pattern())(_press_listener(read, store, handler))
    approvals = Approvals(store, handler.slack, handler)
    for button in APPROVAL_BUTTONS:
        app.action(button.pattern())(_approval_listener(approvals))
    for form in FORMS:
        app.view(form.pattern())(_form_listener(approvals))
    menu = MessageMenu(store, handler.slack, handler)
    for shortcut in SHORTCUTS:
        app.message_shortcut(shortcut.pattern())(_menu_listener(menu.open, "menu"))
    for form in MENU_FORMS:
        app.view(form.pattern())(_menu_form_listener(menu))
    for button in MENU_BUTTONS:
        app.action(button.pattern())(_menu_listener(menu.again, "again"))
    reports = Reports(store, handler.slack, handler)
    for button, press in zip(REPORT_BUTTONS, (reports.press, reports.turn_page), strict=True):
        app.action(button.pattern())(_report_listener(press))
    for form in REPORT_FORMS:
        app.view(form.pattern())(_report_listener(reports.submit))
    app.error(_on_error)
    return app


def _message_listener(handler: MessageHandler, retry_buffer: RetryBuffer) -> Callable[..., None]:
    def on_message(event: dict[str, Any], context: BoltContext) -> None:
        given = Spooled(event, context.team_id or "", context.bot_user_id or "")
        if retry_buffer.is_dropped(given):
            return
        if (ts := deleted_in(event)) and retry_buffer.drop((given.team, str(event.get("channel")), ts)):
            retry_buffer.add(given)  # behind the message, which may be on its way into the Store
        try:
            handler.take_event(event, given.team, given.bot_user_id)
        except StoreUnreachable:
            retry_buffer.add(given)
            raise  # no ack: if this machine is lost first, Slack sends the event again

    return on_message


def _event_listener(read: Reader, store: Store, handler: MessageHandler) -> Callable[..., None]:
    def on_event(event: dict[str, Any], context: BoltContext) -> None:
        message = read(event, context.team_id or "", store)
        if isinstance(message, Ignored):
            log.debug("event_ignored", reason=message.reason, type=event.get("type"))
        else:
            handler.take(message, handler.event_context(message.team, context.bot_user_id or ""))

    return on_event


def _press_listener(read: Reader, store: Store, handler: MessageHandler) -> Callable[..., None]:
    def on_press(ack: Ack, body: dict[str, Any], context: BoltContext) -> None:
        message = read(body, context.team_id or "", store)
        if isinstance(message, Ignored):
            log.info("press_ignored", reason=message.reason)
        else:
            handler.take(message, handler.event_context(message.team, context.bot_user_id or ""))
        ack()

    return on_press


def _approval_listener(approvals: Approvals) -> Callable[..., None]:
    def on_press(ack: Ack, body: dict[str, Any], context: BoltContext) -> None:
        log.info("approval_pressed", outcome=approvals.press(body, context.team_id or ""))
        ack()

    return on_press


def _report_listener(handle: Callable[[Mapping[str, Any], str], str]) -> Callable[..., None]:
    def on_use(ack: Ack, body: dict[str, Any], context: BoltContext) -> None:
        log.info("report_button_used", outcome=handle(body, context.team_id or ""))
        ack()

    return on_use


def _form_listener(approvals: Approvals) -> Callable[..., None]:
    def on_submit(ack: Ack, body: dict[str, Any], context: BoltContext) -> None:
        if wrong := approvals.submit(body, context.team_id or ""):
            ack(response_action="errors", errors=wrong)
        else:
            ack()

    return on_submit


def _menu_listener(act: Callable[[Mapping[str, Any], str], str], what: str) -> Callable[..., None]:
    def on_press(ack: Ack, body: dict[str, Any], context: BoltContext) -> None:
        log.info("menu_used", what=what, outcome=act(body, context.team_id or ""))
        ack()

    return on_press


def _menu_form_listener(menu: MessageMenu) -> Callable[..., None]:
    def on_submit(ack: Ack, body: dict[str, Any], context: BoltContext) -> None:
        ack(**menu.submit(body, context.team_id or ""))

    return on_submit


def _on_error(error: Exception, body: Mapping[str, Any]) -> BoltResponse:
    if isinstance(error, BoltUnhandledRequestError):
        log.debug("no_listener", type=_kind(body))
        return BoltResponse(status=200)
    log.error("not_acked", type=_kind(body), exc_info=error)
    return BoltResponse(status=500)


def _kind(body: Mapping[str, Any]) -> str:
    event = body.get("event")
    return str(event.get("type") if isinstance(event, Mapping) else body.get("type"))
