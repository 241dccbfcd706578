"""A second way to the figures of a report: from the question and the data alone, in a session of its own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from turn_world import Death, Json, Meanwhile, NewWorld, World, cell, failure, finish

from core.values import ThreadKey
from workers.models.scripted import ScriptedModel
from workers.turn.clean_rooms import room as clean_room

CSV = {"sales.csv": b"region,amount\nNorth,1200\nSouth,800\n"}
READ = "import csv\nrows = list(csv.DictReader(open('sales.csv')))"
FIRST_CODE = "first_total = sum(int(row['amount']) for row in rows)\nprint('total', first_total)"
REPORT = finish("The total is **2,000**.\n\n- Method: one sum.")
TOTAL = "answers = {'total amount': sum(int(row['amount']) for row in rows)}"
OFF_BY = "answers = {'total amount': sum(int(row['amount']) for row in rows if row['region'] != 'South')}"
ON = '[check]\nsecond_route = "headline"\n'


def route(code: str, reading: str = "All rows count.") -> Json:
    """What a second way's model says."""
    return {"text": f"{reading}\n```python\n{code}\n```"}


def asked(world: World, *routes: object, script: Sequence[object] = (), text: str = "how much was sold?") -> ThreadKey:
    """A thread with one answered question."""
    replies = script or [cell(READ), cell(FIRST_CODE, "Sum up"), REPORT]
    world.model = ScriptedModel(list(replies), routes=list(routes))
    key = world.say(text, files=CSV)
    world.settle(key)
    return key


def line(world: World, key: ThreadKey) -> str:
    """The line under the report on its second way; "" for none."""
    blocks = [block for message in world.messages(key, ours=True) for block in message.get("blocks", ())]
    found = [str(block["elements"][0]["text"]) for block in blocks if block.get("block_id") == "second_route"]
    return found[-1] if found else ""


def second(world: World, key: ThreadKey) -> Any:
    """What is stored of it."""
    return world.steps(key, "finished")[-1]["second"]


@pytest.fixture
def on(new_world: NewWorld) -> World:
    """A world that wants a second way to the headline figures."""
    return new_world(team=ON)


def test_a_second_way_that_agrees_is_named_under_the_report(on: World) -> None:
    key = asked(on, route(f"{READ}\n{TOTAL}"))
    assert line(on, key) == "✓ A second way, from the question and the data alone, gives the same: 2,000."
    assert second(on, key)["state"] == "agrees"
    assert on.statuses(key) == ["done"]


def test_one_that_disagrees_is_shown_with_both_values_and_how_it_read_the_question(on: World) -> None:
    key = asked(on, route(f"{READ}\n{OFF_BY}", "Only regions of the home market count."))
    assert line(on, key) == (
        "⚠ A second way, from the question and the data alone, gives another value. 2,000 here, 1,200 there "
        "(“total amount”): they probably understand the question or the data differently. It understood the question "
        "like this: “Only regions of the home market count.”."
    )
    assert "The total is **2,000**." in on.text(key)


def test_the_second_way_sees_the_question_and_the_data_and_nothing_of_the_first(on: World) -> None:
    model = Meanwhile(ScriptedModel([cell(READ), cell(FIRST_CODE), REPORT], routes=[route(f"{READ}\n{TOTAL}")]), {})
    on.model = model
    key = on.say("how much was sold?", files=CSV)
    on.settle(key)
    (request,) = [request for request in model.requests if request.purpose == "route"]
    told = json.dumps(request.messages)
    assert "how much was sold?" in told
    assert "sales.csv" in told
    for hidden in ("first_total", "2,000", "2000", "The total is"):
        assert hidden not in told
    assert request.tools == ()


def test_its_variables_and_the_first_ones_do_not_meet(on: World) -> None:
    peeks = f"{READ}\nassert 'first_total' not in globals()\n{TOTAL}\nfirst_total = 0\nrows = None"
    key = asked(on, route(peeks))
    assert second(on, key)["state"] == "agrees"
    assert {variable.name for variable in on.sessions.vars(key.id)} >= {"rows", "first_total"}
    assert [session.thread_id for session in on.sessions.sessions()] == [key.id]
    assert not list(on.settings.home.glob("clean-room*.used"))


def test_it_is_off_unless_a_team_turns_it_on(world: World) -> None:
    key = asked(world, route(f"{READ}\n{TOTAL}"))
    assert line(world, key) == ""
    assert "route_ran" not in world.kinds(key)


def test_a_report_without_figures_of_cells_needs_none(on: World) -> None:
    key = asked(on, route(TOTAL), script=[finish("Good morning.")], text="hello")
    assert line(on, key) == ""
    assert "route_ran" not in on.kinds(key)


def test_prose_in_place_of_code_is_asked_again_and_then_said(on: World) -> None:
    key = asked(on, {"text": "The total is surely 2,000."}, {"text": "I said so."})
    assert line(on, key) == "○ No second way to these figures: the model wrote no code for it."
    assert "The total is **2,000**." in on.text(key)


def test_code_that_fails_is_repaired_once(on: World) -> None:
    key = asked(on, route("answers = {'total': nothing}"), route(f"{READ}\n{TOTAL}"))
    assert line(on, key).startswith("✓ A second way")
    assert [step["status"] for step in on.steps(key, "route_ran")] == ["error", "ok"]
    again = asked(on, route("answers = 7"), route("1 / 0"))
    assert line(on, again) == "○ No second way to these figures: its code failed."


