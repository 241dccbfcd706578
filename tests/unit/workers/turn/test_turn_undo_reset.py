"""Undo takes the last cell back; reset forgets the session once somebody confirmed it."""

from __future__ import annotations

import pytest
from turn_world import BEN, Meanwhile, World, cell, finish

from core.blobs import Blobs
from core.errors import BlobMissing
from core.values import ThreadKey
from workers.models.scripted import ScriptedModel

SCRIPT = [
    [
        cell("open('given.csv').read()\ntotal = 42", "Add up"),
        cell("total = 0; more = 1", "Spoil it"),
        finish("All **7**."),
    ],
    [cell("print(globals().get('total'), 'more' in globals())", "Look"), finish("Still **7**.")],
    [cell("print(globals().get('total'))", "Look again"), finish("As said.")],
]


@pytest.fixture
def key(world: World) -> ThreadKey:
    """A thread at rest whose last cell spoiled what the one before it made."""
    world.model = ScriptedModel(turns=SCRIPT)
    key = world.say("how much was sold?", files={"given.csv": b"x\n1\n"})
    world.settle(key)
    return key


@pytest.fixture(autouse=True)
def _ben_is_an_admin(world: World) -> None:
    """He resets what Ana began."""
    world.slack.flags[BEN] = {"is_admin": True}


def say(world: World, key: ThreadKey, *words: str) -> None:
    for each in words:
        world.say(each, thread=key, user=BEN)
        world.settle(key)


def test_an_undo_at_rest_takes_the_last_cell_back_and_says_who_did(world: World, key: ThreadKey) -> None:
    say(world, key, "undo")
    assert world.statuses(key) == ["done"]
    assert "ben undid the last step: “Spoil it”" in world.text(key)
    assert world.messages(key)[-2]["reactions"][0]["name"] == "white_check_mark"
    say(world, key, "is it back?")
    assert world.steps(key, "cell")[0]["stdout"] == "42 False\n"


def test_a_second_undo_says_that_it_cannot(world: World, key: ThreadKey) -> None:
    say(world, key, "undo", "undo")
    assert world.text(key).count("undid the last step") == 1
    assert "I cannot undo “Add up”" in world.text(key)


def test_an_undo_while_a_turn_runs_takes_the_last_cell_back_and_the_turn_goes_on(world: World) -> None:
    model = Meanwhile(
        ScriptedModel(
            [cell("total = 42"), cell("total = 0", "Spoil it"), cell("print(total)", "Look"), finish("All **7**.")]
        ),
        {3: lambda: world.say("undo", thread=key, user=BEN)},
    )
    world.model = model
    key = world.say("how much was sold?")
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert "undone" in world.kinds(key)
    assert "“Spoil it”" in world.text(key)


def test_an_undo_where_nothing_ran_is_one_sentence(world: World) -> None:
    world.model = ScriptedModel([finish("Answered.")])
    key = world.say("how much was sold?")
    world.settle(key)
    say(world, key, "undo")
    assert "This thread has no step to undo" in world.text(key)
    assert world.statuses(key) == ["done"]


@pytest.mark.parametrize("yes", ["press", "words"])
def test_a_reset_forgets_variables_once_it_is_confirmed_and_keeps_what_people_gave(
    world: World, key: ThreadKey, yes: str
) -> None:
    say(world, key, "reset")
    assert world.statuses(key) == ["done", "waiting"]
    assert "Shall I reset this thread's session?" in world.text(key)
    if yes == "press":
        world.press(key, "Yes, reset", user=BEN)
    else:
        world.say("yes please", thread=key, user=BEN)
    world.settle(key)
    assert world.statuses(key) == ["done", "done"]
    assert "The session is reset, as ben confirmed" in world.text(key)
    world.model = ScriptedModel(
        turns=[[], [], [cell("print(globals().get('total'), open('given.csv').read())"), finish("Nothing.")]]
    )
    say(world, key, "what is left?")
    assert world.steps(key, "cell")[-1]["stdout"] == "None x\n1\n\n"


def test_after_a_reset_the_model_reads_no_code_of_before(world: World, key: ThreadKey) -> None:
    say(world, key, "reset", "yes please")
    world.model = model = Meanwhile(ScriptedModel(turns=[[], [], [cell("print(1)"), finish("It is **1**.")]]), {})
    say(world, key, "what is left?")
    prompt = "\n".join(str(message) for message in model.requests[0].messages[1:])
    assert "how much was sold?" in prompt
    assert "All **7" in prompt
    assert "given.csv" in prompt
    assert "total" not in prompt


