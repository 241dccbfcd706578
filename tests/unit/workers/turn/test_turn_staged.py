"""Staged review: the plan waits for a Go, each result for an Approve, and the report is what people approved."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import replace
from typing import Any

import fakeredis
import pytest
from test_turn_approvals import AtOnce
from turn_world import ANA, BEN, Death, Json, Meanwhile, NewWorld, World, cell, finish

from bot.message_handler import MessageHandler
from bot.presses.approvals import Approvals
from core.interactions import ApprovalButton, EditForm, HintForm
from core.queue import Wakes
from core.slack.views.modals import field_id
from core.slack.writing.writer import SlackWriter
from core.values import ThreadKey
from tryout.stack.blocks_text import message_text
from workers.models.base import ModelReply, ModelRequest, OnDelta
from workers.models.scripted import ScriptedModel
from workers.service.sweeping.expiry import expire_questions

PLAN = '[approvals]\nask = "plan"\n'
TWO = '[approvals]\nask = "plan"\npeople = 2\n\n[access]\napprove = ["members"]\n'
LISTED = finish("1. Load — a clean table\n2. Compare — the winner")
FIRST, SECOND = finish("The table is clean."), finish("North wins.")
SCRIPT = (LISTED, cell("rows = [1, 2]", "Load"), FIRST, cell("print(max(rows))", "Compare"), SECOND)


class InOrder:
    """A model that gives its replies one after the other, also where a part of the thread has left the prompt."""

    name, native_tools, sees = "in order", True, False

    def __init__(self, *replies: Json) -> None:
        self._left = list(replies)

    def complete(self, request: ModelRequest, on_delta: OnDelta) -> ModelReply:
        reply = self._left.pop(0) if request.purpose == "act" else {"text": '{"is_final": true}'}
        return ScriptedModel([reply] * 99).complete(replace(request, purpose="act"), on_delta)


class Review:
    """A thread in staged review, and the bot that people press at."""

    def __init__(self, world: World, *script: Json, text: str = "which region wins?", in_order: bool = False) -> None:
        world.model = InOrder(*script) if in_order else Meanwhile(ScriptedModel(list(script or SCRIPT)), {})
        self.world = world
        self.bot = self.new_bot()
        self.key: ThreadKey = world.say(text)
        world.settle(self.key)

    def new_bot(self) -> Approvals:
        world = self.world
        slack = SlackWriter(world.slack.client(), world.store)
        handler = MessageHandler(
            settings=world.settings,
            store=world.store,
            wakes=Wakes(fakeredis.FakeRedis(server=fakeredis.FakeServer()), world.store),
            slack=slack,
            later=AtOnce(),
            lookups=AtOnce(),
        )
        return Approvals(world.store, slack, handler)

    def pressing(self, do: Any, *, user: str = ANA, call: str = "") -> Json:
        """What Slack sends for a press of a button of the newest question, or of `call`."""
        call = call or self.world.steps(self.key, "questioned")[-1]["call_id"]
        payload = ApprovalButton(turn=self.world.turns(self.key)[-1].id, call=call, do=do).encode()
        action = {"value": payload, "action_ts": self.world.slack._next_ts()}
        container = {"channel_id": self.key.channel, "message_ts": self.asking(call)["ts"]}
        return {"actions": [action], "container": container, "user": {"id": user}, "trigger_id": "1.2.x"}

    def press(self, do: Any, *, text: str = "", user: str = ANA, call: str = "", settle: bool = True) -> str:
        """Press a button of the newest question, or of `call`; forms are filled in with `text`."""
        call = call or self.world.steps(self.key, "questioned")[-1]["call_id"]
        turn = self.world.turns(self.key)[-1].id
        with self.world._unwatched():
            outcome = self.bot.press(self.pressing(do, user=user, call=call), self.key.team)
            if outcome == "form":
                form = (EditForm if do == "edit" else HintForm)(turn=turn, call=call)
                values = {field_id(0): {field_id(0): {"value": text}}}
                view = {"callback_id": form.id, "private_metadata": form.encode(), "state": {"values": values}}
                assert self.bot.submit({"view": view, "user": {"id": user}}, self.key.team) == {}
        if settle:
            self.world.settle(self.key)
        return outcome

    def asking(self, call: str) -> Json:
        number = int(call.partition(":")[2])
        questions = [
            message
            for message in self.world.messages(self.key, ours=True)[1:]
            if "My plan" in message_text(message) or "Result of stage" in message_text(message)
        ]
        return questions[number - 1]

    def status(self) -> str:
        return self.world.statuses(self.key)[-1]

    def report(self) -> str:
        return str(self.world.steps(self.key, "finished")[-1]["report"])

    def prompts(self, since: int = 0) -> str:
        assert isinstance(self.world.model, Meanwhile)
        return "\n".join(json.dumps(each.messages, ensure_ascii=False) for each in self.world.model.requests[since:])


def test_plan_tells_the_plan_that_waits_for_a_go(new_world: NewWorld) -> None:
    review = Review(new_world(team=PLAN))
    review.world.say("plan", thread=review.key)
    review.world.settle(review.key)
    said = message_text(review.world.messages(review.key, ours=True)[-1])
    assert said.startswith("1. Load — a clean table\n2. Compare — the winner\nI wait for an answer: My plan")


def test_the_plan_waits_and_nothing_runs_before_go(new_world: NewWorld) -> None:
    review = Review(new_world(team=PLAN))
    text = message_text(review.asking("approve:1"))
    assert "Load — a clean table" in text
    for button in ("Go", "Change", "Ask something else", "Stop"):
        assert f"[{button}]" in text
    assert review.status() == "waiting"
    assert review.world.steps(review.key, "cell") == []


def test_each_stage_waits_and_the_report_holds_what_was_approved_in_order(new_world: NewWorld) -> None:
    review = Review(new_world(team=PLAN))
    review.press("run")
    assert len(review.world.steps(review.key, "cell")) == 1
    text = message_text(review.asking("approve:2"))
    assert "The table is clean." in text
    for button in ("Approve", "Redo", "Change", "Skip", "Show code"):
        assert f"[{button}]" in text
    review.press("run")
    assert review.status() == "waiting"
    review.press("run")
    assert review.status() == "done"
    report = review.report()
    assert report.index("## 1. Load") < report.index("The table is clean.") < report.index("## 2. Compare")
    assert report.count("Approved by ana, ") == 2


def test_the_words_step_by_step_do_the_same_in_a_channel_that_asks_nothing(world: World) -> None:
    review = Review(world, text="which region wins? step by step please")
    assert review.status() == "waiting"
    assert "My plan" in world.text(review.key)


def test_plain_mode_asks_nothing(world: World) -> None:
    review = Review(world, cell("1"), finish("North wins."))
    assert review.status() == "done"
    assert world.steps(review.key, "questioned") == []


def test_a_changed_plan_is_the_plan(new_world: NewWorld) -> None:
    review = Review(new_world(team=PLAN), LISTED, SECOND)
    review.press("edit", text="1. Only compare — the winner")
    assert "stage 1 of 1" in review.prompts().lower()
    assert "stages" not in review.world.text(review.key)
    review.press("run")
    assert review.status() == "done"
    assert "## 1. Only compare" in review.report()


def test_something_else_asks_for_another_plan(new_world: NewWorld) -> None:
    review = Review(new_world(team=PLAN), LISTED, finish("1. By month — a line"), SECOND)
    review.press("redo", text="by month instead")
    assert "by month instead" in review.prompts()
    assert "By month" in message_text(review.asking("approve:2"))
    review.press("run")
    assert review.status() == "waiting"


def test_stop_ends_it_and_continue_shows_the_plan_again(new_world: NewWorld) -> None:
    review = Review(new_world(team=PLAN))
    review.press("reject")
    assert review.status() == "stopped"
    review.world.say("continue", thread=review.key)
    review.world.settle(review.key)
    assert review.status() == "waiting"
    assert "[Go]" in message_text(review.asking("approve:2"))


def test_a_redone_stage_comes_again_and_its_feedback_leaves_the_context_once_approved(new_world: NewWorld) -> None:
    script = (LISTED, finish("Wrong heron."), finish("The table is clean."), SECOND)
    review = Review(new_world(team=PLAN), *script)
    review.press("run")
    review.press("redo", text="no herons please")
    assert "no herons please" in review.prompts()
    since = len(review.world.model.requests)  # type: ignore[attr-defined]
    review.press("run")
    assert "heron" not in review.prompts(since).lower()
    assert "The table is clean." in review.prompts(since)


def titles(review: Review) -> list[str]:
    """What was decided on, in order."""
    return [step["approval"]["title"] for step in review.world.steps(review.key, "questioned")]


def test_a_stage_that_is_sent_back_later_takes_no_approval_from_an_earlier_one(new_world: NewWorld) -> None:
    script = (LISTED, finish("Wrong heron."), FIRST, SECOND, finish("North wins by far."))
    review = Review(new_world(team=PLAN), *script, in_order=True)
    for do in ("run", "redo", "run", "redo"):
        review.press(do, text="once more")
    calls = [step["call_id"] for step in review.world.steps(review.key, "questioned")]
    assert len(set(calls)) == len(calls) == 5
    assert titles(review)[1:] == ["1 of 2, Load", "1 of 2, Load", "2 of 2, Compare", "2 of 2, Compare"]
    review.press("run")
    assert review.status() == "done"
    report = review.report()
    assert report.index("The table is clean.") < report.index("## 2. Compare") < report.index("North wins by far.")


def test_after_feedback_a_model_without_calls_is_asked_for_the_next_stage(new_world: NewWorld) -> None:
    plan = "<finish>\n1. Load — a clean table\n2. Compare — the winner\n</finish>"
    replies = (
        *(plan, "<finish>Wrong heron.</finish>", "<finish>The table is clean.</finish>"),
        *("```python\nprint(1)\n```", "<finish>North wins.</finish>"),
    )
    review = Review(new_world(team=PLAN), *({"text": text} for text in replies), in_order=True)
    for do in ("run", "redo", "run"):
        review.press(do, text="no herons please")
    assert "North wins." in message_text(review.asking("approve:4"))
    assert len(review.world.steps(review.key, "cell")) == 1
    review.press("run")
    report = review.report()
    assert report.index("The table is clean.") < report.index("## 2. Compare") < report.index("North wins.")


def test_what_feedback_cost_counts_for_the_turns_budget_after_an_approval(new_world: NewWorld) -> None:
    budget = "\n[budget]\nturn_tokens = 40000\n"
    usage = {"prompt_tokens": 6_000, "completion_tokens": 100}
    replies = (LISTED, finish("Wrong heron."), finish("Wrong crane."), FIRST, *(cell(f"print({n})") for n in range(9)))
    review = Review(new_world(team=PLAN + budget), *({**reply, "usage": usage} for reply in replies), in_order=True)
    for do in ("run", "redo", "redo", "run"):
        review.press(do, text="no birds please")
    spent = sum(step["usage"]["prompt_tokens"] for step in review.world.steps(review.key, "replied"))
    assert spent <= 40_000
    assert review.status() == "done"


def test_cost_says_what_the_feedback_on_approved_stages_saves(new_world: NewWorld) -> None:
    script = (LISTED, finish("Wrong heron. " * 40), finish("The table is clean."), SECOND)
    review = Review(new_world(team=PLAN), *script)
    review.press("run")
    review.press("redo", text="no herons please")
    review.world.say("cost", thread=review.key)
    review.world.settle(review.key)
    assert "Feedback on approved stages" not in review.world.text(review.key)
    review.press("run")
    review.world.say("cost", thread=review.key)
    review.world.settle(review.key)
    (line,) = re.findall(r"about (\d+) tokens less in each call", review.world.text(review.key))
    assert int(line) >= len("Wrong heron. " * 40) // 4


def test_a_changed_result_stands_in_the_report_and_a_skipped_one_does_not(new_world: NewWorld) -> None:
    review = Review(new_world(team=PLAN))
    review.press("run")
    review.press("edit", text="The table has 2 rows.")
    review.press("skip")
    report = review.report()
    assert "The table has 2 rows." in report
    assert "North wins." not in report
    assert "Skipped by ana, " in report


@pytest.mark.parametrize("do", ["run", "redo", "reject"])
def test_the_wrong_person_changes_nothing_and_is_told_alone(new_world: NewWorld, do: str) -> None:
    review = Review(new_world(team=PLAN))
    before = review.world.seen(review.key)
    review.press(do, user=BEN)
    assert review.world.seen(review.key) == before
    assert review.status() == "waiting"
    assert [user for user, text in review.world.slack.whispers if "may not decide" in text] == [BEN]


def test_a_late_double_or_replayed_press_changes_nothing_and_redraws(new_world: NewWorld) -> None:
    review = Review(new_world(team=PLAN))
    review.press("run")
    assert review.press("reject", call="approve:1") == "late"
    assert review.status() == "waiting"
    assert "said go" in message_text(review.asking("approve:1"))
    assert "[Go]" not in message_text(review.asking("approve:1"))


def test_of_two_who_press_at_once_one_counts(new_world: NewWorld) -> None:
    review = Review(new_world(team=PLAN + '\n[access]\napprove = ["members"]\n'))
    with review.world._unwatched():
        bodies = [review.pressing("run"), review.pressing("reject", user=BEN)]
    both, outcomes = threading.Barrier(2), list[str]()

    def run(bot: Approvals, body: Json) -> None:
        both.wait()
        outcomes.append(bot.press(body, review.key.team))

    pair = [threading.Thread(target=run, args=(review.new_bot(), body)) for body in bodies]
    for each in pair:
        each.start()
    for each in pair:
        each.join()
    assert len(outcomes) == 2
    review.world.settle(review.key)
    decided = [(step["outcome"], step["user"]) for step in review.world.steps(review.key, "decided")]
    assert decided in ([("run", ANA)], [("reject", BEN)])
    cells = review.world.steps(review.key, "cell")
    assert (len(cells), review.status()) == ((1, "waiting") if decided == [("run", ANA)] else (0, "stopped"))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # the card's thread dies too
@pytest.mark.parametrize("at", range(1, 24, 2))
def test_it_ends_the_same_wherever_a_worker_dies(new_world: NewWorld, at: int) -> None:
    review = Review(new_world(team=PLAN))
    review.press("run", settle=False)
    review.world.settle(review.key, Death(at))
    review.press("run", settle=False)
    review.world.settle(review.key, Death(at))
    review.press("run")
    assert review.status() == "done"
    assert review.report().count("Approved by ana") == 2
    assert [step["title"] for step in review.world.steps(review.key, "cell")] == ["Load", "Compare"]


def test_nobody_decides_in_time_and_continue_asks_again(new_world: NewWorld) -> None:
    review = Review(new_world(team=PLAN))
    until = review.world.steps(review.key, "questioned")[-1]["until"]
    expire_questions(review.world.store, until + 1)
    review.world.settle(review.key)
    assert review.status() == "stopped"
    review.world.say("continue", thread=review.key)
    review.world.settle(review.key)
    assert review.status() == "waiting"
    review.press("run")
    assert len(review.world.steps(review.key, "cell")) == 1


def test_two_different_people_have_to_say_yes(new_world: NewWorld) -> None:
    review = Review(new_world(team=TWO))
    assert "2 different people" in message_text(review.asking("approve:1"))
    assert "[Change]" in message_text(review.asking("approve:1"))
    review.press("run")
    assert "ana said yes" in message_text(review.asking("approve:1"))
    assert review.press("run") == "agreed before"
    assert review.status() == "waiting"
    assert review.world.steps(review.key, "cell") == []
    review.press("run", user=BEN)
    assert len(review.world.steps(review.key, "cell")) == 1


def test_two_people_say_yes_to_a_cell_too(new_world: NewWorld) -> None:
    team = TWO.replace('"plan"', '"every cell"')
    world = new_world(team=team)
    world.model = ScriptedModel([cell("print('x')"), finish("Done.")])
    key = world.say("how much?")
    world.settle(key)
    world.decide(key, "run", user=ANA)
    world.settle(key)
    world.decide(key, "skip", user=BEN, call="approve:0")
    world.settle(key)
    assert world.steps(key, "cell") == []
    world.decide(key, "run", user=BEN)
    world.settle(key)
    assert [step["stdout"] for step in world.steps(key, "cell")] == ["x\n"]


@pytest.mark.parametrize(
    "script",
    [
        (cell("x = 1"), cell("x = 1"), finish("North wins.")),
        (finish("I just know it: North."), finish("North wins.")),
        ({"text": ""}, LISTED, FIRST, SECOND),
    ],
)
def test_a_model_that_gives_no_plan_still_answers_after_a_yes(new_world: NewWorld, script: tuple[Json, ...]) -> None:
    review = Review(new_world(team=PLAN), *script, *[finish("North wins.")] * 4)
    assert review.world.steps(review.key, "cell") == []
    for _ in range(5):
        if review.status() == "waiting":
            review.press("run")
    assert review.status() == "done"
    assert "North wins." in review.report()


def test_words_in_the_thread_decide_or_send_back(new_world: NewWorld) -> None:
    review = Review(new_world(team=PLAN))
    review.world.say("Go", thread=review.key)
    review.world.settle(review.key)
    assert len(review.world.steps(review.key, "cell")) == 1
    review.world.say("please also count the rows", thread=review.key)
    review.world.settle(review.key)
    assert review.world.steps(review.key, "decided")[-1]["outcome"] == "other"
    assert "please also count the rows" in review.prompts()


@pytest.mark.timeout(60)
def test_a_plan_approved_after_other_words_holds_where_a_reply_has_two_cells(world: World) -> None:
    """The approval counted as a part of the feedback before it: the turn asked for the plan for ever."""
    two = {"calls": [*cell("a = 1", "One")["calls"], *cell("b = 2", "Two")["calls"]]}
    world.model = InOrder(cell("a = 1", "One"), two, cell("print(7)", "Sum"), finish("It is 7."), finish("It is 7."))
    key = world.say("step by step: which region wins?")
    world.settle(key)
    world.say("only 2024", thread=key)
    world.settle(key)
    world.decide(key, "run")
    world.settle(key)
    plans = [step for step in world.steps(key, "questioned") if step["approval"]["what"] == "plan"]
    assert len(plans) == 2
    assert [ran["title"] for ran in world.steps(key, "cell")] == ["Two", "Sum"]
