"""The limits of Block Kit, one case each side of the line."""

from __future__ import annotations

from typing import Any

import pytest

from playground.blocks import check_blocks, check_view, filled
from playground.errors import SlackError

Block = dict[str, Any]


def plain(text: str) -> Block:
    return {"type": "plain_text", "text": text}


def mrkdwn(text: str) -> Block:
    return {"type": "mrkdwn", "text": text}


def section(text: str) -> Block:
    return {"type": "section", "text": mrkdwn(text)}


def button(**more: Any) -> Block:
    return {"type": "button", "action_id": "a", "text": plain("Go"), **more}


def actions(*elements: Block) -> Block:
    return {"type": "actions", "elements": list(elements)}


def rich(text: str) -> Block:
    return {
        "type": "rich_text",
        "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": text}]}],
    }


def cells(*texts: str) -> list[Block]:
    return [{"type": "raw_text", "text": each} for each in texts]


def number(value: float) -> Block:
    return {"type": "raw_number", "value": value, "text": str(value)}


def task(**more: Any) -> Block:
    return {"type": "task_card", "task_id": "1", "title": "Read", "status": "complete", **more}


def feedback(**more: Any) -> Block:
    choice = {"text": plain("Good"), "value": "up"}
    return {"type": "feedback_buttons", "action_id": "f", "positive_button": choice, "negative_button": choice, **more}


def data_table(**more: Any) -> Block:
    return {"type": "data_table", "caption": "Sales", "rows": [cells("a", "b"), [*cells("x"), number(1)]], **more}


def options(count: int) -> list[Block]:
    return [{"text": plain(str(each)), "value": str(each)} for each in range(count)]


def select(count: int) -> Block:
    return {"type": "static_select", "action_id": "s", "options": options(count)}


def bars(*series: tuple[str, list[str]]) -> dict[str, Any]:
    """A chart of bars over the categories a and b."""
    drawn = [{"name": name, "data": [{"label": each, "value": 1} for each in labels]} for name, labels in series]
    chart = {"type": "bar", "series": drawn, "axis_config": {"categories": ["a", "b"]}}
    return {"type": "data_visualization", "title": "Sales", "chart": chart}


FITS = {
    "no blocks": [],
    "two charts": [bars(("2026", ["a", "b"]))] * 2,
    "a choice made of the options": [actions({**select(2), "initial_option": options(2)[1]})],
    "50 blocks": [{"type": "divider"}] * 50,
    "section of 3000": [section("x" * 3000)],
    "section with fields only": [{"type": "section", "fields": [mrkdwn("a")] * 10}],
    "section with accessory": [{**section("a"), "accessory": button()}],
    "header of 150": [{"type": "header", "text": plain("x" * 150)}],
    "context of 10": [{"type": "context", "elements": [mrkdwn("a")] * 10}],
    "25 buttons": [actions(*(button(action_id=str(n)) for n in range(25)))],
    "button value of 2000": [actions(button(value="v" * 2000))],
    "select of 100": [actions(select(100))],
    "markdown of 12000": [{"type": "markdown", "text": "x" * 12_000}],
    "table of 100 by 20": [{"type": "table", "rows": [cells(*"x" * 20)] * 100}],
    "table with settings": [
        {"type": "table", "rows": [cells("a", "b")], "column_settings": [None, {"align": "right"}]}
    ],
    "data_table of 101 rows": [data_table(rows=[cells("a")] * 101)],
    "two data_tables": [data_table(), data_table()],
    "plan of 50": [{"type": "plan", "title": "Plan", "tasks": [task(task_id=str(n)) for n in range(50)]}],
    "task with rich details": [task(details=rich("ok"), output=rich("done"))],
    "feedback": [{"type": "context_actions", "elements": [feedback()]}],
    "alert": [{"type": "alert", "level": "warning", "text": mrkdwn("Careful")}],
    "card": [{"type": "card", "title": plain("T"), "body": mrkdwn("x" * 200)}],
    "image": [{"type": "image", "image_url": "https://example.com/a.png", "alt_text": "a"}],
    "slack_file": [{"type": "image", "slack_file": {"id": "F0READY001"}, "alt_text": "a"}],
    "chart": [
        {
            "type": "data_visualization",
            "title": "Share",
            "chart": {"type": "pie", "segments": [{"label": "a", "value": 1}, {"label": "b", "value": 2}]},
        }
    ],
    "bars": [bars(("2025", ["a", "b"]), ("2026", ["a", "b"]))],
    "container": [{"type": "container", "title": plain("More"), "child_blocks": [section("a")]}],
}


