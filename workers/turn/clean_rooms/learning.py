"""Trying a function in a session of its own, and putting it before people."""

from __future__ import annotations

import time

from core.errors import BlobsUnreachable
from core.phrases import say
from core.slack.views.memory import proposal_message
from core.steps import FunctionDraft, FunctionTest, FunctionTried, Learning, Proposed, Replied
from core.team_folder.folder import NotWritten
from core.telemetry import get_logger
from core.values import Language, ThreadKey
from executor.client import HostUnavailable, RequestError
from workers.agent.actions import TryFunction
from workers.agent.learning import open_learning, prompts_of, tries_of
from workers.builder.testing.mutation import python_mutants
from workers.memory.functions.drafting import read_draft
from workers.memory.functions.page import MODULE, draft_faults, hashes, schema_of
from workers.memory.functions.proof import MOST_BROKEN, TOTAL_S, broken_versions, outcome_of, program
from workers.memory.functions.shelf import TESTED, UNTESTED, uses
from workers.memory.functions.static import has_property, signature_of
from workers.memory.team import memory_of
from workers.turn.clean_rooms.room import Room, RoomTaken
from workers.turn.limits import refused_import
from workers.turn.live import show_progress
from workers.turn.open_turn import OpenTurn
from workers.turn.team_memory import spaces_in

log = get_logger(__name__)

_SPARE_S = 10.0
_MOST_FAULTS, _MOST_PLAYBOOKS = 8, 10
_MARKS = {"passed": "✓", "failed": "✗", "skipped": "–"}


def try_function(turn: OpenTurn, action: TryFunction) -> None:
    """Read the draft, check its text, run its tests and broken versions of it; store its outcome.

    Its text is checked before anything runs. It runs in a fresh session without files and sources, which is deleted.
    """
    learning = open_learning(turn.steps)
    if learning is None:
        return
    show_progress(turn, "status_testing_function")
    draft = learning.given or read_draft(_written(turn))
    began = time.monotonic()
    if isinstance(draft, str):
        tried = FunctionTried(learning=learning.id, state="refused", faults=(draft,))
    elif faults := draft_faults(draft) or _unlisted(turn, draft):
        tried = FunctionTried(learning=learning.id, state="refused", draft=draft, faults=tuple(faults))
    elif learning.given is None and turn.view().approvals == "every cell":
        fault = "nothing was run: people of this channel allow all code before it runs. Retest runs this."
        tried = FunctionTried(learning=learning.id, state="away", draft=draft, faults=(fault,))
    else:
        tried = _tried(turn, learning, draft, action.cell_id)
    log.info("function_tried", state=tried.state, faults=len(tried.faults), caught=tried.caught, broken=tried.broken)
    turn.append(tried.model_copy(update={"seconds": round(time.monotonic() - began, 1)}))


def _unlisted(turn: OpenTurn, draft: FunctionDraft) -> list[str]:
    why = refused_import(turn.context.settings, draft.code)
    return [why] if why else []


def propose_function(turn: OpenTurn) -> None:
    """Write the best draft where people can read it, and post it with the results of its tests."""
    learning = open_learning(turn.steps)
    tried = best_of(tries_of(turn.steps, learning)) if learning is not None else None
    if learning is None or tried is None or tried.draft is None:
        return
    draft, passed = tried.draft, tried.state == "passed"
    shelf = memory_of(turn.context.settings).functions
    about = {"function": draft.name, "need": learning.need, "asked": learning.author or learning.user}
    about["thread"] = turn.thread_id  # a purge of the thread deletes the draft
    try:
        shelf.put_untested(learning.space, draft, {**about, "state": tried.state})
    except NotWritten as error:
        log.warning("function_not_written", error=error)
    proposed = Proposed(
        what="function",
        id=learning.id,
        file=f"{learning.space}/{TESTED}/{draft.name}",
        title=draft.name,
        text=learning.need,
        about=_summary(turn, learning, tried),
        draft=draft,
        passed=passed,
        prompts=prompts_of(turn.view()),
        user=learning.user,
        author=learning.author,
        ts=learning.ts,
    )
    message = proposal_message(proposed, turn.thread_id, turn.language)
    slot, key = f"{turn.thread_id}/{proposed.id}", ThreadKey.parse(turn.thread_id)
    turn.context.slack.post(turn.lease, key, slot, message.text, message.blocks)
    turn.append(proposed)


