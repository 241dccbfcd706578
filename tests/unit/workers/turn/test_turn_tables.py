"""A report's tables in the thread: data tables where the workspace has them, plain ones elsewhere, no answer lost."""

from __future__ import annotations

from turn_world import Json, World, cell, finish

from core.values import ThreadKey
from workers.models.scripted import ScriptedModel

ANSWER = "North leads.\n\n## Units\n\n| Region | Units |\n|---|---|\n| North | 120 |\n| South | 100 |\n"
LONG = "| Region | Units |\n|---|---|\n" + "".join(f"| {name} | 120 |\n" for name in "ABCDEFGHIJK")
TWICE = f"North leads.\n\n## Units\n\n{LONG}\n## Again\n\n{LONG}"
"""Two tables that are too long to stand in the text."""


def ask(world: World, report: str = ANSWER) -> ThreadKey:
    world.model = ScriptedModel([cell('print("North 120")\nprint("South 100")', "Totals"), *[finish(report)] * 3])
    key = world.say("how much?")
    world.settle(key)
    return key


def tables(world: World, key: ThreadKey) -> list[Json]:
    blocks = [block for message in world.messages(key, ours=True) for block in message.get("blocks") or ()]
    return [block for block in blocks if block["type"] in ("table", "data_table")]


def posts(world: World) -> int:
    return sum(method == "chat.postMessage" for method, _ in world.slack.calls)


def test_a_table_can_be_sorted_by_its_numbers(world: World) -> None:
    (table,) = tables(world, ask(world))
    assert (table["type"], table["caption"]) == ("data_table", "Units")
    assert table["rows"][1][1] == {"type": "raw_number", "value": 120, "text": "120"}


def test_a_workspace_without_them_gets_plain_tables_after_one_refusal(world: World) -> None:
    key = ask(world, TWICE)
    with_them = posts(world)
    assert [table["type"] for table in tables(world, key)] == ["data_table", "data_table"]
    world.slack.unknown_blocks.add("data_table")
    key = ask(world, TWICE)
    assert [table["type"] for table in tables(world, key)] == ["table", "table"]
    assert posts(world) == 2 * with_them + 1
    assert "North leads." in world.text(key)


def test_a_workspace_without_any_tables_gets_their_words(world: World) -> None:
    world.slack.unknown_blocks |= {"data_table", "table"}
    key = ask(world)
    assert tables(world, key) == []
    assert "North | 120" in world.text(key)
    assert world.statuses(key) == ["done"]