BREAKS = {
    "two series of one name": (
        [bars(("2025", ["a", "b"]), ("2025", ["a", "b"]))],
        "series names must be unique: 2025 [json-pointer:/blocks/0/chart/series/1/name]",
    ),
    "a series without a category": (
        [bars(("2025", ["a", "b"]), ("2026", ["a"]))],
        "data must have one point for each category [json-pointer:/blocks/0/chart/series/1/data]",
    ),
    "51 blocks": ([{"type": "divider"}] * 51, "no more than 50 items allowed [json-pointer:/blocks]"),
    "not an object": (["text"], "must be an object [json-pointer:/blocks/0]"),
    "no type": ([{"text": "a"}], "missing required field: type [json-pointer:/blocks/0]"),
    "unknown type": ([{"type": "hologram"}], "unsupported type: hologram [json-pointer:/blocks/0/type]"),
    "unknown field": (
        [{**section("a"), "colour": "red"}],
        "invalid additional property: colour [json-pointer:/blocks/0]",
    ),
    "section of 3001": (
        [section("x" * 3001)],
        "must be less than 3001 characters [json-pointer:/blocks/0/text/text]",
    ),
    "empty section": ([section("")], "must be more than 0 characters [json-pointer:/blocks/0/text/text]"),
    "section without text": ([{"type": "section"}], "must provide exactly one of text [json-pointer:/blocks/0]"),
    "11 fields": (
        [{"type": "section", "fields": [mrkdwn("a")] * 11}],
        "no more than 10 items allowed [json-pointer:/blocks/0/fields]",
    ),
    "field of 2001": (
        [{"type": "section", "fields": [mrkdwn("a" * 2001)]}],
        "must be less than 2001 characters [json-pointer:/blocks/0/fields/0/text]",
    ),
    "header of 151": (
        [{"type": "header", "text": plain("x" * 151)}],
        "must be less than 151 characters [json-pointer:/blocks/0/text/text]",
    ),
    "header in mrkdwn": (
        [{"type": "header", "text": mrkdwn("x")}],
        "unsupported type: mrkdwn [json-pointer:/blocks/0/text/type]",
    ),
    "context of 11": (
        [{"type": "context", "elements": [mrkdwn("a")] * 11}],
        "no more than 10 items allowed [json-pointer:/blocks/0/elements]",
    ),
    "26 buttons": (
        [actions(*(button(action_id=str(n)) for n in range(26)))],
        "no more than 25 items allowed [json-pointer:/blocks/0/elements]",
    ),
    "button text of 76": (
        [actions(button(text=plain("x" * 76)))],
        "must be less than 76 characters [json-pointer:/blocks/0/elements/0/text/text]",
    ),
    "button value of 2001": (
        [actions(button(value="v" * 2001))],
        "must be less than 2001 characters [json-pointer:/blocks/0/elements/0/value]",
    ),
    "button style": (
        [actions(button(style="loud"))],
        "value must be one of primary, danger [json-pointer:/blocks/0/elements/0/style]",
    ),
    "select of 101": (
        [actions(select(101))],
        "no more than 100 items allowed [json-pointer:/blocks/0/elements/0/options]",
    ),
    "same action twice": (
        [actions(button(), button())],
        "`action_id` a already exists for block_id [json-pointer:/blocks/0/elements]",
    ),
    "three charts": ([bars(("2026", ["a", "b"]))] * 3, "no more than 2 charts allowed [json-pointer:/blocks]"),
    "a choice that is no option": (
        [actions({**select(2), "initial_option": options(3)[2]})],
        "initial option 0 must be one of the options [json-pointer:/blocks/0/elements/0]",
    ),
    "choices that are no options": (
        [actions({**select(2), "type": "checkboxes", "initial_options": [options(1)[0], options(3)[2]]})],
        "initial option 1 must be one of the options [json-pointer:/blocks/0/elements/0]",
    ),
    "same block_id twice": (
        [{"type": "divider", "block_id": "d"}] * 2,
        "`block_id` must be unique: d [json-pointer:/blocks/0/block_id]",
    ),
    "markdown of 12001": (
        [{"type": "markdown", "text": "x" * 12_001}],
        "must be less than 12001 characters [json-pointer:/blocks/0/text]",
    ),
    "table of 101 rows": (
        [{"type": "table", "rows": [cells("a")] * 101}],
        "no more than 100 items allowed [json-pointer:/blocks/0/rows]",
    ),
    "table of 21 columns": (
        [{"type": "table", "rows": [cells(*"x" * 21)]}],
        "no more than 20 items allowed [json-pointer:/blocks/0/rows/0]",
    ),
    "empty cell": (
        [{"type": "table", "rows": [cells("")]}],
        "must be more than 0 characters [json-pointer:/blocks/0/rows/0/0/text]",
    ),
    "table of 10001 characters": (
        [{"type": "table", "rows": [cells("x" * 5000, "y" * 5001)]}],
        "must be less than 10001 characters over all cells [json-pointer:/blocks/0/rows]",
    ),
    "data_table without caption": (
        [{"type": "data_table", "rows": [cells("a"), cells("b")]}],
        "missing required field: caption [json-pointer:/blocks/0]",
    ),
    "data_tables with too many characters together": (
        [data_table(rows=[cells("a"), cells("y" * 5000)])] * 2 + [data_table()],
        "must be less than 10001 characters over all data tables [json-pointer:/blocks]",
    ),
    "data_table of one row": (
        [data_table(rows=[cells("a")])],
        "no less than 2 items allowed [json-pointer:/blocks/0/rows]",
    ),
    "ragged data_table": (
        [data_table(rows=[cells("a", "b"), cells("x")])],
        "all rows must have the same number of cells [json-pointer:/blocks/0/rows]",
    ),
    "rich header cell": (
        [data_table(rows=[[rich("a")], cells("x")])],
        "a header cell cannot be rich_text [json-pointer:/blocks/0/rows/0/0]",
    ),
    "plan of 51": (
        [{"type": "plan", "title": "Plan", "tasks": [task()] * 51}],
        "no more than 50 items allowed [json-pointer:/blocks/0/tasks]",
    ),
    "task without status": (
        [{"type": "task_card", "task_id": "1", "title": "Read"}],
        "missing required field: status [json-pointer:/blocks/0]",
    ),
    "task with plain details": (
        [task(details="text")],
        "must be an object [json-pointer:/blocks/0/details]",
    ),
    "six feedback elements": (
        [{"type": "context_actions", "elements": [feedback()] * 6}],
        "no more than 5 items allowed [json-pointer:/blocks/0/elements]",
    ),
    "alert level": (
        [{"type": "alert", "level": "loud", "text": mrkdwn("a")}],
        "value must be one of default, info, warning, error, success [json-pointer:/blocks/0/level]",
    ),
    "card body of 201": (
        [{"type": "card", "body": mrkdwn("x" * 201)}],
        "must be less than 201 characters [json-pointer:/blocks/0/body/text]",
    ),
    "image from nowhere": (
        [{"type": "image", "alt_text": "a"}],
        "must provide exactly one of image_url, slack_file [json-pointer:/blocks/0]",
    ),
    "unready slack_file": (
        [{"type": "image", "slack_file": {"id": "F0SCANNING"}, "alt_text": "a"}],
        "invalid slack file [json-pointer:/blocks/0/slack_file]",
    ),
}


