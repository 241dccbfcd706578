"""A cell that shows nothing for long: the model looks at it once, the thread is asked, nothing is stopped by itself."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from patience import PATIENCE_S, eventually
from turn_world import ANA, Json, Meanwhile, NewWorld, World, cell, finish

from core.steps import Usage
from core.values import ThreadKey
from tryout.stack.blocks_text import message_text
from workers.models.base import ModelReply, ModelRequest, ModelUnavailable, OnDelta
from workers.models.scripted import ScriptedModel

QUICK = "[limits]\nsilence_s = 0.01\n"
ADVICE = '{"advice": "stop", "why": "The loop has no end."}'


class Looking(Meanwhile):
    """A model that says this when it is asked to look at a cell; without words it is away."""

    def __init__(self, script: list[Json], says: str = ADVICE) -> None:
        super().__init__(ScriptedModel(script), {})
        self.says = says
        self.looks: list[ModelRequest] = []
        self.before_asking: Callable[[], object] = lambda: None

    def complete(self, request: ModelRequest, on_delta: OnDelta) -> ModelReply:
        if request.purpose != "look":
            return super().complete(request, on_delta)
        self.looks.append(request)
        self.before_asking()
        if not self.says:
            raise ModelUnavailable("away")
        return ModelReply(self.says, usage=Usage(prompt_tokens=300, completion_tokens=20))


class Silent:
    """A thread whose cell waits, without a word, until `end` is called."""

    def __init__(
        self, world: World, gate: Path, says: str = ADVICE, question: str = "how long?", begins: bool = True
    ) -> None:
        wait = f"import os, time\nwhile not os.path.exists({str(gate)!r}):\n    time.sleep(0.005)\nprint('done')"
        self.world, self.gate = world, gate
        self.model = world.model = Looking([cell(wait, "Wait for it"), finish("It is done.")], says)
        self.key: ThreadKey = world.say(question)
        self._worker = threading.Thread(target=world.settle, args=(self.key,))
        if begins:
            self.begin()

    def begin(self) -> None:
        self._worker.start()

    def asked(self) -> list[Json]:
        mine = self.world.messages(self.key, ours=True)
        return [message for message in mine if "has shown nothing" in message["text"]]

    def end(self) -> None:
        self.gate.touch()
        self._worker.join()


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "gate"
    yield path
    path.touch()


def test_the_model_looks_at_a_silent_cell_and_the_thread_is_asked(new_world: NewWorld, gate: Path) -> None:
    silent = Silent(new_world(team=QUICK), gate)
    eventually(lambda: bool(silent.asked()), "the question")
    (message,) = silent.asked()
    text = message_text(message)
    assert "The step “Wait for it” has shown nothing" in text
    assert "It looks stuck: The loop has no end." in text
    assert "[Stop]" in text
    prompt = str(silent.model.looks[0].messages[0]["content"])
    assert "time.sleep(0.005)" in prompt
    silent.end()
    assert silent.world.statuses(silent.key) == ["done"], "nothing is stopped by itself"
    assert len(silent.model.looks) == 1
    assert "[Stop]" not in message_text(silent.asked()[0])


def test_the_question_is_in_the_language_of_the_thread(new_world: NewWorld, gate: Path) -> None:
    silent = Silent(new_world(team=QUICK), gate, question="Wie lange dauert das bitte?")

    def asked() -> list[str]:
        return [
            text for message in silent.world.messages(silent.key, ours=True) if "nichts" in (text := message["text"])
        ]

    eventually(lambda: bool(asked()), "the question")
    assert "hat seit einer Weile nichts gezeigt" in asked()[0]
    assert "German" in str(silent.model.looks[0].messages)
    silent.end()


def test_what_the_look_took_is_counted(new_world: NewWorld, gate: Path) -> None:
    silent = Silent(new_world(team=QUICK), gate)
    eventually(lambda: bool(silent.asked()), "the question")
    silent.end()
    looks = [step for step in silent.world.steps(silent.key, "replied") if step["purpose"] == "look"]
    assert [step["usage"]["prompt_tokens"] for step in looks] == [300]
    assert silent.world.store.spent(thread_id=silent.key.id).tokens == 320


def test_the_stop_button_stops_it(new_world: NewWorld, gate: Path) -> None:
    silent = Silent(new_world(team=QUICK), gate)
    eventually(lambda: bool(silent.asked()), "the question")
    silent.world.press_stop(silent.key, user=ANA)
    silent._worker.join()
    assert silent.world.statuses(silent.key) == ["stopped"]


@pytest.mark.parametrize("says", ["", "I think so", "[1, 2]", '{"advice": "run rm -rf", "why": 7}'])
def test_a_model_that_is_away_or_talks_nonsense_costs_only_its_advice(
    new_world: NewWorld, gate: Path, says: str
) -> None:
    silent = Silent(new_world(team=QUICK), gate, says)
    eventually(lambda: bool(silent.asked()), "the question")
    assert "looks" not in message_text(silent.asked()[0])
    silent.end()
    assert silent.world.statuses(silent.key) == ["done"]


def test_it_can_be_switched_off(new_world: NewWorld, gate: Path) -> None:
    silent = Silent(new_world(team="[limits]\nsilence_s = 0\n"), gate)
    silent.end()
    assert silent.asked() == []
    assert silent.model.looks == []


def test_a_question_that_comes_after_its_cell_has_no_button(new_world: NewWorld, gate: Path) -> None:
    """The post waits for Slack while the cell ends; the turn goes on with the model meanwhile."""
    world = new_world(team=QUICK)
    silent = Silent(world, gate, begins=False)
    cell_is_over, is_asked = threading.Event(), threading.Event()

    def next_call() -> None:
        cell_is_over.set()
        is_asked.wait(PATIENCE_S)

    def late() -> None:
        gate.touch()
        cell_is_over.wait(PATIENCE_S)

    silent.model._then = {2: next_call}
    silent.model.before_asking = lambda: world.slack.fault("chat.postMessage", then=late)
    silent.begin()
    eventually(lambda: bool(silent.asked()), "the question")
    eventually(lambda: "[Stop]" not in message_text(silent.asked()[0]), "no button")
    is_asked.set()
    silent.end()
    assert silent.world.statuses(silent.key) == ["done"]
