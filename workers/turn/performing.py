"""Performs one action of a turn: each kind of action is a case, and its work stands in a module of its own."""

from __future__ import annotations

import time

from core.commands.registry import commands, language_of
from core.errors import LeaseLost
from core.phrases import say
from core.steps import (
    APPROVE_CALL,
    Acknowledged,
    Closed,
    Commanded,
    Finished,
    Forgot,
    GaveUp,
    Questioned,
    open_question,
    words_of,
)
from core.values import Language, ThreadKey
from workers.agent.actions import (
    Action,
    AskApproval,
    AskModel,
    LetGo,
    Obey,
    ProposeFunction,
    RunCell,
    RunRoute,
    TryFunction,
    Wait,
)
from workers.agent.consequences import step_of
from workers.agent.turn import Turn
from workers.turn.access.messages import note_command
from workers.turn.cells import run_cell
from workers.turn.clean_rooms.learning import propose_function, try_function
from workers.turn.clean_rooms.second_route import run_route
from workers.turn.closing import close, rest
from workers.turn.commands import CommandThread, handler_of
from workers.turn.model_call import ask_model
from workers.turn.open_turn import OpenTurn
from workers.turn.sessions import with_session_host


def perform(turn: OpenTurn, view: Turn, action: Action) -> bool:
    """Perform one action, decided from `view`; True when the turn rests now."""
    match action:
        case AskModel():
            ask_model(turn, view, action)
        case RunCell():
            run_cell(turn, action)
        case RunRoute():
            run_route(turn, action)
        case TryFunction():
            try_function(turn, action)
        case ProposeFunction():
            propose_function(turn)
        case AskApproval():
            turn.append(_question(turn, action))
        case Obey(command):
            _obey(turn, command)
        case LetGo():
            raise LeaseLost(f"the lease of {turn.thread_id} is known to be lost")
        case Wait():
            return _wait(turn, view)
        case _:
            turn.append(step_of(action))
    return False


def _wait(turn: OpenTurn, view: Turn) -> bool:
    """Rest until a person answers. A turn that has an end is closed with it: somebody continued behind that end."""
    if not turn.steps:  # people have deleted what it was for
        turn.append(Closed())
        return False
    ends = [step for step in view.steps if isinstance(step, Finished | Forgot | GaveUp | Closed)]
    if ends:
        close(turn, ends[-1])
        return True
    turn.show.ends("waiting")
    if asked := open_question(turn.steps):
        turn.show.questions.ask(turn.steps, asked)
    rest(turn, "waiting")
    return True


def _question(turn: OpenTurn, action: AskApproval) -> Questioned:
    """Our question whether something may run, which counts for this many hours."""
    language = turn.language
    policy = turn.context.settings.approvals_in(ThreadKey.parse(turn.thread_id).channel)
    what = action.approval.what
    title = action.approval.title or say("progress_cell", language)
    kind = f"{what}_" if what in ("plan", "stage", "cost", "extra") else ""
    return Questioned(
        call_id=f"{APPROVE_CALL}{action.number}",
        question=say(f"approval_{kind}question", language, title=title),
        options=tuple(say(f"approval_{kind}{word}", language) for word in words_of(action.approval)),
        until=time.time() + policy.hours * 3_600,
        approval=action.approval,
        people=policy.people,
    )


def _obey(turn: OpenTurn, command: Commanded) -> None:
    """Carry out a command. Its steps are stored together with the word that it was carried out."""
    thread = CommandThread(turn.context, turn.lease, turn.turns, _language_for(turn, command), command, turn)
    steps = with_session_host(lambda: handler_of(command.command)(thread))
    note_command(turn.context, turn.lease, command, done=thread.is_done)
    turn.append(Acknowledged(command=command.command, ts=command.ts), *steps)


def _language_for(turn: OpenTurn, command: Commanded) -> Language:
    """The language of an answer: that of the words, as at rest, and the turn's for a command that belongs to the
    turn."""
    known = commands()[command.command]
    is_aside = known.at_rest == "last_turn" and not known.by_form
    return language_of(command.text, turn.language) if is_aside else turn.language
