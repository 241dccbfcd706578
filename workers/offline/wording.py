"""Words and numbers for people: the sentences of report.yaml in the thread's language, amounts, shares, changes."""

from __future__ import annotations

import math
import re
from calendar import month_name
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from importlib import resources
from typing import Any

import yaml
from jinja2 import Environment, StrictUndefined, Template


@cache
def sentences() -> dict[str, Any]:
    """The content of report.yaml."""
    text = resources.files(__package__).joinpath("report.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


def say(
    group: str, key: str | int, language: str, variables: Mapping[str, object] | None = None, sign: str = ""
) -> str:
    """One sentence of report.yaml, its paragraphs on one line each; amounts in it carry the sign of currency."""
    sentence = sentences()[group][language][key]
    text = template(environment(language, sign), sentence).render(variables or {})
    lines = [" ".join(part.split()) if part.strip() else part for part in text.split("\n\n")]
    return "\n\n".join(lines)


def month(number: int, language: str) -> str:
    """The name of a month, 1 to 12."""
    return f"{number}月" if language == "zh" else month_name[number]


def number(value: object) -> str:
    """A number with thousands separators and as many decimals as its size calls for."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return str(value)
    if not math.isfinite(value):
        return "–"
    size = abs(value)
    if float(value).is_integer() or size >= 1000:
        return f"{value:,.0f}"
    if size >= 1:
        return f"{value:,.2f}".rstrip("0").rstrip(".")
    return f"{value:.3g}"


def money(value: object, sign: str) -> str:
    """An amount with its sign of currency in front."""
    if not sign or not isinstance(value, int | float) or not math.isfinite(value):
        return number(value)
    digits = f"{abs(value):,.0f}" if abs(value) >= 1000 else f"{abs(value):,.2f}"
    return f"{'-' if value < 0 else ''}{sign}{digits}"


def percent(value: float) -> str:
    """A share as percent with one decimal."""
    return f"{value * 100:.1f}%"


@lru_cache(maxsize=512)  # the same few sentences are said again and again, and compiling one takes longer than the rest
def template(made: Environment, text: str) -> Template:
    """A sentence of report.yaml, compiled for these filters."""
    return made.from_string(text)


@lru_cache(maxsize=32)
def environment(language: str, sign: str = "", rate: bool = False) -> Environment:
    """Jinja with our filters: v (a measure's value), m (an amount), n (a number), pct, signed, plus, p, cap, month."""

    def value(given: object) -> str:
        return percent(given) if rate and isinstance(given, int | float) else money(given, sign)

    def plus(given: float) -> str:
        return ("+" if given >= 0 else "") + value(given)

    filters: dict[str, Callable[..., str]] = {
        "v": value,
        "m": lambda given: money(given, sign),
        "n": number,
        "p": lambda given: "p < 0.001" if given < 0.001 else f"p = {given:.3f}",
        "pct": percent,
        "signed": lambda given: f"{given * 100:+.1f}%",
        "plus": plus,
        "cap": lambda text: text[:1].upper() + text[1:],
        "month": lambda given: month(given, language),
        "day": lambda given: re.sub(r" 00:00:00$", "", str(given)),
    }
    made = Environment(undefined=StrictUndefined, autoescape=False)  # noqa: S701 - Markdown, not HTML
    made.filters.update(filters)
    return made
