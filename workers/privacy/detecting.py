"""Finds personal values in text: patterns, each with the rule that a match must keep. `docs/privacy.md` lists them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from core.team_settings import PersonalKind
from workers.privacy import checksums

# A backslash before n, r or t ends a word: text that was printed as Python or JSON has its line breaks so.
# So has a letter that is not printed itself: \xa0 is a blank that does not break.
_ESCAPED = r"(?<=\\n)|(?<=\\r)|(?<=\\t)|(?<=\\x[0-9a-f]{2})|(?<=\\u[0-9a-f]{4})"
_START = rf"(?:{_ESCAPED}|(?<![\w\\]))"
_EMAIL = re.compile(
    rf"(?:{_ESCAPED}|(?<![\w.+%\\-]))"
    r"[\w%+][\w.%+-]{0,63}@(?:(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,8}(?P<top>[^\W\d_]{2,24})(?![\w-])"
    r"|[\w.-]{1,60}(?=\u2026|\.\.\.))"
)
_MEMBERS = "iloc loc iat values mean sum dot shape astype index columns apply copy head transpose"
_NO_TOP = frozenset(_MEMBERS.split())
"""Names behind a matrix product in code: `X@W.values`. `at` is one before a bracket alone: it is Austria's domain."""
_IBAN = re.compile(_START + r"[A-Za-z]{2}\d{2}(?=[ \-\u00a0]?[A-Za-z0-9])")
_CARDS = tuple(
    re.compile(_START + r"(?<!\d\.)(?<!\+)" + digits + r"(?!\w)(?!\.\d*[1-9])")
    for digits in (
        r"\d(?:[ \-\u00a0]?\d){11,18}",
        r"\d{12,19}",
        r"\d{4}(?:[ \-\u00a0]\d{4}){3}",
        r"\d{4}[ \-\u00a0]\d{6}[ \-\u00a0]\d{4,5}",
    )
)
"""Any groups, then those that are printed on cards: another number may stand beside these, such as the month until
which the card counts."""
_ALONE = r"(?<![.+-])"
_WHOLE = r"(?![\w-])(?!\.\d)"
_INTERNATIONAL = re.compile(_START + r"(?<!\+)(?:\+|00(?=[1-9]))\d(?:[ ().\-/\u00a0]{0,2}\d){6,14}(?!\w)(?!\.\d)")
_AMERICAN = re.compile(_START + r"(?<![.+-])\(?[2-9]\d{2}\)?[ .-]{1,2}[2-9]\d{2}[ .-]\d{4}" + _WHOLE)
_TRUNK = re.compile(_START + _ALONE + r"\(?0[1-9]\d{0,4}\)?[ /\-]\d{3,8}(?:[ \-]\d{1,5}){0,3}" + _WHOLE)
_FRENCH = re.compile(_START + _ALONE + r"0[1-9](?:[ .\-]\d{2}){4}" + _WHOLE)
_CHINESE = re.compile(_START + _ALONE + r"1[3-9]\d(?:[ -]?\d{4}){2}(?![\w-])(?!\.\d*[1-9])")
_Check = Callable[[str], bool]
_IDS: tuple[tuple[re.Pattern[str], _Check], ...] = (
    (re.compile(_START + r"(?<!-)\d{3}-\d{2}-\d{4}(?![\w-])"), checksums.us_social_security),
    (re.compile(_START + r"[1-9]\d{16}[\dXx](?!\w)"), checksums.chinese_resident),
    (re.compile(_START + r"(?:\d{8}-?[A-Za-z]|[XYZxyz]-?\d{7}-?[A-Za-z])(?!\w)"), checksums.spanish_dni),
    (
        re.compile(_START + r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D](?!\w)", re.IGNORECASE),
        checksums.british_insurance,
    ),
    (re.compile(_START + r"756[. ]?\d{4}[. ]?\d{4}[. ]?\d{2}(?!\d)(?!\.\d)"), checksums.swiss_insurance),
    (
        re.compile(_START + r"[12] ?\d{2} ?\d{2} ?\d{2} ?\d{3} ?\d{3} ?\d{2}(?!\d)(?!\.\d)"),
        checksums.french_insurance,
    ),
    (re.compile(_START + r"\d{3}\.\d{3}\.\d{3}-\d{2}(?!\w)"), checksums.brazilian_cpf),
    (
        re.compile(_START + r"[A-Za-z]{6}\d{2}[A-EHLMPRSTa-ehlmprst]\d{2}[A-Za-z]\d{3}[A-Za-z](?!\w)"),
        checksums.italian_fiscal,
    ),
)
_IBAN_MAX = 64


