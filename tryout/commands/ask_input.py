"""What `threadbook ask` is given beside its arguments: a question on standard input, the files of a folder."""

from __future__ import annotations

import sys
from pathlib import Path

QUESTION_CHARS = 12_000
"""Slack takes no longer message."""
MOST_FILES = 10
"""Slack takes no more files in one message."""


class BadInput(ValueError):
    """What was given cannot be asked; the message says what to do."""


def question(given: str) -> str:
    """The question, read from standard input for `-`. Raises BadInput."""
    if given != "-":
        return given
    try:
        text = sys.stdin.buffer.read(4 * QUESTION_CHARS + 1).decode("utf-8").strip()
    except UnicodeDecodeError:
        raise BadInput("standard input is not text in UTF-8; attach a file with --file") from None
    if not text:
        raise BadInput("standard input holds no question")
    if len(text) > QUESTION_CHARS:
        raise BadInput(f"a question has at most {QUESTION_CHARS:,} characters; attach the rest with --file")
    return text


def files_in(folder: Path) -> list[Path]:
    """The files of a folder by name, without hidden ones. Raises BadInput when there are none, or too many."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    if not files:
        raise BadInput(f"{folder} has no files")
    if len(files) > MOST_FILES:
        raise BadInput(f"{folder} has {len(files)} files, one message takes {MOST_FILES}: name them with --file")
    return files
