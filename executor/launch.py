"""Starting and stopping a session host; running files in a session of a host of one's own (`threadbook run`)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypedDict, Unpack

from executor.client import HostUnavailable, SessionClient
from executor.environment import clean_environment
from executor.notices import for_log
from executor.values import SYSCALLS, CellResult, Limits, Notice, Syscalls

_START_S = 240.0
_PING_S = 2.0
_STOP_S = 10.0


class HostOptions(TypedDict, total=False):
    """How a session host is started. None of it is needed."""

    die_with_parent: bool
    """It also ends when this process, and every fork of it, has gone."""
    without: Sequence[str]
    """Layers of the sandbox to leave out; the level then says so. With "libraries" in it, the host starts in a third
    of the time, and each session imports the data libraries by itself."""
    maximum: Limits | None
    """What a thread's own limits may not exceed; None means the host's limits."""
    bash: bool
    """Threads get a shell."""
    key: bytes
    """Signs checkpoints in place of a key of the host's own. It goes through a descriptor: neither arguments nor
    environment ever hold it."""
    renew_after: int | None
    """After so many forks a new zygote takes over; None means the usual number."""
    syscalls: Syscalls | None
    """Which list of system calls sessions are held to."""
    shown: Sequence[Path]
    """Folders that every session may read, under their own path, and not change."""
    toolchains: Sequence[Path]
    """Such folders whose programs a shell may run too."""


def start_host(
    socket: Path, home: Path, limits: Limits | None = None, **options: Unpack[HostOptions]
) -> subprocess.Popen[bytes]:
    """Start a session host and wait until it answers (1 to 3 s). End it with `stop_host`.

    Raises RuntimeError when the host ends before it answers; its own words are on this process's stderr. Raises
    FileNotFoundError for a folder of the options that is not there.
    """
    process = spawn_host(socket, home, limits, **options)
    wait_for_host(process, socket)
    return process


def spawn_host(
    socket: Path, home: Path, limits: Limits | None = None, **options: Unpack[HostOptions]
) -> subprocess.Popen[bytes]:
    """Start a session host and do not wait for it.

    Raises FileNotFoundError for a folder of the options that is not there.
    """
    command = [sys.executable, "-m", "executor.host", "--socket", str(socket), "--home", str(home)]
    command += ["--limits", json.dumps(asdict(limits or Limits())), *_arguments(options)]
    key, dies = options.get("key"), options.get("die_with_parent", False)
    passed = [_pipe_with(key)] if key else []
    command += ["--key-fd", str(passed[0])] if passed else []
    process = subprocess.Popen(
        command,
        env=clean_environment(Path(home).absolute() / "zygote"),
        stdin=subprocess.PIPE if dies else subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
        pass_fds=passed,
    )
    for descriptor in passed:
        os.close(descriptor)
    return process


def _arguments(options: HostOptions) -> list[str]:
    """The options as arguments of the host, but for the key."""
    found = ["--without", ",".join(options.get("without", ())), "--syscalls", options.get("syscalls") or SYSCALLS]
    if (maximum := options.get("maximum")) is not None:
        found += ["--maximum", json.dumps(asdict(maximum))]
    if options.get("bash"):
        found.append("--bash")
    if (renew_after := options.get("renew_after")) is not None:
        found += ["--renew-after", str(renew_after)]
    for folder in options.get("shown", ()):
        found += ["--show", str(folder.resolve(strict=True))]
    for folder in options.get("toolchains", ()):
        found += ["--toolchain", str(folder.resolve(strict=True))]
    if options.get("die_with_parent"):
        found.append("--die-with-parent")
    return found


def wait_for_host(process: subprocess.Popen[bytes], socket: Path) -> None:
    """Return when a host that was just started answers. Raises RuntimeError when it does not, and ends it."""
    client = SessionClient(Path(socket), answer_s=_PING_S)
    deadline = time.monotonic() + _START_S
    while True:
        with suppress(HostUnavailable):
            if client.ping().pid == process.pid:  # and not another host on the same socket
                return
        if process.poll() is not None or time.monotonic() > deadline:
            stop_host(process)
            raise RuntimeError(f"the session host did not start (exit code {process.returncode})")
        time.sleep(0.02)


def _pipe_with(content: bytes) -> int:
    """The reading end of a pipe that holds `content` (less than a pipe's 64 KiB) and ends after it."""
    reader, writer = os.pipe()
    os.write(writer, content)
    os.close(writer)
    return reader


def stop_host(process: subprocess.Popen[bytes]) -> None:
    """End a session host and every subprocess of it."""
    process.terminate()
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdin is not None:
        process.stdin.close()


@contextmanager
def running_host(
    home: Path | None = None, limits: Limits | None = None, **options: Unpack[HostOptions]
) -> Iterator[SessionClient]:
    """A session host of one's own while the block lasts; in a temporary folder that is removed when `home` is None.

    It ends with this process, whatever the options say.
    """
    options["die_with_parent"] = True
    with tempfile.TemporaryDirectory(prefix="threadbook-") as folder:
        socket = Path(folder) / "host.sock"
        process = start_host(socket, home or Path(folder) / "home", limits, **options)
        try:
            yield SessionClient(socket)
        finally:
            stop_host(process)


def codes_of(notices: Sequence[Notice]) -> str:
    """Notices as codes with values."""
    return "; ".join(for_log(notice) for notice in notices)


def run_files(
    paths: Sequence[Path],
    limits: Limits | None = None,
    *,
    worded: Callable[[Sequence[Notice]], str] = codes_of,
    syscalls: Syscalls | None = None,
) -> dict[str, Any]:
    """Run files as successive cells of one fresh session. Returns what `threadbook run --json` prints.

    Files named *.sh are commands of the session's shell; whoever gives them here has approved them. `worded` makes a
    sentence of notices. A file that cannot be read raises OSError before anything runs.
    """
    sources = [(path, Path(path).read_text(encoding="utf-8", errors="replace")) for path in paths]
    bash = any(_is_shell(path) for path in paths)
    with running_host(limits=limits, bash=bash, syscalls=syscalls) as client:
        sandbox = asdict(client.ping().sandbox)
        results = [(path, _run(client, f"{at}", path, code)) for at, (path, code) in enumerate(sources, 1)]
    cells = [_summary(str(path), result, worded) for path, result in results]
    return {"cells": cells, "sandbox": sandbox}


def _run(client: SessionClient, cell_id: str, path: Path, code: str) -> CellResult:
    if _is_shell(path):
        return client.bash("run", cell_id, code, approve=lambda _: True)
    return client.run("run", cell_id, code)


def _is_shell(path: Path) -> bool:
    return Path(path).suffix == ".sh"


def _summary(name: str, result: CellResult, worded: Callable[[Sequence[Notice]], str]) -> dict[str, Any]:
    of_a_command = {"exit_status": result.exit_status} if _is_shell(Path(name)) else {}
    return {
        "file": name,
        "status": result.status,
        "stdout": result.stdout,
        "stderr": result.stderr,
        **of_a_command,
        "result": None if result.result is None else result.result.text,
        "error": None if result.error is None else asdict(result.error),
        "artifacts": [{"name": file.name, "mimetype": file.mimetype, "size": file.size} for file in result.artifacts],
        "rejected": [{"name": file.name, "why": worded((file.why,))} for file in result.rejected],
        "duration_s": result.duration_s,
        "notice": worded(result.notices) or None,
    }
