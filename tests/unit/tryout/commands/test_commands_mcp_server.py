"""Threadbook as a server of tools: a real MCP client, the tools of one person, whole turns behind them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import mcp
import pytest
from turn_world import ANA, BEN, World, cell, finish, hurried, new_database, question

from core.errors import SettingsError
from core.settings import load_settings
from core.slack.reading.reader import SlackReader
from core.values import ThreadKey
from tryout.commands.mcp_server import Doors, person_of, server_of
from workers.memory.playbooks.page import Playbook, PlaybookStage, write_playbook
from workers.models.scripted import ScriptedModel

TOKEN = "planted-token-of-ana-0123456789abcdef"
CHURN = Playbook(
    name="Churn by region",
    when="Which region lost most customers?",
    stages=(PlaybookStage("Count who left", "a table with region, left", "left = 7\nleft"),),
    owner="Ana",
)


def doors(world: World, *, user: str = ANA, team: str = "") -> Doors:
    """What `threadbook mcp` gives a person; between two looks at a turn the workers of the world work."""
    context = world.worker()
    made = Doors(world.settings, world.store, context.context.slack, context.wakes, team or world.slack.team, user)

    def work() -> None:
        for line in world.store.find_threads():
            world.settle(ThreadKey.parse(line.thread_id))

    return replace(made, pause=work)


def call(given: Doors, tool: str, **arguments: Any) -> mcp.types.CallToolResult:
    async def asked() -> mcp.types.CallToolResult:
        async with mcp.Client(server_of(given)) as client:
            return await client.call_tool(tool, arguments)

    return anyio.run(asked)


def text(result: mcp.types.CallToolResult) -> str:
    return "\n".join(str(getattr(part, "text", "")) for part in result.content)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with hurried(), closing(World(tmp_path / "world", new_database(tmp_path))) as made:
        yield made


def test_the_tools_are_ask_threads_and_playbooks(world: World) -> None:
    async def listed() -> list[str]:
        async with mcp.Client(server_of(doors(world))) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    assert anyio.run(listed) == ["ask", "threads", "playbooks"]


def test_a_question_is_answered_in_the_direct_message_and_given_back(world: World) -> None:
    world.model = ScriptedModel([cell("print(7)"), finish("There are 7 orders.")])
    result = call(doors(world), "ask", question="How many orders?")
    assert not result.is_error
    assert "There are 7 orders." in text(result)
    (thread,) = [line for line in world.store.find_threads() if line.turns]
    assert thread.channel.startswith("D")
    assert "Another program that holds your token asks this" in world.text(ThreadKey.parse(thread.thread_id))
    assert [line.action for line in world.store.audit_lines(actor=ANA)][:1] == ["ask"]


def test_a_question_of_the_analyst_is_told_with_the_place_to_answer_it(world: World) -> None:
    world.model = ScriptedModel([question("Gross or net?", "gross", "net")])
    said = text(call(doors(world), "ask", question="Revenue?"))
    assert "Gross or net?" in said
    assert "- gross" in said


@pytest.mark.parametrize("tool", [("ask", {"question": "How many?"}), ("playbooks", {})])
def test_a_person_who_may_not_is_refused_and_nothing_begins(world: World, tool: tuple[str, dict[str, str]]) -> None:
    world.slack.flags[BEN] = {"is_restricted": True}
    result = call(doors(world, user=BEN), tool[0], **tool[1])
    assert result.is_error
    assert "guests of this workspace may not do this" in text(result)
    assert [line.outcome for line in world.store.audit_lines(actor=BEN)] == ["refused"]
    assert [line for line in world.store.find_threads() if line.turns] == []


def test_a_search_finds_what_the_person_may_see_and_no_more(world: World) -> None:
    world.model = ScriptedModel([cell("print(7)"), finish("Churn is 7.")])
    key = world.say("churn in march?")
    world.settle(key)
    found = call(doors(world), "threads", words="churn").structured_content
    assert [line["question"] for line in found["result"]] == ["churn in march?"]
    world.slack.flags[BEN] = {"is_restricted": True}
    assert call(doors(world, user=BEN), "threads", words="churn").structured_content == {"result": []}
    assert call(doors(world), "threads", words=" ").is_error


def test_playbooks_are_listed_and_read_from_the_folders_that_the_person_may_read(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SlackReader, "may_read", lambda slack, channel, user, own: channel != "C0PRIVATE1")
    folder = world.settings.memory_folder
    for space in ("everyone", "channels/C0PRIVATE1", "channels/C0SALES001"):
        (folder / space / "playbooks").mkdir(parents=True)
    (folder / "everyone/playbooks/churn.md").write_text(write_playbook(CHURN))
    (folder / "channels/C0PRIVATE1/playbooks/secret.md").write_text(write_playbook(replace(CHURN, name="Secret")))
    (folder / "channels/C0SALES001/playbooks/sales.md").write_text(write_playbook(replace(CHURN, name="Sales")))
    listed = call(doors(world), "playbooks").structured_content
    assert [line["name"] for line in listed["result"]] == ["Churn by region", "Sales"]
    (read,) = call(doors(world), "playbooks", name="churn by region").structured_content["result"]
    assert "left = 7" in read["text"]
    assert call(doors(world), "playbooks", name="Secret").is_error


Made = Callable[[str], Any]


@pytest.fixture
def settings(tmp_path: Path) -> Made:
    """`settings(token)`: those of an installation that knows the hash of Ana's token."""
    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    (tmp_path / "threadbook.toml").write_text(f'[mcp_server]\ntokens = ["{ANA} sha256:{digest}"]\n')
    return lambda token: load_settings({"THREADBOOK_MCP_TOKEN": token} if token else {}, tmp_path)


def test_a_token_is_that_of_one_person(settings: Made) -> None:
    assert person_of(settings(TOKEN)) == ANA


@pytest.mark.parametrize("token", ["", TOKEN + "x"])
def test_a_token_of_nobody_is_refused_without_being_repeated(settings: Made, token: str) -> None:
    with pytest.raises(SettingsError, match="THREADBOOK_MCP_TOKEN") as refused:
        person_of(settings(token))
    assert TOKEN not in str(refused.value)


def test_a_token_is_no_part_of_what_settings_show(settings: Made) -> None:
    assert TOKEN not in repr(settings(TOKEN)) + settings(TOKEN).model_dump_json()


def test_a_short_token_and_a_line_that_is_no_hash_are_refused(settings: Made, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="THREADBOOK_MCP_TOKEN"):
        settings("short")
    (tmp_path / "threadbook.toml").write_text(f'[mcp_server]\ntokens = ["{ANA} {TOKEN}"]\n')
    with pytest.raises(SettingsError, match="sha256"):
        settings("")
