"""Files out of a model's reply, also when their code holds fences itself.

We ask for each file between fences of six backticks, with the line `File: NAME` before it. Models often write three. A
line of three backticks inside the code would then end the file too early. So we take the last line that could close the
fence and leaves a file that can be parsed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from workers.agent.text import without_thoughts
from workers.builder.requirements.languages import Language

FENCE = "``````"
MOST_BLOCKS, MOST_ENDS = 60, 40
"""Limits for one reply: blocks that are read, and places where a block may end. A reply with more is not an answer."""
_OPENING = re.compile(r"^[ \t]{0,3}(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^\n`]*)$")
_LABEL = re.compile(
    r"(?:file|path|filename)\s*[:=]\s*[`\"']?(?P<path>[\w./-]+)|^[#*`\s]*(?P<bare>[\w/-]+\.\w{1,12})[`*:\s]*$", re.I
)


def files_of(reply: str, wanted: Sequence[str], language: Language, reads: Callable[[str], bool]) -> Mapping[str, str]:
    """The wanted files that the reply holds, by name. `reads` says whether a text is code of the language.

    One wanted file may come without its name. A reply that is nothing but code counts as the file.
    """
    text = without_thoughts(reply.replace("\r\n", "\n").replace("\r", "\n"))
    lines = text.split("\n")
    found: dict[str, str] = {}
    unnamed: list[tuple[bool, str]] = []
    at = 0
    blocks = 0
    while at < len(lines) and blocks < MOST_BLOCKS:
        opening = _OPENING.match(lines[at])
        if opening is None:
            at += 1
            continue
        blocks += 1
        end, body = _block(lines, at, opening["fence"], reads)
        path = _named(lines, at, opening["info"], wanted)
        word = re.split(r"[\s{:,]", opening["info"].strip().casefold() or " ")[0]
        if path is not None:
            found[path] = body
        elif body.strip():
            unnamed.append((word in language.fence_words, body))
        at = end + 1
    missing = [path for path in wanted if path not in found]
    if len(missing) == 1 and unnamed:
        in_language = [body for fits, body in unnamed if fits]
        found[missing[0]] = max(in_language or [body for _, body in unnamed], key=len)
    if not found and not unnamed and len(wanted) == 1 and text.strip() and "\n" in text.strip() and reads(text):
        found[wanted[0]] = text.strip("\n") + "\n"
    return found


def quoted(text: str, word: str = "") -> str:
    """The text between fences that are longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(len(FENCE), longest + 1)
    return f"{fence}{word}\n{text.rstrip(chr(10))}\n{fence}"


def _block(lines: list[str], start: int, fence: str, reads: Callable[[str], bool]) -> tuple[int, str]:
    """Where the block that opens at `start` ends, and its text."""
    ends = list(_ends(lines, start, fence))
    if not ends:  # cut off, or a model that forgot to close it
        return len(lines), _joined(lines[start + 1 :])
    if len(ends) > 1 and len(fence) < len(FENCE):
        for end in reversed(ends[-MOST_ENDS:]):
            if reads(body := _joined(lines[start + 1 : end])):
                return end, body
    return ends[0], _joined(lines[start + 1 : ends[0]])


def _ends(lines: list[str], start: int, fence: str) -> Iterator[int]:
    """Lines that could close the fence, up to the next line that names another file."""
    closing = re.compile(rf"^[ \t]{{0,3}}{re.escape(fence[0])}{{{len(fence)},}}[ \t]*$")
    for at in range(start + 1, len(lines)):
        if closing.match(lines[at]):
            yield at
        elif lines[at].startswith("File: "):
            return


def _named(lines: list[str], at: int, info: str, wanted: Sequence[str]) -> str | None:
    """The wanted file that an opening fence is of: named behind the fence, or in one of the two lines before it."""
    before = [line for line in lines[max(0, at - 3) : at] if line.strip()][-1:]
    for text in (info, *before):
        for match in _LABEL.finditer(text.strip()):
            path = (match["path"] or match["bare"] or "").removeprefix("./").strip(".")
            if path in wanted:
                return path
        if word := next((path for path in wanted if path in text.split()), None):
            return word
    return None


def _joined(lines: list[str]) -> str:
    text = "\n".join(lines).strip("\n")
    return text + "\n" if text else ""
