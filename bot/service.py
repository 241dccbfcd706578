"""The bot process: `threadbook bot`."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from redis import Redis
from slack_bolt import App
from slack_bolt.error import BoltError
from slack_sdk import WebClient

from bot.app import build_app
from bot.health import health_served
from bot.reception import Reception
from bot.socket_mode import connected
from bot.web import served
from core.errors import SettingsError, SlackUnreachable
from core.queue import Wakes, connect_redis
from core.settings import Settings
from core.slack import SlackWriter, web_client
from core.slack_client import LOST, passes_by_itself
from core.store import Store
from core.telemetry import configure_logging, get_logger

log = get_logger(__name__)

REDIS_TIMEOUT_S = 1.0
START_WAIT_S = 30.0
STOPS = {signal.SIGTERM, signal.SIGINT}


def main(settings: Settings, http: tuple[str, int] | None = None) -> None:
    """Listen until SIGTERM or SIGINT, by Socket Mode or, with a host and a port, by HTTP.

    Raises SettingsError when a secret is missing or refused, SlackUnreachable or StoreUnreachable when Slack or the
    database stays away.
    """
    configure_logging(settings)
    # Every thread that begins from here on inherits it: the signal waits for whoever asks for it. A handler that sets
    # an Event may be called just before the wait for it begins to sleep, and then nothing wakes it.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    with running_bot(settings) if http is None else running_web_bot(settings, *http):
        signal.sigwait(STOPS)
    log.info("bot_stopped")


@contextmanager
def running_bot(settings: Settings) -> Iterator[App]:
    """The bot, connected to Slack while the block runs; at its end it finishes what it has begun."""
    if settings.slack_bot_token is None or settings.slack_app_token is None:
        raise SettingsError(
            "SLACK_BOT_TOKEN (xoxb-…) and SLACK_APP_TOKEN (xapp-…, with connections:write) must both be set: "
            "README.md says where Slack shows them."
        )
    with (
        _opened(settings) as (app, redis),
        connected(app, settings.slack_app_token.get_secret_value()) as is_connected,
        health_served(settings, redis, is_connected),
    ):
        log.info("bot_listens", slack=settings.slack_api_url)
        yield app


@contextmanager
def running_web_bot(settings: Settings, host: str, port: int) -> Iterator[int]:
    """The bot in HTTP mode; yields the port it listens on."""
    if settings.slack_bot_token is None or settings.slack_signing_secret is None:
        raise SettingsError(
            "HTTP mode needs SLACK_BOT_TOKEN (xoxb-…) and SLACK_SIGNING_SECRET (Basic Information → App Credentials): "
            "without the secret nobody can tell Slack's requests from a stranger's."
        )
    secret = settings.slack_signing_secret.get_secret_value()
    with (
        _opened(settings, secret) as (app, redis),
        served(app, host, port) as taken,
        health_served(settings, redis, None),
    ):
        yield taken


@contextmanager
def _opened(settings: Settings, signing_secret: str | None = None) -> Iterator[tuple[App, Redis]]:
    """The app with all that it works with, before it listens to anything."""
    store = Store(settings.database_url)
    store.migrate(START_WAIT_S)
    redis = connect_redis(settings.redis_url, timeout_s=REDIS_TIMEOUT_S)
    client = web_client(settings, redis)
    later = ThreadPoolExecutor(max_workers=8, thread_name_prefix="later")
    lookups = ThreadPoolExecutor(max_workers=4, thread_name_prefix="lookup")
    try:
        reception = Reception(
            settings=settings,
            store=store,
            wakes=Wakes(redis, store),
            slack=SlackWriter(client, store),
            later=later,
            lookups=lookups,
        )
        yield _connected_app(client, store, reception, signing_secret), redis
    finally:
        later.shutdown(wait=True)
        lookups.shutdown(wait=True)
        redis.close()
        store.close()


def _connected_app(client: WebClient, store: Store, reception: Reception, signing_secret: str | None) -> App:
    """The app, once Slack answers: the processes of one machine may start in any order."""
    deadline = time.monotonic() + START_WAIT_S
    while True:
        try:
            app = build_app(client, store, reception, signing_secret)
        except (BoltError, *LOST) as error:
            # Bolt calls the token invalid whatever Slack said; what it said is the error before.
            if not passes_by_itself(error.__context__ if isinstance(error, BoltError) else error):
                raise SettingsError(f"Slack refuses SLACK_BOT_TOKEN: {error}") from error
            if time.monotonic() > deadline:
                raise SlackUnreachable(
                    f"Slack does not answer at {client.base_url} (SLACK_API_URL): {error}"
                ) from error
            log.info("waiting_for_slack", error=repr(error))
            time.sleep(0.5)
        else:
            if app.oauth_flow is not None:
                # Bolt switches to OAuth by itself when it finds both, and forgets the token.
                raise SettingsError(
                    "Unset SLACK_CLIENT_ID and SLACK_CLIENT_SECRET: this bot works with SLACK_BOT_TOKEN."
                )
            return app
