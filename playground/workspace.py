"""The workspace's state: team, people, channels, messages, files, views. Nothing here sends anything."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from playground.clock import Clock
from playground.errors import SlackError
from playground.identity import TsClock, new_id

Json = dict[str, Any]
ChannelKind = Literal["channel", "group", "im"]


@dataclass(frozen=True)
class User:
    """A person or the bot. `tint` names the colour of the drawn avatar."""

    id: str
    name: str
    real_name: str
    tint: str
    title: str = ""
    is_bot: bool = False
    locale: str = "en-US"


@dataclass
class Message:
    """One message. `files` are file ids; `reactions` maps an emoji name to users; `only_for` makes it ephemeral."""

    ts: str
    channel: str
    user: str
    text: str
    blocks: list[Json] = field(default_factory=list)
    thread_ts: str = ""
    subtype: str = ""
    bot_id: str = ""
    files: tuple[str, ...] = ()
    metadata: Json | None = None
    reactions: dict[str, list[str]] = field(default_factory=dict)
    edited_ts: str = ""
    only_for: str = ""
    username: str = ""
    client_msg_id: str = ""
    attachments: list[Json] = field(default_factory=list)

    @property
    def root_ts(self) -> str:
        """The ts of the thread this message belongs to or could start."""
        return self.thread_ts or self.ts

    @property
    def is_reply(self) -> bool:
        """Whether it is a reply in a thread and not its head."""
        return bool(self.thread_ts) and self.thread_ts != self.ts


def tombstone(message: Message) -> Message:
    """What stands in place of a deleted message that has replies."""
    return Message(message.ts, message.channel, "USLACKBOT", "This message was deleted.", subtype="tombstone")


@dataclass
class Channel:
    """A conversation. `name` is empty for a direct message, whose human is `peer`."""

    id: str
    name: str
    kind: ChannelKind
    members: list[str]
    topic: str = ""
    peer: str = ""
    archived: bool = False
    created: int = 1_700_000_000
    messages: dict[str, Message] = field(default_factory=dict)

    def is_seen_by(self, user: User) -> bool:
        """Whether this person may read it: everybody reads a public channel, members the rest."""
        return self.kind == "channel" or user.id in self.members


@dataclass
class File:
    """An upload: `ticketed` until its bytes are completed, `scanning` until Slack has looked at it, then `ready`.

    `shares` maps a channel id to the ts of the messages that show it.
    """

    id: str
    name: str
    title: str
    user: str
    mimetype: str
    length: int
    created: int
    state: Literal["ticketed", "scanning", "ready"] = "ticketed"
    size: int = -1
    width: int = 0
    height: int = 0
    shares: dict[str, list[str]] = field(default_factory=dict)


@dataclass
class View:
    """A modal or a home tab as the app gave it; `user` is who sees it, `open` False once closed.

    `below` is the id of the modal that this one was pushed on.
    """

    id: str
    user: str
    payload: Json
    hash: str
    open: bool = True
    below: str = ""


@dataclass
class Trigger:
    """The right to open one modal for one person, or to push one on the modal `view` in which it arose."""

    user: str
    born: float
    used: bool = False
    view: str = ""


@dataclass
class ResponseUrl:
    """The right to answer a click a few times without a token."""

    channel: str
    ts: str
    user: str
    born: float
    uses: int = 0


@dataclass
class Status:
    """The line "Threadbook is ..." under a thread; `until` is a time of the playground's clock."""

    text: str
    until: float


