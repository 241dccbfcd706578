"""The team's memory in the app's home: its window, and the presses and forms that change an entry there.

A person sees the folders of the channels that they share with the bot, and of the projects of these channels. Members
of the workspace also see `everyone/`. People who may `remember` in a channel may change its entries. Entries of a
project or of everyone are changed by people who may change `settings`. Every change is made in the folder at once, and
it and every refusal are in the audit. A press only claims something: it is looked up each time.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final

from bot.acks import Ack, replaced_by, wrong_in
from bot.home.person import HOME_TS, HomePart, Reader
from bot.payloads import Press, read_form, read_press
from core.actions import Action
from core.errors import SlackFailed, SlackUnreachable
from core.interactions import EntriesButton, EntryButton, EntryForm
from core.phrases import say
from core.slack.views.entries import EntriesPage, Place, entries_view, entry_view, given_in, nothing_view
from core.slack.views.modals import View, field_id
from core.team_folder.entries import Entries, Note, TitleTaken
from core.team_folder.folder import NotWritten, TeamFolder
from core.team_folder.spaces import EVERYONE, space_of
from core.values import ThreadKey

MOST_PLACES: Final = 50


class TeamEntries(HomePart):
    """The listeners of `EntriesButton`, `EntryButton` and `EntryForm`. Nothing of people is kept in memory."""

    @cached_property
    def _entries(self) -> Entries:
        return Entries(TeamFolder(self._handler.settings.memory_folder))

    def places(self, reader: Reader) -> tuple[Place, ...]:
        """The places with entries that the person may read: what everyone reads, projects, channels."""
        try:
            together = self._slack.shared_channels(reader.user) or frozenset()
        except SlackUnreachable:
            together = frozenset()
        mine = {channel for channel in (*together, reader.direct) if self._may(reader, channel, Action.ASK)}
        found: list[Place] = []
        for space in self._entries.folder.spaces():
            if len(found) < MOST_PLACES and self._reads(reader, space, mine):
                notes = tuple(self._entries.notes((space,)))
                found += [Place(space, self._name(space, reader), notes)] if notes else []
        return tuple(found)

    def window(self, reader: Reader, space: str = "", page: int = 0, said: str = "") -> View:
        """The window with the entries of a place, the first one without `space`."""
        places = self.places(reader)
        if not places:
            return nothing_view(reader.language)
        shown = next((each for each in places if each.space == space), places[0])
        may_change = self._may_change(reader, shown.space)
        return entries_view(EntriesPage(places, shown.space, page, may_change, said), reader.language)

    def turn_page(self, body: Mapping[str, Any], team: str) -> str:
        """Show another place or page. Returns the outcome, a word for the log."""
        press = read_press(body)
        button = EntriesButton.decode(press.value) if press else None
        if press is None or button is None or not press.view:
            return "malformed"
        reader = self._reader(team, press.user)
        return self._show(press, reader, self.window(reader, button.space, button.page))

    def press(self, body: Mapping[str, Any], team: str) -> str:
        """Open the form of an entry, or forget it. Returns the outcome, a word for the log."""
        press = read_press(body)
        button = EntryButton.decode(press.value) if press else None
        if press is None or button is None or not press.view:
            return "malformed"
        reader = self._reader(team, press.user)
        space, language = space_of(button.file), reader.language
        note = self._found(reader, button.file, button.key)
        if note is None:
            said = say("entry_gone", language)
            return self._show(press, reader, self.window(reader, space, button.page, said), "gone")
        if not self._may_change(reader, space):
            self._audit(reader, button.file, "refused", button.do)
            said = say("entries_refused", language)
            return self._show(press, reader, self.window(reader, space, button.page, said), "refused")
        if button.do == "edit" and not note.entry.is_above:
            return self._show(press, reader, entry_view(note, button.page, language), "form")
        try:
            said = "" if self._entries.forget(note) else say("entry_gone", language)
        except NotWritten as error:
            said = say("entry_not_written", language, why=str(error))
        if not said:
            self._audit(reader, note.file, "done", "forget")
        self._handler.background.after_ack(self._redraw, team, reader.user)
        return self._show(press, reader, self.window(reader, space, button.page, said), "forgotten")

    def submit(self, body: Mapping[str, Any], team: str) -> Ack:
        """Take in a form. Returns what its ack says."""
        submitted = read_form(body)
        form = EntryForm.decode(submitted.metadata) if submitted else None
        if submitted is None or form is None:
            return {}
        reader = self._reader(team, submitted.user)
        note = self._found(reader, form.file, form.key)
        if note is None or note.entry.is_above:
            return self._then(reader, form, say("entry_gone", reader.language))
        if not self._may_change(reader, space_of(form.file)):
            self._audit(reader, form.file, "refused", "edit")
            return self._then(reader, form, say("entries_refused", reader.language))
        given = given_in(submitted.view, note)
        if given is None:
            return {}
        for place, value in enumerate(given):
            if not value:
                return _wrong(place, say("menu_empty", reader.language))
        return self._change(reader, form, note, *given)

    def _change(self, reader: Reader, form: EntryForm, note: Note, title: str, text: str) -> Ack:
        if (title, text) == (note.entry.title, note.entry.text):
            return self._then(reader, form)
        name, day = self._slack.user_name(reader.user), f"{datetime.now(UTC):%Y-%m-%d}"
        try:
            is_done = self._entries.change(note, title, text, name, day)
        except TitleTaken:
            return _wrong(0, say("entry_taken", reader.language))
        except NotWritten as error:
            return _wrong(0, say("entry_not_written", reader.language, why=str(error)))
        if not is_done:
            return self._then(reader, form, say("entry_gone", reader.language))
        self._audit(reader, note.file, "done", "rename" if text == note.entry.text else "edit")
        self._handler.background.after_ack(self._redraw, reader.team, reader.user)
        return self._then(reader, form)

    def _then(self, reader: Reader, form: EntryForm, said: str = "") -> Ack:
        return replaced_by(self.window(reader, space_of(form.file), form.page, said))

    def _show(self, press: Press, reader: Reader, view: View, outcome: str = "turned") -> str:
        self._slack.update_form(ThreadKey(reader.team, reader.direct, HOME_TS), press.view, press.view_hash, view)
        return outcome

    def _found(self, reader: Reader, file: str, key: str) -> Note | None:
        """The entry that a press names, if it stands there as it was shown and the person may read it."""
        notes = (note for place in self.places(reader) for note in place.notes)
        return next((note for note in notes if (note.file, note.key) == (file, key)), None)

    def _reads(self, reader: Reader, space: str, mine: set[str]) -> bool:
        kind, _, name = space.partition("/")
        if kind == "channels":
            return name in mine
        if kind == "projects":
            return bool(mine & set(self._handler.settings.project_channels.get(name, ())))
        return space == EVERYONE and self._is_member(reader)

    def _is_member(self, reader: Reader) -> bool:
        own = {reader.team, *self._handler.settings.access.own_teams}
        try:
            return self._slack.standing(reader.user, own) in ("member", "admin")
        except (SlackFailed, SlackUnreachable):
            return False

    def _may_change(self, reader: Reader, space: str) -> bool:
        kind, _, name = space.partition("/")
        if kind == "channels":
            return self._may(reader, name, Action.REMEMBER)
        return self._may(reader, reader.direct, Action.SETTINGS)

    def _may(self, reader: Reader, channel: str, action: Action) -> bool:
        return bool(self._handler.gate.verdict_on(reader.user, ThreadKey(reader.team, channel, HOME_TS), action))

    def _name(self, space: str, reader: Reader) -> str:
        kind, _, name = space.partition("/")
        if kind == "projects":
            return say("home_memory_project", reader.language, name=name)
        if kind == "channels":
            is_direct = name == reader.direct
            return say("home_direct", reader.language) if is_direct else self._slack.channel_name(name)
        return say("home_memory_everyone", reader.language)

    def _audit(self, reader: Reader, file: str, outcome: str, did: str) -> None:
        self._store.audit(
            reader.user, Action.REMEMBER.value, f"{reader.team}/{file}", outcome, details={"by": "home", "did": did}
        )


def _wrong(place: int, text: str) -> Ack:
    return wrong_in(field_id(place), text)
