"""The bot's `/healthz` and `/metrics`: its own connections, and what it counted itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial

from prometheus_client import CollectorRegistry
from redis import Redis

from core.health import Check, Health, Missing, pages, serving
from core.metrics import REGISTRY
from core.redis_writes import redis_answers
from core.settings import Settings
from core.store.history import History


@contextmanager
def health_served(settings: Settings, redis: Redis, is_connected: Callable[[], bool] | None) -> Iterator[None]:
    """Serve both pages while the block runs, if the settings name a port.

    `is_connected` tells whether Slack is heard on the Socket Mode connection; None in HTTP mode, which has none.
    """

    def slack_listens() -> str:
        if is_connected is None:
            return "listens for Slack's requests"
        if not is_connected():
            raise Missing("Slack is not heard by Socket Mode; the connection is opened again automatically")
        return "connected by Socket Mode"

    with closing(History(settings.database_url)) as history:

        def store_answers() -> str:
            history.ping()
            return "answers"

        checks: dict[str, Check] = {
            "redis": partial(redis_answers, redis),
            "store": store_answers,
            "slack": slack_listens,
        }
        health = Health(checks, settings.secrets())
        registry = CollectorRegistry()
        registry.register(REGISTRY)
        with serving(settings.health_address, settings.bot_health_port, health, pages(health, registry)):
            yield
