"""Files into a thread: all of them in one message, once, and only done when Slack shows them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

import httpx
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from core.errors import SlackFailed, SlackUnreachable
from core.slack_client import LOST, describe, error_name, ours, perhaps_done, refusal
from core.slack_text import TEXT_EDITABLE, clip, without_pings
from core.store import Store
from core.telemetry import get_logger
from core.values import Lease, ThreadKey

log = get_logger(__name__)

SHARE_WAIT_S = 10.0
"""Slack scans uploads before it shows them; what is not there by then was dropped."""

SEND_TIMEOUT_S = 120.0
SIDE_BY_SIDE = 4

Given = TypeVar("Given")
Got = TypeVar("Got")
Seen = Literal["shown", "dropped", "unknown"]

_TLS = httpx.create_ssl_context()
"""Reading the authorities takes 20 ms: once per process, before it forks, and not for every file."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A file for the thread: bytes, or a local path whose content is streamed."""

    name: str
    data: bytes | Path
    title: str = ""

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.data) if isinstance(self.data, bytes) else self.data.stat().st_size


class Uploads:
    """The upload flow: a ticket and the bytes for each file, then one call that puts them into the thread."""

    def __init__(self, once: WebClient, repeatable: WebClient, store: Store) -> None:
        self._once = once
        self._repeatable = repeatable
        self._store = store

    def upload(self, lease: Lease, thread: ThreadKey, key: str, files: Sequence[Upload], comment: str) -> None:
        """See `SlackWriter.upload`."""
        kept = [file for file in files if file.size > 0]
        if not kept:
            return
        payload = {"files": [file.name for file in kept], "comment": comment}
        row = self._store.outbox_begin(lease, key, "files.completeUploadExternal", payload)
        if row.status == "sent":
            return
        ids: list[str] = row.response.get("file_ids") or []
        # Found half-way: perhaps the files are in the thread already and only the reply was lost.
        seen = self._wait_until_shown(ids, thread) if ids else "dropped"
        taken = False
        for _ in range(2):
            if seen != "dropped":
                break
            with httpx.Client(timeout=SEND_TIMEOUT_S, verify=_TLS) as http:
                slots = _at_once(partial(self._send, http), kept)
            self._store.check(lease)
            ids = [str(slot["id"]) for slot in slots]
            self._store.outbox_note(lease, key, {"file_ids": ids})
            taken = self._share(thread, key, slots, comment) or taken
            seen = self._wait_until_shown(ids, thread)
        if seen == "unknown" or (seen == "dropped" and not taken):
            raise SlackUnreachable(f"files.completeUploadExternal for {key} got no reply")
        if seen != "shown":
            log.warning("upload_not_shown", key=key, files=payload["files"], seen=seen)
        self._store.outbox_done(lease, key, "", {"file_ids": ids, "shared": seen == "shown"})

    def _send(self, http: httpx.Client, file: Upload) -> dict[str, str | None]:
        with ours("files.getUploadURLExternal"):
            ticket = self._repeatable.files_getUploadURLExternal(filename=file.name, length=file.size)
        _send_bytes(http, str(ticket["upload_url"]), file)
        return {"id": str(ticket["file_id"]), "title": file.title or file.name}

    def _share(self, thread: ThreadKey, key: str, slots: list[dict[str, str | None]], comment: str) -> bool:
        """Put them into the thread; False when no reply came and only looking can tell."""
        try:
            self._once.files_completeUploadExternal(
                files=slots,
                channel_id=thread.channel,
                thread_ts=thread.root_ts,
                initial_comment=clip(without_pings(comment), TEXT_EDITABLE) or None,
            )
        except SlackApiError as error:
            if not perhaps_done(error):
                raise refusal("files.completeUploadExternal", error) from error
            log.warning("reply_lost", key=key, error=describe(error))
            return False
        except LOST as error:
            log.warning("reply_lost", key=key, error=repr(error))
            return False
        return True

    def _wait_until_shown(self, file_ids: Sequence[str], thread: ThreadKey) -> Seen:
        """Whether they are in the thread by now; "unknown" when Slack did not say: no reason to share them again."""
        deadline = time.monotonic() + SHARE_WAIT_S
        pause = 0.1
        waiting = set(file_ids)
        while True:
            seen: Seen = "unknown"
            try:
                found = _at_once(self._file, sorted(waiting))
                waiting = {one for one, file in zip(sorted(waiting), found, strict=True) if not _is_shown(file, thread)}
                seen = "dropped" if waiting else "shown"
            except SlackApiError as error:
                if error_name(error) in ("file_not_found", "file_deleted"):
                    return "dropped"
                log.info("share_not_checked", error=error_name(error))
                if isinstance(refusal("files.info", error), SlackFailed):
                    return "shown"  # not allowed to look: believe the call that said ok
            except LOST as error:
                log.info("share_not_checked", error=repr(error))
            if seen == "shown" or time.monotonic() + pause > deadline:
                return seen
            time.sleep(pause)
            pause = min(pause * 2, 1.0)

    def _file(self, file_id: str) -> dict[str, Any]:
        return self._repeatable.files_info(file=file_id)["file"] or {}


def _at_once(call: Callable[[Given], Got], given: Sequence[Given]) -> list[Got]:
    """The results in order. Slack answers one call in a tenth of a second or two: a few go on side by side."""
    if len(given) < 2:
        return [call(each) for each in given]
    with ThreadPoolExecutor(min(len(given), SIDE_BY_SIDE), thread_name_prefix="upload") as pool:
        return list(pool.map(call, given))


def _send_bytes(http: httpx.Client, url: str, file: Upload) -> None:
    """The bytes may be sent twice: only the last sending counts, and nothing shows before the sharing."""
    for last in (False, True):
        try:
            if isinstance(file.data, bytes):
                reply = http.post(url, content=file.data)
            else:
                length = {"Content-Length": str(file.size)}
                with file.data.open("rb") as source:
                    reply = http.post(url, content=source, headers=length)
            reply.raise_for_status()
        except httpx.HTTPError as error:
            if last:
                raise SlackUnreachable(f"the upload of {file.name} broke off: {error!r}") from error
        else:
            return


def _is_shown(file: dict[str, Any], thread: ThreadKey) -> bool:
    shares = file.get("shares") or {}
    return any(thread.channel in (shares.get(kind) or {}) for kind in ("public", "private"))
