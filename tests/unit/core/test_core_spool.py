"""The spool: what is kept there survives a power cut, is nobody else's to read, and has bounds."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

import core.spool
from core.spool import Spool, Spooled


def event(ts: str = "100.000001", text: str = "what sold best?", kind: str = "message") -> Spooled:
    return Spooled({"type": kind, "channel": "C1", "ts": ts, "text": text}, "T1", "U0BOT")


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(tmp_path / "home" / "spool")


def test_an_event_comes_back_as_it_was(spool: Spool) -> None:
    given = event(text="wie läuft’s? 📈 \ud800")
    path = spool.keep(given)
    assert path is not None
    assert [spool.read(one) for one in spool.kept()] == [given]
    spool.forget(path)
    assert spool.kept() == []
    assert spool.read(path) is None


def test_events_are_listed_as_people_wrote_them_also_where_ts_have_different_widths(spool: Spool) -> None:
    for ts in ("1000.000001", "100.000002", "100.000001"):
        spool.keep(event(ts))
    found = [one.event["ts"] for path in spool.kept() if (one := spool.read(path))]
    assert found == ["100.000001", "100.000002", "1000.000001"]


def test_a_redelivery_replaces_its_file_and_a_twin_has_its_own(spool: Spool) -> None:
    for kind in ("message", "app_mention", "message"):
        spool.keep(event(kind=kind))
    assert len(spool.kept()) == 2


def test_an_event_is_kept_while_another_bot_removes_one(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    scandir, first = os.scandir, spool.keep(event("100.000001"))
    assert first is not None

    def listed(folder: Path) -> list[os.DirEntry[str]]:
        found = list(scandir(folder))
        first.unlink()
        return found

    monkeypatch.setattr(os, "scandir", listed)
    assert spool.keep(event("100.000002")) is not None


@pytest.mark.parametrize("call", [lambda spool: spool.purge(user="U1"), lambda spool: spool.keep(event())])
def test_what_a_bot_was_writing_when_it_died_is_removed(spool: Spool, call: Callable[[Spool], object]) -> None:
    path = spool.keep(event("100.000001"))
    assert path is not None
    old, fresh = path.with_name(f"{path.name}.1.part"), path.with_name(f"{path.name}.2.part")
    for part in (old, fresh):
        part.write_text("words of a person")
    os.utime(old, (0, 0))
    call(spool)
    assert (old.exists(), fresh.exists(), path.exists()) == (False, True, True)


def test_only_the_bots_own_user_may_read_it(spool: Spool) -> None:
    before = os.umask(0)
    try:
        path = spool.keep(event())
    finally:
        os.umask(before)
    assert path is not None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_the_bytes_and_the_name_are_on_the_disk_when_it_is_kept(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    fsync = os.fsync

    def noting(descriptor: int) -> None:
        synced.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noting)
    path = spool.keep(event())
    assert path is not None
    assert synced[0].startswith(path.name), "the file, before it has its name"
    assert synced[1:] == ["spool"], "then the folder that has the name"


def test_a_file_that_a_death_left_half_written_is_no_event(spool: Spool) -> None:
    path = spool.keep(event())
    assert path is not None
    path.with_name(f"{path.name}.1.part").write_text('{"event"')
    path.with_name("9.9-x.json").write_text('{"event"')
    found = [spool.read(one) for one in spool.kept()]
    assert [one for one in found if one] == [event()]


@pytest.mark.parametrize("bound", [{"MAX_EVENTS": 2}, {"MAX_BYTES": 300}])
def test_a_full_spool_takes_no_more(spool: Spool, monkeypatch: pytest.MonkeyPatch, bound: dict[str, int]) -> None:
    for name, value in bound.items():
        monkeypatch.setattr(core.spool, name, value)
    kept = [spool.keep(event(f"100.00000{n}")) for n in range(4)]
    assert [path is not None for path in kept] == [True, True, False, False]


def test_a_disk_that_refuses_keeps_nothing_and_raises_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert Spool(tmp_path / "file").keep(event()) is None


@pytest.mark.parametrize("ts", ["", "../../x", "\x00", "now"])
def test_a_name_from_a_stranger_stays_in_the_folder(spool: Spool, ts: str) -> None:
    path = spool.keep(event(ts))
    assert path is not None
    assert [path] == spool.kept()


def test_a_purge_removes_the_words_of_a_thread_or_of_a_person_and_no_others(spool: Spool) -> None:
    place = {"type": "message", "channel": "C1"}
    said = Spooled({**place, "ts": "100.000001", "user": "U1"}, "T1", "U0BOT")
    reply = Spooled({**place, "ts": "100.000002", "thread_ts": "100.000001", "user": "U2"}, "T1", "U0BOT")
    before = {"ts": "99.000001", "user": "U3", "text": "words"}
    gone = Spooled({**place, "ts": "100.000003", "deleted_ts": "99.000001", "previous_message": before}, "T1", "U0BOT")
    other = Spooled({**place, "ts": "100.000004", "user": "U1"}, "T1", "U0BOT")
    for one in (said, reply, gone, other):
        spool.keep(one)
    assert spool.purge(user="U3") == 1
    assert spool.purge(thread_id="T1:C1:100.000001") == 2
    assert [spool.read(path) for path in spool.kept()] == [other]


def test_an_order_that_a_node_carries_out_late_leaves_what_was_said_after_it(spool: Spool) -> None:
    root = "999000.000001"
    for ts in (root, "1000300.000001", "1000601.000001"):
        spool.keep(Spooled({"type": "message", "channel": "C1", "ts": ts, "thread_ts": root}, "T1", "U0BOT"))
    ordered = datetime.fromtimestamp(1_000_000, UTC)
    assert spool.purge(thread_id=f"T1:C1:{root}", until=ordered) == 2
    assert [one.event["ts"] for path in spool.kept() if (one := spool.read(path))] == ["1000601.000001"]
