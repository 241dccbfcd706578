"""Blocks stay inside Slack's limits whatever data goes in, and broken limits are named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slack_sdk.models.blocks import Block

from core.interactions import OptionButton, StopButton
from core.slack import blocks as kit
from core.slack.blocks import Limit, broken_limits, fallback
from core.slack.text import escape, text_of_blocks, unescape
from playground.blocks.check import check_blocks

anything = st.text(max_size=5_000)


@given(anything, anything, anything)
def test_builders_make_blocks_that_slack_takes(text: str, title: str, data: str) -> None:
    made = [
        kit.section(text[:2_000]),
        kit.context(text[:2_000]),
        kit.header(title),
        kit.divider(),
        kit.actions(kit.button(title, OptionButton(turn="t", call=data[:200], n=0))),
        kit.plan(title, [kit.task_card("t", title, "complete", output=kit.paragraph(data[:200]))]),
    ]
    assert broken_limits(made) == []
    assert broken_limits([kit.quote(data), kit.code(text)]) == []


def test_the_sdk_reads_what_the_builders_make() -> None:
    made = [
        kit.section("a"),
        kit.context("b"),
        kit.header("c"),
        kit.divider(),
        kit.markdown("# d"),
        kit.quote("e"),
        kit.code("f"),
        kit.table([["g", "h"], ["1", ""]], [None, "right"]),
        kit.actions(kit.button("i", StopButton(turn="t"), "primary")),
        kit.plan("j", [kit.task_card("t", "k", "error", details=kit.code("l"))]),
    ]
    for block, parsed in zip(made, Block.parse_all(made), strict=True):
        assert parsed is not None
        parsed.validate_json()
        assert parsed.to_dict()["type"] == block["type"]


@pytest.mark.parametrize(
    ("blocks", "fault"),
    [
        ([], "0 blocks"),
        ([kit.divider()] * 51, "51 blocks"),
        ([kit.markdown("x" * 7_000)] * 2, "characters of markdown"),
        ([kit.markdown("x" * 7_000), *[kit.section("y" * 3_000)] * 2], "characters together"),
        ([kit.table([["a"]]), kit.table([["b"]])], "more than one table"),
        ([kit.table([["a"]]), kit.data_table([["a"], ["b"]], "c")], "more than one table"),
        ([kit.table([["a"]] * 101)], "101 items"),
        ([kit.data_table([["a"]] * 101, "c")], "101 items"),
        ([{**kit.data_table([["a"], ["b"]], "c"), "rows": [[{"type": "raw_text", "text": "a"}]]}], "no row below"),
        ([kit.table([["a"] * 21])], "21 items"),
        ([kit.markdown("")], "0 characters"),
        ([{"type": "header", "text": {"type": "plain_text", "text": "x" * 151}}], "151 characters"),
        ([{"type": "actions", "elements": [kit.button("x", StopButton(turn="t"))] * 26}], "26 items"),
        ([kit.plan("p", [kit.task_card(str(n), "t", "complete") for n in range(51)])], "51 items"),
    ],
)
def test_a_broken_limit_is_named(blocks: list[kit.Block], fault: str) -> None:
    assert any(fault in found for found in broken_limits(blocks))


def test_a_button_whose_value_would_be_cut_is_refused() -> None:
    with pytest.raises(ValueError, match="longer"):
        kit.button("x", OptionButton(turn="t", call="c" * Limit.BUTTON_VALUE, n=0))


def test_an_empty_cell_shows_a_blank() -> None:
    assert kit.table([["", "a"]])["rows"][0][0]["text"] == " "


@given(st.text(alphabet="&<>ab ", max_size=8_000))
def test_the_fallback_is_escaped_within_its_limit_and_cuts_no_escape(text: str) -> None:
    shown = fallback(text)
    assert len(shown) <= Limit.FALLBACK
    assert "<" not in shown
    assert text.startswith(unescape(shown).removesuffix("…").rstrip())


@pytest.mark.parametrize("before", range(6))
@pytest.mark.parametrize("sign", "&<>")
def test_a_block_of_escaped_text_cuts_no_escape(before: int, sign: str) -> None:
    text = escape("a" * before + sign * Limit.SECTION)
    for shown in (kit.section(text)["text"]["text"], kit.context(text)["elements"][0]["text"]):
        assert len(shown) <= Limit.SECTION
        assert unescape(shown.removesuffix("…")) == "a" * before + sign * shown.count(escape(sign))


def test_a_data_table_is_one_for_slack_and_becomes_a_plain_one() -> None:
    block = kit.data_table(
        [["region", "sum", "share"], ["north", (1204.5, "1,204.50"), ""], ["south"]], " Sales\n2024 "
    )
    check_blocks([block], lambda _: True)
    assert kit.broken_limits([block]) == []
    assert block["caption"] == "Sales 2024"
    assert block["rows"][1][1] == {"type": "raw_number", "value": 1204.5, "text": "1,204.50"}
    assert {len(row) for row in block["rows"]} == {3}
    divider, plain = kit.as_plain_tables([kit.divider(), block])
    assert divider == kit.divider()
    assert plain["type"] == "table"
    assert plain["column_settings"] == [None, {"align": "right"}, None]
    assert [cell["text"] for cell in plain["rows"][1]] == ["north", "1,204.50", " "]
    check_blocks([plain], lambda _: True)


def test_a_data_table_has_the_words_of_a_plain_one() -> None:
    block = kit.data_table([["a"], [(1, "1")]], "Sales")
    assert text_of_blocks([block]) == text_of_blocks(kit.as_plain_tables([block])) == "a\n1"
