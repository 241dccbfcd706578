"""What the ack of a submitted form says: it closes, it changes into another window, or it shows what is wrong.

Source: the response actions of view submissions in Slack's documentation of modals.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from core.slack.views.modals import View

_ERRORS: Final = "errors"

Ack = dict[str, Any]
"""The fields of an ack; {} closes the form."""


def replaced_by(view: View) -> Ack:
    """Another window takes the place of the form."""
    return {"response_action": "update", "view": view}


def wrong_in(field: str, text: str) -> Ack:
    """The form stays open, with a sentence under the field `field`."""
    return all_wrong({field: text})


def all_wrong(sentences: Mapping[str, str]) -> Ack:
    """The form stays open, with a sentence under each field: field -> sentence."""
    return {"response_action": _ERRORS, _ERRORS: dict(sentences)}
