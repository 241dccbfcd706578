"""Slack's text format in both directions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.slack.text import clip, clip_words, escape, mentions, plain, text_of_blocks, unescape, without_pings

BOT = "U0BOT"


@pytest.mark.parametrize(
    ("slack", "meant"),
    [
        ("<@U0BOT> what sold best?", "what sold best?"),
        ("<@U0BOT|threadbook>: what sold best?", "what sold best?"),
        (" <@U0BOT>, stop", "stop"),
        ("<@U0BOT>：停止", "停止"),
        ("by region <@U0BOT>: and month", "by region : and month"),
        ("hey <@U0BOT> and <@U1ANA>", "hey and @Ana"),
        ("<@U2|ben> asked", "@ben asked"),
        ("see <#C1|sales> and <#C2>", "see #sales and #C2"),
        ("<!here> <!subteam^S1|@team> <!date^1392734382^{date}|Feb 18, 2014>", "@here @team Feb 18, 2014"),
        ("<https://a.example/x?a=1&amp;b=2>", "https://a.example/x?a=1&b=2"),
        ("<https://a.example|the data>", "the data (https://a.example)"),
        ("<http://a.example|a.example>", "http://a.example"),
        ("<mailto:a@b.example|a@b.example>", "a@b.example"),
        ("1 &lt; 2 &amp;&amp; 3 &gt; 2", "1 < 2 && 3 > 2"),
        ("&amp;lt; stays an entity", "&lt; stays an entity"),
        ("<@U0BOT> run\nfor x in y:\n    pass", "run\nfor x in y:\n    pass"),
        ("a < b", "a < b"),
        ("<@U0BOT>", ""),
        ("", ""),
    ],
)
def test_slacks_text_is_read_as_the_person_meant_it(slack: str, meant: str) -> None:
    assert plain(slack, BOT, {"U1ANA": "Ana"}.get) == meant  # type: ignore[arg-type]


@pytest.mark.parametrize("filler", [" ", "\t ", "<@U0BOT|", "<@U0BOT ", "<"])
def test_a_long_message_is_read_in_linear_time(filler: str) -> None:
    """A pattern that restarts at each character would take longer than the time limit of a test."""
    assert plain("a" + filler * (1_000_000 // len(filler)) + "b", BOT).startswith("a")


@given(st.text())
def test_data_comes_back_from_its_escape(text: str) -> None:
    assert unescape(escape(text)) == text


@given(st.text(alphabet=st.sampled_from("<>!@#&|abU1 ")))
def test_escaped_data_holds_nothing_that_slack_reads(text: str) -> None:
    assert "<" not in escape(text)
    assert ">" not in escape(text)


@given(st.text(alphabet=st.sampled_from("<>!@|channelU1 ")))
def test_no_text_of_ours_can_ping(text: str) -> None:
    assert "<!" not in without_pings(text)
    assert "<@" not in without_pings(text)


def test_a_mention_of_a_longer_id_is_another_mention() -> None:
    assert mentions("hi <@U0BOT>", BOT)
    assert mentions("hi <@U0BOT|bot>", BOT)
    assert not mentions("hi <@U0BOTTLE>", BOT)
    assert not mentions("hi &lt;@U0BOT&gt;", BOT)
    assert not mentions("hi <@>", "")


def test_a_clipped_text_keeps_its_limit_and_shows_that_it_was_cut() -> None:
    assert clip("abc", 3) == "abc"
    assert clip("abcdef", 4) == "abc…"


@pytest.mark.parametrize(
    ("text", "clipped"),
    [
        ("sales by region", "sales by region"),
        ("sales by regions and by month", "sales by…"),
        ("sales by region and by month", "sales by…"),
        ("sales by groups and by month", "sales by…"),
        ("sales by group and by month", "sales by group…"),
        ("各地区各月的销售额是多少，哪个地区最好", "各地区各月的销售额是多少，哪…"),
        ("a http://example.com/a/very/long/link", "a http://examp…"),
    ],
)
def test_a_title_is_cut_behind_a_whole_word_if_there_is_one(text: str, clipped: str) -> None:
    assert clip_words(text, 15) == clipped
    assert len(clipped) <= 15


def test_signs_of_markdown_that_slack_would_take_for_a_link_are_kept_as_text() -> None:
    assert text_of_blocks([{"type": "markdown", "text": "x <3 and y> 5"}]) == "x &lt;3 and y&gt; 5"


def test_the_text_of_all_blocks_is_kept() -> None:
    blocks = [
        {"type": "header", "text": {"type": "plain_text", "text": "Sales & more"}},
        {
            "type": "section",
            "text": {"type": "mrkdwn", "text": "*North* leads"},
            "fields": [{"type": "mrkdwn", "text": "a"}],
        },
        {"type": "markdown", "text": "## Findings"},
        {"type": "divider"},
        {
            "type": "table",
            "rows": [[{"type": "raw_text", "text": "x"}, {"type": "raw_number", "value": 3, "text": "3"}]],
        },
        {
            "type": "plan",
            "title": "Work",
            "tasks": [{"type": "task_card", "task_id": "1", "title": "Load", "status": "complete"}],
        },
        {"type": "context", "elements": [{"type": "mrkdwn", "text": "note"}]},
        {"type": "actions", "elements": [{"type": "button", "text": {"type": "plain_text", "text": "Yes"}}]},
        {
            "type": "rich_text",
            "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": "<b>"}]}],
        },
    ]
    assert text_of_blocks(blocks).split("\n\n") == [
        "Sales &amp; more",
        "*North* leads a",
        "## Findings",
        "———",
        "x | 3",
        "Work Load",
        "note",
        "Yes",
        "&lt;b&gt;",
    ]
