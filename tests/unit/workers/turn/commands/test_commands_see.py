"""vars, status, plan, cost and explain say what is so, at rest and while a turn is open, and change nothing."""

from __future__ import annotations

import pytest
from turn_world import ANA, BEN, Json, Meanwhile, World, cell, finish, question

from core.values import ThreadKey
from tryout.stack.blocks_text import message_text
from workers.models.scripted import ScriptedModel

WORDS = ("vars", "status", "plan", "cost", "explain")


def asked(world: World, *script: Json) -> ThreadKey:
    world.model = Meanwhile(ScriptedModel(list(script)), {})
    key = world.say("which region wins?")
    world.settle(key)
    return key


def asked_of(world: World) -> int:
    assert isinstance(world.model, Meanwhile)
    return len(world.model.requests)


@pytest.mark.parametrize("word", WORDS)
def test_a_word_is_answered_once_at_rest_and_asks_no_model(world: World, word: str) -> None:
    key = asked(world, cell("n = 1\nprint(n)", "Count"), finish("Done."))
    requests = asked_of(world)
    before = len(world.messages(key, ours=True))
    world.say(word, thread=key, user=BEN)
    world.settle(key)
    world.settle(key)
    assert len(world.messages(key, ours=True)) == before + 1
    assert asked_of(world) == requests
    assert world.statuses(key) == ["done"]


@pytest.mark.parametrize("word", WORDS)
def test_a_word_is_answered_while_a_question_is_open_and_the_turn_waits_on(world: World, word: str) -> None:
    key = asked(world, cell("n = 1", "Count"), question("Which year?"), finish("Done."))
    before = len(world.messages(key, ours=True))
    world.say(word, thread=key)
    world.settle(key)
    assert len(world.messages(key, ours=True)) == before + 1
    assert world.statuses(key) == ["waiting"]


@pytest.mark.parametrize(
    ("word", "answer"),
    [("Kosten", "Die letzte Frage"), ("¿Cómo va?", "Pregunta 1"), ("進捗", "質問 1"), ("cost", "The last")],
)
def test_a_word_is_answered_in_its_language_while_a_turn_is_open(world: World, word: str, answer: str) -> None:
    key = asked(world, cell("n = 1", "Count"), question("Which year?"), finish("Done."))
    assert answer in said_to(world, key, word)


@pytest.mark.parametrize(
    ("asking", "word"),
    [
        ("Shall I rank by cost or by revenue?", "cost"),
        ("Als CSV oder als Excel?", "als csv"),
        ("費用と売上のどちらですか", "費用"),
    ],
)
def test_a_word_that_the_open_question_names_is_its_answer(world: World, asking: str, word: str) -> None:
    key = asked(world, cell("n = 1", "Count"), question(asking), finish("Done."))
    assert "Done." in said_to(world, key, word)
    assert world.statuses(key) == ["done"]


@pytest.mark.parametrize(
    ("asking", "word", "status"),
    [("Which costs count?", "cost", "waiting"), ("Stop here or go on?", "stop", "stopped")],
)
def test_another_word_is_a_command_and_a_stop_always_is(world: World, asking: str, word: str, status: str) -> None:
    key = asked(world, cell("n = 1", "Count"), question(asking), finish("Done."))
    said_to(world, key, word)
    assert world.statuses(key) == [status]


def test_vars_name_each_variable_with_the_cell_and_the_person_that_set_it(world: World) -> None:
    key = asked(world, cell("rows = [1, 2, 3]", "Load"), finish("Done."))
    world.say("run ```limit = 5```", thread=key, user=BEN)
    world.settle(key)
    world.say("vars", thread=key)
    world.settle(key)
    said = world.text(key).splitlines()
    assert any("rows" in line and "list" in line and "1. Load" in line for line in said)
    assert any("limit" in line and "2. Code of ben" in line for line in said)


def test_after_a_reset_vars_count_cells_as_the_notebook_does(world: World) -> None:
    world.model = ScriptedModel([cell("a = 1", "One"), finish("Done.")])
    key = world.say("which region wins?")
    world.settle(key)
    said_to(world, key, "reset", "yes")
    world.say("run ```b = 2```", thread=key, user=BEN)
    world.settle(key)
    assert "1. Code of ben" in said_to(world, key, "vars")


def test_after_a_failed_cell_vars_name_what_kept_an_older_value(world: World) -> None:
    key = asked(world, finish("Done."))
    for code in ("total = 1\nother = 1", "other = 2\nprint(missing)\ntotal = 2"):
        world.say(f"run ```{code}```", thread=key)
        world.settle(key)
    world.say("vars", thread=key)
    world.settle(key)
    assert "still have older values: total" in world.text(key)


