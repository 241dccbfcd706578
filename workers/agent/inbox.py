"""Reading a thread's mail: which messages a turn takes next, and the steps that they become. Pure.

A message is words, an answer to our question, or a command. Words that are an option of the open question are its
answer, also when they are a command elsewhere ("Cancel"). Words end with the first command, which is carried out before
anything that came after it is read. A stop ends the reading: what came before it is kept and not worked on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from core.access import reset_answer
from core.commands import commands, is_command
from core.rows import StoredMessage
from core.steps import RESET_CALL, Asked, Commanded, Questioned

AuthorOf = Callable[[StoredMessage], str]
"""The display name of a message's author."""


@dataclass(frozen=True, slots=True)
class Reading:
    """`mail` is read together and becomes `steps`. `words` are the messages whose files count; with `stops` their
    files are only noted."""

    mail: tuple[StoredMessage, ...]
    steps: tuple[Asked | Commanded, ...]
    words: tuple[StoredMessage, ...]
    stops: bool = False


def read_mail(mail: Sequence[StoredMessage], question: Questioned | None, author_of: AuthorOf) -> Reading:
    """What a turn reads next of its unread mail (in order). `question` is the one that is open."""
    stops = [message for message in mail if message.kind == "stop" and not _is_option(message, question)]
    last_stop = max((message.id for message in stops), default=None)
    taken: list[StoredMessage] = []
    steps: list[Asked | Commanded] = []
    words: list[StoredMessage] = []
    is_open = question is not None
    for message in mail:
        if last_stop is not None and message.id > last_stop:
            continue
        taken.append(message)
        if message.kind == "answer" and question is None:
            continue  # nobody asked
        command = _command(message, question if is_open else None)
        if command is None:
            steps.append(as_asked(message, author_of))
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


def as_command(message: StoredMessage, command: str, author_of: AuthorOf) -> Commanded:
    """A message as a command."""
    return Commanded(command=command, user=message.user, author=author_of(message), text=message.text, ts=message.ts)


def _command(message: StoredMessage, question: Questioned | None) -> str | None:
    """The command that this message is to an open turn; None when it is words or an answer."""
    if question is not None and question.call_id == RESET_CALL and (answer := reset_answer(message.text, question)):
        return answer
    if not is_command(message.kind) or _is_option(message, question):
        return None
    return None if commands()[message.kind].in_turn == "words" else message.kind


def _is_option(message: StoredMessage, question: Questioned | None) -> bool:
    return question is not None and _folded(message.text) in {_folded(option) for option in question.options}


def _folded(text: str) -> str:
    return text.strip().casefold()
