"""The ends of a turn: a report, a session that was forgotten, an honest stop, or a fault of ours."""

from __future__ import annotations

import uuid
from contextlib import suppress
from dataclasses import replace
from functools import partial

from core.clean_room import WAITING, Mode
from core.commands.approvals import PRESSES
from core.commands.registry import NOTE, is_by_form
from core.errors import OursToFix, SlackUnreachable
from core.held_files import Held
from core.phrases import say
from core.rows import NewReport, StoredMessage
from core.slack.text import escape
from core.slack.views.suggestions import as_prompts
from core.steps import Asked, Closed, Finished, Forgot, GaveUp, Step
from core.suggesting import suggestions
from core.telemetry import get_logger
from core.values import StoredFile, ThreadKey, TurnStatus
from workers.agent.about_steps import asker, cells, ending, files_made
from workers.agent.report.rerun import rests_on_cells
from workers.agent.thread.inbox import as_asked, as_noted
from workers.agent.turn import files_of
from workers.delivery.deliver import end_slot
from workers.delivery.reports import render_report
from workers.turn.cells import export
from workers.turn.clean_rooms.checking import check_before, order_of
from workers.turn.context import RetryLater
from workers.turn.handover import report_of
from workers.turn.holding import hold_files, show_held
from workers.turn.live import show_progress
from workers.turn.mail.inbox import author_of
from workers.turn.open_turn import OpenTurn
from workers.turn.privacy import as_people_see, privacy_of
from workers.turn.unposted import tell_refused

log = get_logger(__name__)


def close(turn: OpenTurn, end: Finished | Forgot | GaveUp | Closed) -> None:
    """Show the end and close the turn; safe to do again."""
    if isinstance(end, Finished):
        show_progress(turn, "status_reporting")
        _report(turn)
    elif isinstance(end, Forgot):
        turn.show.ends(_status_of(end))
        turn.show.say(end_slot(turn.steps), escape(end.text), below_card=True)
    elif isinstance(end, Closed):
        turn.show.ends("done")
    else:
        turn.show.ends(_status_of(end))
        others = [name for name, model in turn.context.models.items() if model is not turn.model]
        turn.show.gave_up(turn.steps, end, others)
    rest(turn, _status_of(end))


def rest(turn: OpenTurn, status: TurnStatus) -> None:
    """The turn comes to rest: closed, or "waiting" for a person."""
    export(turn)
    turn.show.rest(turn.steps, status)
    turn.rests_without_mail = not turn.context.store.set_turn_status(turn.lease, turn.row.id, status)
    if status == "done":
        _suggest(turn)
    log.info("turn_rests", status=status)


def _suggest(turn: OpenTurn) -> None:
    """In a direct message, offer Slack's suggested prompts: questions that fit the thread's data."""
    thread = ThreadKey.parse(turn.thread_id)
    if not thread.channel.startswith("D"):
        return
    steps = [step for steps in turn.turns for step in steps]
    if questions := suggestions(files_of(steps), turn.language):
        turn.context.slack.suggest_prompts(thread, as_prompts(questions))


def close_as_ours(turn: OpenTurn, *, at_last: bool = False) -> None:
    """End a turn with the sentence that it was our fault, and a reference that the log has too. Its mail is read.

    Raises RetryLater while Slack is unavailable: the next try finds the sentence among the steps. With `at_last` the
    turn ends all the same.
    """
    store, reference = turn.context.store, uuid.uuid4().hex[:8]
    log.error("turn_closed_as_our_fault", turn=turn.row.id, reference=reference)
    mail = store.unread(turn.thread_id)
    end = GaveUp(reason="our_fault", text=say("our_fault", turn.language, reference=reference), fault="ours")
    author = author_of(turn.context)
    words: list[Step] = [
        as_noted(message, author) if message.kind == NOTE else as_asked(message, author)
        for message in mail
        if _has_words(message)
    ]
    turn.take(mail, [*words, end])
    turn.show.ends("failed")
    for show in (partial(turn.show.gave_up, turn.steps, end), partial(turn.show.rest, turn.steps, "failed")):
        try:
            show()
        except OursToFix as error:
            log.exception("thread_not_notified")
            tell_asker_refused(turn, error)
            if isinstance(error, SlackUnreachable) and not at_last:
                raise RetryLater(str(error)) from error
    store.set_turn_status(turn.lease, turn.row.id, "failed")


