"""Reading the judge's reply: is this report final?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from workers.agent.replies.loose_json import Unreadable, read_json
from workers.agent.text import clean, without_thoughts

REASON_CHARS = 1_000
_KEYS = ("is_final", "isFinal", "final", "is_final_answer", "complete", "done", "accepted")
_REASON_KEYS = ("reason", "why", "missing", "feedback", "explanation", "comment")
_WORDS = {"true": True, "yes": True, "1": True, "final": True, "false": False, "no": False, "0": False}
_NAMED = re.compile(r"is_?\s?final\W{1,8}(true|false|yes|no)\b", re.IGNORECASE)
_NO = re.compile(r"\b(?:false|no|not (?:yet )?(?:final|complete|done))\b", re.IGNORECASE)
_YES = re.compile(r"\b(?:true|yes)\b", re.IGNORECASE)


class Verdict(NamedTuple):
    """The judge's decision, and its reason if it gave one."""

    is_final: bool
    reason: str = ""


def read_verdict(text: str) -> Verdict | None:
    """The verdict in a judge's reply: JSON, fenced, in a list, repaired, or prose.

    An empty reply is "not final". None when the reply cannot be understood.
    """
    text = clean(without_thoughts(text)).strip()
    if not text:
        return Verdict(False)
    try:
        found = _from_json(read_json(text, in_prose=True))
    except Unreadable:
        found = None
    return found or _from_prose(text)


def _from_json(value: Any) -> Verdict | None:
    if isinstance(value, list):
        return next((verdict for item in value[:10] if (verdict := _from_json(item))), None)
    if isinstance(value, bool):
        return Verdict(value)
    if not isinstance(value, Mapping):
        return None
    answer = next((value[key] for key in _KEYS if key in value), None)
    is_final = answer if isinstance(answer, bool) else _WORDS.get(str(answer).strip().lower())
    if is_final is None:
        return None
    reason = next((value[key] for key in _REASON_KEYS if value.get(key)), "")
    return Verdict(is_final, clean(str(reason)).strip()[:REASON_CHARS])


def _from_prose(text: str) -> Verdict | None:
    if named := _NAMED.search(text):
        return Verdict(_WORDS[named[1].lower()], "" if _WORDS[named[1].lower()] else text[:REASON_CHARS])
    no, yes = bool(_NO.search(text)), bool(_YES.search(text))
    if no == yes:
        return None
    return Verdict(yes, "" if yes else text[:REASON_CHARS])
