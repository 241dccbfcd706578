"""The thread or the turns that an operator names: by an id, or by a link to a message in Slack."""

from __future__ import annotations

from collections.abc import Sequence

from core.errors import SettingsError
from core.rows import TurnRow
from core.store.history import History
from core.thread_links import link_in
from core.values import ThreadKey
from tryout.stack.running_stack import as_link


def one_thread(found: Sequence[str], workspace: str = "") -> str:
    """The one of the threads that is meant, of this workspace if one is given; "" when there is none.

    A link says no workspace: a channel that two workspaces share has one thread in each. Raises SettingsError then.
    """
    named = [thread_id for thread_id in found if workspace in ("", ThreadKey.parse(thread_id).team)]
    if len(named) > 1:
        raise SettingsError(
            "nothing was done: this link means a thread in each of several workspaces. Give the id of the one that "
            f"you mean: {', '.join(named)}."
        )
    return named[0] if named else ""


def turns_named(history: History, name: str) -> list[TurnRow]:
    """The turns that a name means, oldest first: a turn's id, a thread's id, or a link. Raises SettingsError."""
    link = as_link(name)
    return history.find((link_in(link) and one_thread(history.threads_named(link))) or link)
