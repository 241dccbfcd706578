"""The wish to stop, in each of its forms: a word in the thread, a press on the card, a reaction, Slack's own Stop.
Beside it the words that wish a step undone or the session reset.

All forms of a stop become a message of kind "stop", which the worker that runs the turn looks for. A press and a
reaction are claims only: the Store says whether the turn that they mean is still open.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from bot.intake import Ignored
from core.store import Store
from core.values import IncomingMessage, ThreadKey
from core.words import RESET, STOP, UNDO, says

Wish = Literal["stop", "undo", "reset"]

STOP_ACTION = "stop"
STOP_REACTIONS = frozenset({"x", "octagonal_sign", "negative_squared_cross_mark"})
_TS = re.compile(r"\d{1,20}\.\d{1,10}")


def wish_of(message: IncomingMessage) -> Wish | None:
    """The wish in a message that says nothing else: to stop, to take the last cell back, to forget the session."""
    wishes: tuple[tuple[Wish, frozenset[str]], ...] = (("stop", STOP), ("undo", UNDO), ("reset", RESET))
    if message.files:
        return None
    return next((wish for wish, words in wishes if says(message.text, words)), None)


def from_press(body: Mapping[str, Any], team: str, store: Store) -> IncomingMessage | Ignored:
    """The stop in the `block_actions` payload of a card's button, with the ts of the press.

    A turn that went on after a stop has the same card and can be stopped once more.
    """
    try:
        turn_id = str(body["actions"][0]["value"])
        channel, card, user = body["container"]["channel_id"], body["container"]["message_ts"], body["user"]["id"]
        ts = body["actions"][0].get("action_ts", card)
    except (KeyError, IndexError, TypeError):
        return Ignored("malformed")
    turn = store.turn(turn_id)
    if turn is None or turn.status not in ("running", "waiting"):
        return Ignored("a turn that is not open")
    key = ThreadKey.parse(turn.thread_id)
    if (key.team, key.channel) != (team, channel):
        return Ignored("a turn of another channel")
    return _stop(key, ts, user)


def from_reaction(event: Mapping[str, Any], team: str, store: Store) -> IncomingMessage | Ignored:
    """The stop in a `reaction_added` event on the card or on a message of an open turn."""
    if event.get("reaction") not in STOP_REACTIONS:
        return Ignored("another reaction")
    item = event.get("item")
    if not isinstance(item, Mapping):
        return Ignored("malformed")
    channel, ts = item.get("channel"), item.get("ts")
    if not (isinstance(channel, str) and isinstance(ts, str)):
        return Ignored("malformed")
    thread_id = store.thread_at_work(team, channel, ts)
    if thread_id is None:
        return Ignored("no message of an open turn")
    return _stop(ThreadKey.parse(thread_id), event.get("event_ts"), event.get("user"))


def from_session(event: Mapping[str, Any], team: str, store: Store) -> IncomingMessage | Ignored:
    """The stop in Slack's `agent_session_stopped`."""
    channel, root_ts = event.get("channel"), event.get("thread_ts")
    if not (isinstance(channel, str) and isinstance(root_ts, str)):
        return Ignored("malformed")
    key = ThreadKey(team, channel, root_ts)
    if not store.knows_thread(key):
        return Ignored("a thread that is not ours")
    return _stop(key, event.get("event_ts"), event.get("user"))


def _stop(key: ThreadKey, ts: object, user: object) -> IncomingMessage | Ignored:
    if not (isinstance(ts, str) and _TS.fullmatch(ts) and isinstance(user, str)):
        return Ignored("malformed")
    return IncomingMessage(
        team=key.team,
        channel=key.channel,
        channel_type="im" if key.channel.startswith("D") else "channel",
        ts=ts,
        root_ts=key.root_ts,
        user=user,
        text="",
        kind="stop",
        mention=True,
    )
