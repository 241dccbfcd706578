"""From what a person wants remembered to an entry: which page it belongs to, and under which title. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from core.team_folder.entries import CONVENTIONS, DECISIONS, DEFINITIONS, GLOSSARY
from core.team_folder.pages import TITLE_CHARS

MOST_CHARS = 2_000
"""Characters that one entry may have when somebody says it in a thread; an editor takes more."""

_TERM = r"[\"'“”‘’«»「『]?(?P<term>[^\n=:：]{1,80}?)[\"'“”‘’«»」』]?"
_IS = r":=|(?<![<>!])=(?![=>])"
"""An equals sign that is no part of a comparison or an arrow."""
_COLON = r"[:：](?!//|[:\\]|(?<=\d[:：])\d)"
"""A colon that is no part of an address, a path, a cast, a time or a ratio."""
_DEFINES = re.compile(
    rf"\A{_TERM}\s*(?:{_IS}|\bmeans\b|\bis defined as\b|\bare defined as\b|\brefers to\b|是指|指的是|定义为|的定义是)"
    r"\s*(?P<meaning>.+)\Z",
    re.DOTALL | re.IGNORECASE,
)
_SHORT = re.compile(
    rf"\A{_TERM}\s*(?:\bstands for\b|\bis short for\b|{_COLON}|的缩写是|代表)\s*(?P<meaning>.+)\Z",
    re.DOTALL | re.IGNORECASE,
)
_DECIDED = re.compile(
    r"\A(?:(?:we (?:have )?(?:decided|agreed)|decision|decided)\b|我们决定|决定|我们商定)", re.IGNORECASE
)
_THAT = re.compile(r"\A(?:that\b|dass\b|this\b\s*:|[:：，,])\s*", re.IGNORECASE)
_STRESS = re.compile(
    r"\A(?:(?:very )?important|(?:please )?note|nb|reminder|wichtig|achtung|hinweis|bitte beachten|importante|"
    r"atención|nota|ojo|attention|à noter|remarque|注意|重要|请注意|提醒)\s*[:：!！]+\s*",
    re.IGNORECASE,
)
"""A word that asks for attention. What follows is the entry; the word is no term that it explains."""
_MOST_WORDS_OF_A_TERM = 6
_TITLE_WORDS = 9
_HAN_TITLE = 24


@dataclass(frozen=True, slots=True)
class Draft:
    """An entry before anybody agreed: the page it belongs to, its title and its text."""

    file: str
    title: str
    text: str


def draft_of(said: str) -> Draft | None:
    """The entry that somebody wants remembered; None when there is nothing in it."""
    text = _STRESS.sub("", _THAT.sub("", said.strip())).strip()
    if not text:
        return None
    for pattern, file in ((_DEFINES, DEFINITIONS), (_SHORT, GLOSSARY)):
        found = pattern.match(text)
        if found and _is_term(found["term"]) and found["meaning"].strip():
            return Draft(file, _title(found["term"]), found["meaning"].strip())
    if _DECIDED.match(text):
        return Draft(DECISIONS, _title(text), text)
    return Draft(CONVENTIONS, _title(text), text)


def _is_term(words: str) -> bool:
    return 0 < len(words.split()) <= _MOST_WORDS_OF_A_TERM


def _title(text: str) -> str:
    """The first words of a text, on one line."""
    flat = " ".join(text.replace("`", " ").split()).strip(" .。\"'“”‘’")
    words = flat.split(" ")
    short = " ".join(words[:_TITLE_WORDS])
    limit = _HAN_TITLE if len(words) == 1 and not flat.isascii() else TITLE_CHARS
    cut = short[:limit]
    return (cut if cut == flat else f"{cut.rstrip(',;:，；：')} …") or "…"
