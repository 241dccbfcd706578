"""files.*: an upload in three steps, shared a little later than it was completed, as Slack does."""

from __future__ import annotations

import mimetypes

from playground.api.call import Call
from playground.errors import SlackError, invalid_arguments
from playground.hub import Playground
from playground.shapes import file_object
from playground.workspace import File, Json, Message

CHANNELS = 100
KNOWN = {
    ".csv": "text/csv",
    ".md": "text/markdown",
    ".ipynb": "application/x-ipynb+json",
    ".parquet": "application/octet-stream",
}


def mimetype_of(name: str) -> str:
    """The mimetype that Slack would show for a file name."""
    ending = name[name.rfind(".") :].lower() if "." in name else ""
    return KNOWN.get(ending) or mimetypes.guess_type(name)[0] or "application/octet-stream"


def get_upload_url(call: Call) -> Json:
    """Where to send the bytes of one file."""
    length = call.number("length", 0)
    if length < 1:
        raise SlackError("missing_argument")
    if length > call.hub.options.max_file_mb * 1024 * 1024:
        raise SlackError("file_upload_size_restricted")
    name = call.text("filename")[:255]
    file = call.hub.new_file(name, call.hub.space.bot.id, mimetype_of(name), length)
    return {"upload_url": f"{call.hub.base_url}/upload/v1/{file.id}", "file_id": file.id}


def complete_upload(call: Call) -> Json:
    """Ends uploads and shares them; the shares, and the message that carries them, appear after a while."""
    hub = call.hub
    files = [_uploaded(hub, entry) for entry in _entries(call)]
    rooms = [each for each in (call.text("channel_id") or call.text("channels")).split(",") if each]
    if len(rooms) > CHANNELS:
        raise SlackError("channels_limit_exceeded")
    places = []
    for room in rooms:
        inner = Call(hub, {**call.args, "channel": room})
        channel = inner.room()
        places.append((channel.id, inner.thread_root(channel)))
    if len(places) > 1 and call.text("thread_ts"):
        raise invalid_arguments("thread_ts works with one channel [json-pointer:/thread_ts]")
    for file in files:
        if file.state == "ticketed":
            file.state = "scanning"
    hub.spawn(_scan_and_share(hub, files, places, call.text("initial_comment")))
    return {"files": [file_object(hub.space, each, hub.base_url) for each in files]}


def _entries(call: Call) -> list[Json]:
    given = call.args["files"]
    if not isinstance(given, list) or not given or not all(isinstance(each, dict) and each.get("id") for each in given):
        raise invalid_arguments("must be an array of objects with an id [json-pointer:/files]")
    return given


def _uploaded(hub: Playground, entry: Json) -> File:
    file = hub.space.files.get(str(entry["id"]))
    if file is None or file.size < 0:
        raise SlackError("file_not_found")
    if entry.get("title"):
        file.title = str(entry["title"])
    return file


async def _scan_and_share(hub: Playground, files: list[File], places: list[tuple[str, str]], comment: str) -> None:
    fault = hub.faults.take("share")
    await hub.time.sleep(hub.options.share_delay_s)
    if fault:
        await hub.faults.linger(fault)
    for file in files:
        file.state = "ready"
    if not hub.options.share_files or (fault and fault.kind != "slow"):
        return
    space = hub.space
    for channel_id, thread_ts in places:
        hub.post(
            Message(
                space.clock.next(),
                channel_id,
                space.bot.id,
                comment,
                thread_ts=thread_ts,
                subtype="file_share",
                bot_id=space.bot_id,
                files=tuple(each.id for each in files),
            )
        )


def info(call: Call) -> Json:
    """One file."""
    file = call.hub.space.file(call.text("file"))
    return {
        "file": file_object(call.hub.space, file, call.hub.base_url),
        "comments": [],
        "response_metadata": {"next_cursor": ""},
    }
