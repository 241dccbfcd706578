"""auth.test, apps.connections.open, team.info, bots.info, users.info, users.list, usergroups.users.list."""

from __future__ import annotations

from playground.api.call import Call
from playground.api.paging import page
from playground.errors import SlackError
from playground.shapes import bot_profile, user_object
from playground.workspace import Json


def auth_test(call: Call) -> Json:
    """Who the token belongs to."""
    space = call.hub.space
    return {
        "url": f"{call.hub.base_url}/",
        "team": space.team_name,
        "user": space.bot.name,
        "team_id": space.team_id,
        "user_id": space.bot.id,
        "bot_id": space.bot_id,
        "is_enterprise_install": False,
    }


def connections_open(call: Call) -> Json:
    """A websocket address for one connection."""
    hub = call.hub
    scheme, _, rest = hub.base_url.partition("://")
    address = f"{'wss' if scheme == 'https' else 'ws'}://{rest}/link/"
    return {"url": f"{address}?ticket={hub.sockets.ticket()}&app_id={hub.space.app_id}"}


def team_info(call: Call) -> Json:
    """The workspace."""
    space = call.hub.space
    if call.text("team") not in ("", space.team_id):
        raise SlackError("team_not_found")
    return {
        "team": {"id": space.team_id, "name": space.team_name, "domain": "playground", "email_domain": "", "icon": {}}
    }


def bots_info(call: Call) -> Json:
    """The app's bot."""
    if call.text("bot") not in ("", call.hub.space.bot_id):
        raise SlackError("bot_not_found")
    return {"bot": bot_profile(call.hub.space)}


def users_info(call: Call) -> Json:
    """One person."""
    return {"user": user_object(call.hub.space, call.hub.space.user(call.text("user")))}


def users_list(call: Call) -> Json:
    """Everybody in the workspace."""
    users, cursor = page(call, list(call.hub.space.users.values()))
    shown = [user_object(call.hub.space, user) for user in users]
    return {"members": shown, "response_metadata": {"next_cursor": cursor}}


def usergroup_members(call: Call) -> Json:
    """The people of a user group."""
    groups = call.hub.space.groups
    if call.text("usergroup") not in groups:
        raise SlackError("no_such_subteam")
    return {"users": groups[call.text("usergroup")]}
