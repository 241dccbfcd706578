"""Packs: what did not change costs nothing, two are kept, and nobody removes what another one counts on."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

import pytest

from core.blobs import Blobs, Objects
from core.errors import BlobMissing
from executor.files.exported import ExportedSession
from executor.frames import Message
from workers.turn.transfer.packs import Pack, PackStore, size_of

THREAD = "T1:C1:100.000001"
ARRAY = random.Random(1).randbytes(4 << 20)


class Bench:
    """A file store, and sessions whose large variables are the bytes that a test says."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.blobs = Blobs(str(folder / "files"))
        self.packs = PackStore(self.blobs)

    def session(self, *large: bytes, cells: int = 1, files: dict[str, bytes] | None = None) -> ExportedSession:
        paths = {}
        parts, listed = [], []
        for data in large:
            parts.append({"key": f"o{len(parts)}", "sha256": self._at(data, paths), "size": len(data)})
        for name, data in (files or {}).items():
            listed.append({"name": name, "sha256": self._at(data, paths), "size": len(data), "given": None})
        state: Message = {"body": {"parts": parts, "lost": []}, "hmac": "signed"}
        return ExportedSession(state, listed, [f"c{number}" for number in range(cells)], paths=paths)

    def _at(self, data: bytes, paths: dict[str, Path]) -> str:
        sha256 = hashlib.sha256(data).hexdigest()
        paths[sha256] = self._folder / sha256
        paths[sha256].write_bytes(data)
        return sha256

    def export(self, session: ExportedSession, known: list[Pack], token: int = 1) -> list[Pack]:
        """As a worker does after a cell: the packs that are kept, the new one first."""
        pack = self.packs.store(THREAD, token, self.packs.plan(token, session, known))
        kept = [pack, *known[:1]]
        self.packs.sweep(THREAD, token, kept)
        return kept

    def fetched(self, pack: Pack) -> list[bytes]:
        """The contents of a pack, as another node gets them."""
        contents = []
        for sha256 in pack.session.contents:
            self.packs.fetch(THREAD, pack, sha256, self._folder / "fetched")
            contents.append((self._folder / "fetched").read_bytes())
        return contents

    @property
    def objects(self) -> Objects:
        return self.blobs.folder(THREAD.replace(":", "_"))

    @property
    def stored(self) -> int:
        """Bytes that the thread takes in the file store."""
        return sum(len(data) for data in self.objects.get(names)) if (names := self.objects.names()) else 0


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def changed(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :]


def test_a_pack_gives_back_what_was_put_into_it(bench: Bench) -> None:
    session = bench.session(ARRAY, b"x" * 100_000, b"", files={"a.csv": b"x\n1\n"})
    (pack,) = bench.export(session, [])
    again = bench.packs.load(THREAD, pack.name)
    assert again.session.to_json() == session.to_json()
    assert bench.fetched(again) == [ARRAY, b"x" * 100_000, b"", b"x\n1\n"]
    assert size_of([again]) == len(ARRAY) + 100_000


def test_an_unchanged_array_is_neither_read_nor_sent_again(bench: Bench) -> None:
    kept = bench.export(bench.session(ARRAY, cells=1), [])
    session = bench.session(ARRAY, b"new" * 50_000, cells=2)
    session.paths[hashlib.sha256(ARRAY).hexdigest()].unlink()
    plan = bench.packs.plan(2, session, kept)
    assert sum(size for _, _, size in plan.new.values()) == 150_000
    kept = bench.export(session, kept, token=2)
    assert bench.fetched(kept[0]) == [ARRAY, b"new" * 50_000]


def test_a_change_in_an_array_costs_the_part_it_is_in(bench: Bench) -> None:
    kept = bench.export(bench.session(ARRAY), [])
    for number, place in enumerate((5, 2_000_000, len(ARRAY) - 1), start=2):
        plan = bench.packs.plan(1, bench.session(changed(ARRAY, place), cells=number), kept)
        assert len(plan.new) <= 2
        assert sum(size for _, _, size in plan.new.values()) <= 2 << 20


def test_nine_cells_over_one_array_leave_two_states_of_it(bench: Bench) -> None:
    kept: list[Pack] = []
    array = ARRAY
    for number in range(9):
        array = changed(array, number * 400_000)
        kept = bench.export(bench.session(array, cells=number + 1), kept)
    assert size_of(kept) < len(ARRAY) + (2 << 20)
    assert bench.stored < size_of(kept) + 20_000
    assert [name[:5] for name in bench.objects.names()].count("pack-") == 2
    before = changed(array, 8 * 400_000)
    assert [bench.fetched(pack) for pack in kept] == [[array], [before]]


