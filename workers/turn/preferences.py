"""The choices that people made in Slack, as they apply to a turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from core.adjusting import adjusted
from core.commands.registry import NOTE
from core.preferences import WORKSPACE, ChannelPreferences, PersonPreferences
from core.rows import StoredMessage
from core.steps import Instruction, Preferred
from core.store.thread_state import ThreadState
from core.values import ThreadKey
from workers.agent.thread.inbox import overheard
from workers.turn.context import TurnContext


def by_choice(context: TurnContext, state: ThreadState) -> TurnContext:
    """The context with what admins chose for the workspace, where threadbook.toml leaves it open."""
    chosen = state.preferences.get(WORKSPACE)
    return replace(context, settings=adjusted(context.settings, chosen)) if chosen else context


def asker_of(mail: Sequence[StoredMessage]) -> StoredMessage | None:
    """The message that begins a turn; None when there is none."""
    talk = overheard(mail)
    words = [message for message in mail if message.kind != NOTE]
    return next((message for message in words if message.id not in talk), words[0] if words else None)


def preferences_of(message: StoredMessage | None, state: ThreadState) -> PersonPreferences:
    """What the author of a message chose for themselves."""
    return PersonPreferences.read(state.preferences.get(message.user) if message else None)


def preferred(context: TurnContext, mail: Sequence[StoredMessage], state: ThreadState) -> Preferred | None:
    """What holds for a turn that begins with this mail; None when nobody chose anything that its model has to know."""
    message = asker_of(mail)
    person = preferences_of(message, state)
    channel = ChannelPreferences.read(state.preferences.get(ThreadKey.parse(state.thread_id).channel))
    wishes = (
        Instruction(of="channel", text=channel.instructions),
        Instruction(of="person", text=person.instructions),
    )
    model = person.model if person.model in context.models else ""
    found = Preferred(
        user=message.user if message else "",
        author=(message.author or context.slack.user_name(message.user)) if message else "",
        staged=person.staged,
        model=model,
        instructions=tuple(each for each in wishes if each.text.strip()),
    )
    return found if found.staged or found.model or found.instructions else None
