"""What becomes of an undo stands in the audit: also that there was nothing to take back."""

from __future__ import annotations

from turn_world import ANA, World, cell, finish

from core.interactions import Reaction
from core.phrases import say
from workers.models.scripted import ScriptedModel


def test_an_undo_that_takes_nothing_back_is_not_written_down_as_done(world: World) -> None:
    world.model = ScriptedModel([cell("x = 1", "Set"), finish("Done.")])
    key = world.say("set it")
    world.settle(key)
    for _ in range(2):
        said = world.say("undo", thread=key)
        world.settle(said)
    assert say("nothing_to_undo", "en") in world.text(key)
    lines = [line.outcome for line in world.store.audit_lines(actor=ANA) if line.action == "undo"]
    assert lines == ["done", "nothing"]
    marks = [each["name"] for message in world.messages(key) for each in message.get("reactions", ())]
    assert (marks.count(Reaction.DONE), marks.count(Reaction.FAILED)) == (2, 1)
