"""All subprocesses of the session host: it starts them through the zygote and hears of their ends."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from executor.event_loop import Loop
from executor.files.home import Home
from executor.notices import notice
from executor.sandbox import landlock
from executor.sandbox.cgroup import Cgroups, Group
from executor.sandbox.cgroup import find as find_cgroups
from executor.sandbox.probe import judge
from executor.sandbox.root import system_paths
from executor.sandbox.steps import plans
from executor.sessions.resource_monitor import of_session
from executor.sessions.sandbox_check import Probe
from executor.sessions.session import Listener, Session
from executor.sessions.spare import Spares
from executor.values import START_LIMITS, SYSCALLS, Limits, Sandbox, Syscalls
from executor.zygote_client import CannotIsolate, Zygote

_GROUP_RETRY_S = 0.1
RENEW_AFTER_FORKS = 250
_RENEW_AFTER_S = 6 * 3600.0
_KEEPS = "cloudpickle"
"""The library without which no variable outlives its process."""
_MANY_ZYGOTES = 4
"""Each holds 100 to 200 MB. With so many, the newest goes on until the sessions of an older one have ended."""


def report(line: str) -> None:
    """One line for whoever reads the host's log."""
    print(f"session host: {line}", file=sys.stderr, flush=True)


def memory_of(session: Session) -> int:
    """How many bytes a Python session holds, by the kernel's count where it counts, else by ours."""
    return session.group.memory_bytes() if session.group is not None else of_session(session.pid, forked=True)


