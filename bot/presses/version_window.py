"""The window with the versions of a message, and its buttons that turn to another one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.handling import Handling
from bot.payloads import read_press
from bot.pressed import Used, pressed
from bot.presses.versions import versions_of
from core.interactions import VersionButton
from core.slack.views.modals import View
from core.slack.views.versions import version_view
from core.slack.writing.writer import SlackWriter
from core.store import Store
from core.thread_cells import told_from
from core.values import ThreadKey


class VersionWindow:
    """Draws it, and listens to `VersionButton`. Nothing is kept in memory."""

    def __init__(self, store: Store, slack: SlackWriter, handler: Handling) -> None:
        self._store = store
        self._slack = slack
        self._handler = handler

    def has_several(self, thread: ThreadKey, ts: str) -> bool:
        """Whether there is more than one version of a message."""
        return len(versions_of(self._store, thread, ts, self._slack.user_name)[0]) > 1

    def turn(self, body: Mapping[str, Any], team: str) -> str:
        """Show another version in an open window. Returns the outcome, a word for the log."""
        press = read_press(body)
        button = VersionButton.decode(press.value) if press else None
        thread = ThreadKey.parse(button.thread) if button else None
        if press is None or button is None or thread is None or thread.team != team or not press.view:
            return "malformed"
        used = Used(thread, press.user, press.view, self._slack.user_language(press.user))
        view = self.view(used, button)
        if view is None:
            return "refused"
        self._slack.update_form(thread, press.view, press.view_hash, view)
        return "turned"

    def view(self, used: Used, button: VersionButton) -> View | None:
        """A version of a message; None if there is none, or if the person may not see it. The person is told."""
        versions, author = versions_of(self._store, used.thread, button.ts, self._slack.user_name)
        held = told_from(list(self._store.thread_steps(used.thread.id).values()))
        look = pressed(used.thread, used.user, button.ts)
        if not versions or not self._handler.gate.may_look(look, held, by_window=True):
            return None
        return version_view(button, versions, used.language, is_author=bool(author) and author == used.user)
