"""What `threadbook export` writes is loaded by `datasets`, every format of it, as whoever trains a model loads it."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE_S
from services import missing

TRAINING = Path(__file__).parents[2] / "training"

pytestmark = pytest.mark.process


@pytest.fixture
def exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """All formats of twelve threads, in two splits."""
    if importlib.util.find_spec("datasets") is None:
        missing("datasets", "it is not installed (pip install '.[dev]')")
    monkeypatch.syspath_prepend(str(TRAINING))
    from check_trl import write

    write(tmp_path)
    return tmp_path


def load(folder: Path) -> subprocess.CompletedProcess[str]:
    """Load the files in a process of its own, as this library leaves threads and caches behind."""
    command = [sys.executable, str(TRAINING / "loading.py"), str(folder)]
    environment = {"HF_HOME": str(folder / "cache"), "HOME": str(folder), "PATH": "/usr/bin:/bin"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=2 * PATIENCE_S)


def test_each_format_is_loaded_and_each_record_is_what_its_line_says(exported: Path) -> None:
    done = load(exported)
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert [line.partition(":")[0] for line in said] == ["sft", "preferences", "messages", "openai-jsonl", "sharegpt"]
    assert "columns ['messages', 'tools', 'thread', 'turn', 'votes', 'by_person']" in said[0]


def test_a_file_that_cannot_be_loaded_is_noticed(exported: Path) -> None:
    with open(exported / "sft.jsonl", "a", encoding="utf-8") as file:
        file.write('{"messages": [\n')
    assert load(exported).returncode != 0
