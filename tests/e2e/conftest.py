"""A stack for each file of tests, on one session host for all of them.

Each file has a Redis of its own too: the bot remembers there what a workspace does not offer, and all test workspaces
have one id.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from harness import Stack, Start, running_stack, session_host

from tryout.stack.redis_server import embedded_redis
from workers.models.base import Model
from workers.offline import OfflineAnalyst


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home folder with a running session host."""
    folder = tmp_path_factory.mktemp("home")
    with session_host(folder):
        yield folder


@pytest.fixture(scope="module")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Redis-compatible server of this file's own."""
    with embedded_redis(tmp_path_factory.mktemp("redis") / "redis.log") as url:
        yield url


@pytest.fixture(scope="module")
def common(home: Path, redis_url: str) -> Iterator[Stack]:
    """The stack that most tests share."""
    with running_stack(home, redis_url, OfflineAnalyst()) as stack:
        yield stack


@pytest.fixture
def start(common: Stack) -> Iterator[Start]:
    """`start(model)` gives the running product this model and returns it."""

    def starting(model: Model) -> Stack:
        common.puppet.model = model
        return common

    yield starting
    common.renew()


@pytest.fixture
def start_alone(home: Path, redis_url: str) -> Iterator[Start]:
    """As `start`, with a bot and a worker of the test's own: for what they remember."""
    with ExitStack() as stacks:
        yield lambda model: stacks.enter_context(running_stack(home, redis_url, model))
