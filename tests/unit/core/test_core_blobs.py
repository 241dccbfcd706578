"""The file store: content by hash, on any fsspec place."""

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


def test_what_was_put_comes_back(blobs: Blobs, tmp_path: Path) -> None:
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


def test_an_empty_content_is_a_content(blobs: Blobs) -> None:
    assert blobs.get(blobs.put(b"")) == b""


def test_a_store_that_takes_nothing_is_away_and_leaves_no_half_written_content(
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
