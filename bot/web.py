"""HTTP mode: Slack posts to `/slack/events` what it would send over the socket. The same app listens.

Bolt checks the signature and its age (five minutes) and answers url_verification; what it must not be left alone with
is done here: bodies without bound and bodies that are no text.
"""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from slack_bolt import App
from slack_bolt.adapter.starlette.handler import to_bolt_request, to_starlette_response
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from core.errors import SettingsError
from core.telemetry import get_logger

log = get_logger(__name__)

PATH = "/slack/events"
MAX_BODY_BYTES = 2_000_000
START_WAIT_S = 60.0
DRAIN_S = 5
_DIGITS = re.compile(r"[0-9]{1,20}")
"""Of a time that is none Bolt would make an error of ours."""


def web_app(app: App) -> Starlette:
    """The ASGI application around a Bolt app."""

    async def take(request: Request) -> Response:
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BODY_BYTES:
                return PlainTextResponse("too large", status_code=413)
        if not _DIGITS.fullmatch(request.headers.get("x-slack-request-timestamp", "")):
            return PlainTextResponse("invalid request", status_code=401)
        try:
            question = to_bolt_request(request, body)
        except Exception:  # Bolt reads a stranger's body before it checks who signed it, and trips over many a shape
            return PlainTextResponse("malformed", status_code=400)
        # Bolt's app is synchronous: in this thread it would hold up every other request.
        return to_starlette_response(await run_in_threadpool(app.dispatch, question))

    return Starlette(routes=[Route(PATH, take, methods=["POST"])])


@contextmanager
def served(app: App, host: str, port: int) -> Iterator[int]:
    """Serve the app while the block runs; yields the port, a free one for 0. Raises SettingsError when it is taken."""
    try:
        door = socket.create_server((host, port))
    except OSError as error:
        raise SettingsError(f"The bot cannot listen on {host}:{port}: {error.strerror or error}.") from error
    # Its connections inherit this. asyncio would set it only where a socket names its protocol; without it, an answer
    # written in two parts waits 40 ms for the acknowledgement of the first.
    door.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with door:
        taken = int(door.getsockname()[1])
        config = uvicorn.Config(
            web_app(app),
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=DRAIN_S,
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [door]}, name="web", daemon=True)
        thread.start()
        try:
            _await_start(server, thread)
            log.info("bot_serves", host=host, port=taken, path=PATH)
            yield taken
        finally:
            server.should_exit = True
            thread.join()


def _await_start(server: uvicorn.Server, thread: threading.Thread) -> None:
    deadline = time.monotonic() + START_WAIT_S
    while not server.started:
        if not thread.is_alive() or time.monotonic() > deadline:
            raise RuntimeError("the web server did not start")
        time.sleep(0.01)
