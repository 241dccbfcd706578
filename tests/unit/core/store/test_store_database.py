"""A database that is away is one error of ours, whichever it is."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from sqlalchemy.exc import SQLAlchemyError

from core.errors import OursToFix
from core.store import Store, StoreUnreachable


def nobody_listens() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"postgresql://threadbook@127.0.0.1:{taken.getsockname()[1]}/threadbook"


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_database_that_is_away_is_named_as_such(kind: str, tmp_path: Path) -> None:
    (tmp_path / "folder.db").mkdir()
    store = Store(nobody_listens() if kind == "postgres" else f"sqlite:///{tmp_path}/folder.db")
    with pytest.raises(StoreUnreachable) as away:
        store.unread("T1:C1:1.0")
    assert isinstance(away.value, OursToFix)
    assert isinstance(away.value, SQLAlchemyError)
    store.close()
