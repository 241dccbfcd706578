"""What people do with the app's messages and modals: press, choose, submit, close, open the home tab, stop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from playground.api.views import change_view, put_on
from playground.blocks import check_view, filled
from playground.errors import SlackError
from playground.hub import Playground
from playground.shapes import view_object
from playground.workspace import Channel, Json, Message, User, View

CHOICES = {"static_select", "radio_buttons", "overflow"}


def find_element(blocks: list[Json], action_id: str, block_id: str = "") -> tuple[str, Json]:
    """Finds the block_id and the interactive element with this action_id. Raises SlackError action_not_found."""
    for owner, element in _interactive(blocks, ""):
        if element.get("action_id") == action_id and block_id in ("", owner):
            return owner, element
    raise SlackError("action_not_found")


def _interactive(value: Any, block_id: str) -> Iterator[tuple[str, Json]]:
    if isinstance(value, dict):
        block_id = value.get("block_id") or block_id
        if "action_id" in value:
            yield block_id, value
        for each in value.values():
            yield from _interactive(each, block_id)
    elif isinstance(value, list):
        for each in value:
            yield from _interactive(each, block_id)


async def press(
    hub: Playground, user: User, message: Message, action_id: str, *, block_id: str = "", value: str = ""
) -> Json:
    """One person presses a button or chooses an option of a message. Returns what the app answered to the click.

    Raises SlackError message_not_found for a message that only another person sees, and not_in_channel.
    """
    channel = hub.space.channels[message.channel]
    if message.only_for not in ("", user.id):
        raise SlackError("message_not_found")
    if user.id not in channel.members:
        raise SlackError("not_in_channel")
    owner, element = find_element(message.blocks, action_id, block_id)
    payload = {
        **_payload(hub, user, "block_actions"),
        "container": {
            "type": "message",
            "message_ts": message.ts,
            "channel_id": channel.id,
            "is_ephemeral": bool(message.only_for),
            **({"thread_ts": message.thread_ts} if message.thread_ts else {}),
        },
        "channel": {"id": channel.id, "name": channel.name or "directmessage"},
        "message": hub.shown(message),
        "state": {"values": {}},
        "response_url": f"{hub.base_url}/response/{hub.space.new_response(channel.id, message.ts, user.id)}",
        "actions": [_action(hub, owner, element, value)],
    }
    return await hub.transport.deliver_interaction(payload)


async def shortcut(hub: Playground, user: User, message: Message, callback_id: str) -> Json:
    """One person chooses a shortcut of the app on a message. Returns what the app answered.

    Raises SlackError shortcut_not_found for one that the app has not, and for a message that only one person sees.
    """
    known = [each.partition("=")[0] for each in hub.options.shortcuts]
    if callback_id not in known or "commands" not in hub.options.scopes or message.only_for:
        raise SlackError("shortcut_not_found")
    channel = hub.space.channels[message.channel]
    if user.id not in channel.members:
        raise SlackError("not_in_channel")
    payload = {
        **_payload(hub, user, "message_action"),
        "callback_id": callback_id,
        "action_ts": hub.space.clock.next(),
        "message_ts": message.ts,
        "channel": {"id": channel.id, "name": channel.name or "directmessage"},
        "message": hub.shown(message),
        "response_url": f"{hub.base_url}/response/{hub.space.new_response(channel.id, message.ts, user.id)}",
    }
    return await hub.transport.deliver_interaction(payload)


async def press_in_view(hub: Playground, view: View, action_id: str, values: Json, value: str = "") -> Json:
    """The same inside a modal or the home tab."""
    owner, element = find_element(view.payload.get("blocks", []), action_id)
    user = hub.space.user(view.user)
    payload = {
        **_payload(hub, user, "block_actions", view),
        "container": {"type": "view", "view_id": view.id},
        "view": {**view_object(hub.space, view), "state": {"values": values}},
        "actions": [_action(hub, owner, element, value)],
    }
    return await hub.transport.deliver_interaction(payload)


def _action(hub: Playground, block_id: str, element: Json, value: str) -> Json:
    kind = element["type"]
    action: Json = {
        "type": kind,
        "action_id": element["action_id"],
        "block_id": block_id,
        "action_ts": hub.space.clock.next(),
    }
    if kind in CHOICES:
        groups = element.get("option_groups") or [{"options": element.get("options", [])}]
        options = [option for group in groups for option in group["options"]]
        chosen = next((each for each in options if each.get("value") == value), None)
        if chosen is None:
            raise SlackError("option_not_found")
        return {**action, "selected_option": chosen}
    if "text" in element:
        action["text"] = element["text"]
    if kind == "feedback_buttons":
        offered = [element[name]["value"] for name in ("positive_button", "negative_button")]
        if value not in offered:
            raise SlackError("option_not_found")
        return {**action, "value": value}
    if "value" in element:
        action["value"] = element["value"]
    return action


async def submit(hub: Playground, view: View, values: Json) -> Json:
    """A person submits a modal. `values` is state.values, or {action_id: value} in short. Returns the app's answer."""
    user = hub.space.user(view.user)
    state = _state(view, values)
    payload = {
        **_payload(hub, user, "view_submission", view),
        "view": {**view_object(hub.space, view), "state": {"values": state}},
        "response_urls": [],
    }
    answer = await hub.transport.deliver_interaction(payload)
    match answer.get("response_action"):
        case "errors":
            return answer
        case "update":
            change_view(hub, view, _given_view(answer))
        case "push":
            put_on(hub, view, _given_view(answer))
        case "clear":
            for each in [each for each in hub.space.views.values() if each.open and each.user == view.user]:
                close_silently(hub, each)
        case _:
            close_silently(hub, view)
    return answer


