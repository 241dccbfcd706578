"""The endpoint of the Web API: POST or GET /api/<method> with form, JSON or query arguments."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from playground import oauth
from playground.api.auth import authorise, bearer
from playground.api.call import Call
from playground.api.registry import METHODS
from playground.errors import SlackError
from playground.faults import Fault
from playground.guard import CutConnection
from playground.hub import Playground
from playground.parsing import parsed_json

MAX_BODY = 4_000_000
LOGGED_TEXT = 2_000
OAUTH = "oauth.v2.access"
SECRET = {"token", "code", "client_secret", "refresh_token"}


async def web_api(request: Request) -> Response:
    """Answers one call."""
    hub: Playground = request.app.state.hub
    name = request.path_params["method"]
    entry = hub.wire.add("call", method=name, args={}, ok=False, error="", fault="")
    fault = None
    try:
        given = await read_arguments(request)
        entry["args"] = _loggable(given)
        if fault := hub.faults.take(name, given):
            entry["fault"] = fault.kind
            if fault.kind == "drop_call":
                return CutConnection()
            if fault.kind not in ("drop_reply", "slow"):
                return _broken(fault, entry)
        reply = {"ok": True, **_answer(hub, name, given, _token(request, given), _basic(request))}
        entry["ok"] = True
        if name in {"chat.postMessage", "chat.postEphemeral"}:
            entry["ts"] = reply.get("ts") or reply.get("message_ts")
    except SlackError as error:
        reply = error.reply()
        entry["error"] = error.error
    if fault and fault.kind == "drop_reply":
        return CutConnection()
    if fault:
        await hub.faults.linger(fault)
    headers = {"x-oauth-scopes": ",".join(hub.options.scopes)} if name != "apps.connections.open" else {}
    return JSONResponse(reply, headers=headers)


def _answer(hub: Playground, name: str, given: Mapping[str, Any], token: str, basic: tuple[str, str]) -> dict[str, Any]:
    if name == OAUTH:
        return oauth.access(hub, given, basic)
    method = METHODS.get(name)
    if method is None:
        raise SlackError("unknown_method", req_method=name)
    authorise(method, token, hub.options, hub.grants.tokens)
    return method.handler(Call(hub, method.read(given)))


def _broken(fault: Fault, entry: dict[str, Any]) -> Response:
    match fault.kind:
        case "ratelimited":
            entry["error"] = "ratelimited"
            return JSONResponse({"ok": False, "error": "ratelimited"}, 429, {"Retry-After": str(fault.retry_after)})
        case "http_error":
            entry["error"] = f"http {fault.status}"
            return Response("<html><body>Server error</body></html>", fault.status, media_type="text/html")
        case _:
            entry["error"] = fault.error
            return JSONResponse({"ok": False, "error": fault.error, **fault.extra})


def _token(request: Request, given: Mapping[str, Any]) -> str:
    return bearer(request.headers.get("authorization", "")) or str(given.get("token", ""))


def _basic(request: Request) -> tuple[str, str]:
    """User and password of an Authorization header."""
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    try:
        user, _, password = base64.b64decode(value if scheme.lower() == "basic" else "").decode().partition(":")
    except ValueError:
        return "", ""
    return user, password


async def read_arguments(request: Request) -> dict[str, Any]:
    """The arguments from query and body together. Raises SlackError invalid_json or request too large."""
    given: dict[str, Any] = dict(request.query_params)
    if int(request.headers.get("content-length") or 0) > MAX_BODY:
        raise SlackError("invalid_post_type")
    if request.headers.get("content-type", "").startswith("application/json"):
        body = await request.body()
        if body.strip():
            try:
                parsed = parsed_json(body)
            except ValueError:
                raise SlackError("invalid_json") from None
            if not isinstance(parsed, dict):
                raise SlackError("json_not_object")
            given |= parsed
    elif request.method == "POST":
        async with request.form() as form:
            given |= {name: value for name, value in form.items() if isinstance(value, str)}
    return given


def _loggable(given: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value[:LOGGED_TEXT] if isinstance(value, str) else value
        for name, value in given.items()
        if name not in SECRET
    }
