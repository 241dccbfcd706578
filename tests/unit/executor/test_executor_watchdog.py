"""A process that owes an answer and does nothing is stuck; one that works gets more time."""

from __future__ import annotations

import pytest

from executor.watchdog import Watchdog


class World:
    """A clock, and the work that a process has done."""

    def __init__(self) -> None:
        self.now = 100.0
        self.work: object | None = 0
        self.dog = Watchdog(8, 60, clock=lambda: self.now, work_of=lambda _: self.work)

    def look_each_second(self, seconds: int, *, works: bool = False) -> bool:
        """Whether it was given up on the way."""
        for _ in range(seconds):
            if self.dog.is_stuck(1):
                return True
            self.now += 1
            if works and isinstance(self.work, int):
                self.work += 1
        return self.dog.is_stuck(1)


@pytest.fixture
def world() -> World:
    return World()


def test_one_that_owes_nothing_is_not_stuck(world: World) -> None:
    assert not world.look_each_second(100)


def test_an_idle_one_is_given_up_soon(world: World) -> None:
    world.dog.asked()
    assert not world.look_each_second(7)
    assert world.look_each_second(2)


@pytest.mark.parametrize("at_work_now", [False, True])
def test_one_that_works_is_given_up_later(world: World, at_work_now: bool) -> None:
    world.work = None if at_work_now else 0
    world.dog.asked()
    assert not world.look_each_second(59, works=True)
    assert world.look_each_second(2, works=True)


def test_one_that_stops_working_is_given_up_a_moment_later(world: World) -> None:
    world.dog.asked()
    assert not world.look_each_second(20, works=True)
    assert world.look_each_second(5)


def test_asking_again_does_not_begin_the_time_anew_but_an_answer_does(world: World) -> None:
    world.dog.asked()
    world.look_each_second(6)
    world.dog.asked()
    assert world.look_each_second(3)
    world.dog.answered()
    world.dog.asked()
    assert not world.look_each_second(6)
