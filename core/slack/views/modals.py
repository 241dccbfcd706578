"""The windows that Slack opens over a conversation (modals), and the fields of those that are forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.interactions import FORM_FIELD, Interaction
from core.phrases import say
from core.slack.blocks import Block, Limit
from core.slack.text import clip
from core.values import Language

View = dict[str, Any]
"""A modal, as Slack's JSON has it."""

OPTION_CHARS = 75
"""Characters of an option's text in a form."""


def window(title: str, blocks: Sequence[Block], language: Language) -> View:
    """A modal that is only read."""
    return {
        "type": "modal",
        "title": _title(title),
        "close": _title(say("approval_close", language)),
        "blocks": list(blocks),
    }


def form(
    kind: Interaction, title: str, submit: str, fields: Sequence[Block], language: Language, *, close: str = ""
) -> View:
    """A modal that people submit. `close` is what its other button says, if not the usual word."""
    return {
        "type": "modal",
        "callback_id": kind.id,
        "private_metadata": kind.encode(),
        "title": _title(title),
        "submit": _title(submit),
        "close": _title(close or say("approval_close", language)),
        "blocks": list(fields),
    }


def text_field(
    name: str, label: str, value: str = "", *, longest: int, multiline: bool = True, optional: bool = True
) -> Block:
    """A field of a form for a text. `name` is its id, and that of the block around it."""
    element: dict[str, Any] = {"type": "plain_text_input", "action_id": name, "multiline": multiline}
    element["max_length"] = longest
    if value:
        element["initial_value"] = value[:longest]
    block = input_field(name, label, element)
    return {**block, "optional": True} if optional else block


def input_field(name: str, label: str, element: dict[str, Any]) -> Block:
    """A field of a form with this element."""
    return {"type": "input", "block_id": name, "label": plain(label, Limit.FIELD_LABEL), "element": element}


def field_id(n: int) -> str:
    """The id of a form's field, and of the block around it."""
    return f"{FORM_FIELD}:{n}"


def plain(text: str, longest: int) -> dict[str, Any]:
    """A text without marks, cut to what its place takes."""
    return {"type": "plain_text", "text": clip(text, longest), "emoji": False}


def _title(text: str) -> dict[str, Any]:
    return plain(text, Limit.VIEW_TITLE)
