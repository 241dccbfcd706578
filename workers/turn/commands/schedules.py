"""schedules: what is scheduled in this thread, and when it is due."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from core.phrases import say
from core.schedule_times import BadTimes, following_time, moment
from core.schedules.values import State
from core.slack.text import clip
from core.steps import Step
from workers.turn.commands.thread import CommandThread

_MOST = 20
_SAYS = {"paused": "schedules_paused", "active": "schedules_resumed", "stopped": "schedules_stopped"}


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """List them; those that were stopped stand with their reason."""
    found = thread.context.store.schedules(thread.lease.thread_id)
    language = thread.language
    if not found:
        thread.answer(say("schedules_none", language))
        return ()
    lines = []
    for each in found[-_MOST:]:
        following = moment(each.next_at, each.order.zone, language)
        state = say(f"schedule_is_{each.state}", language, next=following, reason=each.reason)
        author = thread.context.slack.user_name(each.owner)
        lines.append(say("schedules_line", language, said=clip(each.said, 120), author=author, state=state))
    thread.answer("\n".join(lines))
    return ()


def change_all(thread: CommandThread, state: State) -> None:
    """Pause, resume or stop the thread's schedules, and say how many. Runs that were due during the pause are left
    out."""
    store, command = thread.context.store, thread.command
    found = store.schedules(thread.lease.thread_id)
    if not found:
        thread.answer(say("schedules_none", thread.language))
        return
    author = command.author or command.user
    changed = 0
    for each in found:
        following = None
        if state == "active":
            try:
                following = following_time(thread.context.settings.schedules, each.order, datetime.now(UTC))
            except BadTimes:
                continue
        reason = f"{author}" if state == "stopped" else ""
        changed += store.set_schedule_state(each.id, state, reason, following)
    phrase = _SAYS[state] if changed else "schedules_same"
    thread.answer(say(phrase, thread.language, author=author, count=changed))
