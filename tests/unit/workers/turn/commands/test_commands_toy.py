"""A new command is its words and one module: nothing else has to know of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from turn_world import World, cell, finish, question

import workers.turn.commands
from core.commands.registry import Command, command_in, commands
from workers.models.scripted import ScriptedModel

MODULE = """
from core.steps import CellRan


def carry_out(thread):
    cells = [step for steps in thread.turns for step in steps if isinstance(step, CellRan)]
    thread.answer(f"This thread ran {len(cells)} cells.")
    return ()
"""


@pytest.fixture
def _toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command "tally", as one new file and its words."""
    (tmp_path / "tally.py").write_text(MODULE)
    monkeypatch.setattr(workers.turn.commands, "__path__", [*workers.turn.commands.__path__, str(tmp_path)])
    words = {"en": frozenset({"tally"}), "zh": frozenset({"计数"})}
    monkeypatch.setitem(commands(), "tally", Command(name="tally", words=words, at_rest="last_turn"))


@pytest.mark.usefixtures("_toy")
@pytest.mark.parametrize("word", ["Tally!", "计数"])
def test_a_new_command_works_at_rest(world: World, word: str) -> None:
    world.model = ScriptedModel([cell("1"), cell("2"), finish("Done.")])
    key = world.say("how much was sold?")
    world.settle(key)
    assert command_in(word) == commands()["tally"]
    world.say(word, thread=key)
    world.settle(key)
    assert world.text(key).count("This thread ran 2 cells.") == 1
    assert world.statuses(key) == ["done"]
    assert world.kinds(key)[-2:] == ["commanded", "acknowledged"]


@pytest.mark.usefixtures("_toy")
def test_a_new_command_works_while_a_turn_is_open(world: World) -> None:
    world.model = ScriptedModel([cell("1"), question("Which year?"), finish("Done.")])
    key = world.say("how much was sold?")
    world.settle(key)
    world.say("tally", thread=key)
    world.settle(key)
    assert world.text(key).count("This thread ran 1 cells.") == 1
    assert world.statuses(key) == ["waiting"]
