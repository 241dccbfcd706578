"""Payloads of Enterprise Grid: the workspace is found wherever Slack put it, and an organisation's id is never taken
for one."""

from __future__ import annotations

from typing import Any

import pytest

from bot.connection.organisation import workspace_of

Json = dict[str, Any]
ORG = {"enterprise_id": "E324567", "user_id": "W43567", "is_bot": True, "is_enterprise_install": True}


@pytest.mark.parametrize(
    ("body", "team"),
    [
        ({"team_id": "T1", "authorizations": [{**ORG, "team_id": "T423567"}]}, "T423567"),
        ({"team_id": "T1", "authorizations": [ORG]}, "T1"),
        ({"team_id": "T1", "context_team_id": "T2", "authorizations": [{**ORG, "team_id": None}]}, "T2"),
        ({"team_id": "E324567", "event": {"team": "T3"}, "authorizations": [ORG]}, "T3"),
        ({"team_id": "E324567", "authorizations": [{**ORG, "team_id": "E324567"}]}, ""),
        ({"team": None, "user": {"id": "W1", "team_id": "T9"}, "message": {"team": "T4"}}, "T4"),
        ({"team": None, "user": {"id": "W1", "team_id": "T9"}, "view": {"team_id": "T5"}}, "T5"),
        ({"team": None, "user": {"id": "W1", "team_id": "T9"}, "view": {"app_installed_team_id": "T6"}}, "T6"),
        ({"team": None, "user": {"id": "W1", "team_id": "T9"}}, "T9"),
        ({"team": {"id": "T7"}, "user": {"id": "W1", "team_id": "T9"}}, "T7"),
        ({"authorizations": "none", "event": [], "team": "T1", "user": None}, ""),
        ({}, ""),
    ],
)
def test_the_workspace_of_a_payload(body: Json, team: str) -> None:
    assert workspace_of(body) == team
