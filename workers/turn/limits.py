"""What the cells of a thread may use: limits by its channel, and the modules that the team lets code import."""

from __future__ import annotations

from dataclasses import replace

from core.settings import Settings
from core.values import ThreadKey
from executor.values import CellError, CellResult
from workers.agent.code.imports import ALWAYS, listed, unlisted
from workers.agent.turn import Environment


def limits_of(settings: Settings, thread_id: str) -> dict[str, float]:
    """The limits of a thread's session, by the names of `executor.values.Limits`."""
    return settings.session_limits(ThreadKey.parse(thread_id).channel)


def environment_of(environment: Environment, settings: Settings, thread_id: str) -> Environment:
    """The place where the code of this thread runs, with the limits that it has there."""
    own = limits_of(settings, thread_id)
    imports = listed(settings.sandbox.imports)
    timeout_s, memory_mb = own["cell_timeout_s"], round(own["memory_mb"])
    return replace(environment, cell_timeout_s=timeout_s, memory_mb=memory_mb, imports=imports)


def refused_import(settings: Settings, code: str) -> str:
    """Why code is not run by `[sandbox] imports`, a sentence for the model and for people; "" when it may run."""
    allowed = listed(settings.sandbox.imports)
    names = unlisted(code, allowed) if allowed else ()
    if not names:
        return ""
    shown, known = ", ".join(names), ", ".join((*allowed, *ALWAYS[1:]))
    return (
        f"Not run: this team lets code import only what is on its list, and {shown} is not. Use what is on the list: "
        f"{known}. An admin can add to it ([sandbox] imports)."
    )


def not_run(cell_id: str, why: str, name: str = "ImportPolicy") -> CellResult:
    """The result of a cell that did not run. `name` is that of its error; else the team's list of modules keeps it
    from running."""
    return CellResult(cell_id, "error", error=CellError(name, why, f"{name}: {why}"), files_read=())
