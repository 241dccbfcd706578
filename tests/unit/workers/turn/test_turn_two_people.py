"""A text that two people must agree on, and one of them changes it: a yes counts only for the text that was read."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

import fakeredis
import pytest
from turn_world import ANA, BEN, Death, Json, Meanwhile, NewWorld, World, cell, finish

from bot.message_handler import MessageHandler
from bot.presses.approvals import Approvals
from core.interactions import ApprovalButton, EditForm
from core.queue import Wakes
from core.slack.views.modals import field_id
from core.slack.writing.writer import SlackWriter
from core.steps import Agreed, Approval, Draft, Questioned, Redrafted, draft_of
from core.values import ThreadKey
from tryout.stack.blocks_text import message_text
from workers.models.scripted import ScriptedModel

EVERY = '[approvals]\nask = "every cell"\npeople = 2\n\n[access]\napprove = ["members"]\n'
PLAN = EVERY.replace("every cell", "plan")
THEIRS, CHANGED, AGAIN = "print('x')", "print('y')", "import shutil\nshutil.rmtree('/data')"
CYD = "U0CYD00001"


class AtOnce(Executor):
    """Does what it is given before it returns."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class Room:
    """A thread in which something waits for two people, and the bot that they press at."""

    def __init__(self, world: World, *script: Json) -> None:
        self.model = world.model = Meanwhile(ScriptedModel([*(script or (cell(THEIRS, "Add"),)), finish("Done.")]), {})
        self.world = world
        slack = SlackWriter(world.slack.client(), world.store)
        handler = MessageHandler(
            settings=world.settings,
            store=world.store,
            wakes=Wakes(fakeredis.FakeRedis(server=fakeredis.FakeServer()), world.store),
            slack=slack,
            later=AtOnce(),
            lookups=AtOnce(),
        )
        self.bot = Approvals(world.store, slack, handler)
        self.key: ThreadKey = world.say("how much?")
        world.settle(self.key)

    def questions(self) -> list[Json]:
        """The messages that ask or asked, in their order."""
        words = ("May this code run?", "My plan")
        messages = self.world.messages(self.key, ours=True)[1:]
        return [message for message in messages if any(word in message_text(message) for word in words)]

    def button(self, do: str, message: Json | None = None) -> ApprovalButton:
        """A button as it stands in a message; in the newest one unless it is said which."""
        pressed = [
            button
            for block in (message or self.questions()[-1])["blocks"]
            for element in block.get("elements", ())
            if (button := ApprovalButton.decode(element.get("value"))) is not None and button.do == do
        ]
        return pressed[0]

    def press(self, do: str, *, user: str = ANA, button: ApprovalButton | None = None, ts: str = "") -> str:
        button = button or self.button(do)
        with self.world._unwatched():
            action = {"value": button.encode(), "action_ts": self.world.slack._next_ts()}
            container = {"channel_id": self.key.channel, "message_ts": ts or self.questions()[-1]["ts"]}
            body = {"actions": [action], "container": container, "user": {"id": user}, "trigger_id": "1.2.x"}
            return self.bot.press(body, self.key.team)

    def form(self) -> EditForm:
        """The form that was opened last."""
        form = EditForm.decode(self.world.slack.views[-1]["private_metadata"])
        assert form is not None
        return form

    def submit(self, text: str, *, user: str, form: EditForm | None = None) -> dict[str, str]:
        form = form or self.form()
        view = {"callback_id": form.id, "private_metadata": form.encode()}
        state = {"state": {"values": {field_id(0): {field_id(0): {"value": text}}}}}
        with self.world._unwatched():
            return self.bot.submit({"view": {**view, **state}, "user": {"id": user}}, self.key.team)

    def change(self, text: str, *, user: str = BEN, settle: bool = True) -> None:
        assert self.press("edit", user=user) == "form"
        assert self.submit(text, user=user) == {}
        if settle:
            self.world.settle(self.key)

    def say_yes(self, user: str) -> str:
        outcome = self.press("run", user=user)
        self.world.settle(self.key)
        return outcome

    def ran(self) -> list[str]:
        return [step["code"] for step in self.world.steps(self.key, "cell")]

    def told(self) -> str:
        """All that the model was told when it was last asked what to do."""
        asked = [request for request in self.model.requests if request.purpose == "act"][-1]
        return json.dumps(asked.messages)

    def whispers(self, user: str) -> str:
        return "\n".join(text for who, text in self.world.slack.whispers if who == user)


@pytest.fixture
def room(new_world: NewWorld) -> Room:
    return Room(new_world(team=EVERY))


def test_a_change_is_asked_below_with_the_yes_of_whoever_made_it(room: Room) -> None:
    room.say_yes(ANA)
    room.change(CHANGED)
    old, new = (message_text(message) for message in room.questions())
    assert "[Run]" not in old
    assert "changed this" in old
    assert CHANGED in new
    assert "ben said yes" in new
    assert "ana said yes" not in new
    assert "1 more person" in new
    for button in ("Run", "Edit", "Redo with a hint", "Skip", "Reject"):
        assert f"[{button}]" in new
    assert room.ran() == []
    assert room.world.statuses(room.key) == ["waiting"]


def test_with_the_other_yes_the_changed_text_runs_and_everybody_reads_who_did_what(room: Room) -> None:
    room.change(CHANGED)
    room.say_yes(ANA)
    assert room.ran() == [CHANGED]
    decided = room.world.steps(room.key, "decided")[-1]
    assert (decided["outcome"], decided["user"], decided["editor"]) == ("edited", ANA, "ben")
    assert "ben changed it, and ana gave the last yes" in message_text(room.questions()[-1])
    assert "ben changed your code before it ran" in room.told()


