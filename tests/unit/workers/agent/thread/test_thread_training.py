"""Threads as examples for training: people have no names there."""

from __future__ import annotations

from agent_kit import asked, cell

from core.steps import CellRan, Decided
from workers.agent.thread.training import without_names

EDITED = Decided(call_id="approve:1", outcome="edited", code="x = 2", user="U2", author="Ben", ts="3.0")


def test_a_name_that_we_put_into_the_title_of_a_cell_is_replaced_too() -> None:
    own = cell("print(1)", "", 2, title="Code of Ana: Anatomy", user="U1", author="Ana")
    (steps,) = without_names([(asked(), EDITED, cell("x = 2", title="Sum (code changed by Ben)"), own)])
    titles = [step.title for step in steps if isinstance(step, CellRan)]
    assert titles == ["Sum (code changed by person_2)", "Code of person_1: Anatomy"]


def test_a_name_that_is_also_a_word_of_a_title_stays_there() -> None:
    """Somebody who is called Ben wrote in the thread; the model wrote the title."""
    (steps,) = without_names([(asked(), EDITED, cell("x = 2", title="Ben Nevis by month"))])
    assert [step.title for step in steps if isinstance(step, CellRan)] == ["Ben Nevis by month"]


def test_the_person_who_edited_code_has_no_name_either() -> None:
    (steps,) = without_names([(asked(), EDITED.model_copy(update={"editor": "Carla"}))])
    assert "Carla" not in str(steps)
