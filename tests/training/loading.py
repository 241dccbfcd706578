"""Loads what `threadbook export` wrote by `datasets`, and compares each record with the line of its file.

    python loading.py FOLDER

Needs datasets and nothing of Threadbook; nothing is fetched. Ends with 1 when a file cannot be loaded.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
os.environ.setdefault("HF_HOME", tempfile.mkdtemp(prefix="trainers-"))

import datasets

FORMATS = ("sft", "preferences", "messages", "openai-jsonl", "sharegpt")


def load_all(folder: Path) -> dict[str, datasets.DatasetDict]:
    """Each format that stands in `folder`. Raises what goes wrong."""
    datasets.disable_progress_bars()
    return {name: load(folder, name) for name in FORMATS}


def load(folder: Path, name: str) -> datasets.DatasetDict:
    """Both splits of a format by `datasets`; what it read is what the file says."""
    files = {"train": str(folder / f"{name}.jsonl"), "test": str(folder / f"{name}.test.jsonl")}
    found = datasets.load_dataset("json", data_files=files)
    for split, file in files.items():
        lines = [json.loads(line) for line in Path(file).read_text("utf-8").splitlines()]
        assert len(lines) == len(found[split]) > 0, f"{file}: {len(lines)} lines, {len(found[split])} records"
        for line, record in zip(lines, found[split], strict=True):
            assert same(line, record), f"{file}: a record is not what its line says"
    print(f"{name}: {len(found['train'])} + {len(found['test'])} records, columns {found['train'].column_names}")
    return found


def same(line: Any, record: Any) -> bool:
    """Whether a loaded value is the written one; a table has nothing (None) where a line lacks a key."""
    if isinstance(line, dict) and isinstance(record, dict):
        return all(same(line.get(key), record.get(key)) for key in {*line, *record})
    if isinstance(line, list) and isinstance(record, list):
        return len(line) == len(record) and all(map(same, line, record))
    return bool(line == record)


if __name__ == "__main__":
    load_all(Path(sys.argv[1]))
