"""Called into a talk of people: no turn takes a step without the talk, whoever dies in between."""

from __future__ import annotations

import pytest
from turn_world import ANA, BEN, CHANNEL, Death, NewWorld, World, cell, failure, finish, question

from core.values import ThreadKey
from workers.models.scripted import ScriptedModel

# A killed worker's card dies in its own thread.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")

READ = "open('sales.csv').read()"
CSV = {"sales.csv": b"region,amount\nnorth,12\n"}


def talk(world: World) -> ThreadKey:
    """A talk of people with a file, and nothing in it for the bot."""
    root = world.slack.say("numbers for the review", user=BEN)
    key = ThreadKey(world.slack.team, CHANNEL, root["ts"])
    world.slack.say("here they are", user=BEN, thread_ts=key.root_ts, files=CSV)
    world.slack.say("thanks!", thread_ts=key.root_ts)
    return key


def asked(world: World, key: ThreadKey) -> list[str]:
    return [step["text"] for turn in world.turns(key) for step in _steps(world, turn.id) if step["kind"] == "asked"]


def _steps(world: World, turn_id: str) -> list[dict[str, str]]:
    return [step.model_dump() for step in world.store.steps(turn_id)]


WHOLE = ["numbers for the review", "here they are", "which region sold best?"]


def test_the_talk_and_its_files_are_there_before_the_first_step(world: World) -> None:
    world.model = ScriptedModel([cell(READ), finish("North.")])
    key = talk(world)
    world.say("which region sold best?", thread=key)
    world.settle(key)
    assert asked(world, key) == WHOLE
    assert [file["path"] for file in world.steps(key, "briefed")[0]["files"]] == ["sales.csv"]
    assert world.statuses(key) == ["done"], "the talk's first message is no question of its own"


def at_cost_of(world: World) -> list[str]:
    """The people for whom model calls count."""
    return [user for user in (ANA, BEN) if world.store.spent(user=user).calls]


def test_a_question_below_words_of_somebody_else_is_of_who_called_the_bot_in(world: World) -> None:
    """Else any question could be put below another person's message, at the cost of that person."""
    world.store.save_preferences(world.slack.team, BEN, {"instructions": "Write a poem."}, BEN)
    world.store.save_preferences(world.slack.team, ANA, {"instructions": "Be brief."}, ANA)
    world.model = ScriptedModel(turns=[[cell(READ), finish("North.")], [cell("print(1)"), finish("It is 1.")]])
    key = talk(world)
    world.say("which region sold best?", thread=key, user=ANA)
    world.settle(key)
    assert [step["overheard"] for step in world.steps(key, "asked")] == [True, True, False]
    assert at_cost_of(world) == [ANA]
    (preferred,) = world.steps(key, "preferred")
    assert preferred["user"] == ANA
    assert [each["text"] for each in preferred["instructions"]] == ["Be brief."]
    (report,) = (world.store.report(turn.id) for turn in world.turns(key))
    assert report is not None
    assert "> which region sold best?\n\nAsked by ana" in report.markdown
    world.say("and how many?", thread=key, user=BEN)
    world.settle(key)
    assert at_cost_of(world) == [ANA, BEN], "what was overheard once says nothing of later questions"


def forwards(world: World, ts: str) -> None:
    """The files of this message belong to a message that it forwards."""
    message = world.slack._messages[CHANNEL, ts]
    message["attachments"] = [{"is_share": True, "author_name": "Ben", "text": "Q3", "files": message.pop("files")}]


def test_files_that_were_forwarded_in_the_talk_or_with_the_mention_come_along(world: World) -> None:
    world.model = ScriptedModel([cell(READ), finish("North.")])
    key = talk(world)
    forwards(world, world.messages(key)[1]["ts"])
    world.say("compare both", thread=key, files={"costs.csv": b"region,cost\nnorth,3\n"})
    forwards(world, world.messages(key)[-1]["ts"])
    world.settle(key)
    assert [file["path"] for file in world.steps(key, "briefed")[0]["files"]] == ["sales.csv", "costs.csv"]


def test_what_another_app_posted_is_read_when_the_bot_is_called_in_below_it(world: World) -> None:
    world.model = ScriptedModel([cell(READ), finish("North.")])
    root = world.slack.say("", user=BEN, files=CSV)
    app = {"bot_id": "B0WEEKLY", "subtype": "bot_message", "attachments": [{"title": "Weekly sales"}]}
    posted = world.slack._messages[CHANNEL, root["ts"]]
    posted.update(app)
    del posted["user"]
    key = ThreadKey(world.slack.team, CHANNEL, root["ts"])
    world.say("which region sold best?", thread=key)
    world.settle(key)
    assert asked(world, key) == ["> Weekly sales", "which region sold best?"]
    assert [file["path"] for file in world.steps(key, "briefed")[0]["files"]] == ["sales.csv"]
    assert world.statuses(key) == ["done"]


