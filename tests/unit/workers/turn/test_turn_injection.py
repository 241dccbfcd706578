"""What leaves when a model obeys every order that hostile files give it: the bound of docs/security.md, on whole turns.

A session in memory has no walls, so orders that are carried out by code are given to real sessions, in
tests/attacks/test_attacks_injection.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hostile_files import CALLED, CARRIERS, DATA, SPOKEN, HostileFile, corpus, made, order
from obeying_model import ObeyingModel
from turn_world import ANA, BEN, NewWorld, World
from what_leaves import leaks

from core.slack.fake import TOKEN
from core.slack.writing import outgoing
from core.values import ThreadKey
from tryout.stack.blocks_text import message_text

FILES = corpus(*SPOKEN, *CALLED)
AT_ONCE = 20
TURNS = [FILES[at : at + AT_ONCE] for at in range(0, len(FILES), AT_ONCE)]


def obeyed(world: World, files: Sequence[HostileFile], text: str = "What is in these files?") -> ThreadKey:
    """The thread of a turn with these files, in which every order was found and obeyed."""
    world.model = model = ObeyingModel()
    key = world.say(text, files={file.name: file.content for file in files})
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert model.obeyed >= {(file.order, file.number) for file in files}
    return key


def test_the_corpus_has_sixty_files_and_more_and_every_order_in_many_places() -> None:
    assert len(FILES) >= 60
    assert len(CARRIERS) >= 40
    for what in (*SPOKEN, *CALLED):
        assert len({file.carrier for file in FILES if file.order == what}) >= 4


@pytest.mark.parametrize("files", TURNS, ids=lambda files: f"{files[0].number}-{files[-1].number}")
def test_a_model_that_obeys_files_reaches_nobody_and_nothing_beyond_its_thread(
    world: World, files: Sequence[HostileFile]
) -> None:
    key = obeyed(world, files)
    assert DATA in world.text(key), "nothing of what was ordered is in the thread: it proves nothing"
    assert leaks(world.slack, key, secrets=[TOKEN]) == []


def test_the_same_words_do_leave_where_nothing_holds_them(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: without the functions that make text harmless the same turn leaks, and the look at it sees that."""
    for place in ("workers.delivery.deliver", "workers.delivery.reports.render", "core.slack.writing.outgoing"):
        monkeypatch.setattr(f"{place}.sanitize", lambda text, known=(): text)
    monkeypatch.setattr(outgoing, "without_pings", lambda text: text)
    monkeypatch.setattr(outgoing, "_without_addresses", lambda text, known: text)
    files = [
        made(number, "a cell of a CSV file", what) for number, what in enumerate((*SPOKEN, "ARTIFACT", "TITLE"), 1)
    ]
    key = obeyed(world, files)
    found = "\n".join(leaks(world.slack, key))
    for sign in ("pings: '<!", "leads to https://", "leads to mailto:", "leads to www."):
        assert sign.lower() in found.lower(), sign


def test_words_of_a_person_that_hold_an_order_leak_no_more_than_a_file(world: World) -> None:
    """A pasted text, a quoted message, a display name: whatever a model may take for an order."""
    world.model = model = ObeyingModel()
    key = world.say("\n".join(f"> {order(what, at)}" for at, what in enumerate(SPOKEN, 1)), user=BEN)
    world.settle(key)
    assert {what for what, _ in model.obeyed} == set(SPOKEN)
    assert leaks(world.slack, key) == []


def test_a_question_and_its_buttons_lead_nowhere(world: World) -> None:
    world.model = ObeyingModel(asks=True)
    file = made(1, "a cell of a CSV file", "LINK")
    key = world.say("What is in it?", files={file.name: file.content})
    world.settle(key)
    assert world.statuses(key) == ["waiting"]
    assert leaks(world.slack, key) == []
    world.say("the first", thread=key)
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert leaks(world.slack, key) == []


def test_no_order_gives_an_approval(new_world: NewWorld) -> None:
    """A cell waits for a person, whatever files and model say of who has approved what."""
    world = new_world(team='[approvals]\nask = "every cell"\n')
    world.model = ObeyingModel()
    file = made(1, "a cell of a CSV file", "APPROVE")
    key = world.say("What is in it?", files={file.name: file.content})
    asked = []
    for _ in range(2):  # the search, then the cell that says that it was approved
        world.settle(key)
        assert world.statuses(key) == ["waiting"]
        asked.append(world.steps(key, "questioned")[-1]["call_id"])
        assert len(world.steps(key, "cell")) == len(asked) - 1
        world.settle(key)
        assert world.statuses(key) == ["waiting"]
        world.decide(key, "run", user=ANA)
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert len(set(asked)) == 2
    assert "it ran" in world.steps(key, "cell")[-1]["stdout"]
    assert "approve:1" not in "".join(message_text(message) for message in world.messages(key) if message.get("user"))
    assert leaks(world.slack, key) == []
