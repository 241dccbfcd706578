"""The process of this node that calls tools of other systems, as the supervisor sees it."""

from __future__ import annotations

from pathlib import Path

from core.settings import Settings
from executor.watchdog import Watchdog
from workers.service.broker_process import PING_S, BrokerProcess
from workers.tools.client import ToolsClient


class ToolsProcess(BrokerProcess):
    """One such process; none where `[mcp]` names no server."""

    NAME = "tools"

    def __init__(
        self,
        settings: Settings,
        secrets: int | None = None,
        watchdog: Watchdog | None = None,
        socket: Path | None = None,
    ) -> None:
        """`secrets` is the file that `hold_secrets` gave; `socket` another place than the service's."""
        super().__init__(settings, secrets, watchdog)
        self.socket = socket or settings.tools_socket

    @property
    def _is_wanted(self) -> bool:
        return bool(self._settings.mcp)

    def _ping(self) -> None:
        ToolsClient(self.socket, back_s=0.0).ping(PING_S)

    def _tables(self) -> dict[str, object]:
        return {"mcp": {name: each.model_dump(mode="json") for name, each in self._settings.mcp.items()}}

    def _command(self) -> list[str]:
        command = ["workers.tools", "--socket", str(self.socket)]
        return command if self._urls is None else [*command, "--secrets", str(self._urls)]
