"""Undo and reset: the session goes back by one cell, or is forgotten once that is confirmed, and everybody is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from harness import Stack, Start, Talk

from core.values import ThreadKey
from workers.models.scripted import ScriptedModel
from workers.offline import OfflineAnalyst

pytestmark = pytest.mark.integration


def code(source: str, title: str) -> dict[str, Any]:
    return {"calls": [{"name": "run_python", "arguments": {"code": source, "title": title}}]}


def finish(report: str) -> dict[str, Any]:
    return {"calls": [{"name": "finish", "arguments": {"report": report}}]}


def sold(start: Start) -> Talk:
    """A thread whose last cell spoiled `total`."""
    script = [
        [code("total = 42", "Add up"), code("total = 0; more = 1", "Spoil it"), finish("All **7**.")],
        [code("print(total, 'more' in globals())", "Look"), finish("Still **7**.")],
        [code("print('total' in globals())", "Look again"), finish("As said.")],
    ]
    return start(ScriptedModel(turns=script)).ask("How much was sold?")


def say_and_hear(talk: Talk, words: str, answer: str, *, user: str = "ana") -> None:
    """Say it and wait until the thread shows the answer and rests. Ana asked the question, so she may also reset."""
    before = talk.text.count(answer)
    talk.stack.say(words, user=user, thread=talk.key)
    talk.stack.wait_for(lambda: talk.text.count(answer) > before, answer)
    talk.stack.wait_for(lambda: not talk.stack.store.unread(talk.key.id), "the message to be read")


def pressed(stack: Stack, key: ThreadKey, number: int) -> None:
    question = next(
        message
        for message in reversed(stack.slack.thread(key))
        if any(block["type"] == "actions" for block in message.get("blocks") or ())
    )
    stack.slack.press(key, question["ts"], f"answer:{number}", "ana")


@pytest.mark.parametrize(("word", "answer"), [("@threadbook Undo!", "undid the last step"), ("撤销", "撤销了最后一步")])
def test_undo_takes_the_last_cell_back_and_says_who_did(start: Start, word: str, answer: str) -> None:
    talk = sold(start)
    say_and_hear(talk, word, answer, user="ben")
    assert "ben" in talk.text
    assert "Spoil it" in talk.text
    assert len(talk.turns) == 1, "an undo is no question"
    assert [step.cell_id for step in talk.steps("undone")] == [talk.steps("cell")[-1].cell_id]
    after = talk.ask("and now?")
    assert after.steps("cell")[0].stdout.strip() == "42 False"


def test_the_notebook_and_the_prompt_know_of_it(start: Start) -> None:
    talk = sold(start)
    say_and_hear(talk, "undo", "undid the last step")
    after = talk.ask("and now?")
    text = after.kept["analysis.py"].decode()
    assert "total = 42" in text
    assert "total = 0" not in text
    assert "this step was undone" in text


def test_a_second_undo_in_a_row_says_that_it_cannot(start: Start) -> None:
    talk = sold(start)
    say_and_hear(talk, "undo", "undid the last step")
    say_and_hear(talk, "undo", "I cannot undo “Add up”")
    assert len(talk.steps("undone")) == 1
    assert talk.ask("and now?").steps("cell")[0].stdout.strip() == "42 False"


def test_undo_while_a_question_waits_keeps_the_question_open(start: Start) -> None:
    asking = {"calls": [{"name": "ask_user", "arguments": {"question": "Which?", "options": ["North", "South"]}}]}
    script = [code("total = 42", "Add up"), code("total = 0", "Spoil it"), asking, code("print(total)", "Look")]
    talk = start(ScriptedModel([*script, finish("All **7**.")])).ask("How much was sold?")
    assert talk.turn.status == "waiting"
    say_and_hear(talk, "undo", "undid the last step")
    talk.stack.wait_for(lambda: talk.turn.status == "waiting", "the question to wait")
    talk.stack.say("North", thread=talk.key)
    talk.stack.wait_for(lambda: talk.turn.status == "done", "the report")
    assert talk.steps("cell")[-1].stdout.strip() == "42"


def test_where_nothing_ran_undo_and_reset_get_one_sentence(start: Start) -> None:
    stack = start(ScriptedModel([finish("Hello.")]))
    key = stack.say("undo")
    talk = Talk(stack, key)
    stack.wait_for(lambda: "This thread has no step to undo" in talk.text, "the sentence")
    say_and_hear(talk, "reset", "There is nothing to reset")
    assert talk.turns == []


@pytest.mark.parametrize("how", ["Yes, please!", "yes", "button"])
def test_reset_forgets_the_session_after_asking_and_keeps_what_people_gave(
    start: Start, tmp_path: Path, how: str
) -> None:
    (tmp_path / "sales.csv").write_text("region,amount\nNorth,10\n")
    look = "import os\nprint('total' in globals(), sorted(os.listdir()))"
    work = code("open('sales.csv').read(); total = 42; open('mine.txt', 'w').write('x')", "Add up")
    script = [[work, finish("All **7**.")], [], [code(look, "Look"), finish("As said.")]]
    talk = start(ScriptedModel(turns=script)).ask("How much was sold?", [tmp_path / "sales.csv"])
    say_and_hear(talk, "Reset.", "Shall I reset this thread's session?")
    talk.stack.wait_for(lambda: talk.turn.status == "waiting", "the question to wait")
    if how == "button":
        pressed(talk.stack, talk.key, 0)
    else:
        talk.stack.say(how, thread=talk.key)
    talk.stack.wait_for(lambda: talk.turn.status == "done", "the reset")
    assert "The session is reset, as ana confirmed" in talk.text
    assert "All **7**." in talk.text.replace("All 7", "All **7**"), "what was said stays"
    after = talk.ask("and now?")
    assert after.steps("cell")[0].stdout.strip() == "False ['sales.csv']"
    say_and_hear(after, "undo", "undid the last step")


def test_what_was_before_a_reset_cannot_be_undone(start: Start) -> None:
    talk = sold(start)
    say_and_hear(talk, "reset", "Shall I reset this thread's session?")
    say_and_hear(talk, "yes", "The session is reset")
    say_and_hear(talk, "undo", "This thread has no step to undo")


def test_a_reset_that_is_declined_changes_nothing(start: Start) -> None:
    talk = sold(start)
    say_and_hear(talk, "重置", "要清空本消息列的会话吗？")
    say_and_hear(talk, "不用", "没有清空")
    talk.stack.wait_for(lambda: talk.turn.status == "done", "the end of the turn")
    say_and_hear(talk, "undo", "撤销了最后一步")  # the thread has come to speak Chinese
    assert len(talk.turns) == 2


def test_another_question_in_place_of_an_answer_is_answered_and_nothing_is_reset(start: Start) -> None:
    talk = sold(start)
    say_and_hear(talk, "reset", "Shall I reset this thread's session?")
    talk.stack.say("what about the total?", thread=talk.key)
    talk.stack.wait_for(lambda: talk.turn.status == "done", "the report")
    assert len(talk.turns) == 2
    assert talk.steps("cell")[0].stdout.strip() == "0 True"
    assert "reset, as" not in talk.text


def test_in_the_middle_of_an_answer_nothing_is_reset(start: Start) -> None:
    asking = {"calls": [{"name": "ask_user", "arguments": {"question": "Which?", "options": ["North", "South"]}}]}
    talk = start(ScriptedModel([asking, finish("Done.")])).ask("How much was sold?")
    say_and_hear(talk, "reset", "I am working on an answer")
    talk.stack.wait_for(lambda: talk.turn.status == "waiting", "the question to be open again")


@pytest.mark.parametrize("wish", [["undo"], ["undo", "undo"], ["reset", "yes"]], ids=" ".join)
def test_the_offline_analyst_answers_on_after_either(start: Start, tmp_path: Path, wish: list[str]) -> None:
    rows = "\n".join(f"{region},{amount}" for region, amount in zip("NSNSNWEW" * 3, range(10, 34), strict=True))
    (tmp_path / "sales.csv").write_text(f"region,amount\n{rows}\n")
    talk = start(OfflineAnalyst()).ask("What is the total amount by region?", [tmp_path / "sales.csv"])
    assert talk.turn.status == "done"
    for word in wish:
        before = len(talk.messages)
        talk.stack.say(word, thread=talk.key)
        talk.stack.wait_for(lambda many=before: len(talk.messages) > many + 1, f"an answer to {word}")
        talk.stack.wait_for(lambda: talk.turn.status in ("done", "waiting"), "rest")
    after = talk.ask("What is the average amount by region?")
    assert after.turn.status == "done"
    assert after.steps("cell")[-1].status == "ok"
