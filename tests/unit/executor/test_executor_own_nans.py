"""Numbers that are not a number keep their identity, and those that nobody holds any more are let go of."""

from __future__ import annotations

from executor.inside.own_nans import OwnNans


def test_the_names_of_numbers_that_are_gone_are_free_again() -> None:
    own = OwnNans()
    held, gone = [float("nan") for _ in range(600)], [float("nan") for _ in range(600)]
    names = [own.name_of(nan) for nan in held]
    assert all(own.name_of(nan) for nan in gone[:400])
    assert not own.name_of(gone[500])
    del gone
    own.forget_unused()
    assert own.name_of(float("nan"))
    assert [own.name_of(nan) for nan in held] == names


def test_a_name_that_came_back_is_given_to_no_other_number() -> None:
    nan = float("nan")
    name = OwnNans().name_of(nan)
    later = OwnNans()
    back = later.named(name)
    assert later.named(name) is back
    assert later.name_of(float("nan")) != name
