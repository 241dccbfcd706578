"""What time it is by Slack's clock. A clock of ours may jump: the machine was paused, or its battery is dead."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from core.errors import SlackUnreachable, outline
from core.slack.client import LOST


def slack_time(client: WebClient) -> datetime:
    """The date of Slack's reply, to the second. Raises SlackUnreachable when there is none.

    It is there as well when Slack refuses the token.
    """
    try:
        headers = client.auth_test().headers
    except SlackApiError as error:
        headers = error.response.headers
    except LOST as error:
        raise SlackUnreachable(f"Slack does not say what time it is: {outline(error)}") from error
    date = next((value for name, value in headers.items() if name.lower() == "date"), "")
    try:
        return parsedate_to_datetime(date).astimezone(UTC)
    except (TypeError, ValueError) as error:
        raise SlackUnreachable("Slack's reply has no date") from error
