"""From a fresh fork of the zygote to a subprocess that runs cells: the steps, in order."""

from __future__ import annotations

import fcntl
import mmap
import os
import random
import signal
import socket
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Never

from executor.frames import CLIENT_LIMIT, FrameReader, Message, ProtocolError, encode
from executor.inside.bash_runner import Shell
from executor.inside.pipe_pair import replace_socket_pairs
from executor.inside.runner import Descriptors, Runner
from executor.linux import close_other_descriptors, die_with_parent, stay_with_orphans
from executor.sandbox import cgroup, root, seccomp
from executor.sandbox.steps import Ground, Plan, isolate_session
from executor.wire import limits_from

_PACKET = 1 << 17
_MANY_MAPPED = 64  # more than a host sends
_UNWANTED = 72
_LIBRARIES = tuple(sysconfig.get_path(name) for name in ("purelib", "platlib"))
"""Asked for here once: each subprocess would copy 0.5 MB to find out."""
_FIRST_PRIVATE = 200
"""The runner's own descriptors live up here, away from the small numbers that code closes by mistake."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the host wants the subprocess to stand, and what it is to run."""

    ground: Ground
    bash: bool

    @classmethod
    def receive(cls, setup: socket.socket, plan: Plan) -> Place:
        """Take the host's first packet, which was there before the fork. Raises ProtocolError when it is not.

        It comes here and not through the zygote, whose memory all subprocesses inherit.
        """
        packet, descriptors, _, _ = socket.recv_fds(setup, _PACKET, 1)
        messages = FrameReader(CLIENT_LIMIT).feed(packet)
        if len(messages) != 1 or messages[0].get("type") != "place":
            raise ProtocolError("the session host did not say where to stand")
        return cls.parse(messages[0], plan, descriptors[0] if descriptors else None)

    @classmethod
    def parse(cls, message: Message, plan: Plan, mounts: int | None) -> Place:
        """The place in a `place` message. With a private root the folders are the same in every subprocess."""
        inside = plan.namespaces
        bash = message["language"] == "bash"
        ground = Ground(
            session=int(message["user_of"]),
            limits=limits_from(message["limits"]),
            workspace=root.WORKSPACE if inside else str(message["workspace"]),
            scratch=root.SCRATCH if inside else str(message["scratch"]),
            execute=bash,
            beside=mounts,
        )
        return cls(ground, bash)


def become_session(plan: Plan, descriptors: Sequence[int], group_files: Sequence[int]) -> Never:
    """Run in the forked child; never returns. `descriptors`: stdin, results, stdout, stderr, trace, state, set-up.

    `group_files`: the open `cgroup.procs` files of its cgroup.
    """
    if not cgroup.enter(group_files):
        os._exit(_UNWANTED)  # its host has stopped, or has given it up, while it was being made
    os.setsid()
    _default_signals()
    die_with_parent(signal.SIGKILL)
    ends, setup = _take_descriptors(descriptors)
    place = Place.receive(setup, plan)
    stay_with_orphans()
    layers, mounts = isolate_session(plan, replace(place.ground, listen=partial(_hand_over, setup)))
    die_with_parent(signal.SIGKILL)  # the kernel forgot when the identity changed
    _settle(place.ground, plan.toolchains)
    reseed()
    workspace = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    runner: Runner | Shell
    if place.bash:
        runner = Shell(ends, place.ground.scratch, plan.toolchains)
    else:
        runner = Runner(ends, place.ground.workspace, place.ground.limits.memory_mb << 20)
    shown = [workspace] if mounts is None else [workspace, mounts]
    socket.send_fds(setup, [encode({"type": "ready", "layers": layers})], shown)
    for descriptor in shown:
        os.close(descriptor)
    if plan.seccomp:
        seccomp.install_after_setup()
        if not plan.counted:
            replace_socket_pairs()
    begin(runner, setup)
    runner.loop()


def _hand_over(setup: socket.socket, listener: int) -> None:
    """Let the host hear of refused calls, and nobody here: who can hear of them can also let them through."""
    socket.send_fds(setup, [encode({"type": "listen"})], [listener])
    os.close(listener)


def begin(runner: Runner | Shell, setup: socket.socket) -> None:
    """Take the variables of an earlier process, if there are any.

    The host reads nothing from the socket any more. A shell has no use for it; Python gets the files of replies there.
    """
    packet, descriptors, _, _ = socket.recv_fds(setup, _PACKET, _MANY_MAPPED)
    if isinstance(runner, Runner):
        runner.requests.take_files_from(setup)
    else:
        setup.close()
    (message,) = FrameReader(CLIENT_LIMIT).feed(packet)
    if message["type"] == "restore":
        files = [_map(descriptor) for descriptor in descriptors]
        parts = {
            str(part["key"]): files[part["file"]][part["offset"] : part["offset"] + part["size"]]
            for part in message["parts"]
        }
        runner.restore(message, parts)


def _map(descriptor: int) -> memoryview:
    """A private copy of a file: pages are read when they are needed, and copied when they are changed.

    Closes `descriptor`. Unmapped when the last object that is built on it goes.
    """
    if not os.fstat(descriptor).st_size:
        os.close(descriptor)
        return memoryview(b"")
    # mmap keeps a duplicate of its descriptor, under the lowest free number; cells are to find nothing there
    duplicate = os.dup(descriptor)
    os.close(duplicate)
    data = mmap.mmap(descriptor, 0, access=mmap.ACCESS_COPY)
    os.dup2(0, duplicate, inheritable=False)
    os.close(descriptor)
    return memoryview(data)


def _default_signals() -> None:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _take_descriptors(descriptors: Sequence[int]) -> tuple[Descriptors, socket.socket]:
    moved = [fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, _FIRST_PRIVATE) for number in descriptors]
    stdin, results, stdout, stderr, trace, state, setup = moved
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    close_other_descriptors([0, 1, 2, *moved])
    return Descriptors(stdin, results, stdout, stderr, trace, state), socket.socket(fileno=setup)


def _settle(ground: Ground, toolchains: Sequence[str]) -> None:
    """The working folder, the folders that libraries look for, and where modules and programs come from."""
    os.chdir(ground.workspace)
    os.environ["PATH"] = ":".join([*(f"{folder}/bin" for folder in toolchains), os.environ.get("PATH", os.defpath)])
    os.environ.update(HOME=ground.scratch, TMPDIR=ground.scratch, MPLCONFIGDIR=f"{ground.scratch}/matplotlib")
    os.environ["POLARS_OOC_SPILL_DIR"] = f"{ground.scratch}/polars"  # polars would wait for ever for one in /var/tmp
    tempfile.tempdir = None
    sys.argv = [""]
    # Neither the folder this program came from nor, ahead of the libraries, a folder that a cell can write.
    own = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if own in _LIBRARIES:
        own = "/"  # installed as a wheel, it came from where the libraries are
    sys.path[:] = [path for path in sys.path if path and os.path.abspath(path) not in (own, "/")]
    sys.path.append(ground.workspace)


def reseed() -> None:
    """Siblings of one fork must not draw the same numbers."""
    random.seed()
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(int.from_bytes(os.urandom(4), "little"))
