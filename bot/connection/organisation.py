"""Finds the workspace of a payload, if Enterprise Grid leaves it out of the field that Bolt reads.

An app that is installed for a whole organisation gets events whose `authorizations` name the organisation and no
workspace, and presses whose `team` is null. Then the workspace is in another field. `user.team_id` is the person's home
workspace. They may write in another workspace, so this field comes last.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

_TEAM: Final = re.compile(r"T[A-Z0-9]{1,50}")


def workspace_of(body: Mapping[str, Any]) -> str:
    """The id of the workspace (T…) that a payload is about; "" when it names none. Never raises."""
    event, message, view = (_part(body, name) for name in ("event", "message", "view"))
    authorizations = body.get("authorizations")
    first = authorizations[0] if isinstance(authorizations, list) and authorizations else None
    found = (
        first.get("team_id") if isinstance(first, Mapping) else None,
        _part(body, "team").get("id"),
        view.get("app_installed_team_id"),
        body.get("context_team_id"),
        message.get("team"),
        event.get("team"),
        event.get("team_id"),
        view.get("team_id"),
        body.get("team_id"),
        _part(body, "user").get("team_id"),
    )
    return next((each for each in found if isinstance(each, str) and _TEAM.fullmatch(each)), "")


def _part(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = body.get(name)
    return part if isinstance(part, Mapping) else {}
