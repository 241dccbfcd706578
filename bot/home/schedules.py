"""The schedules in the app's home: who sees them, and the presses that pause, resume or stop one.

A person sees the schedules of the channels that they share with the bot, and of their direct message. People who may
`schedule` there may press, as with the words in the thread. A press takes effect at once. The state in the Store
changes only once, however many people press, and the process that changed it tells the thread. Presses and refusals are
in the audit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from bot.home.person import HOME_TS, HomePart, Reader
from bot.payloads import Press, read_press
from core.actions import Action
from core.errors import OursToFix
from core.interactions import ScheduleButton
from core.phrases import say
from core.schedule_times import BadTimes, following_time, moment
from core.schedules.values import State
from core.slack.text import clip, escape
from core.slack.views.home import thread_url
from core.slack.views.schedules import LISTED, Do, ScheduleEntry, notice_view
from core.store.schedules import ScheduleRow
from core.telemetry import get_logger
from core.thread_cells import told_from
from core.values import ThreadKey

log = get_logger(__name__)

_BECOMES: Final[Mapping[Do, State]] = {"pause": "paused", "resume": "active", "stop": "stopped"}
_OFFERED: Final[Mapping[State, tuple[Do, ...]]] = {"active": ("pause", "stop"), "paused": ("resume", "stop")}
_SAID_CHARS: Final = 120


class TeamSchedules(HomePart):
    """The listener of `ScheduleButton`, and the list for the home. Nothing is kept in memory."""

    def entries(self, reader: Reader) -> tuple[tuple[ScheduleEntry, ...], int]:
        """What the home of this person lists, those at work first, the newest first; and how many more there are."""
        sees = self._sight(reader)
        found = [each for each in reversed(self._store.schedules()) if sees(each)]
        workspace = self._slack.workspace_url()
        entries = []
        for each in sorted(found, key=lambda one: one.state == "stopped")[:LISTED]:  # each may take calls to Slack
            following = moment(each.next_at, each.order.zone, reader.language)
            state = say(f"schedule_is_{each.state}", reader.language, next=following, reason=each.reason)
            author = self._slack.user_name(each.owner)
            about = say("home_schedule_about", reader.language, author=author, state=state)
            thread = ThreadKey.parse(each.thread_id)
            offered = _OFFERED.get(each.state, ())
            may = offered if offered and self._may(reader, each) else ()
            url = thread_url(workspace, thread)
            entries.append(ScheduleEntry(url, each.said, about, each.thread_id, each.id, may))
        return tuple(entries), len(found) - len(entries)

    def press(self, body: Mapping[str, Any], team: str) -> str:
        """Pause, resume or stop a schedule. Returns the outcome, a word for the log."""
        press = read_press(body)
        button = ScheduleButton.decode(press.value) if press else None
        if press is None or button is None or ThreadKey.parse(button.thread).team != team:
            return "malformed"
        reader = self._reader(team, press.user)
        rows, sees = self._store.schedules(button.thread), self._sight(reader)
        row = next((each for each in rows if each.id == button.schedule and sees(each)), None)
        outcome = "gone" if row is None else self._change(press, reader, row, button.do)
        self._handler.background.after_ack(self._redraw, team, press.user)
        return outcome

    def _change(self, press: Press, reader: Reader, row: ScheduleRow, do: Do) -> str:
        state = _BECOMES[do]
        if do not in _OFFERED.get(row.state, ()):
            return "late"
        if not self._may(reader, row):
            self._audit(reader, row, "refused", do)
            refused = notice_view(say("home_schedule_refused", reader.language), reader.language)
            self._slack.open_form(ThreadKey(reader.team, reader.direct, HOME_TS), press.trigger, refused)
            return "refused"
        name, following = self._slack.user_name(reader.user), None
        if state == "active":
            try:
                following = following_time(self._handler.settings.schedules, row.order, datetime.now(UTC))
            except BadTimes:
                return "no time"
        if not self._store.set_schedule_state(row.id, state, name if state == "stopped" else "", following):
            return "late"
        self._audit(reader, row, "done", do)
        self._handler.background.after_ack(self._tell, row, do, name, press.ts)
        return state

    def _tell(self, row: ScheduleRow, do: Do, name: str, ts: str) -> None:
        """Say it in the thread, where the others of the channel read it."""
        said = clip(" ".join(row.said.split()), _SAID_CHARS)
        text = say(f"home_schedule_did_{do}", row.order.language, author=name, said=said)
        try:
            self._slack.post(None, ThreadKey.parse(row.thread_id), f"{row.id}:{do}:{ts}", escape(text))
        except OursToFix as error:
            log.warning("schedule_change_not_told", error=error)

    def _sight(self, reader: Reader) -> Callable[[ScheduleRow], bool]:
        """Whether a person sees a schedule. What Slack refuses to say is not kept, so it is asked once for all."""
        seen = {*(self._slack.shared_channels(reader.user) or ()), reader.direct}

        def sees(row: ScheduleRow) -> bool:
            thread = ThreadKey.parse(row.thread_id)
            return thread.team == reader.team and thread.channel in seen

        return sees

    def _may(self, reader: Reader, row: ScheduleRow) -> bool:
        """Whether a person may change a schedule. If its thread holds data that they may not have, only their own."""
        thread, gate = ThreadKey.parse(row.thread_id), self._handler.gate
        if not gate.verdict_on(reader.user, thread, Action.SCHEDULE):
            return False
        held = told_from(list(self._store.thread_steps(row.thread_id).values()))
        return row.owner == reader.user or gate.may_have(reader.user, thread, held)

    def _audit(self, reader: Reader, row: ScheduleRow, outcome: str, do: Do) -> None:
        details = {"schedule": row.id, "do": do}
        self._store.audit(reader.user, Action.SCHEDULE.value, row.thread_id, outcome, details=details)
