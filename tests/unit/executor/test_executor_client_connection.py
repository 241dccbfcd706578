"""What a client of the session host is told when its request is not done."""

from __future__ import annotations

import errno
import os
import socket
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from executor.client_connection import Connection
from executor.event_loop import Loop
from executor.frames import read_message


class Served:
    """A host with nothing but its event loop."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop


def told(error: OSError) -> dict[str, Any]:
    """The answer to a client whose request met this error."""
    ours, theirs = socket.socketpair()
    with closing(Loop()) as loop, ours, theirs:
        Connection(Served(loop), ours, {}).refuse(error)  # type: ignore[arg-type]
        return dict(read_message(theirs.recv, 1 << 16))


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EMFILE, errno.ENOMEM])
def test_a_request_that_a_machine_in_trouble_refused_may_be_asked_again(code: int) -> None:
    answer = told(OSError(code, os.strerror(code)))
    assert (answer["type"], answer["again"]) == ("error", True)


def test_a_request_that_would_be_refused_again_is_refused_for_good(tmp_path: Path) -> None:
    assert told(FileNotFoundError(errno.ENOENT, "No such file", str(tmp_path)))["again"] is False
