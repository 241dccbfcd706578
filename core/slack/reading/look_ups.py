"""How anything is looked up in Slack: what it refuses, and what it does not answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from core.errors import SlackUnreachable, outline
from core.slack.client import LOST, Shortcomings, error_name, refusal, repeating
from core.slack.text import clip

MAX_KEPT: Final = 10_000
"""People or channels that a process remembers."""
MAX_PAGES: Final = 5
KEPT_S: Final = 600.0
"""How long Slack's facts about a person are kept. After this time, a new guest or a left user group is noticed."""
_MAX_NAME = 80
_HIDDEN = {"channel_not_found", "no_permission", "not_in_channel"}
"""Slack's errors for a channel that the bot is not in. Asking again later does not help."""
Found = TypeVar("Found")


class LookUps:
    """The client that may repeat its calls, and what Slack was seen not to do."""

    def __init__(self, client: WebClient) -> None:
        self._repeatable = repeating(client)
        self._shortcomings = Shortcomings()

    def _looked_up(self, method: str, look: Callable[[], Found], *, otherwise: Found) -> Found:
        """What `look` finds; `otherwise` where Slack refuses to tell it. Raises SlackUnreachable."""
        try:
            return look()
        except SlackApiError as error:
            failure = refusal(method, error)
            if isinstance(failure, SlackUnreachable) and error_name(error) not in _HIDDEN:
                raise failure from error
            self._shortcomings.note(method, error)
            return otherwise
        except LOST as error:
            raise SlackUnreachable(f"{method} got no reply: {outline(error)}") from error


def one_line(name: str) -> str:
    """A name that somebody chose, without line ends and signs that are not seen, not too long."""
    return clip(" ".join("".join(letter if letter.isprintable() else " " for letter in name).split()), _MAX_NAME)
