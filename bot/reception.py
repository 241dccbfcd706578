"""What happens to a message that is for us: kept before Slack gets its ack, then the bell, then a first sign of life.

Nothing here remembers anything: a bot that dies between two lines loses no message, and two bots do not answer twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from contextvars import copy_context
from dataclasses import replace
from typing import Any

from redis import RedisError

from bot.intake import Ignored, Surroundings, is_empty, read_message
from core.errors import OursToFix, SlackUnreachable
from core.metrics import FIRST_SIGN, MESSAGES
from core.phrases import say
from core.queue import Wakes
from core.settings import Settings
from core.slack import SlackWriter
from core.store import Store
from core.telemetry import bind_fields, get_logger
from core.values import FileRef, IncomingMessage, ThreadKey

log = get_logger(__name__)

RECEIVED = "eyes"
STOPPING = "octagonal_sign"
_NOTHING = {"stop": "nothing_to_stop", "undo": "nothing_to_undo", "reset": "nothing_to_reset"}

NAME_WAIT_S = 1.0
"""For all names of one event together: Slack wants its ack within 3 s, a later name is left to the next message."""

MAX_EARLIER = 20


class Reception:
    """Takes messages in. `later` runs what must not hold up the ack, `lookups` asks for names while the ack waits."""

    def __init__(
        self, *, settings: Settings, store: Store, wakes: Wakes, slack: SlackWriter, later: Executor, lookups: Executor
    ) -> None:
        self._settings = settings
        self._store = store
        self._wakes = wakes
        self._slack = slack
        self._later = later
        self._lookups = lookups

    def surroundings(self, team: str, bot_user_id: str) -> Surroundings:
        """What `to_message` needs to know around an event."""
        return Surroundings(
            team=team,
            bot_user_id=bot_user_id,
            name_of=self._names_in_time(),
            knows_thread=self._store.knows_thread,
            is_strict=self._settings.strict_mention,
        )

    def wish(self, message: IncomingMessage, around: Surroundings) -> None:
        """Keep a wish to stop, to undo or to reset, and ring; where it means nothing, only words are answered.

        Raises as `receive` does.
        """
        thread = message.thread
        there = bool(self._store.unread(thread.id)) or (
            self._store.current_turn(thread.id) is not None
            if message.kind == "stop"
            else bool(self._store.turns(thread.id))
        )
        recorded = self._store.record_message(message, around.name_of(message.user), quiet=not there)
        if recorded.to_ring:
            self._wake(thread.id)
            if message.text:
                sign = STOPPING if message.kind == "stop" else RECEIVED
                self._submit(self._slack.react, thread, message.ts, sign)
        elif recorded.new and message.text:
            self._submit(self._answer_once, message, _NOTHING[message.kind])

    def receive(self, message: IncomingMessage, around: Surroundings) -> None:
        """Keep the message; if a turn is to read it, ring and show a sign. Raises when it was not kept: then no ack."""
        with bind_fields(thread=message.thread.id):
            self._receive(message, around)

    def _receive(self, message: IncomingMessage, around: Surroundings) -> None:
        arrived = time.monotonic()
        joins_talk = message.root_ts != message.ts and not self._store.knows_thread(message.thread)
        empty = is_empty(message)
        recorded = self._store.record_message(message, around.name_of(message.user), quiet=empty)
        if empty:
            if recorded.new:
                self._submit(self._answer_bare_mention, message, around)
            return
        if not recorded.to_ring:
            return
        MESSAGES.inc()
        if joins_talk:
            self._submit(self._bring_in_talk_and_wake, message, around)
        else:
            self._wake(recorded.thread_id)
        self._submit(self._show_first_sign, message, arrived)

    def _wake(self, thread_id: str) -> None:
        try:
            self._wakes.wake(thread_id)
        except RedisError as error:
            # The message is kept: the janitor of any worker rings again.
            log.warning("wake_failed", thread=thread_id, error=repr(error))

    def _show_first_sign(self, message: IncomingMessage, arrived: float) -> None:
        self._show_sign(message)
        FIRST_SIGN.observe(time.monotonic() - arrived)

    def _show_sign(self, message: IncomingMessage) -> None:
        if message.kind == "text":
            self._slack.react(message.thread, message.ts, RECEIVED)
        self._slack.set_status(message.thread, say("status_received", self._slack.user_language(message.user)))

    def _bring_in_talk_and_wake(self, message: IncomingMessage, around: Surroundings) -> None:
        self._bring_in_talk(message, around)
        self._wake(message.thread.id)

    def _bring_in_talk(self, message: IncomingMessage, around: Surroundings) -> bool:
        """A bot that is called into a talk reads how it began and the files in it; True when there was something."""
        events = self._slack.thread_messages(message.thread, before=message.ts)
        worth = [event for event in events if event.get("ts") == message.root_ts or event.get("files")]
        patient = replace(around, name_of=self._slack.user_name)
        found = False
        for event in worth[:1] + worth[1:][-MAX_EARLIER:]:
            place = {"type": "message", "channel": message.channel, "channel_type": message.channel_type}
            earlier = read_message({**_unedited(event), **place}, patient)
            if not isinstance(earlier, Ignored) and not is_empty(earlier):
                recorded = self._store.record_message(earlier, patient.name_of(earlier.user))
                found = found or recorded.to_ring
        return found

    def _answer_bare_mention(self, message: IncomingMessage, around: Surroundings) -> None:
        """Only the bot's name was said: look for files that the event lacked, or for a talk it points at; else help."""
        files: tuple[FileRef, ...] = ()
        if not message.files_known:
            with suppress(SlackUnreachable):  # if it does have files, the event's twin brings them
                files = self._slack.message_files(message.thread, message.ts)
        if files:
            self.receive(message.model_copy(update={"files": files, "files_known": True}), around)
            return
        if message.root_ts != message.ts and self._bring_in_talk(message, around):
            self._wake(message.thread.id)
            self._show_sign(message)
            return
        turn = self._store.current_turn(message.thread.id)
        if turn is not None and turn.status == "running":
            self._slack.react(message.thread, message.ts, RECEIVED)
            return
        strict = self._settings.strict_mention(message.channel) and message.channel_type != "im"
        self._answer_once(message, "help_strict" if strict else "help")

    def _answer_once(self, message: IncomingMessage, phrase: str) -> None:
        text = say(phrase, self._slack.user_language(message.user))
        try:
            self._slack.post(None, message.thread, help_key(message.thread, message.ts), text)
        except OursToFix as error:
            log.warning("answer_not_posted", phrase=phrase, thread=message.thread.id, error=str(error))

    def _names_in_time(self) -> Callable[[str], str]:
        """Names for one event: those that are known or told soon, ids for the rest."""
        deadline = time.monotonic() + NAME_WAIT_S

        def name_of(user_id: str) -> str:
            told: Future[str] = self._lookups.submit(self._slack.user_name, user_id)
            try:
                return told.result(timeout=max(0.0, deadline - time.monotonic()))
            except FutureTimeout:
                return user_id

        return name_of

    def _submit(self, work: Callable[..., None], *arguments: Any) -> None:
        def guarded() -> None:
            try:
                work(*arguments)
            except Exception:
                log.exception("after_ack_failed", work=work.__name__)

        self._later.submit(copy_context().run, guarded)  # what the log lines of this thread carry goes along


def help_key(thread: ThreadKey, ts: str) -> str:
    """The outbox key of the sentence that the bot itself answers with: help for a bare mention, for example."""
    return f"{thread.id}/help:{ts}"


def _unedited(event: Mapping[str, Any]) -> dict[str, Any]:
    """An earlier message counts as it reads now, edited or not."""
    return {key: value for key, value in event.items() if key != "edited"}
