"""A whole turn, from a message to a thread at rest: cells, report, files, signs."""

from __future__ import annotations

import pytest
from patience import eventually
from turn_world import BEN, Meanwhile, World, cell, finish

from tryout.stack.blocks_text import message_text
from workers.delivery import card as card_module
from workers.models.scripted import ScriptedModel

SALES = {"sales.csv": b"region,amount\nNorth,10\nSouth,32\n"}
READ = cell("import csv\nrows = list(csv.DictReader(open('sales.csv')))\nprint(len(rows))", "Read the sales")
ADD = cell("total = sum(int(row['amount']) for row in rows)\nopen('total.csv', 'w').write(str(total))\ntotal", "Add up")
REPORT = finish("Together **7** were sold.")


def test_a_question_with_a_file_ends_in_a_report_with_its_files(world: World) -> None:
    world.model = ScriptedModel([READ, ADD, REPORT])
    key = world.say("how much was sold?", files=SALES)
    assert world.signs(key) == ["eyes"]
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert [(ran["status"], ran["stdout"], ran["result"]) for ran in world.steps(key, "cell")] == [
        ("ok", "2\n", ""),
        ("ok", "", "42"),
    ]
    assert "Together **7** were sold." in world.text(key)
    assert "sales.csv (2 rows × 2 columns, read by the code)" in world.text(key)
    assert world.files(key) == ["total.csv"]
    assert world.signs(key) == ["white_check_mark"]


def test_a_reply_that_leaves_a_part_open_gets_no_tick(world: World) -> None:
    world.model = ScriptedModel([finish("I answered only this part: **7**.", partial=True)])
    key = world.say("how much was sold, and why?")
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert world.signs(key) == ["speech_balloon"]


def test_at_rest_the_card_is_done_and_nothing_is_left_under_the_thread(world: World) -> None:
    world.model = ScriptedModel([READ, REPORT])
    key = world.say("how much was sold?", files=SALES)
    world.settle(key)
    card = message_text(world.messages(key, ours=True)[0])
    assert card.startswith("**Done")
    assert "Read the sales: 2" in card
    assert key.root_ts not in world.slack.status
    assert world.slack.sessions.get(key.root_ts) in (None, "active")


