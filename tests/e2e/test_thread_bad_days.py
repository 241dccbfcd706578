"""The model's bad days, through a real endpoint: tried again when that helps, told kindly when not, and then taken up
again by a word."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from chat_endpoint import (
    Behaviour,
    Endpoint,
    calls,
    chunk,
    cuts_off_a_call,
    endpoint,
    hangs,
    pings,
    refuses,
    says,
    sends,
)
from harness import Stack, Start, Talk, running_stack
from patience import PATIENCE_S

from workers.models.openai_model import OpenAIModel

pytestmark = pytest.mark.integration

KEY = "sk-not-to-be-shown-anywhere"
CODE = "total = 40 + 2\nprint(total)"
CELL = calls("run_python", code=CODE, title="Add up")
GO_ON = calls("run_python", code="print(total + 1)", title="Go on")
REPORT = calls("finish", report="It was **43** in all.")
SMALL_REPORT = calls("finish", report="It was **7** in all.")
CONTENT = says('{"is_final": true}')
TOO_LONG = refuses(400, "This model's maximum context length is 8192 tokens.", "context_length_exceeded")


@pytest.fixture
def server() -> Iterator[Endpoint]:
    with endpoint() as running:
        yield running


SILENT = {"timeout_s": 2.0}
"""A model that gives up a silent endpoint after this: long for a machine under load, short for a test."""


def model_of(server: Endpoint, **changes: float) -> OpenAIModel:
    """A model that is as patient as a test; the pauses between tries take no time."""
    given = {"timeout_s": PATIENCE_S, "max_retries": 2} | changes
    return OpenAIModel(
        api_key=KEY,
        base_url=server.url,
        model="gpt-test",
        sleep=lambda _: None,
        timeout_s=given["timeout_s"],
        max_retries=int(given["max_retries"]),
    )


def cells(talk: Talk) -> list[tuple[str, str]]:
    return [(cell.title, cell.stdout.strip()) for cell in talk.steps("cell")]


@pytest.mark.parametrize(
    ("trouble", "patience"),
    [
        pytest.param(refuses(429, "slow down", Retry_After="0"), {}, id="429"),
        pytest.param(refuses(500), {}, id="500"),
        pytest.param(refuses(503), {}, id="503"),
        pytest.param(hangs(), SILENT, id="silent-before-the-first-token"),
        pytest.param(hangs(chunk({"content": "Let me"})), SILENT, id="silent-in-mid-stream"),
        pytest.param(pings, SILENT, id="pings-only"),
        pytest.param(cuts_off_a_call("run_python", code=CODE, title="Add up"), {}, id="cut-in-a-call"),
        pytest.param(sends(200, "<html>busy</html>"), {}, id="html"),
        pytest.param(says(""), {}, id="empty"),
    ],
)
def test_what_passes_by_itself_is_tried_again_and_no_cell_runs_twice(
    start: Start, server: Endpoint, trouble: Behaviour, patience: dict[str, float]
) -> None:
    server.plan = [trouble, CELL, trouble, GO_ON, trouble, REPORT, CONTENT]
    talk = start(model_of(server, **patience)).ask("How much was sold?")
    assert talk.turn.status == "done"
    assert cells(talk) == [("Add up", "42"), ("Go on", "43")]
    assert talk.report.count("It was **43** in all.") == 1
    assert len(server.asked) == 7


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        pytest.param(refuses(401, "Incorrect API key", "invalid_api_key"), "refuses our access", id="key-revoked"),
        pytest.param(refuses(404, "no such model", "model_not_found"), "refuses our access", id="wrong-model"),
        pytest.param(refuses(429, "no credit", "insufficient_quota"), "refuses our access", id="no-quota"),
        pytest.param(refuses(503), "does not answer at the moment", id="down"),
        pytest.param(refuses(429, Retry_After="86400"), "does not answer at the moment", id="tomorrow"),
        pytest.param(hangs(), "does not answer at the moment", id="silent"),
        pytest.param(cuts_off_a_call("run_python", code=CODE), "does not answer at the moment", id="always-cut"),
        pytest.param(sends(200, "<html>"), "I could not understand", id="html"),
        pytest.param(TOO_LONG, "too long for the language model", id="too-long"),
    ],
)
def test_what_stays_is_told_kindly_and_continue_takes_the_same_turn_up_where_it_was(
    start: Start, server: Endpoint, trouble: Behaviour, words: str
) -> None:
    server.plan = [CELL, trouble]
    patience = SILENT if words == "does not answer at the moment" else {}
    stack = start(model_of(server, max_retries=1, **patience))
    talk = stack.ask("How much was sold?")
    assert (talk.turn.status, cells(talk)) == ("stopped", [("Add up", "42")])
    assert talk.text.count(words) == 1
    assert "“continue”" in talk.text
    assert KEY not in talk.text
    assert talk.reactions() == {"warning"}

    server.plan, before = [GO_ON, REPORT, CONTENT], len(server.asked)
    server.asked.clear()
    assert before >= 2
    say_and_rest(talk, "@threadbook Continue!")
    assert len(talk.turns) == 1
    assert talk.turn.status == "done"
    assert cells(talk) == [("Add up", "42"), ("Go on", "43")]
    assert "43" in talk.report
    assert talk.reactions() == {"white_check_mark"}
    told = str(server.asked[0]["messages"])
    assert "Add up" in told, "the model goes on from its own first cell"
    assert words not in told, "an end that was called back is no part of the story"
    assert "Continue!" not in told


def say_and_rest(talk: Talk, words: str) -> None:
    """Say it and wait until it is read and the thread rests."""
    talk.stack.say(words, thread=talk.key)
    talk.stack.wait_for(lambda: any(step.kind == "resumed" for step in talk.steps()), "the turn to go on")
    talk.stack.wait_for(lambda: talk.stack.rests(talk.key), "its end")


def test_a_chinese_thread_is_told_in_chinese_and_taken_up_twice(start: Start, server: Endpoint) -> None:
    server.plan = [refuses(503)]
    stack = start(model_of(server, max_retries=0))
    talk = stack.ask("一共卖了多少？")
    assert "语言模型暂时没有响应" in talk.text
    stack.say("继续", thread=talk.key)
    stack.wait_for(lambda: talk.text.count("语言模型暂时没有响应") == 2, "the second end")
    stack.wait_for(lambda: stack.rests(talk.key), "rest")
    server.plan = [CELL, calls("finish", report="一共 **42**。"), CONTENT]
    server.asked.clear()
    stack.say("请继续。", thread=talk.key)
    stack.wait_for(lambda: talk.turn.status == "done", "the report")
    assert len(talk.turns) == 1
    assert [step.text for step in talk.steps("resumed")] == ["继续", "请继续。"]


def test_another_question_after_such_an_end_is_a_turn_of_its_own(start: Start, server: Endpoint) -> None:
    server.plan = [refuses(401)]
    talk = start(model_of(server)).ask("How much was sold?")
    server.plan = [CELL, SMALL_REPORT, CONTENT]
    server.asked.clear()
    after = talk.ask("continue with the South only")
    assert [turn.status for turn in after.turns] == ["stopped", "done"]


def test_continue_after_a_report_is_a_question_like_any_other(start: Start, server: Endpoint) -> None:
    server.plan = [CELL, SMALL_REPORT, CONTENT]
    talk = start(model_of(server)).ask("How much was sold?")
    server.asked.clear()
    assert len(talk.ask("continue").turns) == 2


@pytest.mark.parametrize("refusals", [1, 2])
def test_a_prompt_that_is_too_long_is_made_shorter_and_asked_again(
    start: Start, server: Endpoint, tmp_path: Path, refusals: int
) -> None:
    (tmp_path / "sales.csv").write_text("region,amount\nNorth,10\nSouth,32\n")
    wide = [
        calls("run_python", code=f"open('sales.csv').read(); print('x{part} ' * 2_000)", title=f"Look at {part}")
        for part in range(8)
    ]
    broken = calls("run_python", code="1 / 0", title="Divide")
    server.plan = [*wide, broken, *[TOO_LONG] * refusals, SMALL_REPORT, CONTENT]
    talk = start(model_of(server)).ask("How much was sold?", [tmp_path / "sales.csv"])
    assert talk.turn.status == "done"
    assert len(talk.steps("compacted")) == refusals
    sizes = [len(str(asked["messages"])) for asked in server.asked]
    refused, shorter = sizes[len(wide) + 1], sizes[len(wide) + 1 + refusals]
    assert shorter < refused * 0.7**refusals
    told = str(server.asked[len(wide) + 1 + refusals]["messages"])
    assert "name: region" in told, "the description of the file stays"
    assert "ZeroDivisionError" in told, "the last error stays"


# --- budgets

PRICES = "[prices.'gpt-test']\ninput = 1000\noutput = 1000\n"


@pytest.fixture
def start_with(home: Path, redis_url: str, tmp_path: Path, server: Endpoint) -> Iterator[Callable[[str], Stack]]:
    """A stack of the test's own, whose team decided this."""
    with ExitStack() as stacks:

        def starting(team: str) -> Stack:
            config = tmp_path / "team.toml"
            config.write_text(team)
            return stacks.enter_context(
                running_stack(home, redis_url, model_of(server), THREADBOOK_CONFIG=str(config), OPENAI_MODEL="gpt-test")
            )

        yield starting


