"""Signs in a thread that an answer does not need: reactions, the status line, Slack's view of an agent at work.

None of it waits for a rate budget and none fails the caller. What a workspace's Slack does not offer is logged once and
skipped from then on, by all our processes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError

from core.slack.client import LOST, NOT_OFFERED, describe, error_name, rates_of
from core.slack.outbox import Outbox
from core.slack.rates import decorative
from core.slack.reader import SlackReader
from core.slack.text import clip, without_pings
from core.slack.without import Without
from core.telemetry import get_logger
from core.values import Lease, ThreadKey

log = get_logger(__name__)

AgentSession = Literal["processing", "suspended", "active"]

UPLOAD = "files.getUploadURLExternal"
_REACT, _UNREACT = "reactions.add", "reactions.remove"
_WHISPER, _FORM, _PAGE = "chat.postEphemeral", "views.open", "views.update"
_STATUS, _SESSION = "assistant.threads.setStatus", "agents.sessions.setStatus"
_NOTHING_TO_DO = {"already_reacted", "no_reaction"}


class Niceties(SlackReader):
    """Adds to what its base class reads. With a lease, each raises LeaseLost once another worker has the thread."""

    def __init__(self, client: WebClient, outbox: Outbox) -> None:
        super().__init__(client)
        self._once = client
        self._outbox = outbox
        rates = rates_of(client)
        self._without = Without(
            rates.redis if rates else None, (_REACT, _UNREACT, _STATUS, _SESSION, _WHISPER, _FORM, _PAGE, UPLOAD)
        )

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
            lambda: self._once.assistant_threads_setStatus(
                channel_id=key.channel, thread_ts=key.root_ts, status=clip(text, 100)
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
    ) -> None:
        """A sentence in the thread that only this person sees, until they reload. `text` is mrkdwn, escaped."""
        self._nicety(
            lease,
            key,
            _WHISPER,
            lambda: self._once.chat_postEphemeral(
                channel=key.channel, thread_ts=key.root_ts, user=user, text=without_pings(text), blocks=blocks
            ),
        )

    def open_form(self, key: ThreadKey, trigger_id: str, view: dict[str, Any]) -> bool:
        """Open a modal for the person who pressed; False when Slack did not. A trigger counts for three seconds."""
        opened = False

        def call() -> None:
            nonlocal opened
            self._once.views_open(trigger_id=trigger_id, view=view)
            opened = True

        self._nicety(None, key, _FORM, call)
        return opened

    def update_form(self, key: ThreadKey, view_id: str, shown: str, view: dict[str, Any]) -> None:
        """Show something else in an open modal, unless it changed since `shown`, the hash that the press came with."""
        self._nicety(None, key, _PAGE, lambda: self._once.views_update(view_id=view_id, hash=shown or None, view=view))

    def _check(self, lease: Lease | None) -> None:
        if lease is not None:
            self._outbox.check(lease)

    def _nicety(self, lease: Lease | None, key: ThreadKey, method: str, call: Callable[[], object]) -> None:
        if self._without.error(key.team, method):
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
                self._without.note(key.team, method, name)
        except (SlackClientError, *LOST) as error:
            log.info("nicety_failed", method=method, error=describe(error))
