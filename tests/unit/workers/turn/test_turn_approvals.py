"""Cells that wait for a person's yes: every button, pressed by anybody at any time, ends in one state and one message.

The presses go through the bot's own listeners, on the Slack of whole turns.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

import fakeredis
import pytest
from turn_world import ANA, BEN, Death, Json, Meanwhile, NewWorld, World, cell, finish

import workers.turn.runner
from bot.message_handler import MessageHandler
from bot.presses.approvals import Approvals
from core.interactions import ApprovalButton, EditForm, HintForm
from core.queue import Wakes
from core.slack.views.modals import field_id
from core.slack.writing.writer import SlackWriter
from core.values import ThreadKey
from tryout.stack.blocks_text import message_text
from workers.models.scripted import ScriptedModel
from workers.service.sweeping.expiry import expire_questions

EVERY = '[approvals]\nask = "every cell"\n'
ADD = "n = 1\nprint(n)"
BUTTONS = ("run", "edit", "redo", "skip", "reject")
OUTCOME = {"run": "run", "edit": "edited", "redo": "redo", "skip": "skip", "reject": "reject"}
SAID = {
    "run": "let it run",
    "edit": "changed the code",
    "redo": "in another way",
    "skip": "skipped it",
    "reject": "rejected it",
}
STDOUT = {"run": ["1\n"], "edit": ["42\n"], "redo": [], "skip": [], "reject": []}


class AtOnce(Executor):
    """Does what it is given before it returns."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class Office:
    """A thread in which a cell waits for a yes, and the bot that people press at."""

    def __init__(self, world: World, *, replies: tuple[Json, ...] = ()) -> None:
        script = [*(replies or (cell(ADD, "Add"),)), finish("Done."), finish("Done.")]
        world.model = Meanwhile(ScriptedModel(script), {})
        self.world = world
        self.key: ThreadKey = world.say("how much?")
        world.settle(self.key)
        handler = MessageHandler(
            settings=world.settings,
            store=world.store,
            wakes=Wakes(fakeredis.FakeRedis(server=fakeredis.FakeServer()), world.store),
            slack=(slack := SlackWriter(world.slack.client(), world.store)),
            later=AtOnce(),
            lookups=AtOnce(),
        )
        self.bot = Approvals(world.store, slack, handler)

    @property
    def turn(self) -> str:
        return self.world.turns(self.key)[-1].id

    def press(self, do: Any, *, user: str = ANA, call: str = "approve:1", ts: str = "") -> str:
        """Press a button of the question; for "edit" and "redo" the form is filled in and sent too."""
        with self.world._unwatched():
            payload = ApprovalButton(turn=self.turn, call=call, do=do).encode()
            action = {"value": payload, "action_ts": ts or self.world.slack._next_ts()}
            container = {"channel_id": self.key.channel, "message_ts": self.asking()["ts"]}
            body = {"actions": [action], "container": container, "user": {"id": user}, "trigger_id": "1.2.x"}
            outcome = self.bot.press(body, self.key.team)
            if outcome == "form":
                assert self.submit(do, user=user, call=call) == {}
            return outcome

    def submit(self, do: str, *texts: str, user: str = ANA, call: str = "approve:1") -> dict[str, str]:
        form = (EditForm if do == "edit" else HintForm)(turn=self.turn, call=call)
        given = texts or (("n = 42\nprint(n)",) if do == "edit" else ("by month",))
        values = {field_id(n): {field_id(n): {"value": text}} for n, text in enumerate(given)}
        view = {"callback_id": form.id, "private_metadata": form.encode(), "state": {"values": values}}
        return self.bot.submit({"view": view, "user": {"id": user}}, self.key.team)

    def asking(self) -> Json:
        (message,) = (
            m for m in self.world.messages(self.key, ours=True)[1:] if "May this code run?" in message_text(m)
        )
        return message

    def settle(self, death: Death | None = None) -> None:
        self.world.settle(self.key, death)

    def decided(self) -> list[tuple[str, str]]:
        return [(step["outcome"], step["user"]) for step in self.world.steps(self.key, "decided")]

    def stdout(self) -> list[str]:
        return [step["stdout"] for step in self.world.steps(self.key, "cell")]

    def ended_as(self, do: str) -> None:
        """The one state and the one message that the first decision leads to."""
        assert self.decided() == [(OUTCOME[do], ANA)]
        assert self.stdout() == STDOUT[do]
        assert self.world.statuses(self.key) == ["stopped" if do == "reject" else "done"]
        text = message_text(self.asking())
        assert SAID[do] in text
        assert "[Run]" not in text


@pytest.fixture
def office(new_world: NewWorld) -> Office:
    return Office(new_world(team=EVERY))