def test_what_the_bot_itself_posted_first_is_no_message_of_people(world: World) -> None:
    world.model = ScriptedModel([finish("North.")])
    root = world.slack.say("The weekly report", user="U0FAKEBOT1")
    world.slack._messages[CHANNEL, root["ts"]]["bot_id"] = "B0FAKEBOT1"
    key = ThreadKey(world.slack.team, CHANNEL, root["ts"])
    world.say("which region sold best?", thread=key)
    world.settle(key)
    assert asked(world, key) == ["which region sold best?"]


def test_a_worker_that_dies_anywhere_while_it_reads_the_talk_loses_nothing_of_it(new_world: NewWorld) -> None:
    counted = Death()
    world = new_world()
    world.model = ScriptedModel([cell(READ), finish("North.")])
    key = talk(world)
    world.say("which region sold best?", thread=key)
    world.settle(key, counted)
    whole = world.seen(key)
    assert len(counted.effects) > 5
    for place in range(1, len(counted.effects) + 1):
        world = new_world()
        world.model = ScriptedModel([cell(READ), finish("North.")])
        key = talk(world)
        world.say("which region sold best?", thread=key)
        world.settle(key, Death(place))
        assert asked(world, key) == WHOLE, place
        assert world.seen(key) == whole, place


def test_a_talk_that_slack_cannot_show_now_is_waited_for(world: World) -> None:
    world.model = ScriptedModel([cell(READ), finish("North.")])
    key = talk(world)
    world.say("which region sold best?", thread=key)
    world.slack.fault("conversations.replies", "drop_call", times=9)
    world.run(key)
    assert world.turns(key) == []
    assert world.put_off(key)
    world.slack.heal()
    world._redis.flushall()
    world.settle(key)
    assert asked(world, key) == WHOLE


def test_a_talk_that_slack_does_not_show_us_is_done_without(world: World) -> None:
    world.model = ScriptedModel([cell(READ), finish("North.")])
    key = talk(world)
    world.say("which region sold best?", thread=key)
    world.slack.fault("conversations.replies", "error", error="missing_scope")
    world.model = ScriptedModel([finish("I need the numbers.")])
    world.settle(key)
    assert asked(world, key) == ["which region sold best?"]
    assert world.statuses(key) == ["done"]


def test_a_bare_mention_below_a_question_starts_it(world: World) -> None:
    world.model = ScriptedModel([cell(READ), finish("North.")])
    key = talk(world)
    world.say("", thread=key)
    world.settle(key)
    assert asked(world, key) == WHOLE[:2]
    assert world.statuses(key) == ["done"]


def test_a_bare_mention_that_came_without_its_files_is_a_question(world: World) -> None:
    world.model = ScriptedModel([cell(READ), finish("North.")])
    root = world.slack.say("<@U0OTHERBOT>", user=BEN)
    key = ThreadKey(world.slack.team, CHANNEL, root["ts"])
    posted = world.slack.say("", thread_ts=key.root_ts, files=CSV)
    world._take_in(key, posted["ts"], BEN, "", "text")
    world.settle(key)
    assert [file["path"] for file in world.steps(key, "briefed")[0]["files"]] == ["sales.csv"]


@pytest.mark.parametrize("times", [1, 2])
def test_a_bare_mention_below_nothing_gets_the_help_once_and_leaves_the_thread_to_people(
    world: World, times: int
) -> None:
    root = world.slack.say("", user=BEN)
    key = ThreadKey(world.slack.team, CHANNEL, root["ts"])
    world.say("", thread=key)
    for _ in range(times):
        world.run(key)
    assert world.turns(key) == []
    assert world.text(key).count("Ask me a question about your data") == 1
    assert not world.works(key)
    assert not world.store.knows_thread(key)
    assert not world.messages(key)[1].get("reactions")


def test_a_bare_mention_while_a_turn_waits_gets_the_help_and_the_turn_waits_on(world: World) -> None:
    world.model = ScriptedModel([question("Which year?", "2023", "2024"), finish("Done.")])
    key = world.say("how much was sold?")
    world.settle(key)
    world.say("", thread=key)
    world.run(key)
    assert world.statuses(key) == ["waiting"]
    assert world.text(key).count("Ask me a question about your data") == 1


def test_only_the_card_of_a_talk_that_the_bot_was_called_into_has_a_leave_button(world: World) -> None:
    world.model = ScriptedModel([cell(READ), finish("North.")])
    called = talk(world)
    world.say("which region sold best?", thread=called)
    world.settle(called)
    world.model = ScriptedModel([finish("42.")])
    begun = world.say("how much was sold?")
    world.settle(begun)
    assert "[Leave this thread]" in world.text(called)
    assert "[Leave this thread]" not in world.text(begun)


def test_a_question_that_failed_keeps_the_talk_for_the_next_try(world: World) -> None:
    world.model = ScriptedModel([failure("unavailable")] * 9)
    key = talk(world)
    world.say("which region sold best?", thread=key)
    world.settle(key)
    assert asked(world, key) == WHOLE
