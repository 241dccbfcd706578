"""Bounding and cleaning of text that others wrote: people, models, cells."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import Final

from core.hidden_characters import with_carriers_shown

CHARS_PER_TOKEN: Final = 4
"""Characters per token in English and code. Each character that is not ASCII counts as one token."""
KEY_MARK: Final = "→"
"""Begins the line of a cell's output that the model names as its key line."""

_THOUGHTS = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_THOUGHTS_BEFORE = re.compile(r"\A.*</(?:think|thinking|reasoning)>[ \t]*(?:\n|\Z)", re.DOTALL | re.IGNORECASE)
"""Thoughts without their opening tag: chat templates put it into the prompt, so the reply has only the closing one."""
_HEAD_SHARE = 0.6
"""A cut text keeps this part as its head. The first error and the column names are at the top, the final figures at the
end."""


def clean(text: str) -> str:
    """The text without what cannot be stored or sent: lone surrogates (broken escapes in JSON) and NULs."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "")


def plain_letters(text: str) -> str:
    """The text in small letters without accents, for names of files: "Größe é" → "grosse e"."""
    return "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))


def without_thoughts(text: str) -> str:
    """A model's reply without the thoughts that its server left in the text."""
    return _THOUGHTS_BEFORE.sub("", _THOUGHTS.sub("", text))


