"""learn, learn_cell, retest: a function is to be written, or tried again. The turn does it; people decide on it."""

from __future__ import annotations

from collections.abc import Sequence

from core.commands.registry import LEARN, LEARN_CELL, RETEST, argument_of
from core.phrases import say
from core.steps import Asked, CellRan, FunctionDraft, Learning, Step
from workers.agent.about_steps import cells
from workers.agent.text import clip, one_line
from workers.agent.thread.effective_steps import effective_steps
from workers.memory.functions.shelf import TESTED
from workers.memory.team import memory_of
from workers.turn.commands.thread import CommandThread
from workers.turn.team_memory import OFFLINE, spaces_in

LEAST_CHARS, MOST_CHARS = 8, 2_000
_ALIKE = 2
_CELLS = 3
_CODE_CHARS, _OUTPUT_CHARS = 4_000, 1_500


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Note what is to be learned; say why not where nothing can be."""
    command, language = thread.command, thread.language
    if command.command == RETEST:
        return _retest(thread)
    if thread.context.model.name == OFFLINE:
        thread.answer(say("function_offline", language), done=False)
        return ()
    ran = _cells(thread)
    if command.command == LEARN_CELL:
        if not ran:
            thread.answer(say("function_no_cell", language), done=False)
            return ()
        ran, need = ran[-1:], say("function_need_cell", language, title=one_line(ran[-1].title, 120))
    else:
        need = argument_of(LEARN, command.text)
        if not LEAST_CHARS <= len(need) <= MOST_CHARS:
            thread.answer(say("function_no_need", language, chars=MOST_CHARS), done=False)
            return ()
    thread.sign(done=True)
    return (learning_of(thread, need, _examples(ran[-_CELLS:])),)


def learning_of(
    thread: CommandThread,
    need: str,
    examples: str = "",
    *,
    given: FunctionDraft | None = None,
    before: FunctionDraft | None = None,
) -> Learning:
    """What the turn is to do, with functions of the channel that show how the team writes them."""
    command = thread.command
    spaces = spaces_in(thread.context, thread.lease.thread_id)
    shelf = memory_of(thread.context.settings).functions
    return Learning(
        id=f"function:{command.ts}",
        need=need,
        space=spaces.own,
        examples=examples,
        alike=tuple(shelf.alike(spaces.read, need, _ALIKE)) if given is None else (),
        given=given,
        before=before,
        user=command.user,
        author=command.author,
        ts=command.ts,
    )


def _retest(thread: CommandThread) -> Sequence[Step]:
    """Note that a function is to be tried again. “Retest the hypothesis with Spearman” is a message to the analyst."""
    command = thread.command
    name = argument_of(RETEST, command.text).strip(" `\"'“”.。")
    if len(name.split()) > 1:
        return (Asked(user=command.user, author=command.author, text=command.text, ts=command.ts),)
    spaces = spaces_in(thread.context, thread.lease.thread_id)
    shelf = memory_of(thread.context.settings).functions
    found = shelf.read(f"{spaces.own}/{TESTED}/{name}") if name in shelf.names(spaces.own) else None
    if found is None:
        known = ", ".join(shelf.names(spaces.own)[:20])
        thread.answer(say("function_unknown", thread.language, name=one_line(name, 60), known=known), done=False)
        return ()
    thread.sign(done=True)
    need = str(found.provenance.get("need") or found.note.description)
    return (learning_of(thread, clip(need, MOST_CHARS), given=found.draft),)


def _cells(thread: CommandThread) -> list[CellRan]:
    """The cells of the thread that ran well and that nobody left out, oldest first."""
    ran = (cell for steps in effective_steps(thread.turns) for cell in cells(steps) if not cell.left_out)
    return [cell for cell in ran if cell.status == "ok" and cell.language == "python"]


def _examples(ran: Sequence[CellRan]) -> str:
    parts = []
    for cell in ran:
        output = "\n".join(filter(None, (cell.stdout.strip(), cell.result.strip())))
        parts.append(
            f"# {one_line(cell.title, 120)}\n{clip(cell.code, _CODE_CHARS)}\n# shows:\n{clip(output, _OUTPUT_CHARS)}"
        )
    return "\n\n".join(parts)