def tell_asker_refused(turn: OpenTurn, error: OursToFix) -> None:
    """If Slack refused our words in the thread, tell who asked, once per turn. Raises LeaseLost.

    Whoever has deleted the question wants to hear nothing.
    """
    user = asker(turn.steps)
    asked = {step.ts for step in turn.steps if isinstance(step, Asked) and step.user == user}
    if user and not asked & turn.context.store.deleted_messages(turn.row.id):
        key = f"{turn.row.id}:unposted"
        tell_refused(turn.context, turn.lease, error, user=user, language=turn.language, key=key)


def _has_words(message: StoredMessage) -> bool:
    """Whether a person wrote the message. What buttons and forms send says nothing to the analyst."""
    return not is_by_form(message.kind) and message.kind != "stop" and message.kind not in PRESSES


def close_at_last(turn: OpenTurn) -> None:
    """Close a turn at which several workers died."""
    if not close_answered(turn):
        close_as_ours(turn, at_last=True)


def close_answered(turn: OpenTurn) -> bool:
    """Close a turn whose answer is in the thread already: it stays the answer. False when it is not there."""
    turn.context.slack.note_now(turn.lease)
    end = ending(turn.steps)
    if end is None or not turn.show.was_posted("report:0" if isinstance(end, Finished) else end_slot(turn.steps)):
        return False
    status = _status_of(end)
    # The status comes first, so the turn is closed even if drawing the card kills the worker.
    turn.context.store.set_turn_status(turn.lease, turn.row.id, status)
    log.error("turn_closed_after_answer", turn=turn.row.id, status=status)
    with suppress(OursToFix):
        turn.show.rest(turn.steps, status)
    return True


def _status_of(end: Finished | Forgot | GaveUp | Closed) -> TurnStatus:
    if isinstance(end, GaveUp):
        return "failed" if end.fault == "ours" else "stopped"
    return "done"


def _report(turn: OpenTurn) -> None:
    """Post the report and its files. The same steps make the same report."""
    context = turn.context
    mode = _clean_room(turn)
    unshown = [cell.cell_id for cell in cells(turn.steps) if not turn.show.figures_were_taken(cell)]
    seen = as_people_see(turn.turns, privacy_of(turn))
    given = report_of(
        context, turn.turns, seen, turn.language, model=turn.row.model, unshown=unshown, turn_id=turn.row.id
    )
    if mode != "off":
        given = replace(given, clean_room=WAITING if mode == "after" else check_before(turn))
    report = render_report(given)
    files = [
        StoredFile(name=file.name, mimetype=file.mimetype, size=len(file.data), sha256=context.blobs.put(file.data))
        for file in report.files
    ]
    made = files_made(cells(seen[-1]))
    new = None
    if mode == "before":
        context.store.complete_report(turn.lease, turn.row.id, report.markdown, [*files, *made.values()])
    else:
        order = order_of(turn, report.messages) if mode == "after" else None
        new = NewReport(turn.row.id, report.markdown, [*files, *made.values()], order)
    turn.show.ends("done")
    shown = [file for file in files if file.name in report.shown]
    posted = [*shown, *made.values()]
    if (waiting := hold_files(turn, "report:files", posted)) is None:
        turn.show.report(report.messages, posted, new)
    else:
        turn.show.report(report.messages, [], new)
        show_held(context, turn.lease, Held(waiting), turn.language)


def _clean_room(turn: OpenTurn) -> Mode:
    """When the code behind this report is run again; "off" where no cell stands behind it."""
    mode = turn.context.settings.report.clean_room
    earlier, steps = turn.effective()
    return mode if mode != "off" and rests_on_cells((*earlier, steps)) else "off"
