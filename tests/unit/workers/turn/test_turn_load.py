"""“load LINK”: what another thread asked, computed and reported is read here, and its files are in the folder."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from test_turn_fork import LOAD, SALES, all_steps, link, script, told, variables
from test_turn_sources import COUNT, asked  # noqa: F401 - a fixture
from turn_world import ANA, BEN, Death, Killed, Meanwhile, NewWorld, World, cell, finish

from core.commands.registry import CONTEXT, command_in
from core.commands.stepping_in import ContextChange
from core.rows import TurnRow
from core.steps import Said
from core.store.lineage import CopiedTurn
from core.values import IMPORTED, ThreadKey
from workers.memory.imports.conversation import key_of
from workers.models.scripted import ScriptedModel
from workers.turn.commands import load


def saved(world: World, *more: Any, channel: str = "C0SALES001") -> ThreadKey:
    """A thread with a file, a cell and a report. `more` is what the model says in the next one."""
    script(world, LOAD, finish("The total is 42."))
    key = world.say("what is the heron total?", files=SALES, channel=channel)
    world.settle(key)
    script(world, *more)
    return key


def loaded(world: World, source: ThreadKey, *, user: str = ANA, thread: ThreadKey | None = None) -> ThreadKey:
    key = world.say(f"load {link(world, source)}", user=user, thread=thread)
    world.settle(key)
    return key


def test_a_new_thread_reads_a_loaded_one_and_has_its_files(world: World) -> None:
    source = saved(world, cell("print(open('sales.csv').readline())", "Head"), finish("It begins with region."))
    key = loaded(world, source)
    assert "the code of 1 cell and its last report. Files: sales.csv" in world.text(key)
    assert link(world, source) in world.text(key)
    assert "total" not in variables(world, key)
    world.say("how does the file begin?", thread=key)
    world.settle(key)
    for words in ("what is the heron total?", "total = int(sales.amount.sum())", "The total is 42.", "sales.csv"):
        assert words in told(world)
    assert world.steps(key, "cell")[0]["stdout"].startswith("region,amount")
    assert world.statuses(key) == ["done", "done"]


def test_code_of_a_loaded_thread_says_which_file_it_means_where_one_here_has_the_same_name(world: World) -> None:
    source = saved(world, cell("open('sales.csv').read()", "Read"), finish("It was read."), finish("As there."))
    key = world.say("what is the total here?", files={"sales.csv": b"region,amount\nN,7\n"})
    world.settle(key)
    loaded(world, source, thread=key)
    assert "Files: sales.csv → sales-2.csv" in world.text(key)
    world.say("do the same as there", thread=key)
    world.settle(key)
    assert "# sales.csv of that thread is sales-2.csv here; sales.csv here is another file." in told(world)


def test_files_that_do_not_come_along_are_named_and_the_newest_ones_come(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "MOST_FILES", 2)
    script(world, finish("Three files."))
    source = world.say("how many?", files={f"f{n}.csv": b"x\n%d\n" % n for n in range(3)})
    world.settle(source)
    key = loaded(world, source)
    assert "Files: f1.csv, f2.csv." in world.text(key)
    assert "These files did not come along: f0.csv." in world.text(key)


def test_a_cell_that_people_left_out_there_is_not_read_here(world: World) -> None:
    source = saved(world, finish("As there."))
    world.say("run ```bird = 'kestrel'```", thread=source)
    world.settle(source)
    (ts,) = (message["ts"] for message in world.messages(source) if message["text"].startswith("run "))
    world._take_in(source, world.slack._next_ts(), ANA, ContextChange(message=ts, do="leave_out").encode(), CONTEXT)
    world.settle(source)
    key = loaded(world, source)
    world.say("and what was there?", thread=key)
    world.settle(key)
    assert "total = int(sales.amount.sum())" in told(world)
    assert "kestrel" not in told(world)


def test_a_thread_is_loaded_while_a_turn_is_open_and_beside_other_turns(world: World) -> None:
    source = saved(world, finish("Hello."), cell("open('sales.csv').read()", "Read"), finish("It was 42."))
    key = world.say("hello?")
    world.settle(key)
    loaded(world, source, thread=key)
    world.say("what was the total there?", thread=key)
    world.settle(key)
    assert "The total is 42." in told(world)
    assert "It was 42." in world.text(key)


def test_a_worker_that_dies_while_it_loads_loads_once(new_world: NewWorld) -> None:
    effects: list[str] = []
    at = 0
    while at <= len(effects):
        world = new_world()
        source = saved(world, finish("Done."))
        key = world.say(f"load {link(world, source)}")
        death = Death(at)
        try:
            world.settle(key, death)
        except Killed:
            world.sessions.halted = False
        world.settle(key)
        effects = effects or death.effects
        assert [step["kind"] for step in all_steps(world, key)].count("loaded") == 1, (at, effects)
        assert world.text(key).count("loaded http") == 1, (at, effects)
        assert [file.name for file in world.store.thread_files(key.id)] == ["sales.csv"]
        at += 1


def test_an_imported_conversation_is_loaded_by_its_name(world: World) -> None:
    said = ({"role": "user", "content": "sum the herons"}, {"role": "assistant", "content": "There are 4711 herons."})
    name = imported(world, "C0SALES001", *said)
    script(world, finish("There it said 4711."))
    key = world.say(f"load {name}")
    world.settle(key)
    assert f"loaded the imported conversation {name} here. I read its last 2 messages" in world.text(key)
    world.say("how many herons were there?", thread=key)
    world.settle(key)
    for words in ("user said there:", "sum the herons", "assistant said there:", "There are 4711 herons."):
        assert words in told(world)
    assert "⚠" not in world.text(key), "its figures count as given"
    source = ThreadKey(key.team, "C0SALES001", name).id
    assert world.store.purgeable(thread_id=source) == [key.id, source]


def test_an_imported_conversation_of_a_private_channel_or_of_none_is_not_loaded(world: World) -> None:
    said = {"role": "user", "content": "sum the herons"}
    world.slack.channels["C0OTHER001"] = {"name": "other", "members": [ANA]}
    world.slack.channel_flags = {"is_private": True}
    hidden = world.say(f"load {imported(world, 'C0OTHER001', said)}")
    world.settle(hidden)
    assert "not everybody here can read" in world.text(hidden)
    for name in (imported(world, "import", said, team="import", nth=2), "import-" + "0" * 16):
        key = world.say(f"load {name}")
        world.settle(key)
        assert "I know no thread at this link that you may see" in world.text(key)
        assert not [step for step in all_steps(world, key) if step["kind"] == "loaded"]


def imported(world: World, channel: str, *said: dict[str, Any], team: str = "", nth: int = 1) -> str:
    """The name of an imported conversation of a channel."""
    name, at = f"{IMPORTED}{key_of(said, nth)}", datetime(2024, 2, 3, tzinfo=UTC)
    key = ThreadKey(team or world.say("hello?").team, channel, name)
    row = TurnRow(f"{key.id}/t1", key.id, 1, "done", "en", "imported", at, at)
    steps = [(at, Said(message=message)) for message in said]
    assert world.store.import_thread(key, CopiedTurn(row, steps), "herons", "cli:ana@here")
    return name


def test_loading_words_is_a_question() -> None:
    assert command_in("load the sales file and sum it") is None


def test_a_link_to_nothing_or_to_a_private_channel_loads_nothing(world: World) -> None:
    source = saved(world, finish("Done."), channel="C0OTHER001")
    key = world.say("load https://x.slack.com/archives/C0SALES001/p1111111111111111")
    world.settle(key)
    assert "I know no thread at this link that you may see" in world.text(key)
    world.slack.channel_flags = {"is_private": True}
    assert "not everybody here can read" in world.text(loaded(world, source))
    assert world.inheritors(source.id) == []


def test_a_person_who_may_not_look_there_loads_nothing(new_world: NewWorld) -> None:
    world = new_world(team=f'[channels.C0OTHER001.access]\nlook = ["{ANA}"]\n')
    source = saved(world, finish("Done."), channel="C0OTHER001")
    assert "I know no thread at this link that you may see" in world.text(loaded(world, source, user=BEN))
    assert world.inheritors(source.id) == []
    assert "loaded" in world.text(loaded(world, source, user=ANA))


def test_a_thread_with_rows_of_a_source_needs_the_right_to_it_here_too(asked: Any) -> None:  # noqa: F811
    world = asked(COUNT, finish("One."), finish("Two."), more=f'people = ["{ANA}"]\n')
    refused = loaded(world, world.key, user=BEN)
    assert "shop" in world.text(refused)
    assert not [step for step in all_steps(world, refused) if step["kind"] == "loaded"]
    key = loaded(world, world.key)
    world.say("and now?", thread=key, user=BEN)
    world.settle(key)
    assert "shop" in world.text(key).splitlines()[-1]
    assert not [step for step in all_steps(world, key) if step["kind"] == "asked"]


def test_a_report_from_before_a_reset_is_loaded_by_who_may_ask_its_sources(asked: Any) -> None:  # noqa: F811
    world = asked(COUNT, finish("Four orders."), finish("Two."), more=f'people = ["{ANA}"]\n')
    for words in ("reset", "yes"):
        world.say(words, thread=world.key)
        world.settle(world.key)
    refused = loaded(world, world.key, user=BEN)
    assert not [step for step in all_steps(world, refused) if step["kind"] == "loaded"]
    (step,) = [step for step in all_steps(world, loaded(world, world.key)) if step["kind"] == "loaded"]
    assert (step["report"], step["sources"]) == ("Four orders.", ["shop"])


def test_after_a_reset_nobody_reads_on_in_a_loaded_report_with_rows_of_a_source(asked: Any) -> None:  # noqa: F811
    world = asked(COUNT, finish("Four orders."), finish("One."), finish("Two."), more=f'people = ["{ANA}"]\n')
    key = loaded(world, world.key)
    for words, user in (("and now?", ANA), ("reset", ANA), ("yes", ANA), ("what was it?", BEN)):
        later: list[Any] = [[] for _ in world.turns(key)]
        world.model = Meanwhile(ScriptedModel(turns=[*later, [finish("As said.")]]), {})
        world.say(words, thread=key, user=user)
        world.settle(key)
        if words.endswith("?"):
            assert ("Four orders." in told(world)) == (user == ANA), words
    assert "select count(*) as n from orders" in told(world)


def test_what_is_deleted_or_purged_there_is_gone_here(world: World) -> None:
    source = saved(world, finish("Done."))
    key = loaded(world, source)
    assert "heron" in json.dumps(all_steps(world, key))
    world.store.delete_message(source.team, source.channel, source.root_ts)
    assert "heron" not in json.dumps(all_steps(world, key))
    assert world.store.purgeable(thread_id=source.id) == [key.id, source.id]


def test_a_long_thread_is_loaded_by_its_end(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    script(world, *(cell(f"x{n} = {n}", f"Set {n}") for n in range(15)), finish("Set."))
    source = world.say("set many")
    world.settle(source)
    monkeypatch.setattr(load, "MOST_CELLS", 5)
    key = loaded(world, source)
    step = next(step for step in all_steps(world, key) if step["kind"] == "loaded")
    assert [one["title"] for one in step["cells"]] == [f"Set {n}" for n in range(10, 15)]
    assert step["more"] == 10
