"""Everything that a turn works with, and the one way it puts itself off."""

from __future__ import annotations

from dataclasses import dataclass

from core.blobs import Blobs
from core.settings import Settings
from core.slack import SlackWriter
from core.store import Store
from executor.client import SessionClient
from workers.agent.turn import Environment, Prompts
from workers.intake import Intake
from workers.luggage import Luggage
from workers.models.base import Model


class ComeBack(Exception):
    """The turn cannot go on now for a reason that passes by itself; everything is kept, advance it again later."""


@dataclass(frozen=True, slots=True)
class Workshop:
    """The parts. Made in `workers/wiring.py`."""

    settings: Settings
    store: Store
    blobs: Blobs
    slack: SlackWriter
    sessions: SessionClient
    intake: Intake
    luggage: Luggage
    model: Model
    prompts: Prompts
    environment: Environment