@pytest.mark.parametrize("blocks", FITS.values(), ids=FITS.keys())
def test_what_fits_passes(blocks: list[Block]) -> None:
    check_blocks(blocks, lambda file: file == "F0READY001")


@pytest.mark.parametrize(("blocks", "complaint"), BREAKS.values(), ids=BREAKS.keys())
def test_what_breaks_a_limit_is_refused_with_the_place(blocks: list[Block], complaint: str) -> None:
    with pytest.raises(SlackError) as refused:
        check_blocks(blocks, lambda file: file == "F0READY001")
    assert refused.value.error == "invalid_blocks"
    assert complaint in refused.value.extra["errors"]
    assert f"[ERROR] {complaint}" in refused.value.extra["response_metadata"]["messages"]


@pytest.mark.parametrize(
    ("blocks", "error"),
    [
        ("text", "invalid_blocks_format"),
        ({"type": "section"}, "invalid_blocks_format"),
        ([{"type": "markdown", "text": "x" * 6_001}] * 2, "msg_blocks_too_long"),
        ([section("x" * 2_650)] * 5, "msg_blocks_too_long"),
        ([{"type": "table", "rows": [cells("a")]}] * 2, "invalid_attachments"),
    ],
)
def test_the_whole_message_has_limits_too(blocks: Any, error: str) -> None:
    with pytest.raises(SlackError, match=error):
        check_blocks(blocks, lambda _file: True)


