"""The page's addresses: whole pages, the fragments its script fetches, the live feed, and files for people."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from playground.control import post_as
from playground.errors import SlackError
from playground.hub import Playground
from playground.inside import look_inside
from playground.interactions import open_home
from playground.labels import listed
from playground.page.render import Pages, is_picture
from playground.page.seen_files import may_open
from playground.workspace import Channel, Message, User

STATIC = Path(__file__).parent / "static"
VIEWER = "viewer"
NEVER_CACHE = {"Cache-Control": "no-store"}
_MOST_DIGITS = 19
"""Digits of the number of a notice; a page that names a longer one was never told it."""


def _pages(request: Request) -> Pages:
    pages: Pages = request.app.state.pages
    return pages


def _viewer(request: Request) -> User:
    space = _pages(request).space
    people = [each for each in space.users.values() if not each.is_bot]
    wanted = request.cookies.get(VIEWER, "")
    return next((each for each in people if each.id == wanted), people[0])


def _channel(pages: Pages, channel_id: str, viewer: User) -> Channel:
    channel = pages.space.channels.get(channel_id)
    if channel is None or not channel.is_seen_by(viewer):
        raise SlackError("channel_not_found")
    return channel


def _html(content: str, status: int = 200) -> HTMLResponse:
    return HTMLResponse(content, status, NEVER_CACHE)


def _top(channel: Channel, viewer: User) -> list[Message]:
    return [
        each
        for each in channel.messages.values()
        if (not each.is_reply or each.subtype == "thread_broadcast") and each.only_for in ("", viewer.id)
    ]


def _in_thread(pages: Pages, channel: Channel, thread_ts: str, viewer: User) -> list[Message]:
    head = channel.messages.get(thread_ts)
    below = pages.space.replies(channel, thread_ts)
    return [each for each in ([head] if head else []) + below if each.only_for in ("", viewer.id)]


def _rendered(pages: Pages, channel: Channel, messages: list[Message], viewer: User, pane: str) -> list[Markup]:
    return [
        Markup(pages.page("message.html", pane=pane, **pages.message_context(channel, each, viewer)))  # noqa: S704  a template's output
        for each in messages
    ]


def _thread(pages: Pages, channel: Channel, thread_ts: str, viewer: User) -> str:
    messages = _in_thread(pages, channel, thread_ts, viewer)
    if not messages:
        raise SlackError("thread_not_found")
    session = pages.space.sessions.get((channel.id, thread_ts), {})
    return pages.page(
        "thread.html",
        channel=channel,
        thread_ts=thread_ts,
        messages=_rendered(pages, channel, messages, viewer, "thread"),
        status=pages.space.status(channel.id, thread_ts),
        session=session.get("status", ""),
        viewer=viewer,
    )


def _shell(pages: Pages, channel: Channel, viewer: User, title: str, **more: Any) -> str:
    space = pages.space
    direct = next(each for each in space.channels.values() if each.peer == viewer.id)
    rooms = [each for each in space.channels.values() if each.kind != "im" and viewer.id in each.members]
    everybody = [space.bot, *(each for each in space.users.values() if each.id not in (space.bot.id, viewer.id))]
    context: dict[str, Any] = {
        "title": title,
        "channel": channel,
        "viewer": viewer,
        "rooms": rooms,
        "direct": direct,
        "unread": {each.id: _unread(pages, each, viewer) for each in (*rooms, direct)},
        "members": [pages.user_of(each) for each in channel.members],
        "people": [each for each in space.users.values() if not each.is_bot],
        "everybody": everybody,
        "bot_here": space.bot.id in channel.members,
        "samples": pages.hub.samples,
        "messages": [],
        "thread_ts": "",
        "thread": "",
        "home": None,
        "labels": None,
        "has_labels": pages.hub.labels is not None,
        "feed": pages.hub.feed.last,
    }
    return pages.page("page.html", **(context | more))


def _unread(pages: Pages, channel: Channel, viewer: User) -> int:
    mark = pages.space.read_marks.get((viewer.id, channel.id), "")
    return sum(each.ts > mark and each.user != viewer.id for each in _top(channel, viewer))


def _mark_read(pages: Pages, channel: Channel, viewer: User) -> None:
    top = _top(channel, viewer)
    if top:
        pages.space.read_marks[viewer.id, channel.id] = top[-1].ts


async def front(request: Request) -> Response:
    """The first channel."""
    return RedirectResponse(f"/{next(iter(_pages(request).space.channels))}", 302)


async def channel_page(request: Request) -> Response:
    """A channel, with a thread beside it when the address names one."""
    pages, viewer = _pages(request), _viewer(request)
    thread_ts = request.path_params.get("thread_ts", "")
    try:
        channel = _channel(pages, request.path_params["channel"], viewer)
        thread = Markup(_thread(pages, channel, thread_ts, viewer)) if thread_ts else ""  # noqa: S704  a template's output
    except SlackError:
        return _html(pages.page("nowhere.html"), 404)
    _mark_read(pages, channel, viewer)
    messages = _rendered(pages, channel, _top(channel, viewer), viewer, "main")
    title = pages.channel_name(channel.id) if channel.name else pages.space.bot.real_name
    return _html(_shell(pages, channel, viewer, title, messages=messages, thread_ts=thread_ts, thread=thread))


async def home_page(request: Request) -> Response:
    """The app's home tab; the app is told that it was opened."""
    pages, viewer = _pages(request), _viewer(request)
    seen = pages.hub.feed.last
    if "quietly" not in request.query_params:
        open_home(pages.hub, viewer, "home")
    view = pages.space.homes.get(viewer.id)
    home = {"blocks": view.payload["blocks"] if view else [], "view_id": view.id if view else ""}
    channel = pages.space.channel(viewer.id)
    return _html(_shell(pages, channel, viewer, pages.space.bot.real_name, home=home, feed=seen))


