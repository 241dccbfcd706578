"""A thread that is forked: the new one has its words, code, files and variables; effects do not happen twice."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from test_turn_sources import COUNT, asked  # noqa: F401 - a fixture
from test_turn_stepping_in import Office
from turn_world import ANA, BEN, Death, Json, Killed, Meanwhile, NewWorld, World, cell, finish

from core.steps import dump_step
from core.values import ThreadKey
from workers.models.scripted import ScriptedModel

SALES = {"sales.csv": b"region,amount\nnorth,10\nsouth,32\n"}
LOAD = cell(
    "import pandas as pd\nsales = pd.read_csv('sales.csv')\ntotal = int(sales.amount.sum())\nprint(total)", "Load"
)
HALF = cell("half = total / 2\nprint(half)", "Halve")


def forked(world: World, key: ThreadKey, place: int = -1) -> ThreadKey:
    """The thread that was forked from this one."""
    steps = [step for steps in world.store.thread_steps(key.id).values() for step in map(dump_step, steps)]
    return ThreadKey.parse([step["thread"] for step in steps if step["kind"] == "forked"][place])


def all_steps(world: World, key: ThreadKey) -> list[Json]:
    return [dump_step(step) for steps in world.store.thread_steps(key.id).values() for step in steps]


def inherited(world: World, key: ThreadKey) -> Json:
    return next(step for step in all_steps(world, key) if step["kind"] == "inherited")


def fork(world: World, key: ThreadKey, *, user: str = ANA) -> ThreadKey:
    world.say("fork", thread=key, user=user)
    world.settle(key)
    new = forked(world, key)
    world.settle(new)
    return new


def link(world: World, key: ThreadKey) -> str:
    return str(world.slack.client().chat_getPermalink(channel=key.channel, message_ts=key.root_ts)["permalink"])


def variables(world: World, key: ThreadKey) -> set[str]:
    return {each.name for each in world.sessions.vars(key.id)}


def told(world: World) -> str:
    """What the model was asked with when it was to act last."""
    requests = [each for each in world.model.requests if each.purpose == "act"]  # type: ignore[attr-defined]
    return json.dumps([dict(message) for message in requests[-1].messages])


def script(world: World, *replies: Json) -> None:
    world.model = Meanwhile(ScriptedModel(list(replies)), {})


def test_a_fork_has_the_variables_files_and_words_of_its_thread_and_leads_back_to_it(world: World) -> None:
    script(world, LOAD, finish("The total is 42."), HALF, finish("Half of it is 21."))
    key = world.say("what is the total?", files=SALES)
    world.settle(key)
    new = fork(world, key, user=BEN)

    assert new.channel == key.channel
    assert new != key
    assert world.slack.client().chat_getPermalink(channel=new.channel, message_ts=new.root_ts)[
        "permalink"
    ] in world.text(key)
    root = world.messages(new)[0]["text"]
    assert "ben began this thread from" in root
    assert link(world, key) in root
    assert "1 cell was run again" in world.text(new)
    assert {"sales", "total"} <= variables(world, new)

    world.say("and half of it?", thread=new, user=BEN)
    world.settle(new)
    assert "what is the total?" in told(world)
    assert "The total is 42." in told(world)
    assert "began this thread as a fork" in told(world)
    assert "Half of it is 21." in world.text(new)
    assert "Half of it" not in world.text(key)
    assert "half" not in variables(world, key)
    assert world.statuses(new) == ["done", "done"]


def test_the_origin_of_a_fork_is_a_step_that_stays(world: World) -> None:
    script(world, LOAD, finish("The total is 42."))
    key = world.say("what is the total?", files=SALES)
    world.settle(key)
    new = fork(world, key)
    origin = inherited(world, new)
    assert (origin["source"], origin["turn"], origin["user"], origin["missing"]) == (key.id, 1, ANA, [])
    said = [step for step in all_steps(world, key) if step["kind"] in ("asked", "replied", "cell", "finished")]
    assert [step for step in all_steps(world, new) if step["kind"] in ("asked", "replied", "cell", "finished")] == said
    assert world.inheritors(key.id) == [new.id]


@pytest.mark.parametrize("where", ["fork", "inherit"])
def test_a_worker_that_dies_while_a_thread_is_forked_leaves_one_fork(new_world: NewWorld, where: str) -> None:
    """Killed after each of its effects; whoever goes on finishes it."""

    def made(at: int) -> tuple[list[str], World, ThreadKey]:
        world = new_world()
        script(world, LOAD, HALF, finish("Half is 21."))
        key = world.say("what is half of the total?", files=SALES)
        world.settle(key)
        world.say("fork", thread=key)
        death = Death(at)
        try:
            if where == "fork":
                world.settle(key, death)
            else:
                world.settle(key)
                world.run(forked(world, key), death=death)
        except Killed:
            world.sessions.halted = False
        world.settle(key)
        new = forked(world, key)
        world.settle(new)
        return death.effects, world, new

    effects, whole, expected = made(0)
    assert len(effects) > 4
    for at in range(1, len(effects) + 1):
        effects_now, world, new = made(at)
        at_what = f"after {at}: {effects_now[-1]}"
        assert [text for text, *_ in world.seen(new)][1:] == [text for text, *_ in whole.seen(expected)][1:], at_what
        assert variables(world, new) >= {"sales", "total", "half"}, at_what
        assert sum(step["kind"] == "inherited" for step in all_steps(world, new)) == 1, at_what


def test_a_fork_from_a_chart_or_card_has_nothing_of_what_came_later(world: World) -> None:
    chart = cell("import matplotlib.pyplot as plt\nplt.bar(['a'], [total])", "Chart")
    office = Office(world, LOAD, chart, HALF, finish("Half is 21."))
    key = office.say("half of the total?", files=SALES)
    chart_ts = next(message["ts"] for message in world.messages(key, ours=True) if message.get("files"))
    office.choose(chart_ts, key, "fork")
    world.settle(key)
    new = forked(world, key)
    world.settle(new)
    assert "total" in variables(world, new)
    assert "half" not in variables(world, new)
    assert not [step for step in all_steps(world, new) if step["kind"] == "finished"]
    assert world.statuses(new) == ["stopped"]

    card = world.store.outbox_get(f"{key.id}/t1:card")
    assert card is not None
    assert card.ts
    office.choose(card.ts, key, "fork", user=BEN)
    world.settle(key)
    whole = forked(world, key)
    world.settle(whole)
    assert "half" in variables(world, whole)
    assert inherited(world, whole)["user"] == BEN


def test_a_message_that_shows_no_step_is_no_place_to_fork_from(world: World) -> None:
    office = Office(world, finish("Done."))
    key = office.say("hello?")
    stray = world.slack.say("just people", user=BEN, thread_ts=key.root_ts, channel=key.channel)["ts"]
    office.choose(stray, key, "fork")
    world.settle(key)
    assert "shows no step of this thread" in world.text(key)
    assert world.inheritors(key.id) == []


def test_a_cell_that_was_undone_has_no_effect_in_a_fork(world: World) -> None:
    script(
        world, LOAD, cell("total = -1", "Spoil"), finish("Spoilt."), cell("print('total', total)"), finish("It is 42.")
    )
    key = world.say("what is the total?", files=SALES)
    world.settle(key)
    world.say("undo", thread=key)
    world.settle(key)
    new = fork(world, key)
    world.say("what is it now?", thread=new)
    world.settle(new)
    assert world.steps(new, "cell")[0]["stdout"] == "total 42\n"


def test_a_fork_is_not_named_after_a_cell_that_was_undone(world: World) -> None:
    script(world, LOAD, finish("It is 42."))
    key = world.say("what is the total?", files=SALES)
    world.settle(key)
    for words in ("run ```total = -1```", "undo"):
        world.say(words, thread=key)
        world.settle(key)
    fork(world, key)
    assert "as it was after “It is 42.”" in world.text(key)


def test_a_cell_with_effects_is_named_and_not_run_again_and_its_files_are_there(world: World, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    outside = cell(
        f"import subprocess\nsubprocess.run(['touch', '{mark}'])\nopen('made.txt', 'w').write('kept')\nport = 1",
        "Call out",
    )
    more = cell("print(open('made.txt').read())"), finish("It says kept.")
    script(world, LOAD, outside, cell("print(port + 1)", "Use it"), HALF, finish("Half is 21."), *more)
    key = world.say("half of the total?", files=SALES)
    world.settle(key)
    assert mark.exists()
    mark.unlink()
    new = fork(world, key)
    assert not mark.exists()
    assert {"half", "total"} <= variables(world, new)
    assert "port" not in variables(world, new)
    assert [(one["cell"], one["why"]) for one in inherited(world, new)["missing"]] == [(2, "process"), (3, "rests")]
    for text in (world.messages(new)[0]["text"], world.text(new)):
        assert "“Call out” starts another program" in text
        assert "“Use it” needs a cell that does not run again" in text
    world.say("what does the file say?", thread=new)
    world.settle(new)
    assert world.steps(new, "cell")[0]["stdout"] == "kept\n"
    assert "Call out; Use it" in told(world)


def test_a_cell_that_fails_or_shows_something_else_this_time_is_named(world: World) -> None:
    once = cell(
        "import json, pathlib, random\nprint(random.random())",
        "Draw",
    )
    script(world, once, finish("A number."))
    key = world.say("draw a number")
    world.settle(key)
    new = fork(world, key)
    assert inherited(world, new)["other"] == ["Draw"]
    assert "show another result than before: Draw" in world.text(new)


def test_lines_before_an_error_are_run_again(world: World) -> None:
    script(world, cell("seen = 1\nmissing_name", "Fail"), finish("It failed."))
    key = world.say("try it")
    world.settle(key)
    new = fork(world, key)
    assert "seen" in variables(world, new)


def test_rows_of_a_data_source_are_not_asked_for_again_and_need_the_right_to_it(asked: Any) -> None:  # noqa: F811
    world = asked(COUNT)
    key = world.key
    world.say("fork", thread=key)
    world.settle(key)
    new = forked(world, key)
    before = all_steps(world, key)
    world.settle(new)
    assert inherited(world, new)["ran"] == 1
    assert not inherited(world, new)["missing"]
    assert [step for step in before if step["kind"] == "queried"] == [
        step for step in all_steps(world, new) if step["kind"] == "queried"
    ]


def test_who_may_not_ask_a_source_gets_no_fork_of_its_rows(asked: Any) -> None:  # noqa: F811
    world = asked(COUNT, more=f'people = ["{ANA}"]\n')
    world.say("fork", thread=world.key, user=BEN)
    world.settle(world.key)
    assert world.inheritors(world.key.id) == []
    assert "shop" in world.text(world.key).splitlines()[-1]


def test_a_person_who_may_not_look_forks_nothing(new_world: NewWorld) -> None:
    world = new_world(team=f'[access]\nlook = ["{ANA}"]\n')
    script(world, finish("Done."))
    key = world.say("hello?")
    world.settle(key)
    world.say("fork", thread=key, user=BEN)
    world.settle(key)
    assert world.inheritors(key.id) == []


def test_a_thread_without_a_step_is_not_forked(world: World) -> None:
    key = world.say("fork")
    world.settle(key)
    assert "nothing here yet" in world.text(key)
    assert world.inheritors(key.id) == []


def test_what_is_deleted_in_slack_is_gone_from_the_forks_too(world: World) -> None:
    script(world, finish("The secret plan is fine."))
    key = world.say("is our secret plan for Lisbon fine?")
    world.settle(key)
    new = fork(world, key)
    again = fork(world, new)
    world.store.delete_message(key.team, key.channel, key.root_ts)
    for each in (key, new, again):
        assert "Lisbon" not in json.dumps(all_steps(world, each)), each


def test_a_purge_of_a_thread_is_one_of_its_forks(world: World) -> None:
    script(world, finish("Fine."))
    key = world.say("is our secret plan for Lisbon fine?")
    world.settle(key)
    new = fork(world, key)
    again = fork(world, new)
    other = world.say("hello?")
    assert world.store.purgeable(thread_id=key.id) == [again.id, new.id, key.id]
    assert other.id not in world.store.purgeable(thread_id=key.id)
    for thread_id in world.store.purgeable(thread_id=key.id):
        world.store.purge_thread(thread_id)
    assert all_steps(world, new) == all_steps(world, again) == []
    assert world.inheritors(key.id) == []


def test_a_thread_is_not_purged_by_age_while_a_fork_of_it_is_in_use(world: World) -> None:
    script(world, finish("Fine."), finish("Still fine."))
    key = world.say("is it fine?")
    world.settle(key)
    new = fork(world, key)
    since = datetime.now(UTC)
    assert world.store.purgeable(older_than=since) == [new.id, key.id]
    world.say("and now?", thread=new)
    world.settle(new)
    assert world.store.purgeable(older_than=since) == []
