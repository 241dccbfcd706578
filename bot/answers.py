"""A pressed option of a question, as a message from the person who pressed it.

The button carries `{"turn", "call", "n"}` and is a claim only: the question is looked up in the Store, and a button of
a question that is no longer open says nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bot.intake import Ignored
from core.rows import TurnRow
from core.store import Store
from core.values import IncomingMessage, ThreadKey

ACTION_PREFIX = "answer:"


def to_answer(body: Mapping[str, Any], team: str, store: Store) -> IncomingMessage | Ignored:
    """The answer in a `block_actions` payload, if its question is the one its thread is waiting on.

    Its ts is that of the question's message: of two people who press, the first has answered.
    """
    try:
        value = json.loads(body["actions"][0]["value"])
        turn_id, call_id, number = str(value["turn"]), str(value["call"]), int(value["n"])
        channel, ts = str(body["container"]["channel_id"]), str(body["container"]["message_ts"])
        user = str(body["user"]["id"])
    except (KeyError, IndexError, TypeError, ValueError):
        return Ignored("malformed")
    turn = store.turn(turn_id)
    if turn is None:
        return Ignored("a question that is not known")
    key = ThreadKey.parse(turn.thread_id)
    if (key.team, key.channel) != (team, channel):
        return Ignored("a question of another channel")
    option = _open_option(turn, store.steps(turn_id), call_id, number)
    if option is None:
        return Ignored("a question that is no longer open")
    return IncomingMessage(
        team=team,
        channel=channel,
        channel_type="im" if channel.startswith("D") else "channel",
        ts=ts,
        root_ts=key.root_ts,
        user=user,
        text=option,
        kind="answer",
        mention=True,
    )


def _open_option(turn: TurnRow, steps: Sequence[Mapping[str, Any]], call_id: str, number: int) -> str | None:
    # It can be pressed a moment before its turn waits: the worker has more to do once the question stands there.
    if turn.status not in ("running", "waiting"):
        return None
    # What was stopped, continued or undone since leaves it open; only somebody's words have answered it.
    question = next((step for step in reversed(steps) if step.get("kind") in ("questioned", "asked")), None)
    if question is None or question.get("kind") != "questioned" or question.get("call_id") != call_id:
        return None
    options = [option for option in question.get("options") or [] if option.strip()]
    return str(options[number]) if 0 <= number < len(options) else None
