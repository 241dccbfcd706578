"""The card's clock: what is drawn, in which order, and that nothing it meets stops the turn."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest
from patience import PATIENCE_S, eventually

from core.errors import SlackBusy
from workers.delivery import card as card_module
from workers.delivery.card import Card, finish_late_cards
from workers.delivery.progress import ProgressView


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first frame is drawn without the pause that spares short turns one."""
    monkeypatch.setattr(card_module, "FIRST_AFTER_S", 0.0)


def view(note: str) -> ProgressView:
    return ProgressView("en", "running", (), note)


class Wall:
    """Where the card draws; the drawing of "slow" waits until it is let go."""

    def __init__(self) -> None:
        self.drawn: list[str] = []
        self.statuses: list[str] = []
        self.waits: list[bool] = []
        self.changed = threading.Condition()
        self.drawing_slow = threading.Event()
        self.go = threading.Event()

    def draw(self, shown: ProgressView, may_wait: bool) -> None:
        self.waits.append(may_wait)
        if shown.note == "slow":
            self.drawing_slow.set()
            assert self.go.wait(PATIENCE_S)
        if shown.note == "broken":
            raise RuntimeError("Slack is away")
        with self.changed:
            self.drawn.append(shown.note)
            self.changed.notify_all()

    def set_status(self, text: str) -> None:
        with self.changed:
            self.statuses.append(text)
            self.changed.notify_all()

    def wait_for(self, *, drawn: str | None = None, status: str | None = None) -> None:
        with self.changed:
            there = lambda: drawn in (None, *self.drawn) and status in (None, *self.statuses)  # noqa: E731 - one line of it
            assert self.changed.wait_for(there, timeout=PATIENCE_S)


@contextmanager
def running(wall: Wall, interval_s: float = 0.01) -> Iterator[Card]:
    card = Card(wall.draw, wall.set_status, interval_s)
    card.start()
    try:
        yield card
    finally:
        card.stop()


def test_states_that_came_while_one_was_drawn_are_dropped_for_the_newest() -> None:
    wall = Wall()
    with running(wall) as card:
        card.show(view("slow"), "")
        assert wall.drawing_slow.wait(PATIENCE_S)
        for note in ("a", "b", "c"):
            card.show(view(note), "")
        wall.go.set()
        wall.wait_for(drawn="c")
    assert wall.drawn == ["slow", "c"]


def test_nothing_older_is_drawn_after_the_card_has_settled() -> None:
    wall = Wall()
    with running(wall) as card:
        card.show(view("slow"), "is thinking")
        assert wall.drawing_slow.wait(PATIENCE_S)
        settling = threading.Thread(target=card.settle, args=(view("done"), [partial(wall.set_status, "signed")]))
        settling.start()
        wall.go.set()
        settling.join(PATIENCE_S)
    assert wall.drawn == ["slow", "done"]
    assert wall.statuses[-1] == "signed"


def test_a_turn_that_is_over_soon_draws_its_last_state_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(card_module, "FIRST_AFTER_S", 1_000.0)
    wall = Wall()
    with running(wall) as card:
        card.show(view("a"), "is thinking")
        card.settle(view("done"), [partial(wall.set_status, "signed")])
    assert (wall.drawn, wall.statuses) == (["done"], ["signed"])


def test_a_paused_card_draws_nothing_that_it_had_not_begun() -> None:
    wall = Wall()
    with running(wall) as card:
        card.show(view("slow"), "")
        assert wall.drawing_slow.wait(PATIENCE_S)
        card.show(view("a"), "is thinking")
        pausing = threading.Thread(target=card.pause)
        pausing.start()
        wall.go.set()
        pausing.join(PATIENCE_S)
        card.settle(None, [partial(wall.set_status, "signed")])
    assert (wall.drawn, wall.statuses) == (["slow"], ["signed"])


def test_a_slow_slack_holds_no_turn_that_comes_to_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(card_module, "SETTLE_S", 0.05)
    wall = Wall()
    with running(wall) as card:
        card.settle(view("slow"), [partial(wall.set_status, "signed")])
        assert wall.statuses == []
    wall.go.set()
    finish_late_cards()
    assert (wall.drawn, wall.statuses) == (["slow"], ["signed"])


def test_a_last_state_without_a_budget_is_drawn_after_the_turn_and_before_the_process_ends() -> None:
    drawn: list[tuple[str, bool]] = []
    budget = threading.Event()

    def draw(view: ProgressView, may_wait: bool) -> None:
        if not may_wait:
            raise SlackBusy("chat.update has no budget left for now")
        assert budget.wait(PATIENCE_S)
        drawn.append((view.note, may_wait))

    signs: list[str] = []
    card = Card(draw, lambda status: None, 0.01)
    card.start()
    card.settle(view("done"), [partial(signs.append, "signed")])
    card.stop()
    assert (drawn, signs) == ([], ["signed"])
    budget.set()
    finish_late_cards()
    assert drawn == [("done", True)]


def test_a_status_is_set_without_a_view_and_only_when_it_changes() -> None:
    wall = Wall()
    with running(wall) as card:
        card.show(None, "is reading")
        wall.wait_for(status="is reading")
        card.show(view("a"), "is reading")
        wall.wait_for(drawn="a")
    assert wall.statuses == ["is reading"]


def test_a_card_that_cannot_be_drawn_goes_on_with_the_next_state() -> None:
    wall = Wall()
    with running(wall) as card:
        card.show(view("broken"), "first")
        wall.wait_for(status="first")
        card.show(view("good"), "")
        wall.wait_for(drawn="good")


def test_a_frame_that_slack_was_too_busy_for_is_drawn_later_and_an_older_one_never() -> None:
    drawn: list[ProgressView] = []
    refusals = [True, True, False]

    def draw(view: ProgressView, may_wait: bool) -> None:
        if refusals and refusals.pop(0):
            raise SlackBusy("chat.update has no budget left for now")
        drawn.append(view)

    card = Card(draw, lambda status: None, 0.01)
    card.start()
    frame = ProgressView("en", "running", note="the newest state")
    card.show(frame, "")
    eventually(lambda: drawn, "the frame")
    card.stop()
    assert drawn == [frame]


def test_a_process_of_many_turns_keeps_no_card_that_was_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Thread(target=lambda: None)
    over.start()
    over.join()
    monkeypatch.setattr(card_module, "_late", [over])
    monkeypatch.setattr(card_module, "SETTLE_S", 0.05)
    wall = Wall()
    with running(wall) as card:
        card.settle(view("slow"))
    (late,) = card_module._late
    assert late is not over
    wall.go.set()
    finish_late_cards()
