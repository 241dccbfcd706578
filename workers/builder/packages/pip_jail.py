"""A jail for pip: `python -m workers.builder.packages.pip_jail ORDER` gives up what pip does not need, then is pip.

It runs no other program: a package that would have to be built cannot run a line of its own here, whatever its metadata
says. Where the kernel has Landlock it writes one folder alone. It may read what its user may read, as pip's own
configuration names certificates and folders of wheels anywhere.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import runpy
import signal
import sys

from executor.linux import die_with_parent
from executor.sandbox import landlock, privileges, seccomp

NO_JAIL = 97
"""The exit code where the kernel has no filter of system calls that we have a table for."""
MODULE = "workers.builder.packages.pip_jail"
_DEVICES = ("/dev/null", "/dev/urandom", "/dev/random")
_MEMORY = 2 << 30


def words(folder: str, file_bytes: int, seconds: int, arguments: list[str]) -> list[str]:
    """The command line that runs pip in its jail. `-P`: Python imports no file of the folder as a module."""
    order = {"folder": folder, "file_bytes": file_bytes, "seconds": seconds, "arguments": arguments}
    return [sys.executable, "-s", "-P", "-m", MODULE, json.dumps(order)]


def enter(folder: str, file_bytes: int, seconds: int) -> None:
    """Give up everything but what pip needs. Raises OSError where that cannot be done."""
    for kind, limit in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, file_bytes),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_AS, _MEMORY),
    ):
        resource.setrlimit(kind, (limit, limit))
    die_with_parent(signal.SIGKILL)
    os.chdir(folder)
    os.umask(0o077)
    privileges.allow_no_new_privileges()
    if landlock.version():
        with contextlib.suppress(OSError):  # some kernels have it and refuse it; no program is run all the same
            landlock.restrict(["/"], [folder], _DEVICES, guards_tcp=False)
    seccomp.refuse_programs()


def main() -> None:
    """Carry out the order on the command line."""
    order = json.loads(sys.argv[1])
    if not seccomp.available():
        sys.exit(NO_JAIL)
    enter(order["folder"], order["file_bytes"], order["seconds"])
    sys.argv = ["pip", *order["arguments"]]
    runpy.run_module("pip", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
