"""What contract tests share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.integration)])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database of the test's own, on each kind that the Store supports."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/deeper/store.db"
    return str(request.getfixturevalue("postgres_url"))
