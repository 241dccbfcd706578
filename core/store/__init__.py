"""The Store: the truth about messages, turns, steps, files, reports and what was sent to Slack.

`store.py` composes it from one part per group of tables; `history.py` and `ended.py` are for those who only watch.
"""

from __future__ import annotations

from core.errors import LeaseLost
from core.rows import Appended, OutboxRow, Recorded, ReportRow, Spent, StoredMessage, TurnRow
from core.store.database import ADDRESS_ADVICE, StoreDamaged, StoreUnreachable
from core.store.outbox import CARD_SLOT
from core.store.schema import StoreTooNew
from core.store.spending import start_of_day
from core.store.store import Store
from core.store.turns import open_turn_of

__all__ = [
    "ADDRESS_ADVICE",
    "CARD_SLOT",
    "Appended",
    "LeaseLost",
    "OutboxRow",
    "Recorded",
    "ReportRow",
    "Spent",
    "Store",
    "StoreDamaged",
    "StoreTooNew",
    "StoreUnreachable",
    "StoredMessage",
    "TurnRow",
    "open_turn_of",
    "start_of_day",
]
