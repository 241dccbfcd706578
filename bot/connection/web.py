"""HTTP mode: Slack posts to `/slack/events` what it would send over the socket. The same app listens.

Bolt checks the signature and its age (five minutes) and answers url_verification. This module refuses what Bolt does
not handle: bodies without a bound, and bodies that are not text.
"""

from __future__ import annotations

import math
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus

import uvicorn
from slack_bolt import App, BoltRequest, BoltResponse
from slack_bolt.adapter.starlette.handler import to_bolt_request, to_starlette_response
from slack_sdk.errors import SlackApiError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from core.errors import OursToFix, SettingsError
from core.retry import wait_until
from core.slack.client import LOST, describe
from core.telemetry import get_logger

log = get_logger(__name__)

PATH = "/slack/events"
MAX_BODY_BYTES = 2_000_000
START_WAIT_S = 60.0
DRAIN_S = 5
SORRY = "Threadbook could not be installed just now, and nothing was kept. Please try again in a minute."
SIGNED_FOR_S = 300
"""So old a signature may be: docs.slack.dev/authentication/verifying-requests-from-slack."""
_TOLD_EVERY_S = 60.0
_DIGITS = re.compile(r"[0-9]{1,20}")
"""Bolt raises on a timestamp that is not a number, and on a signature that is not ASCII."""


def web_app(app: App) -> Starlette:
    """The ASGI application of a Bolt app."""
    refusals = _Refusals()

    async def receive(request: Request) -> Response:
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BODY_BYTES:
                return PlainTextResponse("too large", status_code=413)
        stamp, signature = (request.headers.get(f"x-slack-{name}", "") for name in ("request-timestamp", "signature"))
        if not (_DIGITS.fullmatch(stamp) and signature.isascii()):
            return PlainTextResponse("invalid request", status_code=401)
        try:
            bolt_request = to_bolt_request(request, body)
        except Exception:  # Bolt parses the body before it checks the signature, and raises on many shapes
            return PlainTextResponse("malformed", status_code=400)
        # Bolt's app is synchronous: in this thread it would block every other request.
        reply = await run_in_threadpool(app.dispatch, bolt_request)
        if reply.status == HTTPStatus.UNAUTHORIZED:
            refusals.note(abs(time.time() - int(stamp)))
        return to_starlette_response(reply)

    return Starlette(routes=[Route(PATH, receive, methods=["POST"]), *_install_routes(app)])


class _Refusals:
    """Tells the admin about refused requests, once a minute: without that, a bot with an old secret is only silent."""

    def __init__(self) -> None:
        self._told_at = -math.inf

    def note(self, age_s: float) -> None:
        """A request was refused whose signature is so old, or so far ahead."""
        if time.monotonic() - self._told_at < _TOLD_EVERY_S:
            return
        self._told_at = time.monotonic()
        if age_s > SIGNED_FOR_S:
            fix = "set the clock of this machine: Slack's signatures count for five minutes"
        else:
            fix = "compare SLACK_SIGNING_SECRET with the one of the Slack app; others may also have sent it"
        log.warning("request_refused", path=PATH, age_s=round(min(age_s, 1e9)), fix=fix)


def _install_routes(app: App) -> list[Route]:
    """Where workspaces install the app, if there may be many."""
    flow = app.oauth_flow
    if flow is None:
        return []

    def route(path: str, handle: Callable[[BoltRequest], BoltResponse]) -> Route:
        async def answer(request: Request) -> Response:
            try:
                reply = await run_in_threadpool(handle, to_bolt_request(request, b""))
            except (OursToFix, SlackApiError, *LOST) as error:
                log.warning("not_installed", path=path, error=describe(error))
                return PlainTextResponse(SORRY, status_code=503)
            response: Response = to_starlette_response(reply)
            # The page holds a state, and its address a code: neither belongs in a cache or another site's log.
            response.headers.update({"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"})
            return response

        return Route(path, answer, methods=["GET"])

    return [
        route(flow.install_path, flow.handle_installation),
        route(flow.redirect_uri_path, flow.handle_callback),
    ]


@contextmanager
def served(app: App, host: str, port: int) -> Iterator[int]:
    """Serve the app while the block runs; yields the port, a free one for 0. Raises SettingsError when it is taken."""
    try:
        listener = socket.create_server((host, port))
    except OSError as error:
        raise SettingsError(f"The bot cannot listen on {host}:{port}: {error.strerror or error}.") from error
    # Accepted connections inherit this option. Without it an answer that is written in two parts waits 40 ms for the
    # acknowledgement of the first. asyncio sets it only on sockets that name their protocol.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with listener:
        taken = int(listener.getsockname()[1])
        config = uvicorn.Config(
            web_app(app),
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=DRAIN_S,
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="web", daemon=True)
        thread.start()
        try:
            _await_start(server, thread)
            log.info("bot_serves", host=host, port=taken, path=PATH)
            yield taken
        finally:
            server.should_exit = True
            thread.join()


def _await_start(server: uvicorn.Server, thread: threading.Thread) -> None:
    wait_until(lambda: server.started or not thread.is_alive(), for_s=START_WAIT_S, every_s=0.01)
    if not server.started:
        raise RuntimeError("the web server did not start")
