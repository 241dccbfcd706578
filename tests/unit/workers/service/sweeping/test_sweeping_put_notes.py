"""A worker that was killed leaves no file of a thread that is purged: the janitor finds what it put."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from turn_world import World, cell, finish

from core.blobs import Blobs, contents_put
from core.purging import delete_contents, purge_thread
from core.values import ThreadKey
from workers.delivery.reports import Report, ReportInput, render_report
from workers.models.scripted import ScriptedModel
from workers.service.sweeping.put_notes import HALF_S, give_up_noted
from workers.turn import closing


class Killed(BaseException):
    """The process is gone: nothing of it handles this."""


def stored(world: World) -> list[str]:
    """What the file store holds, as text."""
    return [path.read_text(errors="replace") for path in Path(world.settings.files).rglob("*") if path.is_file()]


def notes(world: World) -> list[Path]:
    return list((world.settings.home / "puts").glob("*"))


def killed_after_it_put_a_report(world: World, monkeypatch: pytest.MonkeyPatch, *, purged: bool) -> ThreadKey:
    """A worker is killed when it has put the files of a report and no step names them yet; the thread."""
    world.model = ScriptedModel([cell("print(12)", "Count"), finish("There are **12** elks.")])
    key = world.say("How many elks?")

    def meanwhile(given: ReportInput) -> Report:
        if purged:
            purge_thread(world.store, Blobs(world.settings.files), world._redis, key.id)
        return render_report(given)

    def kill(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(closing, "render_report", meanwhile)
        patch.setattr(closing, "files_made", kill)
        with pytest.raises(Killed):
            world.run(key)
    assert any("elks" in text for text in stored(world))
    return key


def test_what_a_killed_worker_put_for_a_purged_thread_is_deleted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    killed_after_it_put_a_report(world, monkeypatch, purged=True)
    blobs = Blobs(world.settings.files)
    delete_contents(world.store, blobs)
    assert any("elks" in text for text in stored(world)), "nobody but the note knows of it"
    assert give_up_noted(world.settings, world.store, Blobs(world.settings.files)) == 1
    delete_contents(world.store, blobs)
    assert not any("elks" in text for text in stored(world))
    assert notes(world) == []


def test_a_thread_that_goes_on_after_a_kill_needs_what_was_put_and_a_later_purge_leaves_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = killed_after_it_put_a_report(world, monkeypatch, purged=False)
    assert len(notes(world)) == 1
    assert give_up_noted(world.settings, world.store, Blobs(world.settings.files)) == 0
    world.settle(key)
    assert world.statuses(key) == ["done"]
    blobs = Blobs(world.settings.files)
    purge_thread(world.store, blobs, world._redis, key.id)
    give_up_noted(world.settings, world.store, Blobs(world.settings.files))
    delete_contents(world.store, blobs)
    assert not any("elks" in text for text in stored(world))
    assert notes(world) == []


def test_a_job_that_ends_well_leaves_no_note(world: World) -> None:
    world.model = ScriptedModel([cell("print(12)", "Count"), finish("There are **12** elks.")])
    key = world.say("How many elks?")
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert stored(world)
    assert notes(world) == []


def test_a_note_is_on_the_disk_before_what_it_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    monkeypatch.setattr(
        os, "fsync", lambda descriptor: synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
    )
    note = tmp_path / "puts" / "T1"
    with contents_put(note):
        Blobs(str(tmp_path / "files")).put(b"elks")
    assert synced[:2] == ["T1", "puts"]


def halves(world: World) -> list[Path]:
    return list(Path(world.settings.files).rglob("*.partial"))


def leave_half(world: World, monkeypatch: pytest.MonkeyPatch, *, aged_s: float) -> ThreadKey:
    """A worker is killed in the middle of writing a file of its report; the thread."""
    world.model = ScriptedModel([cell("print(12)", "Count"), finish("There are **12** elks.")])
    key = world.say("How many elks?")
    with monkeypatch.context() as patch:
        patch.setattr(Blobs, "_send_and_rename", _killed_in_the_middle)
        with pytest.raises(Killed):
            world.run(key)
    (half,) = halves(world)
    os.utime(half, (half.stat().st_atime - aged_s, half.stat().st_mtime - aged_s))
    return key


def _killed_in_the_middle(blobs: Blobs, data: bytes | Path, target: str) -> None:
    Path(f"{target}.0123.partial").write_bytes(data[:5] if isinstance(data, bytes) else b"half")
    raise Killed


def test_the_next_job_of_a_thread_removes_half_a_file_that_a_killed_one_left(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = leave_half(world, monkeypatch, aged_s=HALF_S + 5)
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert halves(world) == []


def test_the_janitor_removes_it_too_but_nothing_that_is_being_written(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_half(world, monkeypatch, aged_s=0)
    give_up_noted(world.settings, world.store, Blobs(world.settings.files))
    (half,) = halves(world)
    os.utime(half, (0, half.stat().st_mtime - HALF_S - 5))
    give_up_noted(world.settings, world.store, Blobs(world.settings.files))
    assert halves(world) == []
