"""Says what a person may do, within the time that Slack's ack leaves. Who may not is told why.

The worker asks again before it reads a message: what Slack does not tell in time stays open until then. Where nobody
asks again, as for a look at a report, it counts as no.
"""

from __future__ import annotations

from bot.background import Background
from bot.finding import Sight
from bot.pressed import pressed
from core.access import ALLOWED, Verdict, is_pressed
from core.actions import Action
from core.authorization import Authorizer
from core.errors import OursToFix
from core.phrases import say
from core.settings import Settings
from core.slack.text import escape
from core.slack.writing.writer import SlackWriter
from core.steps import Step
from core.store import Store
from core.telemetry import get_logger
from core.thread_cells import Held
from core.values import IncomingMessage, Standing, ThreadKey

log = get_logger(__name__)

_UNKNOWN = Verdict("look_unknown")


class Gate:
    """Asks `core/authorization.py` for the bot, and tells people what they may not."""

    def __init__(self, settings: Settings, store: Store, slack: SlackWriter, background: Background) -> None:
        self._settings = settings
        self._store = store
        self._slack = slack
        self._background = background
        self._access = Authorizer(settings, store, slack)
        self.sight = Sight(settings, store, slack, self._access)
        """Says which threads a person may see."""

    def admit(self, message: IncomingMessage) -> Standing | None:
        """What is known of the author, "" if nothing yet; None when they may not do what the message does.

        Then they are told.
        """

        def ask() -> tuple[Standing, Action, Verdict]:
            standing = self._access.standing(message)
            return standing, *self._access.verdict(message, standing, lambda: self._open_steps(message))

        unknown: tuple[Standing, Action, Verdict] = ("", Action.ASK, ALLOWED)
        standing, action, verdict = self._background.told(ask, otherwise=unknown)
        if verdict:
            return standing
        self._background.after_ack(self._refuse, message, action, verdict.phrase)
        return None

    def may(self, message: IncomingMessage) -> bool:
        """Whether its author may do what the message does; if not, they are told. The message is not kept."""
        return self.admit(message) is not None

    def may_look(
        self, message: IncomingMessage, held: Held, *, by_window: bool = False, as_approver: bool = False
    ) -> bool:
        """Whether its author may see what a report rests on; if not, they are told.

        The person must be allowed to have the data that the thread held. By a window comes a press of somebody who is
        perhaps not in the channel: then they must be able to read it. Whoever may approve may read what they approve.
        """

        def ask() -> Verdict:
            own = {message.team, *self._settings.access.own_teams}
            if by_window and not self._slack.may_read(message.channel, message.user, own):
                return Verdict("access_refused")
            verdict = self._access.may(message, Action.LOOK)
            if not verdict and as_approver and self._access.may(message, Action.APPROVE):
                verdict = ALLOWED
            return verdict and self._access.may_have(message.user, message.thread, held)

        verdict = self._background.told(ask, otherwise=_UNKNOWN)
        if not verdict:
            self._background.after_ack(self._refuse_look, message, verdict)
        return bool(verdict)

    def verdict_on(self, user: str, thread: ThreadKey, action: Action) -> Verdict:
        """Whether a person may do this in a thread; what Slack does not tell in time counts as no."""
        message = pressed(thread, user, thread.root_ts)
        return self._background.told(lambda: self._access.may(message, action), otherwise=_UNKNOWN)

    def may_ask(self, user: str, thread: ThreadKey, source: str) -> bool:
        """Whether a person may ask a data source in a thread; what Slack does not tell in time counts as no."""
        return bool(self._background.told(lambda: self._access.may_ask(source, thread, {user}), otherwise=_UNKNOWN))

    def may_have(self, user: str, thread: ThreadKey, held: Held) -> bool:
        """Whether a person may have the data of a thread; what Slack does not tell in time counts as no."""
        return bool(self._background.told(lambda: self._access.may_have(user, thread, held), otherwise=_UNKNOWN))

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

    def _refuse_look(self, message: IncomingMessage, verdict: Verdict) -> None:
        thread, language = message.thread, self._slack.user_language(message.user)
        key = f"{thread.id}/refused:{message.user}:{verdict.phrase}:{message.ts}"
        self._store.audit(message.user, Action.LOOK.value, thread.id, "refused", key=key)
        author = escape(self._slack.user_name(message.user))
        names = {"source": escape(verdict.source), "server": escape(verdict.server)}
        text = say(verdict.phrase, language, author=author, **names)
        self._slack.whisper(thread, message.user, text)
