"""The control API, /control: what people do, as JSON, for tests, for the page and for scripts.

Errors are status 400 with {"ok": false, "error": name or sentence}.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from playground import interactions, oauth
from playground.api.files import mimetype_of
from playground.errors import SlackError
from playground.faults import Fault
from playground.hub import Playground
from playground.identity import new_id
from playground.inside import as_json, look_inside
from playground.parsing import json_object
from playground.people_say import rich_text, slack_text
from playground.shapes import channel_object, file_object, user_object, view_object
from playground.workspace import Channel, Json, Message, User, View

MOST_FILES, MOST_TEXT = 20, 40_000
MOST_FORM_TEXT = 4_000_000
"""The bytes of one field of a form that are read: enough to say that a text is too long."""

Handler = Callable[[Playground, Request, Json], Awaitable[Json]]


def door(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint that reads JSON, form or query into one dict and answers ok or a named error."""

    async def endpoint(request: Request) -> Response:
        hub: Playground = request.app.state.hub
        try:
            given = await _read(request)
            return JSONResponse({"ok": True, **await handler(hub, request, given)})
        except SlackError as error:
            return JSONResponse(error.reply(), 400)
        except HTTPException as error:
            return JSONResponse({"ok": False, "error": error.detail}, 400)
        except (ValueError, TypeError) as error:
            return JSONResponse({"ok": False, "error": str(error)}, 400)

    return endpoint


async def _read(request: Request) -> Json:
    given: Json = {**request.query_params, **request.path_params}
    kind = request.headers.get("content-type", "")
    if kind.startswith("multipart/form-data"):
        form = await request.form(max_part_size=MOST_FORM_TEXT)
        given["files"] = []
        for name, value in form.multi_items():
            if isinstance(value, UploadFile):
                given["files"].append((value.filename or "file", await value.read()))
            else:
                given[name] = value
        await form.close()
    elif body := await request.body():
        given |= json_object(body)
    return given


def _field(given: Json, name: str) -> str:
    if name not in given:
        raise ValueError(f"missing field: {name}")
    return str(given[name])


def _channel(hub: Playground, given: Json) -> Channel:
    return hub.space.channel(str(given.get("channel", "")))


def _user(hub: Playground, given: Json) -> User:
    return hub.space.find_user(str(given.get("user", "ana")))


def _message(hub: Playground, given: Json) -> Message:
    return hub.space.message(_channel(hub, given), str(given.get("ts", "")))


def _view(hub: Playground, given: Json) -> View:
    view = hub.space.views.get(str(given.get("view_id", "")))
    if view is None or not view.open:
        raise SlackError("view_not_found")
    return view


async def users(hub: Playground, _request: Request, _given: Json) -> Json:
    """Everybody."""
    return {"users": [user_object(hub.space, each) for each in hub.space.users.values()], "bot": hub.space.bot.id}


async def change_user(hub: Playground, request: Request, given: Json) -> Json:
    """Changes what users.info says of a person: {"is_restricted": true}, {"team_id": "T0OTHER"}; and their groups."""
    user = hub.space.find_user(str(request.path_params["user"]))
    for group in given.pop("groups", ()):
        hub.space.groups.setdefault(str(group), []).append(user.id)
    hub.space.flags.setdefault(user.id, {}).update(given)
    return {"user": user_object(hub.space, user)}


async def channels(hub: Playground, _request: Request, _given: Json) -> Json:
    """Every conversation."""
    return {"channels": [channel_object(hub.space, each) for each in hub.space.channels.values()]}


async def change_channel(hub: Playground, _request: Request, given: Json) -> Json:
    """Archives a conversation or brings it back (`archived`), says who is in it (`people`), and whether the bot is."""
    channel, bot = _channel(hub, given), hub.space.bot.id
    if "archived" in given:
        channel.archived = bool(given["archived"])
    if "people" in given:
        people = [hub.space.find_user(str(name)).id for name in given["people"]]
        channel.members = [*people, *([bot] if bot in channel.members else [])]
    if "bot" in given:
        channel.members = [each for each in channel.members if each != bot] + ([bot] if given["bot"] else [])
    return {"channel": channel_object(hub.space, channel)}


async def say(hub: Playground, _request: Request, given: Json) -> Json:
    """Posts as a person: channel, user, text, thread_ts, and files when multipart."""
    channel, user = _channel(hub, given), _user(hub, given)
    if user.id not in channel.members:
        raise SlackError("not_in_channel")
    thread_ts = str(given.get("thread_ts") or "")
    if thread_ts:
        thread_ts = hub.space.message(channel, thread_ts).root_ts
    typed = str(given.get("text") or "")
    message = post_as(hub, channel, user, typed, named=given.get("files", []), thread_ts=thread_ts)
    return {"channel": channel.id, "ts": message.ts, "thread_ts": message.root_ts, "message": hub.shown(message)}


