"""fork: a new thread continues from this one, as it was after its last step or after the step of a message.

The new thread gets the steps up to there, with the inputs, in one write. A command in its mail has its session built
(`inherit.py`), so a worker that dies anywhere is followed by one that goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from core.commands.forking import ForkPoint, Inheritance
from core.commands.registry import INHERIT
from core.phrases import say
from core.rows import TurnRow
from core.slack.text import clip, escape
from core.steps import Asked, Briefed, CellRan, Finished, Forked, NotRebuilt, RebuildWhy, Step
from core.store.lineage import CopiedTurn
from core.thread_cells import undone_cells
from core.values import IncomingMessage, Language, StoredFile, ThreadKey
from workers.agent.about_steps import data_held, ending
from workers.agent.thread.effective_steps import effective_steps
from workers.agent.thread.replaying import COMMAND, TURN, Cut, belongs, cut_at, cut_before, replay, until
from workers.agent.thread.states import TimedTurn, last_state
from workers.turn.access.messages import held_back
from workers.turn.commands.context import slot_of, target_of
from workers.turn.commands.thread import CommandThread

_SHOWN = 6
_TITLE_CHARS = 120


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Begin the new thread, and say here where it is; or say why not. Raises SlackUnreachable."""
    command, language = thread.command, thread.language
    point = ForkPoint.decode(command.text)
    cut = cut_before(thread.turns, command) if point is None else _cut_of(thread, point)
    if cut is None:
        thread.answer(say("fork_nothing" if point is None else "fork_not_there", language), done=False)
        return ()
    turns = until(thread.turns, cut)
    if refusal := held_back(thread.context, thread.key, command.user, command.author, data_held(turns)):
        thread.answer(refusal, done=False)
        return ()
    key = _begin(thread, turns)
    _hand_over(thread, key, cut, turns)
    link = thread.context.slack.link(key)
    said = say("fork_made", language, author=command.author, step=_step_name(turns, language), link=link)
    thread.answer(said, links=[link])
    return (
        Forked(
            thread=key.id,
            turn=cut.turn,
            steps=cut.steps,
            user=command.user,
            author=command.author,
            ts=command.ts,
        ),
    )


def left_out_lines(missing: Sequence[NotRebuilt], language: Language) -> list[str]:
    """The cells whose effects are not there, one line each, with the reason."""
    lines = [
        say("fork_left", language, number=one.cell, title=one.title, why=_why(one.why, language))
        for one in missing[:_SHOWN]
    ]
    more = len(missing) - len(lines)
    return [*lines, *([say("report_more", language, count=more)] if more > 0 else [])]


def _why(why: RebuildWhy, language: Language) -> str:
    own = why in ("rests", "stopped", "failed", "file")
    return say(f"fork_left_{why}", language) if own else say(f"clean_left_{why}", language)


def _cut_of(thread: CommandThread, point: ForkPoint) -> Cut | None:
    """The place that a message shows: words, a cell, a report, the end of a card's turn, the answer to a command."""
    target = target_of(thread, point.message)
    if target is None:
        slot = (slot_of(thread, point.message) or "").removeprefix(thread.lease.thread_id)
        name, _, rest = slot[1:].partition(":")
        if slot.startswith("/") and name[:1] == "t" and name[1:].isdigit():
            cell_id = rest.partition(":")[2]
            is_cell = any(
                isinstance(step, CellRan) and step.cell_id == cell_id for each in thread.turns for step in each
            )
            target = f"cell:{cell_id}" if is_cell else f"{TURN}{name[1:]}"
        else:
            target = f"{COMMAND}{rest}"
    return cut_at(thread.turns, target)


def _begin(thread: CommandThread, turns: Sequence[Sequence[Step]]) -> ThreadKey:
    """Post the new thread's first message, once. It names what will not be there."""
    command, language, slack = thread.command, thread.language, thread.context.slack
    origin = slack.link(thread.key)
    lines = [
        say("fork_root", language, author=command.author, link=origin, step=_step_name(turns, language)),
        say("fork_root_kept", language),
    ]
    if left_out := replay(effective_steps(turns)).left_out:
        lines += [say("fork_root_left", language), *left_out_lines(left_out, language)]
    key = f"{thread.lease.thread_id}/fork:{command.ts}:root"
    text = escape("\n".join(lines))
    return slack.begin_thread(thread.lease, thread.key, thread.key.channel, key, text, known=[origin])


def _hand_over(thread: CommandThread, key: ThreadKey, cut: Cut, turns: Sequence[Sequence[Step]]) -> None:
    """Give the new thread its steps and inputs, and the command that builds its session. Twice is once."""
    store, command, thread_id = thread.context.store, thread.command, thread.lease.thread_id
    stored = store.timed_steps(thread_id)
    timed = [steps[: len(kept)] for steps, kept in zip(stored, turns, strict=False)]
    copies = [_copied(row, steps) for row, steps in zip(store.turns(thread_id), timed, strict=False)]
    store.fork_thread(thread.lease, key, copies, _inputs(thread, turns))
    origin = Inheritance(source=thread_id, turn=cut.turn, steps=cut.steps, state=last_state(timed))
    message = IncomingMessage(
        team=key.team,
        channel=key.channel,
        channel_type="im" if key.channel.startswith("D") else "channel",
        ts=key.root_ts,
        root_ts=key.root_ts,
        user=command.user,
        text=origin.encode(),
        kind=INHERIT,
        mention=True,
    )
    store.record_message(message, command.author)


def _copied(row: TurnRow, steps: TimedTurn) -> CopiedTurn:
    kept = [(at, step) for at, step in steps if belongs(step)]
    has_ended = row.status not in ("running", "waiting") and any(
        ending([step for _, step in steps[:place]]) for place in range(1, len(steps) + 1)
    )
    ended_at = row.ended_at if has_ended else kept[-1][0] if kept else row.created_at
    return CopiedTurn(replace(row, status=row.status if has_ended else "stopped", ended_at=ended_at), kept)


def _inputs(thread: CommandThread, turns: Sequence[Sequence[Step]]) -> list[StoredFile]:
    """The files that people had given by then."""
    then, ever = _described(turns), _described(thread.turns)
    given = thread.context.store.thread_files(thread.lease.thread_id)
    return [file for file in given if file.sha256 in then or file.sha256 not in ever]


def _described(turns: Sequence[Sequence[Step]]) -> set[str]:
    return {file.sha256 for steps in turns for step in steps if isinstance(step, Briefed) for file in step.files}


def _step_name(turns: Sequence[Sequence[Step]], language: Language) -> str:
    """The last thing that the new thread has, as people call it."""
    undone = undone_cells(turns)
    for step in (step for steps in reversed(turns) for step in reversed(steps)):
        match step:
            case CellRan() if step.cell_id in undone:
                pass
            case CellRan():
                return step.title or say("progress_cell", language)
            case Finished():
                return clip(" ".join(step.report.strip(" #*").split()), _TITLE_CHARS)
            case Asked():
                return clip(" ".join(step.text.split()), _TITLE_CHARS) or "…"
            case _:
                pass
    return "…"
