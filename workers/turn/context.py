"""Everything that a turn works with, and the one way to postpone it."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.blobs import Blobs
from core.errors import ThreadbookError
from core.settings import Settings
from core.slack.writer import SlackWriter
from core.store import Store
from executor.client import SessionClient
from workers.agent.turn import Environment, Prompts
from workers.models.base import Model
from workers.sources.broker.client import BrokerClient
from workers.turn.files import ThreadFiles
from workers.turn.session_transfer import SessionTransfer
from workers.turn.stop_check import StopBoard
from workers.turn.waiting import Waiting


class RetryLater(ThreadbookError):
    """The turn cannot go on now for a reason that passes by itself; everything is kept, advance it again later."""


@dataclass(frozen=True, slots=True)
class TurnContext:
    """The parts. Made in `workers/service/context.py`."""

    settings: Settings
    store: Store
    blobs: Blobs
    slack: SlackWriter
    sessions: SessionClient
    files: ThreadFiles
    transfer: SessionTransfer
    model: Model
    prompts: Prompts
    environment: Environment
    stops: StopBoard
    broker: BrokerClient | None = None
    """What asks the data sources; None where there are none."""
    waiting: Waiting = field(default_factory=Waiting)
