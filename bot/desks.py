"""What handles the events of one workspace: a set of handlers for each, made when it is first needed."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from bot.home.home import Home
from bot.message_handler import MessageHandler
from bot.presses.approvals import Approvals
from bot.presses.held_files import HeldFiles
from bot.presses.memory import Proposals
from bot.presses.menu import MessageMenu
from bot.presses.model_choice import ModelChoices
from bot.presses.reports import Reports
from bot.presses.steps import Steps
from core.store import Store

MOST_DESKS = 200


class Desk:
    """The handlers of one workspace. None of them keeps anything in memory that the Store or Slack does not have."""

    def __init__(self, store: Store, handler: MessageHandler) -> None:
        self.handler = handler
        self.approvals = Approvals(store, handler.slack, handler)
        self.held_files = HeldFiles(store, handler.slack, handler)
        self.menu = MessageMenu(store, handler.slack, handler)
        self.reports = Reports(store, handler.slack, handler)
        self.steps = Steps(store, handler.slack, handler)
        self.proposals = Proposals(store, handler.slack, handler)
        self.models = ModelChoices(store, handler.slack, handler)
        self.home = Home(store, handler.slack, handler)
        self.entries = self.home.entries


class Desks:
    """The desks of all workspaces. Safe to share between threads."""

    def __init__(self, store: Store, handler_of: Callable[[str], MessageHandler], *, many: bool) -> None:
        """`handler_of` makes the handler of a workspace, and may raise NotInstalled. Without `many` there is one."""
        self._store = store
        self._handler_of = handler_of
        self._many = many
        self._desks: OrderedDict[str, Desk] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, team: str) -> Desk:
        """The desk of a workspace. Raises what `handler_of` raises."""
        team = team if self._many else ""
        with self._lock:
            if (found := self._desks.get(team)) is not None:
                self._desks.move_to_end(team)
                return found
        desk = Desk(self._store, self._handler_of(team))
        with self._lock:
            desk = self._desks.setdefault(team, desk)
            while len(self._desks) > MOST_DESKS:
                self._desks.popitem(last=False)
        return desk
