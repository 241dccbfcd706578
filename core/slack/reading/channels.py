"""Channels as Slack knows them: their names, who is in them, who may read them."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from itertools import islice
from typing import Any, Literal

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from core.slack.client import LOST
from core.slack.reading.look_ups import KEPT_S, MAX_KEPT, MAX_PAGES, one_line
from core.slack.reading.people import People, standing_in, teams_of
from core.telemetry import get_logger

log = get_logger(__name__)

_SHARED_S = 60.0
Outsiders = Literal["none", "some", "unknown"]


class Channels(People):
    """Looks channels up. If Slack does not give a name, the id is used instead."""

    def __init__(self, client: WebClient) -> None:
        super().__init__(client)
        self._outsiders: dict[str, tuple[float, Outsiders]] = {}
        self._shared: dict[str, tuple[float, frozenset[str]]] = {}
        self._channel_names: dict[str, str] = {}

    def outsiders_in(self, channel: str, own: Collection[str]) -> Outsiders:
        """Whether guests, or people of other workspaces, are in a channel; `own` as in `standing`.

        "unknown" when Slack refuses to say it, or so many are there that it takes too long. Raises SlackUnreachable.
        """
        at, known = self._outsiders.get(channel, (-KEPT_S, "unknown"))
        if time.monotonic() - at < KEPT_S:
            return known
        refused: Outsiders = "unknown"
        found = self._looked_up(
            "conversations.members", lambda: self._look_for_outsiders(channel, own), otherwise=refused
        )
        self._outsiders[channel] = (time.monotonic(), found)
        return found

    def _look_for_outsiders(self, channel: str, own: Collection[str]) -> Outsiders:
        about: dict[str, Any] = self._repeatable.conversations_info(channel=channel)["channel"]
        if about.get("is_ext_shared") or about.get("is_pending_ext_shared"):
            return "some"
        if about.get("is_im"):
            return "none" if self.standing(str(about.get("user")), own) in ("member", "admin") else "some"
        members: set[str] = set()
        for page in islice(self._repeatable.conversations_members(channel=channel, limit=1_000), MAX_PAGES):
            members |= {str(user) for user in page.get("members") or ()}
        for page in islice(self._repeatable.users_list(limit=1_000), MAX_PAGES):
            for user in page.get("members") or ():
                if user.get("id") not in members:
                    continue
                members.discard(user["id"])
                is_foreign = user.get("team_id") and not teams_of(user) & set(own)
                if not user.get("is_bot") and (is_foreign or standing_in(user) in ("guest", "stranger")):
                    return "some"
        return "unknown" if members else "none"

    def is_public(self, channel: str) -> bool:
        """Whether every member of the workspace can read a channel; what Slack does not tell counts as no.

        Raises SlackUnreachable.
        """

        def look() -> bool:
            about: dict[str, Any] = self._repeatable.conversations_info(channel=channel)["channel"]
            return not any(about.get(name) for name in ("is_im", "is_mpim", "is_group", "is_private"))

        return self._looked_up("conversations.info", look, otherwise=False)

    def may_read(self, channel: str, user_id: str, own: Collection[str]) -> bool:
        """Whether a person can read a channel: people in it, and for a public channel every member of the workspace. If
        Slack does not say, the answer is no. Raises SlackUnreachable.
        """

        def look() -> bool:
            about: dict[str, Any] = self._repeatable.conversations_info(channel=channel)["channel"]
            if about.get("is_im"):
                return bool(about.get("user") == user_id)
            is_public = not (about.get("is_private") or about.get("is_mpim") or about.get("is_group"))
            if is_public and self.standing(user_id, own) in ("member", "admin"):
                return True
            pages = islice(self._repeatable.conversations_members(channel=channel, limit=1_000), MAX_PAGES)
            members = [frozenset(page.get("members") or ()) for page in pages]
            if any(user_id in page for page in members):
                return True
            # of a channel with more members it is asked which channels the person shares with the bot
            return len(members) == MAX_PAGES and channel in (self.shared_channels(user_id) or ())

        return self._looked_up("conversations.info", look, otherwise=False)

    def shared_channels(self, user_id: str) -> frozenset[str] | None:
        """The channels in which both a person and the bot are, without direct messages; None when Slack does not say.

        What Slack said counts for a minute.
        """
        at, known = self._shared.get(user_id, (-_SHARED_S, frozenset()))
        if time.monotonic() - at < _SHARED_S:
            return known
        try:
            found = self._conversations() & self._conversations(user=user_id)
        except SlackApiError as error:
            self._shortcomings.note("users.conversations", error)
            return None
        except LOST as error:
            log.info("channels_unknown", error=error)
            return None
        if len(self._shared) >= MAX_KEPT:
            self._shared.clear()
        self._shared[user_id] = (time.monotonic(), found)
        return found

    def _conversations(self, **of: str) -> frozenset[str]:
        kinds = "public_channel,private_channel,mpim"
        pages = self._repeatable.users_conversations(types=kinds, exclude_archived=True, limit=1_000, **of)
        found = [channel for page in islice(pages, MAX_PAGES) for channel in page.get("channels") or ()]
        for channel in found:  # a look-up for each name would use up the budget of conversations.info
            self._keep_name(str(channel["id"]), channel)
        return frozenset(str(channel["id"]) for channel in found)

    def channel_name(self, channel_id: str) -> str:
        """The name of a channel with its "#", cached; the id when Slack gives none."""
        if (known := self._channel_names.get(channel_id)) is not None:
            return known
        try:
            about: dict[str, Any] = self._repeatable.conversations_info(channel=channel_id)["channel"]
        except SlackApiError as error:
            self._shortcomings.note("conversations.info", error)
            return channel_id
        except LOST as error:
            log.info("channel_unknown", error=error)
            return channel_id
        return self._keep_name(channel_id, about)

    def _keep_name(self, channel_id: str, about: Mapping[str, Any]) -> str:
        name = one_line(str(about.get("name") or ""))
        shown = f"#{name}" if name else channel_id
        if len(self._channel_names) >= MAX_KEPT:
            self._channel_names.clear()
        self._channel_names[channel_id] = shown
        return shown
