"""A pressed option of a question, as a message from the person who pressed it.

The button only claims what it means. The question is looked up in the Store, and a press on a question that is no
longer open does nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bot.intake import Ignored
from bot.payloads import read_press
from bot.pressed import pressed
from core.interactions import OptionButton
from core.rows import TurnRow
from core.steps import Step, open_question
from core.store import Store
from core.values import IncomingMessage, ThreadKey


def to_answer(body: Mapping[str, Any], team: str, store: Store) -> IncomingMessage | Ignored:
    """The answer in a `block_actions` payload, if its question is the one that its thread waits for.

    Its ts is that of the question's message, so when two people press, only the first press counts.
    """
    press = read_press(body)
    button = OptionButton.decode(press.value) if press else None
    if press is None or button is None or not press.shown:
        return Ignored("malformed")
    turn = store.turn(button.turn)
    if turn is None:
        return Ignored("a question that is not known")
    key = ThreadKey.parse(turn.thread_id)
    if (key.team, key.channel) != (team, press.channel):
        return Ignored("a question of another channel")
    option = _open_option(turn, store.steps(button.turn), button.call, button.n)
    if option is None:
        return Ignored("a question that is no longer open")
    return pressed(key, press.user, press.shown, text=option, kind="answer")


def _open_option(turn: TurnRow, steps: Sequence[Step], call_id: str, number: int) -> str | None:
    # A person may press a moment before the turn waits: the worker first posts the question, then changes the status.
    if turn.status not in ("running", "waiting"):
        return None
    question = open_question(steps)
    if question is None or question.call_id != call_id:
        return None
    options = [option for option in question.options if option.strip()]
    return options[number] if 0 <= number < len(options) else None
