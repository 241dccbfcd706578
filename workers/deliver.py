"""What a turn shows in its thread: the progress card, charts, questions, the report, and the small signs around them.

Messages have deterministic outbox keys, so showing a step again after a crash shows nothing twice. Whatever is
only nice to have (card, status line, reactions) is logged when it fails and never stops the work.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from core.blobs import Blobs
from core.blocks import SlackMessage
from core.errors import BlobMissing, OursToFix, SlackFailed
from core.phrases import say
from core.slack import SlackWriter, Upload
from core.slack_text import escape
from core.store import CARD_SLOT, Store, TurnRow
from core.telemetry import get_logger
from core.values import Lease, StoredFile, ThreadKey, TurnStatus
from workers.agent.steps import Asked, CellRan, GaveUp, Questioned, Resumed, Step
from workers.card import Card
from workers.progress import (
    STOPPED,
    ProgressView,
    answered_blocks,
    gave_up_blocks,
    progress_blocks,
    progress_of,
    question_blocks,
)

log = get_logger(__name__)

RECEIVED = "eyes"
OUTCOME: dict[TurnStatus, str] = {"done": "white_check_mark", "stopped": "warning", "failed": "warning"}
STOPPED_SIGN = "octagonal_sign"


class Delivery:
    """One turn's voice in its thread. A `with` block: inside it the card and the status line are kept fresh."""

    def __init__(
        self, *, slack: SlackWriter, store: Store, blobs: Blobs, lease: Lease, turn: TurnRow, interval_s: float
    ) -> None:
        self._slack = slack
        self._store = store
        self._blobs = blobs
        self._lease = lease
        self._turn = turn
        self._thread = ThreadKey.parse(turn.thread_id)
        self._card = Card(self._redraw, self._set_status, interval_s)
        self._card_ts: str | None = None
        self._settled = False

    def __enter__(self) -> Delivery:
        self._slack.set_session(self._thread, "processing", lease=self._lease)
        self._card.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._card.stop()

    # --- the card and the signs

    def progress(self, view: ProgressView, status: str = "") -> None:
        """Show this state: the first time as a new message, then as a redraw when its time comes.

        `status` is the key of a phrase for the status line; empty leaves none.
        """
        line = say(status, self._turn.language) if status else ""
        if self._card_ts is None:
            self._card_ts = self._first_card(view)
            self._card.show(None, line)
        else:
            self._card.show(view, line)

    def rest(self, steps: Sequence[Step], status: TurnStatus) -> None:
        """Show that the turn came to rest: the card's last state, no status line, the outcome on what was asked."""
        view = progress_of(steps, self._turn.language, status)
        self._card_ts = self._card_ts or self._first_card(view)
        self._settled = True
        self._card.settle(view)
        self._slack.set_session(self._thread, "suspended" if status == "waiting" else "active", lease=self._lease)
        if outcome := _outcome(steps, status):
            pressed = {
                self._question_ts(number) for number, _ in enumerate(s for s in steps if isinstance(s, Questioned))
            }
            for step in steps:
                # A pressed button has the ts of our own question.
                if isinstance(step, Asked | Resumed) and step.ts not in pressed:
                    for sign in _outdated(steps, outcome):
                        self._slack.unreact(self._thread, step.ts, sign, lease=self._lease)
                    self._slack.react(self._thread, step.ts, outcome, lease=self._lease)

    def _first_card(self, view: ProgressView) -> str:
        try:
            return self._post(CARD_SLOT, progress_blocks(view, self._turn.id))
        except OursToFix as error:
            log.warning("no progress card", error=repr(error))
            return ""

    def _redraw(self, view: ProgressView) -> None:
        if self._card_ts:
            message = progress_blocks(view, self._turn.id)
            ts, may_wait = self._card_ts, self._settled
            self._slack.update(self._lease, self._thread, ts, message.text, message.blocks, may_wait=may_wait)

    def _set_status(self, text: str) -> None:
        self._slack.set_status(self._thread, text, lease=self._lease)

    # --- messages, each once

    def say(self, slot: str, text: str) -> None:
        """A sentence of ours; data in it is escaped."""
        self._post(slot, SlackMessage(text, []))

    def say_once_per_thread(self, slot: str, text: str) -> None:
        """A sentence of ours that a thread hears only once, however many turns it has."""
        self._slack.post(self._lease, self._thread, f"{self._turn.thread_id}:{slot}", text)

    def figures(self, step: CellRan) -> None:
        """A cell's charts, in one message under the cell's title."""
        if step.figures:
            self.files(f"figures:{step.cell_id}", step.figures, escape(step.title))

    def files(self, slot: str, files: Sequence[StoredFile], comment: str = "") -> None:
        """These files in one message; `comment` is mrkdwn. A refusal is said in the thread, and the work goes on."""
        with tempfile.TemporaryDirectory(prefix="threadbook-") as folder:
            uploads, gone = [], []
            for number, file in enumerate(files):
                try:
                    uploads.append(self._upload(file, Path(folder) / str(number)))
                except BlobMissing:
                    gone.append(file.name)
            if gone:
                log.error("files lost", names=gone)
                self.say(f"{slot}:gone", escape(say("files_gone", self._turn.language, names=", ".join(gone))))
            try:
                self._slack.upload(self._lease, self._thread, f"{self._turn.id}:{slot}", uploads, comment)
            except SlackFailed as error:
                log.exception("files not posted", names=[file.name for file in files])
                names = ", ".join(file.name for file in files)
                text = say("files_not_posted", self._turn.language, names=names, why=error.error)
                self.say(f"{slot}:refused", escape(text))

    def _upload(self, file: StoredFile, copy: Path) -> Upload:
        self._blobs.fetch(file.sha256, copy)
        return Upload(name=file.name, data=copy, title=file.name)

    def question(self, number: int, step: Questioned) -> None:
        """The turn's question of this number, with its buttons; anew when the turn was stopped there and goes on."""
        message = question_blocks(step.question, step.options, self._turn.id, step.call_id, self._turn.language)
        self._post(self._question_slots(number)[-1], message)

    def answered(self, number: int, step: Questioned, answer: Asked) -> None:
        """The same question without buttons: who answered what."""
        ts = self._question_ts(number)
        if not ts:
            return
        message = answered_blocks(step.question, answer.text, answer.author or answer.user, self._turn.language)
        try:
            self._slack.update(self._lease, self._thread, ts, message.text, message.blocks)
        except OursToFix as error:
            log.warning("question not redrawn", error=repr(error))

    def _question_ts(self, number: int) -> str:
        for slot in reversed(self._question_slots(number)):
            if (sent := self._store.outbox_get(f"{self._turn.id}:{slot}")) is not None and sent.ts:
                return sent.ts
        return ""

    def _question_slots(self, number: int) -> list[str]:
        """Where this question was posted, and with each time that the turn was taken up since, was posted again."""
        kinds = [kept["kind"] for kept in self._store.steps(self._turn.id)]
        asked = [place for place, kind in enumerate(kinds) if kind == "questioned"]
        again = kinds[asked[number] :].count("resumed") if number < len(asked) else 0
        return [f"question:{number}", *(f"question:{number}:{time}" for time in range(1, again + 1))]

    def gave_up(self, step: GaveUp, cells: Sequence[CellRan]) -> None:
        """The honest end of a turn; one that was taken up again may have another."""
        resumed = sum(kept["kind"] == "resumed" for kept in self._store.steps(self._turn.id))
        self._post(f"end:{resumed}" if resumed else "end", gave_up_blocks(step, self._turn.language, cells))

    def messages(self, slot: str, messages: Sequence[SlackMessage]) -> None:
        """Several messages in order."""
        for number, message in enumerate(messages):
            self._post(f"{slot}:{number}", message)

    def _post(self, slot: str, message: SlackMessage) -> str:
        return self._slack.post(
            self._lease, self._thread, f"{self._turn.id}:{slot}", message.text, message.blocks or None
        )


def _outdated(steps: Sequence[Step], outcome: str) -> list[str]:
    """The signs that a message may still carry: also those of an end that was not the last."""
    ends = {*OUTCOME.values(), STOPPED_SIGN} if any(isinstance(step, Resumed) for step in steps) else set()
    return [RECEIVED, *sorted(ends - {outcome})]


def _outcome(steps: Sequence[Step], status: TurnStatus) -> str | None:
    stopped = bool(steps) and isinstance(last := steps[-1], GaveUp) and last.reason == STOPPED
    return STOPPED_SIGN if stopped else OUTCOME.get(status)
