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
