"""Which turn a thread's mail is for: the open one, one that gave up and is wished back, or a new one."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

from core.phrases import detect
from core.slack import SlackWriter
from core.slack_text import escape
from core.store import StoredMessage, TurnRow
from core.telemetry import get_logger
from core.values import Language, Lease
from core.words import CONTINUE, says
from executor.client import HostUnavailable
from workers.agent.steps import Asked, Finished, Forgot, GaveUp, Resumed, Step, dump_step, load_step
from workers.deliver import OUTCOME, RECEIVED
from workers.progress import STOPPED
from workers.wishes import take_back
from workers.workshop import ComeBack, Workshop

log = get_logger(__name__)

RESUMABLE = frozenset(
    {
        *("model_down", "model_refused", "model_nonsense", "model_context"),
        *("out_of_budget", "our_fault", STOPPED),
    }
)
"""Why a turn may have ended that "continue" takes up again: nothing is wrong with how far it got."""


def next_turn(shop: Workshop, lease: Lease) -> TurnRow | None:
    """The turn to work on: the current one if something is to be done for it, else by the mail; None without any."""
    thread_id = lease.thread_id
    current = shop.store.current_turn(thread_id)
    mail = shop.store.unread(thread_id)
    if current is not None:
        return current if mail or current.status == "running" else None
    past = shop.store.turns(thread_id)
    late = _late(mail)
    if late and past:  # meant for a turn that is over: nothing is left to resume or to stop
        shop.store.take_mail(lease, past[-1].id, sorted(late), [])
        mail = [message for message in mail if message.id not in late]
    if mail and past and mail[0].kind == "undo":
        _undo_at_rest(shop, lease, mail[0], past)
        return next_turn(shop, lease)
    if not mail:
        return None
    return _resumed(shop, lease, mail[0], past) or shop.store.open_turn(
        lease, _language_of(shop, mail, past), shop.model.name
    )


def remembered(shop: Workshop, past: TurnRow) -> tuple[Step, ...]:
    """The steps of a closed turn; none when another version of ours wrote them: its thread goes on without them."""
    try:
        return tuple(load_step(step) for step in shop.store.steps(past.id))
    except ValidationError:
        log.warning("an earlier turn cannot be read", turn=past.id)
        return ()


def as_asked(shop: Workshop, message: StoredMessage) -> Asked:
    """A message as the step that it becomes."""
    return Asked(user=message.user, author=author_of(shop, message), text=message.text, ts=message.ts)


def author_of(shop: Workshop, message: StoredMessage) -> str:
    """The name of whoever wrote it."""
    return message.author or shop.slack.user_name(message.user)


def _undo_at_rest(shop: Workshop, lease: Lease, wish: StoredMessage, past: Sequence[TurnRow]) -> None:
    """Take the last cell back and say so, without a turn. The step is the last turn's.

    Raises ComeBack when the session host is away.
    """
    turns = [remembered(shop, row) for row in past]
    language = detect(wish.text)
    try:
        steps, text = take_back(shop.sessions, turns, wish, author_of(shop, wish), language)
        shop.luggage.pack(lease)
    except HostUnavailable as error:
        raise ComeBack("the session host is away") from error
    shop.slack.post(lease, wish.thread, f"{lease.thread_id}/undo:{wish.ts}", escape(text))
    shop.store.take_mail(lease, past[-1].id, [wish.id], [dump_step(step) for step in steps])
    granted(shop.slack, lease, wish)


def granted(slack: SlackWriter, lease: Lease, wish: StoredMessage) -> None:
    """Show on the message that its wish was dealt with."""
    slack.unreact(wish.thread, wish.ts, RECEIVED, lease=lease)
    slack.react(wish.thread, wish.ts, OUTCOME["done"], lease=lease)


def _late(mail: Sequence[StoredMessage]) -> set[int]:
    """Of a thread without a turn: presses of answers, and stops that nobody's words came before."""
    first = min((message.id for message in mail if message.kind == "text"), default=None)
    return {
        message.id
        for message in mail
        if message.kind == "answer" or (message.kind == "stop" and (first is None or message.id < first))
    }


def _resumed(shop: Workshop, lease: Lease, wish: StoredMessage, past: Sequence[TurnRow]) -> TurnRow | None:
    """The last turn, open again, when it gave up for a passing reason and somebody just wishes that it goes on."""
    if wish.kind != "text" or wish.files or not says(wish.text, CONTINUE):
        return None
    for row in reversed(past):
        ends = [step for step in remembered(shop, row) if isinstance(step, Finished | GaveUp | Forgot)]
        if ends and isinstance(end := ends[-1], Forgot) and not end.done:
            continue
        if not ends or not isinstance(end := ends[-1], GaveUp) or end.reason not in RESUMABLE:
            return None
        step = Resumed(user=wish.user, author=author_of(shop, wish), text=wish.text, ts=wish.ts)
        log.info("turn taken up again", turn=row.id, ended_by=end.reason)
        return shop.store.reopen_turn(lease, row.id, wish.id, dump_step(step), model=shop.model.name)
    return None


def _language_of(shop: Workshop, mail: Sequence[StoredMessage], past: Sequence[TurnRow]) -> Language:
    """That of the words; of a file without words, that of the thread so far, else what its owner has set in Slack."""
    text = "\n".join(message.text for message in mail)
    if text.strip():
        return detect(text)
    return past[-1].language if past else shop.slack.user_language(mail[0].user)
