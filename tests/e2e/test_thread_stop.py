"""Whoever asks a turn to stop, in whatever way: it stops at once, keeps what it has and says so."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from harness import Stack, Start, Talk
from patience import PATIENCE_S

from core.steps import Asked, Replied, ToolCall
from core.values import Lease, ThreadKey
from executor.client import SessionClient
from tryout.stack.blocks_text import message_text
from workers.models.base import Model, ModelReply, ModelRequest, OnDelta
from workers.models.scripted import ScriptedModel

pytestmark = pytest.mark.integration


def code(source: str, title: str) -> dict[str, Any]:
    return {"calls": [{"name": "run_python", "arguments": {"code": source, "title": title}}]}


def finish(report: str) -> dict[str, Any]:
    return {"calls": [{"name": "finish", "arguments": {"report": report}}]}


SLOW = "import time\nkept = 7\nprint('begun', flush=True)\nfor _ in range(60_000):\n    time.sleep(0.01)"
"""Longer than any test here waits."""


def slow_turn() -> Model:
    return ScriptedModel(
        turns=[
            [code("total = 42\nprint(total)", "Add up"), code(SLOW, "Wait long"), finish("Never.")],
            [code("print(total + kept)", "Go on"), finish("Together **49**.")],
        ]
    )


class Endless:
    """A model that talks for ever, or is silent for ever."""

    native_tools = True
    sees = False
    name = "endless"

    def __init__(self, word: str) -> None:
        self.word = word
        self.asked = threading.Event()
        self.ended = threading.Event()

    def complete(self, request: ModelRequest, on_delta: OnDelta) -> ModelReply:
        self.asked.set()
        pause = threading.Event()
        try:
            while request.wanted():
                if self.word:
                    on_delta(self.word)
                pause.wait(0.02)
            return ModelReply()
        finally:
            self.ended.set()


def type_stop(word: str) -> Callable[[Stack, ThreadKey], None]:
    return lambda stack, key: stack.slack.say("#sales", "ben", word, thread_ts=key.root_ts) and None


def react(stack: Stack, key: ThreadKey) -> None:
    order = {"channel": "#sales", "user": "ben", "ts": key.root_ts, "name": "x"}
    stack.slack.http.post("/control/reactions", json=order).raise_for_status()


def react_on_the_card(stack: Stack, key: ThreadKey) -> None:
    order = {"channel": "#sales", "user": "ben", "ts": card_ts(stack, key), "name": "x"}
    stack.slack.http.post("/control/reactions", json=order).raise_for_status()


def press(stack: Stack, key: ThreadKey) -> None:
    stack.slack.press(key, card_ts(stack, key), "stop", "ben")


def slacks_own(stack: Stack, key: ThreadKey) -> None:
    order = {"channel": "#sales", "user": "ben", "thread_ts": key.root_ts}
    stack.slack.http.post("/control/stop", json=order).raise_for_status()


def card_ts(stack: Stack, key: ThreadKey) -> str:
    """The ts of the card, which comes a moment after the turn began."""

    def is_there() -> bool:
        turn = stack.store.current_turn(key.id)
        row = stack.store.outbox_get(f"{turn.id}:card") if turn else None
        return row is not None and row.status == "sent" and bool(stop_buttons(stack, key))

    stack.wait_for(is_there, "the card")
    return stop_buttons(stack, key)[0]


def stop_buttons(stack: Stack, key: ThreadKey) -> list[str]:
    """The ts of the messages with a Stop button."""
    return [
        message["ts"]
        for message in stack.slack.thread(key)
        if any(
            element.get("action_id") == "stop"
            for block in message.get("blocks") or ()
            for element in block.get("elements") or ()
        )
    ]


def begun(stack: Stack, key: ThreadKey) -> None:
    """Wait until the slow cell runs."""
    sessions = SessionClient(stack.settings.session_socket)

    def running() -> bool:
        turn = stack.store.current_turn(key.id)
        ran = [step for step in stack.store.steps(turn.id) if step.kind == "cell"] if turn else []
        return len(ran) == 1 and sessions.where(key.id) is not None

    stack.wait_for(running, "the slow cell")


@pytest.mark.parametrize(
    "stop",
    [
        pytest.param(type_stop("Stop!"), id="word"),
        pytest.param(type_stop("@threadbook stop"), id="mention"),
        pytest.param(type_stop("停止。"), id="zh"),
        pytest.param(react, id="reaction"),
        pytest.param(react_on_the_card, id="reaction-on-card"),
        pytest.param(press, id="button"),
        pytest.param(slacks_own, id="slack"),
    ],
)
def test_a_stopped_cell_keeps_all_variables_and_says_what_was_done(
    start: Start, stop: Callable[[Stack, ThreadKey], None]
) -> None:
    stack = start(slow_turn())
    key = stack.say("How much was sold?")
    begun(stack, key)
    stop(stack, key)
    stack.wait_for(lambda: stack.rests(key), "the end of the turn")
    talk = Talk(stack, key)
    assert talk.turn.status == "stopped"
    assert [(cell.title, cell.status) for cell in talk.steps("cell")] == [
        ("Add up", "ok"),
        ("Wait long", "killed"),
    ]
    assert talk.steps("gave_up")[0].reason == "stopped"
    assert "Never" not in talk.text
    for said in ("ben asked me to stop", "Add up — 42", "Wait long — stopped while it ran"):
        assert said in talk.text
    assert "octagonal_sign" in talk.reactions()
    assert "eyes" not in talk.reactions()
    assert not stop_buttons(stack, key)
    after = talk.ask("and now?")
    assert after.steps("cell")[0].stdout.strip() == "49"
    assert "**49**" in after.report


@pytest.mark.parametrize("word", ["again ", ""], ids=["talks", "silent"])
def test_a_model_that_never_ends_is_stopped(start: Start, word: str) -> None:
    model = Endless(word)
    stack = start(model)
    key = stack.say("How much was sold?")
    assert model.asked.wait(PATIENCE_S)
    stack.say("stop", thread=key)
    stack.wait_for(lambda: stack.rests(key), "the end of the turn")
    assert Talk(stack, key).turn.status == "stopped"
    assert model.ended.wait(PATIENCE_S)


def test_a_chinese_thread_is_stopped_in_chinese(start: Start) -> None:
    model = Endless("")
    stack = start(model)
    key = stack.say("一共卖了多少？")
    assert model.asked.wait(PATIENCE_S)
    stack.say("取消", thread=key)
    stack.wait_for(lambda: stack.rests(key), "the end of the turn")
    assert "让我停下" in Talk(stack, key).text


def test_a_question_that_waits_is_stopped_and_its_buttons_go(start: Start) -> None:
    asking = {"calls": [{"name": "ask_user", "arguments": {"question": "Which?", "options": ["North", "South"]}}]}
    talk = start(ScriptedModel([asking])).ask("How much was sold?")
    assert talk.turn.status == "waiting"
    talk.stack.say("cancel", thread=talk.key)
    talk.stack.wait_for(lambda: talk.turn.status == "stopped", "the end of the turn")
    assert not any(block["type"] == "actions" for message in talk.messages for block in message.get("blocks") or ())


def test_a_question_that_was_stopped_is_asked_again_when_its_turn_goes_on(start: Start) -> None:
    asking = {"calls": [{"name": "ask_user", "arguments": {"question": "Which?", "options": ["North", "South"]}}]}
    talk = start(ScriptedModel([asking, finish("The South: **7**.")])).ask("How much was sold?")

    def with_buttons() -> list[dict[str, Any]]:
        return [one for one in talk.messages if '"action_id": "answer:' in json.dumps(one.get("blocks"))]

    (first,) = with_buttons()
    talk.stack.say("cancel", thread=talk.key)
    talk.stack.wait_for(lambda: talk.turn.status == "stopped", "the end of the turn")
    talk.stack.say("continue", thread=talk.key)
    talk.stack.wait_for(with_buttons, "the question")
    (again,) = with_buttons()
    assert again["ts"] != first["ts"]
    talk.stack.slack.press(talk.key, again["ts"], "answer:1", "ben")
    talk.stack.wait_for(lambda: talk.turn.status == "done", "the report")
    assert talk.steps("asked")[-1].text == "South"
    assert with_buttons() == []


def test_a_word_that_is_an_option_is_an_answer(start: Start) -> None:
    asking = {"calls": [{"name": "ask_user", "arguments": {"question": "Which?", "options": ["Book", "Cancel"]}}]}
    talk = start(ScriptedModel([asking, finish("Cancelled orders: 3.")])).ask("How many?")
    talk.stack.say("cancel", thread=talk.key)
    talk.stack.wait_for(lambda: talk.turn.status == "done", "the answer")
    assert talk.steps("asked")[-1].text == "cancel"


def test_what_is_said_before_a_stop_is_stopped_too_and_what_comes_after_is_not(start: Start) -> None:
    model = ScriptedModel(turns=[[finish("Never.")], [finish("Only the **South**.")]])
    stack = start(model)
    with stack.busy:
        key = stack.say("How much was sold?")
        stack.wait_for(lambda: len(stack.store.unread(key.id)) == 1, "the question")
        for number, words in enumerate(("and by month", "stop", "only the South please")):
            stack.say(words, thread=key)
            stack.wait_for(lambda many=number: len(stack.store.unread(key.id)) == many + 2, words)
    stack.wait_for(lambda: len(stack.store.turns(key.id)) == 2 and stack.rests(key), "both turns")
    talk = Talk(stack, key)
    assert [turn.status for turn in talk.turns] == ["stopped", "done"]
    asked = [[step.text for step in stack.store.steps(turn.id) if step.kind == "asked"] for turn in talk.turns]
    assert asked == [["How much was sold?", "and by month"], ["only the South please"]]


def test_where_nothing_runs_a_word_gets_one_sentence_and_a_reaction_none(start: Start) -> None:
    talk = start(ScriptedModel([finish("All **7**.")])).ask("How much was sold?")
    before = len(talk.messages)
    react(talk.stack, talk.key)
    slacks_own(talk.stack, talk.key)
    talk.stack.say("@threadbook stop", thread=talk.key)
    talk.stack.wait_for(lambda: len(talk.messages) == before + 2, "the sentence")
    assert message_text(talk.messages[-1]) == "Nothing is running in this thread."
    assert len(talk.turns) == 1
    assert not talk.stack.store.unread(talk.key.id)


def test_the_files_that_came_before_a_stop_are_there_afterwards(start: Start, tmp_path: Path) -> None:
    (tmp_path / "sales.csv").write_text("region,amount\nNorth,10\nSouth,32\n")
    read = code("import pandas as pd\nprint(pd.read_csv('sales.csv')['amount'].sum())", "Add up")
    stack = start(ScriptedModel(turns=[[finish("Never.")], [read, finish("All **7**.")]]))
    with stack.busy:
        key = stack.say("How much was sold?", [tmp_path / "sales.csv"])
        stack.wait_for(lambda: len(stack.store.unread(key.id)) == 1, "the question")
        stack.say("stop", thread=key)
        stack.wait_for(lambda: len(stack.store.unread(key.id)) == 2, "both messages")
    stack.wait_for(lambda: stack.rests(key), "the end of the turn")
    after = Talk(stack, key).ask("and what is the total?")
    assert after.steps("cell")[0].stdout.strip() == "42"


@pytest.mark.parametrize("go_on", ["and now?", "continue"])
def test_a_download_that_does_not_end_is_stopped_and_its_file_is_read_by_whoever_goes_on(
    start: Start, tmp_path: Path, go_on: str
) -> None:
    (tmp_path / "sales.csv").write_text("region,amount\nNorth,10\nSouth,32\n")
    read = code("import pandas as pd\nprint(pd.read_csv('sales.csv')['amount'].sum())", "Add up")
    work = [read, finish("All **7**.")]
    stack = start(ScriptedModel(turns=[work if go_on == "continue" else [], work]))
    slow = {"method": "download", "kind": "slow", "seconds": 600, "times": 1}
    stack.slack.http.post("/control/faults", json=slow).raise_for_status()
    key = stack.say("How much was sold?", [tmp_path / "sales.csv"])
    stack.wait_for(lambda: bool(stack.store.turns(key.id)), "the turn to begin")
    stack.say("stop", thread=key)
    stack.wait_for(lambda: stack.rests(key), "the end of the turn")
    talk = Talk(stack, key)
    assert (talk.turn.status, talk.steps("briefed")) == ("stopped", [])
    stack.renew()
    stack.say(go_on, thread=key)
    stack.wait_for(lambda: talk.turn.status == "done", "the report")
    assert talk.steps("cell")[0].stdout.strip() == "42"
    assert len(talk.turns) == (1 if go_on == "continue" else 2)


def test_a_stop_that_finds_the_worker_dead_ends_the_cell_it_left_behind(start: Start) -> None:
    stack = start(ScriptedModel([finish("Never.")]))
    sessions = SessionClient(stack.settings.session_socket)
    with stack.busy:
        key = stack.say("How much was sold?")
        stack.wait_for(lambda: len(stack.store.unread(key.id)) == 1, "the question")
        lease = Lease(thread_id=key.id, token=stack.store.raise_fence(key.id), owner="dead")
        turn = stack.store.open_turn(lease, "en", "scripted")
        (mail,) = stack.store.unread(key.id)
        asked = Asked(user=mail.user, author=mail.author, text=mail.text, ts=mail.ts)
        stack.store.take_mail(lease, turn.id, [mail.id], [asked])
        stack.store.set_thread_node(lease, stack.settings.node_id)
        # A cell begins when the reply that asks for it is stored.
        call = ToolCall(id="call-1", name="run_python", arguments=json.dumps({"code": SLOW, "title": "Wait long"}))
        stack.store.append_step(lease, turn.id, Replied(purpose="act", calls=(call,)))
        cell = threading.Thread(target=sessions.run, args=(key.id, f"{turn.id}/c1", SLOW))
        cell.start()
        stack.wait_for(lambda: (at := sessions.where(key.id)) is not None and (at.line or 0) > 3, "the cell to begin")
        stack.say("stop", thread=key)
        stack.wait_for(lambda: stack.store.stop_asked(key.id), "the stop")
    stack.wait_for(lambda: stack.rests(key), "the end of the turn")
    cell.join(PATIENCE_S)
    assert not cell.is_alive()
    assert Talk(stack, key).turn.status == "stopped"
    later = sessions.run(key.id, "later", "print(kept)")
    assert later.stdout.strip() == "7", later
