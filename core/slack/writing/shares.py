"""Whether Slack shows the files that it accepted. It scans them first, usually for less than a second.

Only the next message of a thread waits for the files before it. Files that are not shown by then are looked up again
when the thread's next turn begins.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from core.errors import SlackFailed
from core.retry import wait_until
from core.rows import OutboxRow
from core.slack.client import LOST, error_name, refusal
from core.slack.writing.outbox import Outbox
from core.telemetry import get_logger
from core.values import Lease, ThreadKey

log = get_logger(__name__)

SHARE_WAIT_S = 10.0
"""How long the next message of a thread waits for files that Slack took. After that it is posted before them."""
LATE_AFTER_S = 60.0
"""Slack has dropped files that it took longer ago and does not show."""
LOOK_AGAIN_S = 2.0
"""After a lost reply, Slack knows by then whether it took the files."""

ABSENT = ("file_not_found", "file_deleted")
"""What Slack says of a file that it did not take, or no longer has."""

Seen = Literal["shown", "taken", "absent", "unknown"]


@dataclass(frozen=True, slots=True)
class _Taken:
    """Files that Slack took from this process, and that it has not shown yet as far as we know."""

    key: str
    file_id: str
    response: dict[str, Any]
    until: float


class Shares:
    """Looks files up by their ids. All files of an upload are in one message, so the last one stands for all."""

    def __init__(self, repeatable: WebClient, outbox: Outbox) -> None:
        self._repeatable = repeatable
        self._outbox = outbox
        self._taken: dict[str, list[_Taken]] = {}
        self._lock = threading.Lock()

    def wait_before_next(self, thread: ThreadKey, key: str, response: dict[str, Any]) -> None:
        """Let the next message of the thread wait for these files."""
        ids = response.get("file_ids") or []
        if ids:
            now = time.monotonic()
            files = _Taken(key, str(ids[-1]), response, now + SHARE_WAIT_S)
            with self._lock:
                # What nobody has to wait for any more is looked up when the thread's next turn begins.
                kept = {each: [one for one in taken if one.until > now] for each, taken in self._taken.items()}
                self._taken = {each: taken for each, taken in kept.items() if taken}
                self._taken.setdefault(thread.id, []).append(files)

    def settle(self, lease: Lease | None, thread: ThreadKey) -> bool:
        """Wait until Slack shows what it took for this thread in this process, `SHARE_WAIT_S` at most.

        False when there was nothing to wait for.
        """
        now = time.monotonic()
        with self._lock:
            waiting = [files for files in self._taken.pop(thread.id, []) if files.until > now]
        for files in waiting:
            ts = ""

            def is_shown(files: _Taken = files) -> bool:
                nonlocal ts
                seen, ts = self._look(files.file_id, thread)
                return seen != "taken"

            wait_until(is_shown, for_s=max(0.0, files.until - time.monotonic()), every_s=0.2, longest_s=1.0)
            if ts:
                self._outbox.outbox_done(lease, files.key, ts, files.response)
            else:
                log.warning("share_late", key=files.key)
        return bool(waiting)

    def unshown(self, lease: Lease, thread: ThreadKey, *, but: str) -> list[OutboxRow]:
        """The rows of files that Slack took long ago and does not show. Those that it shows now are noted as shown.

        Rows whose key begins with `but` are left out.
        """
        long_ago = datetime.now(UTC) - timedelta(seconds=LATE_AFTER_S)
        dropped = []
        for row in self._outbox.outbox_unshown(thread.id):
            ids = row.response.get("file_ids") or []
            if row.key.startswith(but) or not ids or row.sent_at is None or row.sent_at > long_ago:
                continue
            seen, ts = self._look(str(ids[-1]), thread)
            if ts:
                self._outbox.outbox_done(lease, row.key, ts, row.response)
            elif seen == "taken":
                dropped.append(row)
            elif seen == "absent":  # somebody deleted it
                self._outbox.outbox_dropped(lease, row.key)
        return dropped

    def look_after_loss(self, ids: Sequence[str], thread: ThreadKey) -> tuple[Seen, str]:
        """Whether Slack took files, after a call without a reply. Slack knows a file only if it took it."""
        seen: Seen = "unknown"
        ts = ""

        def is_known() -> bool:
            nonlocal seen, ts
            seen, ts = self._look(ids[-1], thread)
            return seen in ("shown", "taken")

        wait_until(is_known, for_s=LOOK_AGAIN_S, every_s=0.2, longest_s=1.0)
        return seen, ts

    def _look(self, file_id: str, thread: ThreadKey) -> tuple[Seen, str]:
        """What files.info says of a file now, and the ts of the message that shows it in the thread's channel."""
        try:
            file = self._repeatable.files_info(file=file_id)["file"] or {}
        except SlackApiError as error:
            if error_name(error) in ABSENT:
                return "absent", ""
            log.info("share_not_checked", error=error_name(error))
            if isinstance(refusal("files.info", error), SlackFailed):
                return "shown", ""  # we may not look: rely on Slack's yes, and never share twice
            return "unknown", ""
        except LOST as error:
            log.info("share_not_checked", error=error)
            return "unknown", ""
        ts = shown_at([file], thread)
        return ("shown", ts) if ts else ("taken", "")


def shown_at(files: Sequence[dict[str, Any]], thread: ThreadKey) -> str:
    """The ts of the message in the thread's channel that shows these files; "" when one of them is not shown."""
    found = ""
    for file in files:
        shares = file.get("shares") or {}
        places = [
            place for kind in ("public", "private") for place in (shares.get(kind) or {}).get(thread.channel) or []
        ]
        if not places:
            return ""
        found = str(places[0].get("ts") or "")
    return found