def test_a_cell_waits_with_its_code_and_buttons_and_nothing_has_run(office: Office) -> None:
    text = message_text(office.asking())
    assert "Add" in text
    assert ADD in text
    for button in ("Run", "Edit", "Redo with a hint", "Skip", "Reject"):
        assert f"[{button}]" in text
    assert office.world.statuses(office.key) == ["waiting"]
    assert office.stdout() == []
    assert not office.world.works(office.key)


def test_explain_tells_of_the_code_that_waits_and_not_of_the_last_one_that_ran(new_world: NewWorld) -> None:
    office = Office(
        new_world(team=EVERY), replies=(cell(ADD, "Add"), cell("open('gone.txt', 'w').close()", "Empty it"))
    )
    office.press("run")
    office.settle()
    assert office.world.statuses(office.key) == ["waiting"]
    office.world.say("explain", thread=office.key)
    office.settle()
    said = message_text(office.world.messages(office.key, ours=True)[-1])
    assert "The code that waits for a yes: Empty it" in said
    assert "gone.txt" in said
    assert "ran to its end" not in said


def test_a_team_that_sets_nothing_is_asked_nothing(new_world: NewWorld) -> None:
    world = new_world()
    world.model = ScriptedModel([cell("import os\nos.system('ls')"), finish("Done.")])
    key = world.say("how much?")
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert world.steps(key, "questioned") == []


@pytest.mark.parametrize("do", BUTTONS)
def test_the_right_person_decides(office: Office, do: str) -> None:
    office.press(do)
    office.settle()
    office.ended_as(do)


@pytest.mark.parametrize("do", BUTTONS)
def test_the_wrong_person_changes_nothing_and_is_told_alone(office: Office, do: str) -> None:
    before = office.world.seen(office.key)
    office.press(do, user=BEN)
    office.settle()
    assert office.world.seen(office.key) == before
    assert office.decided() == []
    assert [user for user, text in office.world.slack.whispers if "you may not decide" in text] == [BEN]
    office.press(do)
    office.settle()
    office.ended_as(do)


@pytest.mark.parametrize("do", BUTTONS)
def test_a_form_of_the_wrong_person_and_a_press_that_only_the_worker_can_judge_change_nothing(
    office: Office, do: str
) -> None:
    if do in ("edit", "redo"):
        office.submit(do, user=BEN)
    else:
        office.world.decide(office.key, OUTCOME[do], user=BEN)  # Slack did not say in time who Ben is
    office.settle()
    assert office.decided() == []
    assert BEN in [user for user, _ in office.world.slack.whispers]
    assert office.world.statuses(office.key) == ["waiting"]


@pytest.mark.parametrize("do", BUTTONS)
def test_twice_before_the_worker_looks_is_once(office: Office, do: str) -> None:
    ts = office.world.slack._next_ts()
    for _ in range(2):
        office.press(do, ts=ts)
    office.press(do)
    office.settle()
    office.ended_as(do)


@pytest.mark.parametrize("do", BUTTONS)
@pytest.mark.parametrize("first", ["run", "reject"])
def test_a_late_press_draws_the_message_again_and_changes_nothing(office: Office, first: str, do: str) -> None:
    office.press(first)
    office.settle()
    drawn = office.asking()
    office.world.slack._messages[office.key.channel, drawn["ts"]]["text"] = "stale"
    steps = office.world.steps(office.key)
    office.press(do)
    assert do not in ("edit", "redo") or office.submit(do) == {}
    office.settle()
    assert office.world.steps(office.key) == steps
    assert office.asking() == drawn
    office.ended_as(first)
    assert "decided before" in office.world.slack.whispers[-1][1]


@pytest.mark.parametrize("do", BUTTONS)
@pytest.mark.parametrize("other", ["run", "skip", "reject"])
def test_of_two_at_once_the_first_counts(new_world: NewWorld, do: str, other: str) -> None:
    office = Office(new_world(team=f'{EVERY}[access]\napprove = ["members"]\n'))
    office.press(do)
    office.press(other, user=BEN)
    office.settle()
    office.ended_as(do)


@pytest.mark.parametrize("do", BUTTONS)
@pytest.mark.parametrize("at", [1, 2, 3, 5, 8])
def test_a_worker_that_dies_behind_the_press_loses_nothing(office: Office, do: str, at: int) -> None:
    office.press(do)
    office.settle(Death(at=at))
    office.ended_as(do)


