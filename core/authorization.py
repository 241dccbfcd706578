"""Gathers what `may` has to know of a person and of a thread: from the message, from Slack, from the Store."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import chain

from core.access import ALLOWED, Person, Resource, Verdict, action_of, may
from core.actions import ASKER, MEMBERS, THREAD, Action
from core.settings import Settings
from core.slack.reading.reader import SlackReader
from core.steps import Asked, Step, open_question, user_of
from core.store import Store
from core.team_settings import McpSettings, SourceSettings
from core.thread_cells import Held
from core.values import IncomingMessage, Standing, ThreadKey

_OF_YOU = {"source_person": "source_you", "tool_person": "tool_you"}
"""The sentences about everybody in a question, as they are said of one person to them."""
Turn = Sequence[Step] | None
"""The steps of the thread's open turn; None without one."""


class Authorizer:
    """Asks `may` about messages. Safe to share between threads of one process."""

    def __init__(self, settings: Settings, store: Store, slack: SlackReader) -> None:
        self._settings = settings
        self._store = store
        self._slack = slack

    def standing(self, message: IncomingMessage) -> Standing:
        """What Slack says of the author, looked up unless the message has it. Raises SlackUnreachable."""
        own = {message.team, *self._settings.access.own_teams}
        return message.standing or self._slack.standing(message.user, own)

    def verdict(self, message: IncomingMessage, standing: Standing, turn: Callable[[], Turn]) -> tuple[Action, Verdict]:
        """What the message would do to its thread, and whether its author may. Raises SlackUnreachable.

        `turn` gives the steps of the thread's open turn.
        """
        steps = turn()
        question = open_question(steps) if steps is not None else None
        action = action_of(message.kind, message.text, is_open=steps is not None, question=question)
        return action, may(self._person(message, standing, action), action, self._thread(message, action, steps))

    def may(self, message: IncomingMessage, action: Action) -> Verdict:
        """Whether the author of a press may do this to the message's thread. Raises SlackUnreachable."""
        person = self._person(message, self.standing(message), action)
        return may(person, action, self._thread(message, action, None))

    def may_ask(self, source: str, thread: ThreadKey, people: Collection[str]) -> Verdict:
        """Whether cells of this thread may ask a data source, for all of these people. Raises SlackUnreachable.

        Each person must satisfy the channel's rule for `query`, and the rule of the source, if it has one.
        """
        given = self._settings.sources.get(source)
        if given is None:
            return Verdict("source_gone", source)
        if given.channels and thread.channel not in given.channels:
            return Verdict("source_channel", source)
        own = {thread.team, *self._settings.access.own_teams}
        if not given.outsiders and (seen := self._slack.outsiders_in(thread.channel, own)) != "none":
            return Verdict("source_outsiders" if seen == "some" else "source_unknown_readers", source)
        admins = frozenset(self._settings.access.admins)
        rules = [self._settings.access_rules(thread.channel)]
        rules += [{Action.QUERY: given.people}] if given.people else []
        named = {name for rule in rules for name in rule[Action.QUERY]} | admins
        for user in people:
            groups = self._slack.groups_of(user, {name for name in named if name.startswith("S")})
            person = Person(user, self._slack.standing(user, own), groups)
            asker = self._store.thread_asker(thread.id)
            for rule in rules:
                resource = Resource(source, rule, frozenset({asker or user}), admins, frozenset(people))
                if not may(person, Action.QUERY, resource):
                    return Verdict("source_person", source)
        return ALLOWED

    def may_call(self, server: str, thread: ThreadKey, people: Collection[str]) -> Verdict:
        """Whether cells of this thread may call tools of a server, for all of these people. Raises SlackUnreachable."""
        given = self._settings.mcp.get(server)
        if given is None:
            return Verdict("tool_gone", server=server)
        if given.channels and thread.channel not in given.channels:
            return Verdict("tool_channel", server=server)
        own = {thread.team, *self._settings.access.own_teams}
        if not given.outsiders and self._slack.outsiders_in(thread.channel, own) != "none":
            return Verdict("tool_outsiders", server=server)
        rules = self._settings.access_rules(thread.channel)
        admins = frozenset(self._settings.access.admins)
        groups = {name for name in {*rules[Action.CALL], *admins} if name.startswith("S")}
        asker = self._store.thread_asker(thread.id)
        for user in people:
            person = Person(user, self._slack.standing(user, own), self._slack.groups_of(user, groups))
            resource = Resource(server, rules, frozenset({asker or user}), admins, frozenset(people))
            if not may(person, Action.CALL, resource):
                return Verdict("tool_person", server=server)
        return ALLOWED

    def may_have(self, user: str, thread: ThreadKey, held: Held) -> Verdict:
        """Whether a person may ask every data source and call every server whose data a thread has. Raises
        SlackUnreachable."""
        asked = (self.may_ask(source, thread, {user}) for source in held.sources)
        called = (self.may_call(server, thread, {user}) for server in held.servers)
        refused = next((verdict for verdict in chain(asked, called) if not verdict), ALLOWED)
        return replace(refused, phrase=_OF_YOU.get(refused.phrase, refused.phrase))

    def all_may_have(self, thread: ThreadKey, held: Held) -> bool:
        """Whether the rules let everybody who reads the thread have this data: all members, and no outsider is there
        unless the source or server allows outsiders. Raises SlackUnreachable."""
        if thread.channel.startswith("D"):
            return True  # its only reader wrote there, and was asked about
        sources = (self._is_for_all(self._settings.sources.get(name), Action.QUERY, thread) for name in held.sources)
        servers = (self._is_for_all(self._settings.mcp.get(name), Action.CALL, thread) for name in held.servers)
        return all(chain(sources, servers))

    def _is_for_all(self, given: SourceSettings | McpSettings | None, action: Action, thread: ThreadKey) -> bool:
        if given is None or (given.channels and thread.channel not in given.channels):
            return False
        if MEMBERS not in self._settings.access_rules(thread.channel)[action]:
            return False
        if isinstance(given, SourceSettings) and given.people and MEMBERS not in given.people:
            return False
        own = {thread.team, *self._settings.access.own_teams}
        return given.outsiders or self._slack.outsiders_in(thread.channel, own) == "none"

    def may_approve(self, user: str, thread: ThreadKey) -> Verdict:
        """Whether this person may decide what runs in the thread. Raises SlackUnreachable."""
        message = IncomingMessage(
            team=thread.team, channel=thread.channel, channel_type="", ts="", root_ts=thread.root_ts, user=user, text=""
        )
        person = self._person(message, self.standing(message), Action.APPROVE)
        return may(person, Action.APPROVE, self._thread(message, Action.APPROVE, None))

    def _person(self, message: IncomingMessage, standing: Standing, action: Action) -> Person:
        named = {*self._settings.access_rules(message.channel)[action], *self._settings.access.admins}
        groups = {name for name in named if name.startswith("S")}
        return Person(message.user, standing, self._slack.groups_of(message.user, groups))

    def _thread(self, message: IncomingMessage, action: Action, steps: Turn) -> Resource:
        rules = self._settings.access_rules(message.channel)
        askers: set[str] = set()
        if ASKER in rules[action]:
            own = [step for step in steps or () if not (isinstance(step, Asked) and step.overheard)]
            began = [user_of(step) for step in own[:1]]
            # A thread without a message yet is begun by this one.
            askers = {self._store.thread_asker(message.thread.id) or message.user, *began} - {""}
        writers = self._store.thread_writers(message.thread.id) if THREAD in rules[action] else frozenset()
        admins = frozenset(self._settings.access.admins)
        return Resource(message.thread.id, rules, frozenset(askers), admins, writers)