async def labels_page(request: Request) -> Response:
    """The app's answers to judge. A POST is a judgement; what was not kept is said above the list."""
    pages, viewer = _pages(request), _viewer(request)
    labels, team = pages.hub.labels, pages.space.team_id
    if labels is None:
        return _html(pages.page("nowhere.html"), 404)
    given = dict(request.query_params)
    trouble = ""
    if request.method == "POST":
        async with request.form() as form:
            given = {name: value for name, value in form.items() if isinstance(value, str)}
        answer, do, text = (given.get(name, "") for name in ("answer", "do", "text"))
        trouble = await run_in_threadpool(labels.label, team, viewer.id, answer, do, text.replace("\r\n", "\n"))
        if not trouble:
            place = urlencode({name: given.get(name, "") for name in ("show", "page")} | {"keep": answer})
            return RedirectResponse(f"/labels?{place}#{quote(answer)}", 303)
    answers, missing = await run_in_threadpool(labels.answers, team, viewer.id)
    number = given.get("page", "")
    page = int(number) if number.isdecimal() and len(number) < 6 else 0
    keep = given.get("keep") or given.get("answer", "")
    shown = listed(answers, given.get("show", ""), page, keep, trouble or missing)
    channel = pages.space.channel(viewer.id)
    return _html(_shell(pages, channel, viewer, "Answers", labels=shown), 400 if trouble else 200)


async def archive(request: Request) -> Response:
    """Permalinks: /archives/C…/p1234567890123456 leads to the message's thread."""
    digits = request.path_params["place"].removeprefix("p")
    thread_ts = request.query_params.get("thread_ts") or f"{digits[:-6]}.{digits[-6:]}"
    return RedirectResponse(f"/{request.path_params['channel']}/{thread_ts}", 302)


async def message_fragment(request: Request) -> Response:
    """One message for one pane; empty when it is gone or not for this person's eyes."""
    pages, viewer = _pages(request), _viewer(request)
    try:
        channel = _channel(pages, request.path_params["channel"], viewer)
        message = pages.space.message(channel, request.path_params["ts"])
    except SlackError:
        return _html("")
    if message.only_for not in ("", viewer.id):
        return _html("")
    pane = "thread" if request.query_params.get("pane") == "thread" else "main"
    return _html(_rendered(pages, channel, [message], viewer, pane)[0])


async def thread_fragment(request: Request) -> Response:
    """The inside of the thread pane; empty when the thread is gone."""
    pages, viewer = _pages(request), _viewer(request)
    try:
        channel = _channel(pages, request.path_params["channel"], viewer)
        return _html(_thread(pages, channel, request.path_params["ts"], viewer))
    except SlackError:
        return _html("")


async def inside_fragment(request: Request) -> Response:
    """What is going on in a thread, for its drawer; empty for a thread that this person does not see."""
    pages, viewer = _pages(request), _viewer(request)
    try:
        channel = _channel(pages, request.path_params["channel"], viewer)
    except SlackError:
        return _html("")
    sections = await look_inside(pages.hub, channel.id, request.path_params["ts"])
    return _html(pages.page("inside.html", sections=sections, has_app=pages.hub.inside is not None))


async def view_fragment(request: Request) -> Response:
    """The newest open modal of this person; empty when there is none."""
    pages, viewer = _pages(request), _viewer(request)
    mine = [each for each in pages.space.views.values() if each.open and each.user == viewer.id]
    return _html(pages.page("view.html", view=mine[-1], viewer=viewer) if mine else "")


