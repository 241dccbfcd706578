"""A git server over https on this machine, with a certificate of the test's own: `git http-backend` behind a socket."""

from __future__ import annotations

import os
import ssl
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from tls_proxy import HOST, certificate

_WHO = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"]


@dataclass
class GitServer:
    """Serves the repositories below `folder`. `redirects` maps a path's begin to where it leads."""

    port: int
    trusted: Path
    folder: Path
    paths: list[str] = field(default_factory=list)
    redirects: dict[str, str] = field(default_factory=dict)

    @property
    def host(self) -> str:
        """As `[repositories]` names it."""
        return f"{HOST}:{self.port}"

    def url(self, name: str) -> str:
        """The link of a repository."""
        return f"https://{self.host}/{name}.git"

    def add(self, name: str, files: Mapping[str, bytes], *, links: Mapping[str, str] | None = None) -> Path:
        """Make a repository with one commit."""
        tree = self.folder / f"{name}.git"
        tree.mkdir(parents=True)
        for path, content in files.items():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_bytes(content)
        for path, target in (links or {}).items():
            (tree / path).symlink_to(target)
        git(tree, "init", "-q")
        git(tree, "add", "--force", ".")
        git(tree, "commit", "-q", "--allow-empty", "-m", "x")
        return tree


def git(folder: Path, *words: str) -> str:
    """What git says."""
    done = subprocess.run(["git", *_WHO, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@contextmanager
def git_server(folder: Path) -> Iterator[GitServer]:
    """A server of the repositories that `add` makes."""
    trusted, key = certificate(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(trusted, key)
    served = folder / "served"
    served.mkdir()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(b"")

        def do_POST(self) -> None:
            self._answer(self.rfile.read(int(self.headers["Content-Length"])))

        def _answer(self, body: bytes) -> None:
            server.paths.append(self.path)
            parts = urlsplit(self.path)
            for begin, target in server.redirects.items():
                if parts.path.startswith(begin):
                    self.send_response(302)
                    self.send_header("Location", target + self.path.removeprefix(begin))
                    self.end_headers()
                    return
            environment = {
                "PATH": os.defpath,
                "GIT_PROJECT_ROOT": str(served),
                "GIT_HTTP_EXPORT_ALL": "1",
                "PATH_INFO": parts.path,
                "QUERY_STRING": parts.query,
                "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "HTTP_GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                "CONTENT_LENGTH": str(len(body)),
            }
            command = ["git", "-c", "safe.directory=*", "http-backend"]
            done = subprocess.run(command, input=body, env=environment, capture_output=True, check=False)
            head, _, content = done.stdout.partition(b"\r\n\r\n")
            fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
            self.send_response(int(fields.pop("Status", "200").split()[0]))
            for name, value in {**fields, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """A client that breaks off is what some tests are about."""

    with Quiet((HOST, 0), Handler) as listener:
        listener.socket = context.wrap_socket(listener.socket, server_side=True, do_handshake_on_connect=False)
        server = GitServer(listener.server_address[1], trusted, served)
        threading.Thread(target=listener.serve_forever, daemon=True).start()
        try:
            yield server
        finally:
            listener.shutdown()
