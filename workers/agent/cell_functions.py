"""What a cell calls in place of a tool that the model does not have: `query()` of a data source, `tool()` of another
system."""

from __future__ import annotations

import re

from workers.agent.turn import Environment

_OF_SOURCES = ("tables", "columns", "search_schema", "sample", "describe")
_ASKS_DATA = re.compile(r"sql|query|database|(?<![a-z])db(?![a-z])", re.IGNORECASE)


def cell_function(name: str, environment: Environment) -> str:
    """The call, as a cell writes it, that the model most likely meant by a tool of this name; "" when there is none."""
    word = _letters(name)
    offered = [(server.name, tool.name) for server in environment.tools for tool in server.tools]
    whole = [pair for pair in offered if word.endswith(_letters("".join(pair)))]
    for server, tool in whole or [pair for pair in offered if word.endswith(_letters(pair[1]))]:
        return f'tool("{server}.{tool}", name=value)'
    if environment.sources:
        source = environment.sources[0].name if len(environment.sources) == 1 else "NAME"
        if function := next((one for one in _OF_SOURCES if word == _letters(one)), ""):
            return f"{function}(…)"
        if _ASKS_DATA.search(name):
            return f'query(sql, source="{source}")'
    return ""


def _letters(name: str) -> str:
    """A name in the form in which it is compared: endpoints allow no points in the names of tools."""
    return re.sub(r"[\W_]", "", name).casefold()
