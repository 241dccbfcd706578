"""The bot process: `threadbook bot`."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from redis import Redis
from slack_bolt import App
from slack_bolt.error import BoltError
from slack_sdk import WebClient

from bot.app import build_app, noting_limits
from bot.connection.catch_up import CatchUp
from bot.connection.health import health_served
from bot.connection.oauth import Installing
from bot.connection.retry_buffer import RetryBuffer
from bot.connection.socket_mode import connected
from bot.connection.uninstalled import end_waiting
from bot.connection.web import served
from bot.desks import Desks
from bot.message_handler import MessageHandler
from bot.store_outage import StoreOutage
from bot.unattended import Unattended
from core.errors import SettingsError, SlackUnreachable
from core.installations.tokens import check_settings
from core.installations.workspaces import opened_workspaces
from core.queue import Wakes, connect_redis
from core.retry import retry_call
from core.settings import Settings
from core.slack.client import LOST, passes_by_itself
from core.spool import Spool
from core.store import Store
from core.telemetry import configure_logging, get_logger, log_uncaught

log = get_logger(__name__)

REDIS_TIMEOUT_S = 1.0
START_WAIT_S = 30.0
STOP_S = 15.0
"""How long work that began after an acknowledgement may go on. It may be left out, or a worker does it again."""
STOPS = {signal.SIGTERM, signal.SIGINT}


def main(settings: Settings, http: tuple[str, int] | None = None) -> None:
    """Listen until SIGTERM or SIGINT, by Socket Mode or, with a host and a port, by HTTP.

    Raises SettingsError when a secret is missing or refused, SlackUnreachable or StoreUnreachable when Slack or the
    database stays unavailable.
    """
    configure_logging(settings)
    log_uncaught()
    # Threads inherit the mask, so a signal stays pending until sigwait takes it. A signal handler that sets an Event
    # could run just before the wait for the Event begins, and then nothing would end the wait.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    stop = StopSignal()
    with running_bot(settings) if http is None else running_web_bot(settings, *http):
        stop.wait()
    log.info("bot_stopped")


class StopSignal:
    """Waits for SIGTERM or SIGINT in a thread of its own, so that a stop is obeyed whatever the bot waits for.

    While the bot starts it has taken no message: the process ends at once. After a stop it ends within `STOP_S`.
    """

    def __init__(self, end: Callable[[int], object] = os._exit) -> None:
        """The signals must be blocked in every thread. `end` ends the process with a status."""
        self._end = end
        self._lock = threading.Lock()
        self._started = False
        self._stopped = threading.Event()
        threading.Thread(target=self._watch, name="stop signal", daemon=True).start()

    def wait(self) -> None:
        """Return at a stop. From this call on the bot counts as started."""
        with self._lock:
            self._started = True
        self._stopped.wait()

    def _watch(self) -> None:
        signal.sigwait(STOPS)
        with self._lock:
            if not self._started:
                log.info("bot_stopped_while_starting")
                self._end(0)
                return
        self._stopped.set()
        time.sleep(STOP_S)
        log.warning("bot_cut_off", seconds=STOP_S)
        self._end(1)


@contextmanager
def running_bot(settings: Settings) -> Iterator[App]:
    """The bot, connected to Slack while the block runs; at the end it finishes the work that it has taken."""
    if settings.many_workspaces and settings.slack_bot_token is None:
        raise SettingsError(
            "SLACK_CLIENT_ID is set: workspaces install the app over the web, which needs HTTP mode. Start the bot "
            "with `threadbook bot --http`, or unset SLACK_CLIENT_ID and set SLACK_BOT_TOKEN."
        )
    if settings.slack_bot_token is None or settings.slack_app_token is None:
        raise SettingsError(
            "SLACK_BOT_TOKEN (xoxb-…) and SLACK_APP_TOKEN (xapp-…, with connections:write) must both be set: "
            "README.md says where Slack shows them."
        )
    with (
        _opened(settings) as (app, redis, catch_up),
        connected(app, settings.slack_app_token.get_secret_value(), catch_up.note_gap) as is_connected,
        catch_up.running(is_connected),
        health_served(settings, redis, is_connected),
    ):
        log.info("bot_listens", slack=settings.slack_api_url)
        yield app


@contextmanager
def running_web_bot(settings: Settings, host: str, port: int) -> Iterator[int]:
    """The bot in HTTP mode; yields the port it listens on."""
    if settings.many_workspaces:
        check_settings(settings)
    if settings.slack_signing_secret is None or (settings.slack_bot_token is None and not settings.many_workspaces):
        raise SettingsError(
            "HTTP mode needs SLACK_BOT_TOKEN (xoxb-…) and SLACK_SIGNING_SECRET (Basic Information → App Credentials): "
            "without the secret the bot cannot tell Slack's requests from a stranger's."
        )
    secret = settings.slack_signing_secret.get_secret_value()
    with (
        _opened(settings, secret) as (app, redis, catch_up),
        served(app, host, port) as taken,
        catch_up.running(lambda: True),
        health_served(settings, redis, None),
    ):
        yield taken


@contextmanager
def _opened(settings: Settings, signing_secret: str | None = None) -> Iterator[tuple[App, Redis, CatchUp]]:
    """The app and its collaborators, before it listens to anything."""
    store = Store(settings.database_url)
    store.migrate(START_WAIT_S)
    redis = connect_redis(settings.redis_url, timeout_s=REDIS_TIMEOUT_S)
    workspaces = opened_workspaces(settings, store, redis)
    wakes = Wakes(redis, store)
    later = ThreadPoolExecutor(max_workers=8, thread_name_prefix="later")
    lookups = ThreadPoolExecutor(max_workers=4, thread_name_prefix="lookup")

    def handler_of(team: str) -> MessageHandler:
        return MessageHandler(
            settings=settings.for_workspace(team),
            store=store,
            wakes=wakes,
            slack=workspaces.of(team).slack,
            later=later,
            lookups=lookups,
            look_behind=catch_up.note_thread,
        )

    desks = Desks(store, handler_of, many=settings.many_workspaces)

    def take(event: Mapping[str, Any], team: str, bot_user_id: str) -> None:
        desks.of(team).handler.take_event(event, team, bot_user_id)

    catch_up = CatchUp(store=store, slack_of=lambda team: workspaces.of(team).slack, redis=redis, take=take)
    outage = StoreOutage(lambda team: workspaces.of(team).slack)
    retry_buffer = RetryBuffer(
        lambda one: take(one.event, one.team, one.bot_user_id),
        Spool(settings.spool),
        tell=lambda one, is_kept: outage.tell(one, is_kept=is_kept),
    )
    installing = None
    if workspaces.tokens is not None:
        installing = Installing(settings, store, workspaces.tokens, lambda team: end_waiting(team, store, wakes))
    try:
        app = _connected_app(
            workspaces.only.client, store, desks, retry_buffer, signing_secret=signing_secret, installing=installing
        )
        app.use(noting_limits(catch_up.note_dropped))
        retry_buffer.resume()
        catch_up.note_start()
        unattended = Unattended(store=store, slack_of=lambda team: workspaces.of(team).slack, redis=redis)
        with unattended.running():
            yield app, redis, catch_up
    finally:
        retry_buffer.close()
        later.shutdown(wait=True)
        lookups.shutdown(wait=True)
        redis.close()
        store.close()


def _connected_app(
    client: WebClient,
    store: Store,
    desks: Desks,
    retry_buffer: RetryBuffer,
    *,
    signing_secret: str | None,
    installing: Installing | None,
) -> App:
    """The app, once Slack answers: the processes of a node may start in any order."""

    def build() -> App:
        try:
            return build_app(client, store, desks, retry_buffer, signing_secret=signing_secret, installing=installing)
        except BoltError as error:
            # Bolt says "invalid token" whatever the cause; the error before it is what Slack answered.
            if not passes_by_itself(error.__context__):
                raise SettingsError(f"Slack refuses SLACK_BOT_TOKEN: {error}") from error
            raise

    app = retry_call(
        build,
        on=(BoltError, *LOST),
        for_s=START_WAIT_S,
        on_retry=lambda error: log.info("waiting_for_slack", error=error),
        give_up=lambda error: SlackUnreachable(f"Slack does not answer at {client.base_url} (SLACK_API_URL): {error}"),
    )
    if app.oauth_flow is not None and installing is None:
        # Bolt switches to OAuth when it finds both variables, and then ignores the token.
        raise SettingsError("Unset SLACK_CLIENT_ID and SLACK_CLIENT_SECRET: this bot works with SLACK_BOT_TOKEN.")
    return app
