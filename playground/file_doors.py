"""Where the bytes of files go in and out for the app: upload tickets and authorised downloads."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response

from playground.api.auth import bearer, is_bots
from playground.guard import CutConnection
from playground.hub import Playground

LOGIN_PAGE = """<!DOCTYPE html>
<html><head><title>Sign in to Playground | Slack</title></head>
<body><h1>Sign in to Playground</h1><form><label>Email <input type="email" name="email"></label></form></body></html>
"""


async def upload(request: Request) -> Response:
    """Takes the raw bytes of an upload, whatever content type they claim."""
    hub: Playground = request.app.state.hub
    file = hub.space.files.get(request.path_params["file_id"])
    if file is None or file.state != "ticketed":
        return PlainTextResponse("no such upload", 404)
    fault = hub.faults.take("upload")
    if fault and fault.kind == "drop_call":
        return CutConnection()
    if fault and fault.kind == "http_error":
        return PlainTextResponse("unavailable", fault.status)
    if request.headers.get("content-type", "").startswith("multipart/form-data"):
        async with request.form() as form:
            part = next((each for each in form.values() if not isinstance(each, str)), None)
            data = await part.read() if part else b""
    else:
        data = await request.body()
    if not 0 < len(data) <= hub.options.max_file_mb * 1024 * 1024:
        return PlainTextResponse("empty or too large", 400)
    hub.store(file, data)
    hub.wire.add("upload", file=file.id, name=file.name, size=len(data))
    if fault and fault.kind == "drop_reply":
        return CutConnection()
    if fault:
        await hub.faults.linger(fault)
    return PlainTextResponse(f"OK - {len(data)}")


async def download(request: Request) -> Response:
    """Gives the bytes to the app's token. Everybody else gets the login page with status 200, as in Slack."""
    hub: Playground = request.app.state.hub
    token = bearer(request.headers.get("authorization", ""))
    known = is_bots(token, hub.options, hub.grants.tokens) and "files:read" in hub.options.scopes
    file = hub.space.files.get(request.path_params["place"].partition("-")[2])
    hub.wire.add("download", file=file.id if file else "", authorised=known)
    if not known:
        return HTMLResponse(LOGIN_PAGE)
    if file is None or file.state == "ticketed":
        return HTMLResponse("<html><body>File not found</body></html>", 404)
    if fault := hub.faults.take("download"):
        match fault.kind:
            case "http_error":
                return PlainTextResponse("unavailable", fault.status)
            case "slow":
                await hub.faults.linger(fault)
            case "error":
                return HTMLResponse(LOGIN_PAGE)
            case _:
                return CutConnection()
    disposition = "attachment" if "/download/" in request.url.path else "inline"
    return FileResponse(
        hub.file_path(file.id), media_type=file.mimetype, filename=file.name, content_disposition_type=disposition
    )
