"""The host's side of the zygote: it asks for subprocesses and is notified of their ends."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from executor.environment import clean_environment
from executor.event_loop import Loop
from executor.files.home import Home
from executor.frames import CLIENT_LIMIT, FrameReader, encode
from executor.linux import stay_with_orphans
from executor.notices import notice
from executor.processes import end_children
from executor.sandbox import root
from executor.sandbox.steps import Plan
from executor.sessions.session import Session
from executor.values import Limits
from executor.watchdog import Watchdog, work_of_process, work_of_tree

_CHUNK = 1 << 16
_LOOK_S = 1.0
_SEND_AGAIN_S = 0.02
_WARM_S = 300.0
"""A zygote that works for so long and is not warm is given up. It is longer than whoever starts a host waits for it: a
machine that is slow refuses nothing, so it must not get a weaker sandbox."""


@dataclass(frozen=True, slots=True)
class _Order:
    """A request for a subprocess, with the descriptors that go along; `sent` lets go of them."""

    frame: bytes
    descriptors: list[int]
    sent: Callable[[], None]


class Owner(Protocol):
    """Whoever keeps the sessions that a zygote forks."""

    def session_of(self, session_number: int) -> Session | None:
        """The session with this number while its process lives."""

    def forget(self, session: Session) -> None:
        """Its process has been reaped."""

    def zygote_gone(self, zygote: Zygote) -> None:
        """All subprocesses that it forked died with it."""

    def zygote_pids(self) -> list[int]:
        """The processes of the zygotes that live."""


class CannotIsolate(Exception):
    """The sandbox of a plan cannot be built on this host."""


class Zygote:
    """The host's side of the zygote."""

    def __init__(self, owner: Owner, home: Home, loop: Loop, plan: Plan) -> None:
        """Start it. It takes orders at once, and carries them out when it is warm."""
        self.gone = False
        self.forks = 0
        """How many subprocesses it was asked for."""
        self.plan = plan
        self.versions: dict[str, str] = {}
        """Of Python and its libraries, once it is warm."""
        self._owner = owner
        self._loop = loop
        if not plan.namespaces:
            stay_with_orphans()  # what its subprocesses leave running would otherwise outlive it
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environment = clean_environment(home.root / "zygote")
        cache = os.open(home.root / "zygote", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        if plan.namespaces:  # every cell inherits its memory: it need not know where on this host the home is
            environment |= {"HOME": root.CACHE, "MPLCONFIGDIR": root.CACHE}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "executor.zygote", f"{theirs.fileno()}", f"{cache}", json.dumps(plan.to_json())],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=2,
            pass_fds=[theirs.fileno(), cache],
            cwd="/",
        )
        theirs.close()
        os.close(cache)
        self._control.setblocking(False)
        self._began = time.monotonic()
        self._orders: deque[_Order] = deque()
        """Those that it has not taken yet."""
        self._refusal = "the zygote did not start; its own words are above"
        self._watchdog = Watchdog(busy_s=_WARM_S, work_of=self._work_of)
        self._watchdog.asked()  # it owes the word that it is warm
        self._timer = loop.call_later(_LOOK_S, self._look)
        loop.watch_read(self._control.fileno(), self._on_control)

    @property
    def pid(self) -> int:
        """The process that was started."""
        return self._process.pid

    @property
    def age_s(self) -> float:
        """How long ago it was started."""
        return time.monotonic() - self._began

    def wait_until_warm(self) -> None:
        """Run the loop until it is warm. Raises CannotIsolate when it ends before that, or is stuck."""
        while not self.versions and not self.gone:
            self._loop.run_once()
        if self.gone:
            raise CannotIsolate(self._refusal)

    def fork(self, session: Session, folder: Path, limits: Limits, beside: Session | None) -> None:
        """Ask for a subprocess; `session` hears of it. With `beside` it is a shell in the workspace of that one.

        What the subprocess is told of its thread goes to it alone: what the zygote knows, every later one inherits.
        """
        place = {"type": "place", "language": "python", "user_of": session.number, "limits": asdict(limits)}
        if not self.plan.namespaces:
            place |= {"workspace": str(folder / "workspace"), "scratch": str(folder / "scratch")}
        if beside is not None:
            place |= {"language": "bash", "user_of": beside.number}
        self.forks += 1
        session.send_place(place, None if beside is None else beside.mounts)
        order = encode({"type": "fork", "session": session.number})
        self._orders.append(_Order(order, list(session.child_ends.descriptors), session.child_ends.close))
        self._send_orders()

    def _send_orders(self) -> None:
        """Send what the socket takes; a zygote that is slow to read gets the rest later."""
        try:
            while self._orders:
                order = self._orders[0]
                socket.send_fds(self._control, [order.frame], order.descriptors)
                self._orders.popleft().sent()
        except BlockingIOError:
            self._loop.call_later(_SEND_AGAIN_S, lambda: None if self.gone else self._send_orders())
        except (BrokenPipeError, ConnectionResetError):
            self._drop_orders()  # it has just died: the end of its socket, read next, ends these sessions too

    def _drop_orders(self) -> None:
        while self._orders:
            self._orders.popleft().sent()

    def _look(self) -> None:
        """Ask whether it still answers; kill it when it owes an answer for too long. All its sessions end with it."""
        self._timer = self._loop.call_later(_LOOK_S, self._look)
        if self._watchdog.is_stuck(self._serving_pid()):
            self._refusal = "the zygote does not answer"
            self._process.kill()
            self._end()
            return
        if not self._watchdog.owed_s:
            self._watchdog.asked()
            with contextlib.suppress(OSError):
                self._control.send(encode({"type": "ping"}))

    def _serving_pid(self) -> int:
        """The process that takes the orders: with namespaces the only child of the one that was started."""
        if self.plan.namespaces:
            pid = self._process.pid
            with contextlib.suppress(OSError, ValueError, IndexError):
                return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
        return self._process.pid

    def _work_of(self, pid: int) -> object | None:
        """Until it is warm it waits for programs of its libraries: `fc-list` may take long to find the fonts."""
        return work_of_process(pid) if self.versions else work_of_tree(pid)

    def _on_control(self) -> None:
        try:
            packet, descriptors, _, _ = socket.recv_fds(self._control, _CHUNK, 1)
        except BlockingIOError:
            return
        except ConnectionResetError:  # it died with an order unread
            packet, descriptors = b"", []
        if not packet:
            self._end()
            return
        self._watchdog.answered()
        for message in FrameReader(CLIENT_LIMIT).feed(packet):
            if message["type"] == "warm":
                self.versions = message["versions"]
                self._watchdog = Watchdog(work_of=self._work_of)
            elif message["type"] == "refused":
                self._refusal = str(message["why"])
            if "session" not in message:
                continue
            session = self._owner.session_of(int(message["session"]))
            if session is None:
                continue
            if message["type"] == "forked":
                session.forked(descriptors.pop())
            elif message["type"] == "failed":
                self._owner.forget(session)
                session.kill(notice("no_process", error=str(message["why"])))
            elif message["type"] == "exited":
                session.exited(int(message["code"]))
                self._owner.forget(session)
        for descriptor in descriptors:
            os.close(descriptor)

    def _end(self) -> None:
        self._hang_up()
        self._bury()
        self._owner.zygote_gone(self)

    def close(self) -> None:
        """End it and, with it, every subprocess."""
        if not self.gone:
            self._hang_up()
            self._process.kill()
            self._bury()

    def _hang_up(self) -> None:
        self.gone = True
        self._timer.cancel()
        self._drop_orders()
        self._loop.forget(self._control.fileno())
        self._control.close()

    def _bury(self) -> None:
        self._process.wait()
        if not self.plan.namespaces:
            end_children(self._owner.zygote_pids())
