"""Signs in a thread that an answer does not need: reactions, the status line, Slack's view of an agent at work.

None of it waits for a rate budget and none fails the caller. If a workspace's Slack does not offer one, this is logged
once, and all our processes skip it from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Literal

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError

from core.slack.blocks import PLAINER
from core.slack.client import LOST, NOT_OFFERED, describe, error_details, error_name, rates_of
from core.slack.rates import decorative
from core.slack.reading.reader import SlackReader
from core.slack.text import TEXT_POSTED
from core.slack.writing.message_forms import BLOCKS_REFUSED, simpler, written
from core.slack.writing.missing_features import MissingFeatures
from core.slack.writing.outbox import Outbox
from core.slack.writing.outgoing import (
    open_view,
    publish_view,
    set_status,
    set_title,
    slack_prompts,
    slack_text,
    slack_view,
    suggest_prompts,
    update_view,
    whisper,
)
from core.telemetry import get_logger
from core.values import Lease, ThreadKey

log = get_logger(__name__)

AgentSession = Literal["processing", "suspended", "active"]

UPLOAD = "files.getUploadURLExternal"
_REACT, _UNREACT = "reactions.add", "reactions.remove"
_WHISPER, _FORM, _PAGE = "chat.postEphemeral", "views.open", "views.update"
_HOME = "views.publish"
_TITLE, _PROMPTS = "assistant.threads.setTitle", "assistant.threads.setSuggestedPrompts"
_STATUS, _SESSION = "assistant.threads.setStatus", "agents.sessions.setStatus"
_NOTHING_TO_DO = {"already_reacted", "no_reaction", "hash_conflict"}


class Niceties(SlackReader):
    """Adds to what its base class reads. With a lease, each raises LeaseLost once another worker has the thread."""

    def __init__(self, client: WebClient, outbox: Outbox) -> None:
        super().__init__(client)
        self._once = client
        self._outbox = outbox
        rates = rates_of(client)
        refusable = (_REACT, _UNREACT, _STATUS, _SESSION, _WHISPER, _FORM, _PAGE, _HOME, _TITLE, _PROMPTS)
        # A kind of block that a workspace does not have is remembered like a method.
        self._missing_features = MissingFeatures(rates.redis if rates else None, (*refusable, UPLOAD, *PLAINER))

    def react(self, key: ThreadKey, ts: str, name: str, *, lease: Lease | None = None) -> None:
        """Add an emoji to a message."""
        self._nicety(
            lease,
            key,
            _REACT,
            lambda: self._once.reactions_add(channel=key.channel, timestamp=ts, name=name),
        )

    def unreact(self, key: ThreadKey, ts: str, name: str, *, lease: Lease | None = None) -> None:
        """Remove our emoji from a message."""
        self._nicety(
            lease,
            key,
            _UNREACT,
            lambda: self._once.reactions_remove(channel=key.channel, timestamp=ts, name=name),
        )

    def set_status(self, key: ThreadKey, text: str, *, lease: Lease | None = None) -> None:
        """The line "<bot> <text>" under the thread. Slack clears it after two minutes and at our next message."""
        self._nicety(
            lease,
            key,
            _STATUS,
            lambda: set_status(
                self._once, channel=key.channel, thread_ts=key.root_ts, status=slack_text(text, limit=100)
            ),
        )

    def set_session(self, key: ThreadKey, state: AgentSession, *, lease: Lease | None = None) -> None:
        """Slack's own view of an agent at work: "processing" is what it shows its Stop button for."""
        self._nicety(
            lease,
            key,
            _SESSION,
            lambda: self._once.agents_sessions_setStatus(channel_id=key.channel, thread_ts=key.root_ts, status=state),
        )

    def set_title(self, key: ThreadKey, title: str) -> None:
        """What Slack calls a conversation of a direct message in its list."""
        self._nicety(
            None,
            key,
            _TITLE,
            lambda: set_title(
                self._once,
                channel=key.channel,
                thread_ts=key.root_ts,
                title=slack_text(" ".join(title.split()), limit=100),
            ),
        )

    def suggest_prompts(self, key: ThreadKey, prompts: list[dict[str, str]]) -> None:
        """Offer prompts in a direct message: in a thread of it, or for a new conversation when `root_ts` is ""."""
        self._nicety(
            None,
            key,
            _PROMPTS,
            lambda: suggest_prompts(
                self._once, channel=key.channel, thread_ts=key.root_ts or None, prompts=slack_prompts(prompts)
            ),
        )

    def check(self, lease: Lease) -> None:
        """Raise LeaseLost when another worker took the thread. For signs without a lease that follow at once."""
        self._outbox.check(lease)

    def whisper(
        self,
        key: ThreadKey,
        user: str,
        text: str,
        blocks: list[dict[str, Any]] | None = None,
        *,
        lease: Lease | None = None,
        known: Collection[str] = (),
        in_channel: bool = False,
    ) -> None:
        """A sentence in the thread that only this person sees, until they reload. `text` is mrkdwn, escaped.

        `in_channel`: beside the thread, which has no replies yet, so that Slack would show nothing in it.

        `known` are the web addresses that may stay links. When Slack refuses the blocks, their text is said instead.
        """
        message = written(text, blocks, TEXT_POSTED, known)
        root_ts = None if in_channel else key.root_ts

        def call() -> None:
            nonlocal message
            try:
                whisper(self._once, channel=key.channel, thread_ts=root_ts, user=user, **message)
            except SlackApiError as error:
                if error_name(error) not in BLOCKS_REFUSED or "blocks" not in message:
                    raise
                log.warning("blocks_refused", method=_WHISPER, error=error_name(error), why=error_details(error))
                message = simpler(message, TEXT_POSTED)
                call()

        self._nicety(lease, key, _WHISPER, call)

    def open_form(self, key: ThreadKey, trigger_id: str, view: dict[str, Any]) -> bool:
        """Open a modal for the person who pressed; False when Slack did not. A trigger counts for three seconds."""
        opened = False

        def call() -> None:
            nonlocal opened
            open_view(self._once, trigger_id=trigger_id, view=slack_view(view))
            opened = True

        self._nicety(None, key, _FORM, call)
        return opened

    def update_form(self, key: ThreadKey, view_id: str, shown: str, view: dict[str, Any]) -> None:
        """Show something else in an open modal, unless it changed since `shown`, the hash that the press came with."""
        drawn = slack_view(view)
        self._nicety(None, key, _PAGE, lambda: update_view(self._once, view_id=view_id, hash=shown or None, view=drawn))

    def publish_home(self, team: str, user: str, view: dict[str, Any], shown: str = "") -> bool:
        """Draw the app's home of a person. With `shown`, the hash of what they see, only if nobody drew it since.

        False when Slack did not: somebody may have drawn it meanwhile.
        """
        drawn = False

        def call() -> None:
            nonlocal drawn
            publish_view(self._once, user=user, hash=shown or None, view=slack_view(view))
            drawn = True

        self._nicety(None, ThreadKey(team, user, ""), _HOME, call)
        return drawn

    def _check(self, lease: Lease | None) -> None:
        if lease is not None:
            self._outbox.check(lease)

    def _nicety(self, lease: Lease | None, key: ThreadKey, method: str, call: Callable[[], object]) -> None:
        if self._missing_features.error(key.team, method):
            return
        self._check(lease)
        try:
            with decorative():
                call()
        except SlackApiError as error:
            name = error_name(error)
            if name in _NOTHING_TO_DO:
                return
            self._shortcomings.note(method, error)
            if name in NOT_OFFERED:
                self._missing_features.note(key.team, method, name)
        except (SlackClientError, *LOST) as error:
            log.info("nicety_failed", method=method, error=describe(error))