def _given_view(answer: Json) -> Json:
    new: Json = answer.get("view") or {}
    check_view(new, lambda _file: False)
    return {**new, "blocks": filled(new["blocks"])}


async def close(hub: Playground, view: View) -> None:
    """A person closes a modal. The app is told if it asked for that."""
    close_silently(hub, view)
    if view.payload.get("notify_on_close"):
        user = hub.space.user(view.user)
        shown = {"view": view_object(hub.space, view), "is_cleared": False}
        await hub.transport.deliver_interaction({**_payload(hub, user, "view_closed"), **shown})


def close_silently(hub: Playground, view: View) -> None:
    """Takes a modal off the screen."""
    view.open = False
    hub.show_view(view)


def _state(view: View, values: Mapping[str, Any]) -> Json:
    """Fills in the inputs' current values, then what the person gave."""
    state: Json = {}
    for block in view.payload.get("blocks", []):
        if block["type"] != "input":
            continue
        element = block["element"]
        state.setdefault(block["block_id"], {})[element["action_id"]] = _input(element, _given(values, block))
    return state


def _given(values: Mapping[str, Any], block: Json) -> Any:
    """What was given for an input: in state.values, or in short. A block may be called like its element."""
    action_id = block["element"]["action_id"]
    whole = values.get(block["block_id"])
    if isinstance(whole, Mapping) and action_id in whole:
        return whole[action_id]
    return values.get(action_id)


def _input(element: Json, given: Any) -> Json:
    if isinstance(given, dict):
        return given
    kind = element["type"]
    if kind in CHOICES:
        chosen = next(
            (each for each in element.get("options", []) if each.get("value") == given), element.get("initial_option")
        )
        return {"type": kind, "selected_option": chosen}
    return {"type": kind, "value": given if given is not None else element.get("initial_value")}


def open_home(hub: Playground, user: User, tab: str) -> None:
    """A person opens the app's home or messages tab."""
    channel = hub.space.channel(user.id)
    event: Json = {
        "type": "app_home_opened",
        "user": user.id,
        "channel": channel.id,
        "tab": tab,
        "event_ts": hub.space.clock.next(),
    }
    home = hub.space.homes.get(user.id)
    if tab == "home" and home:
        event["view"] = view_object(hub.space, home)
    hub.emit("app_home_opened", event)


def stop(hub: Playground, user: User, channel: Channel, thread_ts: str) -> None:
    """A person presses the Stop that a working agent session shows."""
    event = {
        "type": "agent_session_stopped",
        "channel": channel.id,
        "thread_ts": thread_ts,
        "user": user.id,
        "event_ts": hub.space.clock.next(),
        "streaming_message_ts": [],
    }
    hub.emit("agent_session_stopped", event)


def _payload(hub: Playground, user: User, kind: str, view: View | None = None) -> Json:
    space = hub.space
    return {
        "type": kind,
        "team": {"id": space.team_id, "domain": "playground"},
        "user": {"id": user.id, "username": user.name, "name": user.name, "team_id": space.team_id},
        "api_app_id": space.app_id,
        "token": "playground",
        "trigger_id": space.new_trigger(user.id, view.id if view else ""),
        "enterprise": None,
        "is_enterprise_install": False,
    }
