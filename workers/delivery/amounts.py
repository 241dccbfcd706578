"""How long something took and what it cost, as people read it under a report and on a card."""

from __future__ import annotations

from core.phrases import number, say, written
from core.rows import Spent, money
from core.values import Language


def duration(seconds: float, language: Language) -> str:
    """A time in seconds, from a minute on in minutes."""
    shown = round(seconds, 1) if seconds < 10 else round(seconds)
    if shown < 60:
        return say("report_seconds", language, seconds=number(shown, language))
    return say("report_minutes", language, minutes=int(shown) // 60, seconds=int(shown) % 60)


def spending(spent: Spent, currency: str, language: Language) -> str:
    """The tokens, and the cost if it is known; "" if the endpoint counts no tokens."""
    return " · ".join(filter(None, (_tokens(spent, language), _cost(spent, currency, language))))


def _tokens(spent: Spent, language: Language) -> str:
    return say("report_tokens", language, count=number(spent.tokens, language)) if spent.tokens else ""


def _cost(spent: Spent, currency: str, language: Language) -> str:
    if spent.cost_micros is None:
        return ""
    return say("report_cost", language, amount=written(money(spent.cost_micros), language), currency=currency)
