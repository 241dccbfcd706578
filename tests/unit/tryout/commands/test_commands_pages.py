"""`threadbook replay --html` writes the page of the last report; what cannot be written is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from turn_kit import ASKED, write_turn

from core.blobs import Blobs
from core.store import Store
from core.values import Lease, StoredFile
from tryout.commands import pages
from tryout.commands.pages import NoPage, write_page

PAGE = b"<!doctype html><p>It is 7.</p>"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(f"sqlite:///{tmp_path / 'threadbook.db'}")
    store.migrate()
    return store


def test_the_page_of_the_last_report_is_written(store: Store, tmp_path: Path) -> None:
    blobs, turn = Blobs(str(tmp_path / "files")), write_turn(store, [ASKED], "running")
    file = StoredFile(name="report.html", mimetype="text/html", size=len(PAGE), sha256=blobs.put(PAGE))
    lease = Lease(thread_id=turn.thread_id, token=store.raise_fence(turn.thread_id), owner="test")
    store.save_report(lease, turn.id, "It is 7.", [file])
    assert write_page(store, blobs, [turn], tmp_path / "a.html", None) == [tmp_path / "a.html"]
    assert (tmp_path / "a.html").read_bytes() == PAGE


def test_a_thread_without_a_page_is_told(store: Store, tmp_path: Path) -> None:
    turn = write_turn(store, [ASKED], "running")
    with pytest.raises(NoPage, match="No report with a page"):
        write_page(store, Blobs(str(tmp_path / "files")), [turn], tmp_path / "a.html", None)


def test_without_a_browser_the_way_around_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.chromium.shutil.which", lambda _: None)
    with pytest.raises(NoPage, match="open the page in a browser"):
        pages._print(PAGE)
