"""What the session host does from time to time, whatever the disk says of one thread."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from executor.counters import Counters
from executor.event_loop import Loop
from executor.files.home import Home
from executor.housekeeping import Housekeeping
from executor.subprocesses import Subprocesses
from executor.values import Limits

LONG_S = 30 * 24 * 3600.0


@pytest.fixture
def loop() -> Iterator[Loop]:
    with closing(Loop()) as made:
        yield made


def unused_content(home: Home) -> Path:
    path = home.temporary()
    path.write_bytes(b"unused")
    kept = home.adopt(path, hashlib.sha256(b"unused").hexdigest())
    os.utime(kept, (time.time() - LONG_S, time.time() - LONG_S))
    return kept


def begin(loop: Loop, home: Home) -> None:
    """Everything once, as when a host starts."""
    subprocesses = cast(Subprocesses, SimpleNamespace(counted_by_kernel=True))
    Housekeeping(
        loop=loop, home=home, limits=Limits(), subprocesses=subprocesses, notebooks={}, counters=Counters()
    ).begin()


def test_a_list_that_the_disk_refuses_to_read_keeps_no_host_from_starting(
    loop: Loop, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = Home(tmp_path / "home")
    content = unused_content(home)
    listing = home.root / "threads" / "t" / "files.json"
    listing.mkdir(parents=True)  # whoever runs the tests may read every file, but no folder as one
    begin(loop, home)
    assert content.exists(), "the list that cannot be read may name it"
    assert f"nothing was removed: {listing} cannot be read" in capsys.readouterr().err
    listing.rmdir()
    begin(loop, home)
    assert not content.exists()
