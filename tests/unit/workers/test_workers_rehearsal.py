"""What a worker does once before it forks."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.settings import load_settings
from core.store import Store
from core.values import ThreadKey
from workers.prompts import load_prompts
from workers.rehearsal import rehearse, rehearse_store


def test_a_rehearsal_needs_no_service_and_leaves_the_prompts_loaded(tmp_path: Path) -> None:
    load_prompts.cache_clear()
    rehearse(load_settings({"REDIS_URL": "redis://127.0.0.1:1", "THREADBOOK_HOME": str(tmp_path)}, cwd=tmp_path))
    assert load_prompts.cache_info().currsize == 1
    assert list(tmp_path.iterdir()) == []


def test_what_was_rehearsed_with_the_store_leaves_nothing_in_it(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path / 'rehearsed.db'}")
    store.migrate()
    rehearse_store(store)
    rehearse_store(store)
    assert not store.knows_thread(ThreadKey("rehearsal", "rehearsal", "1.000001"))
    assert store.threads_needing_a_wake() == []
    store.close()


def test_what_was_rehearsed_with_the_store_is_not_put_into_sql_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(f"sqlite:///{tmp_path / 'rehearsed.db'}")
    store.migrate()
    rehearse_store(store)
    dialect = store._db._engine.dialect
    compiler, compiled = dialect.statement_compiler, []

    def counting(*given: object, **more: object) -> object:
        compiled.append(given[1])
        return compiler(*given, **more)

    monkeypatch.setattr(dialect, "statement_compiler", counting)
    thread = "T1:C1:1.000001"
    store.current_turn(thread)
    store.unread(thread)
    store.line(thread)
    store.outbox_get("a key")
    assert compiled == []
    store.packed(thread)
    store.knows_thread(ThreadKey.parse(thread))
    assert len(compiled) == 1, "only what no turn asks is new"
    store.close()
