"""The app's home: drawn when somebody opens it, and the presses and forms that change something there.

Everything is read from the Store and from Slack each time. Of threads and approvals a person sees those in channels
that they are in. What a form changes goes into the Store and holds from the next question on; changes for others than
oneself stand in the audit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Final, NamedTuple, Protocol, get_args

from redis import RedisError

from bot.entries import Reader, TeamEntries
from bot.finding import Sight
from bot.payloads import read_form, read_press
from bot.pressed import pressed
from bot.schedules import TeamSchedules
from bot.threads import ThreadList
from core.access import Verdict
from core.actions import Action
from core.adjusting import ADJUSTABLE, NotAllowed, adjusted, choices_of, is_money, is_of_file, parsed, value_of
from core.held_files import held_files
from core.interactions import ChannelsForm, DefaultsForm, HomeButton, InstructionsForm, SettingsForm, TourButton
from core.phrases import number, say
from core.preferences import (
    INSTRUCTION_CHARS,
    PROFILE_CHARS,
    PROFILES,
    WORKSPACE,
    ChannelPreferences,
    PersonPreferences,
    Profile,
)
from core.queue import Seen
from core.settings import Settings
from core.slack import home as drawn
from core.slack.approvals import View
from core.slack.home import AdminPage, Entry, HomePage, SettingEntry, SourceEntry, Usage
from core.slack.suggestions import as_prompts
from core.slack.text import escape
from core.slack.writer import SlackWriter
from core.steps import open_question
from core.store import Store, start_of_day
from core.store.overview import Glance
from core.telemetry import get_logger
from core.tour import SAMPLE
from core.values import IncomingMessage, Language, ThreadKey

log = get_logger(__name__)

SINCE: Final = timedelta(days=90)
"""How far back a person's threads go."""
MONTH: Final = timedelta(days=30)
PROMPTED_SOURCES: Final = 2
"""Data sources that a new conversation is offered a prompt about."""
MOST_THREADS, MOST_WAITING, MOST_CHANNELS = 60, 40, 10
HOME_TS: Final = "0.0"
"""The ts of the thread that a person's home stands for: nothing is ever posted there."""
_ERRORS: Final = "errors"

Ack = dict[str, Any]
"""What the ack of a submitted form says: {} closes it."""


class Takes(Protocol):
    """What takes messages in and knows who may what, as `MessageHandler` does."""

    @property
    def settings(self) -> Settings:
        """The settings of this process."""

    @property
    def sight(self) -> Sight:
        """Says which threads a person may see."""

    def in_time(self, work: Callable[[], None], seconds: float) -> bool:
        """Have something looked up; False when it took too long, or Slack does not tell it now."""

    def take_decision(self, message: IncomingMessage) -> None:
        """Keep the message and wake its thread. Raises when it was not kept: then no ack."""

    def may(self, message: IncomingMessage) -> bool:
        """Whether its author may do what it does; if not, they are told."""

    def verdict_on(self, user: str, thread: ThreadKey, action: Action) -> Verdict:
        """Whether a person may do this; what Slack does not tell in time counts as no."""

    def may_ask(self, user: str, thread: ThreadKey, source: str) -> bool:
        """Whether a person may ask a data source in a thread."""

    def seen(self) -> Seen:
        """What Redis knows of the nodes and of the queues. Raises redis.RedisError."""

    def after_ack(self, work: Callable[..., None], *arguments: Any) -> None:
        """Have something done that must not delay the ack."""


class _Person(NamedTuple):
    """Whose home it is: team and user, what they chose, the language of the page, their direct message."""

    team: str
    user: str
    chosen: PersonPreferences
    language: Language
    place: ThreadKey


