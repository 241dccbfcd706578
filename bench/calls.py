"""A call to Slack over HTTPS, on kept connections and on one of its own, in turns: `python -m bench calls`.

The server is a process of its own on this machine: what a real network adds, two round trips for each handshake, is not
in the figures. The client trusts the certificate authorities of the system and the server's own.
"""

from __future__ import annotations

import multiprocessing
import os
import ssl
import statistics
import tempfile
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from unittest.mock import patch

from slack_sdk import WebClient

from core.settings import load_settings
from core.slack.client import web_client
from tests.tls_proxy import HOST, certificate

ROUNDS, CALLS = 5, 20


class _Slack(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        body = b'{"ok": true}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Not on the screen."""


def _serve(folder: Path, ready: Connection) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate(folder))
    server = ThreadingHTTPServer((HOST, 0), _Slack)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    ready.send(server.server_port)
    server.serve_forever()


def _timed(call: Callable[[], object]) -> tuple[float, float]:
    """(seconds, seconds of this process's processor) of one call."""
    began, busy = time.perf_counter(), time.process_time()
    for _ in range(CALLS):
        call()
    return (time.perf_counter() - began) / CALLS, (time.process_time() - busy) / CALLS


def measure() -> dict[str, Any]:
    """Measure, print a line for each way, return the raw figures in seconds."""
    here, there = multiprocessing.Pipe()
    with tempfile.TemporaryDirectory() as name:
        server = multiprocessing.Process(target=_serve, args=(Path(name), there), daemon=True)
        server.start()
        try:
            found = _both_ways(Path(name), here.recv())
        finally:
            server.kill()
            server.join()
    for way, rounds in found.items():
        wall, busy = (statistics.median(each) * 1000 for each in zip(*rounds, strict=True))
        print(f"{way}: {wall:.2f} ms, of them {busy:.2f} ms of the processor")
    ratio = statistics.median(own[1] / kept[1] for own, kept in zip(*found.values(), strict=True))
    print(f"ratio of processor time: {ratio:.0f}x")
    return found


def _both_ways(folder: Path, port: int) -> dict[str, list[tuple[float, float]]]:
    trusted = folder / "trusted.pem"
    system = ssl.get_default_verify_paths().cafile
    authorities = Path(system).read_text() if system else ""
    trusted.write_text(authorities + (folder / "tls.crt").read_text())
    environment = {"SLACK_API_URL": f"https://{HOST}:{port}/api/", "SLACK_BOT_TOKEN": "xoxb-bench"}
    with patch.dict(os.environ, {"SSL_CERT_FILE": str(trusted)}):
        kept = web_client(load_settings(environment, folder))
        own = WebClient(token=kept.token, base_url=kept.base_url, proxy=kept.proxy)
        found: dict[str, list[tuple[float, float]]] = {"a connection for each call": [], "kept connections": []}
        kept.auth_test()
        for _ in range(ROUNDS):
            for rounds, client in zip(found.values(), (own, kept), strict=True):
                rounds.append(_timed(client.auth_test))
    return found
