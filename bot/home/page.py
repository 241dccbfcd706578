"""Everything that the app's home shows to a person, read from the Store and from Slack each time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from redis import RedisError

from bot.handling import Handling
from bot.home.entries import TeamEntries
from bot.home.own_threads import HomeThreads
from bot.home.person import HOME_TS, Person
from bot.home.schedules import TeamSchedules
from bot.home.threads import ThreadList
from core.actions import Action
from core.adjusting import ADJUSTABLE, adjusted, choices_of, is_of_file, value_of
from core.phrases import number, say
from core.preferences import WORKSPACE, ChannelPreferences
from core.settings import Settings
from core.slack.views import home as drawn
from core.slack.views.home import AdminPage, Entry, HomePage, SettingEntry, SourceEntry, Usage
from core.slack.writing.writer import SlackWriter
from core.store import Store, start_of_day
from core.telemetry import get_logger
from core.values import Language, ThreadKey

log = get_logger(__name__)

MONTH: Final = timedelta(days=30)
MOST_CHANNELS = 10


class HomePages:
    """Reads the page of one person after the other."""

    def __init__(
        self,
        store: Store,
        slack: SlackWriter,
        handler: Handling,
        *,
        entries: TeamEntries,
        schedules: TeamSchedules,
        threads: ThreadList,
    ) -> None:
        self._store = store
        self._slack = slack
        self._handler = handler
        self._entries, self._schedules, self._threads = entries, schedules, threads
        self._lists = HomeThreads(store, slack, handler)

    def page(self, person: Person) -> HomePage:
        """Everything that the home of this person shows."""
        team, user = person.team, person.user
        currency = self._handler.settings.budget.currency
        if not (verdict := self._handler.gate.verdict_on(user, person.place, Action.ASK)):
            refusal = say(verdict.phrase, person.language, author=self._slack.user_name(user))
            return HomePage(person.language, currency, refusal=refusal)
        chosen = self._store.preferences(team, [WORKSPACE]).get(WORKSPACE, {})
        settings = adjusted(self._handler.settings, chosen)
        together = self._slack.shared_channels(user)
        listed = self._lists.listed(person, together)
        entries, more = listed.entries, listed.more
        pinned, more["pinned"] = self._threads.pinned(person.reader, drawn.LISTED)
        schedules, more["schedules"] = self._schedules.entries(person.reader)
        sources, hidden = self._sources(person, settings)
        channels = None if together is None else tuple(sorted(together))
        return HomePage(
            language=person.language,
            currency=currency,
            waiting=entries["waiting"],
            running=entries["running"],
            done=entries["done"],
            pinned=tuple(Entry(url, title) for url, title in pinned),
            approvals=entries["approvals"],
            more=more,
            usage=self._usage(person, settings, person.language),
            preferences=person.chosen,
            models=tuple(settings.models),
            channels=channels,
            instructed=self._instructed(team, channels or ()),
            sources=tuple(sources),
            hidden_sources=hidden,
            memory=self._entries.places(person.reader),
            schedules=schedules,
            admin=self._admin(person, settings, chosen),
        )

    def _usage(self, person: Person, settings: Settings, language: Language) -> Usage:
        budget = settings.budget
        limits = [
            *(
                [say("report_tokens", language, count=number(budget.person_day_tokens, language))]
                if budget.person_day_tokens
                else []
            ),
            *([f"{number(budget.person_day_cost, language)} {budget.currency}"] if budget.person_day_cost else []),
        ]
        team = self._handler.settings.counted_team(person.team)
        today = self._store.spent(user=person.user, since=start_of_day(), team=team)
        month = self._store.spent(user=person.user, since=datetime.now(UTC) - MONTH, team=team)
        return Usage(today, month, ", ".join(limits))

    def _sources(self, person: Person, settings: Settings) -> tuple[list[SourceEntry], int]:
        """The data sources that the person may ask somewhere, and how many others there are."""
        found, hidden = [], 0
        for name, source in settings.sources.items():
            if not source.channels and self._handler.gate.may_ask(person.user, person.place, name):
                found.append(SourceEntry(name, source.description))
                continue
            asked = [channel for channel in source.channels if self._may_ask_in(channel, person, name)]
            if asked:
                found.append(SourceEntry(name, source.description, tuple(asked)))
            else:
                hidden += 1
        return found, hidden

    def _may_ask_in(self, channel: str, person: Person, source: str) -> bool:
        together = self._slack.shared_channels(person.user) or frozenset()
        is_theirs = channel in together or channel == person.place.channel
        return is_theirs and self._handler.gate.may_ask(person.user, ThreadKey(person.team, channel, HOME_TS), source)

    def _instructed(self, team: str, channels: tuple[str, ...]) -> dict[str, str]:
        found = self._store.preferences(team, channels) if channels else {}
        return {channel: ChannelPreferences.read(body).instructions for channel, body in found.items()}

    def _admin(self, person: Person, settings: Settings, chosen: Mapping[str, Any]) -> AdminPage | None:
        if not self._handler.gate.verdict_on(person.user, person.place, Action.SETTINGS):
            return None
        by_channel = self._store.spent_by_channel(person.team, datetime.now(UTC) - MONTH, MOST_CHANNELS)
        entries = tuple(setting_entry(self._handler.settings, settings, chosen, name) for name in ADJUSTABLE)
        return AdminPage(entries, tuple(by_channel), self._health(person.language))

    def _health(self, language: Language) -> tuple[str, ...]:
        """The health of the installation. If many workspaces share it, an admin learns only whether it runs."""
        is_shared = self._handler.settings.many_workspaces
        try:
            seen = self._handler.seen()
        except RedisError as error:
            log.warning("health_unknown", error=error)
            return (say("home_runs_not" if is_shared else "home_no_redis", language),)
        if is_shared:
            return (say("home_runs" if seen.nodes else "home_runs_not", language),)
        lines = [
            say(
                "home_node",
                language,
                node=node.id,
                seconds=f"{node.seen_s_ago:.0f}",
                workers=node.about.get("workers", "?"),
                sandbox=node.about.get("sandbox", "?"),
            )
            for node in seen.nodes
        ]
        lines = lines or [say("home_no_nodes", language)]
        return (*lines, say("home_queued", language, count=sum(seen.queues.values()), unread=seen.waiting))


def setting_entry(given: Settings, settings: Settings, chosen: Mapping[str, Any], name: str) -> SettingEntry:
    """A setting as it holds: `given` is what the file and the defaults say, `settings` what holds with the choices."""
    origin = "file" if is_of_file(given, name) else "slack" if name in chosen else "default"
    value = value_of(settings, name)
    shown = f"{value:g}" if isinstance(value, float) else str(value)
    return SettingEntry(name, shown, origin, choices_of(name))