class Home:
    """The listeners of `app_home_opened`, of `HomeButton` and `TourButton`, and of the forms of the home."""

    def __init__(self, store: Store, slack: SlackWriter, handler: Takes) -> None:
        self._store = store
        self._slack = slack
        self._handler = handler
        more = (store, slack, handler, self._reader, lambda team, user: self.draw(team, user, ""))
        self.entries, self.schedules, self.threads = TeamEntries(*more), TeamSchedules(*more), ThreadList(*more)

    # --- listeners

    def opened(self, event: Mapping[str, Any], team: str) -> str:
        """Draw the home of whoever opened it. Returns what comes of it, a word for the log."""
        user, view, tab = event.get("user"), event.get("view"), event.get("tab")
        if not isinstance(user, str) or not user:
            return "malformed"
        if tab == "messages" and isinstance(channel := event.get("channel"), str):
            self._handler.after_ack(self._suggest, team, user, channel)
            return "suggested"
        if tab != "home":
            return "another tab"
        shown = str(view.get("hash") or "") if isinstance(view, Mapping) else ""
        self._handler.after_ack(self.draw, team, user, shown)
        return "drawn"

    def press(self, body: Mapping[str, Any], team: str) -> str:
        """Do what a button says: draw anew, or open a form for whoever may use it."""
        press = read_press(body)
        button = HomeButton.decode(press.value) if press else None
        if press is None or button is None:
            return "malformed"
        user = press.user
        if button.do == "refresh":
            self._handler.after_ack(self.draw, team, user, "")
            return "drawn"
        person = self._person(team, user)
        view = self._form(button, person)
        if view is None:
            self._handler.after_ack(self.draw, team, user, "")
            return "refused"
        return "form" if self._slack.open_form(person.place, press.trigger, view) else "not opened"

    def submit(self, body: Mapping[str, Any], team: str) -> Ack:
        """Take in a form. Returns what its ack says. Raises StoreUnreachable: then no ack."""
        submitted = read_form(body)
        if submitted is None:
            return {}
        kinds = (DefaultsForm, ChannelsForm, InstructionsForm, SettingsForm)
        form = next((kind.decode(submitted.metadata) for kind in kinds if submitted.callback == kind.ID), None)
        if form is None:
            log.info("form_ignored", form=submitted.callback[:40])
            return {}
        user = submitted.user
        given, person = drawn.given_in(submitted.view), self._person(team, user)
        match form:
            case DefaultsForm():
                ack = self._save_defaults(given, person)
            case ChannelsForm():
                return self._then_instructions(given.get("channel", ""), person)
            case InstructionsForm():
                ack = self._save_instructions(form.channel, given.get("instructions", ""), person)
            case _:
                ack = self._save_settings(given, person)
        if not ack:
            self._handler.after_ack(self.draw, team, user, "")
        return ack

    def tour(self, body: Mapping[str, Any], team: str) -> str:
        """Begin a thread with a question about the sample data, in the direct message of whoever pressed."""
        press = read_press(body)
        button = TourButton.decode(press.value) if press else None
        if press is None or button is None or button.n >= drawn.TOUR or not press.ts:
            return "malformed"
        self._handler.after_ack(self._begin_tour, self._person(team, press.user), button.n, press.ts)
        return "begun"

    def _begin_tour(self, person: _Person, number: int, ts: str) -> None:
        question = say(f"tour_question_{number}", person.language)
        if not self._handler.may(pressed(person.place, person.user, HOME_TS, text=question)):
            return
        self._store.note_thread(person.place)
        key = f"{person.place.id}/tour:{number}:{ts}"
        shown = escape(say("tour_begins", person.language, question=question, file=SAMPLE.name))
        thread = self._slack.begin_pressed(person.place, person.user, key, shown)
        if thread is None:  # another bot has the same press
            return
        message = pressed(thread, person.user, thread.root_ts, text=question)
        self._handler.take_decision(message.model_copy(update={"files": (SAMPLE,)}))

    def _suggest(self, team: str, user: str, channel: str) -> None:
        """Offer prompts for a new conversation: about the data sources that the person may ask, and the help."""
        person, settings = self._person(team, user), self._handler.settings
        place = ThreadKey(team, channel, "")
        if not self._handler.verdict_on(user, person.place, Action.ASK):
            return
        may = (name for name in settings.sources if self._handler.may_ask(user, person.place, name))
        questions = [say("prompt_source", person.language, source=name) for name in islice(may, PROMPTED_SOURCES)]
        questions += [say("prompt_upload", person.language), say("prompt_help", person.language)]
        self._slack.suggest_prompts(place, as_prompts(questions))

    # --- what the page shows

    def draw(self, team: str, user: str, shown: str) -> None:
        """Draw the home of a person. `shown` is the hash of what they see: a newer page is left as it is."""
        self._slack.publish_home(team, user, drawn.home_view(self.page(team, user)), shown)

    def page(self, team: str, user: str) -> HomePage:
        """Everything that the home of this person shows."""
        person = self._person(team, user)
        currency = self._handler.settings.budget.currency
        if not (verdict := self._handler.verdict_on(user, person.place, Action.ASK)):
            refusal = say(verdict.phrase, person.language, author=self._slack.user_name(user))
            return HomePage(person.language, currency, refusal=refusal)
        chosen = self._store.preferences(team, [WORKSPACE]).get(WORKSPACE, {})
        settings = adjusted(self._handler.settings, chosen)
        together = self._slack.shared_channels(user)
        glances = self._store.threads_of(team, user, datetime.now(UTC) - SINCE, MOST_THREADS)
        mine = [glance for glance in glances if _is_seen(glance.thread_id, together)]
        approvals = self._approvals(person, together, {glance.thread_id for glance in glances})
        lists = {
            "waiting": [glance for glance in mine if glance.state == "waiting"],
            "running": [glance for glance in mine if glance.state == "running"],
            "done": [glance for glance in mine if glance.state in ("done", "stopped", "failed")],
        }
        entries = {state: self._entries(found[: drawn.LISTED], person) for state, found in lists.items()}
        more = {state: len(found) - drawn.LISTED for state, found in lists.items() if len(found) > drawn.LISTED}
        if len(approvals) > drawn.LISTED:
            more["approvals"] = len(approvals) - drawn.LISTED
        pinned, more["pinned"] = self.threads.pinned(_reading(person), drawn.LISTED)
        sources, hidden = self._sources(person, settings)
        channels = None if together is None else tuple(sorted(together))
        return HomePage(
            language=person.language,
            currency=currency,
            waiting=entries["waiting"],
            running=entries["running"],
            done=entries["done"],
            pinned=tuple(Entry(url, title) for url, title in pinned),
            approvals=tuple(approvals[: drawn.LISTED]),
            more=more,
            usage=self._usage(person, settings, person.language),
            preferences=person.chosen,
            models=tuple(settings.models),
            channels=channels,
            instructed=self._instructed(team, channels or ()),
            sources=tuple(sources),
            hidden_sources=hidden,
            memory=self.entries.places(_reading(person)),
            schedules=self.schedules.entries(_reading(person)),
            admin=self._admin(person, settings, chosen),
        )

    def _person(self, team: str, user: str) -> _Person:
        chosen = PersonPreferences.read(self._store.preferences(team, [user]).get(user))
        language = chosen.language or self._slack.user_language(user)
        place = ThreadKey(team, self._slack.direct_message(user), HOME_TS)
        return _Person(team, user, chosen, language, place)

    def _reader(self, team: str, user: str) -> Reader:
        return _reading(self._person(team, user))

    def _entries(self, glances: Iterable[Glance], person: _Person) -> tuple[Entry, ...]:
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

    def _approvals(self, person: _Person, together: frozenset[str] | None, mine: set[str]) -> list[Entry]:
        """What waits for a yes of somebody, where this person may say it and may see the thread."""

        def may(key: ThreadKey) -> bool:
            is_seen = key.channel in (together or ()) or (together is None and key.id in mine)
            if key.channel.startswith("D"):
                is_seen = key.id in mine
            return is_seen and bool(self._handler.verdict_on(person.user, key, Action.APPROVE))

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

    def _usage(self, person: _Person, settings: Settings, language: Language) -> Usage:
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

    def _sources(self, person: _Person, settings: Settings) -> tuple[list[SourceEntry], int]:
        """The data sources that the person may ask somewhere, and how many others there are."""
        found, hidden = [], 0
        for name, source in settings.sources.items():
            if not source.channels and self._handler.may_ask(person.user, person.place, name):
                found.append(SourceEntry(name, source.description))
                continue
            asked = [channel for channel in source.channels if self._may_ask_in(channel, person, name)]
            if asked:
                found.append(SourceEntry(name, source.description, tuple(asked)))
            else:
                hidden += 1
        return found, hidden

    def _may_ask_in(self, channel: str, person: _Person, source: str) -> bool:
        together = self._slack.shared_channels(person.user) or frozenset()
        is_theirs = channel in together or channel == person.place.channel
        return is_theirs and self._handler.may_ask(person.user, ThreadKey(person.team, channel, HOME_TS), source)

    def _instructed(self, team: str, channels: tuple[str, ...]) -> dict[str, str]:
        found = self._store.preferences(team, channels) if channels else {}
        return {channel: ChannelPreferences.read(body).instructions for channel, body in found.items()}

    def _admin(self, person: _Person, settings: Settings, chosen: Mapping[str, Any]) -> AdminPage | None:
        if not self._handler.verdict_on(person.user, person.place, Action.SETTINGS):
            return None
        by_channel = self._store.spent_by_channel(person.team, datetime.now(UTC) - MONTH, MOST_CHANNELS)
        entries = tuple(_setting(self._handler.settings, settings, chosen, name) for name in ADJUSTABLE)
        return AdminPage(entries, tuple(by_channel), self._health(person.language))

    def _health(self, language: Language) -> tuple[str, ...]:
        """How the installation fares. Of one that many workspaces share an admin of one learns whether it runs."""
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

    # --- forms

    def _form(self, button: HomeButton, person: _Person) -> View | None:
        """The form behind a button; None for those who may not use it, and where there is nothing to choose from."""
        settings = self._handler.settings
        if button.do == "memory":
            return self.entries.window(_reading(person))
        if button.do == "threads":
            may_ask = self._handler.verdict_on(person.user, person.place, Action.ASK)
            return self.threads.window(_reading(person)) if may_ask else None
        if button.do == "defaults":
            return drawn.defaults_view(person.chosen, list(settings.models), person.language)
        if button.do == "channels":
            together = sorted(self._slack.shared_channels(person.user) or ())[: drawn.MOST_OPTIONS]
            named = sorted((self._slack.channel_name(channel), channel) for channel in together)
            return drawn.channels_view([(channel, name) for name, channel in named], person.language) if named else None
        if not self._handler.verdict_on(person.user, person.place, Action.SETTINGS):
            return None
        chosen = self._store.preferences(person.team, [WORKSPACE]).get(WORKSPACE, {})
        entries = [_setting(settings, adjusted(settings, chosen), chosen, name) for name in ADJUSTABLE]
        return drawn.settings_view(entries, person.language)

    def _save_defaults(self, given: Mapping[str, str], person: _Person) -> Ack:
        chosen: dict[str, Any] = {
            "language": _or_none(given.get("language", "")),
            "staged": True if given.get("staged") == "on" else None,
            "instructions": given.get("instructions", "").strip()[:INSTRUCTION_CHARS] or None,
        }
        if "model" in given:
            chosen["model"] = _or_none(given["model"])
        if chosen["language"] not in (None, *get_args(Language)):
            return {}
        if chosen.get("model") is not None and chosen["model"] not in self._handler.settings.models:
            return _wrong("model", say("home_model_gone", person.language))
        if used := _or_none(given.get(drawn.USE_PROFILE, "")):
            if used not in person.chosen.profiles:
                return _wrong(drawn.USE_PROFILE, say("home_profile_gone", person.language))
            kept = person.chosen.profiles[used]
            chosen = {name: value or None for name, value in kept.model_dump(mode="json").items()}
        profiles = {name: kept.model_dump(mode="json") for name, kept in person.chosen.profiles.items()}
        profiles.pop(given.get(drawn.FORGET_PROFILE, ""), None)
        if name := " ".join(given.get(drawn.KEEP_PROFILE, "").split())[:PROFILE_CHARS]:
            before = person.chosen.model_dump(mode="json", include=set(Profile.model_fields))
            now = {key: value for key, value in {**before, **chosen}.items() if value is not None}
            profiles[name] = Profile.read(now).model_dump(mode="json")
        if len(profiles) > PROFILES or drawn.DEFAULT in profiles:
            return _wrong(drawn.KEEP_PROFILE, say("home_profile_most", person.language, count=PROFILES))
        chosen["profiles"] = profiles or None
        self._store.save_preferences(person.team, person.user, chosen, person.user)
        return {}

    def _then_instructions(self, channel: str, person: _Person) -> Ack:
        if refused := self._refused_in(channel, person):
            return _wrong("channel", refused)
        chosen = ChannelPreferences.read(self._store.preferences(person.team, [channel]).get(channel))
        name = self._slack.channel_name(channel)
        return {"response_action": "update", "view": drawn.instructions_view(channel, name, chosen, person.language)}

    def _save_instructions(self, channel: str, text: str, person: _Person) -> Ack:
        if refused := self._refused_in(channel, person):
            return _wrong("instructions", refused)
        said = text.strip()[:INSTRUCTION_CHARS] or None
        changes = self._store.save_preferences(person.team, channel, {"instructions": said}, person.user)
        for before, now in changes.values():
            details = {"characters_before": len(before or ""), "characters": len(now or "")}
            self._audit(person, Action.INSTRUCT, channel, "done", details)
        return {}

    def _refused_in(self, channel: str, person: _Person) -> str:
        """Why a person may not write the instructions of a channel; "" when they may."""
        together = self._slack.shared_channels(person.user) or frozenset()
        allowed = self._handler.verdict_on(person.user, ThreadKey(person.team, channel, HOME_TS), Action.INSTRUCT)
        if channel in together and allowed:
            return ""
        self._audit(person, Action.INSTRUCT, channel, "refused", {})
        return say("home_not_yours", person.language)

    def _save_settings(self, given: Mapping[str, str], person: _Person) -> Ack:
        settings, wrong, changes = self._handler.settings, {}, {}
        if not self._handler.verdict_on(person.user, person.place, Action.SETTINGS):
            self._audit(person, Action.SETTINGS, "", "refused", {})
            return {}
        for name, text in given.items():
            if name not in ADJUSTABLE or is_of_file(settings, name):
                continue
            value = _or_none(text.strip())
            try:
                changes[name] = None if value is None else str(parsed(settings, name, value))
            except NotAllowed:
                phrase = "home_needs_price" if is_money(name) else "home_not_allowed"
                wrong[drawn.field_of(name)] = say(phrase, person.language)
        if wrong:
            return {"response_action": _ERRORS, _ERRORS: wrong}
        done = self._store.save_preferences(person.team, WORKSPACE, changes, person.user)
        for name, (before, now) in done.items():
            self._audit(person, Action.SETTINGS, name, "done", {"before": str(before or ""), "now": str(now or "")})
        return {}

    def _audit(
        self, person: _Person, action: Action, what: str, outcome: str, details: Mapping[str, int | str]
    ) -> None:
        self._store.audit(person.user, action.value, f"{person.team}/{what}", outcome, details=details)


def _reading(person: _Person) -> Reader:
    return Reader(person.team, person.user, person.language, person.place.channel)


def _is_seen(thread_id: str, together: frozenset[str] | None) -> bool:
    """Whether a thread of their own is still shown to a person: not when they have left its channel since."""
    channel = ThreadKey.parse(thread_id).channel
    return together is None or channel.startswith("D") or channel in together


def _setting(given: Settings, settings: Settings, chosen: Mapping[str, Any], name: str) -> SettingEntry:
    """A setting as it holds: `given` is what the file and the defaults say, `settings` what holds with the choices."""
    origin = "file" if is_of_file(given, name) else "slack" if name in chosen else "default"
    value = value_of(settings, name)
    shown = f"{value:g}" if isinstance(value, float) else str(value)
    return SettingEntry(name, shown, origin, choices_of(name))


def _or_none(value: str) -> str | None:
    return None if value in ("", drawn.DEFAULT) else value


def _wrong(name: str, text: str) -> Ack:
    return {"response_action": _ERRORS, _ERRORS: {drawn.field_of(name): text}}
