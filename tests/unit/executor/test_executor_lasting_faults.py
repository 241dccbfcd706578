"""A fault of the disk that lasts, at the files of one thread: only that thread suffers from it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hosts import bare_host

from executor.client import HostUnavailable, RequestError

SICK, WELL = "T1:C1:1.0", "T1:C1:2.0"


def test_a_list_of_files_that_cannot_be_written_ends_no_session_but_its_own(tmp_path: Path) -> None:
    with bare_host(tmp_path / "home") as host:
        host.run(SICK, "c1", "kept = 1")
        host.run(WELL, "c1", "import threading; lives = threading.Lock()")  # outlives no session
        before = host.ping().pid
        (tmp_path / "home" / "threads" / SICK.replace(":", "%3A") / "files.json").mkdir()
        with pytest.raises(HostUnavailable, match="Is a directory"):
            host.run(SICK, "c2", "open('made.txt', 'w').write('x'); print(kept)")
        with pytest.raises((HostUnavailable, RequestError), match="Is a directory"):
            host.run(SICK, "c2", "open('made.txt', 'w').write('x'); print(kept)")
        assert host.run(WELL, "c2", "print(lives.locked())").stdout == "False\n"
        assert host.ping().pid == before


def test_a_thread_goes_on_once_its_files_can_be_written_again(tmp_path: Path) -> None:
    with bare_host(tmp_path / "home") as host:
        host.run(SICK, "c1", "kept = 1")
        listing = tmp_path / "home" / "threads" / SICK.replace(":", "%3A") / "files.json"
        listing.mkdir()
        with pytest.raises(HostUnavailable):
            host.run(SICK, "c2", "open('made.txt', 'w').write('x')")
        listing.rmdir()
        assert host.run(SICK, "c2", "never runs twice").status == "died"
        result = host.run(SICK, "c3", "open('made.txt', 'w').write('y'); print(kept)")
        assert (result.stdout, [made.name for made in result.artifacts]) == ("1\n", ["made.txt"])
