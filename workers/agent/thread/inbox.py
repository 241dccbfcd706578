"""Reading a thread's mail: which messages a turn takes next, and the steps that they become. Pure.

A message is words, an answer to our question, or a command. Words that are an option of the open question are its
answer, also when they are a command elsewhere ("Cancel"), and so is a word that the question names. Words end with the
first command, which is carried out before anything that came after it is read. A stop ends the reading: what came
before it is kept and not worked on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

from core.access import names_answer, reset_answer
from core.commands.approvals import DECISION, Decision
from core.commands.registry import NOTE, argument_of, commands, is_command
from core.rows import StoredMessage
from core.steps import (
    RESET_CALL,
    Agreed,
    Approval,
    Asked,
    Commanded,
    Decided,
    Draft,
    Noted,
    Outcome,
    Questioned,
    Redrafted,
    Step,
    draft_of,
    option_of,
    words_of,
)
from workers.agent.code.risks import Touched, touched
from workers.agent.report.sourcing import without_idle_legend

AuthorOf = Callable[[StoredMessage], str]
"""The display name of a message's author."""


@dataclass(frozen=True, slots=True)
class Reading:
    """`mail` is read together and becomes `steps`. `words` are the messages whose files count; with `stops` their
    files are only noted."""

    mail: tuple[StoredMessage, ...]
    steps: tuple[Asked | Commanded | Agreed | Redrafted | Decided | Noted, ...]
    words: tuple[StoredMessage, ...]
    stops: bool = False


def read_mail(
    mail: Sequence[StoredMessage],
    question: Questioned | None,
    author_of: AuthorOf,
    shown_at: float = 0.0,
    before: Sequence[Step] = (),
) -> Reading:
    """What a turn reads next of its unread mail (in order). `question` is the one that is open.

    Words decide whether something may run only if they are later than `shown_at`, when the question appeared: nobody
    says yes to what they have not seen. A decision that came too late ends the reading. `before` are the steps so far.
    If several people have to say yes, these steps show who did, and the current text.
    """
    stops = [message for message in mail if message.kind == "stop" and not _is_option(message, question)]
    last_stop = max((message.id for message in stops), default=None)
    taken: list[StoredMessage] = []
    steps: list[Asked | Commanded | Agreed | Redrafted | Decided | Noted] = []
    words: list[StoredMessage] = []
    talk = overheard(mail)
    is_open = question is not None
    for message in mail:
        if last_stop is not None and message.id > last_stop:
            continue
        taken.append(message)
        if message.kind == NOTE:
            steps.append(as_noted(message, author_of))
            continue
        if message.kind == DECISION:
            if is_open and question is not None:
                given = _decision(message, draft_of((*before, *steps), question), author_of)
                steps += [given] if given is not None else []
                is_open = not isinstance(given, Decided)
                if isinstance(given, Decided) and given.outcome == "expired" and last_stop is None:
                    break
            continue  # else it was meant for a question that is decided, or for a text that was changed since
        if message.kind == "answer" and (question is None or question.approval):
            continue  # nobody asked this
        command = _command(message, question if is_open else None)
        if command is None:
            asked = as_asked(message, author_of, overheard=message.id in talk)
            if is_open and question is not None and question.approval:
                seen_at = inf if any(isinstance(step, Redrafted) for step in steps) else shown_at
                said = _decision_in_words(message, draft_of((*before, *steps), question), author_of, seen_at)
                if not isinstance(said, Decided):
                    steps += [said] if said is not None else []
                    continue
                steps += [asked, said]
            else:
                steps.append(asked)
            words.append(message)
            is_open = False
            continue
        steps.append(as_command(message, command, author_of))
        if last_stop is None:
            break
    return Reading(tuple(taken), tuple(steps), tuple(words), stops=last_stop is not None)


def overheard(mail: Sequence[StoredMessage]) -> frozenset[int]:
    """The ids of the messages that people wrote to one another before one of this mail called the bot in.

    They were written before it, and stored after it.
    """
    callers = [message for message in mail if message.mention]
    return frozenset(
        message.id
        for message in mail
        if not message.mention and any(float(message.ts) < float(c.ts) and message.id > c.id for c in callers)
    )


def as_asked(message: StoredMessage, author_of: AuthorOf, *, overheard: bool = False) -> Asked:
    """A message as words."""
    return Asked(user=message.user, author=author_of(message), text=message.text, ts=message.ts, overheard=overheard)


