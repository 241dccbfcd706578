"""The window “Threads” of the app's home: looks through the threads that a person may see, and pins some for them.

The search is the one of “find”, and so is the rule who sees what: it is asked again for each thread at each press.
Slack wants a window within three seconds, so what could not be looked at in time is left out, and the window says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final, NamedTuple

from bot.acks import Ack, replaced_by
from bot.finding import excerpt_of
from bot.home.person import HOME_TS, HomePart, Reader
from bot.payloads import read_form, read_press
from core.actions import Action
from core.interactions import PinButton, ThreadFilter, ThreadsButton, ThreadsForm
from core.phrases import say
from core.rows import FoundThread
from core.slack.blocks import Limit
from core.slack.views.home import thread_url
from core.slack.views.modals import View
from core.slack.views.threads import DIRECT, PER_PAGE, ThreadLine, ThreadsPage, threads_view, words_given
from core.store.full_text import words_in
from core.values import ThreadKey

LOOKED_AT: Final = 500
"""Threads of one search that are looked at."""
LOOK_S: Final = 1.5
"""How long it is looked whether a person may see the threads: a trigger counts for three seconds."""
MOST_CHANNELS: Final = Limit.SELECT_OPTIONS - 2
_DAYS: Final = {"day": 1, "week": 7, "month": 30, "quarter": 90, "year": 365}
_STATES: Final = {"waiting": ("waiting",), "running": ("running",), "done": ("done", "stopped", "failed")}


class _Seen(NamedTuple):
    """The threads of a page, whether there are more behind it, and whether some could not be looked at."""

    threads: list[FoundThread]
    has_more: bool
    is_cut: bool


class ThreadList(HomePart):
    """The listeners of `ThreadsButton`, `PinButton` and `ThreadsForm`. Nothing is kept in memory."""

    def window(
        self, reader: Reader, filter: ThreadFilter | None = None, words: str = "", page: int = 0, said: str = ""
    ) -> View:
        """The window with a page of the threads that fit."""
        wanted = filter or ThreadFilter()
        together = sorted(self._slack.shared_channels(reader.user) or ())[:MOST_CHANNELS]
        channels = sorted(((each, self._slack.channel_name(each)) for each in together), key=lambda one: one[1])
        seen = self._look(reader, wanted, words, page)
        lines = tuple(self._line(each, reader, words_in(words)) for each in seen.threads)
        shown = ThreadsPage(wanted, words, channels, lines, page, seen.has_more, seen.is_cut, said)
        return threads_view(shown, reader.language)

    def pinned(self, reader: Reader, most: int) -> tuple[list[tuple[str, str]], int]:
        """Addresses and titles of the threads that the person pinned, and how many more there are."""
        found = self._seen(reader, ThreadFilter(pinned=True), "", lambda each: each.is_own_pin, most + 1)
        workspace = self._slack.workspace_url()
        listed = [(_url(workspace, each), each.description or each.question) for each in found.threads[:most]]
        return listed, max(0, len(found.threads) - most)

    def turn(self, body: Mapping[str, Any], team: str) -> str:
        """List by another filter, or another page. Returns the outcome, a word for the log."""
        press = read_press(body)
        button = ThreadsButton.decode(press.value) if press else None
        if press is None or button is None or not press.view:
            return "malformed"
        reader = self._reader(team, press.user)
        view = self.window(reader, button, words_given(body.get("view")), button.page)
        self._slack.update_form(ThreadKey(team, reader.direct, HOME_TS), press.view, press.view_hash, view)
        return "turned"

    def pin(self, body: Mapping[str, Any], team: str) -> str:
        """Pin a thread for the person who presses, or take that pin away. Returns the outcome, a word for the log."""
        press = read_press(body)
        button = PinButton.decode(press.value) if press else None
        if press is None or button is None or not press.view or ThreadKey.parse(button.thread).team != team:
            return "malformed"
        reader = self._reader(team, press.user)
        outcome, said = self._pin(reader, button)
        view = self.window(reader, button, words_given(body.get("view")), button.page, said)
        self._slack.update_form(ThreadKey(team, reader.direct, HOME_TS), press.view, press.view_hash, view)
        if outcome == "done":
            self._handler.background.after_ack(self._redraw, team, press.user)
        return outcome

    def submit(self, body: Mapping[str, Any], team: str) -> Ack:
        """Look for words. Returns what the ack says: the window with what was found."""
        submitted = read_form(body)
        form = ThreadsForm.decode(submitted.metadata) if submitted else None
        if submitted is None or form is None:
            return {}
        reader = self._reader(team, submitted.user)
        view = self.window(reader, form, words_given(submitted.view))
        return replaced_by(view)

    def _pin(self, reader: Reader, button: PinButton) -> tuple[str, str]:
        """Its outcome, and what the window says about that."""
        if button.do == "unpin":
            return ("done" if self._store.unpin_for(button.thread, reader.user) else "late"), ""
        thread, may = ThreadKey.parse(button.thread), list[bool]()
        look = partial(self._note_sight, reader, button.thread, may)
        if not (self._handler.background.in_time(look, LOOK_S) and may and may[0]):
            return "refused", say("threads_not_yours", reader.language)
        if not self._handler.gate.verdict_on(reader.user, thread, Action.PIN):
            self._store.audit(reader.user, Action.PIN.value, thread.id, "refused", details={"by": "home"})
            return "refused", say("threads_not_yours", reader.language)
        return ("done" if self._store.pin_for(button.thread, reader.user) else "late"), ""

    def _note_sight(self, reader: Reader, thread_id: str, into: list[bool]) -> None:
        into.append(self._may_see(reader)(thread_id))

    # --- looking

    def _may_see(self, reader: Reader) -> Callable[[str], bool]:
        together = self._slack.shared_channels(reader.user) or ()
        return self._handler.gate.sight.of(reader.team, reader.user, (*together, reader.direct))

    def _look(self, reader: Reader, wanted: ThreadFilter, words: str, page: int) -> _Seen:
        """A page of the threads that the person may see."""
        first = page * PER_PAGE
        found = self._seen(reader, wanted, words, lambda _: True, first + PER_PAGE + 1)
        threads = found.threads[first : first + PER_PAGE]
        return _Seen(threads, len(found.threads) > first + PER_PAGE, found.is_cut)

    def _seen(
        self, reader: Reader, wanted: ThreadFilter, words: str, fits: Callable[[FoundThread], bool], most: int
    ) -> _Seen:
        asked = words_in(words)
        if words.strip() and not asked:
            return _Seen([], has_more=False, is_cut=False)
        days = _DAYS.get(wanted.since)
        candidates = self._store.find_threads(
            asked,
            team=reader.team,
            user=reader.user if wanted.mine else "",
            channel=reader.direct if wanted.channel == DIRECT else wanted.channel,
            since=datetime.now(UTC) - timedelta(days=days) if days else None,
            pinned=wanted.pinned,
            states=_STATES.get(wanted.state, ()),
            reader=reader.user,
            limit=LOOKED_AT,
        )
        may_see, seen = self._may_see(reader), list[FoundThread]()
        ends = time.monotonic() + LOOK_S

        def look() -> None:
            for each in filter(fits, candidates):
                if len(seen) >= most or time.monotonic() > ends:
                    return
                if may_see(each.thread_id):
                    seen.append(each)

        in_time = self._handler.background.in_time(look, LOOK_S)
        is_late = not in_time or time.monotonic() > ends
        threads = seen[:most]
        return _Seen(threads, False, len(threads) < most and (is_late or len(candidates) == LOOKED_AT))

    def _line(self, found: FoundThread, reader: Reader, words: list[str]) -> ThreadLine:
        key, language = ThreadKey.parse(found.thread_id), reader.language
        day = f"{found.last_at:%Y-%m-%d}"
        if key.is_imported:
            about = say("find_imported", language, day=day, name=key.root_ts)
        else:
            about = say("find_about", language, author=found.author or "…", day=day, turns=found.turns)
            if found.state:
                about += f" · {say(f'threads_is_{found.state}', language)}"
        if found.channel.startswith("D"):
            about = f"{say('find_direct', language)} · {about}"
        return ThreadLine(
            thread=found.thread_id,
            url=_url(self._slack.workspace_url(), found),
            title=found.description or found.question,
            channel=found.channel,
            about=about,
            excerpt=excerpt_of(self._store.texts_of(found.thread_id), words).replace("**", "") if words else "",
            is_own_pin=found.is_own_pin,
            is_team_pin=bool(found.pinned_by),
        )


def _url(workspace: str, found: FoundThread) -> str:
    key = ThreadKey.parse(found.thread_id)
    return "" if key.is_imported else thread_url(workspace, key)
