"""The little that is read back from Slack: names, files, a thread. Nothing here fails its caller."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from core.errors import SlackUnreachable
from core.slack_client import LOST, Shortcomings, refusal, repeating
from core.slack_files import file_ref, file_refs
from core.slack_text import clip
from core.telemetry import get_logger
from core.values import FileRef, Language, ThreadKey

log = get_logger(__name__)

_MAX_PEOPLE = 10_000
_MAX_MESSAGES = 1_000
_MAX_NAME = 80


@dataclass(frozen=True, slots=True)
class _Person:
    name: str
    language: Language


class SlackReader:
    """Looks things up. What Slack does not tell is left out: an id stands for a name, nothing stands for a file."""

    def __init__(self, client: WebClient) -> None:
        self._repeatable = repeating(client)
        self._shortcomings = Shortcomings()
        self._people: dict[str, _Person] = {}
        self._people_lock = threading.Lock()

    def user_name(self, user_id: str) -> str:
        """The display name of a person, remembered; the id when Slack does not tell."""
        return self._person(user_id).name

    def user_language(self, user_id: str) -> Language:
        """The language a person has set in Slack, among ours; for sentences that answer no words of theirs."""
        return self._person(user_id).language

    def thread_messages(self, thread: ThreadKey, *, before: str) -> list[dict[str, Any]]:
        """The messages of a thread up to a ts (without it), oldest first, as Slack gives them; empty if it does not."""
        found: list[dict[str, Any]] = []
        try:
            for page in self._repeatable.conversations_replies(
                channel=thread.channel, ts=thread.root_ts, latest=before, limit=200
            ):
                found += [message for message in page.get("messages") or [] if isinstance(message, dict)]
                if len(found) >= _MAX_MESSAGES:
                    break
        except SlackApiError as error:
            self._shortcomings.note("conversations.replies", error)
        except LOST as error:
            log.warning("thread_not_read", thread=thread.id, error=repr(error))
        return [message for message in found if message.get("ts") != before]

    def message_files(self, thread: ThreadKey, ts: str) -> tuple[FileRef, ...]:
        """The files of one message, looked up; empty when it has none or may not be read.

        Raises SlackUnreachable when Slack does not say now.
        """
        try:
            reply = self._repeatable.conversations_replies(
                channel=thread.channel, ts=thread.root_ts, oldest=ts, latest=ts, inclusive=True, limit=10
            )
        except SlackApiError as error:
            wrong = refusal("conversations.replies", error)
            if isinstance(wrong, SlackUnreachable):
                raise wrong from error
            self._shortcomings.note("conversations.replies", error)
            return ()
        except LOST as error:
            raise SlackUnreachable(f"the files of {ts} could not be looked up: {error!r}") from error
        messages = reply.get("messages") or []
        return next((file_refs(message.get("files")) for message in messages if message.get("ts") == ts), ())

    def file(self, file_id: str) -> FileRef | None:
        """One file, looked up (Slack Connect sends only its id); None when Slack does not show it to us."""
        try:
            return file_ref(self._repeatable.files_info(file=file_id)["file"])
        except SlackApiError as error:
            self._shortcomings.note("files.info", error)
        except LOST as error:
            log.warning("file_not_looked_up", file=file_id, error=repr(error))
        return None

    def _person(self, user_id: str) -> _Person:
        with self._people_lock:
            if user_id in self._people:
                return self._people[user_id]
        try:
            user: dict[str, Any] = self._repeatable.users_info(user=user_id, include_locale=True)["user"]
        except SlackApiError as error:
            self._shortcomings.note("users.info", error)
            user = {}
        except LOST as error:
            log.info("user_unknown", error=repr(error))
            return _Person(user_id, "en")
        person = _Person(_name_in(user) or user_id, "zh" if str(user.get("locale") or "").startswith("zh") else "en")
        with self._people_lock:
            if len(self._people) >= _MAX_PEOPLE:
                self._people.clear()
            self._people[user_id] = person
        return person


def _name_in(user: dict[str, Any]) -> str:
    profile = user.get("profile") or {}
    candidates = (profile.get("display_name"), profile.get("real_name"), user.get("real_name"), user.get("name"))
    return next((_one_line(name) for name in candidates if isinstance(name, str) and name.strip()), "")


def _one_line(name: str) -> str:
    return clip(" ".join("".join(letter if letter.isprintable() else " " for letter in name).split()), _MAX_NAME)
