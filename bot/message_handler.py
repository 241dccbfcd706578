"""Handles a message for the bot: stores it before Slack gets its ack, wakes the thread and shows a first sign.

Nothing is kept in memory: a bot that dies between two lines loses no message, and two bots do not answer twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from contextvars import copy_context
from typing import Any, TypeVar

from redis import RedisError

from bot.changes import Change, Deletions, change_in, follow, is_lately_written
from bot.commands import command_of
from bot.finding import Finder, Sight
from bot.intake import EventContext, Ignored, is_empty, is_for_us, to_message
from bot.pressed import pressed
from core.access import ALLOWED, Verdict, is_pressed
from core.actions import Action
from core.approvals import PRESSES
from core.authorization import Authorizer
from core.commands import Command, argument_of, commands, is_command, language_of
from core.errors import OursToFix, SlackUnreachable
from core.interactions import AgainButton, Reaction
from core.metrics import FIRST_SIGN, MESSAGES
from core.phrases import say
from core.queue import Seen, Wakes
from core.rows import Recorded
from core.settings import Settings
from core.slack.menu import again_blocks
from core.slack.replies import HELP, HELP_STRICT, reply_key, reply_message
from core.slack.text import escape
from core.slack.writer import SlackWriter
from core.steps import Briefed, Step, open_question, option_of
from core.store import Store
from core.store.changes import Touched
from core.store.participation import moment
from core.suggesting import suggestions
from core.telemetry import bind_fields, get_logger
from core.values import FileRef, IncomingMessage, Language, Standing, ThreadKey

log = get_logger(__name__)

_Found = TypeVar("_Found")

NAME_WAIT_S = 1.0
"""For all names of one event together: Slack wants its ack within 3 s. The next message looks up what is missing."""


class MessageHandler:
    """Takes messages in. `later` runs what must not delay the ack, `lookups` asks for names while the ack waits."""

    def __init__(
        self, *, settings: Settings, store: Store, wakes: Wakes, slack: SlackWriter, later: Executor, lookups: Executor
    ) -> None:
        self._settings = settings
        self._store = store
        self._wakes = wakes
        self._slack = slack
        self._later = later
        self._lookups = lookups
        self._access = Authorizer(settings, store, slack)
        self._sight = Sight(settings, store, slack, self._access)
        self._finder = Finder(store, slack, self._sight)
        self._deletions = Deletions()

    def event_context(self, team: str, bot_user_id: str) -> EventContext:
        """What `to_message` needs to know beside an event."""
        return EventContext(
            team=team,
            bot_user_id=bot_user_id,
            name_of=self._names_in_time(),
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
        message = to_message(event, context)
        if isinstance(message, Ignored):
            log.debug("event_ignored", reason=message.reason, channel=event.get("channel"), ts=event.get("ts"))
            return
        self._take_written(message, context)

    def _take_written(self, message: IncomingMessage, context: EventContext) -> None:
        if self._deletions.of(message) is not None:
            return
        self.take(message.model_copy(update={"kind": command_of(message) or message.kind}), context)
        if (deletion := self._deletions.of(message)) is not None:  # it came meanwhile
            self.follow(deletion)

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
            standing, action, verdict = self._authorized(message)
            if not verdict:
                self._submit(self._refuse, message, action, verdict.phrase)
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

    def may(self, message: IncomingMessage) -> bool:
        """Whether its author may do what the message does; if not, they are told. The message is not kept."""
        _standing, action, verdict = self._authorized(message)
        if not verdict:
            self._submit(self._refuse, message, action, verdict.phrase)
        return bool(verdict)

    def may_look(self, message: IncomingMessage, sources: Sequence[str], *, by_window: bool = False) -> bool:
        """Whether its author may see what a report rests on; if not, they are told.

        The person must be allowed to query each data `source` whose rows the thread holds. By a window comes a press of
        somebody who is perhaps not in the channel: then they must be able to read it. What Slack does not tell in time
        counts as no: nobody asks again.
        """

        def ask() -> Verdict:
            own = {message.team, *self._settings.access.own_teams}
            if by_window and not self._slack.may_read(message.channel, message.user, own):
                return Verdict("access_refused")
            verdict = self._access.may(message, Action.LOOK)
            held = (self._access.may_ask(source, message.thread, {message.user}) for source in sources if verdict)
            return next((one for one in held if not one), verdict)

        try:
            verdict = self._looked_up(ask)
        except (FutureTimeout, SlackUnreachable):
            verdict = Verdict("look_unknown")
        if not verdict:
            self._submit(self._refuse_look, message, verdict)
        return bool(verdict)

    @property
    def settings(self) -> Settings:
        """The settings of this process."""
        return self._settings

    def verdict_on(self, user: str, thread: ThreadKey, action: Action) -> Verdict:
        """Whether a person may do this in a thread; what Slack does not tell in time counts as no."""
        try:
            return self._looked_up(lambda: self._access.may(pressed(thread, user, thread.root_ts), action))
        except (FutureTimeout, SlackUnreachable):
            return Verdict("look_unknown")

    def may_ask(self, user: str, thread: ThreadKey, source: str) -> bool:
        """Whether a person may ask a data source in a thread; what Slack does not tell in time counts as no."""
        try:
            return bool(self._looked_up(lambda: self._access.may_ask(source, thread, {user})))
        except (FutureTimeout, SlackUnreachable):
            return False

    @property
    def sight(self) -> Sight:
        """Says which threads a person may see."""
        return self._sight

    def in_time(self, work: Callable[[], None], seconds: float) -> bool:
        """Have something looked up; False when it took too long, or Slack does not tell it now."""
        try:
            self._looked_up(work, seconds)
        except (FutureTimeout, SlackUnreachable):
            return False
        return True

    def seen(self) -> Seen:
        """What Redis knows of the nodes and of the queues. Raises redis.RedisError."""
        return self._wakes.seen()

    def after_ack(self, work: Callable[..., None], *arguments: Any) -> None:
        """Do something after the ack, so that the ack is not delayed. What goes wrong there is logged."""
        self._submit(work, *arguments)

    def _refuse_look(self, message: IncomingMessage, verdict: Verdict) -> None:
        thread, language = message.thread, self._slack.user_language(message.user)
        key = f"{thread.id}/refused:{message.user}:{verdict.phrase}:{message.ts}"
        self._store.audit(message.user, Action.LOOK.value, thread.id, "refused", key=key)
        author = escape(self._slack.user_name(message.user))
        text = say(verdict.phrase, language, author=author, source=escape(verdict.source))
        self._slack.whisper(thread, message.user, text)

    def follow(self, change: Change) -> None:
        """A message was deleted or changed in Slack. Raises StoreUnreachable: then no ack."""
        if (touched := follow(change, self._store, self._wake)) is not None:
            log.info("message_followed", ts=change.ts, deleted=change.message is None)
            now = change.message
            if touched.was_quiet and now is not None:
                self._submit(self._show_sign, now)
            elif touched.was_answered and now is not None and now.text and touched.user == now.user:
                self._submit(self._offer_again, touched, change.ts)

    def _offer_again(self, touched: Touched, ts: str) -> None:
        """Offer the author of an answered question that has changed to ask it again."""
        thread, language = ThreadKey.parse(touched.thread_id), self._slack.user_language(touched.user)
        blocks = again_blocks(AgainButton(thread=thread.id, ts=ts), language)
        self._slack.whisper(thread, touched.user, escape(say("again_offer", language)), blocks)

    def _authorized(self, message: IncomingMessage) -> tuple[Standing, Action, Verdict]:
        """What is known of the author, what the message would do, and whether it may.

        What Slack does not tell in time stays open: the worker asks again before it reads the message.
        """

        def ask() -> tuple[Standing, Action, Verdict]:
            standing = self._access.standing(message)
            return standing, *self._access.verdict(message, standing, lambda: self._open_steps(message))

        try:
            return self._looked_up(ask)
        except (FutureTimeout, SlackUnreachable):
            return "", Action.ASK, ALLOWED

    def _open_steps(self, message: IncomingMessage) -> list[Step] | None:
        if message.kind == "text" and message.ts == message.root_ts:
            return None  # it begins its thread, so it steers no turn of it
        turn = self._store.current_turn(message.thread.id)
        if turn is None:
            return None
        return self._store.steps(turn.id) if turn.status == "waiting" else []

    def _refuse(self, message: IncomingMessage, action: Action, phrase: str) -> None:
        """Say once per person and thread why nothing happens. Nothing of the message is kept."""
        thread = message.thread
        self._store.note_thread(thread)
        key = f"{thread.id}/refused:{message.user}:{phrase}"
        self._store.audit(message.user, action.value, thread.id, "refused", key=f"{key}:{message.ts}")
        author = escape(self._slack.user_name(message.user))
        text = say(phrase, self._slack.user_language(message.user), author=author)
        if is_pressed(message.kind):
            self._slack.whisper(thread, message.user, text)
            return
        try:
            self._slack.post(None, thread, key, text)
        except OursToFix as error:
            log.warning("refusal_not_posted", error=error)

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
                self._submit(self._finder.answer, message)
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
                self._submit(self._slack.react, message.thread, message.ts, sign)
        elif recorded.new and message.text and (phrase := command.reply or command.nothing):
            self._submit(self._answer_once, message, phrase)

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
            self._submit(self._answer_once, message, command.reply)

    def _is_answer(self, message: IncomingMessage) -> bool:
        turn = self._store.current_turn(message.thread.id)
        return turn is not None and _is_option(message.text, self._store.steps(turn.id))

    def _keep(self, message: IncomingMessage, command: Command, context: EventContext) -> None:
        """Keep a message for the next question of its thread. Nobody is woken; a sign says that it is kept."""
        if not argument_of(command.name, message.text):
            self._store.note_thread(message.thread)
            self._submit(self._answer_once, message, command.nothing)
            return
        recorded = self._store.record_message(message, context.name_of(message.user), quiet=True)
        if recorded.new:
            self._submit(self._slack.react, message.thread, message.ts, Reaction.NOTED)

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
            self._submit(self._show_first_sign, message, arrived)
        elif empty and recorded.new:
            self._submit(self._answer_bare_mention, message, context)

    def _wake(self, thread_id: str, recorded: Recorded | None = None) -> None:
        try:
            self._wakes.wake(thread_id, recorded=recorded)
        except RedisError as error:
            # The message is kept: the janitor of any worker wakes the thread later.
            log.warning("wake_failed", thread=thread_id, error=error)

    def _show_first_sign(self, message: IncomingMessage, arrived: float) -> None:
        self._show_sign(message)
        FIRST_SIGN.observe(time.monotonic() - arrived)

    def _show_sign(self, message: IncomingMessage) -> None:
        if message.channel_type == "im" and message.ts == message.root_ts and message.text:
            self._slack.set_title(message.thread, message.text)
        if message.kind not in PRESSES:
            self._slack.react(message.thread, message.ts, Reaction.RECEIVED)
        self._slack.set_status(message.thread, say("status_received", self._slack.user_language(message.user)))

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
        strict = self._settings.strict_mention(message.channel) and message.channel_type != "im"
        self._answer_once(message, HELP_STRICT if strict else HELP)

    def _answer_once(self, message: IncomingMessage, phrase: str) -> None:
        thread = message.thread
        language = language_of(message.text, self._slack.user_language(message.user))
        try:
            questions = self._questions(thread, language) if phrase in (HELP, HELP_STRICT) else ()
            answer = reply_message(phrase, thread, language, questions)
            self._slack.post(None, thread, reply_key(thread, message.ts), answer.text, answer.blocks or None)
        except OursToFix as error:
            log.warning("answer_not_posted", phrase=phrase, thread=message.thread.id, error=error)

    def _questions(self, thread: ThreadKey, language: Language) -> tuple[str, ...]:
        """Questions that fit the files which the thread has."""
        steps = (step for turn in self._store.thread_steps(thread.id).values() for step in turn)
        return suggestions([file for step in steps if isinstance(step, Briefed) for file in step.files], language)

    def _names_in_time(self) -> Callable[[str], str]:
        """Names for one event: those that Slack gives in time, ids for the rest."""
        deadline = time.monotonic() + NAME_WAIT_S

        def name_of(user_id: str) -> str:
            try:
                return self._looked_up(lambda: self._slack.user_name(user_id), max(0.0, deadline - time.monotonic()))
            except FutureTimeout:
                return user_id

        return name_of

    def _looked_up(self, look: Callable[[], _Found], seconds: float | None = None) -> _Found:
        """What a look-up finds, within `NAME_WAIT_S` or so many seconds. Raises FutureTimeout.

        One that has not begun by then is taken out: nobody waits for it, and it would delay the look-ups of others.
        """
        asked: Future[_Found] = self._lookups.submit(copy_context().run, look)
        try:
            return asked.result(timeout=NAME_WAIT_S if seconds is None else seconds)
        except FutureTimeout:
            asked.cancel()
            raise

    def _submit(self, work: Callable[..., None], *arguments: Any) -> None:
        def guarded() -> None:
            try:
                work(*arguments)
            except Exception:
                log.exception("after_ack_failed", work=work.__name__)

        self._later.submit(copy_context().run, guarded)  # the fields of the log lines are kept in the other thread


def _is_press(message: IncomingMessage) -> bool:
    """Whether a command came by a button that names a turn: there is no message to put a sign on."""
    return message.text.startswith(f"{message.thread.id}/")


def _is_option(text: str, steps: Sequence[Step]) -> bool:
    """Whether a text is an option of the open question: then it is an answer, also when it is a command elsewhere."""
    question = open_question(steps)
    return question is not None and option_of(text, question) is not None
