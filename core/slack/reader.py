"""What is read from Slack: names, files, threads. A look-up that Slack refuses gives a default instead of an error."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, TypeVar, get_args

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from core.errors import SlackBusy, SlackUnreachable, outline
from core.slack.client import (
    LOST,
    Shortcomings,
    error_name,
    ours,
    passes_by_itself,
    rates_of,
    refusal,
    repeating,
)
from core.slack.files import file_refs
from core.slack.text import clip
from core.telemetry import get_logger
from core.values import FileRef, Language, Standing, ThreadKey

log = get_logger(__name__)

_MAX_PEOPLE = 10_000
_MAX_PAGES = 5
_MAX_NAME = 80
STANDING_S = 600.0
"""How long Slack's facts about a person are kept. After this time, a new guest or a left user group is noticed."""
_SHARED_S = 60.0
Found = TypeVar("Found")
Outsiders = Literal["none", "some", "unknown"]
_HIDDEN = {"channel_not_found", "not_in_channel"}
"""Slack's errors for a channel that the bot is not in. Asking again later does not help."""
_STRANGERS = {"user_not_found", "user_not_visible"}
"""Slack shows the people of its own workspace. Those that it does not show belong to another one."""


@dataclass(frozen=True, slots=True)
class _Person:
    name: str
    language: Language
    standing: Standing
    team: str = ""
    organisation: str = ""
    looked_at: float = 0.0


