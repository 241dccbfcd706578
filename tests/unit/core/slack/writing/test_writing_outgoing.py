"""The one way of text to Slack."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from own_code import files, nodes_of, words_of

from core.slack import blocks as kit
from core.slack.blocks import Limit, broken_limits
from core.slack.text import escape
from core.slack.writing import outgoing
from core.slack.writing.outgoing import slack_blocks, slack_text, slack_view

WRITES = re.compile(
    r"chat_(?!getPermalink)\w+|views_\w+|files_(?:completeUpload|upload)\w*|assistant_threads_\w+|canvases_\w+|bookmarks_\w+"
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain words", "plain words"),
        ("see https://evil.example/x?d=1 now", "see `https://evil.example/x?d=1` now"),
        ("see evil.com/x?d=1&amp;e=2.", "see `evil.com/x?d=1&amp;e=2`."),
        ("Files: www.evil.com?d=1 (made in this turn)", "Files: `www.evil.com?d=1` (made in this turn)"),
        ("<https://evil.example|click>", "<`https://evil.example`|click>"),
        ("already `https://evil.example/x` code", "already `https://evil.example/x` code"),
        (
            "```\nhttps://evil.example\n``` https://evil.example",
            "```\nhttps://evil.example\n``` `https://evil.example`",
        ),
        ("    https://evil.example", "    `https://evil.example`"),
        ("open ` https://evil.example", "open ' `https://evil.example`"),
        ("in a`https://evil.example`word", "in a'`https://evil.example`'word"),
        ("0https://evil.example/x", "0 `https://evil.example/x`"),
        ("evil.com/ahttps://evil.com/b", "`evil.com/ahttps://evil.com/b`"),
        ("<!channel> <@U1>", "&lt;!channel> &lt;@U1>"),
        ("in <#C1>", "in <#C1>"),
        ("report.md, 3.5/4.2, a mail to ana@corp.com", "report.md, 3.5/4.2, a mail to ana@corp.com"),
    ],
)
def test_an_address_is_code_and_a_ping_is_shown(text: str, shown: str) -> None:
    assert slack_text(text) == shown
    assert slack_text(shown) == shown


def test_an_address_that_a_person_wrote_stays_a_link() -> None:
    assert slack_text("see https://a.example/x", {"https://a.example/x"}) == "see https://a.example/x"


@pytest.mark.parametrize("part", ["see evil.com/x ", "<!channel> ", "a.co ", "<@U1>"])
def test_a_text_that_grows_when_it_is_made_safe_still_fits_its_block(part: str) -> None:
    long = (part * 3_000)[: Limit.SECTION]
    blocks = slack_blocks([kit.section(long), kit.context(long)])
    assert broken_limits(blocks) == []
    assert all(len(text) <= Limit.SECTION for text in (blocks[0]["text"]["text"], blocks[1]["elements"][0]["text"]))


@given(
    st.lists(st.sampled_from(["`", "```", " ", "\n", "https://evil.com/x", "www.evil.com?d=1", "<!here>", "a", "&lt;"]))
)
def test_what_is_made_of_code_pings_and_addresses_is_made_safe_once_and_for_all(parts: list[str]) -> None:
    shown = slack_text("".join(parts))
    assert "<!" not in shown
    assert slack_text(shown) == shown


@pytest.mark.parametrize("limit", range(1, 20))
def test_a_cut_leaves_no_half_of_an_escaped_sign(limit: int) -> None:
    shown = slack_text(escape("a & b < c > d"), limit=limit)
    assert len(shown) <= limit
    assert "&" not in re.sub(r"&(amp|lt|gt);", "", shown)


@pytest.mark.parametrize("limit", range(1, 60))
def test_a_cut_makes_no_address_of_what_was_code(limit: int) -> None:
    shown = slack_text(escape("a `https://evil.example/x?d=SECRET` and https://evil.example/y?d=SECRET"), limit=limit)
    assert len(shown) <= limit
    assert slack_text(shown) == shown


def test_every_text_in_blocks_that_slack_parses_is_made_safe_and_no_other() -> None:
    lure = "<!here> https://evil.example"
    blocks = slack_blocks(
        [
            {"type": "section", "text": {"type": "mrkdwn", "text": lure}, "fields": [{"type": "mrkdwn", "text": lure}]},
            {"type": "markdown", "text": f"[x](https://evil.example)\n\n[1]: https://evil.example\n\n{lure}"},
            {"type": "context", "elements": [{"type": "plain_text", "text": lure}]},
        ]
    )
    safe = "&lt;here> `https://evil.example`".replace("&lt;", "&lt;!")
    assert blocks[0]["text"]["text"] == blocks[0]["fields"][0]["text"] == safe
    assert re.sub(r"`[^`]*`", "", blocks[1]["text"]).count("evil.example") == 0
    assert blocks[2]["elements"][0]["text"] == lure
    view = slack_view({"type": "modal", "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": lure}}]})
    assert view["blocks"][0]["text"]["text"] == safe


def test_nothing_else_makes_such_text_or_calls_a_method_that_writes() -> None:
    made, called = [], []
    paths = tuple(
        path
        for path in files("bot", "core", "workers", "tryout")
        if path != Path(outgoing.__file__) and path.name != "fake.py"
    )
    kinds = {"SlackText", "SlackBlocks", "SlackView"}
    writing = {word for path in paths for word in words_of(path) if WRITES.fullmatch(word)}
    for path, node in nodes_of(paths, kinds | writing):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            made += [(path.name, name)] if name in kinds else []
            called += [(path.name, name)] if WRITES.fullmatch(name) else []
    assert (made, called) == ([], [])
