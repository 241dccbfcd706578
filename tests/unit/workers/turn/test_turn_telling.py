"""What everybody in a thread reads of cells keeps to the rules for who may have the data, and for personal values."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from test_turn_sources import PEOPLE, Asked, asked  # noqa: F401 - a fixture
from test_turn_tools import FREE
from test_turn_tools import asked as called  # noqa: F401 - a fixture
from turn_world import ANA, BEN, NewWorld, World, cell, finish, question

from executor.values import Where
from workers.delivery.progress import ProgressView
from workers.models.scripted import ScriptedModel
from workers.turn import live

ROW = cell("print('the name is', query('select name from customers where id = 2').name[0])", "Look")
FAILS = cell("raise KeyError(query('select name from customers where id = 2').name[0])", "Look")
ON = '[privacy]\nredact = ["email", "phone", "iban", "card", "id"]\n'
VALUES = 'reports = "values"\n'
MAIL = cell("n = 1\nprint('zoe' + chr(64) + 'shop.example')", "Mail")
BAD_MAIL = cell("raise KeyError('zoe' + chr(64) + 'shop.example')", "Mail")


def posted(world: World) -> str:
    """All that was ever shown in the channel, frames of cards that were drawn over too."""
    methods = ("chat.postMessage", "chat.update")
    return "\n".join(json.dumps(given) for method, given in world.slack.calls if method in methods)


@pytest.mark.parametrize(
    ("more", "before", "shown"),
    [
        ("", lambda world: None, True),
        (PEOPLE, lambda world: None, False),
        (f'people = ["members"]\n[access]\nquery = ["{ANA}"]\n', lambda world: None, False),
        (f'[channels.C0SALES001.access]\nquery = ["{ANA}"]\n', lambda world: None, False),
        ("outsiders = true\n", lambda world: world.slack.flags.update({BEN: {"is_restricted": True}}), True),
    ],
    ids=["everybody", "people", "access", "channel", "outsiders"],
)
def test_the_card_shows_output_and_code_only_where_everybody_may_have_the_rows(
    asked: Asked,  # noqa: F811
    more: str,
    before: Callable[[World], object],
    shown: bool,
) -> None:
    world = asked(ROW, finish("Somebody."), more=more, before=before)
    assert ("the name is Ben" in posted(world), "where id = 2" in posted(world)) == (shown, shown)
    assert "shop: 1 row in" in posted(world)


def test_the_card_shows_a_tools_answer_only_where_everybody_may_call(called: Asked) -> None:  # noqa: F811
    found = cell("print('found', tool('tickets.search', customer='Ana')['tickets'][0]['hours'])", "Hours")
    for more, shown in (("", True), (f'[access]\ncall = ["{ANA}"]\n', False)):
        world = called(found, finish("Some."), more=f"{FREE}{more}")
        assert ("found 3.5" in posted(world)) == shown


def test_a_later_cell_and_a_later_turn_keep_to_it_until_a_reset(asked: Asked) -> None:  # noqa: F811
    world = asked(ROW, finish("One."), cell("print('zeb' + 'ra')", "B"), finish("Two."), more=PEOPLE)
    key = world.key  # type: ignore[attr-defined]
    world.say("and now?", thread=key)
    world.settle(key)
    assert "zebra" not in posted(world)


@pytest.mark.parametrize("more", ["", PEOPLE])
def test_an_end_without_an_answer_keeps_to_the_same_rule(asked: Asked, more: str) -> None:  # noqa: F811
    world = asked(ROW, FAILS, FAILS, FAILS, FAILS, FAILS, FAILS, more=more)
    assert world.statuses(world.key) == ["stopped"]  # type: ignore[attr-defined]
    assert ("the name is Ben" in posted(world), "KeyError: 'Ben'" in posted(world)) == (not more, not more)


@pytest.mark.parametrize("more", ["", PEOPLE])
def test_a_stop_keeps_to_the_same_rule(asked: Asked, more: str) -> None:  # noqa: F811
    world = asked(ROW, question("Gross or net?", "gross", "net"), more=more)
    key = world.key  # type: ignore[attr-defined]
    world.press_stop(key, user=BEN)
    world.settle(key)
    assert ("the name is Ben" in posted(world)) == (not more)


@pytest.mark.parametrize(("more", "shown"), [("", False), (VALUES, True)], ids=["placeholders", "values"])
def test_the_card_shows_personal_values_only_where_reports_do(new_world: NewWorld, more: str, shown: bool) -> None:
    world = new_world(team=ON + more)
    world.model = ScriptedModel([MAIL, BAD_MAIL, cell("print('<email_1>')", "Echo"), finish("Somebody.")])
    key = world.say("who is it?")
    world.settle(key)
    assert ("zoe@" in posted(world)) == shown
    if not shown:
        assert "KeyError: '<email_1>'" in world.text(key)


MAIL_OF = cell('query("select name from customers where name = \'zoe" + chr(64) + "shop.example\'")', "Look")


@pytest.mark.parametrize(("more", "shown"), [("", False), (VALUES, True)], ids=["placeholders", "values"])
def test_a_statement_that_waits_shows_personal_values_only_where_reports_do(
    asked: Asked,  # noqa: F811
    more: str,
    shown: bool,
) -> None:
    world = asked(MAIL_OF, MAIL_OF, more=f"strict = true\n{ON}{more}")
    key = world.key  # type: ignore[attr-defined]
    assert world.statuses(key) == ["waiting"]
    assert ("zoe@" in posted(world), "<email>" in world.text(key)) == (shown, not shown)
    assert ("Show all" in world.text(key)) != shown
    world.decide(key, "run")
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert ("zoe@" in posted(world)) == shown
    assert world.steps(key, "cell")[-1]["status"] == "ok"


@pytest.mark.parametrize("end", ["stop", "failed"])
def test_an_end_without_an_answer_shows_placeholders(new_world: NewWorld, end: str) -> None:
    world = new_world(team=ON)
    world.model = ScriptedModel([MAIL, *([BAD_MAIL] * 6 if end == "failed" else [question("Go on?", "yes", "no")])])
    key = world.say("who is it?")
    world.settle(key)
    if end == "stop":
        world.press_stop(key)
        world.settle(key)
    assert "zoe@" not in posted(world)
    assert "<email_1>" in world.text(key)


def test_the_line_that_runs_and_what_it_prints_show_placeholders(
    new_world: NewWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "INTERVAL_S", -1.0)
    world = new_world(team=ON)
    world.model = ScriptedModel([MAIL, finish("Somebody.")])
    shown: list[ProgressView] = []
    add, draw = live.LiveProgress.add, live.progress_of

    def watched(progress: live.LiveProgress, piece: str) -> None:
        progress.at(Where(progress._running.cell_id if progress._running else "", 3, "mail('zoe@shop.example')", 1.0))
        add(progress, "zoe@shop.example\nand half: max@sh")

    def drawn(*given: Any, **more: Any) -> ProgressView:
        shown.append(draw(*given, **more))
        return shown[-1]

    monkeypatch.setattr(live.LiveProgress, "add", watched)
    monkeypatch.setattr(live, "progress_of", drawn)
    world.settle(world.say("who is it?"))
    said = " ".join(task.output for view in shown for task in view.tasks)
    assert "mail('<email>')" in said
    assert "zoe@" not in said
    assert "max@" not in said
