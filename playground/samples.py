"""Questions with files that an empty channel offers: one click posts them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Sample:
    """A question to the bot, and the files that come with it."""

    question: str
    files: tuple[Path, ...]


def sample_from(text: str) -> Sample:
    """A sample as it is written on the command line: `path,path=question`. Raises ValueError for anything else."""
    names, mark, question = text.partition("=")
    files = tuple(Path(name) for name in names.split(",") if name)
    if not mark or not question.strip() or not files:
        raise ValueError(f"a sample is written as path,path=question, not as {text!r}")
    for file in files:
        if not file.is_file():
            raise ValueError(f"the sample file {file} does not exist")
    return Sample(question.strip(), files)
