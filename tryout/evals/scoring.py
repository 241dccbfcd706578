"""Compares a report with what a right answer holds. Pure: no model, no file, no clock."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Literal

from tryout.evals.suite import Gold

Outcome = Literal["right", "wrong", "declined", "untagged", "skipped", "error"]
"""`wrong`: another value, said with confidence. `declined`: the analyst says that it has no answer, asks back, or gives
up. `untagged`: a report without the tags that were asked for. `skipped`: a rubric and no model to judge by it. `error`:
the question could not be asked."""
SCORED: tuple[Outcome, ...] = ("right", "wrong", "declined", "untagged")
End = Literal["report", "partial", "question", "gave up"]

_TAG = re.compile(r"@\s*(?P<name>[A-Za-z_]\w{0,79})\s*\[")
_NUMBER = re.compile(
    r"(?<![\w.,])[-+\u2212]?(?:\d{1,3}(?:[ \u00a0\u202f,'\u2019]\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d{1,3})?"
)
_UNKNOWN = re.compile(
    r"not (?:in|available|given|stated|contained|recorded|known)|(?:does|do) not (?:say|contain|tell|have|include)"
    r"|cannot be (?:answered|determined|said|known|computed)|unknown|^n/?a$|^none$"
    r"|no (?:such )?(?:data|column|information)"
    r"|没有|无法|未提供|不包含|不在数据|缺少|未知",
    re.IGNORECASE,
)
_METHOD = re.compile(r"^#{1,4}\s*(?:method|how it was|assumptions|limits|方法|局限)", re.IGNORECASE | re.MULTILINE)
_DASHES = str.maketrans({"\u2212": "-", "\u2013": "-", "\u2014": "-"})


def tags(report: str) -> dict[str, str]:
    """The values of `@name[value]` in a report; of a name that is there twice, the last. Brackets may nest.

    Emphasis, code marks and escapes of Markdown around and inside a value do not count.
    """
    found: dict[str, str] = {}
    for match in _TAG.finditer(report.replace("\\[", "[").replace("\\]", "]").replace("\\_", "_")):
        value = _until_closed(match.string[match.end() : match.end() + 10_000])
        if value is not None:
            found[match["name"]] = value.strip().strip("*`\"'").strip()
    return found


def _until_closed(text: str) -> str | None:
    depth = 1
    for place, char in enumerate(text):
        depth += (char == "[") - (char == "]")
        if not depth:
            return text[:place]
    return None


def number_in(text: str) -> float | None:
    """The number that a value is, with thousands marks, a currency or a unit around it; None when it is none.

    A percent sign is left away: "12.5%" is 12.5.
    """
    plain = unicodedata.normalize("NFKC", text).translate(_DASHES).strip()
    found = list(_NUMBER.finditer(plain))
    if len(found) != 1:
        return None
    rest = plain[: found[0].start()] + plain[found[0].end() :]
    return None if re.search(r"\d", rest) else _value(found[0].group())


def matches(gold: Gold, given: str) -> bool:
    """Whether a given value is the right one."""
    if gold.unknown:
        return says_unknown(given)
    if isinstance(gold.value, float):
        number = number_in(given)
        # The tolerance is inclusive: 2.675 and 2.68 differ by half a cent, give or take an ulp.
        return number is not None and abs(number - gold.value) <= gold.tolerance + 1e-9 * max(1.0, abs(gold.value))
    return _plain(given) == _plain(gold.value)


def says_unknown(text: str) -> bool:
    """Whether a value says that the data does not tell it."""
    return bool(_UNKNOWN.search(text.strip()))


def score_tags(report: str, end: End, golds: Mapping[str, Gold]) -> tuple[Outcome, dict[str, str]]:
    """The outcome by the report's tags, and the values that were given. All tags must be right."""
    given = {name: value for name, value in tags(report).items() if name in golds}
    if set(given) == set(golds):
        if all(matches(gold, given[name]) for name, gold in golds.items()):
            return "right", given
        withheld = all(matches(gold, given[name]) or says_unknown(given[name]) for name, gold in golds.items())
        return ("declined" if withheld else "wrong"), given
    return ("declined" if end != "report" else "untagged"), given


def score_plain(report: str, end: End, golds: Mapping[str, Gold]) -> tuple[Outcome, dict[str, str]]:
    """The outcome of a report without tags: are all values in its answer, as precise as they are shown there?

    For an analyst that does not know tags. What stands under "Method" and below is no answer.
    """
    if end != "report":
        return "declined", {}
    if all(gold.unknown for gold in golds.values()):
        return ("right" if says_unknown(report) else "wrong"), {}
    answer = _METHOD.split(report)[0]
    return ("right" if all(_shown(gold, answer) for gold in golds.values()) else "wrong"), {}


def _shown(gold: Gold, answer: str) -> bool:
    if isinstance(gold.value, str):
        return _plain(gold.value) in _plain(answer)
    text = unicodedata.normalize("NFKC", answer).translate(_DASHES)
    for match in _NUMBER.finditer(text):
        written = match.group()
        half = 0.5 * 10 ** -len(written.partition(".")[2].split("e")[0])
        near = max(gold.tolerance, half) if abs(gold.value) >= 1 or half < 0.1 else gold.tolerance
        if any(abs(abs(_value(written)) - abs(gold.value) * scale) <= near + 1e-9 for scale in _scales(match, text)):
            return True
    return False


def _scales(match: re.Match[str], text: str) -> tuple[float, ...]:
    """A share may be shown in percent."""
    return (1.0, 100.0) if text[match.end() : match.end() + 2].lstrip().startswith("%") else (1.0,)


def _value(written: str) -> float:
    return float(re.sub(r"[ \u00a0\u202f,'\u2019]", "", written).replace("\u2212", "-"))


def _plain(text: str) -> str:
    """The text without case, width, blanks at its ends, and marks of Markdown."""
    folded = unicodedata.normalize("NFKC", text).translate(_DASHES).casefold()
    return " ".join(re.sub(r"[*`\"'“”‘’]", "", folded).split()).rstrip(".")
