"""The sentences that people read, in each language.

English and Chinese are in phrases.yaml: `key: {en: ..., zh: ...}`. Each other language has a file of its own in
`core/languages/`; what is not there is said in English.

Variables are Jinja2's, and a missing one is an error. `{{ count|number }}` and `{{ seconds|decimal(1) }}` write a
number as the language does. The result is plain text. Escape it (core/slack/text.py) before it becomes Slack's mrkdwn.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from importlib import resources
from typing import Final

from jinja2 import Environment, StrictUndefined, Template
from pydantic import BaseModel, ConfigDict, TypeAdapter

from core.values import Language
from core.yaml_text import read_yaml

OWN_FILES: Final[tuple[Language, ...]] = ("de", "es", "fr", "ja")
"""The languages that have a file of their own."""


class Phrase(BaseModel):
    """One sentence in the languages that have it; English and Chinese always do."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    en: str
    zh: str
    de: str = ""
    es: str = ""
    fr: str = ""
    ja: str = ""

    def text(self, language: Language) -> str:
        """The template in this language, else in English, without the line end that YAML leaves."""
        said: str = getattr(self, language)
        return (said or self.en).strip()


@cache
def phrases() -> Mapping[str, Phrase]:
    """All phrases by key.

    Raises pydantic.ValidationError when an entry lacks a language, KeyError when a translation belongs to no phrase.
    """
    told: dict[str, dict[str, str]] = read_yaml(_read("phrases.yaml"))
    for language in OWN_FILES:
        for key, text in read_yaml(_read(f"languages/{language}.yaml")).items():
            told[key][language] = text
    return TypeAdapter(dict[str, Phrase]).validate_python(told)


def _read(name: str) -> str:
    return resources.files("core").joinpath(name).read_text(encoding="utf-8")


@cache
def _template(key: str, language: Language) -> Template:
    known = phrases()
    if key not in known:
        near = difflib.get_close_matches(key, known, n=1)
        raise KeyError(f"no phrase {key!r}" + (f", the nearest is {near[0]!r}" if near else ""))
    return environment(language).from_string(known[key].text(language))


def say(key: str, language: Language, **variables: object) -> str:
    """The sentence `key` in `language`. Raises KeyError for an unknown key, UndefinedError for a missing variable."""
    return _template(key, language).render(**variables) if variables else _said(key, language)


@cache
def _said(key: str, language: Language) -> str:
    """A sentence without variables. An error is not kept: it is raised each time."""
    return _template(key, language).render()


_GROUPS: Final[Mapping[Language, str]] = {"de": ".", "es": ".", "fr": "\u202f"}
"""What stands between thousands; a comma in the other languages."""
_POINTS: Final[Mapping[Language, str]] = {"de": ",", "es": ",", "fr": ","}
"""What stands before the decimals; a point in the other languages."""
_AND: Final[Mapping[Language, str]] = {"en": " and ", "de": " und ", "es": " y ", "fr": " et "}
"""What stands before the last item of a list; the other languages set one mark between all of them."""
UNSPACED: Final[frozenset[Language]] = frozenset({"zh", "ja"})
"""The languages that set no space between sentences, and write marks in full width."""


_EXACT_DIGITS: Final = 15
"""A float tells so many digits for certain: with six, a limit of 1,234,567 would read 1.23457e+06."""


def number(value: float, language: Language) -> str:
    """A number as the language writes it. Raises ValueError or TypeError when the value is none."""
    return written(f"{value:,}" if isinstance(value, int) else f"{value:,.{_EXACT_DIGITS}g}", language)


def decimal(value: float, digits: int, language: Language) -> str:
    """A number with so many decimals, as the language writes it. Raises ValueError or TypeError as `number`."""
    return written(f"{value:,.{digits}f}", language)


def written(text: str, language: Language) -> str:
    """A number that Python wrote, such as "-1,234.50 %", as the language writes it."""
    whole, point, rest = text.partition(".")
    return whole.replace(",", _GROUPS.get(language, ",")) + (_POINTS.get(language, ".") if point else "") + rest


_MOMENTS: Final[Mapping[Language, str]] = {
    "de": "%d.%m.%Y %H:%M",
    "es": "%d/%m/%Y %H:%M",
    "fr": "%d/%m/%Y %H:%M",
    "ja": "%Y/%m/%d %H:%M",
}


def moment_in(at: datetime, language: Language) -> str:
    """A time to the minute, as the language writes it; English writes the year first, which everybody reads alike."""
    return at.strftime(_MOMENTS.get(language, "%Y-%m-%d %H:%M"))


def listed(items: Sequence[str], language: Language) -> str:
    """Several names in one sentence: "a, b and c"."""
    if language not in _AND:
        return "、".join(items)
    return _AND[language].join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


def joined(sentences: Sequence[str], language: Language) -> str:
    """Sentences one behind the other, with the space that the language sets between them."""
    return ("" if language in UNSPACED else " ").join(sentences)


@cache
def environment(language: Language) -> Environment:
    """Jinja2 as a phrase of this language needs it."""
    made = Environment(undefined=StrictUndefined, autoescape=False)  # noqa: S701 - plain text, not HTML
    made.filters["number"] = lambda value: number(value, language)
    made.filters["decimal"] = lambda value, digits: decimal(value, digits, language)
    return made
