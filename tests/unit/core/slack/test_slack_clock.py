"""Slack tells what time it is, whatever the clocks of our machines say."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.web import SlackResponse

from core.errors import SlackUnreachable
from core.slack.clock import slack_time

DATED = {"Content-Type": "application/json", "Date": "Tue, 01 Dec 2026 09:55:01 GMT"}
THEN = datetime(2026, 12, 1, 9, 55, 1, tzinfo=UTC)


class Answers(WebClient):
    """Slack with these headers. It refuses the token, or is away, if that is said."""

    def __init__(self, headers: dict[str, str], *, refuses: bool = False, away: bool = False) -> None:
        super().__init__("xoxb-1")
        self._answer = SlackResponse(
            client=self, http_verb="POST", api_url="", req_args={}, data={}, headers=headers, status_code=200
        )
        self._refuses, self._away = refuses, away

    def auth_test(self, **_: object) -> SlackResponse:
        if self._away:
            raise ConnectionRefusedError
        if self._refuses:
            raise SlackApiError("invalid_auth", self._answer)
        return self._answer


@pytest.mark.parametrize("refuses", [False, True])
def test_the_date_of_any_reply_is_slacks_time(*, refuses: bool) -> None:
    assert slack_time(Answers(DATED, refuses=refuses)) == THEN
    assert slack_time(Answers({name.lower(): value for name, value in DATED.items()}, refuses=refuses)) == THEN


@pytest.mark.parametrize("headers", [{}, {"Date": "soon"}])
def test_a_reply_without_a_date_tells_no_time(headers: dict[str, str]) -> None:
    with pytest.raises(SlackUnreachable, match="no date"):
        slack_time(Answers(headers))


def test_a_slack_that_is_away_tells_no_time() -> None:
    with pytest.raises(SlackUnreachable, match="does not say"):
        slack_time(Answers(DATED, away=True))
