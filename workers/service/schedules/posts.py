"""Posts what came of a scheduled run into its thread, and tells the owner privately where Slack refuses that."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Literal

from core.errors import OursToFix, SlackFailed, SlackUnreachable
from core.phrases import say
from core.schedule_times import moment
from core.schedules.values import RunOutcome, State
from core.slack import blocks as kit
from core.slack.text import clip, escape
from core.slack.writing.writer import SlackWriter
from core.store import Store
from core.store.schedules import ClaimedRun
from core.telemetry import get_logger
from core.values import ThreadKey
from workers.schedules import telling
from workers.turn.unposted import is_final, name_of_refusal, reason_of_refusal

log = get_logger(__name__)

_DETAIL_CHARS = 300
_STOPS = frozenset({"effects", "failed", "drift", "too_long", "memory", "left", "gone"})
"""Outcomes that stop the schedule: its next run would end in the same way."""
_SENTENCES = {
    "drift": "run_stopped_drift",
    "failed": "run_stopped_failed",
    "left": "run_stopped_left",
    "effects": "run_stopped_failed",
    "too_long": "run_stopped_limits",
    "memory": "run_stopped_limits",
}


class SchedulePosts:
    """Tells the people of one workspace what their schedules found."""

    def __init__(self, store: Store, slack: SlackWriter, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._slack = slack
        self._clock = clock

    def post(self, claimed: ClaimedRun, outcome: RunOutcome) -> Literal["told", "refused", "away"]:
        """Post what came of a run, once. "refused": its thread does not show it; "away": that has to be tried again.

        Where Slack refuses it until somebody acts, the schedule pauses, and its owner hears it privately.
        """
        schedule = claimed.schedule
        thread, language = ThreadKey.parse(schedule.thread_id), schedule.order.language
        key = f"{schedule.id}:{claimed.due_at.timestamp():.0f}"
        said, blocks = self._message(claimed, outcome)
        told: Literal["told", "refused"] = "told"
        refused = ""
        try:
            if said:
                try:
                    self._slack.post(None, thread, key, said, blocks)
                except (SlackFailed, SlackUnreachable) as error:
                    refused = name_of_refusal(error)
                    if not refused and isinstance(error, SlackUnreachable):
                        raise
                    log.warning("run_not_posted", error=error)
                    told = "refused"
            if refused:
                self._tell_owner(claimed, outcome, refused, f"{key}:unposted")
            if outcome.why in _STOPS:
                reason = clip("; ".join(outcome.details), _DETAIL_CHARS) or outcome.why
                self._store.set_schedule_state(schedule.id, "stopped", reason)
            elif refused:
                state: State = "stopped" if is_final(refused) else "paused"
                self._store.set_schedule_state(schedule.id, state, say("schedule_refused", language, error=refused))
        except OursToFix as error:
            log.warning("run_not_told", error=error, language=language)
            return "away"
        return told

    def _tell_owner(self, claimed: ClaimedRun, outcome: RunOutcome, refused: str, key: str) -> None:
        """Tell the owner privately, once per `key`, what Slack refused in the thread. Nothing of the data is in it.

        A direct message that Slack refuses too is left out. Raises SlackUnreachable if that may pass by itself.
        """
        schedule = claimed.schedule
        thread, order, language = ThreadKey.parse(schedule.thread_id), schedule.order, schedule.order.language
        further = "run_unposted_gone" if is_final(refused) else "run_unposted_paused"
        text = say(
            "run_unposted",
            language,
            said=escape(clip(schedule.said, 120)),
            due=escape(moment(claimed.due_at, order.zone, language)),
            channel=thread.channel,
            reason=reason_of_refusal(refused, language),
            further=say("run_unposted_stopped" if outcome.why in _STOPS else further, language),
        )
        try:
            self._slack.begin_privately(None, thread, schedule.owner, key, text)
        except (SlackFailed, SlackUnreachable) as error:
            if not name_of_refusal(error) and isinstance(error, SlackUnreachable):
                raise
            log.warning("owner_not_told", user=schedule.owner, error=error)

    def _message(self, claimed: ClaimedRun, outcome: RunOutcome) -> tuple[str, list[kit.Block] | None]:
        """The text and blocks of a run; an empty text when there is nothing to say."""
        schedule = claimed.schedule
        order, language = schedule.order, schedule.order.language
        said = escape(clip(schedule.said, 120))
        due, following = (escape(moment(at, order.zone, language)) for at in (claimed.due_at, schedule.next_at))
        details = escape(clip("; ".join(outcome.details), _DETAIL_CHARS))
        if outcome.why == "source":
            return say("run_waits_source", language, said=said, due=due, details=details, next=following), None
        if outcome.why == "off":
            return say("run_day_off", language, said=said, due=due, next=following), None
        if outcome.why in ("late", "host"):
            return say("run_left_out", language, said=said, due=due, next=following), None
        if outcome.why:
            given = {"said": said, "details": details, "owner": escape(self._slack.user_name(schedule.owner))}
            return (say(_SENTENCES[outcome.why], language, **given) if outcome.why in _SENTENCES else ""), None
        changed = telling.changes(schedule.shown, outcome.figures)
        if not changed:
            return "", None
        if order.threshold is not None and not telling.crosses(order.threshold, schedule.shown, outcome.figures):
            return "", None
        files = escape(", ".join(outcome.files))
        head = say("run_changed", language, said=said, count=len(changed), files=files)
        lines = telling.lines(changed, language)
        about = [say("run_same_code", language)]
        if self._clock() - claimed.due_at > timedelta(minutes=10):
            about.append(say("run_late", language, due=due))
        body = "\n".join(lines)
        return f"{head}\n{escape(body)}", [kit.section(head), kit.paragraph(body), kit.context(*about)]
