"""Which servers of tools a turn may call, and what the analyst is told of them."""

from __future__ import annotations

from collections.abc import Sequence

from core.authorization import Authorizer
from core.errors import SlackUnreachable
from core.steps import Step
from core.values import ThreadKey
from workers.agent.turn import ToolNote, ToolServerNote
from workers.turn.access.sources import people_of
from workers.turn.context import TurnContext


def refusal_of(context: TurnContext, thread_id: str, steps: Sequence[Step], server: str, author: str = "") -> str:
    """The phrase for why a turn of these steps may not call a server; "" when it may. `author` wrote the code that
    calls, "" for the model."""
    people = people_of(steps) | ({author} if author else set())
    try:
        authorizer = Authorizer(context.settings, context.store, context.slack)
        return authorizer.may_call(server, ThreadKey.parse(thread_id), people).phrase
    except SlackUnreachable:
        return "tool_unknown_people"


def allowed_servers(context: TurnContext, thread_id: str, steps: Sequence[Step]) -> tuple[ToolServerNote, ...]:
    """The servers that a turn of these steps may call. If a server is unavailable, only the names of its tools are
    given."""
    if context.tools is None:
        return ()
    found = []
    for name, server in context.settings.mcp.items():
        if refusal_of(context, thread_id, steps, name):
            continue
        known = {each.name: each for each in context.tools.known_tools(name)}
        notes = tuple(
            ToolNote(tool, known[tool].about, known[tool].arguments) if tool in known else ToolNote(tool)
            for tool in server.tools
        )
        found.append(ToolServerNote(name, server.description, notes, asks=server.ask == "always"))
    return tuple(found)
