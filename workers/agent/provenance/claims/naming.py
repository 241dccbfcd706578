"""The names of the outputs, and where a text names them: labels of rows and columns, in the forms that people write."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from workers.agent.provenance.language.numerals import Day, scan_days
from workers.agent.provenance.language.words import NOT_IN_PROSE, Key, key_of, tokens
from workers.agent.provenance.outputs.facts import Family, Label
from workers.agent.provenance.outputs.grids import label_of

LONGEST = 10
"""Words of a label that are looked for in a text."""
_INFLECTED = 5
"""Other forms are known only for names with at least this many characters."""


class Mention(NamedTuple):
    """A label, or a date, that the report names at this place."""

    start: int
    end: int
    label: Label


def place_of(mention: Mention) -> tuple[int, int]:
    """Where a mention stands. A label and a date at one place cannot be compared."""
    return mention.start, mention.end


class Names:
    """The labels of these families."""

    def __init__(self, families: Iterable[Family]) -> None:
        self._labels: set[Key] = set()
        self._codes: set[Key] = set()
        """Labels such as US, IT and IN, which are common words in small letters."""
        self._forms: dict[Key, Key] = {}
        """Other forms of labels: "Inneren" for "Innere"."""
        for family in families:
            for label, shown in family.labels.items():
                if not isinstance(label, Day):
                    self._add(label, shown, may_be_code=not family.columns)
        self._longest: dict[str, int] = defaultdict(int)
        """The length of the longest label, in words, by its first word. Most words of a report begin no label."""
        for key in (*self._labels, *self._forms):
            if key:
                self._longest[key[0]] = max(self._longest[key[0]], min(len(key), LONGEST))

    def _add(self, label: Key, shown: str, *, may_be_code: bool) -> None:
        if may_be_code and _CODE.fullmatch(shown.strip()):
            self._codes.add(label)
        self._labels.add(label)
        for form in (*inflected(label), *_joined(label, shown), *_without_bracket(shown)):
            self._forms.setdefault(form, label)

    def whole(self, names: Sequence[tuple[int, int, str]]) -> Iterator[Mention]:
        """Those of these texts, with their places, that are a label or a date as they stand."""
        for start, end, name in names:
            label = label_of(name)
            if label and (isinstance(label, Day) or label in self._labels):
                yield Mention(start, end, label)

    def find(self, text: str, *, prose: bool) -> list[Mention]:
        """Where a text names a label or a date. `prose`: a label that is a common word too has to be written as one."""
        words = tokens(text)
        dates = scan_days(text)
        found = [Mention(one.start, one.end, one.day) for one in dates]
        taken = [(one.start, one.end) for one in dates]
        at = 0
        while at < len(words):
            step = 1
            for length in range(min(self._longest.get(words[at][2], 0), len(words) - at), 0, -1):
                key = tuple(word for _, _, word in words[at : at + length])
                key = key if key in self._labels else self._forms.get(key, key)
                if key not in self._labels:
                    continue
                start, end = words[at][0], words[at + length - 1][1]
                is_code = key in self._codes and _is_code(text, start, end)
                if prose and not is_code and not _stands_alone(text, start, end, key):
                    continue
                if any(a <= start < b for a, b in taken) and length == 1:
                    continue
                if length > 1 and re.search(r"[\n|]", text[start:end]):
                    continue
                found.append(Mention(start, end, key))
                step = length
                break
            at += step
        return sorted(found, key=place_of)


def inflected(label: Key) -> Iterator[Key]:
    """The forms that a German name takes: "die Innere", "in der Inneren"; "Bewerbung", "Bewerbungen"; "Kanal",
    "Kanälen"."""
    last = label[-1] if label else ""
    if len(last) >= _INFLECTED - 1 and (vowel := _LAST_VOWEL.search(last)):
        plural = f"{last[: vowel.start()]}{vowel[0][0].translate(_UMLAUTS)}{last[vowel.start() + 1 :]}"
        yield from ((*label[:-1], f"{plural}{end}") for end in ("", "e", "en", "er", "ern", "n"))
    if len(last) >= _INFLECTED and last.isalpha():
        ends = ("n", "r", "s", "m") if last.endswith("e") else ("en", "e", "n")
        yield from ((*label[:-1], f"{last}{end}") for end in ends)


_LAST_VOWEL = re.compile(r"(?:au|[aou])(?=[b-df-hj-np-tv-zß]+$)|[aou](?=[b-df-hj-np-tv-z]+e[nlr]$)")
_UMLAUTS = str.maketrans("aou", "äöü")


def _without_bracket(shown: str) -> Iterator[Key]:
    """What a sentence writes of "Delivery (delay, parcel)": the words before the bracket."""
    name, bracket, _ = shown.partition("(" if "(" in shown else "（")
    short = key_of(name)
    if bracket and len("".join(short)) >= _INFLECTED and not any(map(str.isdigit, name)):
        yield short


_LIST = re.compile(r"[,、]")


def _joined(label: Key, shown: str) -> Iterator[Key]:
    """How a sentence writes a label: "level, department and tenure", "华南的手机" for "华南/手机", department for
    "C(department)" of a formula, warnings for the level WARN."""
    if _LIST.search(shown):
        yield from ((*label[:-1], word, label[-1]) for word in ("and", "und", "y", "et"))
    first, mark, rest = shown.partition("/")
    if mark and not shown.isascii():
        yield (*key_of(first), "的", *key_of(rest))
    if label[:1] == ("c",) and "C(" in shown:
        yield label[1:]
    if len(label) == 1 and len(shown) >= _INFLECTED - 1 and shown.isupper() and shown.isascii():
        yield (f"{label[0]}ing",)


def _stands_alone(text: str, start: int, end: int, key: Key) -> bool:
    """Whether a label in prose is surely meant: it is no common word, and no single letter that is something else."""
    word = text[start:end]
    if len(key) == 1 and key[0].isdigit() and text[end : end + 1] in ("+", "＋"):
        return True  # the band "65+"
    if len(key) == 1 and (key[0] in NOT_IN_PROSE or key[0].isdigit()):
        return key[0] == "a" and word == "A" and _is_marked(text, start, end)
    if len(word) == 1 and word.isascii():
        return word.isupper() and _is_marked(text, start, end)
    if word.islower() and word.isascii() and word.isalpha() and len(word) <= 2:
        return False
    return text[end : end + 1] != "%"


_CODE = re.compile(r"[A-Z]{2}")
_BEHIND_NUMBER = re.compile(r"\d\s?$")
_AROUND = 40
"""Figures and currencies around a code have no small letters: "DE 9,261 EUR (50.1 %), AT 1,746 EUR (9.5 %)"."""


def _is_code(text: str, start: int, end: int) -> bool:
    """Whether a word is written in capitals among others that are not; behind a number, AM is a time of day."""
    around = text[max(0, start - _AROUND) : start] + text[end : end + _AROUND]
    is_mixed = any(char.islower() or (char.isalpha() and not char.isascii()) for char in around)
    return text[start:end].isupper() and is_mixed and not _BEHIND_NUMBER.search(text, max(0, start - 3), start)


def _is_marked(text: str, start: int, end: int) -> bool:
    """Whether a single letter stands as a name: behind another word, or set off by marks."""
    before, after = text[:start].rstrip(" "), text[end : end + 1]
    if before[-1:] in ("", ".", "!", "?", "\n") or before[-1:] == "\u2060":
        return after in (":", "\u2060", "|", ")") or not re.match(r" [a-z]", text[end : end + 2]) or text[start] != "A"
    return True
