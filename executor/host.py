"""The session host: `python -m executor.host --socket PATH --home DIR [--limits JSON]`.

One thread and one event loop between clients (a unix socket), the zygote, and the subprocesses it forks. It knows no
secret: it is started with a clean environment and hands a cleaner one on. PROTOCOL.md describes its three hops.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import get_args

from executor.client_connection import Connection
from executor.client_requests import HANDLERS
from executor.counters import Counters
from executor.disk.durable import Disk, open_syncs
from executor.event_loop import Loop
from executor.files.file_watcher import open_watcher
from executor.files.home import Home
from executor.files.workspace import Workspace
from executor.frames import Message
from executor.housekeeping import Housekeeping, live
from executor.interpreters.base import Owner
from executor.interpreters.bash import BashInterpreter
from executor.interpreters.python import PythonInterpreter
from executor.interpreters.thread_interpreters import Interpreters
from executor.notebook import Notebook
from executor.sessions.session import Listener, Session
from executor.slices import SlicedWork
from executor.socket_address import socket_address
from executor.state.checkpoints import Checkpoint
from executor.subprocesses import RENEW_AFTER_FORKS, Subprocesses, report
from executor.values import SYSCALLS, HostInfo, Limits, Syscalls
from executor.wire import limits_from, limits_within, mapping

_WIND_UP_S, _WIND_UP_LOOK_S = 2.0, 0.02


def main() -> None:
    """Serve until SIGTERM, or until stdin ends when `--die-with-parent` is given."""
    parser = argparse.ArgumentParser(prog="executor.host")
    parser.add_argument("--socket", type=Path, required=True)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--limits", default="{}")
    parser.add_argument("--maximum", default="", help="what a thread's own limits may not exceed; as --limits if empty")
    parser.add_argument("--bash", action="store_true", help="give threads a shell, for commands that were approved")
    parser.add_argument("--without", default="", help="layers to leave out, by name, separated by commas")
    parser.add_argument(
        "--syscalls", choices=get_args(Syscalls), default=SYSCALLS, help="the list that system calls are held to"
    )
    parser.add_argument(
        "--renew-after", type=int, default=RENEW_AFTER_FORKS, help="forks after which a new zygote takes over"
    )
    parser.add_argument("--show", action="append", default=[], help="a folder that sessions may read; may be repeated")
    parser.add_argument("--toolchain", action="append", default=[], help="such a folder whose programs a shell may run")
    parser.add_argument("--key-fd", type=int, default=-1, help="where to read the key for checkpoints, to its end")
    parser.add_argument("--die-with-parent", action="store_true")
    options = parser.parse_args()
    os.umask(0o077)
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    without = frozenset(filter(None, options.without.split(",")))
    limits = limits_from(json.loads(options.limits))
    maximum = limits_from(json.loads(options.maximum)) if options.maximum else limits
    host = Host(
        Home(options.home.absolute(), _key(options.key_fd)),
        limits,
        without,
        maximum=maximum,
        bash=options.bash,
        renew_after=options.renew_after,
        syscalls=options.syscalls,
        shown=tuple(options.show),
        toolchains=tuple(options.toolchain),
    )
    host.serve(options.socket.absolute(), stop_at_end_of_stdin=options.die_with_parent)


class Host:
    """The process's parts and how they are joined."""

    def __init__(
        self,
        home: Home,
        limits: Limits,
        without: frozenset[str] = frozenset(),
        *,
        maximum: Limits,
        bash: bool,
        renew_after: int = RENEW_AFTER_FORKS,
        syscalls: Syscalls = SYSCALLS,
        shown: tuple[str, ...] = (),
        toolchains: tuple[str, ...] = (),
    ) -> None:
        self._home = home
        self._limits = limits
        self._maximum = maximum
        self._bash = bash
        self._loop = Loop()
        self._disk = Disk(self._loop, open_syncs(report), self._distrust)
        self._work = SlicedWork(self._loop)
        self._watcher = open_watcher(report)
        self._subprocesses = Subprocesses(
            self._loop,
            home,
            limits,
            without,
            renew_after=renew_after,
            syscalls=syscalls,
            shown=shown,
            toolchains=toolchains,
        )
        self._notebooks: dict[str, Notebook] = {}
        self._connections: set[Connection] = set()
        self._counters = Counters()
        self._serving = False

    def serve(self, path: Path, *, stop_at_end_of_stdin: bool = False) -> None:
        """Build the sandbox, try it, then answer on the socket at `path` until told to stop."""
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the loop does not listen yet
        if stop_at_end_of_stdin:
            self._loop.watch_read(0, self._parent_gone)
        if self._watcher is not None:
            self._loop.watch_read(self._watcher.fd, self._watcher.read)
        try:
            listener = _listen(path)
        except OSError as error:
            sys.exit(f"session host: no socket at {path}: {error.strerror or error}")
        own = path.stat().st_ino
        try:
            self._subprocesses.open()
            Housekeeping(
                loop=self._loop,
                home=self._home,
                limits=self._limits,
                subprocesses=self._subprocesses,
                notebooks=self._notebooks,
                counters=self._counters,
            ).begin()
            self._stop_on_signals()
            self._loop.watch_read(listener.fileno(), lambda: self._accept(listener))
            listener.listen(128)
            self._serving = True
            self._loop.run()
        finally:
            signal.set_wakeup_fd(-1)  # a signal that finds it closed would be complained about on stderr
            listener.close()
            _unlink(path, own)
            with contextlib.ExitStack() as closing:  # each of them, also when another one fails
                closing.callback(self._subprocesses.close)
                closing.callback(self._disk.close)
                for notebook in self._notebooks.values():
                    closing.callback(notebook.close)
                self._disk.finish()

    def _distrust(self, path: Path, error: OSError) -> bool:
        report(f"the disk refused to sync {path} ({error.strerror})")
        return self._home.distrust(path)

    @property
    def loop(self) -> Loop:
        """The event loop."""
        return self._loop

    @property
    def home(self) -> Home:
        """The folder it keeps things in."""
        return self._home

    @property
    def disk(self) -> Disk:
        """What makes files durable."""
        return self._disk

    @property
    def work(self) -> SlicedWork:
        """What takes long and is done in slices."""
        return self._work

    def info(self) -> HostInfo:
        """What `ping` answers."""
        return HostInfo(os.getpid(), self._subprocesses.sandbox, len(self.live()), self._counters)

    def live(self) -> list[Notebook]:
        """Notebooks with a subprocess."""
        return live(self._notebooks)

    def limits_of(self, message: Message) -> Limits:
        """The limits for the thread of a request: the host's, with what the request says instead.

        Raises ProtocolError for one that is above the host's maximum.
        """
        if message.get("limits") is None:
            return self._limits
        return limits_within(mapping(message, "limits"), self._limits, self._maximum)

    def notebook(self, thread_id: str) -> Notebook:
        """The notebook of a thread, opened when it is not."""
        if thread_id not in self._notebooks:
            thread = self._home.thread(thread_id)
            workspace = Workspace(thread, self._home, self._watcher)
            self._notebooks[thread_id] = Notebook(
                thread,
                loop=self._loop,
                disk=self._disk,
                work=self._work,
                home=self._home,
                workspace=workspace,
                limits=self._limits,
                interpreters=partial(self._make_interpreters, workspace),
            )
        return self._notebooks[thread_id]

    def purge(self, thread_id: str, answer: Callable[[str], None]) -> None:
        """Delete all that is kept of a thread; `answer` gets why that failed, "" when it is done."""
        if thread_id not in self._notebooks and not self._home.has(thread_id):
            answer("")
            return
        self._end_for_purge(thread_id, time.monotonic() + _WIND_UP_S, answer)

    def _end_for_purge(self, thread_id: str, deadline: float, answer: Callable[[str], None]) -> None:
        """End the thread's cells and its subprocesses, then remove what it left."""
        if (notebook := self._notebooks.get(thread_id)) is not None:
            notebook.end_subprocesses()
            if not notebook.dormant and time.monotonic() < deadline:
                self._loop.call_later(_WIND_UP_LOOK_S, lambda: self._end_for_purge(thread_id, deadline, answer))
                return
            self._notebooks.pop(thread_id).close()
        try:
            self._home.purge(thread_id)
        except OSError as error:
            answer(f"what is left of {thread_id} could not be removed: {error.strerror}")
        else:
            answer("")

    def _make_interpreters(self, workspace: Workspace, notebook: Notebook, owner: Owner) -> Interpreters:
        python = self._make_python(workspace, notebook, owner)
        return Interpreters(python, self._make_bash(notebook, owner, python) if self._bash else None)

    def _make_python(self, workspace: Workspace, notebook: Notebook, owner: Owner) -> PythonInterpreter:
        thread = notebook.thread

        def start(listener: Listener) -> Session:
            workspace.prepare()
            return self._subprocesses.start_for_thread(listener, thread.folder, notebook.limits)

        versions = self._subprocesses.versions
        return PythonInterpreter(
            thread,
            owner,
            loop=self._loop,
            disk=self._disk,
            checkpoint=Checkpoint(thread.folder, thread.thread_id, self._home.secret(), versions),
            counters=self._counters,
            start=start,
            state_limit=lambda: notebook.limits.memory_mb << 20,
        )

    def _make_bash(self, notebook: Notebook, owner: Owner, python: PythonInterpreter) -> BashInterpreter:
        thread = notebook.thread
        folder = thread.folder / "bash"
        folder.mkdir(mode=0o700, exist_ok=True)

        def start(listener: Listener, beside: Session) -> Session:
            return self._subprocesses.start(listener, thread.folder, notebook.limits, beside)

        checkpoint = Checkpoint(folder, f"{thread.thread_id} bash", self._home.secret(), {})
        return BashInterpreter(owner, python, loop=self._loop, disk=self._disk, checkpoint=checkpoint, start=start)

    def disconnected(self, connection: Connection) -> None:
        """A client has gone: cells run on without it."""
        self._connections.discard(connection)
        for thread_id in connection.threads:
            if (notebook := self._notebooks.get(thread_id)) is not None:
                notebook.detach(connection)

    def _accept(self, listener: socket.socket) -> None:
        try:
            peer, _ = listener.accept()
        except OSError as error:
            report(f"a client could not be accepted: {error}")
            return
        connection = Connection(self, peer, HANDLERS)
        self._connections.add(connection)
        connection.read()  # a client calls as soon as it has connected

    def _stop_on_signals(self) -> None:
        woken, wake = socket.socketpair()
        for end in (woken, wake):
            end.setblocking(False)
        self._wakers = (woken, wake)
        signal.set_wakeup_fd(wake.fileno())
        for signum in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signum, lambda *_: None)  # it wakes the loop, which winds up
        self._loop.watch_read(woken.fileno(), self._woken)

    def _woken(self) -> None:
        self._wakers[0].recv(64)
        self._wind_up(time.monotonic() + _WIND_UP_S)

    def _parent_gone(self) -> None:
        if not self._serving:
            sys.exit(0)  # leaves the loop that tests the sandbox: nobody is there to serve
        self._loop.forget(0)
        self._wind_up(time.monotonic() + _WIND_UP_S)

    def _wind_up(self, deadline: float) -> None:
        """Stop as soon as what the last cells left in the variables is kept, or that takes too long."""
        if time.monotonic() > deadline or all(notebook.kept for notebook in self._notebooks.values()):
            self._loop.stop()
        else:
            self._loop.call_later(_WIND_UP_LOOK_S, lambda: self._wind_up(deadline))


def _key(descriptor: int) -> bytes:
    if descriptor < 0:
        return b""
    with os.fdopen(descriptor, "rb") as source:
        return source.read()


def _unlink(path: Path, inode: int) -> None:
    """Remove our socket, but not that of a host which found nobody listening yet and has taken our place.

    On a disk that takes no writes it stays. The next host replaces it.
    """
    with contextlib.suppress(OSError):
        if path.stat().st_ino == inode:
            path.unlink()


def _listen(path: Path) -> socket.socket:
    """Bind the socket, replacing one that nobody answers on any more.

    Raises OSError when another host does, or the disk takes no socket.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    with socket_address(path) as address:
        probe = socket.socket(socket.AF_UNIX)
        try:
            probe.connect(address)
        except (FileNotFoundError, ConnectionRefusedError):
            path.unlink(missing_ok=True)
        else:
            raise OSError(f"another session host answers at {path}")
        finally:
            probe.close()
        listener.bind(address)
    path.chmod(0o600)
    return listener


if __name__ == "__main__":
    main()