def best_of(tried: list[FunctionTried]) -> FunctionTried | None:
    """The draft to show people: the last that passed, else the last that ran, else the last that could be read."""
    for states in (("passed",), ("failed", "away"), ("refused",)):
        found = [each for each in tried if each.state in states and each.draft is not None]
        if found:
            return found[-1]
    return None


def _written(turn: OpenTurn) -> str:
    replies = [step for step in turn.steps if isinstance(step, Replied) and step.purpose == "learn"]
    return replies[-1].text if replies else ""


def _tried(turn: OpenTurn, learning: Learning, draft: FunctionDraft, cell_id: str) -> FunctionTried:
    context = turn.context
    before = memory_of(context.settings).functions.read(f"{learning.space}/{TESTED}/{draft.name}")
    earlier = ""
    if before is not None and before.version and before.draft.tests != draft.tests and not draft_faults(before.draft):
        earlier = before.draft.tests
    mutants = python_mutants(MODULE, draft.code, MOST_BROKEN - 1)
    broken = broken_versions(draft, [(f"line {one.line}: {one.what}", one.text) for one in mutants])
    room = Room(context.settings, context.blobs, context.sessions, context.files)
    code, limit_s = program(draft, broken, earlier), min(TOTAL_S + _SPARE_S, turn.environment.cell_timeout_s)
    try:
        with context.waiting.one_more():
            result = room.run(turn.thread_id, (), cell_id, code, None, turn.is_unwanted, limit_s)
    except (HostUnavailable, RequestError, BlobsUnreachable, RoomTaken) as error:
        log.warning("function_not_tried", error=error)
        fault = "the sandbox could not be had, so nothing was run."
        return FunctionTried(learning=learning.id, state="away", draft=draft, faults=(fault,))
    shown = result.result.text if result.status == "ok" and result.result is not None else ""
    version = before.version if before is not None else 0
    found = outcome_of(learning.id, draft, shown, broken, version if earlier else 0)
    if found is not None:
        return found
    fault = f"trying it did not end well ({result.status}): it may take too long or too much memory."
    return FunctionTried(learning=learning.id, state="failed", draft=draft, faults=(fault,))


# --- what people read of it


def _summary(turn: OpenTurn, learning: Learning, tried: FunctionTried) -> str:
    draft = tried.draft
    assert draft is not None  # noqa: S101 - `best_of` gives no other
    memory = memory_of(turn.context.settings)
    before = memory.functions.read(f"{learning.space}/{TESTED}/{draft.name}")
    spaces = spaces_in(turn.context, turn.thread_id)
    books = [
        each.playbook.name
        for each in memory.shelf.index(spaces.read).candidates
        if any(uses(draft.name, stage.code) for stage in each.playbook.stages)
    ]
    about, own = schema_of(draft), hashes(draft)
    return say(
        "function_summary",
        turn.language,
        need=learning.need,
        signature=signature_of(draft.name, draft.code),
        description=str(about.get("description") or ""),
        when=str(about.get("when") or ""),
        tests="\n".join(_line(test, turn.language) for test in tried.tests),
        broken=tried.broken,
        caught=tried.caught,
        prop=has_property(draft.tests),
        faults="\n".join(f"• {fault}" for fault in tried.faults[:_MOST_FAULTS]),
        version=before.version + 1 if before is not None and before.version and hashes(before.draft) != own else 0,
        books=", ".join(f"“{name}”" for name in books[:_MOST_PLAYBOOKS]),
        untested=f"{learning.space}/{UNTESTED}/{draft.name}",
    )


def _line(test: FunctionTest, language: Language) -> str:
    name = say("function_test_of", language, name=test.name, version=test.of) if test.of else test.name
    return f"{_MARKS[test.outcome]} {name}{f' — {test.error}' if test.error else ''}"
