"""Connections to Slack's server that calls share.

The SDK opens a connection for each call. Over HTTPS this costs two more round trips, and the certificate authorities of
the system are read once more: 18 ms of processor time where the call itself takes 0.4 ms (`python -m bench calls`).
Here a call reuses the connection of an earlier call if possible.
"""

from __future__ import annotations

import json
import os
import ssl
import threading
from dataclasses import dataclass
from email.message import Message
from functools import cache
from http.client import RemoteDisconnected
from http.cookiejar import CookieJar, DefaultCookiePolicy
from io import BytesIO
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request

import httpx

KEPT_S = 15.0
"""How long an unused connection is kept: servers, proxies and firewalls keep it for longer (30 s and more)."""
MANY_KEPT = 20
LONGEST_REPLY = 64 << 20
"""Bytes. A page of a thread's history has a few hundred thousand."""


@cache
def tls() -> ssl.SSLContext:
    """Trusts the authorities that `SSL_CERT_FILE` names, or else those of the system and those that httpx brings.

    To read them takes 30 ms: a process that forks others calls this before.
    """
    context = httpx.create_ssl_context()
    context.load_default_certs()
    return context


@dataclass
class _Pool:
    """Connections, and the number of calls that use them now. An abandoned pool is closed after its last call."""

    client: httpx.Client
    calls: int = 0
    given_up: bool = False


class Connections:
    """The connections of one process to all servers that it calls. Safe to share between threads."""

    def __init__(self) -> None:
        self._pools: dict[str | None, _Pool] = {}
        self._lock = threading.Lock()

    def call(self, request: Request, *, proxy: str | None, timeout_s: float) -> dict[str, Any]:
        """Send a request of the SDK, through a proxy if there is one. Returns what the SDK takes for a reply.

        Raises as `urllib.request.urlopen` does: HTTPError for a status that is not 2xx, URLError when the request could
        not be sent, TimeoutError, ConnectionResetError or RemoteDisconnected when no reply came, all of them OSErrors.
        A reply that is no JSON is none of Slack's: it counts as no reply, and with an error as an error without words.
        """
        pool = self._take(proxy)
        broken = True
        try:
            status, headers, body = _sent(pool.client, request, timeout_s)
            broken = False
        finally:
            self._give_back(proxy, pool, broken=broken)
        is_json = _is_json(body)
        if not httpx.codes.is_success(status):
            told = _as_message(headers)
            if not is_json:
                body = _without_words(status)
                del told["Content-Type"]  # its charset may be none
            raise HTTPError(request.full_url, status, f"status {status}", told, BytesIO(body))
        if not is_json:
            raise RemoteDisconnected("the reply is no JSON")
        return {"status": status, "headers": headers, "body": body.decode(errors="replace")}

    def _take(self, proxy: str | None) -> _Pool:
        with self._lock:
            pool = self._pools.get(proxy)
            if pool is None:
                pool = self._pools[proxy] = _Pool(_new_client(proxy))
            pool.calls += 1
            return pool

    def _give_back(self, proxy: str | None, pool: _Pool, *, broken: bool) -> None:
        """After a failure the other kept connections may be as dead as this one: the next call opens its own."""
        with self._lock:
            pool.calls -= 1
            if broken and self._pools.get(proxy) is pool:
                del self._pools[proxy]
                pool.given_up = True
            if not pool.given_up or pool.calls:
                return
        pool.client.close()


def _new_client(proxy: str | None) -> httpx.Client:
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=MANY_KEPT, keepalive_expiry=KEPT_S)
    if proxy is not None and "://" not in proxy:
        proxy = f"http://{proxy}"
    try:
        # The SDK has read the proxy from the environment already, and `core.slack.client` obeys NO_PROXY.
        return httpx.Client(
            proxy=proxy,
            verify=tls(),
            trust_env=False,
            limits=limits,
            # A cookie would go with the calls of other workspaces.
            cookies=CookieJar(policy=DefaultCookiePolicy(allowed_domains=[])),
        )
    except (ValueError, ImportError, httpx.InvalidURL):  # their words may hold a password
        raise URLError("the proxy of the environment is of no kind that can be used") from None


def _sent(client: httpx.Client, request: Request, timeout_s: float) -> tuple[int, httpx.Headers, bytes]:
    """(status, headers, body) of the reply."""
    body = request.data
    headers = [(name.encode("ascii"), str(value).encode("latin-1")) for name, value in request.header_items()]
    if not isinstance(body, bytes | None):
        raise TypeError("the SDK sends bytes")
    try:
        with client.stream(
            request.get_method(), request.full_url, content=body or b"", headers=headers, timeout=timeout_s
        ) as reply:
            return reply.status_code, reply.headers, _read(reply)
    except httpx.ReadTimeout as error:
        raise TimeoutError("Slack sent no reply in time") from error
    except httpx.ReadError as error:
        raise ConnectionResetError(f"the connection broke off: {error}") from error
    except httpx.RemoteProtocolError as error:
        raise RemoteDisconnected(f"the connection ended without a reply: {error}") from error
    except httpx.LocalProtocolError:  # its words hold the header, and so the token
        raise URLError("a header cannot be sent; the token may hold a line break") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise URLError(f"{type(error).__name__}: {error}") from error


def _read(reply: httpx.Response) -> bytes:
    body = bytearray()
    for chunk in reply.iter_bytes():
        body += chunk
        if len(body) > LONGEST_REPLY:
            raise httpx.ReadError(f"the reply is longer than {LONGEST_REPLY >> 20} MB")
    return bytes(body)


def _is_json(body: bytes) -> bool:
    try:
        return isinstance(json.loads(body), dict)
    except ValueError:
        return False


def _without_words(status: int) -> bytes:
    """What takes the place of a page of a proxy: the SDK fails on some pages, in place of telling their status."""
    return json.dumps({"ok": False, "error": "ratelimited" if status == 429 else f"http_{status}"}).encode()


def _as_message(headers: httpx.Headers) -> Message:
    message = Message()
    for name, value in headers.multi_items():
        message[name] = value
    return message


_kept = Connections()


def _forget_those_of_the_parent() -> None:
    """Two processes on one connection would read each other's replies."""
    global _kept  # noqa: PLW0603  one for each process
    _kept = Connections()


os.register_at_fork(after_in_child=_forget_those_of_the_parent)


def kept() -> Connections:
    """The connections of this process."""
    return _kept
