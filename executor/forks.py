"""The host's side of the zygote: it asks for subprocesses and hears of their ends."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Protocol

from executor.frames import CLIENT_LIMIT, FrameReader, encode
from executor.home import Home
from executor.launch import clean_environment
from executor.linux import stay_with_orphans
from executor.loop import Loop
from executor.notices import said
from executor.processes import end_children
from executor.sandbox.steps import Plan
from executor.session import Session
from executor.values import Limits

_CHUNK = 1 << 16


class Owner(Protocol):
    """Whoever keeps the sessions that a zygote forks."""

    def session_of(self, session_number: int) -> Session | None:
        """The session with this number while its process lives."""

    def forget(self, session: Session) -> None:
        """Its process has been reaped."""

    def zygote_gone(self) -> None:
        """All subprocesses died with their zygote."""


class CannotIsolate(Exception):
    """The walls of a plan cannot be built on this host."""


class Zygote:
    """The host's side of the zygote."""

    def __init__(self, owner: Owner, home: Home, loop: Loop, plan: Plan) -> None:
        self.gone = False
        self.plan = plan
        self._owner = owner
        self._loop = loop
        if not plan.namespaces:
            stay_with_orphans()  # what its subprocesses leave running would otherwise outlive it
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "executor.zygote", str(theirs.fileno()), json.dumps(plan.to_json())],
            env=clean_environment(home.root / "zygote"),
            stdin=subprocess.DEVNULL,
            stdout=2,
            pass_fds=[theirs.fileno()],
            cwd="/",
        )
        theirs.close()
        packet = self._control.recv(_CHUNK)
        answer = FrameReader(CLIENT_LIMIT).feed(packet)[0] if packet else {}
        if answer.get("type") != "warm":
            self._control.close()
            self._process.wait()
            raise CannotIsolate(answer.get("why", "the zygote did not start; its own words are above"))
        self.versions: dict[str, str] = answer["versions"]
        loop.watch_read(self._control.fileno(), self._on_control)

    def fork(self, session: Session, folder: Path, limits: Limits, beside: Session | None) -> None:
        """Ask for a subprocess; `session` hears of it. With `beside` it is a shell in the workspace of that one."""
        order = {"type": "fork", "session": session.number, "limits": asdict(limits)}
        order |= {"workspace": str(folder / "workspace"), "scratch": str(folder / "scratch")}
        order |= {"language": "python", "user_of": session.number}
        descriptors = list(session.child_ends.descriptors)
        if beside is not None:
            order |= {"language": "bash", "user_of": beside.number}
            descriptors += [] if beside.mounts is None else [beside.mounts]
        # A zygote that has just died takes no order; the end of its socket, read next, ends this session too.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            socket.send_fds(self._control, [encode(order)], descriptors)
        session.child_ends.close()

    def _on_control(self) -> None:
        try:
            packet, descriptors, _, _ = socket.recv_fds(self._control, _CHUNK, 1)
        except ConnectionResetError:  # it died with an order unread
            packet, descriptors = b"", []
        if not packet:
            self._end()
            return
        for message in FrameReader(CLIENT_LIMIT).feed(packet):
            session = self._owner.session_of(int(message["session"]))
            if session is None:
                continue
            if message["type"] == "forked":
                session.forked(descriptors.pop())
            elif message["type"] == "failed":
                self._owner.forget(session)
                session.kill(said("no_process", error=str(message["why"])))
            elif message["type"] == "exited":
                session.exited(int(message["code"]))
                self._owner.forget(session)
        for descriptor in descriptors:
            os.close(descriptor)

    def _end(self) -> None:
        self.gone = True
        self._loop.forget(self._control.fileno())
        self._control.close()
        self._bury()
        self._owner.zygote_gone()

    def close(self) -> None:
        """End it and, with it, every subprocess."""
        if not self.gone:
            self.gone = True
            self._loop.forget(self._control.fileno())
            self._control.close()
            self._process.kill()
            self._bury()

    def _bury(self) -> None:
        self._process.wait()
        if not self.plan.namespaces:
            end_children()
