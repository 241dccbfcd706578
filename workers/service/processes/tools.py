"""The process of this node that calls tools of other systems, as the supervisor sees it."""

from __future__ import annotations

from pathlib import Path

from core.settings import Settings
from executor.watchdog import Watchdog
from workers.service.processes.sidecar import PING_S, SidecarProcess
from workers.tools.client import ToolsClient
from workers.tools.errors import ToolAway


class ToolsProcess(SidecarProcess):
    """One such process; none where `[mcp]` names no server."""

    module = "workers.tools"
    away = ToolAway

    def __init__(
        self,
        settings: Settings,
        secrets: int | None = None,
        watchdog: Watchdog | None = None,
        socket: Path | None = None,
    ) -> None:
        """`secrets` is the file that `hold_secrets` gave; `socket` another place than the service's."""
        super().__init__(settings, socket or settings.tools_socket, secrets, watchdog)

    @property
    def is_wanted(self) -> bool:
        """Whether `[mcp]` names a server."""
        return bool(self._settings.mcp)

    def ping(self) -> None:
        """Return when it answers. Raises ToolAway."""
        ToolsClient(self.socket, back_s=0.0).ping(PING_S)

    def tables(self) -> dict[str, object]:
        """The servers of tools."""
        return {"mcp": {name: each.model_dump(mode="json") for name, each in self._settings.mcp.items()}}