@pytest.mark.parametrize("at", range(1, 12))
def test_a_worker_that_dies_while_it_asks_asks_once(new_world: NewWorld, at: int) -> None:
    world = new_world(team=EVERY)
    world.model = ScriptedModel([cell(ADD, "Add"), finish("Done.")])
    key = world.say("how much?")
    world.settle(key, Death(at=at))
    assert world.statuses(key) == ["waiting"]
    assert sum("[Run]" in message_text(m) for m in world.messages(key)) == 1
    world.decide(key, "run")
    world.settle(key)
    assert world.statuses(key) == ["done"]


def told(office: Office) -> str:
    """All that the model was told when it was last asked what to do."""
    requests = office.world.model.requests  # type: ignore[attr-defined]
    return "\n".join(str(m["content"]) for m in [r for r in requests if r.purpose == "act"][-1].messages)


def test_the_model_reads_who_changed_its_code_and_how(office: Office) -> None:
    office.press("edit")
    office.settle()
    text = told(office)
    assert "ana changed your code" in text
    assert "-n = 1" in text
    assert "+n = 42" in text
    assert office.world.steps(office.key, "cell")[0]["code"] == "n = 42\nprint(n)"
    assert "n = 42" in message_text(office.asking())


def test_the_model_reads_a_hint_and_writes_the_cell_anew(new_world: NewWorld) -> None:
    office = Office(new_world(team=EVERY), replies=(cell(ADD, "Add"), cell("print(7)", "Again")))
    office.press("redo")
    office.settle()
    assert "by month" in told(office)
    assert office.world.statuses(office.key) == ["waiting"]
    office.world.decide(office.key, "run")
    office.settle()
    assert office.stdout() == ["7\n"]
    assert office.decided() == [("redo", ANA), ("run", ANA)]


def test_a_press_on_the_question_before_says_nothing_of_the_next_one(new_world: NewWorld) -> None:
    office = Office(new_world(team=EVERY), replies=(cell(ADD, "Add"), cell("print(7)", "Again")))
    office.press("redo")
    office.world.decide(office.key, "run", call="approve:1")
    office.settle()
    office.world.decide(office.key, "run", call="approve:1")
    office.settle()
    assert office.world.statuses(office.key) == ["waiting"]
    assert office.stdout() == []


def test_words_that_are_no_decision_let_nothing_run_and_reach_the_model(office: Office) -> None:
    office.world.say("rather by month", thread=office.key, user=BEN)
    office.settle()
    assert office.stdout() == []
    assert "rather by month" in told(office)
    assert "wrote something else" in message_text(office.asking())
    assert office.world.statuses(office.key) == ["done"]


def test_the_word_on_a_button_decides_like_the_button(office: Office) -> None:
    office.world.say("run", thread=office.key, user=BEN)
    office.settle()
    assert office.decided() == []
    office.world.say("run", thread=office.key)
    office.settle()
    assert office.decided() == [("run", ANA)]
    assert office.stdout() == ["1\n"]


def test_a_word_written_before_the_question_appeared_is_no_yes(new_world: NewWorld) -> None:
    world = new_world(team=EVERY)
    world.model = ScriptedModel([cell(ADD, "Add"), finish("Done.")])
    key = world.say("how much?")
    said: list[None] = []

    def speak() -> None:
        if not said:
            said.append(None)
            world.say("run", thread=key)

    world.slack.fault("chat.postMessage", then=speak)  # the card is posted: the question comes after it
    world.settle(key)
    assert [step["stdout"] for step in world.steps(key, "cell")] == []


def test_a_stop_closes_the_question_and_continue_asks_again(office: Office) -> None:
    office.world.say("stop", thread=office.key, user=BEN)
    office.settle()
    assert office.world.statuses(office.key) == ["stopped"]
    assert "stopped here" in message_text(office.asking())
    office.world.say("continue", thread=office.key)
    office.settle()
    assert office.world.statuses(office.key) == ["waiting"]
    office.world.decide(office.key, "run")
    office.settle()
    assert office.stdout() == ["1\n"]


def test_a_question_whose_time_is_over_when_a_stopped_turn_continues_is_asked_anew(office: Office) -> None:
    office.world.say("stop", thread=office.key, user=BEN)
    office.settle()
    until = office.world.steps(office.key, "questioned")[0]["until"]
    office.world._take_in(office.key, f"{until + 1:.6f}", ANA, "continue", "continue")
    office.settle()
    assert office.world.statuses(office.key) == ["waiting"]
    assert len(office.world.steps(office.key, "questioned")) == 2
    assert expire_questions(office.world.store, until) == []
    office.world.decide(office.key, "run")
    office.settle()
    assert office.stdout() == ["1\n"]


