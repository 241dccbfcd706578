"""The turn that a thread's mail is for: the open one, or what `workers/agent/thread/selection.py` says at rest."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from core.commands.registry import RUN, SPEAK, STARTUP, commands, is_by_form, language_of
from core.errors import BlobsUnreachable, LeaseLost, SlackFailed, SlackUnreachable
from core.phrases import say
from core.rows import StoredMessage, TurnRow
from core.slack.text import escape
from core.steps import Acknowledged, Asked, Commanded, Step
from core.store import StoreUnreachable
from core.store.messages import MailChanged
from core.store.thread_state import ThreadState
from core.store.turns import new_turn
from core.telemetry import get_logger
from core.values import Language, Lease
from executor.client import HostUnavailable
from workers.agent.about_steps import chosen_model
from workers.agent.thread.inbox import as_command
from workers.agent.thread.selection import CarryOut, Drop, Open, Reopen, Rest, select
from workers.turn.access.messages import note_command
from workers.turn.arrival import bring, sentence
from workers.turn.commands import CommandThread, handler_of
from workers.turn.context import RetryLater, TurnContext
from workers.turn.mail.inbox import author_of
from workers.turn.mail.talk import unread_mail
from workers.turn.preferences import asker_of, preferences_of, preferred
from workers.turn.selected import Selected
from workers.turn.unposted import tell_refused

log = get_logger(__name__)

_AWAY = (HostUnavailable, SlackUnreachable, StoreUnreachable, BlobsUnreachable)


def next_turn(context: TurnContext, lease: Lease, state: ThreadState) -> Selected | None:
    """The turn to work on: the open one if something is to be done for it, else by the mail; None without any.

    `state` was read under this lease. Raises RetryLater when the session host, the Store or the file store is
    unavailable, or when Slack is: it may have to say who wrote, and what the talk above the question is.
    """
    try:
        return _next_turn(context, lease, state)
    except _AWAY as error:
        raise RetryLater(str(error)) from error


def give_up_command(context: TurnContext, lease: Lease, state: ThreadState) -> bool:
    """Leave out the command that the thread would carry out now without a turn, and say so; False if there is none."""
    try:
        if state.open_turn is not None:
            return False
        selected = select(_mail(context, lease, state), list(state.steps.values()))
        if not isinstance(selected, CarryOut):
            return False
        thread = _at_rest(context, lease, selected.message, state)
        _leave_out(thread, state.turns[-1], selected.message)
    except _AWAY as error:
        raise RetryLater(str(error)) from error
    return True


def _next_turn(context: TurnContext, lease: Lease, state: ThreadState) -> Selected | None:
    store, thread_id = context.store, lease.thread_id
    has_place = state.needs_place
    while True:
        current = state.open_turn
        mail = _mail(context, lease, state)
        if current is not None:
            return Selected(current, state, mail) if mail or current.status == "running" else None
        past, turns = state.turns, list(state.steps.values()) if mail else []
        match select(mail, turns):
            case Rest():
                return None
            case Drop(late):
                store.take_mail(lease, past[-1].id, sorted(message.id for message in late), [])
            case CarryOut(message):
                _carry_out(context, lease, message, state)
            case Reopen(message, place):
                row = _reopened(context, lease, message, past[place], turns[place])
                return Selected(row, store.thread_state(thread_id))
            case Open():
                person = preferences_of(asker_of(mail), state)
                language = person.language or _language_of(context, mail, past)
                number = past[-1].number + 1 if past else 1
                model = context.model_named(person.model)
                row = new_turn(thread_id, number, language, model.name)
                return Selected(row, state, mail, is_new=True, preferred=preferred(context, mail, state))
        state = store.thread_state(thread_id)
        if state.needs_place and not has_place:  # what came meanwhile is to be admitted first
            return None


def _mail(context: TurnContext, lease: Lease, state: ThreadState) -> list[StoredMessage]:
    current = state.open_turn
    return unread_mail(context, lease, lambda: None if current is None else state.steps[current.id], state)


def _thread(
    context: TurnContext, lease: Lease, message: StoredMessage, turns: Sequence[Sequence[Step]], language: Language
) -> CommandThread:
    command = as_command(message, message.kind, author_of(context))
    return CommandThread(context, lease, turns, language, command)


def _at_rest(context: TurnContext, lease: Lease, message: StoredMessage, state: ThreadState) -> CommandThread:
    """A thread without a turn, as this command sees it."""
    language = _spoken_by(message.user, state)
    if not is_by_form(message.kind):
        language = language_of(message.text, language)
    return _thread(context, lease, message, list(state.steps.values()), language)


def _spoken_by(user: str, state: ThreadState) -> Language:
    """The language that this person spoke last in the thread; that of its last turn where nothing tells."""
    language = state.turns[-1].language
    for step in (step for steps in state.steps.values() for step in steps):
        if isinstance(step, Asked) or (isinstance(step, Commanded) and not is_by_form(step.command)):
            language = language_of(step.text, language) if step.user == user else language
    return language


def _carry_out(context: TurnContext, lease: Lease, message: StoredMessage, state: ThreadState) -> None:
    """Carry a command out without a turn. Its steps are the last turn's.

    One that fails is left out, and the thread is told: what came behind it is not to wait for ever.
    """
    last, thread = state.turns[-1], _at_rest(context, lease, message, state)
    command = thread.command
    needs_session = commands()[command.command].session
    try:
        if needs_session:
            _arrive(thread, last, state.node_id)
        steps = handler_of(command.command)(thread)
        if needs_session:
            context.transfer.export_state(lease)
    except (LeaseLost, RetryLater, *_AWAY):
        raise
    except Exception:
        log.exception("command_failed", command=command.command)
        _leave_out(thread, last, message)
        return
    note_command(context, lease, command, done=thread.is_done)
    done = [command, *steps, Acknowledged(command=command.command, ts=command.ts)]
    try:
        context.store.take_mail(lease, last.id, [message.id], done, as_read=[message])
    except MailChanged:  # it is carried out all the same; of a message that was deleted meanwhile no word stays
        context.store.take_mail(lease, last.id, [message.id], done)
        if message.ts in context.store.deleted_messages(last.id):
            context.store.redact(lease, [message.text], {message.ts})


def _leave_out(thread: CommandThread, last: TurnRow, message: StoredMessage) -> None:
    """Read a command that cannot be carried out, and say so: in the thread, or privately where Slack refuses that.

    Raises SlackUnreachable.
    """
    context, lease, command, reference = thread.context, thread.lease, thread.command, uuid.uuid4().hex[:8]
    log.error("command_left_out", command=command.command, reference=reference)
    text = say("command_failed", thread.language, author=command.author or command.user, reference=reference)
    key = f"{last.id}:failed:{command.ts}"
    try:
        context.slack.post(lease, thread.key, key, escape(text))
    except (SlackFailed, SlackUnreachable) as error:
        private = f"{key}:unposted"
        if not tell_refused(context, lease, error, user=command.user, language=thread.language, key=private):
            raise
    thread.sign(done=False)
    context.store.take_mail(lease, last.id, [message.id], [])


def _arrive(thread: CommandThread, last: TurnRow, node_id: str | None) -> None:
    """Import the session of a thread at rest, if it is elsewhere. Missing parts become a step of the last turn."""
    context, lease = thread.context, thread.lease
    here = context.settings.node_id
    if here == node_id:
        return
    if (moved := bring(context, lease, thread.turns, node_id)) is not None:
        key = f"{last.id}:moved:{thread.command.ts}"
        context.slack.post(lease, thread.key, key, escape(sentence(moved, thread.language)))
        context.store.append_step(lease, last.id, moved)
    context.store.set_thread_node(lease, here)


def _reopened(
    context: TurnContext, lease: Lease, message: StoredMessage, row: TurnRow, steps: Sequence[Step]
) -> TurnRow:
    """The same turn, open again, with the model of now."""
    (step,) = handler_of(message.kind)(
        _thread(context, lease, message, [steps], language_of(message.text, row.language))
    )
    log.info("turn_reopened", turn=row.id)
    model = context.model_named(chosen_model([*steps, step]))
    return context.store.reopen_turn(lease, row.id, message.id, step, model=model.name)


def _language_of(context: TurnContext, mail: Sequence[StoredMessage], past: Sequence[TurnRow]) -> Language:
    """The language of the words. For a file without words, that of the thread, else its owner's setting in Slack."""
    text = "\n".join(
        message.text for message in mail if message.kind not in (RUN, SPEAK, STARTUP)
    )  # code is in no language
    if text.strip():
        return language_of(text, past[-1].language if past else "en")
    return past[-1].language if past else context.slack.user_language(mail[0].user)
