"""The session host: `python -m executor.host --socket PATH --home DIR [--limits JSON]`.

One thread and one event loop between clients (a unix socket), the zygote, and the subprocesses it forks. It knows no
secret: it is started with a clean environment and gives a cleaner one on. Everything said on its three hops is in
PROTOCOL.md.
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
from functools import partial
from pathlib import Path

from executor import guard
from executor.address import socket_address
from executor.bash import Bash
from executor.checkpoints import Checkpoint
from executor.connection import Connection
from executor.forks import CannotIsolate, Zygote
from executor.frames import Message
from executor.home import Home
from executor.loop import Loop
from executor.notebook import Notebook
from executor.notices import said
from executor.probing import Probe
from executor.sandbox.cgroup import Cgroups, Group
from executor.sandbox.cgroup import find as find_cgroups
from executor.sandbox.probe import judge
from executor.sandbox.steps import plans
from executor.session import Listener, Session
from executor.spares import Spares
from executor.tally import Tally
from executor.values import START_LIMITS, HostInfo, Limits, Sandbox
from executor.watch import open_watcher
from executor.wire import limits_from, limits_within, mapping

_GROUP_RETRY_S = 0.1
_REST_EVERY_S = 1.0
_WIND_UP_S, _WIND_UP_LOOK_S = 2.0, 0.02
_SWEEP_EVERY_S = 24 * 3600.0
_UNUSED_S = 7 * 24 * 3600.0  # a result that names a file is asked for again within minutes, after a crash


def main() -> None:
    """Serve until SIGTERM, or until stdin ends when `--die-with-parent` is given."""
    parser = argparse.ArgumentParser(prog="executor.host")
    parser.add_argument("--socket", type=Path, required=True)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--limits", default="{}")
    parser.add_argument("--maximum", default="", help="what a thread's own limits may not exceed; as --limits if empty")
    parser.add_argument("--bash", action="store_true", help="give threads a shell, for commands that were approved")
    parser.add_argument("--without", default="", help="layers to leave out, by name, separated by commas")
    parser.add_argument("--key-fd", type=int, default=-1, help="where to read the key for checkpoints, to its end")
    parser.add_argument("--die-with-parent", action="store_true")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    without = frozenset(filter(None, options.without.split(",")))
    limits = limits_from(json.loads(options.limits))
    maximum = limits_from(json.loads(options.maximum)) if options.maximum else limits
    host = Host(
        Home(options.home.absolute(), _key(options.key_fd)), limits, without, maximum=maximum, bash=options.bash
    )
    host.serve(options.socket.absolute(), stop_at_end_of_stdin=options.die_with_parent)


def report(line: str) -> None:
    """One line for whoever reads the host's log."""
    print(f"session host: {line}", file=sys.stderr, flush=True)


