"""The threads of the app's home: those of a person by their state, and what waits for a yes of theirs."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from bot.handling import Handling
from bot.home.person import Person
from core.actions import Action
from core.held_files import held_files
from core.phrases import say
from core.slack.views import home as drawn
from core.slack.views.home import Entry
from core.slack.writing.writer import SlackWriter
from core.steps import open_question
from core.store import Store
from core.store.overview import Glance
from core.values import Language, ThreadKey

SINCE: Final = timedelta(days=90)
"""How far back a person's threads go."""
MOST_THREADS, MOST_WAITING = 60, 40


class Listed(NamedTuple):
    """What the page lists by heading, and how many more there are of each."""

    entries: dict[str, tuple[Entry, ...]]
    more: dict[str, int]


class HomeThreads:
    """Lists threads and approvals. A person sees only those in channels that they are in."""

    def __init__(self, store: Store, slack: SlackWriter, handler: Handling) -> None:
        self._store = store
        self._slack = slack
        self._handler = handler

    def listed(self, person: Person, together: frozenset[str] | None) -> Listed:
        """The threads that wait, run and are done, under "waiting", "running" and "done", and the "approvals".

        `together` are the channels of the person; None when Slack does not tell.
        """
        glances = self._store.threads_of(person.team, person.user, datetime.now(UTC) - SINCE, MOST_THREADS)
        mine = [glance for glance in glances if _is_seen(glance.thread_id, together)]
        approvals = self._approvals(person, together, {glance.thread_id for glance in glances})
        lists = {
            "waiting": [glance for glance in mine if glance.state == "waiting"],
            "running": [glance for glance in mine if glance.state == "running"],
            "done": [glance for glance in mine if glance.state in ("done", "stopped", "failed")],
        }
        entries = {state: self._entries(found[: drawn.LISTED], person) for state, found in lists.items()}
        more = {state: len(found) - drawn.LISTED for state, found in lists.items() if len(found) > drawn.LISTED}
        entries["approvals"] = tuple(approvals[: drawn.LISTED])
        if len(approvals) > drawn.LISTED:
            more["approvals"] = len(approvals) - drawn.LISTED
        return Listed(entries, more)

    def _entries(self, glances: Iterable[Glance], person: Person) -> tuple[Entry, ...]:
        found = []
        for glance in glances:
            about = ""
            if glance.state == "waiting":
                question = open_question(self._store.steps(glance.turn_id))
                about = question.question if question is not None else ""
            elif glance.state in ("stopped", "failed"):
                about = say(f"home_{glance.state}", person.language)
            found.append(Entry(self._url(glance.thread_id), glance.title, about))
        return tuple(found)

    def _approvals(self, person: Person, together: frozenset[str] | None, mine: set[str]) -> list[Entry]:
        """What waits for a yes of somebody, where this person may say it and may see the thread."""

        def may(key: ThreadKey) -> bool:
            is_seen = key.channel in (together or ()) or (together is None and key.id in mine)
            if key.channel.startswith("D"):
                is_seen = key.id in mine
            return is_seen and bool(self._handler.gate.verdict_on(person.user, key, Action.APPROVE))

        turns = self._store.waiting_turns(person.team, MOST_WAITING)
        questions = ((turn, open_question(self._store.steps(turn.id))) for turn in turns)
        found = [
            self._entry(turn.thread_id, question.question)
            for turn, question in questions
            if question is not None and question.approval is not None and may(ThreadKey.parse(turn.thread_id))
        ]
        since = datetime.now(UTC) - SINCE
        for thread_id in self._store.threads_with_held_files(person.team, since, MOST_WAITING):
            if may(ThreadKey.parse(thread_id)):
                found += [self._entry(thread_id, about) for about in self._held(thread_id, person.language)]
        return found

    def _held(self, thread_id: str, language: Language) -> list[str]:
        """A line for each question about files of a thread that is open."""
        now = datetime.now(UTC).timestamp()
        questions = held_files(self._store.thread_steps(thread_id).values())
        return [
            f"{say('files_question', language, count=len(each.held.files))} "
            + ", ".join(file.name for file in each.held.files)
            for each in questions
            if each.is_open and each.held.until >= now
        ]

    def _entry(self, thread_id: str, question: str) -> Entry:
        return Entry(self._url(thread_id), question, self._store.title_of(thread_id))

    def _url(self, thread_id: str) -> str:
        return drawn.thread_url(self._slack.workspace_url(), ThreadKey.parse(thread_id))


def _is_seen(thread_id: str, together: frozenset[str] | None) -> bool:
    """Whether a thread of their own is still shown to a person: not when they have left its channel since."""
    channel = ThreadKey.parse(thread_id).channel
    return together is None or channel.startswith("D") or channel in together