def test_a_number_that_is_written_into_the_code_counts_for_nothing(on: World) -> None:
    key = asked(on, route(f"{READ}\nanswers = {{'total amount': 2000}}"))
    assert line(on, key) == "○ No second way to these figures: it computed none of them."


def test_code_that_reads_no_data_is_no_second_way(on: World) -> None:
    key = asked(on, route("answers = {'total amount': 1000 + 1000}"))
    assert line(on, key) == "○ No second way to these figures: its code read none of the data."


@pytest.mark.parametrize("kind", ["unavailable", "refused", "nonsense", "too_long"])
def test_a_model_that_cannot_be_asked_costs_no_answer(on: World, kind: str) -> None:
    key = asked(on, failure(kind))
    assert line(on, key) == "○ No second way to these figures: the model could not be asked."
    assert on.statuses(key) == ["done"]


def test_code_that_runs_too_long_is_ended(new_world: NewWorld) -> None:
    world = new_world(team=ON + "second_route_s = 0.2\n")
    key = asked(world, route("import time\nwhile True: time.sleep(0.01)"))
    assert line(world, key) == "○ No second way to these figures: its code took too long."


def test_it_is_left_out_with_a_word_when_no_call_is_left_for_it(new_world: NewWorld) -> None:
    world = new_world(team=ON + "[limits]\nmax_model_calls = 5\n")
    key = asked(world, route(f"{READ}\n{TOTAL}"))
    assert line(world, key) == "○ No second way to these figures: no model call was left for it."


def test_where_each_cell_waits_for_a_yes_no_unseen_code_runs(new_world: NewWorld) -> None:
    world = new_world(team=ON + '[approvals]\nask = "risky"\n')
    key = asked(world, route(f"import subprocess\nsubprocess.run(['true'])\n{READ}\n{TOTAL}"))
    assert line(world, key) == "○ No second way to these figures: its code would have needed a person's yes."
    assert "route_ran" not in world.kinds(key)


def test_another_model_may_write_it_and_is_named_and_counted(on: World) -> None:
    on.second = ScriptedModel(routes=[{**route(f"{READ}\n{TOTAL}"), "usage": {"prompt_tokens": 70}}], name="small-one")
    key = asked(on)
    assert line(on, key).startswith("✓ A second way (small-one), from the question")
    (reply,) = [step for step in on.steps(key, "replied") if step["purpose"] == "route"]
    assert (reply["model"], reply["usage"]["prompt_tokens"]) == ("small-one", 70)
    assert on.store.spent(thread_id=key.id).prompt_tokens == 70


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # the card's thread dies too
def test_a_worker_that_dies_at_any_moment_costs_no_answer(new_world: NewWorld) -> None:
    counting = Death()
    whole = new_world(team=ON)
    whole.model = ScriptedModel([cell(READ), cell(FIRST_CODE), REPORT], routes=[route(f"{READ}\n{TOTAL}")])
    key = whole.say("how much was sold?", files=CSV)
    whole.settle(key, counting)
    after = [n for n, _ in enumerate(counting.effects, 1)][-16:]
    outcomes = set()
    for at in after[::2]:
        world = new_world(team=ON)
        world.model = ScriptedModel([cell(READ), cell(FIRST_CODE), REPORT], routes=[route(f"{READ}\n{TOTAL}")])
        key = world.say("how much was sold?", files=CSV)
        world.settle(key, Death(at))
        assert world.text(key).count("The total is **2,000**.") == 1
        assert world.statuses(key) == ["done"]
        outcomes.add((second(world, key)["state"], second(world, key)["reason"]))
    assert outcomes <= {("agrees", ""), ("unchecked", "interrupted")}
    assert ("agrees", "") in outcomes


def test_a_stop_while_it_runs_ends_the_turn(on: World) -> None:
    key = on.say("how much was sold?", files=CSV)
    script = ScriptedModel([cell(READ), cell(FIRST_CODE), REPORT], routes=[route(f"{READ}\n{TOTAL}")])
    on.model = Meanwhile(script, {"route": lambda: on.press_stop(key)})
    on.settle(key)
    assert on.statuses(key) == ["stopped"]
    assert line(on, key) == ""


def test_a_room_that_is_never_free_is_said(on: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clean_room, "WAIT_FOR_ROOM_S", 0.0)
    monkeypatch.setattr(clean_room, "SECOND_ROUTES", (1,))
    with clean_room._locked(on.settings, 0.0, (1,)):
        key = asked(on, route(f"{READ}\n{TOTAL}"))
    assert line(on, key) == "○ No second way to these figures: no session was free for it."


def test_in_a_chinese_thread_the_line_is_chinese(on: World) -> None:
    script = [cell(READ), cell(FIRST_CODE), finish("总额为 **2,000**。")]
    key = asked(on, route(f"{READ}\n{OFF_BY}"), script=script, text="一共卖了多少?")
    assert line(on, key).startswith("⚠ 另一种方法仅凭问题和数据得出不同的结果。此处为 2,000，另一种方法为 1,200")
