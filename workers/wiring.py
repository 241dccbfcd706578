"""Everything that a worker works with, opened in one visible place and closed in the opposite order."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from urllib.parse import urlsplit

from core.blobs import Blobs
from core.errors import UsersMove
from core.leases import Leases
from core.metrics import handing_over
from core.queue import Wakes, connect_redis
from core.settings import Settings
from core.slack import SlackWriter, web_client
from core.store import Store
from core.values import FileRef
from executor.client import SessionClient
from workers.agent.turn import Environment
from workers.downloads import Downloader
from workers.intake import Intake
from workers.limits import limits_of
from workers.luggage import Luggage
from workers.models.base import Model
from workers.models.choose import opened_model
from workers.patience import Patience
from workers.prompts import load_prompts
from workers.turnstile import Turnstile
from workers.workshop import Workshop

LEASE_TTL_S = 10
"""A worker that was killed blocks its thread for so long at most; a live one renews every third of it."""

PACKAGES = (
    "pandas",
    "numpy",
    "pyarrow",
    "scipy",
    "statsmodels",
    "scikit-learn",
    "matplotlib",
    "seaborn",
    "openpyxl",
    "lxml",
    "duckdb",
)
"""What the analyst is told it may import, as far as it is installed."""


def socket_path(settings: Settings) -> Path:
    """Where this host's session host answers."""
    return settings.session_socket


@dataclass(frozen=True, slots=True)
class Tools:
    """What a job needs beside the workshop: whose turn it is, who is to be woken, how often it was tried."""

    shop: Workshop
    leases: Leases
    wakes: Wakes
    patience: Patience
    turnstile: Turnstile


@contextmanager
def opened(settings: Settings, model: Model | None = None, store: Store | None = None) -> Iterator[Tools]:
    """Open Store, Redis, Slack and the rest; to be called after a fork, never before it.

    `store` is one that was closed before the fork; without it a new one is opened. `model` is for tests.
    """
    with ExitStack() as stack:
        store = stack.enter_context(closing(store or Store(settings.database_url)))
        redis = stack.enter_context(closing(connect_redis(settings.redis_url)))
        stack.enter_context(handing_over(redis, settings.host_id))
        slack = SlackWriter(web_client(settings, redis), store)
        downloader = stack.enter_context(_downloader(settings, slack))
        sessions = SessionClient(socket_path(settings), partial(limits_of, settings))
        blobs = Blobs(settings.files)
        shop = Workshop(
            settings=settings,
            store=store,
            blobs=blobs,
            slack=slack,
            sessions=sessions,
            intake=Intake(store=store, slack=slack, sessions=sessions, blobs=blobs, downloader=downloader),
            luggage=Luggage(store, blobs, sessions, host_id=settings.host_id, enabled=settings.hands_threads_over),
            model=model or stack.enter_context(opened_model(settings)),
            prompts=load_prompts(),
            environment=environment(settings),
        )
        leases = Leases(redis, store, LEASE_TTL_S)
        turnstile = Turnstile(redis, leases, settings.fairness)
        yield Tools(shop, leases, Wakes(redis, store), Patience(redis), turnstile)


def environment(settings: Settings) -> Environment:
    """What the analyst is told of the place where its code runs: the session host runs this very interpreter."""
    return Environment(
        python_version=platform.python_version(),
        packages=_packages(),
        today=f"{datetime.now(UTC):%Y-%m-%d}",
        cell_timeout_s=settings.limits.cell_timeout_s,
        memory_mb=settings.limits.memory_mb,
        file_max_mb=settings.limits.file_max_mb,
        bash=settings.sandbox.bash,
    )


@cache
def _packages() -> tuple[str, ...]:
    found = []
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return tuple(found)


def _downloader(settings: Settings, slack: SlackWriter) -> Downloader:
    def look_up(file_id: str) -> FileRef:
        if (found := slack.file(file_id)) is None:
            raise UsersMove("file_no_access")
        return found

    token = settings.slack_bot_token
    hosts = settings.download_hosts
    if not settings.is_real_slack:
        # The server that stands in for Slack has the token already; its files lie beside its Web API.
        hosts = (*hosts, urlsplit(settings.slack_api_url).netloc)
    return Downloader(
        token.get_secret_value() if token else "",
        hosts=hosts,
        max_bytes=settings.limits.file_max_mb * 1_000_000,
        look_up=look_up,
    )
