"""What a worker does once before it forks."""

from __future__ import annotations

from pathlib import Path

from core.settings import load_settings
from workers.prompts import load_prompts
from workers.rehearsal import rehearse


def test_a_rehearsal_needs_no_service_and_leaves_the_prompts_loaded(tmp_path: Path) -> None:
    load_prompts.cache_clear()
    rehearse(load_settings({"REDIS_URL": "redis://127.0.0.1:1", "THREADBOOK_HOME": str(tmp_path)}, cwd=tmp_path))
    assert load_prompts.cache_info().currsize == 1
    assert list(tmp_path.iterdir()) == []