def post_as(
    hub: Playground,
    channel: Channel,
    user: User,
    typed: str,
    *,
    named: Iterable[tuple[str, bytes]],
    thread_ts: str = "",
) -> Message:
    """Posts what a person typed, with files by name. SlackError where there is neither, ValueError for too much."""
    named = list(named)
    if len(named) > MOST_FILES:
        raise ValueError(f"a message takes at most {MOST_FILES} files")
    if len(typed) > MOST_TEXT:
        raise ValueError(f"a message takes at most {MOST_TEXT:,} characters: attach the text as a file")
    files = []
    for name, data in named:
        file = hub.new_file(name, user.id, mimetype_of(name), len(data))
        hub.store(file, data)
        file.state = "ready"
        files.append(file.id)
    text = slack_text(hub.space, typed)
    if not text.strip() and not files:
        raise SlackError("no_text")
    message = Message(
        hub.space.clock.next(),
        channel.id,
        user.id,
        text,
        rich_text(text),
        thread_ts=thread_ts,
        subtype="file_share" if files else "",
        files=tuple(files),
        client_msg_id=new_id("", 24).lower(),
    )
    hub.post(message)
    return message


async def edit(hub: Playground, _request: Request, given: Json) -> Json:
    """Changes the text of a message."""
    message = _message(hub, given)
    text = slack_text(hub.space, _field(given, "text"))
    hub.edit(message, text=text, blocks=rich_text(text), edited_ts=hub.space.clock.next())
    return {"message": hub.shown(message)}


async def delete(hub: Playground, _request: Request, given: Json) -> Json:
    """Deletes a message."""
    hub.delete(_message(hub, given))
    return {}


async def react(hub: Playground, _request: Request, given: Json) -> Json:
    """Adds or removes (`remove`: true) a person's reaction."""
    hub.react(_message(hub, given), _user(hub, given).id, _field(given, "name"), remove=bool(given.get("remove")))
    return {}


async def read_messages(hub: Playground, _request: Request, given: Json) -> Json:
    """All messages of a channel, or of one thread when `thread_ts` is given, oldest first, ephemeral ones included."""
    channel = _channel(hub, given)
    thread_ts = str(given.get("thread_ts") or "")
    chosen = [each for each in channel.messages.values() if not thread_ts or each.root_ts == thread_ts]
    shown = [{**hub.shown(each), **({"only_for": each.only_for} if each.only_for else {})} for each in chosen]
    status = hub.space.status(channel.id, thread_ts) if thread_ts else ""
    return {"messages": shown, "status": status, "session": hub.space.sessions.get((channel.id, thread_ts))}


async def press(hub: Playground, _request: Request, given: Json) -> Json:
    """Presses or chooses: channel + ts or view_id, action_id, value for a choice. Waits for the app's ack."""
    action_id, value = _field(given, "action_id"), str(given.get("value") or "")
    if given.get("view_id"):
        homes = {each.id: each for each in hub.space.homes.values()}
        view = homes.get(str(given["view_id"])) or _view(hub, given)
        return {"response": await interactions.press_in_view(hub, view, action_id, given.get("values") or {}, value)}
    message, block_id = _message(hub, given), str(given.get("block_id") or "")
    return {
        "response": await interactions.press(hub, _user(hub, given), message, action_id, block_id=block_id, value=value)
    }


async def shortcut(hub: Playground, _request: Request, given: Json) -> Json:
    """Chooses a shortcut of the app on a message: channel + ts, callback_id, user. Waits for the app's ack."""
    message, callback_id = _message(hub, given), _field(given, "callback_id")
    return {"response": await interactions.shortcut(hub, _user(hub, given), message, callback_id)}


async def read_views(hub: Playground, _request: Request, given: Json) -> Json:
    """Open modals, and home tabs by user."""
    homes = {user: view_object(hub.space, each) for user, each in hub.space.homes.items()}
    mine = [each for each in hub.space.views.values() if each.open and given.get("user", each.user) == each.user]
    return {"views": [view_object(hub.space, each) | {"user": each.user} for each in mine], "homes": homes}


async def submit_view(hub: Playground, _request: Request, given: Json) -> Json:
    """Submits a modal with `values`: state.values, or {action_id: value}."""
    return {"response": await interactions.submit(hub, _view(hub, given), given.get("values") or {})}


async def close_view(hub: Playground, _request: Request, given: Json) -> Json:
    """Closes a modal."""
    await interactions.close(hub, _view(hub, given))
    return {}


async def home(hub: Playground, _request: Request, given: Json) -> Json:
    """Opens the app's home (or messages) tab as a person."""
    interactions.open_home(hub, _user(hub, given), str(given.get("tab") or "home"))
    return {}


async def stop(hub: Playground, _request: Request, given: Json) -> Json:
    """Presses Stop on a working agent session."""
    interactions.stop(hub, _user(hub, given), _channel(hub, given), _field(given, "thread_ts"))
    return {}


