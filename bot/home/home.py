"""The app's home: drawn when somebody opens it, and the presses and forms that change something there.

`page.py` reads what it shows, `forms.py` takes in its forms. The windows that it opens have listeners of their own: the
team's memory (`entries.py`), schedules, and the list of threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from bot.acks import Ack
from bot.handling import Handling
from bot.home.entries import TeamEntries
from bot.home.forms import HomeForms, form_of
from bot.home.page import HomePages
from bot.home.person import HOME_TS, Person, Reader, person_of
from bot.home.schedules import TeamSchedules
from bot.home.threads import ThreadList
from bot.payloads import read_form, read_press
from bot.pressed import pressed
from core.actions import Action
from core.interactions import HomeButton, TourButton
from core.phrases import say
from core.slack.text import escape
from core.slack.views import home as drawn
from core.slack.views.modals import View
from core.slack.views.suggestions import as_prompts
from core.slack.writing.writer import SlackWriter
from core.store import Store
from core.telemetry import get_logger
from core.tour import SAMPLE
from core.values import ThreadKey

log = get_logger(__name__)

PROMPTED_SOURCES: Final = 2
"""Data sources that a new conversation is offered a prompt about."""


class Home:
    """The listeners of `app_home_opened`, of `HomeButton` and `TourButton`, and of the forms of the home."""

    def __init__(self, store: Store, slack: SlackWriter, handler: Handling) -> None:
        self._store = store
        self._slack = slack
        self._handler = handler
        more = (store, slack, handler, self._reader, lambda team, user: self.draw(team, user, ""))
        self.entries, self.schedules, self.threads = TeamEntries(*more), TeamSchedules(*more), ThreadList(*more)
        self._pages = HomePages(
            store, slack, handler, entries=self.entries, schedules=self.schedules, threads=self.threads
        )
        self._forms = HomeForms(store, slack, handler)

    def opened(self, event: Mapping[str, Any], team: str) -> str:
        """Draw the home of whoever opened it. Returns what comes of it, a word for the log."""
        user, view, tab = event.get("user"), event.get("view"), event.get("tab")
        if not isinstance(user, str) or not user:
            return "malformed"
        if tab == "messages" and isinstance(channel := event.get("channel"), str):
            self._handler.background.after_ack(self._suggest, team, user, channel)
            return "suggested"
        if tab != "home":
            return "another tab"
        shown = str(view.get("hash") or "") if isinstance(view, Mapping) else ""
        self._handler.background.after_ack(self.draw, team, user, shown)
        return "drawn"

    def press(self, body: Mapping[str, Any], team: str) -> str:
        """Do what a button says: draw again, or open a form for whoever may use it."""
        press = read_press(body)
        button = HomeButton.decode(press.value) if press else None
        if press is None or button is None:
            return "malformed"
        user = press.user
        if button.do == "refresh":
            self._handler.background.after_ack(self.draw, team, user, "")
            return "drawn"
        person = self._person(team, user)
        view = self._view_behind(button, person)
        if view is None:
            self._handler.background.after_ack(self.draw, team, user, "")
            return "refused"
        return "form" if self._slack.open_form(person.place, press.trigger, view) else "not opened"

    def submit(self, body: Mapping[str, Any], team: str) -> Ack:
        """Take in a form. Returns what its ack says. Raises StoreUnreachable: then no ack."""
        submitted = read_form(body)
        if submitted is None:
            return {}
        if (form := form_of(submitted)) is None:
            log.info("form_ignored", form=submitted.callback[:40])
            return {}
        ack = self._forms.take(form, drawn.given_in(submitted.view), self._person(team, submitted.user))
        if not ack:
            self._handler.background.after_ack(self.draw, team, submitted.user, "")
        return ack

    def tour(self, body: Mapping[str, Any], team: str) -> str:
        """Begin a thread with a question about the sample data, in the direct message of the person who pressed."""
        press = read_press(body)
        button = TourButton.decode(press.value) if press else None
        if press is None or button is None or button.n >= drawn.TOUR or not press.ts:
            return "malformed"
        self._handler.background.after_ack(self._begin_tour, self._person(team, press.user), button.n, press.ts)
        return "begun"

    def _begin_tour(self, person: Person, number: int, ts: str) -> None:
        question = say(f"tour_question_{number}", person.language)
        if not self._handler.gate.may(pressed(person.place, person.user, HOME_TS, text=question)):
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
        if not self._handler.gate.verdict_on(user, person.place, Action.ASK):
            return
        may = (name for name in settings.sources if self._handler.gate.may_ask(user, person.place, name))
        questions = [say("prompt_source", person.language, source=name) for name in islice(may, PROMPTED_SOURCES)]
        questions += [say("prompt_upload", person.language), say("prompt_help", person.language)]
        self._slack.suggest_prompts(place, as_prompts(questions))

    def draw(self, team: str, user: str, shown: str) -> None:
        """Draw the home of a person. `shown` is the hash of what they see: a newer page is left as it is."""
        page = self._pages.page(self._person(team, user))
        self._slack.publish_home(team, user, drawn.home_view(page), shown)

    def _view_behind(self, button: HomeButton, person: Person) -> View | None:
        """What a button opens; None for those who may not use it, and where there is nothing to choose from."""
        if button.do == "memory":
            return self.entries.window(person.reader)
        if button.do == "threads":
            may_ask = self._handler.gate.verdict_on(person.user, person.place, Action.ASK)
            return self.threads.window(person.reader) if may_ask else None
        return self._forms.behind(button, person)

    def _person(self, team: str, user: str) -> Person:
        return person_of(self._store, self._slack, team, user)

    def _reader(self, team: str, user: str) -> Reader:
        return self._person(team, user).reader
