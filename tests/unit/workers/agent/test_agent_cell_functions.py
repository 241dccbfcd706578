"""What the model is told when it calls, as a tool of its own, what only the code of a cell can call."""

from __future__ import annotations

from dataclasses import replace

import pytest
from agent_kit import ENVIRONMENT, asked, call, said, turn

from workers.agent.actions import CorrectModel
from workers.agent.cell_functions import cell_function
from workers.agent.decide import decide
from workers.agent.turn import SourceNote, ToolNote, ToolServerNote

SHOP = (SourceNote("shop"),)
TOOLS = (
    ToolServerNote("tickets", "", (ToolNote("search_tickets"), ToolNote("close"))),
    ToolServerNote("crm", "", (ToolNote("close"),)),
)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("sql_query", 'query(sql, source="shop")'),
        ("run_sql", 'query(sql, source="shop")'),
        ("db.execute", 'query(sql, source="shop")'),
        ("search_schema", "search_schema(…)"),
        ("tickets.search_tickets", 'tool("tickets.search_tickets", name=value)'),
        ("mcp__tickets__search_tickets", 'tool("tickets.search_tickets", name=value)'),
        ("search_tickets", 'tool("tickets.search_tickets", name=value)'),
        ("crm_close", 'tool("crm.close", name=value)'),
        ("web_search", ""),
        ("", ""),
    ],
)
def test_a_tool_that_only_a_cell_can_call_is_named_as_a_cell_calls_it(name: str, function: str) -> None:
    assert cell_function(name, replace(ENVIRONMENT, sources=SHOP, tools=TOOLS)) == function


def test_of_several_sources_none_is_chosen_for_the_model() -> None:
    environment = replace(ENVIRONMENT, sources=(*SHOP, SourceNote("web")))
    assert cell_function("sql", environment) == 'query(sql, source="NAME")'


def test_without_sources_and_tools_nothing_is_named() -> None:
    assert {cell_function(name, ENVIRONMENT) for name in ("sql_query", "tables", "crm.close", "tool")} == {""}


@pytest.mark.parametrize(("name", "arguments"), [("sql_query", {}), ("run_python", {"code": "x", "language": "sql"})])
def test_a_model_that_calls_for_sql_is_told_of_query(name: str, arguments: dict[str, str]) -> None:
    environment = replace(ENVIRONMENT, sources=SHOP)
    action = decide(turn(asked(), said(call(name, **arguments)), environment=environment))
    assert isinstance(action, CorrectModel)
    assert 'The code of a cell does it: query(sql, source="shop").' in action.text
