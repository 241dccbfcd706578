"""Words, numbers and times for people, in the thread's language.

The English sentences are in report.yaml, those of each other language in a file of `languages/` with the same keys.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from importlib import resources
from typing import Any, Final, get_args

from jinja2 import Environment, StrictUndefined, Template

from core.phrases import written
from core.values import Language
from core.yaml_text import read_yaml

_BEHIND: Final = frozenset[Language]({"de", "es", "fr"})
"""The languages that set a sign of currency or of percent behind the number, after a space that does not break."""
_TIMES: Final[Mapping[Language, tuple[str, str, str, str]]] = {
    "de": ("{d}.{m}.{y}", "{name} {y}", "Q{q} {y}", "{y}"),
    "es": ("{d}/{m}/{y}", "{name} de {y}", "T{q} {y}", "{y}"),
    "fr": ("{d}/{m}/{y}", "{name} {y}", "T{q} {y}", "{y}"),
    "ja": ("{y}/{m}/{d}", "{y}年{name}", "{y}年第{q}四半期", "{y}年"),
}
"""How a day, a month, a quarter and a year are written; as in ISO 8601 in the other languages."""
_TIME = re.compile(r"(?<![\d.-])(?P<y>\d{4})(?:Q(?P<q>[1-4])|-(?P<m>\d\d)(?:-(?P<d>\d\d))?)?(?![\d.-])")


@cache
def sentences() -> dict[str, Any]:
    """Every sentence: by group, language and key."""
    told: dict[str, Any] = {}
    for language in get_args(Language):
        file = "report.yaml" if language == "en" else f"languages/{language}.yaml"
        for group, own in _read(file).items():
            told.setdefault(group, {})[language] = own
    return told


def _read(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = read_yaml(resources.files(__package__).joinpath(name).read_text(encoding="utf-8"))
    return loaded


def say(group: str, key: str, language: Language, sign: str = "", /, **variables: object) -> str:
    """One sentence, its paragraphs on one line each; amounts in it carry the sign of currency."""
    sentence = sentences()[group][language][key]
    text = template(environment(language, sign), sentence).render(variables)
    return "\n\n".join(map(flat, text.split("\n\n")))


def flat(text: str) -> str:
    """A text on one line. Spaces that do not break stay: they stand inside numbers."""
    return re.sub(r"[ \t\n]+", " ", text).strip(" \t\n")


def month(number: int, language: Language) -> str:
    """The name of a month, 1 to 12."""
    name: str = sentences()["words"][language]["month_names"].split()[number - 1]
    return name


def when(text: object, language: Language) -> str:
    """Times such as "2023", "2023Q1", "2023-04" and "2023-04-05" in a text as the language writes them."""
    return _TIME.sub(lambda found: _time(found, language), str(text))


def _time(found: re.Match[str], language: Language) -> str:
    number = int(found["m"] or 1)
    if language not in _TIMES or not 1 <= number <= 12:
        return found[0]
    a_day, a_month, a_quarter, a_year = _TIMES[language]
    form = a_day if found["d"] else a_month if found["m"] else a_quarter if found["q"] else a_year
    return form.format(**found.groupdict(), name=month(number, language))


def number(value: object, language: Language) -> str:
    """A number with thousands separators and as many decimals as its size calls for; anything else as it is."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return str(value)
    if not math.isfinite(value):
        return "–"
    size = abs(value)
    if float(value).is_integer() or size >= 1000:
        return written(f"{value:,.0f}", language)
    if size >= 1:
        return written(f"{value:,.2f}".rstrip("0").rstrip("."), language)
    return written(f"{value:.3g}", language)


def money(value: object, sign: str, language: Language) -> str:
    """An amount with its sign of currency, which stands where the language sets it."""
    if not sign or not isinstance(value, int | float) or not math.isfinite(value):
        return number(value, language)
    digits = written(f"{abs(value):,.0f}" if abs(value) >= 1000 else f"{abs(value):,.2f}", language)
    return f"{'-' if value < 0 else ''}{signed(digits, sign, language)}"


def signed(digits: str, sign: str, language: Language) -> str:
    """Digits, or the format of them, with a sign of currency before or behind; alone when there is none."""
    if not sign:
        return digits
    return f"{digits}\u00a0{sign}" if language in _BEHIND else f"{sign}{digits}"


def percent(value: float, language: Language, form: str = ".1f") -> str:
    """A share as percent with one decimal."""
    return written(format(value * 100, form), language) + ("\u00a0%" if language in _BEHIND else "%")


@lru_cache(maxsize=512)  # the same few sentences are said again and again, and compiling one takes longer than the rest
def template(made: Environment, text: str) -> Template:
    """A sentence, compiled for these filters."""
    return made.from_string(text)


@lru_cache(maxsize=64)
def environment(language: Language, sign: str = "", rate: bool = False) -> Environment:
    """Jinja with our filters: v (a measure's value), m (an amount), n (a number), pct, signed, plus, p, cap, month, t
    (a time), day (a value that may be one)."""

    def value(given: object) -> str:
        return percent(given, language) if rate and isinstance(given, int | float) else money(given, sign, language)

    def plus(given: float) -> str:
        return ("+" if given >= 0 else "") + value(given)

    filters: dict[str, Callable[..., str]] = {
        "v": value,
        "m": lambda given: money(given, sign, language),
        "n": lambda given: number(given, language),
        "p": lambda given: written("p < 0.001" if given < 0.001 else f"p = {given:.3f}", language),
        "pct": lambda given: percent(given, language),
        "signed": lambda given: percent(given, language, "+.1f"),
        "plus": plus,
        "cap": lambda text: text[:1].upper() + text[1:],
        "month": lambda given: month(given, language),
        "t": lambda given: when(given, language),
        "day": lambda given: _day(str(given), language),
    }
    made = Environment(undefined=StrictUndefined, autoescape=False)  # noqa: S701 - Markdown, not HTML
    made.filters.update(filters)
    return made


def _day(text: str, language: Language) -> str:
    """A value of the data; a day without its time, as the language writes it."""
    plain = text.removesuffix(" 00:00:00")
    return when(plain, language) if re.fullmatch(r"\d{4}-\d\d-\d\d", plain) else plain
