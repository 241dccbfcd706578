"""What all tests share: services that may be missing, and a clean way to reach local ones."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, settings
from services import missing

from tryout.redis_server import embedded_redis, reachable

# Every run tries the same examples, so a red run means that the change is at fault. EXPLORE=1 tries others, and
# more. Neither is about how fast: a busy machine fails no property.
UNHURRIED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("same", derandomize=True, **UNHURRIED)
settings.register_profile("explore", max_examples=1_000, print_blob=True, **UNHURRIED)
settings.load_profile("explore" if os.environ.get("EXPLORE") else "same")


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Slack SDK takes a proxy from the environment even for 127.0.0.1."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Redis-compatible server of the test run's own: nothing on the machine's server is touched."""
    with embedded_redis(tmp_path_factory.mktemp("redis") / "redis.log") as url:
        yield url


@pytest.fixture(scope="session")
def machine_redis_url() -> str:
    """The Redis server of the machine, for tests of what only a real one does."""
    url = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/15")
    if not reachable(url):
        missing(
            "Redis",
            f"nothing answers at {urlsplit(url).hostname}:{urlsplit(url).port}; start redis-server or set REDIS_URL",
        )
    return url


@pytest.fixture(scope="session")
def postgres_address() -> tuple[str, int]:
    """Host and port of the machine's Postgres."""
    address = ("127.0.0.1", int(os.environ.get("PGPORT", "5432")))
    try:
        socket.create_connection(address, timeout=2).close()
    except OSError as error:
        missing("Postgres", f"nothing listens at {address[0]}:{address[1]} ({error}); start it or set PGPORT")
    return address


@pytest.fixture(scope="session")
def examples() -> Path:
    """The sample data and stories."""
    return Path(__file__).parents[1] / "examples"
