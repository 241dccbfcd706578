"""startup: code of a person that runs whenever the thread's session starts again; "startup off" takes it away.

The turn has run the code as a cell before this (`workers/agent/decide.py`). Code that failed is not kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.commands.registry import STARTUP, argument_of
from core.phrases import say
from core.steps import OWN_CALL, CellRan, Startup, Step
from workers.agent.startup import startup_of
from workers.turn.commands.thread import CommandThread


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Keep the code, or take it away, and say so; or say why not."""
    command, language = thread.command, thread.language
    code = argument_of(STARTUP, command.text) if command.command == STARTUP else ""
    known = startup_of([step for steps in thread.turns for step in steps])
    if command.command != STARTUP:
        thread.answer(say("startup_gone" if known else "startup_none", language))
        return (_step(thread, ""),) if known else ()
    call_id = f"{OWN_CALL}{command.ts}"
    ran = next((step for step in thread.turns[-1] if isinstance(step, CellRan) and step.call_id == call_id), None)
    if ran is None or ran.status != "ok":
        key = "startup_failed" if ran is not None else "run_stopped" if code.strip() else "run_empty"
        thread.answer(say(key, language), done=False)
        return ()
    thread.answer(say("startup_kept", language, author=command.author))
    return (_step(thread, code),)


def _step(thread: CommandThread, code: str) -> Startup:
    command = thread.command
    return Startup(code=code, user=command.user, author=command.author, ts=command.ts)