def test_a_reset_deletes_what_cells_printed_at_length(world: World) -> None:
    world.model = ScriptedModel(turns=[[cell("print('secret ' * 20_000)"), finish("Printed.")]])
    key = world.say("print it")
    world.settle(key)
    (whole,) = world.steps(key, "cell")[0]["whole_outputs"]
    kept = Blobs(world.settings.files)
    assert kept.get(whole["sha256"]) == b"secret " * 20_000 + b"\n"
    say(world, key, "reset", "yes please")
    with pytest.raises(BlobMissing):
        kept.get(whole["sha256"])


@pytest.mark.parametrize("no", ["press", "words"])
def test_a_reset_that_is_declined_changes_nothing(world: World, key: ThreadKey, no: str) -> None:
    say(world, key, "reset")
    if no == "press":
        world.press(key, "No, keep it", user=BEN)
    else:
        world.say("no", thread=key, user=BEN)
    world.settle(key)
    assert "Nothing was reset, ben" in world.text(key)
    assert {variable.name for variable in world.sessions.vars(key.id)} == {"total", "more"}


def test_something_else_in_place_of_an_answer_is_answered_and_nothing_is_reset(world: World, key: ThreadKey) -> None:
    say(world, key, "reset", "how many customers?")
    assert world.statuses(key)[-1] == "done"
    assert world.steps(key, "cell")[-1]["stdout"].startswith("0")
    assert {variable.name for variable in world.sessions.vars(key.id)} == {"total", "more"}


def test_two_people_who_reset_at_once_are_asked_once(world: World, key: ThreadKey) -> None:
    world.say("reset", thread=key, user=BEN)
    say(world, key, "reset", "reset")
    assert "nothing was reset" not in world.text(key)
    assert world.text(key).count("I wait for an answer: Shall I reset") == 2
    assert world.statuses(key) == ["done", "waiting"]
    say(world, key, "yes")
    assert "The session is reset, as ben confirmed" in world.text(key)


def test_a_reset_while_a_turn_runs_is_refused(world: World) -> None:
    model = Meanwhile(
        ScriptedModel([cell("total = 42"), cell("print(total)"), finish("All **7**.")]),
        {2: lambda: world.say("reset", thread=key, user=BEN)},
    )
    world.model = model
    key = world.say("how much was sold?")
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert "I am working on an answer, so nothing was reset" in world.text(key)
    assert world.steps(key, "cell")[-1]["stdout"] == "42\n"


def test_what_was_before_a_reset_cannot_be_undone(world: World, key: ThreadKey) -> None:
    say(world, key, "reset", "yes", "undo")
    assert "This thread has no step to undo" in world.text(key)


def test_a_reset_that_was_stopped_and_continued_is_told_like_any_other(world: World, key: ThreadKey) -> None:
    say(world, key, "reset", "stop", "continue")
    assert world.statuses(key) == ["done", "waiting"]
    say(world, key, "yes please")
    assert "The session is reset, as ben confirmed" in world.text(key)


def test_a_file_of_a_cell_that_was_undone_is_not_sent_with_the_report(world: World) -> None:
    script = ScriptedModel(
        [
            cell("open('good.csv', 'w').write('a\\n1\\n')", "Write"),
            cell("open('good.csv', 'w').write('a\\n2\\n'); open('bad.csv', 'w').write('b\\n3\\n')", "Spoil it"),
            cell("print(open('good.csv').read())", "Look"),
            finish("See the file."),
        ]
    )
    world.model = Meanwhile(script, {3: lambda: world.say("undo", thread=key, user=BEN)})
    key = world.say("write the table")
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert "undone" in world.kinds(key)
    assert [name for name in world.files(key) if name.endswith(".csv")] == ["good.csv"]
    uploads = [file for message in world.messages(key, ours=True) for file in message.get("files", ())]
    (sent,) = [file["id"] for file in uploads if file["name"] == "good.csv"]
    assert world.slack.content(sent) == b"a\n1\n"


@pytest.mark.parametrize("forgotten", [("undo",), ("reset", "yes")], ids=["undo", "reset"])
def test_a_figure_of_a_cell_that_was_undone_or_reset_has_no_source_any_more(
    world: World, forgotten: tuple[str, ...]
) -> None:
    world.model = ScriptedModel([cell("print('sum', 4213)", "Add up"), finish("It is 4213.")])
    key = world.say("how much was sold?")
    world.settle(key)
    say(world, key, *forgotten)
    again = [finish("It was 4213.")] * 4  # a figure without a source goes back to the model
    world.model = ScriptedModel(turns=[*([[]] * len(forgotten)), again])
    say(world, key, "and what was it?")
    (end,) = world.steps(key, "finished")
    assert [source["state"] for source in end["sources"]] == ["unsourced"]
