"""The words that questions and column names are made of, and how a text is searched for them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Any

from core.language_detection import detect
from core.values import Language
from core.yaml_text import read_yaml

CJK = re.compile(r"[\u3400-\u9fff]")


@cache
def lexicon() -> dict[str, Any]:
    """The content of lexicon.yaml."""
    text = resources.files(__package__).joinpath("lexicon.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = read_yaml(text)
    return loaded


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """What is common to the forms of an English word: no case, no plural, no -ed or -ing. Not always a word itself."""
    word = word.casefold()
    if word == "meaning":  # has nothing to do with a mean
        return word
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-2] if word.endswith(("ses", "xes", "ches", "shes")) and len(word) > 4 else word[:-1]
    for ending in ("ing", "ed"):
        if len(word) > len(ending) + 3 and word.endswith(ending):
            word = word.removesuffix(ending)
            break
    return word.removesuffix("e") if len(word) > 3 else word


@cache
def stems(group: str) -> frozenset[str]:
    """The stems of the lexicon's group of words."""
    return frozenset(word if CJK.search(word) else stem(word) for word in lexicon()[group])


@dataclass(frozen=True, slots=True)
class Span:
    """Where something was found in a text: start and end in characters."""

    start: int
    end: int

    @property
    def length(self) -> int:
        """How many characters it is long."""
        return self.end - self.start

    def meets(self, others: Iterable[Span]) -> bool:
        """True when it shares a character with any of the others."""
        return any(self.start < other.end and other.start < self.end for other in others)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text, stemmed, and where it stands."""

    stem: str
    text: str
    span: Span


_WORD = re.compile(
    r"[\u3400-\u9fff]+|[A-Z]{2,}s(?![a-z])|[A-Z]?[a-zà-ÿ]+(?:'[a-z]+)?|[A-Z]+(?![a-z])|\d[\d.,]*\d|\d|[^\W\d_A-Za-z\u3400-\u9fff]+"
)


@lru_cache(maxsize=2_000)
def words(text: str) -> tuple[Word, ...]:
    """The words of a text in order; snake_case and camelCase are parted, a run of Chinese characters is one word."""
    return tuple(Word(stem(m.group()), m.group(), Span(*m.span())) for m in _WORD.finditer(text))


def find(phrases: Iterable[str], text: str) -> list[Span]:
    """Where any of the phrases is in the text, in order of the text."""
    found: list[Span] = []
    text_words = words(text)
    text_stems = [word.stem for word in text_words]
    for phrase in phrases:
        wanted = _stems_of(phrase)
        if wanted is None:
            if phrase in text:
                found += [Span(*m.span()) for m in re.finditer(re.escape(phrase), text)]
            continue
        if not wanted or wanted[0] not in text_stems:
            continue
        for at in range(len(text_words) - len(wanted) + 1):
            if text_stems[at : at + len(wanted)] == wanted:
                found.append(Span(text_words[at].span.start, text_words[at + len(wanted) - 1].span.end))
    return sorted(found, key=lambda span: (span.start, -span.end))


@lru_cache(maxsize=8_000)
def _stems_of(phrase: str) -> list[str] | None:
    """The stems of a phrase; None for one in Chinese or Japanese, which is looked for as it is."""
    return None if CJK.search(phrase) else [word.stem for word in words(phrase)]


def first_said(group: str, text: str) -> list[str]:
    """The first phrase of the lexicon's group as a text has it; none when it has none."""
    return [text[span.start : span.end] for span in find(lexicon()[group], text)][:1]


def without(text: str, spans: Iterable[Span]) -> str:
    """The text with as many blanks in place of these spans."""
    chars = list(text)
    for span in spans:
        chars[span.start : span.end] = " " * (span.end - span.start)
    return "".join(chars)


def has(group: str, text: str) -> bool:
    """True when the text holds a phrase of the lexicon's group."""
    return bool(find(lexicon()[group], text))


def language_of(text: str, otherwise: Language) -> Language:
    """The language that the words of a text are to be understood in; `otherwise` when they do not tell."""
    told = detect(text, otherwise)
    return "de" if told == "en" and has("german", text) else told


def greets_only(text: str) -> bool:
    """True when a text holds a greeting or thanks, and no other words."""
    spans = find(lexicon()["greetings"], text)
    return bool(spans) and not any(char.isalnum() for char in without(text, spans))


def keys_said(group: str, text: str) -> dict[str, str]:
    """The keys of the lexicon's group that a text names, each with the longest of its phrases as the text has it."""
    said = {key: [text[span.start : span.end] for span in find(told, text)] for key, told in lexicon()[group].items()}
    return {key: max(phrases, key=len) for key, phrases in said.items() if phrases}


def first_of(group: str, text: str) -> str | None:
    """The key of the lexicon's group whose longest phrase is in the text; None when none is."""
    said = keys_said(group, text)
    return max(said, key=lambda key: (len(said[key]), key), default=None)


def concepts_of(names: Iterable[str]) -> set[str]:
    """The concepts that any of the words (or a Chinese name) belongs to."""
    listed = list(names)
    own = {stem(name) for name in listed}
    return {
        concept
        for concept, parts, stemmed in _concepts()
        if not stemmed.isdisjoint(own) or any(part in name for part in parts for name in listed)
    }


@cache
def _concepts() -> list[tuple[str, list[str], frozenset[str]]]:
    """Each concept with its Chinese words, which may stand anywhere in a name, and the stems of its others."""
    return [
        (
            concept,
            [phrase for phrase in phrases if CJK.search(phrase)],
            frozenset(stem(phrase) for phrase in phrases if not CJK.search(phrase)),
        )
        for concept, phrases in lexicon()["concepts"].items()
    ]
