"""A question to people, with a button per option, and the same question once it is answered."""

from __future__ import annotations

from collections.abc import Sequence

from core.commands.registry import SPEAK
from core.interactions import OptionButton
from core.phrases import say
from core.slack import blocks as kit
from core.slack.blocks import Block, Limit, SlackMessage
from core.slack.text import clip, escape
from core.slack.views.approvals import approval_message, decided_message
from core.steps import Asked, Commanded, Decided, Questioned, Redrafted, Resumed, Step, draft_of
from core.values import Language


def asking(steps: Sequence[Step], step: Questioned, turn_id: str, language: Language) -> SlackMessage:
    """A question of these steps, with its buttons: what waits for a yes as it reads now, or the model's question."""
    if step.approval:
        return approval_message(draft_of(steps, step), turn_id, language)
    return question_blocks(step.question, step.options, turn_id, step.call_id, language)


def closed(step: Questioned, answer: Asked | Commanded | Decided, language: Language) -> SlackMessage:
    """The same question without buttons: who answered what, or stopped there."""
    if isinstance(answer, Decided) or (step.approval and isinstance(answer, Commanded)):
        return decided_message(step, answer, language)
    spoke = isinstance(answer, Commanded) and answer.command == SPEAK
    text = (say("spoke_instead", language) if spoke else answer.text) or say("stop_button", language)
    return answered_blocks(step.question, text, answer.author or answer.user, language)


def question_blocks(
    question: str, options: Sequence[str], turn_id: str, call_id: str, language: Language = "en"
) -> SlackMessage:
    """A question with a button per option.

    Where one is too long for a button, all stand in full above the buttons, and these show their numbers.
    """
    blocks: list[Block] = [kit.paragraph(clip(question, Limit.SECTION))]
    numbered = list(enumerate(option for option in options if option.strip()))[: Limit.BUTTONS]
    is_long = any(len(option) > Limit.BUTTON_TEXT for _, option in numbered)
    if is_long:
        each = max(60, 6_000 // len(numbered))
        blocks.append(kit.paragraph("\n".join(f"{n + 1}. {clip(option, each)}" for n, option in numbered)))
    if numbered:
        labels = [(n, f"{n + 1}" if is_long else option) for n, option in numbered]
        blocks.append(kit.actions(*(_option_button(n, label, turn_id, call_id) for n, label in labels)))
    blocks.append(kit.context(escape(say("question_hint" if numbered else "question_open_hint", language))))
    listed = "\n".join(f"{n + 1}. {option}" for n, option in numbered)
    return SlackMessage(kit.fallback(f"{question}\n{listed}".strip()), blocks)


def answered_blocks(question: str, answer: str, author: str, language: Language) -> SlackMessage:
    """The question once it is answered: no buttons left, who chose what."""
    line = say("question_answered", language, author=clip(author, 80), answer=clip(answer, 1_000))
    blocks = [kit.paragraph(clip(question, Limit.SECTION)), kit.context(escape(line))]
    return SlackMessage(kit.fallback(f"{question}\n{line}"), blocks)


def question_slots(steps: Sequence[Step], question: Questioned) -> list[str]:
    """Where a question was posted, in order: once, and again each time that its turn was taken up since or a person
    changed what waits."""
    asked = [place for place, step in enumerate(steps) if isinstance(step, Questioned)]
    number = next(n for n, place in enumerate(asked) if steps[place] is question)
    again = sum(_asks_again(step, question) for step in steps[asked[number] :])
    return [f"question:{number}", *(f"question:{number}:{time}" for time in range(1, again + 1))]


def current_slots(steps: Sequence[Step], question: Questioned) -> list[str]:
    """The slots among these whose message shows the current text: all of them while nobody changed it."""
    changed = [place for place, step in enumerate(steps) if _changes(step, question)]
    before = len(question_slots(steps[: changed[-1] + 1], question)) - 1 if changed else 0
    return question_slots(steps, question)[before:]


def _asks_again(step: Step, question: Questioned) -> bool:
    return isinstance(step, Resumed) or _changes(step, question)


def _changes(step: Step, question: Questioned) -> bool:
    return isinstance(step, Redrafted) and step.call_id == question.call_id


def _option_button(number: int, text: str, turn_id: str, call_id: str) -> dict[str, object]:
    return kit.button(text, OptionButton(turn=turn_id, call=call_id, n=number))
