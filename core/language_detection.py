"""The language that a text is written in, told by its letters and its commonest words
(`languages/common_words.yaml`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Final

from core.values import Language
from core.yaml_text import read_yaml

_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_KANA = re.compile(r"[\u3040-\u30ff]")
_ONLY_JAPANESE = re.compile(r"[売図実変経済発関価円県対読気総戻込働駅択収処権検転両続巻営単帰験]")
_ONLY_CHINESE = re.compile(
    r"[这们个请说对时间问题图销额显为么吗过还给让种类别开关单产业务发现经济报货总计变费视频组织线级则长东车门见买卖书头实]"
)
_HANGUL = re.compile(r"[\u1100-\u11ff\uac00-\ud7af]")
_LATIN_WORD = re.compile(r"[A-Za-z][\w.\-']*")
_WORD = re.compile(r"[a-zà-öø-ÿßœ]+")
_SAMPLE: Final = 4000
_LEAST_WORDS: Final = 2
_OPENING = re.compile(r"[¿¡]")
_QUOTED = re.compile(r"^>.*$", re.MULTILINE)
_ONLY_THERE: Final[Mapping[Language, re.Pattern[str]]] = {
    "de": re.compile(r"[äöüß]"),
    "es": re.compile(r"[¿¡ñ]"),
    "fr": re.compile(r"[çœèêàùî]|\b(?:qu|d|l|n|s|j|c)['’](?=[a-zà-ÿ])"),
}


def detect(text: str, otherwise: Language = "en") -> Language:
    """The language of the answer: that of most words, or `otherwise` if the words do not decide.

    Japanese and Korean texts have ideographs too; their own letters tell them apart. A short Japanese text may have
    ideographs alone: their shapes tell, else the thread (`otherwise`) does. A few Chinese column names leave
    an English sentence English. A few English words leave a Chinese sentence Chinese. Languages with Latin letters are
    told by their commonest words: two of them are needed, and more than English ones. What a person quotes is in the
    language of somebody else.
    """
    sample = own_words(text)[:_SAMPLE]
    han, kana, hangul = (len(letters.findall(sample)) for letters in (_HAN, _KANA, _HANGUL))
    latin = len(_LATIN_WORD.findall(sample))
    if (kana + hangul) * 10 <= han and han > latin:
        return "zh" if kana or not _is_japanese(sample, otherwise) else "ja"
    if kana > hangul and han + kana > latin:
        return "ja"
    return _by_words(sample.lower(), otherwise)


def own_words(text: str) -> str:
    """A message without what it quotes; all of it where it has nothing else."""
    own = _QUOTED.sub("", text)
    return own if own.strip() else text


def _is_japanese(text: str, otherwise: Language) -> bool:
    """Whether ideographs alone are Japanese: by shapes that only one of the two languages has."""
    if _ONLY_CHINESE.search(text):
        return False
    return otherwise == "ja" or bool(_ONLY_JAPANESE.search(text))


@cache
def _common() -> Mapping[Language, frozenset[str]]:
    source = resources.files("core").joinpath("languages/common_words.yaml").read_text(encoding="utf-8")
    told: dict[Language, str] = read_yaml(source)
    return {language: frozenset(words.split()) for language, words in told.items()}


def _by_words(text: str, otherwise: Language) -> Language:
    words = _WORD.findall(text)
    counts = {language: sum(word in common for word in words) for language, common in _common().items()}
    for language, letters in _ONLY_THERE.items():
        counts[language] += bool(counts[language]) and bool(letters.search(text))
    counts["es"] += _LEAST_WORDS * bool(_OPENING.search(text))
    most = max(counts, key=lambda language: counts[language])
    tied = [language for language, count in counts.items() if count == counts[most]]
    if counts[most] >= _LEAST_WORDS and len(tied) == 1:
        return most
    return "en" if counts["en"] else otherwise