def test_tokens_duration_and_cost_stand_under_the_report(start_with: Callable[[str], Stack], server: Endpoint) -> None:
    server.plan = [
        calls("run_python", code=CODE, title="Add up", prompt=400, completion=20),
        calls("finish", report="All **42**.", prompt=500, completion=40, cached=500),
        says('{"is_final": true}', prompt=100, completion=10),
    ]
    talk = start_with(PRICES + "cached = 0\n").ask("How much was sold?")
    assert "1,070 tokens · about 0.57 USD" in talk.text
    assert " s · " in talk.text
    stack = talk.stack
    assert stack.store.spent(thread_id=talk.key.id).cost_micros == 570_000
    assert stack.store.spent(user=talk.steps("asked")[0].user).tokens >= 1_070


def test_without_a_price_tokens_are_told_and_no_cost(start: Start, server: Endpoint) -> None:
    server.plan = [CELL, SMALL_REPORT, CONTENT]
    talk = start(model_of(server)).ask("How much was sold?")
    assert "54 tokens" in talk.text
    assert "about" not in talk.text


@pytest.mark.parametrize(
    ("team", "scope"),
    [
        ("[budget]\nturn_tokens = 30000\n", "for this question"),
        ("[budget]\nthread_tokens = 30000\n", "for this thread"),
        (PRICES + "[budget]\nturn_cost = 30\n", "for this question"),
    ],
)
def test_a_turn_near_its_budget_is_told_to_report_what_it_knows(
    start_with: Callable[[str], Stack], server: Endpoint, team: str, scope: str
) -> None:
    steps = [calls("run_python", code=CODE, title=f"Step {n}", prompt=8_000, completion=100) for n in range(2)]
    server.plan = [*steps, calls("finish", report="All **42**.", prompt=8_000, completion=100), CONTENT]
    talk = start_with(team).ask("How much was sold?")
    assert talk.turn.status == "done"
    assert "it has to be the report" in str(server.asked[2]["messages"])
    assert f"budget {scope} is nearly used up" in talk.report
    assert "All **42**." in talk.report
    assert talk.stack.store.spent(thread_id=talk.key.id).tokens < 30_000


