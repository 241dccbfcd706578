"""Each file of integration tests has a Redis of its own.

The bot remembers in Redis what a workspace does not offer, and all test workspaces have one id. A test that takes a
method away would take it from every later one: no sign of a queue was shown.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tryout.stack.redis_server import embedded_redis


@pytest.fixture(scope="module")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Redis-compatible server of this file's own."""
    with embedded_redis(tmp_path_factory.mktemp("redis") / "redis.log") as url:
        yield url
