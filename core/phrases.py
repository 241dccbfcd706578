"""The sentences that people read, in each language. The texts are in phrases.yaml: `key: {en: ..., zh: ...}`.

Variables are Jinja2's, and a missing one is an error. The result is plain text. Escape it
(core/slack/text.py) before it becomes Slack's mrkdwn.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import get_args

import yaml
from jinja2 import Environment, StrictUndefined, Template
from pydantic import BaseModel, ConfigDict, TypeAdapter

from core.values import Language

_ENVIRONMENT = Environment(undefined=StrictUndefined, autoescape=False)  # noqa: S701 - plain text, not HTML


class Phrase(BaseModel):
    """One sentence in every language we speak."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    en: str
    zh: str

    def text(self, language: Language) -> str:
        """The template in this language, without the line end that YAML leaves."""
        return (self.zh if language == "zh" else self.en).strip()


@cache
def phrases() -> Mapping[str, Phrase]:
    """All phrases by key. Raises pydantic.ValidationError when an entry lacks a language."""
    source = resources.files("core").joinpath("phrases.yaml").read_text(encoding="utf-8")
    return TypeAdapter(dict[str, Phrase]).validate_python(yaml.safe_load(source))


@cache
def _template(key: str, language: Language) -> Template:
    known = phrases()
    if key not in known:
        near = difflib.get_close_matches(key, known, n=1)
        raise KeyError(f"no phrase {key!r}" + (f", the nearest is {near[0]!r}" if near else ""))
    return _ENVIRONMENT.from_string(known[key].text(language))


def say(key: str, language: Language, **variables: object) -> str:
    """The sentence `key` in `language`. Raises KeyError for an unknown key, UndefinedError for a missing variable."""
    return _template(key, language).render(**variables)


def prepare() -> None:
    """Makes every template now, so that forks of this process need not. Raises TemplateSyntaxError."""
    for key in phrases():
        for language in get_args(Language):
            _template(key, language)


_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_KANA_OR_HANGUL = re.compile(r"[\u3040-\u30ff\u1100-\u11ff\uac00-\ud7af]")
_LATIN_WORD = re.compile(r"[A-Za-z][\w.\-']*")


def detect(text: str) -> Language:
    """The language to answer in: "zh" when the text is mostly Chinese, else "en".

    Japanese and Korean texts have ideographs too; their own letters tell them apart. A few Chinese column names leave
    an English sentence English. A few English words leave a Chinese sentence Chinese.
    """
    sample = text[:4000]
    han = len(_HAN.findall(sample))
    others = len(_KANA_OR_HANGUL.findall(sample))
    return "zh" if han > len(_LATIN_WORD.findall(sample)) and others * 10 <= han else "en"