async def read_files(hub: Playground, _request: Request, _given: Json) -> Json:
    """Every completed file."""
    ready = [each for each in hub.space.files.values() if each.state != "ticketed"]
    return {"files": [file_object(hub.space, each, hub.base_url) for each in ready]}


async def file_bytes(request: Request) -> Response:
    """The bytes of a file, for tests."""
    hub: Playground = request.app.state.hub
    try:
        file = hub.space.file(request.path_params["file_id"])
    except SlackError as error:
        return JSONResponse(error.reply(), 404)
    return FileResponse(hub.file_path(file.id), media_type=file.mimetype, filename=file.name)


async def wire(hub: Playground, _request: Request, given: Json) -> Json:
    """The wire log; filters kind, method, after."""
    after = int(given.get("after") or 0)
    return {
        "entries": hub.wire.entries(kind=str(given.get("kind", "")), method=str(given.get("method", "")), after=after)
    }


async def inside(hub: Playground, _request: Request, given: Json) -> Json:
    """What is going on in a thread: channel, thread_ts. Sections of rows, newest first."""
    channel = _channel(hub, given)
    return {"sections": as_json(await look_inside(hub, channel.id, str(given.get("thread_ts") or "")))}


async def connections(hub: Playground, _request: Request, _given: Json) -> Json:
    """The sockets that the app holds, by number, and those that were asked to go but have not gone yet."""
    sockets = hub.sockets
    return {
        "connections": [each.number for each in sockets.connections],
        "leaving": [each.number for each in sockets.leaving],
    }


async def disconnect(hub: Playground, _request: Request, given: Json) -> Json:
    """Asks one socket (or `all`) to go with a reason, or cuts it without a word (`abrupt`)."""
    reason = str(given.get("reason") or "refresh_requested")
    told = await hub.sockets.disconnect(reason, all_of_them=bool(given.get("all")), abrupt=bool(given.get("abrupt")))
    return {"disconnected": told}


async def options(hub: Playground, request: Request, given: Json) -> Json:
    """Shows the options, and changes those given in a POST."""
    if request.method == "POST":
        hub.options = hub.options.changed(given)
    secret = {"bot_token", "app_token", "signing_secret", "client_secret"}
    return {"options": {name: value for name, value in vars(hub.options).items() if name not in secret}}


async def faults(hub: Playground, request: Request, given: Json) -> Json:
    """Orders a fault, or event duplicates by `duplicate_events`; DELETE forgets all."""
    if request.method == "DELETE":
        hub.faults.clear()
    elif "duplicate_events" in given:
        hub.faults.duplicate_events = int(given["duplicate_events"])
    else:
        hub.faults.order(Fault.parse(given))
    return {}


async def clock(hub: Playground, _request: Request, given: Json) -> Json:
    """Lets Slack's clock go `rate` times as fast, or jump `advance` seconds ahead."""
    hub.time.change(rate=float(given["rate"]) if "rate" in given else None, advance=float(given.get("advance", 0)))
    return {"rate": hub.time.rate, "now": hub.time.now()}


async def uninstall(hub: Playground, _request: Request, _given: Json) -> Json:
    """Somebody uninstalls the app in this workspace."""
    oauth.uninstall(hub)
    return {}


async def reset(hub: Playground, _request: Request, _given: Json) -> Json:
    """An empty workspace again."""
    hub.reset()
    return {}


ROUTES = [
    Route("/users", door(users)),
    Route("/channels", door(channels)),
    Route("/users/{user}", door(change_user), methods=["POST"]),
    Route("/channels/{channel}", door(change_channel), methods=["POST"]),
    Route("/messages", door(read_messages), methods=["GET"]),
    Route("/messages", door(say), methods=["POST"]),
    Route("/messages/{channel}/{ts}", door(edit), methods=["PATCH"]),
    Route("/messages/{channel}/{ts}", door(delete), methods=["DELETE"]),
    Route("/reactions", door(react), methods=["POST"]),
    Route("/press", door(press), methods=["POST"]),
    Route("/shortcut", door(shortcut), methods=["POST"]),
    Route("/views", door(read_views)),
    Route("/views/{view_id}/submit", door(submit_view), methods=["POST"]),
    Route("/views/{view_id}/close", door(close_view), methods=["POST"]),
    Route("/home", door(home), methods=["POST"]),
    Route("/stop", door(stop), methods=["POST"]),
    Route("/files", door(read_files)),
    Route("/files/{file_id}", file_bytes),
    Route("/wire", door(wire)),
    Route("/inside", door(inside)),
    Route("/connections", door(connections)),
    Route("/disconnect", door(disconnect), methods=["POST"]),
    Route("/options", door(options), methods=["GET", "POST"]),
    Route("/faults", door(faults), methods=["POST", "DELETE"]),
    Route("/clock", door(clock), methods=["POST"]),
    Route("/uninstall", door(uninstall), methods=["POST"]),
    Route("/reset", door(reset), methods=["POST"]),
]
