"""What a person can do in the playground, over its control API."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from core.values import ThreadKey

Json = dict[str, Any]


class Posted(NamedTuple):
    """Where a message went: its thread and its own ts."""

    thread: ThreadKey
    ts: str


@dataclass(frozen=True)
class LocalSlack:
    """The playground at the other end of `http` (its base_url is the page's address)."""

    http: httpx.Client

    def is_up(self) -> bool:
        """Whether the page answers."""
        try:
            return self.http.get("/control/channels").is_success
        except httpx.TransportError:
            return False

    def bot_is_connected(self) -> bool:
        """Whether the bot holds a Socket Mode connection."""
        return bool(self._get("connections")["connections"])

    def say(self, channel: str, user: str, text: str, files: Sequence[Path] = (), thread_ts: str = "") -> Posted:
        """Post as `user`, with files; returns where it went. Raises ValueError with Slack's error name."""
        form = {"channel": channel, "user": user, "text": text, "thread_ts": thread_ts}
        uploads = [("file", (path.name, path.read_bytes())) for path in files]
        # httpx writes multipart only when there are files; without, the control API takes the same fields as JSON.
        reply = self.http.post("/control/messages", **({"data": form, "files": uploads} if uploads else {"json": form}))
        posted = _checked(reply)
        thread = ThreadKey(str(posted["message"]["team"]), str(posted["channel"]), str(posted["thread_ts"]))
        return Posted(thread, str(posted["ts"]))

    def thread(self, key: ThreadKey) -> list[Json]:
        """The messages of a thread, oldest first, in Slack's shape."""
        messages = self._get("messages", channel=key.channel, thread_ts=key.root_ts)["messages"]
        return list(messages)

    def shows_its_files(self, key: ThreadKey) -> bool:
        """Whether every upload that was taken for a thread stands there: Slack scans files before it shows them."""
        taken = self.wire(kind="call", method="files.completeUploadExternal")
        mine = [call for call in taken if call["ok"] and call["args"].get("thread_ts") == key.root_ts]
        shares = [message for message in self.thread(key) if message.get("subtype") == "file_share"]
        return sum(1 for message in shares if message.get("bot_id")) >= len(mine)

    def press(self, key: ThreadKey, ts: str, action_id: str, user: str) -> None:
        """Press a button of a message."""
        body = {"channel": key.channel, "ts": ts, "action_id": action_id, "user": user}
        _checked(self.http.post("/control/press", json=body))

    def names(self) -> dict[str, str]:
        """Display names by user id."""
        return {user["id"]: user["profile"].get("display_name") or user["name"] for user in self._get("users")["users"]}

    def file(self, file_id: str) -> bytes:
        """The bytes of a file."""
        return self.http.get(f"/control/files/{file_id}").raise_for_status().content

    def set_options(self, **options: object) -> None:
        """Change the playground's clocks and habits (playground/options.py)."""
        _checked(self.http.post("/control/options", json=options))

    def wire(self, **filters: str) -> list[Json]:
        """The wire log: every call, envelope and acknowledgement, with its time."""
        return list(self._get("wire", **filters)["entries"])

    def _get(self, path: str, **query: str) -> Json:
        return _checked(self.http.get(f"/control/{path}", params=query))


def _checked(reply: httpx.Response) -> Json:
    body: Json = reply.json()
    if not body.get("ok"):
        raise ValueError(str(body.get("error", reply.text)))
    return body