def as_noted(message: StoredMessage, author_of: AuthorOf) -> Noted:
    """A message as a note."""
    text = argument_of(NOTE, message.text) or message.text
    return Noted(user=message.user, author=author_of(message), text=text, ts=message.ts)


def as_command(message: StoredMessage, command: str, author_of: AuthorOf) -> Commanded:
    """A message as a command."""
    return Commanded(command=command, user=message.user, author=author_of(message), text=message.text, ts=message.ts)


def _decision(message: StoredMessage, draft: Draft, author_of: AuthorOf) -> Decided | Agreed | Redrafted | None:
    """What a press or a form decides. None if it was meant for another question, if the person has already said yes, or
    if somebody changed the text after the person saw it."""
    decision, question = Decision.decode(message.text), draft.question
    if decision is None or question.approval is None or decision.call != question.call_id:
        return None
    if not message.user:  # from the worker service: nobody decided in time
        return _decided(question, "expired", message, "")
    if _is_late(message, question):
        return _decided(question, "expired", message, author_of(message), decision)
    if decision.do in ("run", "edited") and decision.draft != draft.number:
        return None  # a yes to one text is no yes to another one
    if decision.do == "edited" and question.people > 1:
        return _redrafted(message, question.approval, decision, author_of)
    return _counted(_decided(question, decision.do, message, author_of(message), decision), draft)


def _decision_in_words(
    message: StoredMessage, draft: Draft, author_of: AuthorOf, shown_at: float
) -> Decided | Agreed | None:
    """What words decide: an option of the question does what it says, other words let nothing run. None if a person
    says yes a second time."""
    question = draft.question
    option = option_of(message.text, question)
    words = words_of(question.approval) if question.approval else ()
    if option is None or option >= len(words) or float(message.ts) <= shown_at:
        return _decided(question, "other", message, author_of(message))
    outcome = "expired" if _is_late(message, question) else words[option]
    return _counted(_decided(question, outcome, message, author_of(message)), draft)


def _counted(decided: Decided, draft: Draft) -> Decided | Agreed | None:
    """A yes, counted where several people have to say it: as one of several, or as the last one. Other decisions stay
    as they are.

    With the last yes to a text that somebody changed, the changed text runs.
    """
    if decided.outcome != "run" or draft.question.people < 2 or draft.question.approval is None:
        return decided
    yes = {each.user for each in draft.agreed}
    if len({*yes, decided.user}) < draft.question.people:
        agreed = Agreed(call_id=decided.call_id, user=decided.user, author=decided.author, ts=decided.ts)
        return None if decided.user in yes else agreed
    if not draft.number:
        return decided
    changed = {"outcome": "edited", "code": draft.question.approval.code, "editor": draft.editor}
    return decided.model_copy(update=changed)


def _redrafted(message: StoredMessage, approval: Approval, decision: Decision, author_of: AuthorOf) -> Redrafted:
    found = touched(decision.code) if approval.what == "python" else Touched()
    return Redrafted(
        call_id=decision.call,
        user=message.user,
        author=author_of(message),
        ts=message.ts,
        code=_as_changed(approval, decision.code),
        risks=found.risks,
        reads=found.reads,
        writes=found.writes,
    )


def _decided(
    question: Questioned, outcome: Outcome, message: StoredMessage, author: str, given: Decision | None = None
) -> Decided:
    return Decided(
        call_id=question.call_id,
        outcome=outcome,
        user=message.user,
        author=author,
        ts=message.ts,
        code=_as_changed(question.approval, given.code) if given else "",
        hint=given.hint if given else "",
    )


def _as_changed(approval: Approval | None, text: str) -> str:
    """The text that a person made of ours. In the result of a stage no line of ours explains signs that are gone."""
    return without_idle_legend(text) if approval is not None and approval.what == "stage" else text


def _is_late(message: StoredMessage, question: Questioned) -> bool:
    return question.until is not None and float(message.ts) > question.until


def _command(message: StoredMessage, question: Questioned | None) -> str | None:
    """The command that this message gives to an open turn. None when it is words or an answer."""
    if question is not None and question.call_id == RESET_CALL and (answer := reset_answer(message.text, question)):
        return answer
    if not is_command(message.kind) or _is_option(message, question):
        return None
    if question is not None and names_answer(message.kind, message.text, question):
        return None
    return None if commands()[message.kind].in_turn == "words" else message.kind


def _is_option(message: StoredMessage, question: Questioned | None) -> bool:
    return question is not None and option_of(message.text, question) is not None
