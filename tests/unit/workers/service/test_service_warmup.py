"""What a worker does once before it forks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE_S

from core import phrases
from core.settings import load_settings
from core.store import Store
from core.values import ThreadKey
from workers.service.warmup import warm_up, warm_up_store
from workers.turn.prompts import load_prompts


def test_a_warm_up_needs_no_service_and_leaves_the_prompts_loaded(tmp_path: Path) -> None:
    load_prompts.cache_clear()
    warm_up(load_settings({"REDIS_URL": "redis://127.0.0.1:1", "THREADBOOK_HOME": str(tmp_path)}, cwd=tmp_path))
    assert load_prompts.cache_info().currsize == 1
    assert list(tmp_path.iterdir()) == []


def test_a_warm_up_makes_no_template_of_a_phrase_that_few_turns_say(tmp_path: Path) -> None:
    phrases._template.cache_clear()
    warm_up(load_settings({"REDIS_URL": "redis://127.0.0.1:1", "THREADBOOK_HOME": str(tmp_path)}, cwd=tmp_path))
    assert 0 < phrases._template.cache_info().currsize < len(phrases.phrases())


@pytest.mark.process
def test_an_installation_without_an_endpoint_never_reads_the_client_of_one() -> None:
    """It is half a second of each start, and 20 MB of each worker service."""
    asked = "import sys, workers.service.supervisor; print('openai' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    assert done.stdout.strip() == "False"


def test_a_warm_up_leaves_nothing_in_the_store(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path / 'store.db'}")
    store.migrate()
    warm_up_store(store)
    warm_up_store(store)
    assert not store.knows_thread(ThreadKey("warm-up", "warm-up", "1.000001"))
    assert store.threads_needing_a_wake() == []
    store.close()


def test_a_statement_of_a_turn_is_compiled_by_the_warm_up_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(f"sqlite:///{tmp_path / 'store.db'}")
    store.migrate()
    store._database._engine.update_execution_options(compiled_cache={})  # what other tests asked is new here
    warm_up_store(store)
    dialect = store._database._engine.dialect
    compiler, compiled = dialect.statement_compiler, []

    def counting(*given: object, **more: object) -> object:
        compiled.append(given[1])
        return compiler(*given, **more)

    monkeypatch.setattr(dialect, "statement_compiler", counting)
    thread = "T1:C1:1.000001"
    store.current_turn(thread)
    store.unread(thread)
    store.wait_queue()
    store.outbox_get("a key")
    assert compiled == []
    store.exported_session(thread)
    assert compiled == []
    store.has_left(ThreadKey.parse(thread))
    assert len(compiled) == 1, "only what no turn asks is new"
    store.close()
