"""Tells people who mention the bot that the Store takes nothing in. It asks no Store: it only writes to Slack."""

from __future__ import annotations

from collections.abc import Callable

from core.commands.registry import language_of
from core.errors import OursToFix
from core.installations.tokens import NotInstalled
from core.phrases import say
from core.slack.text import escape
from core.slack.writing.writer import SlackWriter
from core.spool import Spooled
from core.telemetry import get_logger
from core.values import ThreadKey

log = get_logger(__name__)


class StoreOutage:
    """Whispers, because nothing is there to note that a message was posted."""

    def __init__(self, slack_of: Callable[[str], SlackWriter]) -> None:
        """`slack_of` gives what to write to a workspace with; it raises NotInstalled and StoreUnreachable."""
        self._slack_of = slack_of

    def tell(self, spooled: Spooled, *, is_kept: bool) -> None:
        """Tell the author of a mention or a direct message that it waits. Of other events nobody knows whose they are.

        `is_kept`: the message is on this machine's disk. Raises nothing.
        """
        event = spooled.event
        user, ts, text = str(event.get("user") or ""), str(event.get("ts")), str(event.get("text") or "")
        if not user or user == spooled.bot_user_id or event.get("bot_id") or event.get("subtype"):
            return
        if event.get("type") != "app_mention" and event.get("channel_type") != "im":
            return
        thread = ThreadKey(spooled.team, str(event.get("channel")), str(event.get("thread_ts") or ts))
        log.error("store_takes_nothing", thread=thread.id, is_kept=is_kept)
        try:
            slack = self._slack_of(spooled.team)
            words = say("store_away_kept" if is_kept else "store_away", language_of(text, slack.user_language(user)))
            slack.whisper(thread, user, escape(words), in_channel=thread.root_ts == ts)
        except (NotInstalled, OursToFix) as error:
            log.warning("waiting_not_told", thread=thread.id, error=error)