def test_table_cells_do_not_count_as_message_text() -> None:
    check_blocks([section("x" * 3000)] * 4 + [{"type": "table", "rows": [cells("x" * 9_000)]}], lambda _file: True)


def test_missing_ids_are_made_up_and_given_ones_stay() -> None:
    first, second = filled([actions({"type": "button", "text": plain("Go")}), {"type": "divider", "block_id": "mine"}])
    assert first["block_id"]
    assert first["elements"][0]["action_id"]
    assert second["block_id"] == "mine"


def modal(**more: Any) -> Block:
    return {"type": "modal", "title": plain("Edit"), "blocks": [section("a")], **more}


def field(**more: Any) -> Block:
    return {
        "type": "input",
        "label": plain("Code"),
        "element": {"type": "plain_text_input", "action_id": "code", **more},
    }


@pytest.mark.parametrize(
    ("view", "complaint"),
    [
        (modal(title=plain("x" * 25)), "must be less than 25 characters [json-pointer:/view/title/text]"),
        (modal(private_metadata="x" * 3001), "must be less than 3001 characters [json-pointer:/view/private_metadata]"),
        (modal(blocks=[field()]), "missing required field: submit [json-pointer:/view]"),
        ({"type": "modal", "title": plain("a")}, "missing required field: blocks [json-pointer:/view]"),
        ({"type": "modal", "blocks": []}, "missing required field: title [json-pointer:/view]"),
        (
            modal(blocks=[{"type": "markdown", "text": "a"}]),
            "unsupported type: markdown [json-pointer:/view/blocks/0/type]",
        ),
        (
            modal(submit=plain("Save"), blocks=[field(initial_value="x" * 3001)]),
            "must be less than 3001 characters [json-pointer:/view/blocks/0/element/initial_value]",
        ),
    ],
)
def test_a_view_beyond_its_limits_is_refused(view: Block, complaint: str) -> None:
    with pytest.raises(SlackError) as refused:
        check_view(view, lambda _file: True)
    assert refused.value.error == "invalid_arguments"
    assert complaint in refused.value.extra["errors"]


def test_a_view_of_more_than_250_kb_is_too_large() -> None:
    with pytest.raises(SlackError, match="view_too_large"):
        check_view(modal(blocks=[section("x" * 2_900)] * 90), lambda _file: True)
