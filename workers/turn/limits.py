"""What the cells of a thread may use, by its channel: told to the session host with each cell, and to the analyst."""

from __future__ import annotations

from dataclasses import replace

from core.settings import Settings
from core.values import ThreadKey
from workers.agent.turn import Environment


def limits_of(settings: Settings, thread_id: str) -> dict[str, float]:
    """The limits of a thread's session, by the names of `executor.values.Limits`."""
    return settings.session_limits(ThreadKey.parse(thread_id).channel)


def environment_of(environment: Environment, settings: Settings, thread_id: str) -> Environment:
    """The place where the code of this thread runs, with the limits that it has there."""
    own = limits_of(settings, thread_id)
    return replace(environment, cell_timeout_s=own["cell_timeout_s"], memory_mb=round(own["memory_mb"]))
