"""An admin reads that the disk of the home folder takes no writes, and what to do, wherever they look."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from core import home_writes
from core.health import Missing
from core.settings import load_settings
from tryout.commands import doctor
from workers.service import supervisor
from workers.service.start_checks import CannotStart

Break = Callable[[int], None]

CASES = [
    (errno.EROFS, "Read-only file system", "stop the services, repair and mount it again"),
    (errno.EIO, "Input/output error", "stop the services, repair and mount it again"),
    (errno.ENOSPC, "No space left on device", "make room on it"),
    (errno.EDQUOT, "Disk quota exceeded", "make room on it"),
]


@pytest.fixture
def breaks(monkeypatch: pytest.MonkeyPatch) -> Break:
    """Let every home refuse writes with this error."""

    def broken(code: int) -> None:
        def refuse(*_: object, **__: object) -> None:
            raise OSError(code, os.strerror(code))

        monkeypatch.setattr(home_writes.tempfile, "TemporaryFile", refuse)

    return broken


@pytest.mark.parametrize(("code", "why", "fix"), CASES)
def test_a_home_that_takes_no_writes_is_down_and_says_what_to_do(
    tmp_path: Path, breaks: Break, code: int, why: str, fix: str
) -> None:
    breaks(code)
    with pytest.raises(Missing, match=rf"the disk of THREADBOOK_HOME \(.*\) takes no writes \({why}\)"):
        home_writes.home_answers(tmp_path)
    found = doctor.home(load_settings({"THREADBOOK_HOME": str(tmp_path)}, tmp_path))
    assert found.state == "missing"
    assert why in found.what
    assert found.fix.startswith(fix)


def test_a_home_that_takes_writes_is_up_and_stays_empty(tmp_path: Path) -> None:
    assert home_writes.home_answers(tmp_path) == "takes writes"
    found = doctor.home(load_settings({"THREADBOOK_HOME": str(tmp_path)}, tmp_path))
    assert found.state == "ok"
    assert not list(tmp_path.iterdir())


def test_a_home_where_this_user_may_not_write_is_no_broken_disk(tmp_path: Path, breaks: Break) -> None:
    breaks(errno.EACCES)
    with pytest.raises(PermissionError):
        home_writes.home_answers(tmp_path)
    found = doctor.home(load_settings({"THREADBOOK_HOME": str(tmp_path)}, tmp_path))
    assert found.fix == "set THREADBOOK_HOME to a folder where this user may write"


@pytest.mark.parametrize("code", [errno.EROFS, errno.EIO])
def test_a_service_does_not_start_on_a_disk_that_turned_read_only_and_says_why(
    tmp_path: Path, breaks: Break, code: int
) -> None:
    breaks(code)
    with pytest.raises(CannotStart, match=r"takes no writes .*: stop the services, repair and mount it again"):
        supervisor.make_home(load_settings({"THREADBOOK_HOME": str(tmp_path)}, tmp_path))


def test_a_service_starts_on_a_full_disk_and_waits_for_room(tmp_path: Path, breaks: Break) -> None:
    breaks(errno.ENOSPC)
    supervisor.make_home(load_settings({"THREADBOOK_HOME": str(tmp_path)}, tmp_path))
