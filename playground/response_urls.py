"""response_url: five answers to a click within half an hour, without a token."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from playground.api.call import Call
from playground.api.chat import is_ready_image
from playground.blocks import check_blocks, filled
from playground.errors import SlackError
from playground.hub import Playground
from playground.parsing import json_object
from playground.workspace import Message

USES, LIFETIME_S = 5, 1800


async def respond(request: Request) -> Response:
    """Replaces, deletes or answers the message that was clicked."""
    hub: Playground = request.app.state.hub
    right = hub.space.response_urls.get(request.path_params["key"])
    if right is None:
        return PlainTextResponse("invalid_url", 404)
    if right.uses >= USES or hub.time.now() - right.born > LIFETIME_S:
        return JSONResponse({"ok": False, "error": "used_url" if right.uses >= USES else "expired_url"}, 404)
    right.uses += 1
    try:
        body = json_object(await request.body())
    except ValueError:
        return JSONResponse({"ok": False, "error": "invalid_payload"}, 400)
    hub.wire.add("response_url", channel=right.channel, ts=right.ts, body=body)
    try:
        text, blocks = str(body.get("text", "")), body.get("blocks") or []
        check_blocks(blocks, lambda file: is_ready_image(Call(hub, {}), file))
        clicked = hub.space.channels[right.channel].messages.get(right.ts)
        if body.get("delete_original"):
            if clicked:
                hub.delete(clicked)
        elif not text and not blocks:
            raise SlackError("no_text")  # noqa: TRY301  as above
        elif body.get("replace_original") and clicked:
            hub.edit(clicked, text=text, blocks=filled(blocks))
        else:
            space = hub.space
            only_for = "" if body.get("response_type") == "in_channel" else right.user
            thread_ts = str(body.get("thread_ts") or (clicked.thread_ts if clicked else ""))
            hub.post(
                Message(
                    space.clock.next(),
                    right.channel,
                    space.bot.id,
                    text,
                    filled(blocks),
                    thread_ts=thread_ts,
                    bot_id=space.bot_id,
                    only_for=only_for,
                )
            )
    except SlackError as error:
        return JSONResponse(error.reply(), 400)
    return PlainTextResponse("ok")
