"""A jail for git: `python -m workers.repositories.jail ORDER` gives up all that git does not need, then becomes git.

It keeps one folder, the programs of the system, and TCP to one port. It loses capabilities, set-uid programs, every
other file, every other kind of socket (those of the service's own processes are files, which Landlock does not look
at) and the system calls that a session's shell has not. Without Landlock and a filter of system calls there is no jail,
and nothing is run.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from executor.linux import die_with_parent
from executor.sandbox import landlock, privileges, seccomp

MISSING = {97: "Landlock", 98: "seccomp"}
"""Exit code → what of the jail this machine lacks: Landlock in its kernel, or a filter of system calls in it that we
have a table for."""
_MODULE = "workers.repositories.jail"
_PROGRAMS = ("/usr", "/lib", "/lib64", "/bin")
_READ = (
    "/etc/ld.so.cache",
    "/etc/ssl/certs",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust/extracted",
    "/etc/ca-certificates/extracted",
)
_DEVICES = ("/dev/null", "/dev/urandom", "/dev/random")
_MEMORY = 2 << 30
_DESCRIPTORS = 256


@dataclass(frozen=True, slots=True)
class Order:
    """What is run in the jail: a command with its whole environment, in a folder that it may write."""

    command: Sequence[str]
    environment: Mapping[str, str]
    folder: str
    file_bytes: int
    """The largest file that it may write."""
    seconds: int
    """Seconds of processor time."""
    ports: Sequence[int] = ()
    read: Sequence[str] = ()

    def words(self) -> list[str]:
        """The command line that carries it out."""
        return [sys.executable, "-m", _MODULE, json.dumps(asdict(self))]


def enter(order: Order) -> None:
    """Give up everything but what the order needs. Raises OSError where that cannot be done."""
    for kind, limit in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, order.file_bytes),
        (resource.RLIMIT_CPU, order.seconds),
        (resource.RLIMIT_AS, _MEMORY),
        (resource.RLIMIT_NOFILE, _DESCRIPTORS),
    ):
        resource.setrlimit(kind, (limit, limit))
    die_with_parent(signal.SIGKILL)  # nobody else would end it when its worker is killed
    os.chdir(order.folder)
    os.umask(0o077)
    privileges.drop_bounding_set()
    privileges.drop_capabilities()
    privileges.allow_no_new_privileges()
    landlock.restrict([*_READ, *order.read], [order.folder], _DEVICES, execute=_PROGRAMS, connect=order.ports)
    seccomp.install_with_tcp()


def main() -> None:
    """Carry out the order on the command line."""
    order = Order(**json.loads(sys.argv[1]))
    here = {"Landlock": landlock.version() > 0, "seccomp": seccomp.available()}
    for code, part in MISSING.items():
        if not here[part]:
            sys.exit(code)
    enter(order)
    os.execve(order.command[0], list(order.command), dict(order.environment))  # noqa: S606 - a list of our own


if __name__ == "__main__":
    main()