class Subprocesses:
    """The zygote, the sessions that it forked, and a few that wait for their thread."""

    def __init__(
        self,
        loop: Loop,
        home: Home,
        limits: Limits,
        without: frozenset[str],
        *,
        renew_after: int = RENEW_AFTER_FORKS,
        syscalls: Syscalls = SYSCALLS,
        shown: tuple[str, ...] = (),
        toolchains: tuple[str, ...] = (),
    ) -> None:
        """`limits` are the usual ones, which spare sessions get; `without` names sandbox layers to leave out.
        `syscalls` says which list of system calls sessions are held to. `shown` are folders that sessions may read
        beside the system's, `toolchains` those whose programs a shell may run too.

        A zygote that has forked `renew_after` subprocesses gives way to a new one, and so does one of six hours.
        """
        self.sandbox = Sandbox("none")
        self.versions: dict[str, str] = {}
        """Of Python and its libraries, as the zygote imported them."""
        self._loop = loop
        self._home = home
        self._limits = limits
        self._without = without
        self._syscalls = syscalls
        name = f"threadbook-{os.getpid()}"
        self._cgroups = find_cgroups(name) if "cgroup" not in without else Cgroups("", why_not="left out")
        self._sessions: dict[int, Session] = {}
        self._number = 0
        self._renew_after = renew_after
        self._shown = shown
        self._toolchains = toolchains
        self._zygote: Zygote | None = None
        """The one that forks."""
        self._next: Zygote | None = None
        """The one that will, once it is warm."""
        self._earlier: list[Zygote] = []
        """Those that live until their last session has ended."""
        self._zygote_of: dict[int, Zygote] = {}
        self._spares = Spares(loop, 0, self._start_spare)

    @property
    def contained(self) -> bool:
        """Whether namespaces hold each subprocess: then its workspace has a size of its own."""
        return self._zygote is not None and self._zygote.plan.namespaces

    @property
    def counted_by_kernel(self) -> bool:
        """Whether the kernel counts the memory, processes and files of each session."""
        return self.contained and bool(self._cgroups.kind)

    def open(self) -> None:
        """Start the zygote under the strongest plan that works here, and judge its sandbox. Runs the loop meanwhile.

        Raises RuntimeError when no session can be started, or when none would see the libraries.
        """
        self._zygote = self._strongest_zygote()
        self.versions = self._zygote.versions
        if _KEEPS not in self.versions:
            raise RuntimeError(
                f"sessions do not see the library {_KEEPS}, so no variable would outlive its process. They see "
                f"{', '.join(system_paths())}. Install Threadbook with its libraries in one virtual environment."
            )
        if self._zygote.plan.namespaces:
            self._spares = Spares(self._loop, self._limits.spare_sessions, self._start_spare)
            self._spares.refill()

    def _strongest_zygote(self) -> Zygote:
        refusals: list[str] = []
        listed = self._syscalls == "allow"
        counted, folders = bool(self._cgroups.kind), {"shown": self._shown, "toolchains": self._toolchains}
        for plan in plans(self._without, counted=counted, listed=listed, **folders):
            try:
                zygote = self._zygote = Zygote(self, self._home, self._loop, plan)
                zygote.wait_until_warm()
            except CannotIsolate as error:
                report(f"this host refuses {plan.describe()} ({error})")
                refusals.append(f"{plan.describe()} ({error})")
                continue
            probe = Probe(self._loop, self._home.secret_for_probe(), os.getpid(), memory_of)
            self.start(probe, self._home.probe, self._limits)
            self._loop.run()
            self._home.clear_probe()
            if probe.findings or not plan.namespaces:
                self.sandbox = judge(
                    plan, probe.layers, self._cgroups, probe.findings, refusals, landlock=landlock.version()
                )
                return zygote
            report(f"no session works here in {plan.describe()} ({probe.why})")
            refusals.append(f"{plan.describe()} ({probe.why})")
            zygote.close()
        raise RuntimeError("no session can be started on this host")

    def close(self) -> None:
        """End the zygote and, with it, every subprocess."""
        for zygote in (self._zygote, self._next, *self._earlier):
            if zygote is not None:
                zygote.close()
        self._cgroups.close()

    # Starting them

    def start_for_thread(self, listener: Listener, folder: Path, limits: Limits) -> Session:
        """A Python for a thread: a spare one if the thread's limits are the usual ones, else a new one."""
        usual = all(getattr(limits, name) == getattr(self._limits, name) for name in START_LIMITS)
        spare = self._spares.take(listener) if usual else None
        return spare or self.start(listener, folder, limits)

    def start(self, listener: Listener, folder: Path, limits: Limits, beside: Session | None = None) -> Session:
        """A new subprocess; it reports to `listener`. Without namespaces its workspace and scratch are below `folder`.

        With `beside` it is a shell that shares the workspace, and so the uid, of that session.
        """
        if self._zygote is None:
            raise RuntimeError("there is no zygote")
        if self._zygote.gone:
            self._zygote, self._next = self._next or self._new_zygote(self._zygote), None
        elif beside is None:
            self._renew(self._zygote)
        zygote = self._zygote if beside is None else self._zygote_of.get(beside.number, self._zygote)
        self._number += 1
        plan = zygote.plan
        session = Session(
            self._loop,
            self._number,
            listener,
            group=self._cgroups.make(str(self._number), limits),
            file_user=plan.users.outside_of(self._number) if plan.users.one_each else None,
            contained=plan.namespaces,
        )
        self._sessions[session.number] = session
        self._zygote_of[session.number] = zygote
        zygote.fork(session, folder, limits, beside)
        return session

    def _new_zygote(self, like: Zygote) -> Zygote:
        return Zygote(self, self._home, self._loop, like.plan)

    def _renew(self, zygote: Zygote) -> None:
        """Let a new zygote take the place of one that is old, or have one made.

        Forks of one zygote have its hash seed and the layout of its memory: what a cell learns of them holds for fewer.
        """
        if self._next is not None and self._next.versions:
            self._zygote, self._next = self._next, None
            self._earlier.append(zygote)
            self._spares.renew()
            self._close_unused(zygote)
        elif self._next is None and 2 + len(self._earlier) <= _MANY_ZYGOTES and self._is_old(zygote):
            self._next = self._new_zygote(zygote)

    def _is_old(self, zygote: Zygote) -> bool:
        return bool(zygote.versions) and (zygote.forks >= self._renew_after or zygote.age_s >= _RENEW_AFTER_S)

    def _close_unused(self, zygote: Zygote) -> None:
        """Close an earlier zygote, later than now, if no session of it is left."""
        if zygote in self._earlier and zygote not in self._zygote_of.values():
            self._earlier.remove(zygote)
            self._loop.call_later(0, zygote.close)

    def _start_spare(self, listener: Listener) -> Session:
        return self.start(listener, self._home.probe, self._limits)

    # What the zygote tells

    def session_of(self, session_number: int) -> Session | None:
        """The session with this number while its process lives."""
        return self._sessions.get(session_number)

    def forget(self, session: Session) -> None:
        """Its process has been reaped."""
        self._sessions.pop(session.number, None)
        if (zygote := self._zygote_of.pop(session.number, None)) is not None:
            self._close_unused(zygote)
        if session.group is not None:
            self._remove_group(session.group)

    def _remove_group(self, group: Group) -> None:
        if not group.remove():
            self._loop.call_later(_GROUP_RETRY_S, lambda: self._remove_group(group))

    def zygote_pids(self) -> list[int]:
        """The processes of the zygotes that live."""
        living = (self._zygote, self._next, *self._earlier)
        return [zygote.pid for zygote in living if zygote is not None and not zygote.gone]

    def zygote_gone(self, zygote: Zygote) -> None:
        """All subprocesses that it forked died with it; the next cell starts another."""
        if zygote is self._next:
            report("a new zygote has ended before it was warm; the old one goes on")
            self._next = None
            return
        if zygote in self._earlier:
            self._earlier.remove(zygote)
        else:
            if self.versions:  # else it was the first one, whose refusal is reported
                report("the zygote has ended; a new one starts with the next cell")
            self._spares.drop()
        for session in [one for one in self._sessions.values() if self._zygote_of.get(one.number) is zygote]:
            session.kill(notice("zygote_ended"))
            self.forget(session)
