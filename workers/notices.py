"""What the executor says of a session, in the language of its thread."""

from __future__ import annotations

from jinja2 import UndefinedError

from core.phrases import say
from core.values import Language
from executor.values import CellResult, Notice


def worded(result: CellResult, language: Language) -> str:
    """The result's notice for people; the executor's own English where it says something we have no words for."""
    try:
        sentences = [_worded(notice, language) for notice in result.notices]
    except (KeyError, TypeError, UndefinedError):  # a session host of another version
        sentences = []
    return ("" if language == "zh" else " ").join(sentences) or result.notice or ""


def _worded(notice: Notice, language: Language) -> str:
    if notice.code == "text":
        return str(notice.values["text"])
    values = {
        name: _worded(value, language) if isinstance(value, Notice) else value for name, value in notice.values.items()
    }
    return say(f"notice_{notice.code}", language, **values)
