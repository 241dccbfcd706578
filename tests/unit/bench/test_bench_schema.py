"""The bench of schema choice: the same world for the same seed, and each question in its groups."""

from __future__ import annotations

from bench.schema import groups
from bench.schema_world import world


def test_the_same_seed_makes_the_same_world() -> None:
    assert world(5, 20) == world(5, 20)
    assert world(5, 20).questions != world(6, 20).questions


def test_every_question_counts_among_all_and_among_those_of_its_tables() -> None:
    for question in world(5, 40).questions:
        found = groups(question)
        assert found[0] == "all"
        assert ("described" in found[1]) is question.described
        assert question.needs


def test_one_question_of_eight_is_chinese() -> None:
    assert sum(not question.text.isascii() for question in world(5, 80).questions) == 10
