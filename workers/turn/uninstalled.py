"""The end of a turn whose workspace has uninstalled the app: nothing can be said in Slack any more."""

from __future__ import annotations

from core.commands.registry import NOTE, language_of
from core.phrases import say
from core.rows import StoredMessage
from core.steps import UNINSTALLED, GaveUp, Step
from core.store.thread_state import ThreadState
from core.telemetry import get_logger
from core.values import Lease
from workers.agent.about_steps import ending
from workers.agent.thread.inbox import as_asked, as_noted
from workers.turn.context import TurnContext

log = get_logger(__name__)


def end_uninstalled(context: TurnContext, lease: Lease, state: ThreadState) -> None:
    """Read the thread's mail and end its turn with a sentence, which is in the Store alone. Raises LeaseLost.

    Once the app is installed again, "continue" takes the turn up where it was. An answer that is ready is kept: it is
    posted when somebody writes in the thread then.
    """
    store, row = context.store, state.open_turn
    mail = [message for message in state.mail if row is not None or message.kind != NOTE]
    if row is None and not mail:
        return
    if row is None:
        row = store.open_turn(lease, language_of(mail[0].text, "en"), context.model.name)
    earlier = ending(state.steps.get(row.id, ()))
    if not mail and earlier is not None and not isinstance(earlier, GaveUp):
        store.set_turn_status(lease, row.id, "waiting")
        return
    words: list[Step] = [
        as_noted(each, _author) if each.kind == NOTE else as_asked(each, _author)
        for each in mail
        if each.kind != "stop"
    ]
    end = GaveUp(reason=UNINSTALLED, text=say("workspace_uninstalled", row.language), fault="user")
    if mail or not (isinstance(earlier, GaveUp) and earlier.reason == UNINSTALLED):  # else a worker died in between
        store.take_mail(lease, row.id, [each.id for each in mail], [*words, end])
    store.set_turn_status(lease, row.id, "stopped")
    log.info("turn_ended_uninstalled", turn=row.id)


def _author(message: StoredMessage) -> str:
    return message.author or message.user
