"""Everything that a turn works with, and the one way to postpone it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from core.blobs import Blobs
from core.errors import ThreadbookError
from core.settings import Settings
from core.slack.writing.writer import SlackWriter
from core.store import Store
from executor.client import SessionClient
from workers.agent.turn import Environment, Prompts
from workers.models.base import Model
from workers.sources.broker.client import BrokerClient
from workers.tools.client import ToolsClient
from workers.turn.files import ThreadFiles
from workers.turn.stop_check import StopBoard
from workers.turn.transfer.session_transfer import SessionTransfer
from workers.turn.waiting import Waiting


class RetryLater(ThreadbookError):
    """The turn cannot go on now for a temporary reason. Everything is kept; advance it again later."""


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
    """The client of the data sources; None if there are none."""
    tools: ToolsClient | None = None
    """What calls tools of other systems; None where there are none."""
    waiting: Waiting = field(default_factory=Waiting)
    second: Model | None = None
    """What writes the second way to the figures of a report, where that is another model than the turn's."""
    models: Mapping[str, Model] = field(default_factory=dict)
    """The further models of `[models]`, by name."""

    def model_named(self, name: str) -> Model:
        """The model that is offered under a name; the first one for "", and for a name that is not offered any more."""
        return self.models.get(name, self.model)
