"""The entry: describe these files, print one JSON document between two marks."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Sequence
from typing import Any

from .apart import apart
from .bounds import Bounds
from .formats import describe_file
from .frames import cut
from .kinds import Unusable

_NARROWER = ((60, 10, 5, 2_000), (60, 5, 3, 1_000), (40, 3, 2, 400), (20, 2, 1, 200), (8, 1, 0, 80), (0, 0, 0, 0))
"""Columns, first rows, samples and characters of text, for an answer that would be too long."""


def main(paths: Sequence[str], mark: str, bounds: Bounds) -> None:
    """Print the answer. A file that cannot be described is a problem in it, never an exception."""
    import pandas  # noqa: F401, PLC0415 - here, inside the sandbox: an import by a fork is lost with the fork

    until = time.monotonic() + bounds.total_seconds
    answer: dict[str, Any] = {"files": []}
    for place, path in enumerate(paths):
        left = max(1.0, until - time.monotonic())
        seconds = min(bounds.seconds, max(left / 2, left / (len(paths) - place)))
        answer["files"].append(_described_apart(path, bounds, seconds))
    text = shortened(answer, bounds.answer)
    sys.stdout.write(f"\n{mark}\n{text}\n{mark}\n")
    sys.stdout.flush()


def _described_apart(path: str, bounds: Bounds, seconds: float) -> dict[str, Any]:
    """What `describe` says, from a process of its own: a hostile file cannot harm the session or the other files."""
    try:
        return {"path": path} | apart(lambda: describe(path, bounds), bounds, seconds)
    except Unusable as reason:
        return {"path": path, "problem": {"code": reason.code, "values": reason.values}}
    except OSError as error:
        # no process left to fork, or no descriptor
        return {"path": path, "problem": {"code": "corrupt", "values": {"detail": cut(error, 160)}}}


def describe(path: str, bounds: Bounds) -> dict[str, Any]:
    """What is known of one file: {"path", "size", "sha256", "about"} or {"path", "problem"}."""
    try:
        size = os.path.getsize(path)
        about = describe_file(path, bounds)
        about["notes"] = about.get("notes", [])[: bounds.notes]
        return {"path": path, "size": size, "sha256": _sha256(path), "about": about}
    except Unusable as reason:
        values = {name: cut(value, bounds.name) for name, value in reason.values.items()}
        return {"path": path, "problem": {"code": reason.code, "values": values}}
    except FileNotFoundError:
        return {"path": path, "problem": {"code": "vanished", "values": {}}}
    except (MemoryError, RecursionError) as error:
        detail = "memory" if isinstance(error, MemoryError) else "nested too deeply"
        return {"path": path, "problem": {"code": "too_much", "values": {"detail": detail}}}
    except Exception as error:
        # a hostile file makes its reader raise anything: only this file gets a problem
        detail = f"{type(error).__name__}: {cut(error, 160)}"
        return {"path": path, "problem": {"code": "corrupt", "values": {"detail": detail}}}


def shortened(answer: dict[str, Any], limit: int) -> str:
    """The answer as JSON of at most about `limit` characters. Every file keeps its line; each line says less."""
    text = _dump(answer)
    for columns, rows, samples, characters in _NARROWER:
        if len(text) <= limit:
            break
        for about in (file["about"] for file in answer["files"] if "about" in file):
            about["text"] = about.get("text", "")[:characters]
            for table in about.get("tables", ()):
                dropped = table["columns"][columns:]
                table["more_columns"] += len(dropped)
                table["more_names"] = [column["name"] for column in dropped] + table["more_names"]
                table["more_names"] = table["more_names"][: columns * 20]
                table["columns"] = table["columns"][:columns]
                table["head"] = table["head"][: rows + 1] if rows else []
                for column in table["columns"]:
                    column["samples"] = column["samples"][:samples]
                    column["levels"] = column["levels"][: 4 * samples]
        text = _dump(answer)
    return text


def _dump(answer: dict[str, Any]) -> str:
    return json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace").decode()


def _sha256(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
