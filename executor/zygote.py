"""The zygote: imports the data libraries once, then forks a subprocess whenever the host asks.

`python -m executor.zygote FD CACHE PLAN`. It holds no secret, opens nothing, and has one thread. Its only peer is the
session host, on the socket whose number is its first argument; the second is the descriptor of the one folder that it
may write, the third the sandbox to build, as JSON. Its forks inherit its memory: it is told nothing of any thread.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
from pathlib import Path

from executor.frames import CLIENT_LIMIT, FrameReader, Message, encode
from executor.inside.setup import become_session
from executor.inside.warm import warm
from executor.linux import die_with_parent, stay_with_orphans, use_huge_pages
from executor.processes import end_tree
from executor.sandbox.namespaces import fork_into_pid_namespace
from executor.sandbox.steps import Plan, isolate_zygote

_DESCRIPTORS = 7  # of every subprocess; its cgroup files follow
_MORE = 8
_PACKET = 1 << 16


def main() -> None:
    """Enter the sandbox, import the libraries, report it, and serve until the host hangs up."""
    die_with_parent(signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.umask(0o022)  # of its private root; where there is none, the folders above are for our user only
    control = socket.socket(fileno=int(sys.argv[1]))
    cache = int(sys.argv[2])
    plan = Plan.from_json(json.loads(sys.argv[3]))
    try:
        pid_namespace = isolate_zygote(plan, cache)
    except OSError as error:
        _send(control, {"type": "refused", "why": error.strerror or repr(error)})
        return
    os.close(cache)
    die_with_parent(signal.SIGKILL)  # this may be a child by now, and of another uid
    stay_with_orphans()
    # The runner keeps this copy of json to itself; cells import another one and may do to it what they like.
    for name in [name for name in sys.modules if name == "json" or name.startswith("json.")]:
        del sys.modules[name]
    versions = warm(counted=plan.counted, own_root=plan.namespaces, libraries=plan.libraries, listed=plan.listed)
    use_huge_pages()
    _send(control, {"type": "warm", "versions": versions})
    with contextlib.suppress(ConnectionError):  # the host has gone
        Zygote(control, plan, pid_namespace).serve()


class Zygote:
    """The serving loop and the children it has made."""

    def __init__(self, control: socket.socket, plan: Plan, pid_namespace: int | None) -> None:
        self._control = control
        self._plan = plan
        self._pid_namespace = pid_namespace
        self._children: dict[int, int] = {}

    def serve(self) -> None:
        """Fork on request, report the ends of children; return when the host has gone."""
        woken, wake = socket.socketpair()
        for end in (woken, wake):
            end.setblocking(False)
        signal.set_wakeup_fd(wake.fileno())
        signal.signal(signal.SIGCHLD, lambda *_: None)
        try:
            self._serve(woken)
        finally:
            # Children end while we do: a signal that finds the descriptor closed would be complained about on stderr.
            signal.set_wakeup_fd(-1)

    def _serve(self, woken: socket.socket) -> None:
        poll = select.poll()  # `select` takes no descriptor above 1,023, and a host with many sessions gives such ones
        for end in (self._control, woken):
            poll.register(end, select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in poll.poll()}
            if woken.fileno() in ready:
                with contextlib.suppress(BlockingIOError):
                    while woken.recv(4096):
                        pass
                self._reap()
            if self._control.fileno() in ready:
                packet, descriptors, _, _ = socket.recv_fds(self._control, _PACKET, _DESCRIPTORS + _MORE)
                if not packet:
                    return
                for message in FrameReader(CLIENT_LIMIT).feed(packet):
                    if message["type"] == "ping":
                        _send(self._control, {"type": "pong"})
                    else:
                        self._fork(message, descriptors)

    def _fork(self, message: Message, descriptors: list[int]) -> None:
        session = int(message["session"])
        try:
            pid = os.fork() if self._pid_namespace is None else fork_into_pid_namespace(self._pid_namespace)
        except OSError as error:
            pid = -1
            _send(self._control, {"type": "failed", "session": session, "why": str(error)})
        if pid == 0:
            try:
                become_session(self._plan, descriptors[:_DESCRIPTORS], descriptors[_DESCRIPTORS:])
            except BaseException as error:
                os.write(2, f"a subprocess could not be set up: {type(error).__name__}: {error}\n".encode())
            finally:
                os._exit(71)
        for descriptor in descriptors:
            os.close(descriptor)
        if pid > 0:
            self._children[pid] = session
            handle = os.pidfd_open(pid)
            _send(self._control, {"type": "forked", "session": session}, handle)
            os.close(handle)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                break
            session = self._children.pop(pid, None)
            if session is not None:
                code = os.waitstatus_to_exitcode(status)
                _send(self._control, {"type": "exited", "session": session, "code": code})
        self._kill_orphans()

    def _kill_orphans(self) -> None:
        """What a subprocess left running comes to us when it dies, where no pid namespace took it along."""
        mine = Path(f"/proc/self/task/{os.getpid()}/children")
        with contextlib.suppress(OSError):
            for word in mine.read_text().split():
                if int(word) not in self._children:
                    end_tree(int(word))


def _send(control: socket.socket, message: Message, *descriptors: int) -> None:
    if descriptors:
        socket.send_fds(control, [encode(message)], list(descriptors))
    else:
        control.send(encode(message))


if __name__ == "__main__":
    main()
