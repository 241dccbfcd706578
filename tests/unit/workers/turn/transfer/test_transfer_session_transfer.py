"""When a session is exported, what of it is not, and who is told."""

from __future__ import annotations

import random

import pytest
from structlog.testing import capture_logs
from turn_world import NewWorld, World, cell, finish

from core.blobs import Objects
from core.errors import BlobsUnreachable
from core.rows import ExportedRow
from core.values import ThreadKey
from executor.fake import FakeSessions
from executor.files.exported import ExportedSession
from executor.slices import at_once
from workers.models.scripted import ScriptedModel
from workers.turn.transfer.packs import PackStore
from workers.turn.transfer.unexported import Unexported

REPORT = finish("It is **7**.")
ONE = cell("n = 1", "One")


class HeavySessions(FakeSessions):
    """A session host whose variables have this many bytes."""

    large = b""

    def export_session(self, thread_id: str) -> ExportedSession:
        session = super().export_session(thread_id)
        if session.state is None or not self.large:
            return session
        source = self._home.root / "large"
        source.write_bytes(self.large)
        with source.open("rb") as file:
            sha256, size = at_once(self._home.keep(file.fileno(), 1 << 40))
        parts = [{"sha256": sha256, "size": size}]
        state = {**session.state, "body": {**session.state["body"], "parts": parts}}
        paths = {**session.paths, sha256: self._home.path_of(sha256)}
        return ExportedSession(state, session.files, session.cells, paths=paths)


@pytest.fixture
def moving(new_world: NewWorld) -> World:
    return new_world(hands_over=True)


def heavy(world: World, megabytes: int) -> None:
    """From here on the variables of each thread have so many MB, none of which is like another."""
    if not isinstance(world.sessions, HeavySessions):
        world.sessions = world._hosts["here"] = HeavySessions(world._folder / "here")
    world.sessions.large = heavy_bytes(megabytes)


def heavy_bytes(megabytes: int) -> bytes:
    return random.Random(megabytes).randbytes(megabytes * 1_000_000)


def ask(world: World, words: str = "how much?", thread: ThreadKey | None = None) -> ThreadKey:
    world.model = ScriptedModel(turns=[[ONE, REPORT]] * 5)
    key = world.say(words, thread=thread)
    world.settle(key)
    return key


@pytest.mark.parametrize("scope", ["thread", "node", "team"])
def test_a_session_above_a_quota_is_said_once_and_the_turn_goes_on(new_world: NewWorld, scope: str) -> None:
    world = new_world(hands_over=True, team=f"[storage]\n{scope}_mb = 3\n")
    heavy(world, 2)
    first = ask(world)
    assert "MB" not in world.text(first)
    stored = world.store.exported_session(first.id)
    heavy(world, 4)
    key = ask(world)
    assert world.statuses(key) == ["done"]
    assert world.text(key).count("may save 3 MB" if scope == "thread" else "3 MB may be saved") == 1
    assert f"`{scope}_mb`" in world.text(key)
    assert world.store.exported_session(key.id) is None
    assert world.store.exported_session(first.id) == stored


def test_a_session_that_fits_only_alone_replaces_the_one_before_it(new_world: NewWorld) -> None:
    world = new_world(hands_over=True, team="[storage]\nthread_mb = 3\n")
    heavy(world, 1)
    key = ask(world)
    heavy(world, 3)
    ask(world, "and now?", key)
    found = world.store.exported_session(key.id)
    assert found is not None
    assert (found.before, found.bytes) == (None, 3_000_000)
    assert "MB" not in world.text(key)


def test_one_node_that_is_full_leaves_room_at_another(new_world: NewWorld) -> None:
    world = new_world(hands_over=True, team="[storage]\nnode_mb = 3\n")
    heavy(world, 2)
    ask(world)
    world.model = ScriptedModel([ONE, REPORT])
    world._hosts["there"] = world.sessions
    key = world.say("how much?")
    world.run(key, node="there")
    assert "MB" not in world.text(key)
    assert world.store.exported_bytes(key.id).node == 2_000_000
    assert world.store.exported_bytes(key.id).team == 4_000_000


def test_what_makes_a_full_store_smaller_is_always_taken(new_world: NewWorld) -> None:
    world = new_world(hands_over=True, team="[storage]\nteam_mb = 3\n")
    heavy(world, 3)
    key = ask(world)
    heavy(world, 0)
    ask(world, "and now?", key)
    ask(world, "and now?", key)
    assert world.store.exported_bytes(key.id).team == 0