def tokens_in(text: str) -> int:
    """How many tokens a text takes, by our estimate. It uses no model's tokenizer, because it must serve any model."""
    return -(-weight(text) // CHARS_PER_TOKEN)


def weight(text: str) -> int:
    """The length of a text as the limits of a prompt count it: `CHARS_PER_TOKEN` for each of its tokens."""
    plain = len(text.encode("ascii", "ignore"))
    return plain + CHARS_PER_TOKEN * (len(text) - plain)


def one_line(text: str, limit: int) -> str:
    """The text on one line of at most `limit` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: max(limit - 1, 0)].rstrip() + "…"


def last_line(text: str) -> str:
    """The last line that is not blank, "" when there is none."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


def shown_line(stdout: str, result: str) -> str:
    """The line of a cell's output that stands for all of it: the last one with `KEY_MARK` in front, else the last that
    `help()` did not print."""
    marked = (line.strip() for line in reversed(stdout.splitlines()))
    key = next((line[1:].strip() for line in marked if line.startswith(KEY_MARK) and line[1:].strip()), "")
    return key or last_line(_HELP.sub("", stdout)) or last_line(result)


def spoken_line(stdout: str, result: str) -> str:
    """`shown_line` for people: a row of a table, or the heading above it, stands for nothing without the others. So it
    is the last line that is neither; "" when there is none."""
    printed = [line.strip() for line in _HELP.sub("", stdout or result).splitlines() if line.strip()]
    lines, line = _without_index_names(_without_series(printed)), shown_line(stdout, result)
    if line not in printed or (line in lines and (len(lines) < 2 or not _is_of_table(line))):
        return line
    return next((each for each in reversed(lines) if not _is_of_table(each)), "")


def _without_series(lines: list[str]) -> list[str]:
    """The lines without each series of pandas: the line on its type, the rows above it, a name and a value each, and
    the one word that names them."""
    found: list[str] = []
    for line in lines:
        if _TYPE.search(line):
            while found and _GAP.search(found[-1]):
                found.pop()
            if found and " " not in found[-1]:
                found.pop()
        elif not _SIZE.fullmatch(line):
            found.append(line)
    return found


def _without_index_names(lines: list[str]) -> list[str]:
    """The lines without the one word between a table's heading and its first row: the name of its index. A number there
    is none."""
    return [
        line
        for at, line in enumerate(lines)
        if " " in line
        or _NUMBER.match(line)
        or not (0 < at < len(lines) - 1 and all(map(_has_columns, (lines[at - 1], lines[at + 1]))))
    ]


def _is_of_table(line: str) -> bool:
    return _has_columns(line) or line.endswith((":", "："))


def _has_columns(line: str) -> bool:
    return len(_GAP.findall(line)) > 1


_TYPE = re.compile(r"^(?:(?:Freq|Name|Length): .*, )?dtype: \w+$")
_SIZE = re.compile(r"\[\d+ rows x \d+ columns\]")
_NUMBER = re.compile(r"[-+−$€£¥]{0,3}\d")
_GAP = re.compile(r"\S {2,}(?=\S)")
_HELP = re.compile(r"^Help on .+\n(?:(?:    .*|\w+\(.*|[ \t]*)(?:\n|\Z))*", re.MULTILINE)
_WARNING = re.compile(r"^(?:\S*[/\\])?([\w.-]+\.py):\d+: (?=\w+Warning: )")


def without_repeats(stderr: str) -> str:
    """What a cell wrote to stderr with each warning told once, by the name of its file and how often it came.

    Libraries warn once for each call: fifteen times the same, with paths of the machine.
    """
    blocks: list[list[str]] = []
    for line in stderr.splitlines():
        if blocks and line[:1].isspace() and _WARNING.match(blocks[-1][0]):
            blocks[-1].append(line)
        else:
            blocks.append([line])
    texts = ["\n".join([_WARNING.sub(r"\1: ", block[0]), *block[1:]]) for block in blocks]
    counts = Counter(text for text, block in zip(texts, blocks, strict=True) if _WARNING.match(block[0]))
    told = [text for place, text in enumerate(texts) if text not in counts or texts.index(text) == place]
    return "\n".join(f"{text}\n({counts[text]} times)" if counts[text] > 1 else text for text in told)


_LEAST_LEFT_OUT = 60
"""Characters of the shortest line that stands for what is left out."""


def clip(text: str, limit: int, advice: str = "") -> str:
    """The text, or its head and tail with a line between them that says how much is missing, with an `advice`.

    That line has at most 120 characters and comes on top of `limit`. Less than such a line is not left out.
    """
    if len(text) <= limit + _LEAST_LEFT_OUT:
        return text
    head = text[: int(limit * _HEAD_SHARE)]
    tail = text[len(text) - (limit - len(head)) :]
    if (border := head.rfind("\n")) > len(head) // 2:
        head = head[:border]
    if 0 <= (border := tail.find("\n")) < len(tail) // 2:
        tail = tail[border + 1 :]
    left_out = text[len(head) : len(text) - len(tail)]
    lines = left_out.count("\n")
    size = f"{len(left_out):,} characters" + (f" ({lines:,} lines)" if lines > 1 else "")
    return f"{head}\n[… {size} left out here{advice} …]\n{tail}"


def shares(lengths: list[int], total: int) -> list[int]:
    """How many characters each of several texts may keep of `total`: short ones stay whole, long ones share the
    rest."""
    granted = [0] * len(lengths)
    rest, waiting = total, sorted(range(len(lengths)), key=lambda i: lengths[i])
    for position, index in enumerate(waiting):
        granted[index] = min(lengths[index], max(rest, 0) // (len(waiting) - position))
        rest -= granted[index]
    return granted


def quoted(text: str) -> str:
    """The text as a Markdown quotation, so that nothing in it looks like a heading or a fence of ours."""
    lines = with_carriers_shown(text).splitlines() or [""]
    return "\n".join(f"> {line}" if line else ">" for line in lines)


_TAG = re.compile(r"<(?=\s*/?\s*(?:stdout|stderr|result|error|variables|diff|python|text)\s*>)", re.IGNORECASE)


def fenced_off(tag: str, text: str) -> str:
    """The text between <tag> lines. Tags of ours inside it are escaped in every spelling that a model may take for one,
    so output cannot end its own block."""
    return "\n".join((f"<{tag}>", _TAG.sub("<\u200b", with_carriers_shown(text.rstrip())), f"</{tag}>"))
