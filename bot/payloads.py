"""What Slack sends about a press on a button or about a submitted form, read here and nowhere else.

A payload is untrusted. If a field is missing or has another type, the payload reads as None, as if nobody had pressed.
The button's class in `core/interactions.py` knows the meaning of its value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

TS: Final = re.compile(r"\d{1,20}\.\d{1,10}")
"""The form of Slack's ts."""

_ID_CHARS: Final = 100
_TRIGGER_CHARS: Final = 300


class Press(NamedTuple):
    """One press on a button, or one choice of its menu. What Slack does not say is ""."""

    value: str
    user: str
    ts: str
    """When it was pressed."""
    channel: str
    """Where the message with the button stands. A modal and the app's home have none."""
    shown: str
    """The ts of that message."""
    trigger: str
    """What a modal may be opened with."""
    view: str
    """The id of the modal with the button."""
    view_hash: str


class Submitted(NamedTuple):
    """One submitted form. `view` is all of it, with what people wrote."""

    callback: str
    metadata: str
    user: str
    view_id: str
    view: Mapping[str, Any]


def read_press(body: Mapping[str, Any]) -> Press | None:
    """The press of a `block_actions` payload. Never raises."""
    actions = body.get("actions")
    action = actions[0] if isinstance(actions, list) and actions else None
    if not isinstance(action, Mapping):
        return None
    chosen = action.get("selected_option")
    value = (chosen if isinstance(chosen, Mapping) else action).get("value")
    container, view = _part(body, "container"), _part(body, "view")
    press = Press(
        value=value if isinstance(value, str) else "",
        user=_text(_part(body, "user"), "id"),
        ts=_ts(action, "action_ts"),
        channel=_text(container, "channel_id"),
        shown=_ts(container, "message_ts"),
        trigger=_text(body, "trigger_id", _TRIGGER_CHARS),
        view=_text(view, "id"),
        view_hash=_text(view, "hash"),
    )
    return press if press.value and press.user else None


def read_form(body: Mapping[str, Any]) -> Submitted | None:
    """The form of a `view_submission` payload. Never raises."""
    view = _part(body, "view")
    metadata = view.get("private_metadata")
    form = Submitted(
        callback=_text(view, "callback_id", _TRIGGER_CHARS),
        metadata=metadata if isinstance(metadata, str) else "",
        user=_text(_part(body, "user"), "id"),
        view_id=_text(view, "id"),
        view=view,
    )
    return form if form.user else None


def _part(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = body.get(name)
    return found if isinstance(found, Mapping) else {}


def _text(part: Mapping[str, Any], name: str, most: int = _ID_CHARS) -> str:
    found = part.get(name)
    return found if isinstance(found, str) and len(found) <= most else ""


def _ts(part: Mapping[str, Any], name: str) -> str:
    found = _text(part, name)
    return found if TS.fullmatch(found) else ""
