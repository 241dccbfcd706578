"""Which events are messages for us, and what they say."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.intake import MAX_TEXT, EventContext, Ignored, addressed, is_empty, read_message
from core.values import IncomingMessage, ThreadKey

BOT = "U0BOT"
ROOT = "1700000000.000100"
TS = "1700000000.000200"
FILE = {"id": "F1", "name": "sales.csv", "mimetype": "text/csv", "size": 3, "url_private": "https://files.slack.com/x"}


def context(*, known: bool = False, strict: bool = False) -> EventContext:
    return EventContext(
        team="T1",
        bot_user_id=BOT,
        name_of=lambda user: {"U2": "Ben"}.get(user, user),
        knows_thread=lambda key: known and key == ThreadKey("T1", "C1", ROOT),
        is_strict=lambda channel: strict and channel == "C1",
    )


def event(**changes: Any) -> dict[str, Any]:
    return {
        "type": "message",
        "user": "U1",
        "channel": "C1",
        "channel_type": "channel",
        "ts": TS,
        "text": "hi",
    } | changes


def mention(**changes: Any) -> dict[str, Any]:
    return {"type": "app_mention", "user": "U1", "channel": "C1", "ts": TS, "text": f"<@{BOT}> hi"} | changes


def to_message(given: dict[str, Any], known: EventContext) -> IncomingMessage | Ignored:
    return addressed(read_message(given, known), known)


def parsed(given: dict[str, Any], **known: bool) -> IncomingMessage:
    message = to_message(given, context(**known))
    assert isinstance(message, IncomingMessage), message
    return message


# --- who is meant


def test_a_mention_is_for_us() -> None:
    assert parsed(mention()) == IncomingMessage(
        team="T1",
        channel="C1",
        channel_type="channel",
        ts=TS,
        root_ts=TS,
        user="U1",
        text="hi",
        mention=True,
        files_known=False,
    )


def test_the_message_event_of_a_mention_gives_the_same_message() -> None:
    twin = parsed(event(text=f"<@{BOT}> hi", files=[FILE], subtype="file_share"))
    assert (twin.mention, twin.ts, twin.text, twin.files_known) == (True, TS, "hi", True)
    assert [file.name for file in twin.files] == ["sales.csv"]


def test_talk_in_a_channel_is_not_for_us() -> None:
    assert to_message(event(), context()) == Ignored("not addressed to the bot")
    assert to_message(event(text="<@U2> hi"), context()) == Ignored("not addressed to the bot")


def test_a_direct_message_needs_no_mention() -> None:
    message = parsed(event(channel="D1", channel_type="im"))
    assert (message.mention, message.channel_type, message.root_ts) == (False, "im", TS)


def test_a_group_direct_message_needs_one() -> None:
    assert isinstance(to_message(event(channel="G1", channel_type="mpim"), context()), Ignored)
    assert parsed(event(channel="G1", channel_type="mpim", text=f"<@{BOT}> hi")).channel_type == "mpim"


def test_a_reply_in_a_thread_we_are_in_needs_no_mention() -> None:
    message = parsed(event(thread_ts=ROOT), known=True)
    assert (message.root_ts, message.mention) == (ROOT, False)


def test_a_reply_in_a_thread_we_are_not_in_needs_one() -> None:
    assert isinstance(to_message(event(thread_ts=ROOT), context()), Ignored)
    assert parsed(mention(thread_ts=ROOT)).root_ts == ROOT


def test_a_new_thread_in_a_channel_we_know_needs_one() -> None:
    assert isinstance(to_message(event(ts=ROOT), context(known=True)), Ignored)


def test_in_a_strict_channel_every_message_needs_one() -> None:
    assert isinstance(to_message(event(thread_ts=ROOT), context(known=True, strict=True)), Ignored)
    assert parsed(mention(thread_ts=ROOT), known=True, strict=True).mention
    assert parsed(event(thread_ts=ROOT, text=f"<@{BOT}> go on"), known=True, strict=True).mention


def test_a_broadcast_reply_counts_once_more_as_a_reply() -> None:
    assert parsed(event(thread_ts=ROOT, subtype="thread_broadcast"), known=True).root_ts == ROOT


# --- what does not run


@pytest.mark.parametrize(
    "given",
    [
        event(subtype="message_changed", hidden=True, message={"text": f"<@{BOT}>"}),
        event(subtype="message_deleted", hidden=True),
        event(subtype="channel_join", text=f"<@{BOT}> has joined"),
        event(subtype="bot_message", bot_id="B1", text=f"<@{BOT}> hi"),
        event(bot_id="B1", text=f"<@{BOT}> hi"),
        mention(bot_id="B1"),
        mention(user=BOT),
        mention(user="USLACKBOT"),
        mention(edited={"user": "U1", "ts": "1700000009.000000"}),
        event(hidden=True, text=f"<@{BOT}> hi"),
    ],
)
def test_edits_deletions_and_bots_do_not_run(given: dict[str, Any]) -> None:
    assert isinstance(to_message(given, context(known=True)), Ignored)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"type": "app_mention"},
        mention(user=None),
        mention(user=["U1"]),
        mention(channel="C1:T2"),
        mention(ts="now"),
        mention(ts=1700000000.0002),
        mention(thread_ts="../../etc"),
        mention(thread_ts=["1.1"]),
        mention(subtype=["x"]),
        mention(subtype={"a": 1}),
    ],
)
def test_a_malformed_event_is_ignored_not_an_error(given: dict[str, Any]) -> None:
    assert isinstance(to_message(given, context()), Ignored)


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from([TS, "C1", "U1", BOT]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.dictionaries(
        st.sampled_from(
            [
                "type",
                "subtype",
                "user",
                "channel",
                "channel_type",
                "ts",
                "thread_ts",
                "text",
                "files",
                "bot_id",
                "blocks",
                "hidden",
            ]
        ),
        ANYTHING,
    ),
    st.sampled_from([event(), mention(), event(channel="D1", channel_type="im", files=[FILE])]),
)
def test_no_event_raises(changes: dict[str, Any], base: dict[str, Any]) -> None:
    assert isinstance(to_message(base | changes, context(known=True)), Ignored | IncomingMessage)


# --- the text


def test_the_text_is_what_the_person_meant() -> None:
    message = parsed(mention(text=f"<@{BOT}> compare <@U2>’s &lt;north&gt; with <https://a.example|this>"))
    assert message.text == "compare @Ben’s <north> with this (https://a.example)"


def test_a_text_is_bounded() -> None:
    assert len(parsed(mention(text="x" * 100_000)).text) == MAX_TEXT


def test_pasted_cells_are_read_as_tab_separated_lines() -> None:
    rich = {
        "type": "rich_text",
        "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": "north"}]}],
    }
    rows = [
        [{"type": "raw_text", "text": "region"}, {"type": "raw_text", "text": "net\tsales"}],
        [rich, {"type": "raw_number", "value": 3, "text": "3"}],
    ]
    table = {"type": "table", "rows": rows}
    expected = "total?\n\nregion\tnet sales\nnorth\t3"
    assert parsed(mention(text=f"<@{BOT}> total?", blocks=[{"type": "rich_text"}, table])).text == expected
    assert parsed(mention(text=f"<@{BOT}> total?", attachments=[{"blocks": [table]}])).text == expected
    assert not is_empty(parsed(mention(text=f"<@{BOT}>", blocks=[table])))


def cell(*parts: dict[str, Any], kind: str = "rich_text_section") -> dict[str, Any]:
    return {"type": "rich_text", "elements": [{"type": kind, "elements": list(parts)}]}


def words(text: str, **style: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **style}


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (cell({"type": "link", "url": "https://a.example/x?y=1"}), "https://a.example/x?y=1"),
        (cell({"type": "link", "url": "https://a.example/x", "text": "our shop"}), "our shop"),
        (cell({"type": "link", "url": "mailto:ana@a.example"}), "ana@a.example"),
        (cell({"type": "emoji", "name": "white_check_mark", "unicode": "2705"}), "✅"),
        (cell({"type": "emoji", "name": "flag-de", "unicode": "1f1e9-1f1ea"}), "🇩🇪"),
        (cell({"type": "emoji", "name": "our_own"}), ":our_own:"),
        (cell({"type": "emoji", "name": "odd", "unicode": "99999999999"}), ":odd:"),
        (cell({"type": "user", "user_id": "U2"}), "@Ben"),
        (cell({"type": "channel", "channel_id": "C3"}), "#C3"),
        (cell({"type": "usergroup", "usergroup_id": "S1"}), "@S1"),
        (cell({"type": "date", "timestamp": 1720710212, "fallback": "2024-07-11"}), "2024-07-11"),
        (cell(words("Net "), words("sales", style={"bold": True}), words(" 2024")), "Net sales 2024"),
        (cell(cell(words("12")), cell(words("5")), kind="rich_text_list"), "12 5"),
        ({"type": "raw_number", "value": 12.5}, "12.5"),
        (cell({"type": "link", "url": 3}, {"type": "new kind"}), ""),
    ],
)
def test_a_pasted_cell_keeps_what_slack_shows_in_it(given: dict[str, Any], read: str) -> None:
    header = [{"type": "raw_text", "text": name} for name in ("a", "b")]
    table = {"type": "table", "rows": [header, [given, {"type": "raw_text", "text": "end"}]]}
    assert parsed(mention(text=f"<@{BOT}>", blocks=[table])).text == f"a\tb\n{read}\tend"


def forward(**changes: Any) -> dict[str, Any]:
    """A forwarded message, as Slack puts it into the new one."""
    return {
        "is_share": True,
        "ts": ROOT,
        "author_id": "U2",
        "author_name": "Ben",
        "channel_id": "C2",
        "from_url": "https://acme.slack.com/archives/C2/p1700000000000100",
        "text": "Sales &lt; plan in <#C3|north>\nSee <https://acme.example/q3>",
        "fallback": "[November 14th, 2023 10:13 PM] ben: Sales",
    } | changes


QUOTED = "> Ben:\n> Sales < plan in #north\n> See https://acme.example/q3"


def test_a_forwarded_message_is_quoted_behind_the_question_and_its_files_come_along() -> None:
    given = mention(text=f"<@{BOT}> why?", attachments=[forward(files=[FILE])])
    message = parsed(given)
    assert message.text == f"why?\n\n{QUOTED}"
    assert [file.name for file in message.files] == ["sales.csv"]
    assert message.files_known
    assert parsed(event(channel="D1", channel_type="im", text="", attachments=[forward()])).text == QUOTED
    twice = parsed(mention(files=[FILE], attachments=[forward(files=[FILE, FILE | {"id": "F2"}])]))
    assert [file.id for file in twice.files] == ["F1", "F2"]


@pytest.mark.parametrize(
    ("changes", "quoted"),
    [
        ({"author_name": None}, QUOTED),
        ({"author_name": 3, "author_id": None}, QUOTED.removeprefix("> Ben:\n")),
        ({"text": ""}, "> Ben:\n> [November 14th, 2023 10:13 PM] ben: Sales"),
        ({"text": None, "fallback": None}, ""),
        ({"text": "a\n\nb"}, "> Ben:\n> a\n>\n> b"),
        ({"text": f"<@{BOT}> stop"}, f"> Ben:\n> @{BOT} stop"),
        ({"is_share": False}, ""),
        ({"is_share": "yes"}, ""),
    ],
)
def test_of_a_forwarded_message_what_is_there_is_quoted(changes: dict[str, Any], quoted: str) -> None:
    message = parsed(mention(text=f"<@{BOT}> why?", attachments=[forward(**changes)]))
    assert message.text == "\n\n".join(filter(None, ("why?", quoted)))


def test_a_mention_in_a_forwarded_message_calls_nobody() -> None:
    given = event(attachments=[forward(text=f"<@{BOT}> stop")])
    assert to_message(given, context()) == Ignored("not addressed to the bot")


@pytest.mark.parametrize("attachments", [None, "x", 3, [None], [[]], [{"is_share": True}], {"is_share": True}])
def test_attachments_of_another_form_add_nothing(attachments: object) -> None:
    assert parsed(mention(attachments=attachments)).text == "hi"


def test_few_forwarded_messages_are_read_and_each_is_bounded() -> None:
    text = parsed(mention(attachments=[forward(text="x" * 100_000)] * 50)).text
    assert MAX_TEXT < len(text) < MAX_TEXT + 10


@pytest.mark.parametrize(
    "blocks", [None, "x", [None], [{"type": "table"}], [{"type": "table", "rows": [None, [None, 3]]}]]
)
def test_blocks_that_hold_no_cells_add_nothing(blocks: object) -> None:
    assert parsed(mention(blocks=blocks, attachments=blocks)).text.strip() == "hi"


@pytest.mark.parametrize("text", [None, 3, ["a"], {}])
def test_a_text_of_another_type_is_empty(text: object) -> None:
    assert parsed(mention(text=text)).text == ""


def test_a_question_has_text_or_files() -> None:
    assert is_empty(parsed(mention(text=f" <@{BOT}> ")))
    assert not is_empty(parsed(mention(text=f"<@{BOT}>", files=[FILE])))
    assert not is_empty(parsed(event(channel="D1", channel_type="im", text="", files=[FILE], subtype="file_share")))


def test_a_mention_that_brings_its_files_is_known_to_be_complete() -> None:
    assert parsed(mention(files=[FILE])).files_known
    assert not parsed(mention(files=[])).files_known
    assert parsed(event(channel="D1", channel_type="im")).files_known


def test_a_mention_in_a_direct_message_is_recognized_by_its_channel() -> None:
    assert parsed(mention(channel="D1")).channel_type == "im"


def test_messages_to_others_can_be_read() -> None:
    message = read_message(event(text="numbers attached", files=[FILE]), context())
    assert isinstance(message, IncomingMessage)
    assert message.text == "numbers attached"
