"""The process of the worker service that answers `/healthz` and `/metrics`; the supervisor forks it.

It is a process of its own, because the supervisor forks and so must have no threads and no database.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing, suppress
from functools import partial

from prometheus_client import CollectorRegistry, Gauge
from redis import Redis, RedisError

from core.errors import SlackFailed
from core.health import Check, Health, Missing, Pages, Part, pages, serving
from core.home_writes import home_answers
from core.metrics import HandedOver
from core.queue import connect_redis, queue_lengths
from core.redis_writes import redis_answers
from core.settings import Settings
from core.slack.client import ours, web_client
from core.store.history import History
from core.turn_metrics import CountedUntil, TurnMetrics
from executor.client import HostUnavailable, SessionClient
from workers.service.processes.health import ProcessHealth
from workers.service.session_metrics import SessionMetrics
from workers.sources.broker.client import BrokerClient
from workers.sources.errors import SourceAway
from workers.tools.client import ToolsClient
from workers.tools.errors import ToolAway

ANSWER_S = 3.0
"""How long Redis, the session host, the broker and the process of tools may take to answer."""
SLACK_ANSWER_S = 5
SLACK_EVERY_S = 30.0


def run(settings: Settings) -> None:
    """Serve until the process ends."""
    with ExitStack() as stack:
        redis = stack.enter_context(closing(connect_redis(settings.redis_url, timeout_s=ANSWER_S)))
        history = stack.enter_context(closing(History(settings.database_url)))
        health = Health(checks(settings, redis, history), settings.secrets())
        shown = worker_pages(settings, redis, history, health)
        stack.enter_context(serving(settings.health_address, settings.worker_health_port, health, shown))
        threading.Event().wait()


def checks(settings: Settings, redis: Redis, history: History) -> dict[str, Check]:
    """What a worker service needs, as one check per part."""
    processes = ProcessHealth(settings)

    def store_answers() -> str:
        history.ping()
        return "answers"

    def session_host_answers() -> str:
        try:
            host = SessionClient(settings.session_socket, answer_s=ANSWER_S).ping()
        except HostUnavailable as error:
            raise Missing(f"the session host does not answer: {error}") from error
        processes.lives_on("session host")
        without = f" without {', '.join(host.sandbox.missing)}" if host.sandbox.missing else ""
        return f"sandbox {host.sandbox.level}{without}, system calls: {host.sandbox.syscalls}, {host.sessions} sessions"

    def broker_answers() -> str:
        try:
            client = BrokerClient(settings.broker_socket, back_s=ANSWER_S)
            kinds, memory = client.kinds(ANSWER_S), client.memory(ANSWER_S)
        except SourceAway as error:
            raise Missing(str(error)) from error
        processes.lives_on("broker")
        full = f", results refused for memory: {memory['refused']}" if memory["refused"] else ""
        used = f"memory: {memory['used_mb']:,} of {memory['limit_mb']:,} MB"
        return f"answers, data sources: {len(kinds)}, {used}{full}"

    def tools_answer() -> str:
        try:
            ToolsClient(settings.tools_socket, back_s=ANSWER_S).ping(ANSWER_S)
        except ToolAway as error:
            raise Missing(str(error)) from error
        processes.lives_on("tools")
        return f"answers, MCP servers: {len(settings.mcp)}"

    found: dict[str, Check] = {
        "redis": partial(redis_answers, redis),
        "store": store_answers,
        "home": partial(home_answers, settings.home),
        "slack": _at_most_every(_slack_answers(settings), SLACK_EVERY_S),
        "session_host": session_host_answers,
        "workers": processes.workers,
        "janitor": processes.janitor,
        "schedules": partial(processes.runs, "schedules"),
    }
    found |= {"clean_room": partial(processes.runs, "clean room")} if settings.report.clean_room == "after" else {}
    found |= {"vectors": partial(processes.runs, "vectors")} if settings.memory.embedding_model else {}
    found |= {"broker": broker_answers} if settings.sources else {}
    return found | ({"tools": tools_answer} if settings.mcp else {})


def worker_pages(settings: Settings, redis: Redis, history: History, health: Health) -> Pages:
    """The pages of a worker service: figures of the Store and of the jobs, queued jobs, live sessions of this node."""
    registry = CollectorRegistry()
    turns = TurnMetrics(history, registry, CountedUntil(redis, settings.node_id))
    registry.register(HandedOver(redis, settings.node_id))
    queued = Gauge("threadbook_queued_jobs", "Jobs that wait, by queue.", ("queue",), registry=registry)
    counted = SessionMetrics()
    registry.register(counted)
    sessions = Gauge("threadbook_sessions", "Live sessions of this node, by state.", ("state",), registry=registry)

    def refresh(parts: Mapping[str, Part]) -> None:
        with suppress(RedisError):
            lengths = queue_lengths(redis)
            queued.clear()
            for queue, length in lengths.items():
                queued.labels(queue).set(length)
        sessions.clear()
        if parts["session_host"].up:
            client = SessionClient(settings.session_socket, answer_s=ANSWER_S)
            live, counted.counters = client.sessions(), client.ping().counters
            running = sum(session.cell_id is not None for session in live)
            sessions.labels("running").set(running)
            sessions.labels("idle").set(len(live) - running)
        if parts["store"].up:
            turns.refresh()

    return pages(health, registry, refresh)


def _slack_answers(settings: Settings) -> Check:
    client = web_client(settings)
    client.timeout = SLACK_ANSWER_S
    client.retry_handlers = []

    def check() -> str:
        try:
            with ours("auth.test"):
                client.auth_test()
        except SlackFailed as error:
            # Each of many workspaces has its own token: a refusal for want of one is Slack's answer.
            if settings.many_workspaces and error.error == "not_authed":
                return "answers"
            raise
        return "answers, and takes the token"

    return check


def _at_most_every(check: Check, every_s: float, clock: Callable[[], float] = time.monotonic) -> Check:
    """The same check, made at most once in `every_s` seconds; in between it gives its last result."""
    last: tuple[float, str, Exception | None] | None = None

    def remembered() -> str:
        nonlocal last
        if last is None or clock() - last[0] >= every_s:
            try:
                last = clock(), check(), None
            except Exception as failed:
                last = clock(), "", failed
        _, what, error = last
        if error is not None:
            raise error
        return what

    return remembered