def test_a_model_that_does_not_come_to_an_end_is_stopped_before_the_limit_with_what_is_known(
    start_with: Callable[[str], Stack], server: Endpoint
) -> None:
    server.plan = [
        calls("run_python", code=f"print('part', {n})", title="On", prompt=8_000, completion=99) for n in range(9)
    ]
    talk = start_with("[budget]\nturn_tokens = 30000\n").ask("How much was sold?")
    (end,) = talk.steps("gave_up")
    assert end.reason == "out_of_budget"
    assert "budget for this question is used up" in end.text
    assert "part 1" in end.text
    assert talk.stack.store.spent(thread_id=talk.key.id).tokens < 30_000


def test_a_day_that_is_used_up_answers_at_once_and_goes_on_when_it_may(
    start_with: Callable[[str], Stack], server: Endpoint
) -> None:
    server.plan = [calls("finish", report="All **42**.", prompt=4_000, completion=10), CONTENT]
    stack = start_with("[budget]\nperson_day_tokens = 10000\n")
    assert stack.ask("How much was sold?").turn.status == "done"
    asked = len(server.asked)
    talk = stack.ask("And by month?")
    assert (talk.turn.status, len(server.asked)) == ("stopped", asked)
    assert "tomorrow" in talk.text
    server.asked.clear()
    assert stack.ask("And by week?", user="ben").turn.status == "done", "another person has a day of their own"
