"""What is written to the Store stands in the file at its place, whatever becomes of that file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from turn_kit import message

from core.store import Store, StoreUnreachable

TS = "1712345678.000100"
THREAD = f"T1:C1:{TS}"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home" / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with closing(opened(path)) as found:
        found.migrate()
        yield found


def opened(path: Path) -> Store:
    return Store(f"sqlite:///{path}")


def test_nothing_is_written_to_a_file_that_was_moved_away(store: Store, path: Path) -> None:
    away = path.parent.rename(path.parents[1] / "away")
    for act in (lambda: store.record_message(message("C1", TS)), store.check_writes):
        with pytest.raises(StoreUnreachable):
            act()
    assert not path.exists(), "an empty Store would hide that the file is gone"
    away.rename(path.parent)
    store.record_message(message("C1", TS))
    with closing(opened(path)) as another:
        assert another.purgeable(thread_id=THREAD) == [THREAD]


def test_nothing_is_written_to_a_file_that_was_deleted(store: Store, path: Path) -> None:
    path.unlink()
    with pytest.raises(StoreUnreachable):
        store.record_message(message("C1", TS))


def test_after_a_restore_the_file_at_the_place_is_used(store: Store, path: Path) -> None:
    with closing(opened(path.with_name("backup.db"))) as backup:
        backup.migrate()
    for part in path.parent.glob(f"{path.name}*"):
        part.unlink()
    path.with_name("backup.db").rename(path)
    store.record_message(message("C1", TS))
    with closing(opened(path)) as another:
        assert another.purgeable(thread_id=THREAD) == [THREAD]


def test_a_place_whose_name_has_special_letters_is_found_again(tmp_path: Path) -> None:
    path = tmp_path / "a %20#b" / "store.db"
    with closing(opened(path)) as store:
        store.migrate()
        store.close()
        store.check_writes()
