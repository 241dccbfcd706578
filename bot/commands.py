"""Commands in each of their forms: a word in the thread, a press on the card, a reaction, Slack's own Stop.

Each form of a stop becomes a message of kind "stop", which the worker that runs the turn looks for. A press and a
reaction only claim something: the Store says whether the turn that they mean is still open. A press on "Leave" becomes
the command of that name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.intake import Ignored
from bot.payloads import TS, read_press
from bot.pressed import pressed
from core.commands.registry import command_in
from core.interactions import LeaveButton, Reaction, StopButton
from core.store import Store
from core.values import IncomingMessage, ThreadKey


def command_of(message: IncomingMessage) -> str | None:
    """The name of the command that a message says, when it says nothing else and brings no file but for the command.

    A direct message is for the bot, as if it mentioned it.
    """
    is_to_us = message.mention or message.channel_type == "im"
    command = command_in(message.text, mention=is_to_us)
    if command is None or (message.files and not command.files):
        return None
    return command.name


def stop_from_press(body: Mapping[str, Any], team: str, store: Store) -> IncomingMessage | Ignored:
    """The stop in the `block_actions` payload of a card's button, with the ts of the press.

    A turn that went on after a stop keeps its card, so its button works more than once.
    """
    press = read_press(body)
    if press is None:
        return Ignored("malformed")
    button = StopButton.decode(press.value)
    turn = store.turn(button.turn) if button else None
    if turn is None or turn.status not in ("running", "waiting"):
        return Ignored("a turn that is not open")
    key = ThreadKey.parse(turn.thread_id)
    if (key.team, key.channel) != (team, press.channel):
        return Ignored("a turn of another channel")
    return _stop(key, press.ts or press.shown, press.user)


def leave_from_press(body: Mapping[str, Any], team: str, store: Store) -> IncomingMessage | Ignored:
    """The leave in the `block_actions` payload of a Leave button, with the ts of the press."""
    press = read_press(body)
    button = LeaveButton.decode(press.value) if press else None
    if press is None or button is None:
        return Ignored("malformed")
    key = ThreadKey.parse(button.thread)
    if (key.team, key.channel) != (team, press.channel):
        return Ignored("a thread of another channel")
    if store.has_left(key):
        return Ignored("a thread that was left")
    return _command("leave", key, press.ts or press.shown, press.user)


def stop_from_reaction(event: Mapping[str, Any], team: str, store: Store) -> IncomingMessage | Ignored:
    """The stop in a `reaction_added` event on the card or on a message of an open turn."""
    if event.get("reaction") not in Reaction.MEANS_STOP:
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


def stop_from_session(event: Mapping[str, Any], team: str, store: Store) -> IncomingMessage | Ignored:
    """The stop in Slack's `agent_session_stopped`."""
    channel, root_ts = event.get("channel"), event.get("thread_ts")
    if not (isinstance(channel, str) and isinstance(root_ts, str)):
        return Ignored("malformed")
    key = ThreadKey(team, channel, root_ts)
    if not store.knows_thread(key):
        return Ignored("a thread that is not ours")
    return _stop(key, event.get("event_ts"), event.get("user"))


def _stop(key: ThreadKey, ts: object, user: object) -> IncomingMessage | Ignored:
    return _command("stop", key, ts, user)


def _command(name: str, key: ThreadKey, ts: object, user: object) -> IncomingMessage | Ignored:
    if not (isinstance(ts, str) and TS.fullmatch(ts) and isinstance(user, str)):
        return Ignored("malformed")
    return pressed(key, user, ts, kind=name)
