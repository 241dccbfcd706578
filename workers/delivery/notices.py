"""The executor's messages about a session as sentences. The executor has codes and values; `phrases.yaml` has the text.

People read it in the language of their thread, the model reads it in English.
"""

from __future__ import annotations

from collections.abc import Sequence

from jinja2 import UndefinedError

from core.phrases import joined, say
from core.values import Language
from executor.notices import for_log
from executor.values import CellResult, Notice


def worded(result: CellResult, language: Language) -> str:
    """The result's notices as sentences; "" when there are none.

    A notice of another version of the executor, for which there is no phrase, is shown as its code with its values.
    """
    return in_words(result.notices, language)


def in_words(notices: Sequence[Notice], language: Language) -> str:
    """Notices as sentences, one behind the other; "" for none."""
    sentences = [_sentence(notice, language).strip() for notice in notices]
    return joined([sentence for sentence in sentences if sentence], language)


def _sentence(notice: Notice, language: Language) -> str:
    if notice.code == "text":
        return str(notice.values.get("text", ""))
    values = {
        name: _sentence(value, language) if isinstance(value, Notice) else value
        for name, value in notice.values.items()
    }
    try:
        return say(f"notice_{notice.code}", language, **values)
    except (KeyError, TypeError, ValueError, UndefinedError):  # a session host of another version
        return for_log(notice)
