"""Reading a thread's mail: which messages a turn takes next, and the steps that they become. Pure.

A message is words, an answer to our question, or a command. Words that are an option of the open question are its
answer, also when they are a command elsewhere ("Cancel"). Words end with the first command, which is carried out before
anything that came after it is read. A stop ends the reading: what came before it is kept and not worked on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from core.access import reset_answer
from core.approvals import DECISION, Decision
from core.commands import NOTE, argument_of, commands, is_command
from core.rows import StoredMessage
from core.steps import RESET_CALL, Agreed, Asked, Commanded, Decided, Noted, Outcome, Questioned, option_of, words_of

AuthorOf = Callable[[StoredMessage], str]
"""The display name of a message's author."""


@dataclass(frozen=True, slots=True)
class Reading:
    """`mail` is read together and becomes `steps`. `words` are the messages whose files count; with `stops` their
    files are only noted."""

    mail: tuple[StoredMessage, ...]
    steps: tuple[Asked | Commanded | Agreed | Decided | Noted, ...]
    words: tuple[StoredMessage, ...]
    stops: bool = False


def read_mail(  # noqa: PLR0912 - one branch per kind of message
    mail: Sequence[StoredMessage],
    question: Questioned | None,
    author_of: AuthorOf,
    shown_at: float = 0.0,
    agreed: Collection[str] = (),
) -> Reading:
    """What a turn reads next of its unread mail (in order). `question` is the one that is open.

    Words decide whether something may run only when they are later than `shown_at`, when the question appeared: nobody
    says yes to what they have not seen. A decision that came too late ends the reading. `agreed` are those who said yes
    already, where more people have to.
    """
    yes = set(agreed)
    stops = [message for message in mail if message.kind == "stop" and not _is_option(message, question)]
    last_stop = max((message.id for message in stops), default=None)
    taken: list[StoredMessage] = []
    steps: list[Asked | Commanded | Agreed | Decided | Noted] = []
    words: list[StoredMessage] = []
    is_open = question is not None
    for message in mail:
        if last_stop is not None and message.id > last_stop:
            continue
        taken.append(message)
        if message.kind == NOTE:
            steps.append(as_noted(message, author_of))
            continue
        if message.kind == DECISION:
            if is_open and (decided := _decision(message, question, author_of)) is not None:
                if _needs_more(decided, question, yes):
                    if decided.user not in yes:
                        steps.append(_agreed(decided))
                        yes.add(decided.user)
                    continue
                steps.append(decided)
                is_open = False
                if decided.outcome == "expired" and last_stop is None:
                    break
            continue  # else it was meant for a question that is decided
        if message.kind == "answer" and (question is None or question.approval):
            continue  # nobody asked this
        command = _command(message, question if is_open else None)
        if command is None:
            asked = as_asked(message, author_of)
            if is_open and question is not None and question.approval:
                decided = _decision_in_words(message, question, author_of, shown_at)
                if _needs_more(decided, question, yes):
                    steps += [_agreed(decided)] if decided.user not in yes else []
                    yes.add(decided.user)
                    continue
                steps += [asked, decided]
            else:
                steps.append(asked)
            words.append(message)
            is_open = False
            continue
        steps.append(as_command(message, command, author_of))
        if last_stop is None:
            break
    return Reading(tuple(taken), tuple(steps), tuple(words), stops=last_stop is not None)


def as_asked(message: StoredMessage, author_of: AuthorOf) -> Asked:
    """A message as words."""
    return Asked(user=message.user, author=author_of(message), text=message.text, ts=message.ts)


def as_noted(message: StoredMessage, author_of: AuthorOf) -> Noted:
    """A message as a note."""
    text = argument_of(NOTE, message.text) or message.text
    return Noted(user=message.user, author=author_of(message), text=text, ts=message.ts)


def as_command(message: StoredMessage, command: str, author_of: AuthorOf) -> Commanded:
    """A message as a command."""
    return Commanded(command=command, user=message.user, author=author_of(message), text=message.text, ts=message.ts)


def _needs_more(decided: Decided, question: Questioned | None, yes: Collection[str]) -> bool:
    """Whether this yes is not the last one that is needed."""
    people = question.people if question is not None else 1
    return decided.outcome == "run" and len({*yes, decided.user}) < people


def _agreed(decided: Decided) -> Agreed:
    return Agreed(call_id=decided.call_id, user=decided.user, author=decided.author, ts=decided.ts)


def _decision(message: StoredMessage, question: Questioned | None, author_of: AuthorOf) -> Decided | None:
    """What a press or a form decides; None when it was meant for another question."""
    decision = Decision.decode(message.text)
    if decision is None or question is None or question.approval is None or decision.call != question.call_id:
        return None
    if not message.user:  # said by the worker service: nobody decided in time
        return _decided(question, "expired", message, "")
    if decision.do == "edited" and question.people > 1:
        return None  # the others would say yes to what they have not seen
    outcome = "expired" if _is_late(message, question) else decision.do
    return _decided(question, outcome, message, author_of(message), decision)


def _decision_in_words(message: StoredMessage, question: Questioned, author_of: AuthorOf, shown_at: float) -> Decided:
    """What words decide: an option of the question does what it says, other words let nothing run."""
    option = option_of(message.text, question)
    words = words_of(question.approval) if question.approval else ()
    if option is None or option >= len(words) or float(message.ts) <= shown_at:
        return _decided(question, "other", message, author_of(message))
    outcome = "expired" if _is_late(message, question) else words[option]
    return _decided(question, outcome, message, author_of(message))


def _decided(
    question: Questioned, outcome: Outcome, message: StoredMessage, author: str, given: Decision | None = None
) -> Decided:
    return Decided(
        call_id=question.call_id,
        outcome=outcome,
        user=message.user,
        author=author,
        ts=message.ts,
        code=given.code if given else "",
        hint=given.hint if given else "",
    )


def _is_late(message: StoredMessage, question: Questioned) -> bool:
    return question.until is not None and float(message.ts) > question.until


def _command(message: StoredMessage, question: Questioned | None) -> str | None:
    """The command that this message is to an open turn; None when it is words or an answer."""
    if question is not None and question.call_id == RESET_CALL and (answer := reset_answer(message.text, question)):
        return answer
    if not is_command(message.kind) or _is_option(message, question):
        return None
    return None if commands()[message.kind].in_turn == "words" else message.kind


def _is_option(message: StoredMessage, question: Questioned | None) -> bool:
    return question is not None and option_of(message.text, question) is not None
