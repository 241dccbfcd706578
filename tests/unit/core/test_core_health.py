"""Health names each part: whether it is up, since when, and what is missing. It never names a secret."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import httpx
import pytest
from patience import PATIENCE_S, eventually, reserved_port
from prometheus_client import CollectorRegistry, Counter

from core import health as health_room
from core.health import Check, Health, Missing, Part, pages, serving


class Switch:
    """A part that a test turns off and on."""

    def __init__(self) -> None:
        self.trouble: Exception | None = None

    def __call__(self) -> str:
        if self.trouble is not None:
            raise self.trouble
        return "answers"


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of a busy machine is slow, not down."""
    monkeypatch.setattr(health_room, "LOOK_TIMEOUT_S", PATIENCE_S)


@contextmanager
def served(checks: dict[str, Check], registry: CollectorRegistry | None = None) -> Iterator[httpx.Client]:
    health = Health(checks, ("hunter22",))
    with (
        reserved_port() as port,
        serving("127.0.0.1", port, health, pages(health, registry or CollectorRegistry())),
        httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=PATIENCE_S) as client,
    ):
        eventually(lambda: listens(port), "the server")
        yield client


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_all_parts_up_is_a_200_and_a_part_down_is_a_503_with_the_reason() -> None:
    switch = Switch()
    with served({"redis": Switch(), "store": switch}) as client:
        fine = client.get("/healthz")
        assert fine.status_code == 200
        assert fine.json()["up"] is True
        assert {name: part["what"] for name, part in fine.json()["parts"].items()} == {
            "redis": "answers",
            "store": "answers",
        }
        switch.trouble = Missing("the disk is full")
        down = client.get("/healthz")
        assert down.status_code == 503
        store = down.json()["parts"]["store"]
        assert (store["up"], store["what"]) == (False, "the disk is full")
        assert down.json()["parts"]["redis"]["up"] is True


def test_since_is_kept_while_a_part_stays_up_or_down() -> None:
    switch = Switch()
    health = Health({"store": switch})
    first = health.look()["store"].since
    assert health.look()["store"].since == first
    switch.trouble = OSError("gone")
    down = health.look()["store"]
    assert down.since > first
    switch.trouble = OSError("still gone")
    again = health.look()["store"]
    assert (again.since, again.what) == (down.since, "OSError: still gone")
    switch.trouble = None
    assert health.look()["store"].since > down.since


def test_the_text_of_a_check_is_cut_and_holds_no_secret() -> None:
    switch = Switch()
    switch.trouble = OSError("postgresql://me:hunter22@db/x refused\n(Background: hunter22)" + "x" * 5_000)
    part = Health({"store": switch}, ("hunter22",)).look()["store"]
    assert "refused" in part.what
    assert "hunter22" not in part.what
    assert len(part.what) <= 300


def test_a_part_that_hangs_is_down_and_is_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health_room, "LOOK_TIMEOUT_S", 0.1)
    asked: list[threading.Event] = []

    def hangs() -> str:
        asked.append(threading.Event())
        asked[-1].wait(PATIENCE_S)
        return "answers"

    health = Health({"session_host": hangs, "redis": Switch()})
    for _ in range(3):
        parts = health.look()
        assert not parts["session_host"].up
        assert "no answer" in parts["session_host"].what
    eventually(lambda: health.look()["redis"].up, "the part that answers")
    assert len(asked) == 1

    def answers() -> bool:
        asked[-1].set()
        return health.look()["session_host"].up

    eventually(answers, "the part that hung")


def test_metrics_are_prometheus_text_and_include_the_parts() -> None:
    registry = CollectorRegistry()
    Counter("seen", "Seen.", registry=registry).inc(3)
    switch = Switch()
    switch.trouble = OSError("gone")
    with served({"redis": Switch(), "store": switch}, registry) as client:
        page = client.get("/metrics")
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/plain")
    assert "seen_total 3.0" in page.text
    assert 'threadbook_part_up{part="redis"} 1.0' in page.text
    assert 'threadbook_part_up{part="store"} 0.0' in page.text


def test_figures_that_cannot_be_refreshed_are_shown_as_they_were() -> None:
    registry = CollectorRegistry()
    Counter("seen", "Seen.", registry=registry).inc()

    def refresh(parts: Mapping[str, Part]) -> None:
        raise OSError

    page = pages(Health({}), registry, refresh)["/metrics"]()
    assert page.status == 200
    assert b"seen_total 1.0" in page.body


def test_nothing_else_is_served() -> None:
    with served({}) as client:
        assert client.get("/").status_code == 404
        assert client.get("/healthz/../../etc/passwd").status_code == 404
        assert client.post("/healthz").status_code == 501


def test_port_0_serves_nothing() -> None:
    with serving("127.0.0.1", 0, Health({}), {}):
        pass


def test_a_taken_port_loses_the_pages_and_not_the_service(caplog: pytest.LogCaptureFixture) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        health = Health({"redis": Switch()})
        with serving("127.0.0.1", taken.getsockname()[1], health, pages(health, CollectorRegistry())):
            assert health.look()["redis"].up


def test_the_page_is_one_json_document() -> None:
    health = Health({"redis": Switch()})
    page = pages(health, CollectorRegistry())["/healthz"]()
    assert json.loads(page.body)["parts"]["redis"]["since"].endswith("+00:00")
