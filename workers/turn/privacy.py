"""Where a turn masks personal values (on the way to the model) and restores them (in the sandbox, in reports)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from core.steps import CellRan, Finished, Masked, Replied, Step, dump_step
from core.team_settings import ChannelPrivacy
from core.values import ThreadKey
from workers.agent.actions import AskModel, Message
from workers.agent.thread.effective_steps import effective_steps
from workers.privacy.masking import Masker, masked_in, restored, values_of
from workers.turn.context import TurnContext
from workers.turn.open_turn import OpenTurn


def privacy_of(turn: OpenTurn) -> ChannelPrivacy:
    """What the model does not see of this thread."""
    return privacy_in(turn.context, turn.thread_id)


def privacy_in(context: TurnContext, thread_id: str) -> ChannelPrivacy:
    """The same, before a turn is open."""
    return context.settings.privacy_in(ThreadKey.parse(thread_id).channel)


def masked_messages(turn: OpenTurn, action: AskModel) -> tuple[tuple[Message, ...], tuple[Masked, ...]]:
    """The messages of a request as the model may see them, and the placeholders that are new in the thread.

    This is the only way to the model, so it covers whatever a prompt is made of.
    """
    kinds = privacy_of(turn).redact
    if not kinds:
        return action.messages, ()
    masker = Masker(kinds, values_of(turn.turns), known=_texts(turn), taken=masked_in(turn.turns))
    shown = list(masker.messages(action.messages))
    if shown and shown[0]["role"] == "system":
        note = turn.context.prompts.render("redacted", kinds=list(kinds))
        shown[0] = {**shown[0], "content": f"{shown[0]['content'].rstrip()}\n\n{note}"}
    return tuple(shown), tuple(masker.new)


def with_values(turn: OpenTurn, code: str) -> str:
    """The code as the sandbox runs it. Placeholders count until a reset, also when masking is off now."""
    return restored(code, values_of(turn.turns))


def as_people_see(turns: Sequence[Sequence[Step]], privacy: ChannelPrivacy) -> tuple[tuple[Step, ...], ...]:
    """The effective steps for a report: with the values in place of the placeholders, if the team wants that."""
    effective = effective_steps(turns)
    values = values_of(turns) if privacy.reports == "values" else {}
    if not values:
        return effective
    return tuple(tuple(_restored(step, values) for step in steps) for steps in effective)


def _restored(step: Step, values: dict[str, str]) -> Step:
    if isinstance(step, Finished):
        return step.model_copy(update={"report": restored(step.report, values)})
    if isinstance(step, CellRan):
        return step.model_copy(update={"code": restored(step.code, values)})
    return step


def _texts(turn: OpenTurn) -> Iterator[str]:
    """All that the thread holds, uncut: a prompt may hold the half of a value."""
    for steps in turn.turns:
        for step in steps:
            if not isinstance(step, Replied):
                yield from _strings(dump_step(step))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item)
