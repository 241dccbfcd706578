"""Which turn a thread's mail is for, while more of it comes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from turn_world import World, cell, finish

from core.steps import Step
from core.store.wait_queue import QueuedThread
from workers.models.scripted import ScriptedModel
from workers.service.admission import Admission
from workers.turn.commands import CommandThread, status


def test_a_question_that_comes_during_a_command_is_admitted_of_its_own(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.model = ScriptedModel(turns=[[cell("x = 1"), finish("It is 1.")], [finish("It is 1 again.")]])
    key = world.say("how much?")
    world.settle(key)
    carry_out, admit, needed = status.carry_out, Admission.admit, []

    def and_ask(thread: CommandThread) -> Sequence[Step]:
        world.say("and now?", thread=key)
        return carry_out(thread)

    @contextmanager
    def noted(admission: Admission, thread: QueuedThread) -> Iterator[bool]:
        needed.append(thread.needs_place)
        with admit(admission, thread) as admitted:
            yield admitted

    monkeypatch.setattr(status, "carry_out", and_ask)
    monkeypatch.setattr(Admission, "admit", noted)
    world.say("status", thread=key)
    world.settle(key)
    assert needed == [False, True]
    assert world.statuses(key) == ["done", "done"]
