"""rich_text: sections, lists, quotes and preformatted text."""

from __future__ import annotations

from playground.blocks.rules import anything, boolean, by_type, items, number, one_of, shape, string

MANY = 1_000
_style = shape(
    {},
    dict.fromkeys(
        ("bold", "italic", "strike", "code", "underline", "highlight", "client_highlight", "unlink"), boolean
    ),
)
_inline = by_type(
    {
        "text": shape({"text": string(40_000)}, {"style": _style}),
        "link": shape({"url": string(3000)}, {"text": string(40_000), "style": _style, "unsafe": boolean}),
        "user": shape({"user_id": string(255)}, {"style": _style}),
        "channel": shape({"channel_id": string(255)}, {"style": _style}),
        "usergroup": shape({"usergroup_id": string(255)}, {"style": _style}),
        "team": shape({"team_id": string(255)}, {"style": _style}),
        "emoji": shape({"name": string(255)}, {"unicode": string(255), "skin_tone": anything, "style": _style}),
        "broadcast": shape({"range": one_of("here", "channel", "everyone")}, {"style": _style}),
        "color": shape({"value": string(30)}, {"style": _style}),
        "date": shape(
            {"timestamp": number(0, 10**11, whole=True), "format": string(255)},
            {"url": string(3000), "fallback": string(255), "style": _style},
        ),
    }
)
_border = {"border": number(0, 1, whole=True)}
section = shape({"elements": items(_inline, MANY, 0)})
_parts = by_type(
    {
        "rich_text_section": section,
        "rich_text_preformatted": shape({"elements": items(_inline, MANY, 0)}, {**_border, "language": string(50)}),
        "rich_text_quote": shape({"elements": items(_inline, MANY, 0)}, _border),
        "rich_text_list": shape(
            {"elements": items(by_type({"rich_text_section": section}), MANY), "style": one_of("bullet", "ordered")},
            {**_border, "indent": number(0, 8, whole=True), "offset": number(0, 10_000, whole=True)},
        ),
    }
)
rich_text = shape({"elements": items(_parts, MANY)}, {"block_id": string(255, 0)})
