"""Makes characters visible that nobody sees: they turn letters round, or stand between letters. Pure.

Whoever approves code must read what runs. U+202E, for example, shows what stands behind it from right to left.
"""

from __future__ import annotations

import re
import unicodedata

_BLANK = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5")
"""Letters and marks that are drawn as nothing."""
_SEPARATORS = frozenset("\u2028\u2029")
_JOINER, _EMOJI_FORM = "\u200d", "\ufe0f"
_SYMBOLS = ("So", "Sk", "Sm")
_MAY_HIDE = re.compile(r"[^\t\n -~\u00a1-\u00ac\u00ae-\u02ff\u3040-\u30ff\u4e00-\u9fff]")
"""Most texts have nothing else: then no character has to be looked at."""

_CARRIERS = re.compile(
    "\U0001f3f4[\U000e0020-\U000e007e]{2,6}\U000e007f"  # a flag, as people see it
    "|(?P<carries>[\U000e0000-\U000e007f]+|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{3,})"
)
"""Tags spell letters, and several variants in a row spell bytes: models read both, and people see neither."""


def count_hidden(text: str) -> int:
    """The number of characters of a text that nobody sees."""
    return len(_places(text))


def with_hidden_shown(text: str) -> str:
    """The text with ⟨U+202E⟩ in place of each character that nobody sees. Line ends, tabs and emoji stay."""
    places = _places(text)
    if not places:
        return text
    return "".join(_shown(each) if n in places else each for n, each in enumerate(text))


def with_carriers_shown(text: str) -> str:
    """The text with ⟨U+E0041⟩ in place of each character that could spell a text which only a model reads.

    Other characters that nobody sees stay: joiners and marks of direction belong to many scripts.
    """
    if _MAY_HIDE.search(text) is None:
        return text
    return _CARRIERS.sub(lambda found: "".join(map(_shown, found["carries"])) if found["carries"] else found[0], text)


def _shown(character: str) -> str:
    return f"⟨U+{ord(character):04X}⟩"


def _places(text: str) -> frozenset[int]:
    if _MAY_HIDE.search(text) is None:
        return frozenset()
    return frozenset(n for n, each in enumerate(text) if _is_hidden(each) and not _is_of_emoji(text, n))


def _is_hidden(character: str) -> bool:
    if character in "\n\t":
        return False
    if "\ufe00" <= character <= "\ufe0f" or "\U000e0000" <= character <= "\U000e0fff":  # variants, tags
        return True
    return character in _BLANK or character in _SEPARATORS or unicodedata.category(character) in ("Cf", "Cc")


def _is_of_emoji(text: str, n: int) -> bool:
    """Whether a character only joins or chooses emoji."""
    before = text[:n].rstrip(_EMOJI_FORM)[-1:] if n else ""
    if text[n] == _EMOJI_FORM:
        return bool(before) and (unicodedata.category(before) in _SYMBOLS or text[n + 1 : n + 2] == "\u20e3")
    if text[n] != _JOINER or not before:
        return False
    behind = text[n + 1 : n + 2]
    return all(bool(each) and unicodedata.category(each) in _SYMBOLS for each in (before, behind))
