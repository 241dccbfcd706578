"""“compare LINK”: the numbers of two threads that differ, and their code as a diff, where everybody may read both."""

from __future__ import annotations

from typing import Any

import pytest
from test_turn_fork import LOAD, SALES, fork, link, script
from test_turn_sources import COUNT, asked  # noqa: F401 - a fixture
from turn_world import ANA, BEN, Death, Killed, World, cell, finish

from core.commands.registry import command_in
from core.values import ThreadKey

OTHER = "C0OTHER001"


def compared(world: World, key: ThreadKey, where: str, *, user: str = ANA, word: str = "compare") -> str:
    """What the thread said last after somebody asked it to compare itself."""
    world.say(f"{word} {where}", thread=key, user=user)
    world.settle(key)
    return world.text(key).splitlines()[-1]


def two_threads(world: World, channel: str = "C0SALES001") -> tuple[ThreadKey, ThreadKey]:
    fifty = cell("total = 50\nprint('total', total)", "Count")
    script(world, cell("total = 42\nprint('total', total)", "Count"), finish("The total is 42."))
    here = world.say("what is the total?")
    world.settle(here)
    script(world, fifty, finish("The total is 50."))
    there = world.say("what is the total now?", channel=channel)
    world.settle(there)
    return here, there


def test_figures_that_differ_are_said_and_the_rest_is_a_file(world: World) -> None:
    here, there = two_threads(world)
    compared(world, here, link(world, there))
    text = world.text(here)
    assert "1 figure differs, 0 are the same" in text
    assert "here 42, there 50" in text
    assert "comparison.md" in world.files(here)
    files = [file for message in world.messages(here) for file in message.get("files") or ()]
    document = world.slack.content(next(file["id"] for file in files if file["name"] == "comparison.md")).decode()
    assert "-total = 50\n+total = 42" in document
    assert "The total is 42." in document
    assert "The total is 50." in document
    assert "| ≠ | total | 42 | 50 |" in document


def test_a_fork_is_compared_with_its_origin_by_what_came_after(world: World) -> None:
    script(world, LOAD, finish("The total is 42."), cell("total += 8\nprint(total)", "Add"), finish("It is 50 now."))
    key = world.say("what is the total?", files=SALES)
    world.settle(key)
    new = fork(world, key)
    assert "The code is the same" in compared(world, new, link(world, key))
    world.say("add 8", thread=new)
    world.settle(new)
    said = compared(world, new, link(world, key), word="对比")
    assert "The code here has 4 additional lines" in said


def test_comparing_a_question_with_words_is_a_question() -> None:
    assert command_in("compare sales of north and south") is None
    assert command_in("compare https://example.com/report and the budget") is None
    assert command_in("compare <https://x.slack.com/archives/C0SALES001/p1795399449619486>") is not None
    assert command_in("compare https://x.slack.com/archives/C0SALES001/p1795399449619486") is not None


@pytest.mark.parametrize("where", ["https://x.slack.com/archives/C0SALES001/p1111111111111111", ""])
def test_an_unknown_link_is_said_to_be_none(world: World, where: str) -> None:
    here, _ = two_threads(world)
    assert compared(world, here, where).startswith("I know no thread at this link" if where else "Write the link")
    assert "comparison.md" not in world.files(here)


def test_the_thread_itself_is_nothing_to_compare_with(world: World) -> None:
    here, _ = two_threads(world)
    assert "leads to this very thread" in compared(world, here, link(world, here))


def test_a_public_channel_is_compared_and_a_private_one_is_not_shown_elsewhere(world: World) -> None:
    here, there = two_threads(world, OTHER)
    compared(world, here, link(world, there))
    assert "1 figure differs" in world.text(here)
    world.slack.channel_flags = {"is_private": True}
    assert "not everybody here can read" in compared(world, here, link(world, there))


def test_what_a_person_cannot_read_is_the_same_as_what_is_not_there(world: World) -> None:
    here, there = two_threads(world, OTHER)
    world.slack.channel_flags = {"is_private": True}
    world.slack.channels[OTHER]["members"] = [ANA]
    assert compared(world, here, link(world, there), user=BEN).startswith("I know no thread at this link")


def test_rows_of_a_source_are_shown_to_those_alone_who_may_ask_it(asked: Any) -> None:  # noqa: F811
    world = asked(COUNT, finish("One."), more=f'people = ["{ANA}"]\n')
    other = world.say("hello?", user=BEN)
    world.settle(other)
    said = compared(world, other, link(world, world.key), user=BEN)
    assert "shop" in said
    assert "comparison.md" not in world.files(other)


def test_a_worker_that_dies_while_it_compares_says_it_once(world: World) -> None:
    here, there = two_threads(world)
    world.say(f"compare {link(world, there)}", thread=here)
    effects = Death()
    world.settle(here, effects)
    for at in range(1, len(effects.effects) + 1):
        world.say(f"compare {link(world, there)}", thread=here)
        try:
            world.settle(here, Death(at))
        except Killed:
            world.sessions.halted = False
        world.settle(here)
    assert world.text(here).count("1 figure differs") == len(effects.effects) + 1
