"""Runs the playground: in the foreground, or in a thread for tests and for commands that start everything."""

from __future__ import annotations

import socket
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from playground.app import create_app
from playground.hub import AppInside, Playground
from playground.labels import AppLabels
from playground.options import Options
from playground.samples import Sample

LOOPBACK = {"127.0.0.1", "localhost", "::1"}
EVERY_ADDRESS = {"0.0.0.0", "::", ""}  # noqa: S104  compared with, not listened on
START_S, STOP_S = 60.0, 60.0


@dataclass(frozen=True)
class Address:
    """Where a running playground is: `url` for people, `api_url` for SLACK_API_URL."""

    host: str
    port: int
    bot_token: str
    app_token: str

    @property
    def url(self) -> str:
        """The page's address, without a slash at the end."""
        shown = "127.0.0.1" if self.host in EVERY_ADDRESS else self.host
        return f"http://{f'[{shown}]' if ':' in shown else shown}:{self.port}"

    @property
    def api_url(self) -> str:
        """What WebClient takes as base_url."""
        return f"{self.url}/api/"


def serve(
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    data_dir: Path | None = None,
    options: Options | None = None,
    samples: Sequence[Sample] = (),
    inside: AppInside | None = None,
    labels: AppLabels | None = None,
    on_start: Callable[[Address], None] | None = None,
) -> None:
    """Serves until interrupted. Port 0 takes a free one; `on_start` learns which as soon as connections are accepted.

    Without `data_dir` uploads live in a temporary folder, gone at the end. Empty channels offer `samples`. A
    thread's drawer shows what `inside` gives, and /labels the answers of `labels`, if `host` is an address that only
    this machine reaches. Raises OSError when the port is taken.
    """
    given = _server(host, port, data_dir, options, samples=samples, inside=inside, labels=labels)
    with given as (server, listener, address):
        if on_start:
            on_start(address)
        server.run(sockets=[listener])


@contextmanager
def running(
    host: str = "127.0.0.1", port: int = 0, *, data_dir: Path | None = None, options: Options | None = None
) -> Iterator[Address]:
    """A playground in a thread of this process. It answers when the block begins and is gone when it ends."""
    with _server(host, port, data_dir, options) as (server, listener, address):
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="playground", daemon=True)
        thread.start()
        if not server.ready.wait(START_S):
            raise RuntimeError("the playground did not start")
        try:
            yield address
        finally:
            server.should_exit = True
            thread.join(STOP_S)


class _Server(uvicorn.Server):
    """uvicorn that says when it accepts connections, and leaves signals to the main thread."""

    def __init__(self, config: uvicorn.Config, hub: Playground) -> None:
        super().__init__(config)
        self.hub = hub
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self.hub.close()
        await super().shutdown(sockets=sockets)


@contextmanager
def _server(
    host: str,
    port: int,
    data_dir: Path | None,
    options: Options | None,
    *,
    samples: Sequence[Sample] = (),
    inside: AppInside | None = None,
    labels: AppLabels | None = None,
) -> Iterator[tuple[_Server, socket.socket, Address]]:
    options = options or Options()
    with tempfile.TemporaryDirectory(prefix="playground-") as temporary, _listen(host, port) as listener:
        address = Address(host, listener.getsockname()[1], options.bot_token, options.app_token)
        hosts = None if host in EVERY_ADDRESS else frozenset({host, *LOOPBACK})
        folder, is_near = data_dir or Path(temporary), host in LOOPBACK
        app = create_app(
            address.url,
            folder,
            options=options,
            hosts=hosts,
            samples=samples,
            inside=inside if is_near else None,
            labels=labels if is_near else None,
        )
        config = uvicorn.Config(
            app,
            http="h11",
            ws="websockets-sansio",
            lifespan="off",
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=2,
        )
        yield _Server(config, app.hub), listener, address


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # Its connections inherit this. asyncio would set it only where a socket names its protocol; without it, an answer
    # written in two parts waits 40 ms for the acknowledgement of the first.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        listener.bind((host, port))
        listener.listen(256)
    except OSError:
        listener.close()
        raise
    return listener
