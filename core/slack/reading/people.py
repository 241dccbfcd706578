"""People as Slack knows them: names, languages, standing, user groups."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, get_args

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from core.errors import SlackUnreachable
from core.slack.client import LOST, error_name, passes_by_itself
from core.slack.reading.look_ups import KEPT_S, MAX_KEPT, LookUps, one_line
from core.telemetry import get_logger
from core.values import Language, Standing

log = get_logger(__name__)

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


class People(LookUps):
    """Looks people up. If Slack does not give a name, the id is used instead."""

    def __init__(self, client: WebClient) -> None:
        super().__init__(client)
        self._people: dict[str, _Person] = {}
        self._people_lock = threading.Lock()
        self._groups: dict[str, tuple[float, frozenset[str]]] = {}

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
        person = self._person(user_id, newer_than=time.monotonic() - KEPT_S)
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

    def groups_of(self, user_id: str, groups: Collection[str]) -> frozenset[str]:
        """The user groups among these that a person is in. A group that Slack does not show counts as empty.

        Raises SlackUnreachable.
        """
        return frozenset(group for group in groups if user_id in self._members(group))

    def _members(self, group: str) -> frozenset[str]:
        at, members = self._groups.get(group, (-KEPT_S, frozenset()))
        if time.monotonic() - at < KEPT_S:
            return members

        def look() -> frozenset[str]:
            reply = self._repeatable.usergroups_users_list(usergroup=group)
            return frozenset(str(user) for user in reply.get("users") or ())

        members = self._looked_up("usergroups.users.list", look, otherwise=frozenset())
        self._groups[group] = (time.monotonic(), members)
        return members

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
            standing or standing_in(user),
            team=str(user.get("team_id") or ""),
            organisation=str((user.get("enterprise_user") or {}).get("enterprise_id") or ""),
            looked_at=time.monotonic(),
        )
        with self._people_lock:
            if len(self._people) >= MAX_KEPT:
                self._people.clear()
            self._people[user_id] = person
        return person


def teams_of(user: dict[str, Any]) -> set[str]:
    """The workspace of a person and its organisation."""
    return {str(user.get("team_id") or ""), str((user.get("enterprise_user") or {}).get("enterprise_id") or "")}


def standing_in(user: dict[str, Any]) -> Standing:
    if user.get("is_stranger"):
        return "stranger"
    if user.get("is_restricted") or user.get("is_ultra_restricted"):
        return "guest"
    return "admin" if user.get("is_admin") or user.get("is_owner") else "member"


def _name_in(user: dict[str, Any]) -> str:
    profile = user.get("profile") or {}
    candidates = (profile.get("display_name"), profile.get("real_name"), user.get("real_name"), user.get("name"))
    return next((one_line(name) for name in candidates if isinstance(name, str) and name.strip()), "")


def _language(locale: str) -> Language:
    """The language of a locale such as "de-DE"; English when it is none of ours."""
    return next((each for each in get_args(Language) if each == locale[:2]), "en")
