"""Calls to Slack share connections, and each failure of one reads as the SDK's own."""

from __future__ import annotations

import json
import os
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import RemoteDisconnected
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request

import pytest
from patience import PATIENCE_S, eventually
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry import builtin_handlers
from tls_proxy import certificate

import core.slack.connections as connections_module
from core.errors import SlackUnreachable
from core.settings import load_settings
from core.slack.client import LOST, CountedClient, error_name, passes_by_itself, repeating, web_client
from core.slack.connections import Connections, kept, tls
from core.slack.rates import LONGEST_WAIT_S
from core.slack.reading.reader import SlackReader
from core.values import ThreadKey

Answer = Callable[["Handler"], None]


@dataclass
class Server:
    """Counts its connections; `answers` say what becomes of the next calls, then every call is answered well."""

    url: str = ""
    connections: int = 0
    closed: int = 0
    """Those that the server has closed: the other side knows it."""
    calls: list[tuple[str, str]] = field(default_factory=list)
    """Path and body of each."""
    answers: list[Answer] = field(default_factory=list)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    known: Server

    def setup(self) -> None:
        super().setup()
        self.known.connections += 1

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.known.calls.append((self.path, body.decode()))
        if self.known.answers:
            self.known.answers.pop(0)(self)
        else:
            self.reply(200, b'{"ok": true, "answer": 42}')

    def reply(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content_Type": "application/json; charset=utf-8", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Not on the screen."""


class HttpServer(ThreadingHTTPServer):
    known: Server

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        self.known.closed += 1


@contextmanager
def serving(tls_context: ssl.SSLContext | None = None) -> Iterator[Server]:
    server = Server()
    http = HttpServer(("127.0.0.1", 0), type("OneHandler", (Handler,), {"known": server}))
    http.known = server
    if tls_context is not None:
        http.socket = tls_context.wrap_socket(http.socket, server_side=True)
    server.url = f"{'http' if tls_context is None else 'https'}://127.0.0.1:{http.server_port}/api/"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


@pytest.fixture
def slack(_own_connections: None) -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture(autouse=True)
def _own_connections(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    own = Connections()
    monkeypatch.setattr(connections_module, "_kept", own)
    yield
    for pool in own._pools.values():
        pool.client.close()


def client_of(server: Server, tmp_path: Path) -> CountedClient:
    return web_client(load_settings({"SLACK_API_URL": server.url, "SLACK_BOT_TOKEN": "xoxb-1"}, tmp_path))


def call(server: Server, **given: float) -> dict[str, object]:
    request = Request(server.url + "auth.test", data=b"{}", method="POST")
    return kept().call(request, proxy=None, timeout_s=given.get("timeout_s", PATIENCE_S))


def break_off(handler: Handler) -> None:
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True


def break_off_in_the_middle(handler: Handler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
    break_off(handler)


def hang_up_politely(handler: Handler) -> None:
    handler.reply(200, b'{"ok": true}')
    handler.close_connection = True


def test_calls_one_after_the_other_share_a_connection(slack: Server, tmp_path: Path) -> None:
    client = client_of(slack, tmp_path)
    assert client.auth_test()["answer"] == 42
    assert client.chat_postMessage(channel="C1", text="Grüße").status_code == 200
    repeating(client).conversations_history(channel="C1", limit=15)
    assert slack.connections == 1
    assert [path for path, _ in slack.calls] == [
        "/api/auth.test",
        "/api/chat.postMessage",
        "/api/conversations.history",
    ]
    assert json.loads(slack.calls[1][1])["text"] == "Grüße"


def test_calls_at_the_same_time_have_connections_of_their_own(slack: Server) -> None:
    both = threading.Barrier(2, timeout=PATIENCE_S)

    def meet(handler: Handler) -> None:
        both.wait()
        handler.reply(200, b'{"ok": true}')

    slack.answers += [meet, meet]
    other = threading.Thread(target=call, args=(slack,))
    other.start()
    assert call(slack)["status"] == 200
    other.join()
    assert slack.connections == 2


def test_an_unused_connection_that_slack_has_closed_is_not_taken(slack: Server) -> None:
    slack.answers.append(hang_up_politely)
    call(slack)
    eventually(lambda: slack.closed == 1, "the end of the connection")
    assert call(slack)["status"] == 200
    assert slack.connections == 2
    assert len(slack.calls) == 2


def test_https_is_shared_too_and_trusts_the_certificates_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trusted, key = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(trusted, key)
    with serving(context) as server:
        tls.cache_clear()
        with pytest.raises(URLError, match="CERTIFICATE_VERIFY_FAILED"):
            call(server)
        monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
        tls.cache_clear()
        try:
            client = client_of(server, tmp_path)
            client.auth_test()
            before = server.connections
            client.auth_test()
            assert server.connections == before
        finally:
            tls.cache_clear()


def test_an_error_of_slack_is_read_as_before(slack: Server, tmp_path: Path) -> None:
    slack.answers += [
        lambda handler: handler.reply(200, b'{"ok": false, "error": "not_in_channel"}'),
        lambda handler: handler.reply(503, b"<html>away</html>", Content_Type="text/html"),
    ]
    client = client_of(slack, tmp_path)
    with pytest.raises(SlackApiError, match="not_in_channel"):
        client.auth_test()
    with pytest.raises(SlackApiError) as away:
        client.auth_test()
    assert away.value.response.status_code == 503
    assert slack.connections == 1


@pytest.mark.parametrize("body", [b"<html>Sign in to the network</html>", b'{"ok": tr', b""])
def test_a_reply_that_is_no_json_is_a_lost_reply(slack: Server, tmp_path: Path, body: bytes) -> None:
    slack.answers.append(lambda handler: handler.reply(200, body))
    with pytest.raises(LOST):
        client_of(slack, tmp_path).chat_postMessage(channel="C1", text="once")
    assert len(slack.calls) == 1


@pytest.mark.parametrize(
    ("page", "charset"),
    [
        ("<h1>Störung</h1>".encode("latin-1"), ""),
        (b"<h1>away</h1>", "; charset=unicode"),
        (b'{"cut off', ""),
        (b"", ""),
    ],
)
def test_an_error_with_any_page_is_known_by_its_status(
    slack: Server, tmp_path: Path, page: bytes, charset: str
) -> None:
    slack.answers.append(lambda handler: handler.reply(502, page, Content_Type=f"text/html{charset}"))
    with pytest.raises(SlackApiError) as error:
        client_of(slack, tmp_path).auth_test()
    assert (error.value.response.status_code, error_name(error.value)) == (502, "http_502")
    assert passes_by_itself(error.value)


def test_a_further_page_that_slack_fails_to_give_is_an_error_of_slack(slack: Server, tmp_path: Path) -> None:
    first = b'{"ok": true, "messages": [], "response_metadata": {"next_cursor": "2"}}'
    slack.answers += [
        lambda handler: handler.reply(200, first),
        lambda handler: handler.reply(502, b"<html>away</html>", Content_Type="text/html"),
    ]
    reader = SlackReader(client_of(slack, tmp_path))
    with pytest.raises(SlackUnreachable):
        reader.thread_messages(ThreadKey("T1", "C1", "1.1"), upto="2.1")
    assert len(slack.calls) == 2


def test_too_many_calls_wait_for_as_long_as_slack_says(slack: Server, tmp_path: Path) -> None:
    slack.answers.append(lambda handler: handler.reply(429, b'{"ok": false, "error": "ratelimited"}', Retry_After="0"))
    assert client_of(slack, tmp_path).auth_test()["ok"] is True
    assert len(slack.calls) == 2


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits of the SDK that would have happened, in seconds."""
    found: list[float] = []
    monkeypatch.setattr(builtin_handlers.time, "sleep", found.append)
    return found


@pytest.mark.parametrize("header", [{}, {"Retry_After": "Wed, 21 Oct 2026 07:28:00 GMT"}, {"Retry_After": "1.5"}])
def test_too_many_calls_are_made_again_soon_where_nobody_says_when(
    slack: Server, tmp_path: Path, slept: list[float], header: dict[str, str]
) -> None:
    slack.answers.append(lambda handler: handler.reply(429, b"<html>slow down</html>", **header))
    assert client_of(slack, tmp_path).auth_test()["ok"] is True
    assert len(slack.calls) == 2
    assert len(slept) == 1


def test_no_call_waits_longer_for_slack_than_for_its_budget(slack: Server, tmp_path: Path, slept: list[float]) -> None:
    longest, longer = str(int(LONGEST_WAIT_S)), str(int(LONGEST_WAIT_S) + 1)
    refused = b'{"ok": false, "error": "ratelimited"}'
    slack.answers += [
        lambda handler: handler.reply(429, refused, Retry_After=longest),
        lambda handler: handler.reply(429, refused, Retry_After=longer),
    ]
    with pytest.raises(SlackApiError) as error:
        client_of(slack, tmp_path).auth_test()
    assert passes_by_itself(error.value)
    assert len(slack.calls) == 2
    assert len(slept) == 1


def test_a_redirect_is_an_error_and_is_not_followed(slack: Server) -> None:
    slack.answers.append(lambda handler: handler.reply(302, b"", Location="http://127.0.0.1:1/"))
    with pytest.raises(HTTPError, match="302") as error:
        call(slack)
    error.value.close()


@pytest.mark.parametrize(
    ("answer", "error"), [(break_off, RemoteDisconnected), (break_off_in_the_middle, ConnectionError)]
)
def test_a_lost_reply_is_not_asked_for_again(
    slack: Server, tmp_path: Path, answer: Answer, error: type[Exception]
) -> None:
    slack.answers.append(answer)
    with pytest.raises(error):
        client_of(slack, tmp_path).chat_postMessage(channel="C1", text="once")
    assert len(slack.calls) == 1


def test_a_lost_reply_of_a_call_that_may_be_made_twice_is_asked_for_again(slack: Server, tmp_path: Path) -> None:
    slack.answers.append(break_off)
    assert repeating(client_of(slack, tmp_path)).auth_test()["ok"] is True
    assert len(slack.calls) == 2


def test_a_silent_server_is_a_time_out(slack: Server) -> None:
    silent = threading.Event()
    slack.answers.append(lambda handler: (silent.wait(PATIENCE_S), break_off(handler))[1])
    with pytest.raises(TimeoutError):
        call(slack, timeout_s=0.05)
    silent.set()


def test_after_a_failure_the_other_kept_connections_are_not_trusted(slack: Server) -> None:
    both = threading.Barrier(2, timeout=PATIENCE_S)

    def meet(handler: Handler) -> None:
        both.wait()
        handler.reply(200, b'{"ok": true}')

    slack.answers += [meet, meet, break_off]
    other = threading.Thread(target=call, args=(slack,))
    other.start()
    call(slack)
    other.join()
    with pytest.raises(RemoteDisconnected):
        call(slack)
    call(slack)
    assert slack.connections == 3


def test_a_failure_cuts_no_call_of_another_thread(slack: Server) -> None:
    goes_on, begun = threading.Event(), threading.Event()
    replies: list[object] = []

    def wait(handler: Handler) -> None:
        begun.set()
        goes_on.wait(PATIENCE_S)
        handler.reply(200, b'{"ok": true}')

    slack.answers += [wait, break_off]
    slow = threading.Thread(target=lambda: replies.append(call(slack)["status"]))
    slow.start()
    assert begun.wait(PATIENCE_S)
    with pytest.raises(RemoteDisconnected):
        call(slack)
    goes_on.set()
    slow.join()
    assert replies == [200]


def test_a_server_that_is_not_there_is_an_os_error() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        nobody = Server(url=f"http://127.0.0.1:{closed.getsockname()[1]}/api/")
        with pytest.raises(URLError):
            call(nobody)


def test_a_reply_without_end_is_given_up(slack: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections_module, "LONGEST_REPLY", 1_000)

    def much(handler: Handler) -> None:
        with suppress(OSError):
            handler.reply(200, b" " * 1_000_000)
        handler.close_connection = True

    slack.answers.append(much)
    with pytest.raises(ConnectionError, match="longer than"):
        call(slack)


@pytest.mark.parametrize("written", ["http://{}", "{}", "http://ana:secret@{}"])
def test_calls_go_through_the_proxy_of_the_environment(
    slack: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    proxy = written.format(urlsplit(slack.url).netloc)
    for name in ("HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, proxy)
    monkeypatch.setenv("NO_PROXY", "")
    elsewhere = Server(url="http://slack.example/api/")
    assert client_of(elsewhere, tmp_path).auth_test()["ok"] is True
    assert slack.calls[0][0] == "http://slack.example/api/auth.test"


@pytest.mark.parametrize("proxy", ["gopher://ana:secret@127.0.0.1:1", "http://ana:secret@127.0.0.1:port"])
def test_a_proxy_of_no_use_is_told_without_its_password(slack: Server, proxy: str) -> None:
    request = Request(slack.url + "auth.test", data=b"{}", method="POST")
    with pytest.raises(URLError, match="the proxy") as error:
        kept().call(request, proxy=proxy, timeout_s=PATIENCE_S)
    assert "secret" not in str(error.value)


def test_no_cookie_is_kept_for_a_later_call(slack: Server) -> None:
    cookies: list[str | None] = []

    def tell(handler: Handler) -> None:
        cookies.append(handler.headers["Cookie"])
        handler.reply(200, b'{"ok": true}', Set_Cookie="d=of-another-workspace; path=/")

    slack.answers += [tell, tell]
    call(slack)
    call(slack)
    assert cookies == [None, None]


def test_a_file_in_a_call_is_sent(slack: Server, tmp_path: Path) -> None:
    client_of(slack, tmp_path).api_call("users.setPhoto", files={"image": b"abc"})
    ((_, body),) = slack.calls
    assert "abc" in body


def test_a_token_that_is_none_is_sent_and_not_told(slack: Server, tmp_path: Path) -> None:
    client = client_of(slack, tmp_path)
    client.token = "xoxb-\xfc"
    assert client.auth_test()["ok"] is True
    client.token = "xoxb-secret\n"
    with pytest.raises(URLError) as error:
        client.auth_test()
    assert "secret" not in str(error.value)


@pytest.mark.process
def test_a_forked_process_opens_connections_of_its_own(slack: Server) -> None:
    call(slack)
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            call(slack)
        os._exit(0)
    os.waitpid(child, 0)
    assert (slack.connections, len(slack.calls)) == (2, 2)
    call(slack)
    assert slack.connections == 2
