"""Another thread that somebody names by a link: whether it may be shown here, to everybody who reads here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.actions import Action
from core.authorization import Authorizer
from core.commands.registry import argument_of
from core.phrases import say
from core.steps import Step
from core.thread_cells import Held
from core.thread_links import imported_name, lone_link
from core.values import IncomingMessage, ThreadKey
from workers.agent.about_steps import data_held
from workers.turn.access.messages import held_back
from workers.turn.commands.thread import CommandThread


class NotShown(Exception):
    """The other thread may not be shown here, or is not there. `text` says so to people."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


@dataclass(frozen=True, slots=True)
class OtherThread:
    """A thread, its steps as they are stored, and from where its rows and reports are."""

    key: ThreadKey
    turns: Sequence[Sequence[Step]]
    held: Held


def other_thread(thread: CommandThread) -> OtherThread:
    """The thread of the command's link. The author of the command can read it and may look there, everybody who reads
    here can read it too, and the person may ask the sources of its rows and reports. Nobody learns whether a thread
    that they may not see exists. Raises NotShown, SlackUnreachable.
    """
    context, command, here = thread.context, thread.command, thread.key
    named = _named(thread, argument_of(command.command, command.text))
    thread_id = next((each for each in named if _may_see(thread, ThreadKey.parse(each))), None)
    if thread_id is None:
        raise NotShown(say("link_unknown", thread.language))
    key = ThreadKey.parse(thread_id)
    if key == here:
        raise NotShown(say("link_here", thread.language))
    if key.channel != here.channel and not _may_come_here(thread, key):
        raise NotShown(say("link_private", thread.language))
    turns = list(context.store.thread_steps(thread_id).values())
    held = data_held(turns, with_reports=True)
    for place in {key, here}:
        if refusal := held_back(context, place, command.user, command.author, held):
            raise NotShown(refusal)
    return OtherThread(key, turns, held)


def _named(thread: CommandThread, said: str) -> list[str]:
    """The threads that a link, or the name of an imported conversation, may mean. Raises NotShown for other words."""
    store, team = thread.context.store, thread.key.team
    if (name := imported_name(said)) is not None:
        return store.imported_threads(team, name)
    link = lone_link(said)
    if link is None:
        raise NotShown(say("link_missing", thread.language))
    found = store.thread_at(team, link.channel, link.ts, link.root_ts)
    return [found] if found is not None else []


def _may_see(thread: CommandThread, key: ThreadKey) -> bool:
    context, user = thread.context, thread.command.user
    own = {key.team, *context.settings.access.own_teams}
    look = IncomingMessage(
        team=key.team, channel=key.channel, channel_type="", ts="", root_ts=key.root_ts, user=user, text=""
    )
    authorizer = Authorizer(context.settings, context.store, context.slack)
    return context.slack.may_read(key.channel, user, own) and bool(authorizer.may(look, Action.LOOK))


def _may_come_here(thread: CommandThread, key: ThreadKey) -> bool:
    """Whether everybody who reads here can read there: it is public, and no outsider is here."""
    context = thread.context
    own = {key.team, *context.settings.access.own_teams}
    return context.slack.is_public(key.channel) and context.slack.outsiders_in(thread.key.channel, own) == "none"
