"""Everything that a worker works with: opened in one visible place, closed in the opposite order."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from urllib.parse import urlsplit

from core.blobs import Blobs
from core.installations.workspaces import Workspace, Workspaces, opened_workspaces
from core.leases import Leases
from core.metrics import handing_over
from core.queue import Wakes, connect_redis
from core.settings import Settings
from core.store import Store
from executor.client import SessionClient
from workers.agent.turn import Environment
from workers.models.base import Model
from workers.repositories.cloning import Cloner
from workers.service.admission import Admission
from workers.service.backoff import Backoff
from workers.service.model_choice import offered_models, opened_model, opened_second
from workers.sources.broker.client import BrokerClient
from workers.tools.client import ToolsClient
from workers.turn.context import TurnContext
from workers.turn.downloads import Downloader, is_slacks, look_up_with
from workers.turn.files import ThreadFiles
from workers.turn.limits import limits_of
from workers.turn.prompts import load_prompts
from workers.turn.stop_check import StopBoard
from workers.turn.transfer.session_transfer import SessionTransfer
from workers.turn.transfer.unexported import Unexported
from workers.turn.waiting import Waiting

LEASE_TTL_S = 10
"""How long a killed worker blocks its thread at most. A live one renews its lease after every third of that time."""

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
    "pyreadstat",
    "pdfplumber",
    "pillow",
    "lxml",
    "duckdb",
    "polars",
)
"""What the analyst is told that it may import, if it is installed."""


@dataclass(frozen=True, slots=True)
class WorkerContext:
    """The resources of a job: the turn's context, and the parts that decide which thread runs, where, and when
    again."""

    context: TurnContext
    leases: Leases
    wakes: Wakes
    backoff: Backoff
    admission: Admission
    workspaces: Workspaces | None = None
    """What talks to each of many workspaces; None where there is one."""
    is_shared: bool = False
    """Whether turns of other threads run in this process too."""
    hand_over: Callable[[], None] = lambda: None
    """Adds what this process has counted to the counts of its node."""

    def context_of(self, team: str) -> TurnContext:
        """What turns of a workspace work with: its Slack, and of the settings what holds there.

        Raises NotInstalled, Undecipherable, StoreUnreachable.
        """
        if self.workspaces is None or self.workspaces.tokens is None:
            return self.context
        workspace = self.workspaces.of(team)
        settings = self.context.settings.for_workspace(team)
        return replace(
            self.context,
            settings=settings,
            slack=workspace.slack,
            files=self.context.files.for_workspace(workspace),
            broker=self.context.broker if settings.sources else None,
        )


@contextmanager
def opened(
    settings: Settings,
    model: Model | None = None,
    store: Store | None = None,
    *,
    holder: str = "",
    waiting: Waiting | None = None,
    is_shared: bool = False,
) -> Iterator[WorkerContext]:
    """Open everything in this order, close it in the opposite one. Call it after a fork, never before it.

    All of it is safe to share between threads. `store` is one that was closed before the fork; without it a new one is
    opened. `model` is for tests. `holder` names the process in its leases, `waiting` counts the turns that only wait.
    """
    with ExitStack() as stack:
        store = stack.enter_context(closing(store or Store(settings.database_url)))
        redis = stack.enter_context(closing(connect_redis(settings.redis_url)))
        hand_over = stack.enter_context(handing_over(redis, settings.node_id))
        workspaces = opened_workspaces(settings, store, redis)
        slack = workspaces.only.slack
        fetch = stack.enter_context(downloader(settings, workspaces.only))
        sessions = SessionClient(settings.session_socket, partial(limits_of, settings))
        blobs = Blobs(settings.files)
        cloner = Cloner(settings.repositories)
        files = ThreadFiles(store=store, slack=slack, sessions=sessions, blobs=blobs, downloader=fetch, cloner=cloner)
        transfer = session_transfer(settings, store, blobs, sessions)
        model = model or stack.enter_context(opened_model(settings))
        models = stack.enter_context(offered_models(settings))
        second = stack.enter_context(opened_second(settings, models))
        leases = Leases(redis, store, LEASE_TTL_S, holder=holder)
        yield WorkerContext(
            context=TurnContext(
                settings=settings,
                store=store,
                blobs=blobs,
                slack=slack,
                sessions=sessions,
                files=files,
                transfer=transfer,
                model=model,
                second=second,
                prompts=load_prompts(),
                environment=environment(settings),
                stops=StopBoard(store.stops_asked),
                waiting=waiting or Waiting(),
                broker=BrokerClient(settings.broker_socket) if settings.sources else None,
                tools=ToolsClient(settings.tools_socket) if settings.mcp else None,
                models=models,
            ),
            leases=leases,
            wakes=Wakes(redis, store),
            backoff=Backoff(redis),
            admission=Admission(redis, leases, settings.fairness),
            workspaces=workspaces,
            is_shared=is_shared,
            hand_over=hand_over,
        )


def session_transfer(settings: Settings, store: Store, blobs: Blobs, sessions: SessionClient) -> SessionTransfer:
    """What exports and imports the sessions of this node."""
    return SessionTransfer(
        store,
        blobs,
        sessions,
        node_id=settings.node_id,
        enabled=settings.hands_threads_over,
        unexported=Unexported(settings.home),
        limits=settings.storage,
    )


def environment(settings: Settings) -> Environment:
    """The description of the environment for the analyst: the session host runs the same interpreter."""
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


def downloader(settings: Settings, workspace: Workspace) -> Downloader:
    """What fetches the files of messages."""
    hosts = settings.slack.file_hosts
    own = urlsplit(settings.slack_api_url)
    if not is_slacks(own.hostname or ""):
        # A local Slack or a proxy knows the token already, and serves its files beside its Web API.
        hosts = (*hosts, own.netloc)
    return Downloader(
        workspace.token_of,
        hosts=hosts,
        max_bytes=settings.limits.file_max_mb * 1_000_000,
        look_up=look_up_with(workspace.client),
    )
