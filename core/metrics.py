"""Metrics that processes count themselves because the Store does not hold them: calls to Slack, retries, first signs.

The turns of a worker run in processes that come and go, so each hands its counts over now and then, and when it ends:
they are added to a hash in Redis, one per node, and the worker service of the node shows them. The multiprocess mode of
prometheus-client would leave one file per process for ever. When Redis is lost or a process is killed, only counts of
this kind are lost.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics
from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from redis import Redis, RedisError

disable_created_metrics()  # type: ignore[no-untyped-call]  # the package annotates it on no version

WAITS_S = (0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 1800)
"""Histogram buckets for the time that people wait, in seconds."""

KEPT_S = 30 * 86_400
"""The counts of a node that is gone are kept for this long, in seconds."""

REGISTRY = CollectorRegistry()

SLACK_CALLS = Counter(
    "threadbook_slack_calls", "Calls of Slack's Web API by method and result.", ("method", "result"), registry=REGISTRY
)
RETRIES = Counter(
    "threadbook_retries", "What was tried again, by part and cause.", ("part", "cause"), registry=REGISTRY
)
MESSAGES = Counter("threadbook_messages", "Messages for turns to read, as the bot took them in.", registry=REGISTRY)
FORGED_JOBS = Counter(
    "threadbook_forged_jobs",
    "Jobs in Redis that no service of ours made, dropped by a worker.",
    ("why",),
    registry=REGISTRY,
)
FIRST_SIGN = Histogram(
    "threadbook_first_sign_seconds",
    "From a message's arrival at the bot to its first sign of life in the thread.",
    buckets=WAITS_S,
    registry=REGISTRY,
)

Name = tuple[str, tuple[tuple[str, str], ...]]
"""A sample's name and its labels."""

_PLAIN = re.compile(r"[a-z0-9_]{1,60}")


def plain(name: str) -> str:
    """An error's name as a label; "other" for unusual names, so that a server cannot create unlimited series."""
    return name if _PLAIN.fullmatch(name) else "other"


@contextmanager
def handing_over(redis: Redis, node_id: str) -> Iterator[Callable[[], None]]:
    """Add what this process counts while the block runs to the counts of its node, at the end.

    Earlier counts, also those inherited from the parent process, are not added. A process that lives long calls what
    the block is given now and then: it adds what was counted since. One thread of the process may do that.
    """
    before = _counted()

    def hand_over() -> None:
        nonlocal before
        counted = _counted()
        grown = {name: value - before.get(name, 0.0) for name, value in counted.items()}
        before = counted
        with suppress(RedisError), redis.pipeline(transaction=False) as pipe:
            for (name, labels), more in grown.items():
                if more > 0:
                    pipe.hincrbyfloat(_key(node_id), json.dumps([name, labels]), more)
            if pipe.command_stack:
                pipe.expire(_key(node_id), KEPT_S)
                pipe.execute()

    try:
        yield hand_over
    finally:
        hand_over()


class HandedOver(Collector):
    """The counts that the jobs of a node handed over; none when Redis is unavailable."""

    def __init__(self, redis: Redis, node_id: str) -> None:
        self._redis = redis
        self._node_id = node_id

    def collect(self) -> Iterator[Metric]:
        """Each metric of this module, with the samples of the node."""
        kept: dict[Name, float] = {}
        with suppress(RedisError):
            for field, value in self._redis.hgetall(_key(self._node_id)).items():
                name, labels = json.loads(field)
                kept[(name, tuple((label, shown) for label, shown in labels))] = float(value)
        for family in REGISTRY.collect():
            metric = Metric(family.name, family.documentation, family.type)
            for (name, labels), number in kept.items():
                if name in {f"{family.name}{ending}" for ending in ("_total", "_bucket", "_count", "_sum")}:
                    metric.add_sample(name, dict(labels), number)
            yield metric


def _counted() -> dict[Name, float]:
    return {
        (sample.name, tuple(sample.labels.items())): float(sample.value)
        for family in REGISTRY.collect()
        for sample in family.samples
    }


def _key(node_id: str) -> str:
    return f"threadbook:metrics:{node_id}"
