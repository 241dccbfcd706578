"""The playground's control API in front of a `FakeSlack`: one contract suite can drive either."""

from __future__ import annotations

import json
from email import message_from_bytes
from typing import Any
from urllib.parse import parse_qs

import httpx

from core.slack.fake import FakeSlack

Json = dict[str, Any]

CHANNELS = {"#sales": "C0SALES001"}
USERS = {"ana": "U0ANA00001", "ben": "U0BEN00001", "chen": "U0CHEN0001", "maya": "U0MAYA0001"}


def control_of(slack: FakeSlack) -> httpx.Client:
    """A client that speaks to the fake as tests speak to the playground's `/control`."""
    return httpx.Client(base_url="http://fake/control", transport=httpx.MockTransport(_Doors(slack)))


class _Doors:
    def __init__(self, slack: FakeSlack) -> None:
        self._slack = slack

    def __call__(self, request: httpx.Request) -> httpx.Response:
        _, _, door, *rest = request.url.path.split("/")
        if door == "files":
            return httpx.Response(200, content=self._slack.content(rest[0]))
        act = getattr(self, f"{request.method.lower()}_{door}")
        return httpx.Response(200, json={"ok": True, **act(*rest, _given(request))})

    def post_messages(self, given: Json) -> Json:
        return self._slack.say(
            given["text"],
            user=USERS[given["user"]],
            channel=CHANNELS[given["channel"]],
            thread_ts=given.get("thread_ts", ""),
            files=given.get("files"),
        )

    def get_messages(self, given: Json) -> Json:
        root = given["thread_ts"]
        return {"messages": self._slack.thread(root), "status": self._slack.status.get(root)}

    def post_users(self, name: str, given: Json) -> Json:
        for group in given.pop("groups", ()):
            self._slack.groups.setdefault(group, []).append(USERS[name])
        self._slack.flags.setdefault(USERS[name], {}).update(given)
        return {}

    def post_channels(self, channel: str, given: Json) -> Json:
        self._slack.channels[channel]["members"] = [USERS[name] for name in given["people"]]
        return {}

    def post_faults(self, given: Json) -> Json:
        known = {name: given[name] for name in ("times", "error") if name in given}
        self._slack.fault(given["method"], given["kind"], **known)
        return {}

    def delete_faults(self, given: Json) -> Json:
        self._slack.heal()
        return {}

    def get_wire(self, given: Json) -> Json:
        wanted = [args for method, args in self._slack.calls if method == given["method"]]
        return {"entries": [{"args": args} for args in wanted]}

    def post_options(self, given: Json) -> Json:
        self._slack.shows_files = given.get("share_files", self._slack.shows_files)
        self._slack.keeps_metadata = given.get("keeps_metadata", self._slack.keeps_metadata)
        self._slack.most_replies = given.get("most_replies", self._slack.most_replies)
        return {}


def _given(request: httpx.Request) -> Json:
    body, kind = request.read(), request.headers.get("content-type", "")
    given: Json = {name: values[0] for name, values in parse_qs(request.url.query.decode()).items()}
    if kind.startswith("application/json"):
        return given | dict(json.loads(body))
    if kind.startswith("multipart/"):
        whole = message_from_bytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
        for part in whole.get_payload():
            content = part.get_payload(decode=True)
            if name := part.get_filename():
                given.setdefault("files", {})[name] = content
            else:
                given[part.get_param("name", header="content-disposition")] = content.decode()
    return given
