"""A search shows its asker, and nobody else, the threads that they may see."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from test_bot_access import ANA, BEN, CHANNEL, Bot, new_bot, threadbook  # noqa: F401 - fixtures

from bot.finding import excerpt_of
from core.steps import Asked, CellRan, Finished, Forgot, StatementRan, ToolRan
from core.values import IncomingMessage, Lease

ROOM = "C0ROOM0001"


def asked(bot: Bot, text: str, channel: str, *, report: str = "", source: str = "", server: str = "") -> str:
    """A thread in a channel with a finished turn."""
    ts = bot.slack.say(text, user=ANA, channel=channel)["ts"]
    message = IncomingMessage(
        team=bot.slack.team, channel=channel, channel_type="channel", ts=ts, root_ts=ts, user=ANA, text=text
    )
    thread_id = bot.store.record_message(message, "ana").thread_id
    lease = Lease(thread_id=thread_id, token=bot.store.raise_fence(thread_id), owner="test")
    turn = bot.store.open_turn(lease, "en", "model")
    cell = CellRan(
        call_id="c",
        cell_id="x",
        title="Look",
        code="1",
        status="ok",
        statements=(StatementRan(source=source, sql="select 1", rows=1),) if source else (),
        tool_calls=(ToolRan(server=server, tool="find", asked="a", state="ended"),) if server else (),
    )
    steps = [Asked(user=ANA, author="ana", text=text, ts=ts), cell, Finished(report=report or "Done.")]
    bot.store.take_mail(lease, turn.id, [mail.id for mail in bot.store.unread(thread_id)], steps)
    bot.store.set_turn_status(lease, turn.id, "done")
    return thread_id


def find(bot: Bot, words: str, user: str = BEN) -> str:
    """What the asker is shown, all of it as one text."""
    posted = bot.slack.say(f"<@U0FAKEBOT1> find: {words}", user=user)
    event = {**posted, "type": "app_mention", "channel": CHANNEL}
    for _ in range(2):  # Slack delivers twice
        bot.handler.take_event(event, bot.slack.team, "U0FAKEBOT1")
    shown = [given for method, given in bot.slack.calls if method == "chat.postEphemeral"]
    assert len(shown) == 1, "one answer"
    assert shown[0]["user"] == user
    assert [each for each in bot.slack.thread(posted["ts"]) if each.get("bot_id")] == [], "nobody else reads it"
    assert bot.store.threads_needing_a_wake() == []
    bot.slack.calls.clear()
    return f"{shown[0]['text']} {shown[0].get('blocks')}"


def test_a_search_shows_threads_with_all_its_words_their_link_and_where_the_words_stand(threadbook: Bot) -> None:  # noqa: F811
    asked(threadbook, "How did churn go in <March>?", CHANNEL, report="Churn in March was *12 %*.")
    asked(threadbook, "Which refunds?", CHANNEL)
    shown = find(threadbook, '"churn march"')
    assert "archives/C0SALES001/p" in shown
    assert "How did churn go in &lt;March&gt;?" in shown
    assert "Churn in March was" in shown
    assert "refunds" not in shown
    assert "no thread" in find(threadbook, "tariffs")
    assert "what to look for" in find(threadbook, "?!")


def test_a_thread_of_a_private_channel_is_shown_to_its_members_only(threadbook: Bot) -> None:  # noqa: F811
    asked(threadbook, "secret churn", ROOM)
    threadbook.slack.channel_flags = {"is_private": True}
    threadbook.slack.channels[ROOM] = {"name": "leaders", "members": [ANA]}
    assert "secret" in find(threadbook, "churn", ANA)
    assert "no thread" in find(threadbook, "churn", BEN)


def test_a_direct_message_is_shown_to_its_person_only(threadbook: Bot) -> None:  # noqa: F811
    asked(threadbook, "my churn", f"D{ANA[1:]}")
    assert "my churn" in find(threadbook, "churn", ANA)
    assert "no thread" in find(threadbook, "churn", BEN)


def test_rows_of_a_source_that_the_asker_may_not_ask_hide_their_thread(new_bot: Callable[..., Bot]) -> None:  # noqa: F811
    bot = new_bot(team=f'[sources.shop]\nurl_env = "SHOP_URL"\npeople = ["{ANA}"]\n')
    asked(bot, "churn of the shop", CHANNEL, source="shop")
    assert "churn of the shop" in find(bot, "churn", ANA)
    assert "no thread" in find(bot, "churn", BEN)


def test_rows_that_a_reset_removed_still_hide_the_reports_from_before_it(new_bot: Callable[..., Bot]) -> None:  # noqa: F811
    bot = new_bot(team=f'[sources.shop]\nurl_env = "SHOP_URL"\npeople = ["{ANA}"]\n')
    thread_id = asked(bot, "churn of the shop", CHANNEL, report="Churn was 12 %.", source="shop")
    lease = Lease(thread_id=thread_id, token=bot.store.raise_fence(thread_id), owner="test")
    turn = bot.store.open_turn(lease, "en", "model")
    bot.store.take_mail(lease, turn.id, [], [Forgot(done=True, user=ANA, author="ana", text="Reset.")])
    bot.store.set_turn_status(lease, turn.id, "done")
    assert "Churn was 12 %" in find(bot, "churn", ANA)
    assert "no thread" in find(bot, "churn", BEN)


def test_answers_of_tools_that_the_asker_may_not_call_hide_their_thread(new_bot: Callable[..., Bot]) -> None:  # noqa: F811
    team = f'[access]\ncall = ["{ANA}"]\n[mcp.crm]\ncommand = ["crm"]\ntools = ["find"]\n'
    bot = new_bot(team=team)
    asked(bot, "churn of the accounts", CHANNEL, server="crm")
    assert "churn of the accounts" in find(bot, "churn", ANA)
    assert "no thread" in find(bot, "churn", BEN)


def test_a_slack_that_does_not_say_who_may_read_shows_nothing(threadbook: Bot) -> None:  # noqa: F811
    asked(threadbook, "churn", CHANNEL)
    threadbook.slack.fault("conversations.info", "http_error", times=9)
    assert "search again" in find(threadbook, "churn")


@pytest.mark.parametrize(
    ("texts", "words", "says"),
    [
        (["question churn", "x" * 100 + " the Churn rate"], ["churn"], "…"),
        (["only churn here"], ["churn"], "only churn here"),
        (["nothing"], ["churn"], ""),
    ],
)
def test_the_excerpt_is_around_the_word_in_an_answer_before_the_question(
    texts: list[str], words: list[str], says: str
) -> None:
    found = excerpt_of(texts, words)
    assert found.startswith(says)
    assert bool(found) == bool(says)


def test_a_thread_found_by_its_meaning_is_shown_only_to_those_who_may_see_it_and_says_so(
    new_bot: Callable[..., Bot],  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bot = new_bot(team='[memory]\nembedding_model = "small"\n')
    both = asked(bot, "attrition in March", CHANNEL)
    meant = asked(bot, "How many customers cancelled?", CHANNEL, report="Of them 12 % cancelled.")
    mine = asked(bot, "my leavers", f"D{ANA[1:]}")
    monkeypatch.setattr("bot.finding.threads_near", lambda *_, **__: [meant, mine, both])
    shown = find(bot, "attrition")
    assert shown.index("attrition in March") < shown.index("How many customers cancelled?")
    assert "by its words · by its meaning" in shown
    assert "Of them 12 % cancelled." in shown, "without a word to show, the end of the thread is shown"
    assert "my leavers" not in shown


def test_without_an_embedding_model_nothing_is_said_of_meanings(threadbook: Bot) -> None:  # noqa: F811
    asked(threadbook, "churn in March", CHANNEL)
    assert "by its" not in find(threadbook, "churn")
