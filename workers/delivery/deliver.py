"""What a turn shows in its thread: the progress card, charts, questions, the report, and the small signs around them.

Messages have deterministic outbox keys, so showing a step again after a crash shows nothing twice. When a card, a
status line or a reaction fails, this is logged and never stops the work.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from types import TracebackType

from core.blobs import Blobs
from core.errors import SlackFailed
from core.phrases import listed, say
from core.rows import NewReport
from core.slack.blocks import SlackMessage
from core.slack.rates import decorative
from core.slack.sanitize import sanitize
from core.slack.text import escape
from core.slack.writing.writer import AgentSession, SlackWriter
from core.steps import (
    CellRan,
    Closed,
    GaveUp,
    Questioned,
    Resumed,
    Step,
)
from core.store import CARD_SLOT, Store, TurnRow
from core.telemetry import get_logger
from core.values import Lease, StoredFile, ThreadKey, TurnStatus
from workers.delivery.card import Card
from workers.delivery.endings import gave_up_blocks
from workers.delivery.own_cells import own_cell_message
from workers.delivery.progress import ProgressView, TurnState, bare_title, progress_blocks
from workers.delivery.question_messages import QuestionMessages
from workers.delivery.sharing import Copies, Sharing
from workers.delivery.signs import outcome_signs

log = get_logger(__name__)


class Delivery:
    """Writes for one turn into its thread. Inside its `with` block the card and the status line are kept fresh."""

    def __init__(
        self,
        *,
        slack: SlackWriter,
        store: Store,
        blobs: Blobs,
        lease: Lease,
        turn: TurnRow,
        interval_s: float,
        view: Callable[[TurnState], ProgressView],
        resumed: bool,
        is_talk: bool,
    ) -> None:
        """`view` is the turn as it stands; `resumed`: another process worked on it, and may have shown something.

        `is_talk`: the thread is a conversation of people that the bot was called into.
        """
        self._slack = slack
        self._store = store
        self._lease = lease
        self._turn = turn
        self._view = view
        self._thread = ThreadKey.parse(turn.thread_id)
        self._card = Card(self._draw, self._set_status, interval_s)
        self.questions = QuestionMessages(slack, store, lease, turn, post=self.message)
        """What the turn asks people."""
        self._sharing = Sharing(slack, blobs, lease, turn.language, self._tell)
        self._posting = threading.Lock()
        self._card_ts: str | None = None
        self._leaves = turn.thread_id if is_talk else ""
        self._resumed = resumed
        self._drawn: ProgressView | None = None
        self._state: TurnState = "running"
        self._line: str | None = None if resumed else ""
        self._works = resumed
        """Whether Slack may have been told that an agent is at work."""
        self._says_so = False
        """Whether this delivery told it. While the turn waited for people, Slack was told that it waits."""

    def __enter__(self) -> Delivery:
        self._card.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(Exception):  # a row that is not noted as sent is looked up by the next worker
            self._slack.note_now(self._lease)
        self._slack.forget_later(self._lease)
        self._card.stop()

    # --- the card and the signs

    def progress(self, view: ProgressView, status: str = "") -> None:
        """Show this state when its time comes; a newer one may replace it before.

        `status` is the key of a phrase for the status line; empty leaves none.
        """
        self._card.show(view, say(status, self._turn.language) if status else "")

    def ends(self, status: TurnStatus) -> None:
        """The turn is about to rest: the card no longer shows running work above the messages that are posted now."""
        self._state = status
        self._card.pause()
        self._slack.note_later(self._lease)

    def rest(self, steps: Sequence[Step], status: TurnStatus) -> None:
        """Show that the turn came to rest: the card's last state, no status line, the outcome on what was asked."""
        view = self._view(status)
        needs_card = not _is_silent(steps)
        if needs_card:
            self._above(view)
        is_checked = self._slack.note_now(self._lease) and view == self._drawn
        signs = [*self._outcome_signs(steps, status), *self._last_signs(status)]
        may = (lambda: None) if is_checked else partial(self._slack.check, self._lease)
        is_shown = needs_card or self._card_ts is not None  # what took long has a card that shows work
        self._card.settle(view if is_shown and view != self._drawn else None, signs, may)

    def _last_signs(self, status: TurnStatus) -> Iterator[Callable[[], None]]:
        if self._works or status == "waiting":
            state: AgentSession = "suspended" if status == "waiting" else "active"
            yield lambda: self._slack.set_session(self._thread, state)
        if self._line != "":
            yield lambda: self._slack.set_status(self._thread, "")

    def _outcome_signs(self, steps: Sequence[Step], status: TurnStatus) -> Iterator[Callable[[], None]]:
        # The lease is checked once, before the first sign: they follow from the stored steps, so whoever works on the
        # turn next shows the same ones.
        pressed = {self.questions.ts(steps, step) for step in steps if isinstance(step, Questioned)}
        for sign in outcome_signs(steps, status, pressed):
            put = self._slack.unreact if sign.is_outdated else self._slack.react
            yield partial(put, self._thread, sign.ts, sign.emoji)

    def _above(self, view: ProgressView | None = None) -> None:
        """Make sure that the card is in the thread, before something that belongs below it.

        The work goes on without a card that Slack refuses. Raises SlackUnreachable.
        """
        with self._posting:
            if self._card_ts is None:
                try:
                    self._post_card(view or self._view(self._state))
                except SlackFailed as error:
                    log.warning("card_not_posted", error=error)
                    self._card_ts = ""

    def _post_card(self, view: ProgressView) -> None:
        message = self._message_of(view)
        posted = self._slack.post_once(self._lease, self._thread, self.key_of(CARD_SLOT), message.text, message.blocks)
        self._card_ts = posted.ts
        if posted.new:
            self._drawn, self._line = view, ""

    def _draw(self, view: ProgressView, may_wait: bool) -> None:
        """In the card's thread: the first frame is a message, the others redraw it."""
        if not self._says_so and view.state == "running":
            self._works = self._says_so = True
            self._slack.set_session(self._thread, "processing", lease=self._lease)
        with self._posting:
            if self._card_ts is None:
                with decorative():
                    self._post_card(view)
                return
        if self._card_ts:
            message = self._message_of(view)
            self._slack.update(
                self._lease, self._thread, self._card_ts, message.text, message.blocks, may_wait=may_wait
            )
            self._drawn = view

    def _message_of(self, view: ProgressView) -> SlackMessage:
        """The card; in a conversation of people that the bot was called into, with a button that makes it leave."""
        return progress_blocks(view, self._turn.id, leaves=self._leaves)

    def _set_status(self, text: str) -> None:
        self._slack.set_status(self._thread, text, lease=self._lease)
        self._line = text

    # --- messages, each once

    def say(self, slot: str, text: str, *, below_card: bool = False) -> None:
        """A sentence of ours; data in it is escaped."""
        self._post(slot, SlackMessage(text, []), below_card=below_card)

    def message(self, slot: str, message: SlackMessage) -> None:
        """A message of ours with blocks, below the card."""
        self._post(slot, message, below_card=True)

    def say_once_per_thread(self, slot: str, text: str) -> None:
        """A sentence of ours that a thread hears only once, however many turns it has."""
        self._slack.post(self._lease, self._thread, f"{self._turn.thread_id}:{slot}", text)

    def own_cell(self, step: CellRan) -> None:
        """All that a person's own code showed."""
        self._post(f"own:{step.cell_id}", own_cell_message(step, self._turn.language), below_card=True)

    def figures(self, step: CellRan, again: Sequence[str] = ()) -> None:
        """A cell's charts, in one message under the cell's title. It names those that are drawn `again`.

        The title is the model's text, and a comment has no flag against unfurling: an address in it is shown as code.
        """
        if step.figures:
            self._above()
            lines = [bare_title(step.title)]
            if again:
                lines.append(
                    say(
                        "charts_again", self._turn.language, titles=listed(again, self._turn.language), count=len(again)
                    )
                )
            text = "\n".join(escape(sanitize(line)) for line in lines)
            self.files(f"figures:{step.cell_id}", step.figures, text)

    def figures_were_taken(self, step: CellRan) -> bool:
        """Whether Slack took one of a cell's charts, as far as we know; True for a cell without any."""
        slot = f"figures:{step.cell_id}"
        alone = (f"{slot}:{number}" for number in range(len(step.figures)))
        return not step.figures or self.was_posted(slot) or any(map(self.was_posted, alone))

    def files(self, slot: str, files: Sequence[StoredFile], comment: str = "") -> None:
        """These files in one message; `comment` is mrkdwn. A refusal is said in the thread, and the work goes on."""
        key = self.key_of(slot)
        with self._sharing.copies(key, files, early=not self._resumed) as copies:
            self._send(key, copies, comment)

    def report(
        self, messages: Sequence[SlackMessage], files: Sequence[StoredFile], new: NewReport | None = None
    ) -> None:
        """The files of the report, then the report: the answer is the last message of its turn.

        A `new` report is stored together with the first row of these messages.
        """
        if new is not None:
            self._slack.save_later(self._lease, new)
        key = self.key_of("report:files")
        with self._sharing.copies(key, files, early=not self._resumed) as copies:
            self._above()
            self._send(key, copies)
            for number, message in enumerate(messages):
                self._post(f"report:{number}", message, below_card=True)

    def _send(self, key: str, copies: Copies, comment: str = "") -> None:
        if self._sharing.send(key, copies, comment):
            self._line = ""

    def key_of(self, slot: str) -> str:
        """The key of this slot's row in the outbox."""
        return f"{self._turn.id}:{slot}"

    def tell_dropped_files(self) -> None:
        """Say which files of earlier turns Slack accepted but does not show; each is named once."""
        for row in self._slack.unshown(self._lease, self._thread, but=f"{self._turn.id}:"):
            names = ", ".join(str(name) for name in row.response.get("names") or ())
            text = escape(say("files_not_shown", self._turn.language, names=names))
            self._slack.post(self._lease, self._thread, f"{row.key}:dropped", text)
            self._slack.give_up_files(self._lease, row)

    def gave_up(self, steps: Sequence[Step], step: GaveUp, models: Sequence[str] = ()) -> None:
        """The sentence for a turn without an answer. A turn that was taken up again may end with another one.

        `models` are others that could go on where the model was unavailable.
        """
        cells = [each for each in steps if isinstance(each, CellRan)]
        end = gave_up_blocks(step, self._turn.language, cells, self._turn.id, models)
        self._post(end_slot(steps), end, below_card=True)

    def was_posted(self, slot: str) -> bool:
        """Whether the message of this slot is in the thread, as far as we know."""
        row = self._store.outbox_get(self.key_of(slot))
        return row is not None and row.status == "sent"

    def was_begun(self, slot: str, *, before: datetime) -> bool:
        """Whether the message of this slot was begun before that moment."""
        row = self._store.outbox_get(self.key_of(slot))
        return row is not None and row.created_at < before

    def _post(self, slot: str, message: SlackMessage, *, below_card: bool) -> None:
        if below_card:
            self._above()
        posted = self._slack.post_once(
            self._lease, self._thread, self.key_of(slot), message.text, message.blocks or None, known=message.known
        )
        if posted.new:
            self._line = ""  # Slack clears it with every message of ours

    def _tell(self, key: str, text: str) -> None:
        if self._slack.post_once(self._lease, self._thread, key, text).new:
            self._line = ""


def end_slot(steps: Sequence[Step]) -> str:
    """Where the end of a turn without an answer is posted: a turn that was taken up again has another end."""
    resumed = sum(isinstance(each, Resumed) for each in steps)
    return f"end:{resumed}" if resumed else "end"


def _is_silent(steps: Sequence[Step]) -> bool:
    """Whether a turn needs no card: people gave commands, and nothing ran."""
    ends = bool(steps) and isinstance(steps[-1], Closed)
    return ends and not any(isinstance(step, CellRan) for step in steps)
