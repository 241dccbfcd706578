"""installing: what a person decided about the packages that a program needs: install them, or build without them.

In both cases the program is built. If the program has changed meanwhile, the person is told, and nothing is done.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

from core.phrases import say
from core.steps import Step
from core.team_memory import MemoryDecision, proposal_of
from workers.builder.packages.lock import Lock, Packages
from workers.builder.requirements.requirement import RequirementWrong, read
from workers.turn.building import packages_for
from workers.turn.commands.build import OFFLINE
from workers.turn.commands.building import built, settled, tell_stale
from workers.turn.commands.memory import tell_late
from workers.turn.commands.thread import CommandThread


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Install and build, or only build."""
    decision = MemoryDecision.decode(thread.command.text)
    found = proposal_of(thread.turns, decision.proposal) if decision is not None else None
    if decision is None or found is None or found[0].what != "packages" or decision.do not in ("keep", "drop"):
        return ()
    asked, before = found
    if before is not None:
        tell_late(thread, asked, before)
        return ()
    program = proposal_of(thread.turns, asked.origin)
    if program is None or program[0].version != asked.version or program[1] is not None:
        if program is not None:
            tell_stale(thread, program[0], decision)
        return ()
    try:
        requirement, lock = read(program[0].text, program[0].file), Lock.model_validate_json(asked.text)
    except (RequirementWrong, ValidationError):
        return ()
    turn = thread.open_turn
    if turn is None or turn.model.name == OFFLINE:
        thread.answer(say("build_no_model", thread.language), done=False)
        return ()
    packages = Packages(missing=lock.wanted, why=say("packages_not_approved", thread.language))
    if decision.do == "keep":
        packages, _ = packages_for(turn, program[0], requirement, lock)
    steps = settled(thread, asked, "kept" if decision.do == "keep" else "dropped")
    return (*steps, *built(thread, turn, program[0], requirement, packages))