class SlackReader:
    """Looks things up. If Slack does not give a name, the id is used instead. A file that Slack does not give is left
    out."""

    def __init__(self, client: WebClient) -> None:
        self._repeatable = repeating(client)
        self._shortcomings = Shortcomings()
        self._people: dict[str, _Person] = {}
        self._people_lock = threading.Lock()
        self._outsiders: dict[str, tuple[float, Outsiders]] = {}
        self._groups: dict[str, tuple[float, frozenset[str]]] = {}
        self._shared: dict[str, tuple[float, frozenset[str]]] = {}
        self._channel_names: dict[str, str] = {}
        self._url = ""

    def user_name(self, user_id: str) -> str:
        """The display name of a person, cached; the id when Slack gives none."""
        return self._person(user_id).name

    def user_language(self, user_id: str) -> Language:
        """The language that a person has set in Slack, if it is one of ours; for when they wrote no text."""
        return self._person(user_id).language

    def standing(self, user_id: str, own: Collection[str]) -> Standing:
        """What Slack says of a person; `own` are ids of the workspaces and organisations that are no strangers.

        A Slack that refuses to look people up at all (users:read) makes everybody a member. Raises SlackUnreachable.
        """
        person = self._person(user_id, newer_than=time.monotonic() - STANDING_S)
        if not person.standing:
            raise SlackUnreachable("users.info got no reply")
        is_foreign = person.team and not {person.team, person.organisation} & set(own)
        return "stranger" if is_foreign else person.standing

    def has_left(self, user_id: str) -> bool:
        """Whether a person's account in the workspace is closed. Raises SlackUnreachable."""

        def look() -> bool:
            try:
                return bool(self._repeatable.users_info(user=user_id)["user"].get("deleted"))
            except SlackApiError as error:
                if error_name(error) in _STRANGERS:
                    return True
                raise

        return self._looked_up("users.info", look, otherwise=False)

    def time_zone(self, user_id: str) -> str:
        """The time zone that a person has set in Slack; "UTC" when Slack gives none."""
        try:
            user: dict[str, Any] = self._repeatable.users_info(user=user_id)["user"]
            return str(user.get("tz") or "UTC")
        except SlackApiError as error:
            self._shortcomings.note("users.info", error)
        except LOST as error:
            log.info("no_time_zone", error=error)
        return "UTC"

    def outsiders_in(self, channel: str, own: Collection[str]) -> Outsiders:
        """Whether guests, or people of other workspaces, are in a channel; `own` as in `standing`.

        "unknown" when Slack refuses to say it, or so many are there that it takes too long. Raises SlackUnreachable.
        """
        at, known = self._outsiders.get(channel, (-STANDING_S, "unknown"))
        if time.monotonic() - at < STANDING_S:
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
        for page in islice(self._repeatable.conversations_members(channel=channel, limit=1_000), _MAX_PAGES):
            members |= {str(user) for user in page.get("members") or ()}
        for page in islice(self._repeatable.users_list(limit=1_000), _MAX_PAGES):
            for user in page.get("members") or ():
                if user.get("id") not in members:
                    continue
                members.discard(user["id"])
                is_foreign = user.get("team_id") and not _teams_of(user) & set(own)
                if not user.get("is_bot") and (is_foreign or _standing_in(user) in ("guest", "stranger")):
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
            pages = islice(self._repeatable.conversations_members(channel=channel, limit=1_000), _MAX_PAGES)
            return any(user_id in (page.get("members") or ()) for page in pages)

        return self._looked_up("conversations.info", look, otherwise=False)

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

    def link(self, thread: ThreadKey) -> str:
        """The address of a thread's first message; "" when Slack gives none."""
        try:
            reply = self._repeatable.chat_getPermalink(channel=thread.channel, message_ts=thread.root_ts)
            return str(reply.get("permalink") or "")
        except SlackApiError as error:
            self._shortcomings.note("chat.getPermalink", error)
        except LOST as error:
            log.info("no_link", error=error)
        return ""

    def groups_of(self, user_id: str, groups: Collection[str]) -> frozenset[str]:
        """The user groups among these that a person is in. A group that Slack does not show counts as empty.

        Raises SlackUnreachable.
        """
        return frozenset(group for group in groups if user_id in self._members(group))

    def _members(self, group: str) -> frozenset[str]:
        at, members = self._groups.get(group, (-STANDING_S, frozenset()))
        if time.monotonic() - at < STANDING_S:
            return members

        def look() -> frozenset[str]:
            reply = self._repeatable.usergroups_users_list(usergroup=group)
            return frozenset(str(user) for user in reply.get("users") or ())

        members = self._looked_up("usergroups.users.list", look, otherwise=frozenset())
        self._groups[group] = (time.monotonic(), members)
        return members

    def thread_messages(self, thread: ThreadKey, *, upto: str) -> list[dict[str, Any]]:
        """The messages of a thread up to a ts (with it), oldest first, as Slack has them; empty when it refuses.

        At most `_MAX_PAGES` pages: an app that may read 15 messages a minute is done after some minutes. Raises
        SlackUnreachable when Slack does not answer now.
        """
        return self._replies(thread, latest=upto, inclusive=True, limit=200)

    def messages_since(self, thread: ThreadKey, ts: str) -> list[dict[str, Any]]:
        """The messages of a thread after a ts (without it), oldest first; empty when Slack refuses.

        Raises SlackBusy instead of waiting for the rate budget, and SlackUnreachable when Slack does not answer now.
        """
        rates = rates_of(self._repeatable)
        if rates is not None and rates.delay("conversations.replies", thread.channel) > 0:
            raise SlackBusy("conversations.replies has no budget left for now")
        # A small page: it is the most that some apps may have, and most threads have nothing new.
        found = self._replies(thread, oldest=ts, limit=15)
        return [message for message in found if message.get("ts") not in (ts, thread.root_ts)]

    def _replies(self, thread: ThreadKey, **bounds: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        try:
            pages = self._repeatable.conversations_replies(channel=thread.channel, ts=thread.root_ts, **bounds)
            for page in islice(pages, _MAX_PAGES):
                found += [message for message in page.get("messages") or [] if isinstance(message, dict)]
        except SlackApiError as error:
            failure = refusal("conversations.replies", error)
            if isinstance(failure, SlackUnreachable):
                raise failure from error
            self._shortcomings.note("conversations.replies", error)
        except LOST as error:
            raise SlackUnreachable(f"the thread {thread.id} could not be read: {outline(error)}") from error
        return found

    def bot_user(self) -> str:
        """Our own user id. Raises SlackFailed, SlackUnreachable."""
        with ours("auth.test"):
            return str(self._repeatable.auth_test()["user_id"])

    def workspace_url(self) -> str:
        """The address of the workspace, "https://name.slack.com/"; links to messages begin with it. "" when unknown."""
        if not self._url:
            try:
                self._url = str(self._repeatable.auth_test().get("url") or "")
            except SlackApiError as error:
                self._shortcomings.note("auth.test", error)
            except LOST as error:
                log.info("workspace_unknown", error=error)
        return self._url

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
        if len(self._shared) >= _MAX_PEOPLE:
            self._shared.clear()
        self._shared[user_id] = (time.monotonic(), found)
        return found

    def _conversations(self, **of: str) -> frozenset[str]:
        kinds = "public_channel,private_channel,mpim"
        pages = self._repeatable.users_conversations(types=kinds, exclude_archived=True, limit=1_000, **of)
        return frozenset(
            str(channel["id"]) for page in islice(pages, _MAX_PAGES) for channel in page.get("channels") or ()
        )

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
        name = _one_line(str(about.get("name") or ""))
        if len(self._channel_names) >= _MAX_PEOPLE:
            self._channel_names.clear()
        self._channel_names[channel_id] = f"#{name}" if name else channel_id
        return self._channel_names[channel_id]

    def message_files(self, thread: ThreadKey, ts: str) -> tuple[FileRef, ...]:
        """The files of one message, looked up; empty when it has none or may not be read.

        Raises SlackUnreachable when Slack does not answer now.
        """
        message = self.message(thread, ts)
        return file_refs(message.get("files")) if message else ()

    def message_blocks(self, thread: ThreadKey, ts: str) -> list[dict[str, Any]]:
        """The blocks of one message, as Slack has them now; empty when it has none or may not be read.

        Raises SlackUnreachable when Slack does not answer now.
        """
        blocks = (self.message(thread, ts) or {}).get("blocks")
        return [block for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []

    def message(self, thread: ThreadKey, ts: str) -> dict[str, Any] | None:
        """One message as Slack has it; None when it is not there or may not be read.

        Raises SlackUnreachable when Slack does not answer now.
        """
        try:
            reply = self._repeatable.conversations_replies(
                channel=thread.channel, ts=thread.root_ts, oldest=ts, latest=ts, inclusive=True, limit=10
            )
        except SlackApiError as error:
            failure = refusal("conversations.replies", error)
            if isinstance(failure, SlackUnreachable):
                raise failure from error
            self._shortcomings.note("conversations.replies", error)
            return None
        except LOST as error:
            raise SlackUnreachable(f"the message {ts} could not be looked up: {outline(error)}") from error
        messages = reply.get("messages") or []
        return next((each for each in messages if isinstance(each, dict) and each.get("ts") == ts), None)

    def _person(self, user_id: str, newer_than: float = float("-inf")) -> _Person:
        with self._people_lock:
            if (known := self._people.get(user_id)) is not None and known.looked_at > newer_than:
                return known
        standing: Standing | None = None
        try:
            user: dict[str, Any] = self._repeatable.users_info(user=user_id, include_locale=True)["user"]
        except SlackApiError as error:
            self._shortcomings.note("users.info", error)
            user = {}
            standing = "stranger" if error_name(error) in _STRANGERS else "member"
            if passes_by_itself(error):
                return _Person(user_id, "en", "")
        except LOST as error:
            log.info("user_unknown", error=error)
            return _Person(user_id, "en", "")
        person = _Person(
            _name_in(user) or user_id,
            _language(str(user.get("locale") or "")),
            standing or _standing_in(user),
            team=str(user.get("team_id") or ""),
            organisation=str((user.get("enterprise_user") or {}).get("enterprise_id") or ""),
            looked_at=time.monotonic(),
        )
        with self._people_lock:
            if len(self._people) >= _MAX_PEOPLE:
                self._people.clear()
            self._people[user_id] = person
        return person


def _teams_of(user: dict[str, Any]) -> set[str]:
    """The workspace of a person and its organisation."""
    return {str(user.get("team_id") or ""), str((user.get("enterprise_user") or {}).get("enterprise_id") or "")}


def _standing_in(user: dict[str, Any]) -> Standing:
    if user.get("is_stranger"):
        return "stranger"
    if user.get("is_restricted") or user.get("is_ultra_restricted"):
        return "guest"
    return "admin" if user.get("is_admin") or user.get("is_owner") else "member"


def _name_in(user: dict[str, Any]) -> str:
    profile = user.get("profile") or {}
    candidates = (profile.get("display_name"), profile.get("real_name"), user.get("real_name"), user.get("name"))
    return next((_one_line(name) for name in candidates if isinstance(name, str) and name.strip()), "")


def _one_line(name: str) -> str:
    return clip(" ".join("".join(letter if letter.isprintable() else " " for letter in name).split()), _MAX_NAME)


def _language(locale: str) -> Language:
    """The language of a locale such as "de-DE"; English when it is none of ours."""
    return next((each for each in get_args(Language) if each == locale[:2]), "en")
