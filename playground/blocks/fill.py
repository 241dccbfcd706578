"""The ids that Slack makes up when an app leaves them out."""

from __future__ import annotations

from typing import Any

from playground.blocks.elements import ACCESSORIES, CONTEXT_ACTIONS, INPUTS
from playground.identity import new_id

_INTERACTIVE = {*ACCESSORIES, *CONTEXT_ACTIONS, *INPUTS} - {"image"}


def filled(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Checked blocks as Slack keeps them: each with a block_id, each interactive element with an action_id."""
    return [{**_with_actions(block), "block_id": block.get("block_id") or new_id("", 5)} for block in blocks]


def _with_actions(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_actions(each) for each in value]
    if not isinstance(value, dict):
        return value
    copy = {name: _with_actions(each) for name, each in value.items()}
    if value.get("type") in _INTERACTIVE and not value.get("action_id"):
        copy["action_id"] = new_id("", 5)
    return copy