class Workspace:
    """Everything that this Slack knows.

    `flags` are what differs in the object of a person (a guest, somebody of another workspace), `groups` the user
    groups.
    """

    def __init__(self, time: Clock) -> None:
        self.time = time
        self.clock = TsClock()
        self.team_id = "T0PLAYGRND"
        self.team_name = "Playground"
        self.app_id = "A0THREADBK"
        self.bot_id = "B0THREADBK"
        self.bot = User("U0THREADBK", "threadbook", "Threadbook", "book", "Data analyst", is_bot=True)
        people = (
            User("U0ANA00001", "ana", "Ana Souza", "rose", "Head of sales", locale="pt-BR"),
            User("U0BEN00001", "ben", "Ben Carter", "sky", "Finance"),
            User("U0CHEN0001", "chenchen", "陈晨", "jade", "增长分析", locale="zh-CN"),
            User("U0MAYA0001", "maya", "Maya Okafor", "amber", "Customer success"),
        )
        self.users = {each.id: each for each in (*people, self.bot)}
        self.flags: dict[str, Json] = {}
        self.groups: dict[str, list[str]] = {}
        everyone = [each.id for each in people]
        rooms = (
            Channel("C0GENERAL1", "general", "channel", [*everyone, self.bot.id], "Announcements and everything else"),
            Channel(
                "C0SALES001", "sales", "channel", [*everyone, self.bot.id], "Pipeline, orders and the weekly numbers"
            ),
            Channel("C0CHURN001", "churn", "channel", [*everyone, self.bot.id], "Why customers stay, and why they go"),
            Channel("C0LEADERS1", "leadership", "group", [everyone[0], everyone[1], self.bot.id], "Private"),
            Channel("C0RANDOM01", "random", "channel", everyone, "Threadbook is not in here"),
        )
        direct = (Channel(f"D{each.id[1:]}", "", "im", [each.id, self.bot.id], peer=each.id) for each in people)
        self.channels = {each.id: each for each in (*rooms, *direct)}
        self.files: dict[str, File] = {}
        self.views: dict[str, View] = {}
        self.homes: dict[str, View] = {}
        self.triggers: dict[str, Trigger] = {}
        self.response_urls: dict[str, ResponseUrl] = {}
        self.statuses: dict[tuple[str, str], Status] = {}
        self.sessions: dict[tuple[str, str], Json] = {}
        self.titles: dict[tuple[str, str], str] = {}
        self.prompts: dict[tuple[str, str], list[Json]] = {}
        self.read_marks: dict[tuple[str, str], str] = {}

    def user(self, user_id: str) -> User:
        """The user, or SlackError user_not_found."""
        if user_id not in self.users:
            raise SlackError("user_not_found")
        return self.users[user_id]

    def find_user(self, name: str) -> User:
        """A user by id, handle, first or full name, in any case. SlackError user_not_found when nobody fits."""
        wanted = name.lstrip("@").casefold()
        for user in self.users.values():
            if wanted in (
                user.id.casefold(),
                user.name,
                user.real_name.casefold(),
                user.real_name.split()[0].casefold(),
            ):
                return user
        raise SlackError("user_not_found")

    def channel(self, name: str) -> Channel:
        """A conversation by id, by "#name", or by the user id of a direct message. SlackError channel_not_found."""
        if name in self.channels:
            return self.channels[name]
        bare = name.removeprefix("#")
        for channel in self.channels.values():
            if bare and (channel.name == bare or channel.peer == name):
                return channel
        raise SlackError("channel_not_found")

    def message(self, channel: Channel, ts: str) -> Message:
        """The message, or SlackError message_not_found."""
        if ts not in channel.messages:
            raise SlackError("message_not_found")
        return channel.messages[ts]

    def file(self, file_id: str) -> File:
        """A completed file, or SlackError file_not_found."""
        file = self.files.get(file_id)
        if file is None or file.state == "ticketed":
            raise SlackError("file_not_found")
        return file

    def replies(self, channel: Channel, root_ts: str) -> list[Message]:
        """The messages of a thread below its head, oldest first."""
        return [each for each in channel.messages.values() if each.is_reply and each.thread_ts == root_ts]

    def new_trigger(self, user_id: str, view_id: str = "") -> str:
        """A trigger id for one modal for this person; `view_id` is the modal in which they did something."""
        trigger_id = f"{new_id('', 11)}.{new_id('', 11)}.{new_id('', 32).lower()}"
        self.triggers[trigger_id] = Trigger(user_id, self.time.now(), view=view_id)
        return trigger_id

    def stack(self, view: View) -> list[View]:
        """The open modals from the lowest up to this one."""
        below = self.views.get(view.below)
        return [*(self.stack(below) if below else []), view] if view.open else []

    def new_response(self, channel_id: str, ts: str, user_id: str) -> str:
        """The secret part of a response_url for a click on this message."""
        key = new_id("", 24)
        self.response_urls[key] = ResponseUrl(channel_id, ts, user_id, self.time.now())
        return key

    def status(self, channel_id: str, thread_ts: str) -> str:
        """The bot's status in a thread, empty when none or expired."""
        status = self.statuses.get((channel_id, thread_ts))
        return status.text if status and status.until > self.time.now() else ""
