"""What the host keeps on disk, and for how long."""

from __future__ import annotations

import os
import time
from pathlib import Path

from executor.home import Home, KeptFile

WEEK_S = 7 * 24 * 3600.0


def put(home: Home, content: bytes, age_s: float) -> str:
    path = home.temporary()
    path.write_bytes(content)
    sha256, _ = home.adopt(path)
    then = time.time() - age_s
    os.utime(home.path_of(sha256), (then, then))
    return sha256


def test_content_that_no_thread_has_any_more_is_removed_after_a_week(tmp_path: Path) -> None:
    home = Home(tmp_path)
    held, dropped, fresh = (
        put(home, content, age) for content, age in ((b"held", 2 * WEEK_S), (b"dropped", 2 * WEEK_S), (b"fresh", 60))
    )
    thread = home.thread("t")
    thread.set_files({"a.csv": KeptFile("a.csv", held, 4, given="a.csv")})
    thread.close()
    assert home.sweep(WEEK_S) == 1
    assert [home.path_of(sha256).exists() for sha256 in (held, dropped, fresh)] == [True, False, True]
    assert home.sweep(WEEK_S) == 0


def test_a_home_that_is_empty_has_nothing_to_remove(tmp_path: Path) -> None:
    assert Home(tmp_path).sweep(0) == 0
