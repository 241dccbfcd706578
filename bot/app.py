"""The Bolt app. Listeners are thin: translate, hand over, return.

`process_before_response=True` makes Bolt send the ack after the listener has returned, so the ack means "kept": when
the Store cannot be written the listener raises, nothing is acked, and Slack delivers the event again. Events without a
listener are acked too: Slack would send them again, and would stop sending events at all after too many failures.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from slack_bolt import Ack, App, BoltContext, BoltResponse
from slack_bolt.error import BoltUnhandledRequestError
from slack_sdk import WebClient

from bot.acks import all_wrong
from bot.approvals import Approvals
from bot.buttons import (
    APPROVAL_BUTTONS,
    BUTTONS,
    ENTRY_BUTTONS,
    ENTRY_FORMS,
    FILES_BUTTONS,
    FORMS,
    HOME_BUTTONS,
    HOME_FORMS,
    MEMORY_BUTTONS,
    MEMORY_FORMS,
    MENU_BUTTONS,
    MENU_FORMS,
    MODEL_BUTTONS,
    REPORT_BUTTONS,
    REPORT_FORMS,
    SCHEDULE_BUTTONS,
    SHORTCUTS,
    STEP_BUTTONS,
    THREADS_BUTTONS,
    THREADS_FORMS,
    Reader,
)
from bot.changes import deleted_in
from bot.commands import stop_from_reaction, stop_from_session
from bot.desks import Desk, Desks
from bot.intake import Ignored
from bot.memory import Proposals
from bot.oauth import Installing
from bot.organisation import workspace_of
from bot.retry_buffer import RetryBuffer
from core.spool import Spooled
from core.store import Store, StoreUnreachable
from core.telemetry import get_logger

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
    for button, read in BUTTONS:
        app.action(button.pattern())(_press_listener(read, store, desks))
    _listen_to_menu(app, desks)
    _listen_to_reports(app, desks)
    _listen_to_steps(app, desks)
    _listen_to_memory(app, desks)
    _listen_to_home(app, desks)
    app.error(_on_error)
    return app


_Handles = Callable[[Mapping[str, Any], str], str]
_Picks = Callable[[Desk], _Handles]
"""Picks what handles a press at the desk of its workspace."""


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


def _listen_to_menu(app: App, desks: Desks) -> None:
    for button in APPROVAL_BUTTONS:
        app.action(button.pattern())(_approval_listener(desks))
    for button in FILES_BUTTONS:
        app.action(button.pattern())(_menu_listener(lambda desk: desk.held_files.press, desks, "files"))
    for form in FORMS:
        app.view(form.pattern())(_form_listener(lambda desk: desk.approvals, desks))
    for shortcut in SHORTCUTS:
        app.message_shortcut(shortcut.pattern())(_menu_listener(lambda desk: desk.menu.open, desks, "menu"))
    for form in MENU_FORMS:
        app.view(form.pattern())(_menu_form_listener(lambda desk: desk.menu, desks))
    menu_presses: tuple[_Picks, ...] = (
        lambda desk: desk.menu.questions.again,
        lambda desk: desk.menu.questions.suggested,
        lambda desk: desk.menu.versions.turn,
    )
    for button, press in zip(MENU_BUTTONS, menu_presses, strict=True):
        app.action(button.pattern())(_menu_listener(press, desks, button.ID))


def _listen_to_reports(app: App, desks: Desks) -> None:
    report_presses: tuple[_Picks, ...] = (lambda desk: desk.reports.press, lambda desk: desk.reports.turn_page)
    for button, press in zip(REPORT_BUTTONS, report_presses, strict=True):
        app.action(button.pattern())(_report_listener(press, desks))
    for form in REPORT_FORMS:
        app.view(form.pattern())(_report_listener(lambda desk: desk.reports.submit, desks))
    (button,) = MODEL_BUTTONS
    app.action(button.pattern())(_report_listener(lambda desk: desk.models.press, desks))


def _listen_to_steps(app: App, desks: Desks) -> None:
    for button in STEP_BUTTONS:
        app.action(button.pattern())(_menu_listener(lambda desk: desk.steps.press, desks, "step"))


def _listen_to_memory(app: App, desks: Desks) -> None:
    memory_presses: tuple[_Picks, ...] = (lambda desk: desk.proposals.press, lambda desk: desk.proposals.use)
    for button, press in zip(MEMORY_BUTTONS, memory_presses, strict=True):
        app.action(button.pattern())(_menu_listener(press, desks, "memory"))
    for form in MEMORY_FORMS:
        app.view(form.pattern())(_form_listener(lambda desk: desk.proposals, desks))


def _listen_to_home(app: App, desks: Desks) -> None:
    app.event(HOME_OPENED)(_home_listener(desks))
    home_presses: tuple[_Picks, ...] = (lambda desk: desk.home.press, lambda desk: desk.home.tour)
    for button, press in zip(HOME_BUTTONS, home_presses, strict=True):
        app.action(button.pattern())(_report_listener(press, desks))
    entry_presses: tuple[_Picks, ...] = (lambda desk: desk.entries.turn_page, lambda desk: desk.entries.press)
    for button, press in zip(ENTRY_BUTTONS, entry_presses, strict=True):
        app.action(button.pattern())(_report_listener(press, desks))
    for form in ENTRY_FORMS:
        app.view(form.pattern())(_menu_form_listener(lambda desk: desk.entries, desks))
    for button in SCHEDULE_BUTTONS:
        app.action(button.pattern())(_report_listener(lambda desk: desk.home.schedules.press, desks))
    threads_presses: tuple[_Picks, ...] = (lambda desk: desk.home.threads.turn, lambda desk: desk.home.threads.pin)
    for button, press in zip(THREADS_BUTTONS, threads_presses, strict=True):
        app.action(button.pattern())(_report_listener(press, desks))
    for form in THREADS_FORMS:
        app.view(form.pattern())(_menu_form_listener(lambda desk: desk.home.threads, desks))
    for form in HOME_FORMS:
        app.view(form.pattern())(_menu_form_listener(lambda desk: desk.home, desks))


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
            handler = desks.of(message.team).handler
            handler.take(message, handler.event_context(message.team, context.bot_user_id or ""))

    return on_event


def _press_listener(read: Reader, store: Store, desks: Desks) -> Callable[..., None]:
    def on_press(ack: Ack, body: dict[str, Any], context: BoltContext) -> None:
        message = read(body, context.team_id or "", store)
        if isinstance(message, Ignored):
            log.info("press_ignored", reason=message.reason)
        else:
            handler = desks.of(message.team).handler
            handler.take(message, handler.event_context(message.team, context.bot_user_id or ""))
        ack()

    return on_press


def _approval_listener(desks: Desks) -> Callable[..., None]:
    def on_press(ack: Ack, body: dict[str, Any], context: BoltContext) -> None:
        team = context.team_id or ""
        log.info("approval_pressed", outcome=desks.of(team).approvals.press(body, team))
        ack()

    return on_press


def _report_listener(picks: _Picks, desks: Desks) -> Callable[..., None]:
    def on_use(ack: Ack, body: dict[str, Any], context: BoltContext) -> None:
        team = context.team_id or ""
        log.info("report_button_used", outcome=picks(desks.of(team))(body, team))
        ack()

    return on_use


def _form_listener(picks: Callable[[Desk], Approvals | Proposals], desks: Desks) -> Callable[..., None]:
    def on_submit(ack: Ack, body: dict[str, Any], context: BoltContext) -> None:
        team = context.team_id or ""
        if wrong := picks(desks.of(team)).submit(body, team):
            ack(**all_wrong(wrong))
        else:
            ack()

    return on_submit


def _menu_listener(picks: _Picks, desks: Desks, what: str) -> Callable[..., None]:
    def on_press(ack: Ack, body: dict[str, Any], context: BoltContext) -> None:
        team = context.team_id or ""
        log.info("menu_used", what=what, outcome=picks(desks.of(team))(body, team))
        ack()

    return on_press


class _Submits(Protocol):
    def submit(self, body: Mapping[str, Any], team: str) -> dict[str, Any]: ...


def _home_listener(desks: Desks) -> Callable[..., None]:
    def on_opened(event: dict[str, Any], context: BoltContext) -> None:
        team = context.team_id or ""
        log.info("home_opened", outcome=desks.of(team).home.opened(event, team))

    return on_opened


def _menu_form_listener(picks: Callable[[Desk], _Submits], desks: Desks) -> Callable[..., None]:
    def on_submit(ack: Ack, body: dict[str, Any], context: BoltContext) -> None:
        team = context.team_id or ""
        ack(**picks(desks.of(team)).submit(body, team))

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
