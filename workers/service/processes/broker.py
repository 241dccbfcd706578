"""The broker of data sources of this node, as the supervisor sees it."""

from __future__ import annotations

from core.settings import Settings
from executor.watchdog import Watchdog
from workers.service.processes.sidecar import PING_S, SidecarProcess
from workers.sources.broker.client import BrokerClient
from workers.sources.errors import SourceAway


class BrokerProcess(SidecarProcess):
    """One broker process; none where there are no sources."""

    module = "workers.sources.broker"
    away = SourceAway

    def __init__(self, settings: Settings, urls: int | None = None, watchdog: Watchdog | None = None) -> None:
        """`urls` is the file that `hold_secrets` gave."""
        super().__init__(settings, settings.broker_socket, urls, watchdog)

    @property
    def is_wanted(self) -> bool:
        """Whether a source is configured."""
        return bool(self._settings.sources)

    def ping(self) -> None:
        """Return when it answers. Raises SourceAway."""
        BrokerClient(self.socket, back_s=0.0).kinds(PING_S)

    def tables(self) -> dict[str, object]:
        """The sources, and how much memory it may take."""
        return {
            "sources": {name: each.model_dump(mode="json") for name, each in self._settings.sources.items()},
            "workers": self._settings.workers.model_dump(mode="json"),
        }
