"""The outermost layer. It refuses foreign web pages, sets strict headers, and cuts connections for faults."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from playground.hub import Playground

CSP = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


CUT = "playground.cut"


class CutConnection(Response):
    """The caller gets a closed connection instead of an answer."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await scope[CUT]()


class Guard:
    """`hosts` are the names this server answers to; None answers to all (when it listens on every address)."""

    def __init__(self, app: ASGIApp, hub: Playground, hosts: frozenset[str] | None) -> None:
        self.app = app
        self.hub = hub
        self.hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if refusal := self._refusal(headers, scope["path"]):
            await PlainTextResponse(refusal, 403)(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    answer.setdefault(name, value)
            await send(message)

        await self.app({**scope, CUT: lambda: _cut(send, receive)}, receive, send_with_headers)

    def _refusal(self, headers: Headers, path: str) -> str:
        try:
            host = urlsplit(f"//{headers.get('host', '')}").hostname or ""
            origin = urlsplit(headers.get("origin", "")).netloc
        except ValueError:
            return "This playground does not answer to that name."
        if self.hosts is not None and host not in self.hosts:
            return "This playground does not answer to that name."
        is_foreign = "origin" in headers and origin != headers.get("host")
        if is_foreign or _asked_by_another_page(headers, path):
            return "Other web pages may not use this playground."
        return ""


def _asked_by_another_page(headers: Headers, path: str) -> bool:
    """Whether another page makes a browser send this: a GET carries no Origin. A link to a page may be followed."""
    if headers.get("sec-fetch-site") not in ("cross-site", "same-site"):
        return False
    return headers.get("sec-fetch-mode") != "navigate" or path.startswith(("/api/", "/control/"))


async def _cut(send: Send, receive: Receive) -> None:
    """Closes the TCP connection without an answer. ASGI offers no way to do so, so this uses uvicorn's transport."""
    cycle: Any = getattr(send, "__self__", None)
    transport = getattr(cycle, "transport", None)
    if transport is None:
        raise RuntimeError("only uvicorn's connections can be cut")
    transport.abort()
    while (await receive())["type"] != "http.disconnect":
        pass
