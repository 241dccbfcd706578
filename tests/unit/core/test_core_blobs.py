"""The file store: content by hash, in any place that fsspec reaches."""

from __future__ import annotations

import errno
import hashlib
import uuid
from pathlib import Path

import pytest

from core.blobs import Blobs
from core.errors import BlobMissing, BlobsUnreachable


@pytest.fixture(params=["folder", "memory"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Blobs:
    return Blobs(str(tmp_path / "files") if request.param == "folder" else f"memory://{uuid.uuid4().hex}")


def test_a_stored_content_can_be_read_back(blobs: Blobs, tmp_path: Path) -> None:
    sha256 = blobs.put(b"a,b\n1,2\n")
    assert sha256 == hashlib.sha256(b"a,b\n1,2\n").hexdigest()
    assert blobs.has(sha256)
    assert blobs.get(sha256) == b"a,b\n1,2\n"
    blobs.fetch(sha256, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == b"a,b\n1,2\n"


def test_a_file_and_its_bytes_are_the_same_content(blobs: Blobs, tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(b"x" * 3_000_000)
    assert blobs.put(tmp_path / "source") == blobs.put(b"x" * 3_000_000)
    assert blobs.get(blobs.put(tmp_path / "source")) == b"x" * 3_000_000


def test_a_content_that_is_set_aside_is_gone_until_it_is_put_back(blobs: Blobs) -> None:
    assert blobs.left_aside() == []
    sha256 = blobs.put(b"one")
    name = blobs.set_aside(sha256)
    assert (blobs.has(sha256), blobs.left_aside()) == (False, [name])
    blobs.put(b"one")
    blobs.put_back(name)
    assert (blobs.get(sha256), blobs.left_aside()) == (b"one", [])
    blobs.remove_aside(blobs.set_aside(sha256))
    assert (blobs.has(sha256), blobs.left_aside()) == (False, [])


def test_a_content_that_is_removed_is_gone_and_can_be_stored_again(blobs: Blobs) -> None:
    sha256 = blobs.put(b"one")
    other = blobs.put(b"two")
    for _ in range(2):
        blobs.remove_aside(blobs.set_aside(sha256))
    assert (blobs.has(sha256), blobs.has(other)) == (False, True)
    assert blobs.put(b"one") == sha256
    assert blobs.get(sha256) == b"one"


def test_an_empty_content_can_be_stored(blobs: Blobs) -> None:
    assert blobs.get(blobs.put(b"")) == b""


def test_a_full_store_is_unreachable_and_keeps_no_half_written_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs = Blobs(str(tmp_path / "files"))

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(blobs._fs, "mv", full)
    with pytest.raises(BlobsUnreachable, match="No space left"):
        blobs.put(b"a,b")
    assert [path for path in (tmp_path / "files").rglob("*") if path.is_file()] == []
    monkeypatch.undo()
    assert blobs.get(blobs.put(b"a,b")) == b"a,b"


def test_an_unknown_hash_is_missing(blobs: Blobs, tmp_path: Path) -> None:
    unknown = hashlib.sha256(b"never stored").hexdigest()
    assert not blobs.has(unknown)
    with pytest.raises(BlobMissing):
        blobs.get(unknown)
    with pytest.raises(BlobMissing):
        blobs.fetch(unknown, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "A" * 64, "a" * 63, "a" * 63 + "/"])
def test_only_a_hash_is_a_name(blobs: Blobs, name: str) -> None:
    with pytest.raises(ValueError, match="not a sha256"):
        blobs.get(name)


def test_nothing_half_written_stays_under_the_right_name(tmp_path: Path) -> None:
    blobs = Blobs(str(tmp_path / "files"))
    with pytest.raises(FileNotFoundError):
        blobs.put(tmp_path / "not there")
    blobs.put(b"content")
    assert [path.suffix for path in (tmp_path / "files").rglob("*") if path.is_file()] == [""]


# --- folders of objects


def test_objects_are_found_in_the_order_asked_for_and_removed(blobs: Blobs) -> None:
    folder = blobs.folder("T1_C1_1.0")
    assert folder.names() == []
    folder.put({"a": b"1", "b": b"2"})
    folder.put({"c": b""})
    assert folder.get(["c", "a", "b"]) == [b"", b"1", b"2"]
    folder.remove(["a", "b", "never there"])
    folder.remove([])
    assert blobs.folder("T1_C1_1.0").names() == ["c"]
    assert blobs.folder("T1_C1_2.0").names() == []


def test_an_object_that_is_not_there_is_missing(blobs: Blobs) -> None:
    folder = blobs.folder("T1")
    with pytest.raises(BlobMissing):
        folder.get(["a"])
    folder.put({"a": b"1"})
    with pytest.raises(BlobMissing):
        folder.get(["a", "b"])


@pytest.mark.parametrize("name", ["", "..", ".", "a/b", "a\\b", "a b", "ä", "x" * 201])
def test_a_folder_is_one_folder(blobs: Blobs, name: str) -> None:
    with pytest.raises(ValueError, match="not the name of a folder"):
        blobs.folder(name)


def test_a_full_store_takes_no_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blobs = Blobs(str(tmp_path / "files"))

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(blobs._fs, "pipe", full)
    with pytest.raises(BlobsUnreachable, match="No space left"):
        blobs.folder("T1").put({"a": b"1"})
