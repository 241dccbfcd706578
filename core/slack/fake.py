"""An in-memory Slack for tests: people, threads, files, and scripted faults behind the SDK's own client.

It stands below `SlackWriter`, so the outbox, the retries and the look-up after a lost reply are the real ones. It is
held to the same contract suite as the playground (`tests/contract/test_bot_slack_writer.py`).

slack = FakeSlack()
asked = slack.say("what sold best?", user="U0ANA00001", files={"sales.csv": b"region,amount\\n"})
writer = SlackWriter(slack.client(), store)
slack.fault("chat.postMessage", "drop_reply")
slack.thread(asked["ts"])
"""

from __future__ import annotations

import json
import mimetypes
import threading
import time
from collections.abc import Callable, Collection, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal, NamedTuple

import httpx
from slack_sdk.errors import SlackApiError
from slack_sdk.web import SlackResponse

from core.slack.blocks import broken_limits, broken_view
from core.slack.client import CountedClient
from core.slack.rates import is_decorative

Json = dict[str, Any]
When = Literal["before", "after"]
FaultKind = Literal["error", "http_error", "ratelimited", "drop_call", "drop_reply", "slow"]
"""error: refused with `error` · http_error: status 503 without JSON · ratelimited: too many calls · drop_call: the
connection dies, nothing is done · drop_reply: the call is done, then the connection dies · slow: a "share" appears when
the faults are forgotten."""

API_URL = "https://slack.invalid/api/"
FILES_URL = "https://files.slack.com"
TOKEN = "xoxb-fake"  # noqa: S105  stands for a secret, opens nothing
BOT_USER = "U0FAKEBOT1"
TRIES = 3
"""Times that the client for repeatable calls makes one, as `core.slack.client.repeating` does."""
LONGEST_TEXT, LONGEST_EDIT = 40_000, 4_000
_NO_BLOCKS = "invalid_blocks"


class Person(NamedTuple):
    """A member of the workspace: the display name, and the language set in Slack."""

    name: str
    locale: str = "en-US"


PEOPLE: Mapping[str, Person] = {
    "U0ANA00001": Person("ana"),
    "U0BEN00001": Person("ben"),
    "U0CHEN0001": Person("chen", "zh-CN"),
    "U0MAYA0001": Person("maya"),
}


@dataclass(slots=True)
class Fault:
    """What happens to the next `times` calls of `method`: "*" is any method, "upload" and "download" are bytes of
    files, "share" is what follows a completed upload. With a `channel` only calls for it are meant.

    `then` is run at the call, before anything else: it changes the world at that moment.
    """

    method: str
    kind: FaultKind | None
    times: int = 1
    error: str = "internal_error"
    then: Callable[[], object] = field(default=lambda: None)
    channel: str = ""


