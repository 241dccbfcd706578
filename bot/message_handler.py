"""Handles a message for the bot: stores it before Slack gets its ack, wakes the thread and shows a first sign.

Nothing is kept in memory: a bot that dies between two lines loses no message, and two bots do not answer twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from typing import Any

from redis import RedisError

from bot.background import Background
from bot.changes import Change, Deletions, change_in, follow, is_lately_written
from bot.commands import command_of
from bot.finding import Finder
from bot.gate import Gate
from bot.intake import EventContext, Ignored, addressed, is_empty, is_for_us, read_message
from bot.left_alone import LeftAlone
from bot.replies import Replies
from core.actions import Action
from core.commands.registry import Command, argument_of, commands, is_command
from core.errors import SlackUnreachable
from core.interactions import Reaction
from core.metrics import MESSAGES
from core.queue import Seen, Wakes
from core.rows import Recorded
from core.settings import Settings
from core.slack.writing.writer import SlackWriter
from core.steps import Step, open_question, option_of
from core.store import Store
from core.store.participation import moment
from core.telemetry import bind_fields, get_logger
from core.values import FileRef, IncomingMessage, ThreadKey

log = get_logger(__name__)


class MessageHandler:
    """Takes messages in, and so what people decide with buttons and forms."""

    def __init__(
        self,
        *,
        settings: Settings,
        store: Store,
        wakes: Wakes,
        slack: SlackWriter,
        later: Executor,
        lookups: Executor,
        look_behind: Callable[[ThreadKey, str], None] = lambda thread, ts: None,
    ) -> None:
        """`later` runs what must not delay the ack, `lookups` asks Slack while the ack waits.

        `look_behind` has the messages of a thread after a ts looked up in Slack.
        """
        self._settings = settings
        self._store = store
        self._wakes = wakes
        self._slack = slack
        self.background = Background(later=later, lookups=lookups)
        """Does what must not delay the ack."""
        self.gate = Gate(settings, store, slack, self.background)
        """Says what a person may do."""
        self._replies = Replies(settings, store, slack)
        self._finder = Finder(store, slack, self.gate.sight)
        self._deletions = Deletions()
        self._left_alone = LeftAlone()
        self._look_behind = look_behind

    def event_context(self, team: str, bot_user_id: str) -> EventContext:
        """What `read_message` and `addressed` need to know beside an event."""
        return EventContext(
            team=team,
            bot_user_id=bot_user_id,
            name_of=self.background.names(self._slack.user_name),
            knows_thread=self._store.knows_thread,
            is_strict=self._settings.strict_mention,
            own_teams=frozenset(self._settings.access.own_teams),
            has_left=self._store.has_left,
        )

    def take_event(self, event: Mapping[str, Any], team: str, bot_user_id: str) -> None:
        """Take in a `message` or `app_mention` event, if it is for us, or follow a change. Raises as `take` does."""
        context = self.event_context(team, bot_user_id)
        if (change := change_in(event, context)) is not None:
            if change.message is None:
                self._deletions.note(change)
            elif self._is_ahead(change, change.message, context):
                self._take_written(change.message, context)
            self.follow(change)
            return
        message = self._addressed(event, context)
        if isinstance(message, Ignored):
            log.debug("event_ignored", reason=message.reason, channel=event.get("channel"), ts=event.get("ts"))
            return
        self._take_written(message, context)

    def _addressed(self, event: Mapping[str, Any], context: EventContext) -> IncomingMessage | Ignored:
        """The message of an event if it is for us. A reply that is not, as far as we know now, is remembered."""
        message = read_message(event, context)
        if isinstance(message, Ignored) or message.ts == message.root_ts or context.is_strict(message.channel):
            return addressed(message, context)
        self._left_alone.note(message)
        found = addressed(message, context)
        if not isinstance(found, Ignored):
            self._left_alone.take_back(message)
        return found

    def _take_written(self, message: IncomingMessage, context: EventContext) -> None:
        if self._deletions.of(message) is not None:
            return
        self.take(message.model_copy(update={"kind": command_of(message) or message.kind}), context)
        if (deletion := self._deletions.of(message)) is not None:  # it came meanwhile
            self.follow(deletion)
        if self._left_alone.behind(message):
            self._look_behind(message.thread, message.ts)

    def _is_ahead(self, change: Change, message: IncomingMessage, context: EventContext) -> bool:
        """Whether a changed message is for us, and its own event has yet to come. That event then finds it stored.

        A reply without a mention counts only behind all that we know of its thread: people's talk before that is
        theirs.
        """
        if not (is_lately_written(change) and is_for_us(message, context)):
            return False
        if self._store.known_messages(message.team, message.channel, [message.ts]):
            return False
        if message.mention or message.channel_type == "im":
            return True
        return moment(message.ts) > moment(self._store.newest_ts(message.thread.id))

    def take(self, message: IncomingMessage, context: EventContext) -> None:
        """Keep a message of any kind, wake its thread and show a sign. Raises when it was not kept: then no ack."""
        with bind_fields(thread=message.thread.id):
            if (standing := self.gate.admit(message)) is None:
                return
            message = message.model_copy(update={"standing": standing})
            if is_command(message.kind):
                self._take_command(message, commands()[message.kind], context)
            else:
                self._take_message(message, context)

    @property
    def slack(self) -> SlackWriter:
        """What the bot writes to Slack with."""
        return self._slack

    def take_decision(self, message: IncomingMessage) -> None:
        """Keep a decision, as `take` keeps every message. Raises when it was not kept: then no ack."""
        self.take(message, self.event_context(message.team, ""))

    @property
    def settings(self) -> Settings:
        """The settings of this process."""
        return self._settings

    def seen(self) -> Seen:
        """What Redis knows of the nodes and of the queues. Raises redis.RedisError."""
        return self._wakes.seen()

    def follow(self, change: Change) -> None:
        """A message was deleted or changed in Slack. Raises StoreUnreachable: then no ack."""
        if (touched := follow(change, self._store, self._wake)) is not None:
            log.info("message_followed", ts=change.ts, deleted=change.message is None)
            now = change.message
            if touched.was_quiet and now is not None:
                self.background.after_ack(self._replies.show_sign, now)
            elif touched.was_answered and now is not None and now.text and touched.user == now.user:
                self.background.after_ack(self._replies.offer_again, touched, change.ts)

    def _take_command(self, message: IncomingMessage, command: Command, context: EventContext) -> None:
        """A command without anything to act on is answered, or is a plain message where it has no such answer.

        An option of the open question is its answer; of commands for the worker the worker finds that out.
        """
        if not command.reaches_worker and self._is_answer(message):
            self._take_message(message.model_copy(update={"kind": "text"}), context)
            return
        if command.leaves:
            self._take_leave(message, command, context)
            return
        if command.keeps:
            self._keep(message, command, context)
            return
        if command.at_once:
            if self._store.record_message(message, context.name_of(message.user), quiet=True).new:
                self.background.after_ack(self._finder.answer, message)
            return
        applies = self._applies(message.thread, command)
        if command.in_turn == "words":
            self._take_message(message if applies else message.model_copy(update={"kind": "text"}), context)
            return
        recorded = self._store.record_message(message, context.name_of(message.user), quiet=not applies)
        if recorded.to_notify:
            self._wake(message.thread.id, recorded)
            if message.text and not command.by_form and not _is_press(message):
                sign = Reaction.STOPPED if command.name == "stop" else Reaction.RECEIVED
                self.background.after_ack(self._replies.react, message, sign)
        elif recorded.new and message.text and (phrase := command.reply or command.nothing):
            self.background.after_ack(self._replies.answer, message, phrase)

    def _take_leave(self, message: IncomingMessage, command: Command, context: EventContext) -> None:
        """Leave the thread, whatever is known of it. For the worker of an open turn it is a stop.

        Raises SlackUnreachable while Slack does not say who the author is: no worker asks again.
        """
        thread_id = message.thread.id
        if not message.standing:
            raise SlackUnreachable("Slack does not say now who wants the bot to leave")
        at_work = self._store.current_turn(thread_id) is not None or bool(self._store.unread(thread_id))
        kept = message.model_copy(update={"kind": "stop"}) if at_work else message
        author = context.name_of(message.user)
        recorded = self._store.record_message(kept, author, quiet=not at_work, leaves=True)
        if recorded.to_notify:
            self._wake(thread_id, recorded)
        if recorded.new:
            action = Action.LEAVE if command.action is None else command.action
            key = f"{thread_id}/{command.name}:{message.ts}"
            self._store.audit(message.user, action.value, thread_id, "done", key=key)
            self.background.after_ack(self._replies.answer, message, command.reply)

    def _is_answer(self, message: IncomingMessage) -> bool:
        turn = self._store.current_turn(message.thread.id)
        return turn is not None and _is_option(message.text, self._store.steps(turn.id))

    def _keep(self, message: IncomingMessage, command: Command, context: EventContext) -> None:
        """Keep a message for the next question of its thread. Nobody is woken; a sign says that it is kept."""
        if not argument_of(command.name, message.text):
            self._store.note_thread(message.thread)
            self.background.after_ack(self._replies.answer, message, command.nothing)
            return
        recorded = self._store.record_message(message, context.name_of(message.user), quiet=True)
        if recorded.new:
            self.background.after_ack(self._replies.react, message, Reaction.NOTED)

    def _applies(self, thread: ThreadKey, command: Command) -> bool:
        """Whether the thread has something that the command could be about."""
        if command.reply:
            return False
        if command.takes:
            return True
        if self._store.unread(thread.id):
            return True
        if command.at_rest == "drop":
            return self._store.current_turn(thread.id) is not None
        return bool(self._store.turns(thread.id))

    def _take_message(self, message: IncomingMessage, context: EventContext) -> None:
        arrived = time.monotonic()
        empty = is_empty(message)
        recorded = self._store.record_message(message, context.name_of(message.user), quiet=empty)
        if recorded.to_notify:
            MESSAGES.inc()
            self._wake(recorded.thread_id, recorded)
            self.background.after_ack(self._replies.show_first_sign, message, arrived)
        elif empty and recorded.new:
            self.background.after_ack(self._answer_bare_mention, message, context)

    def _wake(self, thread_id: str, recorded: Recorded | None = None) -> None:
        try:
            self._wakes.wake(thread_id, recorded=recorded)
        except RedisError as error:
            # The message is kept: the janitor of any worker wakes the thread later.
            log.warning("wake_failed", thread=thread_id, error=error)

    def _answer_bare_mention(self, message: IncomingMessage, context: EventContext) -> None:
        """Answer the first message of a thread that is a mention and nothing else.

        Files that the event lacked are looked up; without them it gets the help text.
        """
        files: tuple[FileRef, ...] = ()
        if not message.files_known:
            with suppress(SlackUnreachable):  # its twin, the message event, names the files too
                files = self._slack.message_files(message.thread, message.ts)
        if files:
            self.take(message.model_copy(update={"files": files, "files_known": True}), context)
            return
        self._replies.help(message)


def _is_press(message: IncomingMessage) -> bool:
    """Whether a command came by a button that names a turn: there is no message to put a sign on."""
    return message.text.startswith(f"{message.thread.id}/")


def _is_option(text: str, steps: Sequence[Step]) -> bool:
    """Whether a text is an option of the open question: then it is an answer, also when it is a command elsewhere."""
    question = open_question(steps)
    return question is not None and option_of(text, question) is not None
