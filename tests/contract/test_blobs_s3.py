"""The file store on an S3-compatible server: the same promises as in a folder, for several hosts at once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from object_store import ObjectStore, object_store

from core.blobs import Blobs, load_driver
from core.errors import BlobMissing, SettingsError
from core.settings import load_settings
from tryout.commands import doctor

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    with object_store(tmp_path_factory.mktemp("s3") / "moto.log") as store:
        yield store


@pytest.fixture
def url(server: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    return server.bucket()


def test_what_one_host_put_another_gets(url: str, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * 9_000_000)
    here, there = Blobs(url), Blobs(url)
    small, large = here.put(b"a,b\n1,2\n"), here.put(tmp_path / "large")
    assert there.get(small) == b"a,b\n1,2\n"
    there.fetch(large, tmp_path / "copy")
    assert hashlib.sha256((tmp_path / "copy").read_bytes()).hexdigest() == large


def test_what_was_missing_a_moment_ago_is_found_once_another_host_put_it(url: str) -> None:
    here, there = Blobs(url), Blobs(url)
    sha256 = hashlib.sha256(b"late").hexdigest()
    assert not there.has(sha256)
    with pytest.raises(BlobMissing):
        there.get(sha256)
    here.put(b"late")
    assert there.has(sha256)
    assert there.get(sha256) == b"late"


def test_what_is_set_aside_is_gone_until_it_is_put_back(url: str) -> None:
    here, there = Blobs(url), Blobs(url)
    sha256 = here.put(b"leaves")
    name = here.set_aside(sha256)
    here.remove_aside(here.set_aside(sha256))  # it is gone already: no error
    assert (there.has(sha256), there.left_aside()) == (False, [name])
    there.put_back(name)
    assert (here.get(sha256), here.left_aside()) == (b"leaves", [])


def test_folders_of_objects_are_the_same_for_all_hosts(url: str) -> None:
    here, there = Blobs(url).folder("T1_C1_1.0"), Blobs(url).folder("T1_C1_1.0")
    assert here.names() == []
    here.put({f"part-{number}": bytes([number]) * 1_000 for number in range(40)})
    assert there.get(["part-39", "part-0"]) == [b"\x27" * 1_000, b"\x00" * 1_000]
    assert len(there.names()) == 40
    there.remove([f"part-{number}" for number in range(1, 40)] + ["never there"])
    assert here.names() == ["part-0"]
    with pytest.raises(BlobMissing):
        here.get(["part-0", "part-1"])


def test_a_place_that_nobody_knows_is_refused_by_name() -> None:
    load_driver("s3://bucket/files")
    with pytest.raises(SettingsError, match="nowhere"):
        load_driver("nowhere://bucket")


def test_a_bucket_that_does_not_exist_is_a_row_of_the_doctor(url: str, tmp_path: Path) -> None:
    missing = url.replace("threadbook-", "missing-")
    found = doctor.files(load_settings({"THREADBOOK_HOME": str(tmp_path), "THREADBOOK_FILES": missing}, tmp_path))
    assert (found.state, "the folder or bucket must exist" in found.fix) == ("missing", True)