def test_no_limit_is_no_limit(new_world: NewWorld) -> None:
    world = new_world(hands_over=True, team="[storage]\nthread_mb = 0\nnode_mb = 0\nteam_mb = 0\n")
    heavy(world, 4)
    key = ask(world)
    assert world.store.exported_bytes(key.id).thread == 4_000_000


def test_a_thread_is_marked_until_its_session_is_exported(moving: World, monkeypatch: pytest.MonkeyPatch) -> None:
    marks = Unexported(moving._folder / "here")
    key = ask(moving)
    assert marks.threads() == []

    def full(*_: object, **__: object) -> None:
        raise OSError("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Objects, "put", full)
        ask(moving, "and now?", key)
    assert marks.threads() == [key.id]
    ask(moving, "and now?", key)
    assert marks.threads() == []


def test_a_file_store_that_is_away_is_logged_in_one_line(moving: World, monkeypatch: pytest.MonkeyPatch) -> None:
    key = ask(moving)

    def away(*_: object, **__: object) -> None:
        raise BlobsUnreachable("the file store is away or full: ConnectionError")

    with monkeypatch.context() as patch, capture_logs() as logs:
        patch.setattr(Objects, "put", away)
        ask(moving, "and now?", key)
    said = [line for line in logs if line["event"] == "session_not_exported"]
    assert said
    assert all(line["log_level"] == "warning" and "exc_info" not in line for line in said)


def test_a_thread_is_marked_while_its_cell_runs(moving: World) -> None:
    marks, seen = Unexported(moving._folder / "here"), []
    moving.sessions.fault("run", then=lambda: seen.append(marks.threads()))
    key = ask(moving)
    assert seen == [[key.id]]


def test_an_unchanged_session_writes_nothing(moving: World, monkeypatch: pytest.MonkeyPatch) -> None:
    key = ask(moving)
    worker = moving.worker()
    with worker.leases.hold(key.id) as held:
        assert held is not None
        before = moving.store.exported_session(key.id)

        def unexpected(*_: object, **__: object) -> None:
            raise AssertionError("nothing is to be written")

        monkeypatch.setattr(Objects, "put", unexpected)
        monkeypatch.setattr(type(moving.store), "set_exported_session", unexpected)
        assert worker.context.transfer.export_state(held.lease) is None
        assert moving.store.exported_session(key.id) == before


def test_a_session_that_is_elsewhere_is_not_exported_from_here(moving: World) -> None:
    key = ask(moving)
    before = moving.store.exported_session(key.id)
    worker = moving.worker("there")
    with worker.leases.hold(key.id) as held:
        assert held is not None
        assert worker.context.transfer.export_state(held.lease) is None
    assert isinstance(before, ExportedRow)
    assert moving.store.exported_session(key.id) == before


def test_parts_that_somebody_removed_are_sent_anew_with_the_next_change(moving: World) -> None:
    heavy(moving, 3)
    key = ask(moving)
    blobs = moving.worker().context.blobs
    folder = blobs.folder(key.id.replace(":", "_"))
    parts = [name for name in folder.names() if name.startswith("part-")]
    folder.remove(parts[:2])
    ask(moving, "and now?", key)
    row = moving.store.exported_session(key.id)
    assert row is not None
    pack = PackStore(blobs).load(key.id, row.name)
    for content in pack.session.parts:
        PackStore(blobs).fetch(key.id, pack, content, moving._folder / "fetched")
    assert (moving._folder / "fetched").read_bytes() == heavy_bytes(3)


def test_parts_that_were_found_damaged_are_sent_anew(moving: World) -> None:
    heavy(moving, 3)
    key = ask(moving)
    blobs = moving.worker().context.blobs
    folder = blobs.thread_folder(key.id)
    (part, *_) = [name for name in folder.names() if name.startswith("part-")]
    folder.put({part: b"cut off by a power cut"})
    moving._hosts["there"] = HeavySessions(moving._folder / "there")
    moving._hosts["there"].large = heavy_bytes(3)
    moving.say("and now?", thread=key)
    moving.run(key, node="there")
    row = moving.store.exported_session(key.id)
    assert row is not None
    pack = PackStore(blobs).load(key.id, row.name)
    for content in pack.session.parts:
        PackStore(blobs).fetch(key.id, pack, content, moving._folder / "fetched")
    assert (moving._folder / "fetched").read_bytes() == heavy_bytes(3)