class FakeSlack:
    """A workspace. Safe to share between threads."""

    def __init__(self, *, team: str = "T0FAKE0001", people: Mapping[str, Person] = PEOPLE) -> None:
        self.team = team
        self.calls: list[tuple[str, Json]] = []
        """Every call that was made, with its arguments, also the ones that failed."""
        self.status: dict[str, str] = {}
        """The status line under each thread that has one, by the ts of its first message."""
        self.sessions: dict[str, str] = {}
        """What Slack was told of the agent in each thread: "processing", "suspended" or "active"."""
        self.whispers: list[tuple[str, str]] = []
        """The sentences that only one person saw, with that person."""
        self.views: list[Json] = []
        """The modals that were opened."""
        self.titles: dict[str, str] = {}
        """What Slack calls the conversations of direct messages, by the ts of their first message."""
        self.prompts: dict[tuple[str, str], list[str]] = {}
        """The suggested prompts of a direct message, by channel and thread; "" for a new conversation."""
        self.homes: dict[str, Json] = {}
        """The app's home of each person, with its hash."""
        self.channels: dict[str, Json] = {"C0SALES001": {"name": "sales", "members": list(people)}}
        """The channels with the bot in them: name and the people. Another one opens, with everybody in it, when a
        person first writes there."""
        self.flags: dict[str, Json] = {}
        """What differs in the object of a person: {"is_restricted": True}, {"team_id": "T0OTHER"}."""
        self.channel_flags: Json = {}
        """What conversations.info says beside the id: {"is_ext_shared": True}."""
        self.groups: dict[str, list[str]] = {}
        """The user groups and who is in them."""
        self.shows_files = True
        """False: completed uploads do not appear in their thread."""
        self.unknown_blocks: set[str] = set()
        """Kinds of blocks that this workspace does not have."""
        self.keeps_metadata = True
        """False: messages lose their metadata, as on a server that does not know it."""
        self.most_replies = 1_000
        """Messages in one page of a thread."""
        self.watch: Callable[[When, str], None] = lambda when, method: None
        """Called before and after each call; what it raises ends the call there."""
        self.transport = httpx.MockTransport(self._serve_bytes)
        """Where the bytes of files go to and come from, for an httpx client."""
        self._people = people
        self._messages: dict[tuple[str, str], Json] = {}
        self._files: dict[str, Json] = {}
        self._tickets: set[str] = set()
        self._late: list[Callable[[], None]] = []
        self._bytes: dict[str, bytes] = {}
        self._faults: list[Fault] = []
        self._numbers = count(1)
        self._last_ts = 0
        self._lock = threading.RLock()

    # --- what a test does and sees

    def client(self) -> CountedClient:
        """The client of one process of ours."""
        return _Client(self, repeats=_Client(self, tries=TRIES))

    def say(
        self,
        text: str,
        *,
        user: str = "U0ANA00001",
        channel: str = "C0SALES001",
        thread_ts: str = "",
        files: Mapping[str, bytes] | None = None,
    ) -> Json:
        """Post as a person and return the message as Slack would send it.

        Raises SlackApiError (not_in_channel) for a person who is not in the channel.
        """
        with self._lock:
            if not channel.startswith("D"):
                opened = self.channels.setdefault(channel, {"name": channel.lower(), "members": list(self._people)})
                if user in self._people and user not in opened["members"]:
                    raise _refused("chat.postMessage", "not_in_channel")
            shared = [self._new_file(name, content, user) for name, content in (files or {}).items()]
            message = {"user": user, "text": text} | ({"files": shared} if shared else {})
            return deepcopy(self._add(channel, thread_ts, message))

    def thread(self, root_ts: str, channel: str = "C0SALES001") -> list[Json]:
        """The messages of a thread in Slack's shape, oldest first."""
        with self._lock:
            mine = [m for (place, _), m in self._messages.items() if place == channel and _root(m) == root_ts]
            return deepcopy(mine)

    def content(self, file_id: str) -> bytes:
        """The bytes of a file."""
        return self._bytes[file_id]

    def delete(self, ts: str, channel: str = "C0SALES001") -> None:
        """Somebody deletes a message."""
        with self._lock:
            del self._messages[channel, ts]

    def forget_file(self, file_id: str) -> None:
        """Somebody deletes a file: it can be neither looked up nor downloaded any more."""
        with self._lock:
            self._files.pop(file_id)

    def fault(
        self,
        method: str,
        kind: FaultKind | None = None,
        *,
        times: int = 1,
        error: str = "internal_error",
        then: Callable[[], object] = lambda: None,
        channel: str = "",
    ) -> None:
        """Order a fault. Without a `kind` the call passes and only `then` happens."""
        self._faults.append(Fault(method, kind, times, error, then, channel))

    def heal(self) -> None:
        """Forget all faults; shares that were late appear."""
        self._faults.clear()
        with self._lock:
            late, self._late = self._late, []
            for share in late:
                share()

    # --- what the client calls

    def answer(self, method: str, arguments: Json) -> Json:
        """Slack's reply to a call. Raises SlackApiError, or ConnectionResetError for a connection that dies."""
        self.calls.append((method, deepcopy(arguments)))
        self.watch("before", method)
        fault = self._befalls(method, arguments.get("channel"))
        kind = fault.kind if fault else None
        if kind == "drop_call":
            raise ConnectionResetError("the call was lost")
        if kind == "http_error":
            raise _refused(method, "", status=503)
        if fault and kind in ("error", "ratelimited"):
            raise _refused(method, fault.error if kind == "error" else "ratelimited")
        name = "_" + method.replace(".", "_")
        act: Callable[..., Json] | None = getattr(self, name, None)
        if act is None:
            raise _refused(method, "unknown_method")
        with self._lock:
            reply = deepcopy(act(**arguments))
        self.watch("after", method)
        if kind == "drop_reply":
            raise ConnectionResetError("the reply was lost")
        return {"ok": True, **reply}

    def _befalls(self, method: str, channel: str | None = None) -> Fault | None:
        """The fault for this call, used up by one."""
        any_method = method not in ("upload", "download", "share")
        with self._lock:
            here = (one for one in self._faults if one.channel in ("", channel))
            meant = (one for one in here if one.method == method or (any_method and one.method == "*"))
            fault = next(meant, None)
            if fault is not None:
                fault.times -= 1
                if not fault.times:
                    self._faults.remove(fault)
        if fault is not None:
            fault.then()
        return fault

    # --- the Web API, one method each: `chat.postMessage` is `_chat_postMessage`

    def _chat_postMessage(self, channel: str, text: str = "", **given: Any) -> Json:
        _check("chat.postMessage", text, given.get("blocks"), LONGEST_TEXT, self.unknown_blocks)
        names = ("blocks", "metadata") if self.keeps_metadata else ("blocks",)
        kept = {name: given[name] for name in names if given.get(name)}
        shown = {"subtype": "thread_broadcast"} if given.get("reply_broadcast") else {}
        message = self._add(channel, given.get("thread_ts") or "", _by_bot(text, **kept, **shown))
        return {"ts": message["ts"], "channel": channel, "message": message}

    def _chat_update(self, channel: str, ts: str, text: str = "", blocks: list[Json] | None = None) -> Json:
        message = self._messages.get((channel, ts))
        if message is None:
            raise _refused("chat.update", "message_not_found")
        _check("chat.update", text, blocks, LONGEST_EDIT, self.unknown_blocks)
        message.update(text=text, blocks=blocks or [])
        return {"ts": ts, "channel": channel}

    def _chat_postEphemeral(self, channel: str, user: str, text: str = "", **given: Any) -> Json:
        _check("chat.postEphemeral", text, given.get("blocks"), LONGEST_TEXT, self.unknown_blocks)
        self.whispers.append((user, text))
        return {"message_ts": self._next_ts()}

    def _views_open(self, trigger_id: str, view: Json) -> Json:
        if not trigger_id:
            raise _refused("views.open", "invalid_trigger")
        if faults := broken_view(view):
            raise _refused("views.open", "invalid_arguments", errors=faults)
        self.views.append(deepcopy(view))
        return {"view": {"id": f"V0FAKE{next(self._numbers):04}", **view}}

    def _views_update(self, view_id: str, view: Json, hash: str = "") -> Json:
        if faults := broken_view(view):
            raise _refused("views.update", "invalid_arguments", errors=faults)
        self.views.append(deepcopy(view))
        return {"view": {"id": view_id, "hash": hash, **view}}

    def _views_publish(self, user_id: str, view: Json, hash: str = "") -> Json:
        if faults := broken_view(view):
            raise _refused("views.publish", "invalid_arguments", errors=faults)
        if hash and user_id in self.homes and hash != self.homes[user_id]["hash"]:
            raise _refused("views.publish", "hash_conflict")
        self.homes[user_id] = {**deepcopy(view), "hash": f"{next(self._numbers)}.home"}
        return {"view": self.homes[user_id]}

    def _users_conversations(self, user: str = "", **_: Any) -> Json:
        mine = [name for name, about in self.channels.items() if not user or user in about["members"]]
        return {"channels": [{"id": name, "name": self.channels[name]["name"]} for name in mine]}

    def _reactions_add(self, channel: str, timestamp: str, name: str) -> Json:
        reactions = self._reactions("reactions.add", channel, timestamp)
        if any(one["name"] == name for one in reactions):
            raise _refused("reactions.add", "already_reacted")
        reactions.append({"name": name, "users": [BOT_USER], "count": 1})
        return {}

    def _reactions_remove(self, channel: str, timestamp: str, name: str) -> Json:
        reactions = self._reactions("reactions.remove", channel, timestamp)
        if all(one["name"] != name for one in reactions):
            raise _refused("reactions.remove", "no_reaction")
        reactions[:] = [one for one in reactions if one["name"] != name]
        return {}

    def _reactions(self, method: str, channel: str, ts: str) -> list[Json]:
        message = self._messages.get((channel, ts))
        if message is None:
            raise _refused(method, "message_not_found")
        found: list[Json] = message.setdefault("reactions", [])
        return found

    def _assistant_threads_setStatus(self, channel_id: str, thread_ts: str, status: str, **_: Any) -> Json:
        self.status[thread_ts] = status
        if not status:
            del self.status[thread_ts]
        return {}

    def _agents_sessions_setStatus(self, channel_id: str, thread_ts: str, status: str, **_: Any) -> Json:
        self.sessions[thread_ts] = status
        return {}

    def _assistant_threads_setTitle(self, channel_id: str, thread_ts: str, title: str) -> Json:
        self.titles[thread_ts] = title
        return {}

    def _assistant_threads_setSuggestedPrompts(self, channel_id: str, prompts: list[Json], **given: Any) -> Json:
        if not 0 < len(prompts) <= 4 or not channel_id.startswith("D"):
            raise _refused("assistant.threads.setSuggestedPrompts", "invalid_arguments")
        self.prompts[channel_id, given.get("thread_ts") or ""] = [prompt["message"] for prompt in prompts]
        return {}

    def _conversations_replies(self, channel: str, ts: str, **given: Any) -> Json:
        oldest, latest = float(given.get("oldest") or 0), float(given.get("latest") or "inf")
        inclusive = given.get("inclusive") in (True, "true", "1", 1)
        found = []
        for message in self.thread(ts, channel):
            at = float(message["ts"])
            if oldest < at < latest or (inclusive and at in (oldest, latest)):
                if not given.get("include_all_metadata"):
                    message.pop("metadata", None)
                found.append(message)
        if not found and (channel, ts) not in self._messages:
            raise _refused("conversations.replies", "thread_not_found")
        begin = int(given.get("cursor") or 0)
        end = begin + min(int(given.get("limit") or self.most_replies), self.most_replies)
        cursor = str(end) if end < len(found) else ""
        more = {"has_more": bool(cursor), "response_metadata": {"next_cursor": cursor}}
        return {"messages": found[begin:end], **more}

    def _auth_test(self, **_: Any) -> Json:
        return {"user_id": BOT_USER, "team_id": self.team, "url": "https://fake.slack.com/"}

    def _users_info(self, user: str, **_: Any) -> Json:
        if user == BOT_USER:
            return {"user": {"id": BOT_USER, "team_id": self.team, "name": "threadbook", "is_bot": True}}
        if (person := self._people.get(user)) is None:
            raise _refused("users.info", "user_not_found")
        profile = {"display_name": person.name, "real_name": person.name}
        known = {"id": user, "team_id": self.team, "name": person.name, "profile": profile, "locale": person.locale}
        return {"user": known | self.flags.get(user, {})}

    def _users_list(self, **_: Any) -> Json:
        return {"members": [self._users_info(user)["user"] for user in (*self._people, BOT_USER)]}

    def _conversations_info(self, channel: str, **_: Any) -> Json:
        if channel.startswith("D"):
            return {"channel": {"id": channel, "is_im": True, "user": f"U{channel[1:]}"}}
        name = {"name": self.channels[channel]["name"]} if channel in self.channels else {}
        return {"channel": {"id": channel} | name | self.channel_flags}

    def _conversations_open(self, users: str, **_: Any) -> Json:
        self._users_info(users)
        return {"channel": {"id": f"D{users[1:]}"}}

    def _conversations_members(self, channel: str, limit: int = 100, cursor: str = "0", **_: Any) -> Json:
        if channel.startswith("D"):
            return {"members": [f"U{channel[1:]}", BOT_USER]}
        if channel not in self.channels:
            raise _refused("conversations.members", "channel_not_found")
        members = [*self.channels[channel]["members"], BOT_USER]
        end = int(cursor) + int(limit)
        more = {"next_cursor": str(end) if end < len(members) else ""}
        return {"members": members[int(cursor) : end], "response_metadata": more}

    def _chat_getPermalink(self, channel: str, message_ts: str, **_: Any) -> Json:
        if (channel, message_ts) not in self._messages:
            raise _refused("chat.getPermalink", "message_not_found")
        return {"permalink": f"https://fake.slack.invalid/archives/{channel}/p{message_ts.replace('.', '')}"}

    def _usergroups_users_list(self, usergroup: str, **_: Any) -> Json:
        if usergroup not in self.groups:
            raise _refused("usergroups.users.list", "no_such_subteam")
        return {"users": self.groups[usergroup]}

    def _files_info(self, file: str, **_: Any) -> Json:
        if file not in self._files or file in self._tickets:
            raise _refused("files.info", "file_not_found")
        return {"file": self._files[file]}

    def _files_getUploadURLExternal(self, filename: str, length: int, **_: Any) -> Json:
        file = self._new_file(filename, b"", BOT_USER, shared=False)
        self._tickets.add(file["id"])
        return {"file_id": file["id"], "upload_url": f"{FILES_URL}/upload/{file['id']}"}

    def _files_completeUploadExternal(self, files: str, channel_id: str, **given: Any) -> Json:
        shared = []
        for slot in json.loads(files):
            file = self._files.get(slot["id"])
            if file is None:
                raise _refused("files.completeUploadExternal", "file_not_found")
            file["title"] = slot.get("title") or file["name"]
            file["size"] = len(self._bytes[file["id"]])
            shared.append(file)
        self._tickets -= {file["id"] for file in shared}

        def share() -> None:
            text, thread_ts = given.get("initial_comment") or "", given.get("thread_ts") or ""
            message = self._add(channel_id, thread_ts, _by_bot(text, files=shared))
            for file in shared:
                file["shares"] = {"public": {channel_id: [{"ts": message["ts"]}]}}

        reply = {"files": deepcopy(shared)}
        if (fault := self._befalls("share")) and fault.kind == "slow":
            self._late.append(share)
        elif self.shows_files:
            share()
        return reply

    # --- the bytes of files

    def _serve_bytes(self, request: httpx.Request) -> httpx.Response:
        method = "upload" if request.method == "POST" else "download"
        self.watch("before", method)
        fault = self._befalls(method)
        kind = fault.kind if fault else None
        if kind == "drop_call":
            raise httpx.ConnectError("the connection was lost", request=request)
        if kind is not None:
            return httpx.Response(503)
        file_id = request.url.path.split("/")[2]
        content = request.read()
        with self._lock:
            if file_id not in self._files:
                return httpx.Response(404)
            if method == "upload":
                self._bytes[file_id] = content
                answer = httpx.Response(200, text="OK")
            elif request.headers.get("authorization") != f"Bearer {TOKEN}":
                answer = httpx.Response(200, html="<h1>Sign in</h1>")
            else:
                kind = self._files[file_id]["mimetype"]
                answer = httpx.Response(200, content=self._bytes[file_id], headers={"content-type": kind})
        self.watch("after", method)
        return answer

    # --- keeping things

    def _add(self, channel: str, thread_ts: str, message: Json) -> Json:
        ts = self._next_ts()
        whole = {"type": "message", "channel": channel, "ts": ts, **message}
        if thread_ts:
            whole["thread_ts"] = thread_ts
            self.status.pop(thread_ts, None)  # Slack clears it with every message of ours
        self._messages[channel, ts] = whole
        return whole

    def _new_file(self, name: str, content: bytes, user: str, *, shared: bool = True) -> Json:
        file_id = f"F0FAKE{next(self._numbers):04}"
        self._bytes[file_id] = content
        self._files[file_id] = {
            "id": file_id,
            "name": name,
            "title": name,
            "mimetype": mimetypes.guess_type(name)[0] or "application/octet-stream",
            "size": len(content),
            "mode": "hosted",
            "user": user,
            "url_private_download": f"{FILES_URL}/download/{file_id}/{name}",
        } | ({"shares": {"public": {}}} if shared else {})
        return self._files[file_id]

    def _next_ts(self) -> str:
        """A ts of now, later than every one before."""
        self._last_ts = max(self._last_ts + 1, time.time_ns() // 1_000)
        return f"{self._last_ts // 1_000_000}.{self._last_ts % 1_000_000:06}"


class _Client(CountedClient):
    """The SDK's client without a network."""

    def __init__(self, slack: FakeSlack, *, tries: int = 1, repeats: CountedClient | None = None) -> None:
        super().__init__(token=TOKEN, base_url=API_URL)
        self.transport = slack.transport
        self.repeats = repeats
        self._slack = slack
        self._tries = tries

    def api_call(self, api_method: str, **arguments: Any) -> SlackResponse:
        """As in the SDK. A rate limit is tried again at once, what may be repeated also after a lost reply."""
        given: Json = {}
        for kind in ("params", "data", "json"):
            given |= {name: value for name, value in (arguments.get(kind) or {}).items() if value is not None}
        limited = lost = 0
        while True:
            try:
                return _response(api_method, self._slack.answer(api_method, given), pages=_Pages(self, given))
            except ConnectionResetError:
                lost += 1
                if lost >= self._tries:
                    raise
            except SlackApiError as error:
                status, name = error.response.status_code, error.response["error"]
                limited += name == "ratelimited"
                lost += status >= 500
                may_wait = limited < TRIES and not is_decorative()
                again = may_wait if name == "ratelimited" else status >= 500 and lost < self._tries
                if not again:
                    raise


def _check(method: str, text: str, blocks: list[Json] | None, longest: int, unknown: Collection[str]) -> None:
    """Refuse what Slack would refuse; blocks of an `unknown` kind, too."""
    kinds = [str(each["type"]) for each in blocks or ()]
    named = [f"/blocks/{place}: unsupported type {kind}" for place, kind in enumerate(kinds) if kind in unknown]
    if blocks and (broken := [*named, *broken_limits(blocks)]):
        raise _refused(method, _NO_BLOCKS, errors=broken)
    if len(text) > longest:
        raise _refused(method, "msg_too_long")
    if not blocks and not text:
        raise _refused(method, "no_text")


def _by_bot(text: str, **more: Any) -> Json:
    return {"user": BOT_USER, "bot_id": "B0FAKEBOT1", "text": text, **more}


def _root(message: Json) -> str:
    return str(message.get("thread_ts") or message["ts"])


def _refused(method: str, error: str, *, status: int = 200, **more: Any) -> SlackApiError:
    data = {"ok": False, "error": error, **more} if error else {}
    error_of: Callable[[str, SlackResponse], SlackApiError] = SlackApiError
    return error_of(f"{method}: {error or status}", _response(method, data, status))


class _Pages:
    """What a reply of the SDK needs of its client: iterating over the reply asks for the next page."""

    def __init__(self, client: _Client, given: Json) -> None:
        self._client = client
        self._given = given

    def _request_for_pagination(self, api_url: str, req_args: Json) -> Json:
        given = self._given | req_args["params"]
        page = self._client.api_call(api_url.removeprefix(API_URL), params=given)
        return {"data": page.data, "headers": page.headers, "status_code": page.status_code}


def _response(method: str, data: Json, status: int = 200, pages: _Pages | None = None) -> SlackResponse:
    return SlackResponse(
        client=pages,
        http_verb="POST",
        api_url=API_URL + method,
        req_args={},
        data=data,
        headers={},
        status_code=status,
    )
