"""files: what a person decided about files that wait for a yes before they go to Slack."""

from __future__ import annotations

from collections.abc import Sequence

from core.held_files import FilesDecision, Held, held_as
from core.phrases import say
from core.slack.text import escape
from core.slack.views.held_files import settled_line
from core.steps import Agreed, FilesSettled, Step
from core.telemetry import get_logger
from workers.delivery.sharing import Sharing
from workers.turn.commands.thread import CommandThread
from workers.turn.holding import redraw

log = get_logger(__name__)


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Send the files or keep them, and draw the question again. The first decision counts; later presses are told.

    If more people have to say yes, the files are sent with the last yes. Raises SlackUnreachable, BlobsUnreachable.
    """
    command, decision = thread.command, FilesDecision.decode(thread.command.text)
    question = held_as(thread.turns, decision.held) if decision is not None else None
    if decision is None or question is None:
        return ()
    if not question.is_open:
        _tell(thread, say("approval_late", thread.language, line=settled_line(question, thread.language)))
        return ()
    if float(command.ts) > question.held.until:
        return (_settle(thread, question, "expired"),)
    if decision.do == "keep":
        return (_settle(thread, question, "kept"),)
    yes = {each.user for each in question.agreed}
    if command.user in yes:
        _tell(thread, say("approval_agreed_twice", thread.language))
        return ()
    if len(yes) + 1 < question.held.people:
        agreed = Agreed(call_id=question.held.id, user=command.user, author=command.author, ts=command.ts)
        _redraw(thread, question._replace(agreed=(*question.agreed, agreed)))
        return (agreed,)
    return _send(thread, question)


def _send(thread: CommandThread, question: Held) -> Sequence[Step]:
    """Upload the files. When Slack refuses them the thread is told, and the question stays open."""
    context, held = thread.context, question.held

    def tell(key: str, text: str) -> None:
        context.slack.post_once(thread.lease, thread.key, f"{key}:{thread.command.ts}", text)

    sharing = Sharing(context.slack, context.blobs, thread.lease, thread.language, tell)
    with sharing.copies(held.key, held.files) as copies:
        if not sharing.send(held.key, copies, held.comment):
            return ()
        outcome = "sent" if copies.uploads or not (copies.held or copies.gone) else "held" if copies.held else "gone"
    return (_settle(thread, question, outcome),)


def _settle(thread: CommandThread, question: Held, outcome: str) -> FilesSettled:
    command = thread.command
    given = {"held": question.held.id, "outcome": outcome, "user": command.user, "author": command.author}
    settled = FilesSettled.model_validate({**given, "ts": command.ts})
    log.info("files_settled", outcome=outcome, files=len(question.held.files))
    _redraw(thread, question._replace(settled=settled))
    return settled


def _redraw(thread: CommandThread, question: Held) -> None:
    redraw(thread.context, thread.lease, question, thread.language)


def _tell(thread: CommandThread, text: str) -> None:
    thread.context.slack.whisper(thread.key, thread.command.user, escape(text), lease=thread.lease)
