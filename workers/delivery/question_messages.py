"""The messages of a turn that ask people something: posted, drawn again, and closed once somebody has answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from core.errors import OursToFix
from core.slack.blocks import SlackMessage
from core.slack.views.approvals import outdated_message
from core.slack.writing.writer import SlackWriter
from core.steps import Asked, Commanded, Decided, Questioned, Step, draft_of
from core.store import Store, TurnRow
from core.telemetry import get_logger
from core.values import Lease, ThreadKey
from workers.delivery.questions import asking, closed, current_slots, question_slots

log = get_logger(__name__)


class QuestionMessages:
    """The questions of one turn."""

    def __init__(
        self,
        slack: SlackWriter,
        store: Store,
        lease: Lease,
        turn: TurnRow,
        *,
        post: Callable[[str, SlackMessage], None],
    ) -> None:
        """`post` posts the message of a slot of the turn, once."""
        self._slack = slack
        self._store = store
        self._lease = lease
        self._turn = turn
        self._post = post

    def ask(self, steps: Sequence[Step], step: Questioned) -> None:
        """Post a question of these steps, with its buttons; once more when the turn was stopped there and goes on."""
        self._post(question_slots(steps, step)[-1], asking(steps, step, self._turn.id, self._turn.language))

    def redraw(self, steps: Sequence[Step], step: Questioned) -> None:
        """Where more people have to say yes: the same question with who did so far. A message whose text somebody
        changed since loses its buttons; the turn asks again below it before it rests."""
        if ts := self.shown_ts(steps, step):
            self._update(ts, asking(steps, step, self._turn.id, self._turn.language))
        elif ts := self.ts(steps, step):
            self._update(ts, outdated_message(draft_of(steps, step), self._turn.language))

    def close(self, steps: Sequence[Step], step: Questioned, answer: Asked | Commanded | Decided) -> None:
        """The same question without buttons: who answered what, or stopped there."""
        if ts := self.ts(steps, step):
            self._update(ts, closed(step, answer, self._turn.language))

    def ts(self, steps: Sequence[Step], step: Questioned) -> str:
        """The ts of the last message that asks this, "" while there is none."""
        return self._last_ts(question_slots(steps, step))

    def shown_ts(self, steps: Sequence[Step], step: Questioned) -> str:
        """The ts of the last message that asks this with the text as it reads now, "" while there is none."""
        return self._last_ts(current_slots(steps, step))

    def _last_ts(self, slots: Sequence[str]) -> str:
        for slot in reversed(slots):
            if (sent := self._store.outbox_get(f"{self._turn.id}:{slot}")) is not None and sent.ts:
                return sent.ts
        return ""

    def _update(self, ts: str, message: SlackMessage) -> None:
        try:
            self._slack.update(self._lease, ThreadKey.parse(self._turn.thread_id), ts, message.text, message.blocks)
        except OursToFix as error:
            log.warning("question_not_redrawn", error=error)
