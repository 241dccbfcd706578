"""change: the thread's newest requirement file is changed in words. The code is not: "Build" writes what depends on it.

The model changes the file, people see the difference, and nothing is built before somebody presses "Build".
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from core.commands.registry import CHANGE, argument_of
from core.phrases import say
from core.slack import blocks as kit
from core.slack.blocks import Limit
from core.slack.text import clip
from core.slack.views.memory import proposal_message
from core.steps import Proposed, Step
from core.team_memory import proposal_of
from workers.agent.text import quoted
from workers.builder import fences
from workers.builder.requirements.drafting import NoDraft, drafted
from workers.builder.requirements.requirement import Requirement, RequirementWrong, read
from workers.models.base import ModelError
from workers.turn.commands.build import OFFLINE, about, asking, post, sentence_of, upload_version
from workers.turn.commands.memory import draw_as
from workers.turn.commands.thread import CommandThread

_DIFF = 2_500


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Post the next version with what is different; say why not where there is none."""
    language, wanted = thread.language, argument_of(CHANGE, thread.command.text)
    newest = _newest(thread)
    if newest is None:
        thread.answer(say("change_nothing", language), done=False)
        return ()
    if not wanted:
        thread.answer(say("change_what", language), done=False)
        return ()
    if thread.open_turn is None or thread.open_turn.model.name == OFFLINE:
        thread.answer(say("build_no_model", language), done=False)
        return ()
    current = fences.quoted(newest.text, "toml")
    variables = {"discussion": "", "wanted": "", "current": current, "change": quoted(wanted)}
    try:
        made = drafted(asking(thread, variables, newest.questions), _read(newest))
    except NoDraft as error:
        thread.answer(say("build_no_draft", language, why=sentence_of(error)), done=False)
        return ()
    except ModelError as error:
        thread.answer(say("build_no_call", language, why=str(error)), done=False)
        return ()
    if made.text == newest.text:
        thread.answer(say("change_same", language, file=newest.file), done=False)
        return ()
    return _posted(thread, newest, made.text, made.questions)


def _posted(thread: CommandThread, newest: Proposed, text: str, questions: Sequence[str]) -> Sequence[Step]:
    """The next version: of the same proposal if it is open, else of a new proposal that continues from the last
    build."""
    command = thread.command
    found = proposal_of(thread.turns, newest.id)
    is_open = found is not None and found[1] is None
    fresh = newest.model_copy(
        update={
            "id": newest.id if is_open else f"program:{command.ts}",
            "origin": newest.origin if is_open else newest.origin or newest.id,
            "text": text,
            "about": about(text, thread.language, questions),
            "questions": tuple(questions),
            "version": newest.version + 1,
            "user": command.user,
            "author": command.author,
            "ts": newest.ts if is_open else command.ts,
        }
    )
    said = say("change_done", thread.language, file=fresh.file, version=fresh.version)
    lines = difflib.unified_diff(newest.text.splitlines(), text.splitlines(), lineterm="", n=1)
    diff = "\n".join(list(lines)[2:])
    blocks = [kit.paragraph(clip(said, Limit.SECTION)), kit.code(clip(diff, _DIFF))]
    thread.answer(f"{said}\n{clip(diff, _DIFF)}", blocks)
    if not is_open:
        return post(thread, fresh)
    upload_version(thread, fresh)
    draw_as(thread, fresh, proposal_message(fresh, thread.lease.thread_id, thread.language))
    return (fresh,)


def _newest(thread: CommandThread) -> Proposed | None:
    steps = (step for steps in reversed(thread.turns) for step in reversed(steps))
    return next((step for step in steps if isinstance(step, Proposed) and step.what == "program"), None)


def _read(proposed: Proposed) -> Requirement | None:
    """The file as it is; None for one with faults, which the model may correct."""
    try:
        return read(proposed.text, proposed.file)
    except RequirementWrong:
        return None