def test_who_changed_it_cannot_say_the_second_yes(room: Room) -> None:
    room.change(CHANGED)
    assert room.say_yes(BEN) == "agreed before"
    assert room.ran() == []


def test_a_yes_to_the_text_before_is_no_yes_and_the_person_is_told(room: Room) -> None:
    before, ts = room.button("run"), room.questions()[0]["ts"]
    room.change(CHANGED)
    assert room.press("run", button=before, ts=ts) == "outdated"
    room.world.settle(room.key)
    assert room.ran() == []
    assert "ben changed the text meanwhile" in room.whispers(ANA)
    assert "[Run]" not in message_text(room.questions()[0])


def test_a_yes_that_crosses_the_change_on_its_way_to_the_worker_does_not_count(room: Room) -> None:
    room.change(CHANGED, settle=False)
    assert room.press("run") == "taken"
    room.world.settle(room.key)
    assert room.ran() == []
    assert room.world.statuses(room.key) == ["waiting"]


def test_of_two_forms_that_are_open_at_once_the_second_loses_nothing_and_is_told_why(room: Room) -> None:
    assert room.press("edit", user=ANA) == "form"
    anas = room.form()
    room.change(CHANGED)
    wrong = room.submit(AGAIN, user=ANA, form=anas)
    assert list(wrong) == [field_id(0)]
    assert "ben changed the text while this form was open" in wrong[field_id(0)]
    room.world.settle(room.key)
    assert len(room.world.steps(room.key, "redrafted")) == 1


def test_a_change_of_a_change_needs_both_again_and_says_what_the_new_code_does(room: Room) -> None:
    room.change(CHANGED)
    room.change(AGAIN, user=ANA)
    newest = message_text(room.questions()[-1])
    assert "rmtree" in newest
    assert "deletes" in newest
    assert [message_text(message).count("[Run]") for message in room.questions()] == [0, 0, 1]
    assert room.say_yes(ANA) == "agreed before"
    room.say_yes(BEN)
    assert room.ran() == [AGAIN]


def test_a_form_that_is_sent_unchanged_is_a_plain_yes(room: Room) -> None:
    room.change(THEIRS)
    assert room.world.steps(room.key, "redrafted") == []
    assert "ben said yes" in message_text(room.questions()[-1])
    room.say_yes(ANA)
    assert room.world.steps(room.key, "decided")[-1]["outcome"] == "run"
    assert room.ran() == [THEIRS]


def test_a_word_counts_for_the_text_that_stood_there_when_it_was_written(room: Room) -> None:
    room.change(CHANGED)
    room.world.say("Run", thread=room.key)
    room.world.settle(room.key)
    assert room.ran() == [CHANGED]


def test_a_word_that_was_written_before_the_new_text_stood_there_lets_nothing_run(room: Room) -> None:
    room.change(CHANGED, settle=False)
    room.world.say("Run", thread=room.key)
    room.world.settle(room.key)
    assert CHANGED not in room.ran()
    assert room.world.steps(room.key, "decided")[-1]["outcome"] == "other"


@pytest.mark.parametrize("do", ["skip", "reject"])
def test_a_no_to_the_text_before_is_a_no(room: Room, do: str) -> None:
    before = room.button(do)
    room.change(CHANGED)
    assert room.press(do, button=before) == "taken"
    room.world.settle(room.key)
    assert room.ran() == []
    assert room.world.steps(room.key, "decided")[-1]["outcome"] == do


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # the card's thread dies too
@pytest.mark.parametrize("at", range(1, 13))
def test_a_worker_that_dies_in_between_asks_for_the_changed_text_once(new_world: NewWorld, at: int) -> None:
    room = Room(new_world(team=EVERY))
    room.change(CHANGED, settle=False)
    room.world.settle(room.key, Death(at=at))
    room.world.settle(room.key)
    assert [message_text(message).count("[Run]") for message in room.questions()][-1] == 1
    assert len(room.questions()) == 2
    assert CHANGED in message_text(room.questions()[-1])
    room.say_yes(ANA)
    assert room.ran() == [CHANGED]


def test_a_plan_that_one_changes_and_another_lets_go_is_what_is_followed(new_world: NewWorld) -> None:
    listed, first = finish("1. Load — a clean table"), finish("Two rows.")
    room = Room(new_world(team=PLAN), listed, cell("rows = [1, 2]", "Load"), first)
    assert "[Change]" in message_text(room.questions()[-1])
    room.change("1. Load — how many rows", user=ANA)
    assert "how many rows" in message_text(room.questions()[-1])
    room.say_yes(BEN)
    assert room.ran() == ["rows = [1, 2]"]
    assert "ana changed it, and ben gave the last yes" in message_text(room.questions()[-1])
    assert "how many rows" in room.told()


def test_only_what_was_said_of_the_newest_text_of_this_question_counts() -> None:
    question = Questioned(
        call_id="approve:1", question="?", people=2, approval=Approval(what="python", title="Add", code=THEIRS)
    )
    ana = Agreed(call_id="approve:1", user=ANA, author="ana", ts="1.0")
    ben = Redrafted(call_id="approve:1", user=BEN, author="", ts="2.0", code=CHANGED, writes=("/data",))
    other = Agreed(call_id="approve:2", user=CYD, author="cyd", ts="3.0")
    assert draft_of([question, ana, other], question) == Draft(question, agreed=(ana,))
    draft = draft_of([question, ana, ben, other], question)
    assert (draft.number, draft.editor, draft.agreed) == (1, BEN, (ben,))
    assert draft.question.approval is not None
    assert (draft.question.approval.code, draft.question.approval.writes) == (CHANGED, ("/data",))
    assert draft.question.approval.title == "Add"
