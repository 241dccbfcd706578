"""From a text or a name to words that can be compared: small letters, no accents, no endings; Chinese in pairs."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Generic, TypeVar

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_PIECE = re.compile(rf"[{_CJK}]+|\d+|[^\W\d_{_CJK}]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ACRONYMS = re.compile(r"(?<![^\W\d_])([A-Z]{2,})s(?![^\W\d_])")
"""Several of what an acronym stands for: KPIs, SKUs."""
_SPOKEN_LETTERS = "abcdefghjklmnopqrstwxyz"
_FIRST_SPOKEN = [char.encode("gb2312") for char in "啊芭擦搭蛾发噶哈击喀垃妈拿哦啪期然撒塌挖昔压匝"]
"""The first character of each of these letters in GB 2312."""
_LAST_SPOKEN = "座".encode("gb2312")
_IS_CJK = re.compile(rf"[{_CJK}]")


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """A word without the endings of English plurals and verbs; crude, but the same for question and schema."""
    if len(word) <= 3 or not word.isascii():
        return word
    if word.endswith(("is", "us")) and not set("aeiouy") & set(word[:-2]):
        return word[:-1]  # kpis, skus: spoken letter by letter, with an s for several
    for ending, instead in (
        ("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh"), ("ss", "ss"), ("us", "us"),
        ("is", "is"), ("s", ""),
    ):  # fmt: skip
        if word.endswith(ending) and len(word) - len(ending) >= 2:
            word = word[: len(word) - len(ending)] + instead
            break
    for ending in ("ation", "ment", "ing", "ed", "er", "or"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            word = word[: -len(ending)]
            break
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, text.split()))


STOP_WORDS = _stems(
    "a an and are as at be been but by can did do does each for from get give had has have how i if in is it its list "
    "many me much of on or our per please show than that the their them then there these they this to us was we were "
    "what when where which who whose why will with you your all any find tell about between during no yes not"
)
"""Words that say nothing about which table is meant."""

STOP_PAIRS = _stems("多少 哪些 什么 怎么 如何 我们 各个 每个 请问 以及 一个 几个 的是 有多 是多")
"""The same for pairs of Chinese characters."""


def plain(text: str) -> str:
    """Small letters without accents, in single spaces, so that "Zürich " and "zurich" are the same."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return " ".join("".join(char for char in decomposed if not unicodedata.combining(char)).split())


def is_unspaced(text: str) -> bool:
    """Whether a text begins in a script that puts no spaces between words: Chinese, Japanese or Korean."""
    return _IS_CJK.match(text) is not None


def pieces(text: str) -> list[str]:
    """The words of a text or name in their order, with their endings. Names are split: `custOrder_id2` → cust, order,
    id, 2. A run of Chinese, Japanese or Korean characters becomes its pairs; a single character stays."""
    found: list[str] = []
    composed = text if text.isascii() else unicodedata.normalize("NFC", text)
    for piece in _PIECE.findall(_HUMP.sub(" ", _ACRONYMS.sub(r"\1", composed))):
        if piece.isascii():
            found.append(piece.lower())
        elif is_unspaced(piece):
            found += [piece[at : at + 2] for at in range(len(piece) - 1)] or [piece]
        else:
            found.append(plain(piece))
    return found


def words(text: str) -> list[str]:
    """The same without endings, as words are compared."""
    return list(map(stem, pieces(text)))


def telling(text: str) -> list[str]:
    """The words that tell something about what is meant, without endings and repeats, in their order."""
    return [word for word in dict.fromkeys(words(text)) if word not in STOP_WORDS and word not in STOP_PAIRS]


def spoken_initials(text: str) -> str:
    """The first letter of each Chinese character as it is spoken, as in pinyin; a space for anything else.

    GB 2312 holds the 3,755 usual characters in the order in which they are spoken. Others have no letter here.
    """
    found = []
    for char in text:
        code = char.encode("gb2312", "ignore")
        at = bisect_right(_FIRST_SPOKEN, code) if b"\x80" < code <= _LAST_SPOKEN else 0
        found.append(_SPOKEN_LETTERS[at - 1] if at else " ")
    return "".join(found)


def abbreviates_both(short: str, first: str, second: str) -> bool:
    """Whether a part of a name may stand for two words: `gdsrc` for goods receipt, `lacct` for ledger account.

    Three letters or more are of one of the words, as `abbreviates` has it, and one letter only of the first.
    """
    halves = ((short[:at], short[at:]) for at in range(1, len(short) - 1))
    return any(
        _begins(one, first) and _begins(other, second) and (abbreviates(one, first) or abbreviates(other, second))
        for one, other in halves
    )


def _begins(short: str, word: str) -> bool:
    """Whether the letters stand in the word in this order, from its first one on, and leave some out."""
    rest = iter(word)
    return short[0] == word[0] and len(short) < len(word) and all(letter in rest for letter in short)


@lru_cache(maxsize=65_536)
def abbreviates(short: str, word: str) -> bool:
    """Whether a part of a name may stand for a word: `cust` for customer, `shpmt` for shipment, `acct` for account.

    Both have their endings. The letters stand in the word in the same order, from its first one on. Two letters are
    too few to tell.
    """
    if not (3 <= len(short) < len(word)) or short[0] != word[0] or is_unspaced(short):
        return False
    if word.startswith(short):
        return True
    rest = iter(word)
    return all(letter in rest for letter in short) and not set("aeiou") & set(short[1:-1]) - set(word[1:3])


Thing = TypeVar("Thing")


class Phrases(Generic[Thing]):
    """Things that are named by phrases, and which of them a text names word for word (endings do not count)."""

    def __init__(self, named: Iterable[tuple[str, Thing]]) -> None:
        self._named = [(tuple(words(phrase)), thing) for phrase, thing in named if words(phrase)]

    def found_in(self, text: str) -> Iterator[Thing]:
        """The things that a text names, the longest phrase first, each once."""
        given = words(text)
        spans = {
            tuple(given[at : at + length])
            for length in {len(phrase) for phrase, _ in self._named}
            for at in range(len(given) - length + 1)
        }
        seen: list[Thing] = []
        for phrase, thing in sorted(self._named, key=lambda each: -len(each[0])):
            if phrase in spans and thing not in seen:
                seen.append(thing)
                yield thing
