"""The offline analyst as a judge of reports: it checks whether there is an answer with numbers from the cells."""

from __future__ import annotations

import json
import re

from core.steps import CellRan
from workers.agent.intents import Report
from workers.agent.parse import read_reply
from workers.agent.turn import Turn

_HONEST = re.compile(r"\bcould not\b|\bcannot\b|无法|不能")
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def verdict(turn: Turn) -> str:
    """The verdict on the report in the turn's last reply, as JSON.

    Final when it gives numbers, says plainly that there are none, or when no cell ran that could have given any.
    """
    episode = turn.episode
    intents = read_reply(episode.reply, episode.number).intents if episode else ()
    report = next((intent.text for intent in intents if isinstance(intent, Report)), "").strip()
    ran = any(isinstance(step, CellRan) for step in turn.thread_steps)
    if not report:
        return _reply(False, "the report is empty")
    if ran and not _NUMBER.search(report) and not _HONEST.search(report):
        return _reply(False, "the report gives no number although cells have run")
    return _reply(True)


def _reply(is_final: bool, reason: str = "") -> str:
    return json.dumps({"is_final": is_final, "reason": reason} if reason else {"is_final": is_final})