def test_states_that_have_nothing_in_common_are_two_at_most(bench: Bench) -> None:
    kept: list[Pack] = []
    for number in range(5):
        kept = bench.export(bench.session(random.Random(number).randbytes(1 << 20)), kept)
    assert size_of(kept) == 2 << 20
    assert bench.stored < (2 << 20) + 20_000


def test_a_worker_that_lost_its_lease_removes_nothing_that_the_next_one_wrote_or_uses(bench: Bench) -> None:
    first = bench.export(bench.session(ARRAY), [], token=1)
    late = [bench.packs.store(THREAD, 1, bench.packs.plan(1, bench.session(b"a" * 300_000, ARRAY), first)), *first[:1]]
    # It pauses right before its sweep. The next one goes on from what the Store has: its last pack.
    second = bench.export(bench.session(ARRAY, changed(ARRAY, 7)), late, token=2)
    third = bench.export(bench.session(ARRAY, changed(ARRAY, 9)), second, token=2)
    bench.packs.sweep(THREAD, 1, late)
    assert [bench.fetched(pack) for pack in third] == [[ARRAY, changed(ARRAY, 9)], [ARRAY, changed(ARRAY, 7)]]


def test_what_a_worker_left_that_died_before_its_pack_counted_is_swept_by_the_next(bench: Bench) -> None:
    kept = bench.export(bench.session(ARRAY), [], token=1)
    bench.packs.store(THREAD, 2, bench.packs.plan(2, bench.session(changed(ARRAY, 1)), kept))
    kept = bench.export(bench.session(ARRAY, cells=2), kept, token=3)
    assert set(bench.objects.names()) == {f"pack-{pack.name}" for pack in kept} | set(size_names(kept))


def size_names(packs: list[Pack]) -> list[str]:
    return [name for pack in packs for name in pack.parts]


def test_equal_pieces_of_one_array_are_stored_once(bench: Bench) -> None:
    (pack,) = bench.export(bench.session(bytes(8 << 20)), [])
    assert len(pack.parts) == 1
    assert bench.fetched(pack) == [bytes(8 << 20)]


def test_a_part_that_is_not_what_it_was_is_missing_and_no_other_content(bench: Bench) -> None:
    (pack,) = bench.export(bench.session(ARRAY), [])
    name = next(iter(pack.parts))
    bench.objects.put({name: b"something else"})
    with pytest.raises(BlobMissing, match="damaged"):
        bench.fetched(pack)
    bench.objects.remove([name])
    with pytest.raises(BlobMissing):
        bench.fetched(pack)


def test_what_an_earlier_version_exported_is_read(bench: Bench) -> None:
    session = bench.session(ARRAY, files={"a.csv": b"x"})
    for sha256, path in session.paths.items():
        bench.blobs.put_as(sha256, path)
    pack = bench.packs.load(THREAD, bench.blobs.put(session.to_json()))
    assert bench.fetched(pack) == [ARRAY, b"x"]
    kept = bench.export(bench.session(ARRAY, cells=2), [pack])
    assert bench.fetched(kept[0]) == [ARRAY]


def test_a_pack_of_a_later_version_is_refused(bench: Bench) -> None:
    bench.objects.put({"pack-" + "a" * 64: b'{"format": 99}'})
    with pytest.raises(ValueError, match="format"):
        bench.packs.load(THREAD, "a" * 64)


def test_the_store_is_asked_for_files_that_are_new_and_for_no_other(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    exists = bench.blobs._fs.exists

    def noted(path: str, **options: object) -> bool:
        asked.append(path)
        return bool(exists(path, **options))

    monkeypatch.setattr(bench.blobs._fs, "exists", noted)
    files = {f"{number}.csv": str(number).encode() for number in range(20)}
    kept = bench.export(bench.session(ARRAY, files=files), [])
    assert len(asked) == 20
    asked.clear()
    bench.export(bench.session(ARRAY, files={**files, "new.csv": b"new"}, cells=2), kept)
    assert len(asked) == 1


def test_a_name_is_as_long_as_the_store_takes(bench: Bench) -> None:
    (pack,) = bench.export(bench.session(b""), [], token=1 << 62)
    assert len(pack.name) == 64
    assert set(pack.name) <= set("0123456789abcdef")
