"""What all tests share: services that may be missing, and a clean way to reach local ones."""

from __future__ import annotations

import gc
import importlib.util
import os
import socket
import sys
import uuid
from collections.abc import Generator, Iterator
from pathlib import Path
from types import ModuleType
from urllib.parse import urlsplit

import compiled_once
import described_here
import pytest
import schema_template
import shared_certificates
import shared_statements
import structlog
import unselected
import without_syncs
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from services import missing
from sqlalchemy import create_engine, text

from core.store import schema
from tryout.stack.redis_server import embedded_redis, reachable

# Every run tries the same examples, so a red run is the fault of the change. EXPLORE=1 tries other examples, and more.
# No property depends on speed: a busy machine fails none.
UNHURRIED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("same", derandomize=True, **UNHURRIED)
settings.register_profile("explore", max_examples=1_000, print_blob=True, **UNHURRIED)
settings.load_profile("explore" if os.environ.get("EXPLORE") else "same")
if not os.environ.get("EXPLORE"):
    # Hypothesis also tries the literals of every file of ours that happens to be imported: other ones when other files
    # are collected, and it goes through all of them for each strategy.
    pytest.MonkeyPatch().setattr(providers, "_get_local_constants", Constants)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return unselected.is_left_out(collection_path, config) or None


def pytest_sessionstart(session: pytest.Session) -> None:
    compiled_once.compile_share(session.config)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files are dealt out in this order: those that are marked as `early` first, then the order of the tree."""
    items.sort(key=lambda item: item.get_closest_marker("early") is None)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Imports and collected tests make millions of objects that stay: looking for garbage among them finds none."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Nine thousand collected tests are a million objects, which each full collection of garbage would walk.

    Of what a test makes itself little is garbage that only a collection finds: it is looked for less often.
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def _tracebacks_are_plain() -> None:
    """Logs of errors are drawn by rich otherwise, with coloured code: a second of the processor for ten of them."""
    structlog.dev.ConsoleRenderer.get_active().exception_formatter = structlog.dev.plain_traceback


def pytest_unconfigure() -> None:
    gc.unfreeze()  # libraries in C complain about what is left over at the end


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Slack SDK takes a proxy from the environment even for 127.0.0.1."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session", autouse=True)
def _empty_databases_from_a_template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """An empty SQLite database gets the newest tables at once: some thousand tests make one, each through 20 steps."""
    with schema_template.used(tmp_path_factory.mktemp("schema") / "template.db"):
        yield


@pytest.fixture(scope="session", autouse=True)
def _statements_are_compiled_once() -> Iterator[None]:
    with shared_statements.used():
        yield


@pytest.fixture(scope="session", autouse=True)
def _certificates_are_read_once() -> Iterator[None]:
    with shared_certificates.used():
        yield


@pytest.fixture(scope="session", autouse=True)
def _nothing_waits_for_a_disk() -> Iterator[None]:
    with without_syncs.used():
        yield


@pytest.fixture(scope="session", autouse=True)
def _files_are_described_without_a_fork() -> Iterator[None]:
    with described_here.used():
        yield


@pytest.fixture
def real_migrations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every migration one after the other, also in an empty SQLite database."""
    monkeypatch.setattr(schema, "upgrade", schema_template.upgrade)


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


@pytest.fixture
def postgres_url(postgres_address: tuple[str, int]) -> Iterator[str]:
    """A database of the test's own on the machine's Postgres."""
    server = "postgresql+psycopg://postgres@{}:{}".format(*postgres_address)
    name = f"threadbook_{uuid.uuid4().hex[:12]}"
    admin = create_engine(f"{server}/postgres", isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    yield f"{server}/{name}"
    with admin.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    admin.dispose()


@pytest.fixture(scope="session")
def make_data() -> ModuleType:
    """The generator of the sample data as a module; it is a script and no package."""
    path = Path(__file__).parents[1] / "examples" / "make_data.py"
    spec = importlib.util.spec_from_file_location("examples_make_data", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def examples() -> Path:
    """The sample data and stories."""
    return Path(__file__).parents[1] / "examples"