def test_status_says_what_is_waited_for(world: World) -> None:
    key = asked(world, cell("1"), question("Which year?"))
    world.say("status", thread=key)
    world.settle(key)
    said = world.text(key)
    assert "Question 1: which region wins?" in said
    assert "I wait for an answer: Which year?" in said
    assert "1 cell ran for it" in said


def said_to(world: World, key: ThreadKey, *words: str) -> str:
    """What the bot answers to the last of these words."""
    for each in words:
        world.say(each, thread=key, user=ANA)
        world.settle(key)
    return message_text(world.messages(key, ours=True)[-1])


def test_status_knows_a_question_that_was_a_file_alone(world: World) -> None:
    world.model = ScriptedModel([cell("open('sales.csv').read()"), finish("It is short.")])
    key = world.say("", files={"sales.csv": b"x\n1\n"})
    world.settle(key)
    assert said_to(world, key, "status").startswith("Question 1: sales.csv\nIt is answered")


def test_status_says_of_an_answered_question_that_it_is_answered_while_something_else_waits(world: World) -> None:
    key = asked(world, cell("n = 1"), finish("Done."))
    said = said_to(world, key, "reset", "status")
    assert "Question 1: which region wins?\nIt is answered" in said
    assert "I wait for an answer: Shall I reset" in said
    assert "I am working on it" not in said


def test_status_says_that_the_session_was_reset_after_the_question(world: World) -> None:
    key = asked(world, cell("n = 1"), finish("Done."))
    said = said_to(world, key, "reset", "yes", "status")
    assert "It is answered; the report is above.\nThe session was reset after it." in said


def test_status_counts_questions_and_no_commands(world: World) -> None:
    world.model = ScriptedModel(turns=[[], [finish("Done.")]])
    key = world.say("remember: amounts are net")
    world.settle(key)
    assert said_to(world, key, "which region wins?", "status").startswith("Question 1: which region wins?")


def test_plan_shows_nothing_that_the_judge_of_the_report_wrote(world: World) -> None:
    key = asked(world, finish("Done."))
    assert said_to(world, key, "plan") == "There is no plan for the last question, and no code has run for it."


def test_plan_says_which_cells_were_taken_back(world: World) -> None:
    key = asked(world, cell("1", "Load"), cell("2", "Spoil"), finish("Done."))
    assert said_to(world, key, "undo", "plan") == "✓ Load\n– Spoil"


def test_after_a_reset_there_is_no_code_to_explain(world: World) -> None:
    key = asked(world, cell("1", "Load"), finish("Done."))
    assert "an undo or a reset took it back" in said_to(world, key, "reset", "yes", "explain")


def test_plan_tells_the_cells_with_their_state(world: World) -> None:
    key = asked(world, cell("1", "Load"), cell("1 / 0", "Divide"), finish("Done."))
    world.say("plan", thread=key)
    world.settle(key)
    assert "✓ Load\n✗ Divide" in world.text(key)


def test_plan_tells_the_analysts_steps_and_how_far_they_are(world: World) -> None:
    steps = [{"step": "Load", "shows": "rows"}, {"step": "Divide", "shows": "a ratio"}, {"step": "Draw", "shows": "x"}]
    key = asked(world, cell("1", "Load it", plan=steps, step=1), cell("1 / 0", "Divide"), finish("Done."))
    assert [each["title"] for each in world.steps(key, "planned")[0]["steps"]] == ["Load", "Divide", "Draw"]
    world.say("plan", thread=key)
    world.settle(key)
    assert "✓ 1. Load — rows\n✗ 2. Divide — a ratio\n○ 3. Draw — x" in world.text(key)


def test_explain_says_in_words_what_the_last_code_did(world: World) -> None:
    code = (
        "import pandas as pd\n"
        "d = pd.DataFrame({'region': ['N', 'S'], 'amount': [1, 2]})\n"
        "d = d[d['amount'] > 0]\n"
        "print(d.groupby('region')['amount'].sum().sort_values())"
    )
    key = asked(world, cell(code, "Totals"), finish("Done."))
    world.say("explain", thread=key)
    world.settle(key)
    said = world.text(key)
    for words in ("The last code: Totals", "fit a condition", "by region", "adds up amount", "sorts the rows"):
        assert words in said


@pytest.mark.parametrize("word", WORDS)
def test_in_a_thread_without_turns_a_word_of_the_bot_is_enough(world: World, word: str) -> None:
    key = world.say(word)
    world.settle(key)
    assert world.statuses(key) in ([], ["done"])
    assert world.steps(key, "replied") == [] if world.turns(key) else True
