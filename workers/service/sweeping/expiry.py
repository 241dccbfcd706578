"""Ends the wait for people who do not decide: an approval question is open only for some hours."""

from __future__ import annotations

from core.commands.approvals import DECISION, Decision
from core.steps import open_question
from core.store import Store
from core.telemetry import get_logger
from core.values import IncomingMessage, ThreadKey

log = get_logger(__name__)


def expire_questions(store: Store, at: float) -> list[str]:
    """Mark each open question as undecided if its time ended before `at`; returns the turns.

    `at` is in seconds since 1970. The mark is unread mail, so the thread is woken and its worker ends the turn. It
    stands at the moment until which the question counted: a press before that comes first, and saying it again changes
    nothing.
    """
    expired = []
    for turn_id in store.overdue_questions(at):
        question, turn = open_question(store.steps(turn_id)), store.turn(turn_id)
        if turn is None or question is None or question.approval is None or question.until is None:
            continue
        key = ThreadKey.parse(turn.thread_id)
        said = IncomingMessage(
            team=key.team,
            channel=key.channel,
            channel_type="im" if key.channel.startswith("D") else "channel",
            ts=f"{question.until:.6f}",
            root_ts=key.root_ts,
            user="",
            text=Decision(call=question.call_id, do="expired").encode(),
            kind=DECISION,
        )
        if store.record_message(said).new:
            log.info("question_expired", turn=turn_id)
            expired.append(turn_id)
    return expired
