"""Puts files into a thread: all in one message, once, each with one ticket and one upload of its bytes.

Slack says yes to files and shows them when it has scanned them, as a rule within a second. So the next message of a
thread waits for the files before it, and nothing else does. After a yes nothing is ever uploaded or shared again,
however long Slack takes; whether it shows them is looked up later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

import httpx
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from core.errors import SlackFailed, SlackUnreachable, outline
from core.retry import retry_call
from core.rows import Sent
from core.slack.client import LOST, CountedClient, describe, error_name, ours, perhaps_done, refusal
from core.slack.connections import tls
from core.slack.rates import Crowded
from core.slack.text import TEXT_EDITABLE
from core.slack.writing.missing_features import MissingFeatures
from core.slack.writing.niceties import UPLOAD
from core.slack.writing.outbox import Outbox
from core.slack.writing.outgoing import share_files, slack_text
from core.slack.writing.owed import Owed
from core.slack.writing.shares import ABSENT, Shares, shown_at
from core.telemetry import get_logger
from core.values import Lease, ThreadKey

log = get_logger(__name__)

SEND_TIMEOUT_S = 120.0
MAX_CALLS = 4
TRIES = 3

_SHARE = "files.completeUploadExternal"
NEVER_OFFERED = frozenset({"unknown_method", "method_deprecated", "not_allowed_token_type"})
"""Refusals of uploads that no setting of an admin undoes soon."""

PROXY_PAGE = "proxy_page"
"""The refusal when a web page was the answer to the bytes of a file: Slack does not have them."""

_PASSES = frozenset({404, 408, 410, 425, 429})
"""Answers below 500 to the bytes of a file that mean "later", or that a new ticket is needed."""

Given = TypeVar("Given")
Got = TypeVar("Got")
Slot = dict[str, str | None]


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

    def __init__(
        self,
        clients: tuple[WebClient, WebClient],
        outbox: Outbox,
        shares: Shares,
        missing_features: MissingFeatures,
        owed: Owed,
    ) -> None:
        """`clients` are the one for calls that are made once, and the one for calls that may be repeated."""
        self._once, self._repeatable = clients
        self._outbox = outbox
        self._shares = shares
        self._missing_features = missing_features
        self._owed = owed
        self._prepared: dict[str, list[Slot] | SlackFailed] = {}

    def prepare(self, thread: ThreadKey, key: str, files: Sequence[Upload]) -> None:
        """Send the bytes of an upload that nobody has begun before. Nobody sees them until `upload` shares them.

        Then the row of the upload is written once, with their ids. What goes wrong is raised by `upload`.
        """
        if kept := _not_empty(files):
            try:
                self._prepared[key] = self._send_all(thread, kept)
            except SlackFailed as error:
                self._prepared[key] = error
            except SlackUnreachable as error:
                log.info("upload_not_prepared", key=key, error=error)

    def forget(self, key: str) -> None:
        """Drop what was prepared for an upload that nobody has begun."""
        self._prepared.pop(key, None)

    def upload(self, lease: Lease, thread: ThreadKey, key: str, files: Sequence[Upload], comment: str) -> None:
        """Put files into the thread as one message, once per `key`; returns when Slack has said yes.

        Empty files are left out, because Slack refuses them. Raises SlackFailed, SlackUnreachable, LeaseLost.
        """
        if not (kept := _not_empty(files)):
            return
        names = [file.name for file in kept]
        slots = self._prepared.pop(key, [])
        if isinstance(slots, SlackFailed):
            raise slots
        sent_ids = {"file_ids": [str(slot["id"]) for slot in slots]} if slots else None
        given = {"files": names, "comment": comment}
        owed = self._owed.take(thread.id)
        row = self._outbox.outbox_begin(
            lease, key, _SHARE, given, response=sent_ids, sent=owed.sent, report=owed.report
        )
        if row.status in ("sent", "dropped"):
            if row.status == "sent" and not row.ts:
                self._shares.wait_before_next(thread, row.key, row.response)
            return
        ids: list[str] = row.response.get("file_ids") or []
        job = _Job(lease, thread, key, kept, comment, ids, lost=bool(ids) and not row.fresh)
        if row.fresh:
            job.begun = slots
        try:
            ts = self._share_once(job)
        except (SlackFailed, SlackUnreachable) as error:
            if job.unsent:
                self._outbox.outbox_unsent(lease, key, str(error))
            raise
        response = {"file_ids": job.ids, "names": names}
        self._owed.add(lease, thread.id, Sent(key, ts, response))
        if not ts:
            self._shares.wait_before_next(thread, key, response)

    def has(self, lease: Lease, thread: ThreadKey, key: str) -> bool:
        """Whether Slack has the files of this key, which are here no more. An upload that never came is closed.

        Raises SlackUnreachable while that cannot be told, and LeaseLost.
        """
        row = self._outbox.outbox_get(key)
        if row is None or row.status == "unsent":
            return False
        if row.status in ("sent", "dropped"):
            return True
        ids: list[str] = row.response.get("file_ids") or []
        job = _Job(lease, thread, key, (), "", ids, lost=bool(ids))
        if not ids or (ts := self._found(job)) is None:
            self._outbox.outbox_unsent(lease, key, "the files are gone")
            return False
        self._outbox.outbox_done(lease, key, ts, {"file_ids": ids, "names": row.payload.get("files") or []})
        return True

    # --- the steps of an upload

    def _share_once(self, job: _Job) -> str:
        """Share files that may have been shared before; the ts of their message, "" while Slack does not show it.

        Raises SlackFailed, SlackUnreachable; `job.unsent` tells whether Slack certainly did not take them.
        """
        for _ in range(TRIES):
            if job.lost and (ts := self._found(job)) is not None:
                return ts
            begun, job.begun = job.begun, []
            slots = begun or self._slots(job)
            if self._shares.settle(job.lease, job.thread) or not begun:
                self._outbox.check(job.lease)  # otherwise the row was written a moment ago
            if not job.ids:
                job.ids = [str(slot["id"]) for slot in slots]
                self._outbox.outbox_note(job.lease, job.key, {"file_ids": job.ids})
            if (ts := self._share(job, slots)) is not None:
                return ts
        if job.lost and (ts := self._found(job)) is not None:
            return ts
        raise SlackUnreachable(f"{_SHARE} for {job.key} got no reply")

    def _found(self, job: _Job) -> str | None:
        """Like `_share_once`, for files whose sharing got no reply; None when Slack did not take them."""
        seen, ts = self._shares.look_after_loss(job.ids, job.thread)
        if seen == "unknown":
            raise SlackUnreachable(f"{_SHARE} for {job.key} got no reply, and the files cannot be looked up")
        return None if seen == "absent" else ts

    def _slots(self, job: _Job) -> list[Slot]:
        """The files by their tickets, with their bytes at Slack. Tickets that still count are used again."""
        if job.expired or len(job.ids) != len(job.files):
            job.ids, job.lost, job.expired, job.unsent = [], False, False, True
            sent = self._send_all(job.thread, job.files)
            job.unsent = False
            return sent
        titled = zip(job.ids, job.files, strict=True)
        return [{"id": file_id, "title": file.title or file.name} for file_id, file in titled]

    def _share(self, job: _Job, slots: list[Slot]) -> str | None:
        """One call that shares them. None when it is to be tried again, and the job says what is known."""
        try:
            reply = share_files(
                self._once,
                files=slots,
                channel=job.thread.channel,
                thread_ts=job.thread.root_ts,
                comment=slack_text(job.comment, limit=TEXT_EDITABLE) or None,
            )
        except Crowded as error:
            raise job.failed(SlackUnreachable(str(error))) from error
        except SlackApiError as error:
            if error_name(error) in ABSENT:
                job.expired = True
                return None
            if not perhaps_done(error):
                raise job.failed(refusal(_SHARE, error)) from error
            log.warning("reply_lost", key=job.key, error=describe(error))
        except LOST as error:
            log.warning("reply_lost", key=job.key, error=error)
        else:
            return shown_at(reply.get("files") or [], job.thread)
        job.lost = True
        return None

    def _send_all(self, thread: ThreadKey, files: Sequence[Upload]) -> list[Slot]:
        """A ticket and the bytes for each file, in their order. Raises SlackFailed, SlackUnreachable."""
        if missing := self._missing_features.error(thread.team, UPLOAD):
            raise SlackFailed(UPLOAD, missing)
        transport = self._once.transport if isinstance(self._once, CountedClient) else None
        try:
            with httpx.Client(timeout=SEND_TIMEOUT_S, verify=tls(), transport=transport) as http:
                return _side_by_side(partial(self._send, http), files)
        except SlackFailed as error:
            if error.error in NEVER_OFFERED:
                self._missing_features.note(thread.team, UPLOAD, error.error)
            raise

    def _send(self, http: httpx.Client, file: Upload) -> Slot:
        with ours(UPLOAD):
            ticket = self._repeatable.files_getUploadURLExternal(filename=file.name, length=file.size)
        _send_bytes(http, str(ticket["upload_url"]), file)
        return {"id": str(ticket["file_id"]), "title": file.title or file.name}


@dataclass(slots=True)
class _Job:
    """An upload under way: the tickets of files whose bytes Slack has, and what is known of them.

    `lost`: they were perhaps shared, no reply came · `expired`: Slack does not know the tickets · `unsent`: what failed
    last shows that Slack does not have them · `begun`: tickets whose row was written a moment ago.
    """

    lease: Lease
    thread: ThreadKey
    key: str
    files: Sequence[Upload]
    comment: str
    ids: list[str]
    lost: bool
    expired: bool = False
    unsent: bool = False
    begun: list[Slot] = field(default_factory=list)

    def failed(self, cause: SlackFailed | SlackUnreachable) -> SlackFailed | SlackUnreachable:
        """The error for a call that was refused or not made: certainly unsent, unless an earlier one got no reply."""
        self.unsent = not self.lost
        return cause


def _not_empty(files: Sequence[Upload]) -> list[Upload]:
    return [file for file in files if file.size > 0]


def _side_by_side(call: Callable[[Given], Got], given: Sequence[Given]) -> list[Got]:
    """The results in order. A call takes Slack 0.1 to 0.2 s, so a few run at the same time."""
    if len(given) < 2:
        return [call(each) for each in given]
    with ThreadPoolExecutor(min(len(given), MAX_CALLS), thread_name_prefix="upload") as pool:
        return list(pool.map(call, given))


def _is_page(reply: httpx.Response) -> bool:
    """Whether a web page came in place of Slack's "OK - SIZE". A proxy that keeps a file back may call that 200."""
    return "html" in reply.headers.get("content-type", "") or reply.content.lstrip()[:1] == b"<"


def _send_bytes(http: httpx.Client, url: str, file: Upload) -> None:
    """The bytes may be sent twice: Slack keeps the last, and shows nothing before the files are shared.

    Raises SlackFailed if they are refused, as by a proxy that lets no such file out, and SlackUnreachable.
    """

    def send() -> None:
        if isinstance(file.data, bytes):
            reply = http.post(url, content=file.data)
        else:
            length = {"Content-Length": str(file.size)}
            with file.data.open("rb") as source:
                reply = http.post(url, content=source, headers=length)
        if reply.is_client_error and reply.status_code not in _PASSES:
            raise SlackFailed(UPLOAD, f"http_{reply.status_code}")
        reply.raise_for_status()
        if _is_page(reply):
            raise SlackFailed(UPLOAD, PROXY_PAGE)

    retry_call(
        send,
        on=httpx.HTTPError,
        attempts=2,
        every_s=0,
        give_up=lambda error: SlackUnreachable(f"the upload of a file broke off: {outline(error)}"),
    )