async def icon(request: Request) -> Response:
    """The page's icon. It is a template, so that it is packaged with the others."""
    return Response(_pages(request).page("icon.html"), media_type="image/svg+xml")


async def invite(request: Request) -> Response:
    """Lets the bot into a channel, as a member of it may."""
    pages, viewer = _pages(request), _viewer(request)
    channel = _channel(pages, request.path_params["channel"], viewer)
    bot = pages.space.bot.id
    if viewer.id in channel.members and bot not in channel.members:
        channel.members = [*channel.members, bot]
    return RedirectResponse(f"/{channel.id}", 303)


async def ask_sample(request: Request) -> Response:
    """Posts a sample question with its files as this person, and opens its thread."""
    pages, viewer = _pages(request), _viewer(request)
    channel, samples = _channel(pages, request.path_params["channel"], viewer), pages.hub.samples
    number = request.path_params["number"]
    if viewer.id not in channel.members or number >= len(samples):
        return RedirectResponse(f"/{channel.id}", 303)
    sample = samples[number]
    typed = sample.question if channel.kind == "im" else f"<@{pages.space.bot.id}> {sample.question}"
    files = [(file.name, file.read_bytes()) for file in sample.files]
    message = post_as(pages.hub, channel, viewer, typed, named=files)
    return RedirectResponse(f"/{channel.id}/{message.ts}", 303)


async def become(request: Request) -> Response:
    """Switches whom the page posts as."""
    pages = _pages(request)
    async with request.form() as form:
        user = pages.space.users.get(str(form.get("user", "")))
        back = str(form.get("back", ""))
    channel = pages.space.channels.get(back)
    if user and channel and channel.kind == "im":
        channel = pages.space.channel(user.id)
    if user and channel and channel.is_seen_by(user):
        back = channel.id
    elif back not in ("home", "labels"):
        back = ""
    answer = RedirectResponse(f"/{back}", 303)
    if user and not user.is_bot:
        answer.set_cookie(VIEWER, user.id, httponly=True, samesite="strict")
    return answer


async def read(request: Request) -> Response:
    """Marks a channel as read by this person."""
    pages, viewer = _pages(request), _viewer(request)
    try:
        _mark_read(pages, _channel(pages, request.path_params["channel"], viewer), viewer)
    except SlackError:
        return Response(status_code=404)
    return Response(status_code=204)


async def live(request: Request) -> Response:
    """The live feed after the notice that the page saw last."""
    hub: Playground = request.app.state.hub
    seen = request.headers.get("last-event-id") or request.query_params.get("after", "")
    is_number = seen.isdecimal() and len(seen) <= _MOST_DIGITS
    notices = hub.feed.stream(int(seen) if is_number else hub.feed.last)
    return StreamingResponse(notices, media_type="text/event-stream", headers=NEVER_CACHE)


async def file_for_people(request: Request) -> Response:
    """A file for the page: pictures are shown, everything else is only offered for download."""
    pages, viewer = _pages(request), _viewer(request)
    try:
        file = pages.space.file(request.path_params["file_id"])
    except SlackError:
        return _html(pages.page("nowhere.html"), 404)
    if not may_open(pages.space, file, viewer, pages.picture_of):
        return _html(pages.page("nowhere.html"), 404)
    shown = is_picture(file)
    return FileResponse(
        pages.hub.file_path(file.id),
        media_type=file.mimetype if shown else "application/octet-stream",
        filename=file.name,
        content_disposition_type="inline" if shown else "attachment",
        headers={"Content-Security-Policy": "default-src 'none'; sandbox", "Cache-Control": "private, no-cache"},
    )


ROUTES: list[BaseRoute] = [
    Route("/", front),
    Route("/home", home_page),
    Route("/labels", labels_page, methods=["GET", "POST"]),
    Route("/icon.svg", icon),
    Route("/feed", live),
    Route("/viewer", become, methods=["POST"]),
    Route("/invite/{channel}", invite, methods=["POST"]),
    Route("/samples/{channel}/{number:int}", ask_sample, methods=["POST"]),
    Route("/read/{channel}", read, methods=["POST"]),
    Route("/f/{file_id}/{name:path}", file_for_people),
    Route("/fragments/message/{channel}/{ts}", message_fragment),
    Route("/fragments/thread/{channel}/{ts}", thread_fragment),
    Route("/fragments/inside/{channel}/{ts}", inside_fragment),
    Route("/fragments/view", view_fragment),
    Route("/archives/{channel}/{place}", archive),
    Mount("/static", StaticFiles(directory=STATIC)),
    Route("/{channel}", channel_page),
    Route("/{channel}/{thread_ts}", channel_page),
]