def test_a_press_says_nothing_to_the_analyst_when_its_turn_ends_as_our_fault(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(turn: Any) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(workers.turn.runner, "join_mail", broken)
    asked = office.world.steps(office.key, "asked")
    office.press("run")
    office.settle()
    assert office.world.statuses(office.key) == ["failed"]
    assert office.world.steps(office.key, "asked") == asked


def test_a_rejected_step_is_left_out_when_the_turn_goes_on(office: Office) -> None:
    office.press("reject")
    office.settle()
    assert "write “continue”" in office.world.text(office.key).lower()
    office.world.say("continue", thread=office.key)
    office.settle()
    assert office.world.statuses(office.key) == ["done"]
    assert office.stdout() == []
    assert "wants this cell skipped" in told(office)


def test_a_question_that_nobody_decides_parks_its_turn_and_continue_asks_anew(office: Office) -> None:
    until = office.world.steps(office.key, "questioned")[0]["until"]
    assert expire_questions(office.world.store, until - 1) == []
    assert not office.world.works(office.key)
    assert expire_questions(office.world.store, until + 1) == [office.turn]
    assert expire_questions(office.world.store, until + 1) == []
    office.settle()
    assert office.world.statuses(office.key) == ["stopped"]
    assert office.decided() == [("expired", "")]
    assert "Nobody decided in time" in office.world.text(office.key)
    assert expire_questions(office.world.store, until + 1) == []
    office.world.say("continue", thread=office.key)
    office.settle()
    assert office.world.statuses(office.key) == ["waiting"]
    office.world.decide(office.key, "run")
    office.settle()
    assert office.stdout() == ["1\n"]


def test_a_press_before_the_hours_are_over_counts_though_it_is_read_later(office: Office) -> None:
    until = office.world.steps(office.key, "questioned")[0]["until"]
    office.press("run")
    expire_questions(office.world.store, until + 1)
    office.settle()
    office.ended_as("run")


def test_code_that_is_no_python_stays_in_the_form_with_its_line(office: Office) -> None:
    wrong = office.submit("edit", "a = 1\nb = 2", "c = (")
    assert list(wrong) == [field_id(1)]
    assert wrong[field_id(1)].startswith("Line 3:")
    office.settle()
    assert office.decided() == []
    assert office.submit("edit", "  ", "") == {
        field_id(0): "There is no code to run. Press “Skip” to go on without it."
    }


def test_code_that_was_not_changed_is_a_plain_yes(office: Office) -> None:
    office.submit("edit", ADD)
    office.settle()
    office.ended_as("run")


def test_show_all_opens_the_whole_code_for_anybody_at_any_time(new_world: NewWorld) -> None:
    long = "\n".join(f"a{n} = {n}" for n in range(60))
    office = Office(new_world(team=EVERY), replies=(cell(long, "Long"),))
    assert "[Show all]" in message_text(office.asking())
    assert "a59 = 59" not in message_text(office.asking())
    assert office.press("show", user=BEN) == "shown"
    assert "a59 = 59" in str(office.world.slack.views[-1])
    assert office.decided() == []


@pytest.mark.parametrize(
    ("ask", "asked"),
    [("never", []), ("first cell", ["Safe"]), ("risky", ["Deletes"]), ("every cell", ["Safe", "Deletes", "Late"])],
)
def test_the_policy_says_which_cells_wait(new_world: NewWorld, ask: str, asked: list[str]) -> None:
    replies = (
        cell("a = 1", "Safe"),
        cell("import os\nos.remove('x') if 0 else None", "Deletes"),
        cell("b = 1", "Late"),
    )
    office = Office(new_world(team=f'[approvals]\nask = "{ask}"\n'), replies=replies)
    for _ in asked:
        office.world.decide(office.key, "run")
        office.settle()
    questions = office.world.steps(office.key, "questioned")
    assert [step["approval"]["title"] for step in questions] == asked
    assert len(office.stdout()) == 3
    assert office.world.statuses(office.key) == ["done"]


def test_a_channel_has_a_policy_of_its_own(new_world: NewWorld) -> None:
    office = Office(new_world(team='[channels.C0SALES001.approvals]\nask = "every cell"\n'))
    assert office.world.statuses(office.key) == ["waiting"]


def test_the_people_of_the_thread_may_decide_where_the_team_says_so(new_world: NewWorld) -> None:
    team = f'{EVERY}[access]\napprove = ["thread"]\n'
    office = Office(new_world(team=team), replies=(cell(ADD, "Add"), cell(ADD, "Add")))
    office.press("run", user=BEN)
    office.settle()
    assert office.decided() == []
    office.world.say("I am here too", thread=office.key, user=BEN)
    office.settle()
    office.world.decide(office.key, "run", user=BEN)
    office.settle()
    assert office.decided() == [("other", BEN), ("run", BEN)]
