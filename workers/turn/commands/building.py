"""building: what a person decided about a requirement file: build it, save another version of it, or leave it.

Versions are compared: if somebody has changed the file meanwhile, the person is told, and nothing is done.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from core.authorization import Authorizer
from core.phrases import say
from core.rows import money
from core.slack.text import clip, escape
from core.slack.views.memory import proposal_message
from core.steps import Proposed, Step
from core.team_memory import MemoryDecision, proposal_of
from workers.agent.text import one_line
from workers.builder.packages.lock import Lock, Packages
from workers.builder.requirements.requirement import Requirement, RequirementWrong, read
from workers.turn.building import build, packages_for
from workers.turn.commands.build import OFFLINE, about, build_cost, told_problems, upload_version, with_estimate
from workers.turn.commands.memory import draw, draw_as, settled_as, tell_late
from workers.turn.commands.thread import CommandThread
from workers.turn.open_turn import OpenTurn

_CHANGES = 1_500


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Do what was decided, unless it was meant for another version."""
    decision = MemoryDecision.decode(thread.command.text)
    found = proposal_of(thread.turns, decision.proposal) if decision is not None else None
    if decision is None or found is None or found[0].what != "program":
        return ()
    proposed, before = found
    if before is not None:
        tell_late(thread, proposed, before)
        return ()
    if decision.version != proposed.version:
        tell_stale(thread, proposed, decision)
        return ()
    match decision.do:
        case "edit":
            return _saved(thread, proposed, decision.text)
        case "drop":
            return settled(thread, proposed, "dropped")
        case "keep":
            return _built(thread, proposed)
        case _:
            return ()


def _saved(thread: CommandThread, proposed: Proposed, text: str) -> Sequence[Step]:
    """A version by who changed the file. One with faults is kept too: it cannot be built before they are corrected."""
    text = text.replace("\r\n", "\n").rstrip("\n") + "\n"
    if text == proposed.text:
        return ()
    fresh = proposed.model_copy(
        update={
            "text": text,
            "about": about(text, thread.language),
            "questions": (),
            "version": proposed.version + 1,
            "user": thread.command.user,
            "author": thread.command.author,
        }
    )
    fresh = with_estimate(thread, fresh)
    upload_version(thread, fresh)
    draw_as(thread, fresh, proposal_message(fresh, thread.lease.thread_id, thread.language))
    return (fresh,)


def _built(thread: CommandThread, proposed: Proposed) -> Sequence[Step]:
    language = thread.language
    try:
        requirement = read(proposed.text, proposed.file)
    except RequirementWrong as error:
        problems = one_line(told_problems(error), 600) + "."
        _whisper(thread, say("build_unready", language, file=proposed.file, problems=problems))
        return ()
    if thread.open_turn is None or thread.open_turn.model.name == OFFLINE:
        _whisper(thread, say("build_no_model", language))
        return ()
    if (cost := build_cost(thread, proposed)) is not None and not _may_approve(thread):
        shown = {"cost": money(cost.micros), "currency": thread.context.settings.budget.currency}
        _whisper(thread, say("build_too_expensive", language, title=proposed.title, **shown))
        return ()
    packages, waiting = packages_for(thread.open_turn, proposed, requirement)
    if waiting is not None:
        return _asked(thread, proposed, waiting)
    return built(thread, thread.open_turn, proposed, requirement, packages)


def _may_approve(thread: CommandThread) -> bool:
    """Whether the author of the command may approve expensive work. Raises SlackUnreachable."""
    context = thread.context
    authorizer = Authorizer(context.settings, context.store, context.slack)
    return bool(authorizer.may_approve(thread.command.user, thread.key))


def built(
    thread: CommandThread, turn: OpenTurn, proposed: Proposed, requirement: Requirement, packages: Packages
) -> Sequence[Step]:
    """Build a program; it is settled once it was posted."""
    is_built = build(turn, thread.command.ts, proposed, requirement, packages)
    return settled(thread, proposed, "built") if is_built else ()


def _asked(thread: CommandThread, proposed: Proposed, lock: Lock) -> Sequence[Step]:
    """Post the packages that the program needs, with the buttons that decide. The program waits."""
    command = thread.command
    asked = Proposed(
        what="packages",
        id=f"packages:{command.ts}",
        file=proposed.file,
        title=proposed.title,
        text=lock.model_dump_json(),
        about="\n".join(lock.rows()),
        version=proposed.version,
        origin=proposed.id,
        user=command.user,
        author=command.author,
        ts=command.ts,
    )
    message = proposal_message(asked, thread.lease.thread_id, thread.language)
    slot = f"{thread.lease.thread_id}/{asked.id}"
    thread.context.slack.post(thread.lease, thread.key, slot, message.text, message.blocks)
    return (asked,)


def settled(thread: CommandThread, proposed: Proposed, outcome: str) -> Sequence[Step]:
    """Draw a proposal decided; the step that says so."""
    end = settled_as(thread, proposed, outcome)
    draw(thread, proposed, end)
    return (end,)


def tell_stale(thread: CommandThread, proposed: Proposed, decision: MemoryDecision) -> None:
    """Say to who was later that somebody else saved first, with what they had written."""
    lines = difflib.unified_diff(proposed.text.splitlines(), decision.text.splitlines(), "saved", "yours", lineterm="")
    changes = clip("\n".join(lines), _CHANGES) if decision.do == "edit" else ""
    said = say(
        "build_stale",
        thread.language,
        author=proposed.author or proposed.user,
        version=proposed.version,
        yours=decision.version,
        file=proposed.file,
        changes=bool(changes),
    )
    _whisper(thread, f"{said}\n{changes}".rstrip())


def _whisper(thread: CommandThread, text: str) -> None:
    thread.context.slack.whisper(thread.key, thread.command.user, escape(text), lease=thread.lease)
