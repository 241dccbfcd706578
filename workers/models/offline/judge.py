"""The offline analyst as a judge of reports: a plain look whether there is an answer with numbers from the cells."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from workers.agent.actions import Message

_REPORT = re.compile(r"^# The report\n(.*?)(?=^# Your verdict|\Z)", re.MULTILINE | re.DOTALL)
_HONEST = re.compile(r"\bcould not\b|\bcannot\b|无法|不能")
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_SHOWN = re.compile(r"^# What the cells showed\n(.*?)(?=^# The report)", re.MULTILINE | re.DOTALL)


def verdict(messages: Sequence[Message]) -> str:
    """The verdict on the report in the last message, as JSON.

    Final when it gives numbers, says plainly that there are none, or when no cell ran that could have given any.
    """
    text = next((str(m.get("content") or "") for m in reversed(messages) if m.get("role") == "user"), "")
    found = _REPORT.search(text)
    report = (found[1] if found else "").strip()
    shown = _SHOWN.search(text)
    ran = shown is not None and 'Cell "' in shown[1]
    if not report:
        return _reply(False, "the report is empty")
    if ran and not _NUMBER.search(report) and not _HONEST.search(report):
        return _reply(False, "the report gives no number although cells have run")
    return _reply(True)


def _reply(is_final: bool, reason: str = "") -> str:
    return json.dumps({"is_final": is_final, "reason": reason} if reason else {"is_final": is_final})
