"""Files out of a hostile folder: only what may be taken, every refusal by name and with its reason."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from executor.disk.disk_usage import held_on_disk
from executor.files.collect import Collection, collect, printable, snapshot
from executor.files.home import Home
from executor.notices import notice
from executor.slices import SLICE, Work, at_once
from executor.values import Limits
from workers.delivery.notices import in_words

LIMITS = Limits(artifact_mb=1, artifacts=5, artifacts_mb=2)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture
def root(work: Path) -> Iterator[int]:
    descriptor = os.open(work, os.O_RDONLY | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


def reasons(found: Collection) -> dict[str, str]:
    return {rejected.name: in_words((rejected.why,), "en") for rejected in found.rejected}


def names(found: Collection) -> list[str]:
    return sorted(taken.name for taken in found.taken)


def test_new_and_changed_files_are_taken_and_unchanged_ones_are_not(work: Path, root: int, home: Home) -> None:
    (work / "old.csv").write_text("a")
    (work / "changed.csv").write_text("a")
    before = snapshot(root)
    (work / "changed.csv").write_text("bb")
    (work / "sub").mkdir()
    (work / "sub" / "new.csv").write_text("c")
    found = at_once(collect(root, before, home, LIMITS))
    assert names(found) == ["changed.csv", "sub/new.csv"]
    assert {taken.name: home.path_of(taken.sha256).read_text() for taken in found.taken} == {
        "changed.csv": "bb",
        "sub/new.csv": "c",
    }
    assert at_once(collect(root, found.snapshot, home, LIMITS)).taken == ()


def test_nothing_is_followed_or_opened_that_is_not_a_regular_file(
    work: Path, root: int, home: Home, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "secret.txt").write_text("secret")
    (work / "link").symlink_to(secret)
    (work / "folder").symlink_to(tmp_path / "folder")
    (work / "hard").hardlink_to(secret)
    os.mkfifo(work / "pipe")
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(work / "socket"))
    found = at_once(collect(root, {}, home, LIMITS))
    assert found.taken == ()
    assert reasons(found) == {
        "link": "it is a symbolic link",
        "folder": "it is a symbolic link",
        "hard": "it has 2 names (hard links)",
        "pipe": "it is a pipe",
        "socket": "it is a socket",
    }


def test_size_sparseness_and_odd_names_are_refused(work: Path, root: int, home: Home) -> None:
    (work / "large").write_bytes(b"x" * ((1 << 20) + 1))
    with (work / "sparse").open("wb") as file:
        file.truncate(900_000)
    (work / ".hidden").write_text("x")
    (work / "bell\a").write_text("x")
    (work / ("n" * 130)).write_text("x")
    found = at_once(collect(root, {}, home, LIMITS))
    assert found.taken == ()
    assert reasons(found)["large"].endswith("larger than 1 MB")
    assert reasons(found)["sparse"].startswith("it is sparse")
    assert reasons(found)[".hidden"].startswith("it is hidden")
    assert "cannot be printed" in reasons(found)["bell?"]
    assert "too long" in reasons(found)["n" * 117 + "..."]


def test_count_and_total_are_capped(work: Path, root: int, home: Home) -> None:
    for number in range(4):
        (work / f"big{number}").write_bytes(bytes([number]) * 900_000)
    found = at_once(collect(root, {}, home, LIMITS))
    assert len(found.taken) == 2
    assert all("larger than 2 MB together" in why for why in reasons(found).values())
    for number in range(100):
        (work / f"small{number:03}").write_text("x")
    found = at_once(collect(root, found.snapshot, home, LIMITS))
    assert len(found.taken) == 5
    assert len(found.rejected) == 50
    assert found.rejected[-1].why == notice("more_refused", count=46)


def test_folders_that_go_too_deep_are_not_looked_into(work: Path, root: int, home: Home) -> None:
    deep = work.joinpath(*["d"] * 12)
    deep.mkdir(parents=True)
    (deep / "file").write_text("x")
    found = at_once(collect(root, {}, home, LIMITS))
    assert found.taken == ()
    assert "deeper than" in reasons(found)["/".join("d" * 8)]


@given(name=st.binary(min_size=1, max_size=200).filter(lambda name: b"/" not in name and b"\0" not in name))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=60)
def test_any_name_is_taken_or_refused_with_a_printable_name(name: bytes, work: Path, root: int, home: Home) -> None:
    for entry in os.listdir(os.fsencode(work)):
        os.unlink(os.fsencode(work) + b"/" + entry)
    if name in (b".", b".."):
        return
    with open(os.fsencode(work) + b"/" + name, "wb") as file:
        file.write(b"x")
    found = at_once(collect(root, {}, home, LIMITS))
    assert len(found.taken) + len(found.rejected) == 1
    for shown in [taken.name for taken in found.taken] + [rejected.name for rejected in found.rejected]:
        assert shown.isprintable()
        assert shown == printable(shown)


def test_a_link_that_is_there_only_while_it_is_opened_brings_nothing_out(
    root: int, work: Path, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Afterwards the opened file has one name again, as one of the session's own has; but it is not this one."""
    (tmp_path / "secret").write_text("a file of the host")
    (work / "a.txt").write_text("mine")
    really_open = os.open

    def swap_around(path: str, flags: int, **options: int) -> int:
        os.link(tmp_path / "secret", work / "h.txt")
        (work / "h.txt").replace(work / "a.txt")
        descriptor = really_open(path, flags, **options)
        (work / "m.txt").write_text("mine")
        (work / "m.txt").replace(work / "a.txt")
        return descriptor

    with monkeypatch.context() as patched:
        patched.setattr("executor.files.collect.os.open", swap_around)
        found = at_once(collect(root, {}, home, LIMITS))
    assert reasons(found) == {"a.txt": "it was replaced while it was checked"}
    assert found.taken == ()


