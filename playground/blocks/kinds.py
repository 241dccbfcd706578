"""The kinds of block, each with its rule, and the surfaces that take them."""

from __future__ import annotations

from playground.blocks import elements as el
from playground.blocks.charts import one_value_each
from playground.blocks.rich_text import rich_text
from playground.blocks.rules import Rule, all_of, anything, boolean, by_type, items, number, one_of, shape, string
from playground.blocks.tables import data_table, table

BLOCK_ID = {"block_id": string(255, 0)}
TASK_STATUS = one_of("pending", "in_progress", "complete", "error")

section = all_of(
    lambda value, pointer: el.exactly_one("text")(value, pointer) if not value.get("fields") else iter(()),
    shape(
        {},
        {
            "text": el.text(3000),
            "fields": items(el.text(2000), 10),
            "accessory": by_type(el.ACCESSORIES),
            "expand": boolean,
            **BLOCK_ID,
        },
    ),
)
image = all_of(
    el.exactly_one("image_url", "slack_file"),
    shape({"alt_text": string(2000)}, {**el.image_source, "title": el.plain(2000), **BLOCK_ID}),
)
context_element = by_type(
    {
        "image": el.image,
        "plain_text": shape({"text": string(3000)}, {"emoji": boolean}),
        "mrkdwn": shape({"text": string(3000)}, {"verbatim": boolean}),
    }
)
_source = shape({"url": string(3000), "text": string(255)})
task_card = shape(
    {"task_id": string(255), "title": string(256), "status": TASK_STATUS},
    {
        "details": by_type({"rich_text": rich_text}),
        "output": by_type({"rich_text": rich_text}),
        "sources": items(_source, 50, 0),
        **BLOCK_ID,
    },
)
plan = shape({"title": string(256)}, {"tasks": items(by_type({"task_card": task_card}), 50, 0), **BLOCK_ID})
input_block = shape(
    {"label": el.plain(2000), "element": by_type(el.INPUTS)},
    {"hint": el.plain(2000), "optional": boolean, "dispatch_action": boolean, **BLOCK_ID},
)
alert = shape({"text": el.text(3000)}, {"level": one_of("default", "info", "warning", "error", "success"), **BLOCK_ID})
card = shape(
    {},
    {
        "hero_image": el.image,
        "icon": el.image,
        "slack_icon": anything,
        "title": el.text(150),
        "subtitle": el.text(150),
        "body": el.text(200),
        "subtext": el.text(200),
        "actions": items(by_type({"button": el.button}), 5),
        **BLOCK_ID,
    },
)
_point = shape({"label": string(20), "value": number(-1e308, 1e308)})
_slice = shape({"label": string(20), "value": number(1e-300, 1e308)})
_axes = shape({"categories": items(string(20), 20)}, {"x_label": string(50), "y_label": string(50)})
_series = items(shape({"name": string(20), "data": items(_point, 20)}), 6)
_drawn = all_of(shape({"series": _series, "axis_config": _axes}), one_value_each)
_chart = by_type({"pie": shape({"segments": items(_slice, 6)}), "bar": _drawn, "line": _drawn, "area": _drawn})
data_visualization = shape({"title": string(50), "chart": _chart}, BLOCK_ID)

EVERYWHERE: dict[str, Rule] = {
    "section": section,
    "divider": shape({}, BLOCK_ID),
    "header": shape({"text": el.plain(150)}, {"level": number(1, 3, whole=True), **BLOCK_ID}),
    "context": shape({"elements": items(context_element, 10)}, BLOCK_ID),
    "actions": shape({"elements": items(by_type(el.ACTIONS), 25)}, BLOCK_ID),
    "image": image,
    "input": input_block,
    "rich_text": rich_text,
    "alert": alert,
}
_leaves: dict[str, Rule] = {
    **EVERYWHERE,
    "markdown": shape({"text": string(12_000)}, BLOCK_ID),
    "table": table,
    "data_table": data_table,
    "data_visualization": data_visualization,
    "task_card": task_card,
    "plan": plan,
    "context_actions": shape({"elements": items(by_type(el.CONTEXT_ACTIONS), 5)}, BLOCK_ID),
    "card": card,
}
_container = shape(
    {"child_blocks": items(by_type(_leaves), 10)},
    {
        "title": el.text(150),
        "subtitle": el.text(150),
        "icon": el.image,
        "width": one_of("narrow", "standard", "wide", "full"),
        "is_collapsible": boolean,
        "default_collapsed": boolean,
        **BLOCK_ID,
    },
)
MESSAGE: dict[str, Rule] = {
    **_leaves,
    "carousel": shape({"elements": items(by_type({"card": card}), 10)}, BLOCK_ID),
    "container": _container,
}