@dataclass(frozen=True, slots=True, order=True)
class Found:
    """A personal value at a place of a text."""

    start: int
    end: int
    kind: PersonalKind


_PLAIN = {
    **{wide: wide - 0xFEE0 for wide in range(0xFF01, 0xFF5F)},
    **dict.fromkeys(map(ord, "\u2002\u2003\u2007\u2009\u202f\u3000"), 0xA0),
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2212"), ord("-")),
}
"""Full-width letters and digits, blanks and dashes of print: each is one letter, so that places stay."""


def find(text: str, kinds: Collection[PersonalKind]) -> list[Found]:
    """The personal values of these kinds in a text, in order, none inside another. Checked kinds come first."""
    text = text if text.isascii() else text.translate(_PLAIN)
    taken: list[Found] = []
    free = bytearray(len(text))
    for kind, finder in _FINDERS.items():
        if kind in kinds:
            for found in finder(text):
                if not any(free[found.start : found.end]):
                    free[found.start : found.end] = b"\x01" * (found.end - found.start)
                    taken.append(found)
    return sorted(taken)


def _ibans(text: str) -> Iterator[Found]:
    """The characters of a country's length are taken, with a blank or dash between; what follows must not go on."""
    for match in _IBAN.finditer(text):
        wanted = checksums.IBAN_LENGTHS.get(match.group()[:2].upper(), 0)
        plain, place = "", match.start()
        while len(plain) < wanted and place < min(len(text), match.start() + _IBAN_MAX):
            char = text[place]
            if char.isascii() and char.isalnum():
                plain += char
            elif char not in " -\u00a0" or text[place - 1] in " -\u00a0":
                break
            place += 1
        ends = place >= len(text) or not (text[place].isalnum() or text[place] == "_")
        if wanted and len(plain) == wanted and ends and checksums.iban(plain):
            yield Found(match.start(), place, "iban")


def _cards(text: str) -> Iterator[Found]:
    for pattern in _CARDS:
        for match in pattern.finditer(text):
            if checksums.card(re.sub(r"\D", "", match.group())):
                yield Found(match.start(), match.end(), "card")


def _ids(text: str) -> Iterator[Found]:
    for pattern, check in _IDS:
        for match in pattern.finditer(text):
            if check(re.sub(r"[ .\-]", "", match.group())):
                yield Found(match.start(), match.end(), "id")


def _emails(text: str) -> Iterator[Found]:
    for match in _EMAIL.finditer(text):
        is_code = match["top"] in _NO_TOP or (match["top"] == "at" and text.startswith("[", match.end()))
        if not is_code:
            yield Found(match.start(), match.end(), "email")


def _phones(text: str) -> Iterator[Found]:
    for pattern in (_INTERNATIONAL, _AMERICAN, _TRUNK, _FRENCH, _CHINESE):
        for match in pattern.finditer(text):
            if _may_be_phone(pattern, match.group()):
                yield Found(match.start(), match.end(), "phone")


def _may_be_phone(pattern: re.Pattern[str], written: str) -> bool:
    digits = re.sub(r"\D", "", written)
    if pattern is _INTERNATIONAL:
        # "+12345678" may be a change as well: without a mark between its digits it must be longer.
        bare = digits.removeprefix("00")
        return checksums.international_phone(bare) and (len(bare) >= 10 or bool(re.search(r"\d[^\d]+\d", written)))
    return pattern is not _TRUNK or 9 <= len(digits) <= 12


_FINDERS: dict[PersonalKind, Callable[[str], Iterator[Found]]] = {
    "iban": _ibans,
    "card": _cards,
    "id": _ids,
    "email": _emails,
    "phone": _phones,
}
"""In the order in which a value that fits two kinds is taken: what has a check digit first."""
