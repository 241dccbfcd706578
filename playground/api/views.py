"""views.*: modals and the home tab."""

from __future__ import annotations

from playground.api.call import Call
from playground.api.chat import is_ready_image
from playground.blocks import check_view, filled
from playground.errors import SlackError, invalid_arguments
from playground.hub import Playground
from playground.identity import new_id
from playground.shapes import view_object
from playground.workspace import Json, Trigger, View


def _checked(call: Call, kind: str) -> Json:
    view = call.args["view"]
    check_view(view, lambda file: is_ready_image(call, file), kinds=(kind,))
    return {**view, "blocks": filled(view["blocks"])}


STACK = 3
"""Modals on top of each other, the first one counted."""


def open_view(call: Call) -> Json:
    """Opens a modal for the person whose trigger this is."""
    hub = call.hub
    payload, trigger = _taken(call)
    view = hub.show_view(View(new_id("V"), trigger.user, payload, new_hash()))
    return {"view": view_object(hub.space, view)}


def push_view(call: Call) -> Json:
    """Puts a modal on the one in which this trigger arose."""
    hub = call.hub
    payload, trigger = _taken(call)
    below = hub.space.views.get(trigger.view)
    if below is None:
        raise SlackError("not_found")
    return {"view": view_object(hub.space, put_on(hub, below, payload))}


def put_on(hub: Playground, below: View, payload: Json) -> View:
    """Puts a modal on another one. Raises SlackError not_found or push_limit_reached."""
    stack = hub.space.stack(below)
    if not stack:
        raise SlackError("not_found")
    if len(stack) >= STACK:
        raise SlackError("push_limit_reached")
    return hub.show_view(View(new_id("V"), below.user, payload, new_hash(), below=below.id))


def _taken(call: Call) -> tuple[Json, Trigger]:
    """A modal that was checked, and the trigger that it uses up."""
    trigger_id = call.text("trigger_id") or call.text("interactivity_pointer")
    if not trigger_id:
        raise invalid_arguments("missing required field: trigger_id")
    payload = _checked(call, "modal")
    _refuse_twin(call, payload, None)
    return payload, call.hub.use_trigger(trigger_id)


def update_view(call: Call) -> Json:
    """Changes an open modal; `hash` guards against a change in between."""
    space = call.hub.space
    if not call.text("view_id") and not call.text("external_id"):
        raise invalid_arguments("missing required field: view_id")
    external = call.text("external_id")
    view = space.views.get(call.text("view_id")) or next(
        (each for each in space.views.values() if external and each.payload.get("external_id") == external), None
    )
    if view is None or not view.open:
        raise SlackError("not_found")
    if call.text("hash") and call.text("hash") != view.hash:
        raise SlackError("hash_conflict")
    payload = _checked(call, "modal")
    _refuse_twin(call, payload, view)
    return {"view": view_object(space, change_view(call.hub, view, payload))}


def change_view(hub: Playground, view: View, payload: Json) -> View:
    """Gives an open modal new content and a new hash."""
    view.payload, view.hash = payload, new_hash()
    return hub.show_view(view)


def publish_view(call: Call) -> Json:
    """Sets a person's home tab of the app."""
    space = call.hub.space
    user = space.user(call.text("user_id"))
    known = space.homes.get(user.id)
    if call.text("hash") and known and call.text("hash") != known.hash:
        raise SlackError("hash_conflict")
    payload = _checked(call, "home")
    view = View(known.id if known else new_id("V"), user.id, payload, new_hash())
    space.homes[user.id] = view
    call.hub.feed.tell("home", user=user.id)
    return {"view": view_object(space, view)}


def _refuse_twin(call: Call, payload: Json, itself: View | None) -> None:
    external = payload.get("external_id")
    for each in call.hub.space.views.values():
        if external and each is not itself and each.open and each.payload.get("external_id") == external:
            raise SlackError("duplicate_external_id")


def new_hash() -> str:
    """A new hash. A caller must name it to change the view, so nobody overwrites another change."""
    return f"{new_id('', 10)}.{new_id('', 8)}"
