"""The pipes between the host and one subprocess: both ends of each, and what is still open on this side."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass

from executor.event_loop import Loop
from executor.sandbox.cgroup import Group


@dataclass(frozen=True, slots=True)
class Ends:
    """The child's ends of the pipes, to be handed to the zygote and closed here."""

    descriptors: tuple[int, ...]

    def close(self) -> None:
        """Close them on this side."""
        for descriptor in self.descriptors:
            os.close(descriptor)


class Pipes:
    """The host's ends, none of which blocks."""

    def __init__(self, loop: Loop, group: Group | None) -> None:
        """`group` is the cgroup of the subprocess: its files go to the child too."""
        self._loop = loop
        child_stdin, self.stdin = os.pipe()
        self.results, child_results = os.pipe()
        self.stdout, child_stdout = os.pipe()
        self.stderr, child_stderr = os.pipe()
        for output in (child_stdout, child_stderr):  # a subprocess of another uid may open /dev/stdout and the like
            os.fchmod(output, 0o622)
        self.trace, child_trace = os.pipe()
        self.state, child_state = os.pipe()
        self.setup, child_setup = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.child_ends = Ends(
            (
                *(child_stdin, child_results, child_stdout, child_stderr, child_trace, child_state),
                child_setup.detach(),
                *(group.open_procs() if group is not None else ()),
            )
        )
        self.open = {self.stdin, self.results, self.stdout, self.stderr, self.trace, self.state}
        """The descriptors that are not closed yet, without `setup`."""
        for descriptor in self.open:
            os.set_blocking(descriptor, False)
        self.setup.setblocking(False)

    @staticmethod
    def read(descriptor: int, limit: int) -> bytes | None:
        """At most `limit` bytes; None when there are none yet, empty at end of stream."""
        try:
            return os.read(descriptor, limit)
        except BlockingIOError:
            return None

    def close(self, descriptor: int) -> None:
        """Stop watching a descriptor, and close it."""
        self.open.discard(descriptor)
        self._loop.forget(descriptor)
        os.close(descriptor)

    def close_all(self) -> None:
        """Close everything that is open."""
        for descriptor in tuple(self.open):
            self.close(descriptor)
        if self.setup.fileno() >= 0:
            self._loop.forget(self.setup.fileno())
            self.setup.close()