def test_a_turn_that_takes_its_time_shows_a_card_with_a_stop_button_and_an_agent_at_work(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(card_module, "FIRST_AFTER_S", 0.0)
    seen: list[tuple[str, str, str]] = []

    def look() -> None:
        eventually(lambda: world.slack.status.get(key.root_ts), "the status line")
        card = world.messages(key, ours=True)[0]
        seen.append((card["text"], str("Stop" in str(card["blocks"])), world.slack.sessions[key.root_ts]))

    world.model = Meanwhile(ScriptedModel([READ, REPORT]), {2: look})
    key = world.say("how much was sold?", files=SALES)
    world.settle(key)
    assert [(text.splitlines()[0], *rest) for text, *rest in seen] == [("Working on it", "True", "processing")]
    (card, *_) = world.messages(key, ours=True)
    assert card["text"].startswith("Done (1 cell")
    assert (world.slack.status, world.slack.sessions[key.root_ts]) == ({}, "active")


def test_the_report_that_is_kept_is_the_one_in_the_thread(world: World) -> None:
    world.model = ScriptedModel([finish("Together **7** were sold.\n\n| a | b |\n|---|---|\n| x | y |")])
    key = world.say("what is six times seven?")
    world.settle(key)
    kept = world.store.report(world.turns(key)[-1].id)
    assert kept is not None
    assert "Together **7** were sold." in kept.markdown
    (page,) = [file for file in kept.files if file.name == "report.html"]
    (shown,) = [f for m in world.messages(key, ours=True) for f in m.get("files", ()) if f["name"] == "report.html"]
    assert world.slack.content(shown["id"]) == world.worker().context.blobs.get(page.sha256)


def test_an_error_goes_back_to_the_model_which_repairs_it(world: World) -> None:
    world.model = model = Meanwhile(ScriptedModel([cell("1 / 0", "Divide"), cell("print('repaired')"), REPORT]), {})
    key = world.say("how much was sold?")
    world.settle(key)
    assert [ran["status"] for ran in world.steps(key, "cell")] == ["error", "ok"]
    assert "ZeroDivisionError" in str(model.requests[1].messages[-1]["content"])


def test_a_chart_is_shown_under_the_title_of_its_cell(world: World) -> None:
    chart = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.title('Sales')"
    world.model = ScriptedModel([cell(chart, "Draw it"), REPORT])
    key = world.say("draw the sales")
    world.settle(key)
    (shown,) = [m for m in world.messages(key, ours=True) if [f["name"] for f in m.get("files", ())] == ["sales.png"]]
    assert message_text(shown) == "Draw it"
    assert world.slack.content(shown["files"][0]["id"]).startswith(b"\x89PNG")


def test_the_next_turn_has_the_variables_of_the_last_and_may_be_somebody_elses(world: World) -> None:
    world.model = ScriptedModel(
        turns=[[READ, REPORT], [cell("print(rows[0]['region'])"), finish("The first is North.")]]
    )
    key = world.say("how much was sold?", files=SALES)
    world.settle(key)
    world.say("which region is first?", user=BEN, thread=key)
    world.settle(key)
    assert world.statuses(key) == ["done", "done"]
    assert [ran["stdout"] for ran in world.steps(key, "cell")] == ["North\n"]
    assert "The first is North." in world.text(key)


def test_what_is_said_while_a_turn_runs_joins_it(world: World) -> None:
    model = Meanwhile(
        ScriptedModel([READ, REPORT]), {1: lambda: world.say("only the north, please", user=BEN, thread=key)}
    )
    world.model = model
    key = world.say("how much was sold?", files=SALES)
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert [asked["text"] for asked in world.steps(key, "asked")] == ["how much was sold?", "only the north, please"]
    told = "\n".join(str(message["content"]) for message in model.requests[1].messages)
    assert "only the north, please" in told
    assert "ben" in told
    assert [m["reactions"][0]["name"] for m in world.messages(key) if not m.get("bot_id")] == ["white_check_mark"] * 2


def test_what_is_said_during_the_last_call_is_not_left(world: World) -> None:
    later = {"check": lambda: world.say("and the north?", thread=key)}
    model = Meanwhile(ScriptedModel([REPORT, finish("North only: **10**.")]), later)
    world.model = model
    key = world.say("how much was sold?")
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert "North only: **10**." in world.text(key)


def test_two_messages_before_any_worker_came_are_one_turn(world: World) -> None:
    world.model = ScriptedModel([REPORT])
    key = world.say("how much was sold?")
    world.say("in euros", thread=key, user=BEN)
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert len(world.steps(key, "asked")) == 2


def test_two_threads_know_nothing_of_each_other(world: World) -> None:
    world.model = ScriptedModel([cell("print('x' in globals())\nx = 1"), REPORT])
    keys = [world.say("how much was sold?") for _ in range(2)]
    for key in keys:
        world.settle(key)
    assert [world.steps(key, "cell")[0]["stdout"] for key in keys] == ["False\n", "False\n"]


def test_a_bug_of_ours_ends_in_one_sentence_and_continue_goes_on(world: World) -> None:
    def bug() -> None:
        raise ZeroDivisionError("a bug")

    world.model = Meanwhile(ScriptedModel([READ, REPORT]), {2: bug})
    key = world.say("how much was sold?", files=SALES)
    world.settle(key)
    assert world.statuses(key) == ["failed"]
    assert world.text(key).count("Something went wrong on our side") == 1
    assert world.signs(key) == ["warning"]
    world.say("continue", thread=key)
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert len(world.sessions.ran) == 2  # the files were described, one cell was run
