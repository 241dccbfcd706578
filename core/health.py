"""`/healthz` and `/metrics` of a process: a check of each part it needs, and a small HTTP server in its own threads.

GET /healthz   200 when every part is up, else 503: {"up": …, "parts": {name: {"up", "since", "what"}}}
GET /metrics   Prometheus text
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, SimpleQueue

from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from core.errors import outline
from core.telemetry import get_logger, redactor

log = get_logger(__name__)

LOOK_EVERY_S = 10.0
"""The parts are also checked without a request: `since` is late by no more than this."""
LOOK_TIMEOUT_S = 5.0
"""For all parts together; a check that takes longer counts as down."""
BIND_AGAIN_S = 5.0
POLL_S = 0.5
REQUEST_S = 10
WHAT_CHARS = 300

Check = Callable[[], str]
"""Checks one part: returns what it found, raises when the part is down. `Missing` says why in words for an admin."""


class Missing(Exception):
    """A part is down; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Part:
    """The state of a part at the last check, and since when it is so, as far as was seen."""

    up: bool
    since: datetime
    what: str


class Health:
    """Checks parts, and remembers since when each is up or down. Safe to use from several threads."""

    def __init__(self, checks: Mapping[str, Check], secrets: tuple[str, ...] = ()) -> None:
        """`secrets` are taken out of what a check says."""
        self._checks = checks
        self._redact = redactor(secrets)
        self._lock = threading.Lock()
        self._parts: dict[str, Part] = {}
        self._looking: dict[str, SimpleQueue[tuple[bool, str]]] = {}

    def look(self) -> dict[str, Part]:
        """Check every part now, all at the same time. A part that does not answer in `LOOK_TIMEOUT_S` is down."""
        with self._lock:
            for name, check in self._checks.items():
                if name not in self._looking:  # else the last check still hangs: one is enough
                    self._looking[name] = self._begin(check)
            deadline = time.monotonic() + LOOK_TIMEOUT_S
            for name in self._checks:
                try:
                    up, what = self._looking[name].get(timeout=max(0.0, deadline - time.monotonic()))
                    del self._looking[name]
                except Empty:
                    up, what = False, f"no answer within {LOOK_TIMEOUT_S:.0f} s"
                self._note(name, up, what)
            return dict(self._parts)

    def _note(self, name: str, up: bool, what: str) -> None:
        before = self._parts.get(name)
        since = before.since if before and before.up == up else datetime.now(UTC)
        self._parts[name] = Part(up, since, what)
        if before is not None and before.up != up:
            write = log.info if up else log.error
            write("part_up" if up else "part_down", part=name, what=what)

    def _begin(self, check: Check) -> SimpleQueue[tuple[bool, str]]:
        found: SimpleQueue[tuple[bool, str]] = SimpleQueue()
        # Not an executor: its threads would keep the process from ending while one of them hangs.
        threading.Thread(target=lambda: found.put(self._try(check)), name="health check", daemon=True).start()
        return found

    def _try(self, check: Check) -> tuple[bool, str]:
        try:
            up, what = True, check()
        except Missing as error:
            up, what = False, str(error)
        except Exception as error:  # whatever a check raises, its part is down
            up, what = False, outline(error)
        return up, self._redact(what)[:WHAT_CHARS]


@dataclass(frozen=True, slots=True)
class Page:
    """The answer to a request."""

    status: int
    content_type: str
    body: bytes


Pages = Mapping[str, Callable[[], Page]]


def pages(
    health: Health, registry: CollectorRegistry, refresh: Callable[[Mapping[str, Part]], None] = lambda parts: None
) -> Pages:
    """The two pages, by path.

    `refresh` brings the registry up to date, from the parts that are up. When it fails, the older figures are shown.
    """
    up = Gauge("threadbook_part_up", "Whether a part is up (1) or not (0).", ("part",), registry=registry)

    def healthz() -> Page:
        parts = health.look()
        fine = all(part.up for part in parts.values())
        shown = {
            name: {"up": part.up, "since": part.since.isoformat(timespec="seconds"), "what": part.what}
            for name, part in parts.items()
        }
        return _json(200 if fine else 503, {"up": fine, "parts": shown})

    def metrics() -> Page:
        parts = health.look()
        for name, part in parts.items():
            up.labels(name).set(part.up)
        try:
            refresh(parts)
        except Exception as error:
            log.warning("metrics_not_refreshed", error=type(error).__name__)
        return Page(200, CONTENT_TYPE_PLAIN_0_0_4, generate_latest(registry))

    return {"/healthz": healthz, "/metrics": metrics}


@contextmanager
def serving(address: str, port: int, health: Health, shown: Pages) -> Iterator[None]:
    """Serve the pages inside the block; port 0 serves nothing. A port that is taken is tried again, it is not fatal."""
    if not port:
        yield
        return
    stop = threading.Event()
    threads = [
        threading.Thread(target=_serve, args=((address, port), shown, stop), name="health", daemon=True),
        threading.Thread(target=_keep_looking, args=(health, stop), name="health checks", daemon=True),
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(LOOK_TIMEOUT_S + POLL_S)


def _keep_looking(health: Health, stop: threading.Event) -> None:
    while not stop.is_set():
        health.look()
        stop.wait(LOOK_EVERY_S)


def _serve(at: tuple[str, int], shown: Pages, stop: threading.Event) -> None:
    while not stop.is_set():
        try:
            server = _Server(at, shown)
        except OSError as error:
            log.warning("health_port_taken", address=at[0], port=at[1], error=error)
            stop.wait(BIND_AGAIN_S)
            continue
        with server:
            server.timeout = POLL_S
            log.info("health_served", address=at[0], port=at[1])
            while not stop.is_set():
                server.handle_request()


class _Server(ThreadingHTTPServer):
    def __init__(self, at: tuple[str, int], shown: Pages) -> None:
        self.shown = shown
        super().__init__(at, _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = REQUEST_S
    server_version = "threadbook"
    sys_version = ""

    def do_GET(self) -> None:
        make = self.server.shown.get(self.path.partition("?")[0])
        page = make() if make else _json(404, {"error": "only /healthz and /metrics are here"})
        self.send_response(page.status)
        self.send_header("Content-Type", page.content_type)
        self.send_header("Content-Length", str(len(page.body)))
        self.end_headers()
        self.wfile.write(page.body)

    def log_message(self, format: str, *args: object) -> None:
        log.debug("health_requested", line=format % args)


def _json(status: int, document: Mapping[str, object]) -> Page:
    return Page(status, "application/json", json.dumps(document, ensure_ascii=False).encode() + b"\n")