def test_a_name_like_the_kernels_word_for_a_file_that_is_gone_is_refused_with_that_reason(
    root: int, work: Path, home: Home
) -> None:
    (work / "a.txt (deleted)").write_text("mine")
    assert reasons(at_once(collect(root, {}, home, LIMITS))) == {"a.txt (deleted)": 'its name ends in " (deleted)"'}


def with_others(work: Work[Collection], between: Callable[[], object]) -> Collection:
    """Do all of it; something else happens between two slices."""
    try:
        while True:
            next(work)
            between()
    except StopIteration as end:
        found: Collection = end.value
        return found


def test_each_file_is_taken_once_although_the_use_of_the_disk_is_looked_at_meanwhile(
    root: int, work: Path, home: Home
) -> None:
    """Whoever looks has the same descriptor, and an open folder has one place where it is read."""
    for name in ("a.bin", "b.bin"):
        (work / name).write_bytes(os.urandom(2 * SLICE))
    found = with_others(collect(root, {}, home, Limits()), lambda: held_on_disk([root]))
    assert names(found) == ["a.bin", "b.bin"]


def test_files_that_are_replaced_while_others_are_looked_at_count_as_there(home: Home) -> None:
    """In memory, where workspaces are, a name that is given again is listed at another place."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        work = Path(folder)
        made = [f"{number}-{'x' * 40}" for number in range(1_500)]
        for name in made:
            (work / name).touch()

        def replace() -> None:
            for name in made[::50]:
                (work / "new").touch()
                (work / "new").replace(work / name)

        descriptor = os.open(work, os.O_RDONLY | os.O_DIRECTORY)
        found = with_others(collect(descriptor, {}, home, LIMITS), replace)
        os.close(descriptor)
    assert sorted(found.snapshot) == sorted(made)


def test_a_file_to_which_code_adds_for_ever_is_taken_as_long_as_it_was(
    root: int, work: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its cell has no result before, and cannot be stopped any more."""
    (work / "log.txt").write_text("0123456789")
    read = os.read

    def read_and_add(descriptor: int, length: int) -> bytes:
        with (work / "log.txt").open("a") as log:
            log.write("more")
        return read(descriptor, length)

    monkeypatch.setattr(os, "read", read_and_add)
    found = at_once(collect(root, {}, home, LIMITS))
    assert [(taken.name, taken.size) for taken in found.taken] == [("log.txt", 10)]
    assert home.path_of(found.taken[0].sha256).read_text() == "0123456789"