class Host:
    """The process's parts and how they are joined."""

    def __init__(
        self, home: Home, limits: Limits, without: frozenset[str] = frozenset(), *, maximum: Limits, bash: bool
    ) -> None:
        self.sandbox = Sandbox("none")
        self._home = home
        self._limits = limits
        self._maximum = maximum
        self._bash = bash
        self._without = without
        self._loop = Loop()
        self._watcher = open_watcher(report)
        name = f"threadbook-{os.getpid()}"
        self._cgroups = find_cgroups(name) if "cgroup" not in without else Cgroups("", why_not="left out")
        self._notebooks: dict[str, Notebook] = {}
        self._sessions: dict[int, Session] = {}
        self._connections: set[Connection] = set()
        self._number = 0
        self._tally = Tally()
        self._looks = 0
        self._serving = False
        self._zygote: Zygote | None = None
        self._versions: dict[str, str] = {}
        self._spares = Spares(self._loop, 0, self._start_spare)

    def serve(self, path: Path, *, stop_at_end_of_stdin: bool = False) -> None:
        """Put the walls up, try them, then answer on the socket at `path` until told to stop."""
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the loop does not listen yet
        if stop_at_end_of_stdin:
            self._loop.watch_read(0, self._parent_gone)
        if self._watcher is not None:
            self._loop.watch_read(self._watcher.fd, self._watcher.read)
        listener = _listen(path)
        own = path.stat().st_ino
        try:
            self._zygote = self._strongest_zygote()
            self._versions = self._zygote.versions
            self._guard()
            self._put_to_rest()
            self._sweep()
            if self._zygote.plan.namespaces:
                self._spares = Spares(self._loop, self._limits.spare_sessions, self._start_spare)
                self._spares.refill()
            self._stop_on_signals()
            self._loop.watch_read(listener.fileno(), lambda: self._accept(listener))
            listener.listen(128)
            self._serving = True
            self._loop.run()
        finally:
            signal.set_wakeup_fd(-1)  # a signal that finds it closed would be complained about on stderr
            listener.close()
            _unlink(path, own)
            for notebook in self._notebooks.values():
                notebook.close()
            if self._zygote is not None:
                self._zygote.close()
            self._cgroups.close()

    def _strongest_zygote(self) -> Zygote:
        """The zygote under the best plan that works here, its sandbox attacked and judged."""
        refusals: list[str] = []
        for plan in plans(self._without):
            try:
                zygote = self._zygote = Zygote(self, self._home, self._loop, plan)
            except CannotIsolate as error:
                report(f"this host refuses {plan.describe()} ({error})")
                refusals.append(f"{plan.describe()} ({error})")
                continue
            probe = Probe(self._loop, self._home.secret_for_probe(), os.getpid())
            self._start(probe, self._home.probe, self._limits)
            self._loop.run()
            self._home.clear_probe()
            if probe.findings or not plan.namespaces:
                self.sandbox = judge(plan, probe.layers, self._cgroups, probe.findings, refusals)
                return zygote
            report(f"no session works here in {plan.describe()} ({probe.why})")
            refusals.append(f"{plan.describe()} ({probe.why})")
            zygote.close()
        raise RuntimeError("no session can be started on this host")

    @property
    def loop(self) -> Loop:
        """The event loop."""
        return self._loop

    @property
    def home(self) -> Home:
        """The folder it keeps things in."""
        return self._home

    def info(self) -> HostInfo:
        """What `ping` answers."""
        return HostInfo(os.getpid(), self.sandbox, len(self.live()), self._tally)

    def notebook(self, thread_id: str) -> Notebook:
        """The notebook of a thread, opened when it is not."""
        if thread_id not in self._notebooks:
            thread = self._home.thread(thread_id)
            self._notebooks[thread_id] = Notebook(
                thread,
                loop=self._loop,
                home=self._home,
                limits=self._limits,
                watcher=self._watcher,
                checkpoint=Checkpoint(thread.folder, thread_id, self._home.secret(), self._versions),
                start=self._start_for,
                tally=self._tally,
                bash=self._make_bash if self._bash else None,
            )
        return self._notebooks[thread_id]

    def limits_of(self, message: Message) -> Limits:
        """The limits for the thread of a request: the host's, with what the request says instead.

        Raises ProtocolError for one that is above the host's maximum.
        """
        own = mapping(message, "limits") if message.get("limits") is not None else {}
        return limits_within(own, self._limits, self._maximum)

    def _make_bash(self, notebook: Notebook) -> Bash:
        thread = notebook.thread
        folder = thread.folder / "bash"
        folder.mkdir(mode=0o700, exist_ok=True)
        checkpoint = Checkpoint(folder, f"{thread.thread_id} bash", self._home.secret(), {})
        return Bash(self._loop, checkpoint, partial(self._start_bash, notebook), notebook)

    def live(self) -> list[Notebook]:
        """Notebooks with a subprocess."""
        return [notebook for notebook in self._notebooks.values() if notebook.session is not None]

    def _start_for(self, notebook: Notebook) -> Session:
        limits = notebook.limits
        usual = all(getattr(limits, name) == getattr(self._limits, name) for name in START_LIMITS)
        spare = self._spares.take(notebook) if usual else None
        return spare or self._start(notebook, notebook.thread.folder, limits)

    def _start_spare(self, listener: Listener) -> Session:
        return self._start(listener, self._home.probe, self._limits)

    def _start_bash(self, notebook: Notebook, bash: Bash, beside: Session) -> Session:
        return self._start(bash, notebook.thread.folder, notebook.limits, beside)

    def _start(self, listener: Listener, folder: Path, limits: Limits, beside: Session | None = None) -> Session:
        """A new subprocess; it reports to `listener`. Below `folder` are the workspace and scratch of unwalled ones.

        With `beside` it is a shell that shares the workspace, and so the uid, of that session.
        """
        if self._zygote is None:
            raise RuntimeError("there is no zygote")
        if self._zygote.gone:
            self._zygote = Zygote(self, self._home, self._loop, self._zygote.plan)
        self._number += 1
        plan = self._zygote.plan
        session = Session(
            self._loop,
            self._number,
            listener,
            group=self._cgroups.make(str(self._number), limits),
            file_user=plan.users.outside_of(self._number) if plan.users.one_each else None,
            contained=plan.namespaces,
        )
        self._sessions[session.number] = session
        self._zygote.fork(session, folder, limits, beside)
        return session

    def _guard(self) -> None:
        """Look at what sessions use, where the kernel does not count it."""
        self._loop.call_later(guard.EVERY_S, self._guard)
        if self._cgroups.kind and self._zygote is not None and self._zygote.plan.namespaces:
            return
        self._looks += 1
        for notebook in self.live():
            for session in [session for session in notebook.sessions if session.pid]:
                if notebook.running is None and self._looks % guard.IDLE_EVERY and guard.is_alone(session.pid):
                    continue
                sized = self._zygote is not None and self._zygote.plan.namespaces
                workspace = None if sized else notebook.workspace
                forked = session is notebook.session  # the programs of a shell have inherited nothing
                why = guard.excess(notebook.limits, session.pid, workspace=workspace, forked=forked)
                if why is not None:
                    session.kill(why, by_limit=True)

    def _sweep(self) -> None:
        """Make room: content that nothing refers to any more."""
        self._loop.call_later(_SWEEP_EVERY_S, self._sweep)
        if removed := self._home.sweep(_UNUSED_S):
            report(f"removed {removed:,} files that no thread has any more")

    def _put_to_rest(self) -> None:
        """End sessions that nobody has used for long; when memory is short, also the longest unused others."""
        self._loop.call_later(_REST_EVERY_S, self._put_to_rest)
        idle = sorted((notebook for notebook in self.live() if notebook.idle), key=lambda notebook: notebook.last_used)
        longest = time.monotonic() - self._limits.idle_s
        short = guard.free_memory_percent() < self._limits.spare_memory_percent
        for notebook in idle:
            if notebook.last_used <= longest or short:
                self._count_rest(idle=notebook.last_used <= longest)
                notebook.rest()
                short = short and guard.free_memory_percent() < self._limits.spare_memory_percent
        for thread_id, notebook in list(self._notebooks.items()):
            if notebook.dormant and notebook.last_used <= longest:
                self._notebooks.pop(thread_id).close()

    def _count_rest(self, *, idle: bool) -> None:
        self._tally.idle += idle
        self._tally.memory += not idle

    def session_of(self, session_number: int) -> Session | None:
        """The session with this number while its process lives."""
        return self._sessions.get(session_number)

    def forget(self, session: Session) -> None:
        """Its process has been reaped."""
        self._sessions.pop(session.number, None)
        if session.group is not None:
            self._remove_group(session.group)

    def _remove_group(self, group: Group) -> None:
        if not group.remove():
            self._loop.call_later(_GROUP_RETRY_S, lambda: self._remove_group(group))

    def zygote_gone(self) -> None:
        """All subprocesses died with their zygote; the next cell starts another."""
        report("the zygote has ended; a new one starts with the next cell")
        self._spares.drop()
        for session in list(self._sessions.values()):
            session.kill(said("zygote_ended"))
            self.forget(session)

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
        self._connections.add(Connection(self, peer))

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
            sys.exit(0)  # out of the loop that tries the walls: there will be nobody to serve
        self._loop.forget(0)
        self._wind_up(time.monotonic() + _WIND_UP_S)

    def _wind_up(self, deadline: float) -> None:
        """Stop as soon as what the last cells left in the variables is kept, or that takes too long."""
        if time.monotonic() > deadline or all(notebook.settled for notebook in self._notebooks.values()):
            self._loop.stop()
        else:
            self._loop.call_later(_WIND_UP_LOOK_S, lambda: self._wind_up(deadline))


def _key(descriptor: int) -> bytes:
    if descriptor < 0:
        return b""
    with os.fdopen(descriptor, "rb") as source:
        return source.read()


def _unlink(path: Path, inode: int) -> None:
    """Remove our socket, but not that of a host which found nobody listening yet and has taken our place."""
    with contextlib.suppress(FileNotFoundError):
        if path.stat().st_ino == inode:
            path.unlink()


def _listen(path: Path) -> socket.socket:
    """Bind the socket, replacing one that nobody answers on any more. Raises OSError when another host does."""
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
