"""The mail of a turn: read, with its files, and taken as steps in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial

from core.errors import FileUnreachable, SlackUnreachable
from core.phrases import say
from core.rows import StoredMessage
from core.slack.text import escape
from core.slack.views.memory import followed_message
from core.steps import (
    Agreed,
    Asked,
    Briefed,
    Noted,
    Questioned,
    Recalled,
    Redrafted,
    Step,
    Unread,
    open_question,
)
from core.store.messages import MailChanged
from core.values import FileRef
from workers.agent.about_steps import has_readable_file, last_answer, unread_files
from workers.agent.thread.inbox import AuthorOf, Reading, read_mail
from workers.turn.context import TurnContext
from workers.turn.live import show_progress
from workers.turn.mail.talk import unread_mail
from workers.turn.open_turn import OpenTurn
from workers.turn.sessions import with_session_host
from workers.turn.team_memory import recalled_for

FILE_WAIT = timedelta(minutes=10)
"""How long a turn waits for files that Slack does not give, after it has said so. `file_not_given` names it too."""


def author_of(context: TurnContext) -> AuthorOf:
    """Names authors: as stored with the message, else as Slack knows them."""
    return lambda message: message.author or context.slack.user_name(message.user)


def join_mail(turn: OpenTurn) -> None:
    """Make steps of what people wrote since. A click that answers no open question is read and dropped."""
    question = open_question(turn.steps)
    mail = turn.known_mail()
    if mail is None:
        mail = unread_mail(turn.context, turn.lease, lambda: turn.steps)
    reading = read_mail(mail, question, author_of(turn.context), _shown_at(turn, question), turn.steps)
    steps: list[Step] = list(reading.steps)
    if reading.stops:
        if files := turn.context.files.announced(reading.words):
            steps.insert(_before_commands(reading), Unread(files=files))
    else:
        files = _files_to_read(turn, reading.words)
        if not reading.mail and not files:
            return
        if files:
            turn.store_row()
            briefed = _briefed(turn, files, question)
            if briefed is None:  # a stop came meanwhile: it is unread mail
                join_mail(turn)
                return
            steps.insert(_before_commands(reading), briefed)
        if recalled := recalled_for(turn.context, turn.thread_id, turn.turns, steps, turn.language):
            steps.insert(_before_commands(reading) + len(files[:1]), recalled)
    if turn.preferred is not None and not turn.steps and any(isinstance(step, Asked) for step in steps):
        steps.append(turn.preferred)
    try:
        turn.take(reading.mail, steps, as_read=True)
    except MailChanged:  # its files may have taken minutes
        join_mail(turn)
        return
    if question is not None and any(isinstance(step, Agreed | Redrafted) for step in steps):
        turn.show.questions.redraw(turn.steps, question)
    show_answer(turn)
    tell_file_problems(turn)
    tell_playbook(turn)


def _shown_at(turn: OpenTurn, question: Questioned | None) -> float:
    """When the question appeared in the thread as it reads now, in Slack's time; inf while it has not."""
    shown = turn.show.questions.shown_ts(turn.steps, question) if question is not None and question.approval else "0"
    return float(shown or "inf")


def show_answer(turn: OpenTurn) -> None:
    """Take the buttons from the last question once somebody has answered it or stopped the turn there."""
    if (found := last_answer(turn.steps)) is not None:
        question, answer = found
        turn.show.questions.close(turn.steps, question, answer)


def tell_file_problems(turn: OpenTurn) -> None:
    """Say of each file that could not be used why, in one message per briefing."""
    briefings = [step for step in turn.steps if isinstance(step, Briefed)]
    for number, briefed in enumerate(briefings):
        if briefed.problems:
            lines = [say("files_problem_intro", turn.language, name=p.name, why=p.why) for p in briefed.problems]
            if has_readable_file(turn.turns):
                lines.append(say("files_rest_goes_on", turn.language))
            turn.show.say(f"problems:{number}", escape("\n".join(lines)), below_card=True)


def tell_playbook(turn: OpenTurn) -> None:
    """Say which playbook the turn follows. If the data no longer fits the playbook, ask people instead."""
    for number, step in enumerate(step for step in turn.steps if isinstance(step, Recalled)):
        if step.playbook is not None and not step.playbook.drift:
            turn.show.message(f"playbook:{number}", followed_message(step.playbook, turn.row.id, turn.language))


def _before_commands(reading: Reading) -> int:
    """Where the files of a reading belong among its steps: behind the words, before the first command."""
    return next((n for n, step in enumerate(reading.steps) if not isinstance(step, Asked | Noted)), len(reading.steps))


def _files_to_read(turn: OpenTurn, words: Sequence[StoredMessage]) -> tuple[FileRef, ...]:
    """The files of these messages, behind those that a stop left unread."""
    files = (*unread_files(turn.turns), *turn.context.files.announced(words))
    return tuple({file.id: file for file in files}.values())


def _briefed(turn: OpenTurn, files: Sequence[FileRef], question: Questioned | None) -> Briefed | None:
    """The descriptions of these files after they are in place; None if somebody asked to stop."""
    show_progress(turn, "status_reading_files")
    tries = sum(isinstance(step, Unread) for step in turn.steps)
    label = f"{turn.row.id}:{tries}" if tries else turn.row.id
    # While a question is open, a word such as "cancel" may be its answer.
    stop: Callable[[], bool] = turn.stop_asked if question is None else lambda: False
    is_late = partial(file_waited, turn)
    brief = partial(turn.context.files.brief, turn.lease, label, files, turn.language, stop, is_late=is_late)
    return with_session_host(brief)


def tell_file_waits(turn: OpenTurn, error: FileUnreachable) -> None:
    """Say once per briefing that a file cannot be fetched for now. Slack may be unavailable too: then nothing is
    said."""
    with suppress(SlackUnreachable):
        turn.show.say(_waits_slot(turn), escape(say("file_waits", turn.language, name=error.name)))


def file_waited(turn: OpenTurn) -> bool:
    """Whether it was said long ago that the files of the next briefing cannot be fetched for now."""
    return turn.show.was_begun(_waits_slot(turn), before=datetime.now(UTC) - FILE_WAIT)


def _waits_slot(turn: OpenTurn) -> str:
    return f"file_waits:{sum(isinstance(step, Briefed) for step in turn.steps)}"
