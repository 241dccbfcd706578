"""The playground itself: state, wire, sockets and pages. Every change that others must know about passes here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from playground import events
from playground.clock import Clock
from playground.errors import SlackError
from playground.faults import Faults
from playground.feed import Feed
from playground.grants import Grants
from playground.http_mode import HttpMode
from playground.identity import new_id
from playground.labels import AppLabels
from playground.options import Options
from playground.pictures import picture_size
from playground.samples import Sample
from playground.shapes import message_object
from playground.socket_mode import SocketMode
from playground.wire import WireLog
from playground.workspace import Channel, File, Json, Message, Status, Trigger, View, Workspace, tombstone

AppInside = Callable[[str, str, str], Sequence[Json]]
"""Gets a workspace, a channel and the ts of a thread's first message. Gives sections: `name`, `note`, and `rows` with
`at` (epoch seconds), `text`, `state`, `note`, `code`."""


class Playground:
    """A local Slack. `folder` holds the bytes of uploads; `base_url` has no slash at the end.

    Empty channels offer `samples`. `inside` says what goes on in the app behind a thread, `labels` knows its answers.
    """

    def __init__(
        self,
        folder: Path,
        base_url: str,
        options: Options | None = None,
        samples: Sequence[Sample] = (),
        inside: AppInside | None = None,
        *,
        labels: AppLabels | None = None,
    ) -> None:
        self.folder = folder
        self.base_url = base_url
        self.options = options or Options()
        self.samples = tuple(samples)
        self.inside = inside
        self.labels = labels
        self.time = Clock()
        self.space = Workspace(self.time)
        self.wire = WireLog()
        self.faults = Faults()
        self.feed = Feed()
        self.sockets = SocketMode(self.wire, lambda: self.options, self.space.app_id, self.time, self.faults)
        self.posts = HttpMode(self.wire, lambda: self.options, self.time)
        self.grants = Grants()
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def transport(self) -> SocketMode | HttpMode:
        """How the app gets what happens."""
        return self.posts if self.options.request_url else self.sockets

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Runs a task beside the current request. It is cancelled when the playground closes."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self) -> None:
        """Ends pages, deliveries and timers."""
        self.feed.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def reset(self) -> None:
        """Back to an empty workspace with the options as they are; connections stay."""
        for task in list(self._tasks):
            task.cancel()
        clock = self.space.clock
        self.space = Workspace(self.time)
        self.space.clock = clock
        self.wire.clear()
        self.faults.clear()
        self.feed.tell("reset")

    # Messages

    def shown(self, message: Message, *, metadata: bool = True) -> Json:
        """The message object as the API shows it."""
        return message_object(self.space, message, self.base_url, metadata=metadata)

    def post(self, message: Message) -> Message:
        """Adds a message and tells the app, if it may know, and the pages."""
        channel = self.space.channels[message.channel]
        channel.messages[message.ts] = message
        for file_id in message.files:
            self.space.files[file_id].shares.setdefault(channel.id, []).append(message.ts)
        if message.bot_id:
            self.set_status(channel.id, message.root_ts, "")
        self._tell_pages("message", message)
        if not message.only_for:
            self._emit_posted(channel, message)
        return message

    def edit(self, message: Message, **changes: Any) -> None:
        """Changes fields of a message and tells the app and the pages."""
        previous = self.shown(message)
        for name, value in changes.items():
            setattr(message, name, value)
        channel = self.space.channels[message.channel]
        event_ts = self.space.clock.next()
        self._tell_pages("changed", message)
        self._emit(channel, [events.changed_event(channel, self.shown(message), previous, event_ts)])

    def delete(self, message: Message) -> None:
        """Removes a message and tells the app and the pages. The head of a thread with replies leaves a tombstone."""
        channel = self.space.channels[message.channel]
        previous = self.shown(message)
        for file_id in message.files:
            self.space.files[file_id].shares.get(channel.id, [message.ts]).remove(message.ts)
        if not message.is_reply and any(not each.only_for for each in self.space.replies(channel, message.ts)):
            channel.messages[message.ts] = stone = tombstone(message)
            self._tell_pages("changed", stone)
            self._emit(channel, [events.changed_event(channel, self.shown(stone), previous, self.space.clock.next())])
            return
        del channel.messages[message.ts]
        self._tell_pages("deleted", message)
        self._emit(channel, [events.deleted_event(channel, previous, self.space.clock.next())])

    def react(self, message: Message, user_id: str, name: str, *, remove: bool = False) -> None:
        """Adds or removes one person's reaction and tells the app; Bolt would skip the app's own ones, so they are left
        out. Raises SlackError already_reacted or no_reaction.
        """
        users = message.reactions.get(name, [])
        if remove and user_id not in users:
            raise SlackError("no_reaction")
        if not remove and user_id in users:
            raise SlackError("already_reacted")
        kept = [each for each in users if each != user_id] if remove else [*users, user_id]
        message.reactions = {**message.reactions, name: kept}
        if not kept:
            del message.reactions[name]
        self._tell_pages("changed", message)
        channel = self.space.channels[message.channel]
        if user_id != self.space.bot.id and self.space.bot.id in channel.members:
            kind = "reaction_removed" if remove else "reaction_added"
            self.emit(kind, events.reaction_event(kind, message, user_id, name, self.space.clock.next()))

    def set_status(self, channel_id: str, thread_ts: str, text: str) -> None:
        """Shows or clears the bot's line under a thread. It disappears after Slack's two minutes."""
        known = self.space.statuses.pop((channel_id, thread_ts), None)
        if text:
            ttl = self.options.status_ttl_s
            self.space.statuses[channel_id, thread_ts] = Status(text, self.time.now() + ttl)
            self.spawn(self._fade(channel_id, thread_ts, ttl))
        if text or known:
            self.feed.tell("status", channel=channel_id, thread_ts=thread_ts, text=text)

    async def _fade(self, channel_id: str, thread_ts: str, ttl: float) -> None:
        await self.time.sleep(ttl)
        if not self.space.status(channel_id, thread_ts):
            self.feed.tell("status", channel=channel_id, thread_ts=thread_ts, text="")

    def _tell_pages(self, kind: str, message: Message) -> None:
        self.feed.tell(
            kind,
            channel=message.channel,
            ts=message.ts,
            thread_ts=message.thread_ts,
            user=message.user,
            only_for=message.only_for,
        )

    # Events

    def _emit_posted(self, channel: Channel, message: Message) -> None:
        shown = self.shown(message)
        twins = [events.message_event(channel, shown)]
        if channel.kind != "im" and not message.bot_id and events.mentions_bot(self.space, message):
            twins.append(events.mention_event(channel, shown, files=self.options.mention_files))
        self._emit(channel, twins[::-1] if self.options.mention_first else twins)

    def _emit(self, channel: Channel, inner: Sequence[Json]) -> None:
        if self.space.bot.id in channel.members:
            for event in inner:
                name = "app_mention" if event["type"] == "app_mention" else events.SUBSCRIPTION[channel.kind]
                self.emit(name, event)

    def emit(self, subscription: str, event: Json) -> None:
        """Sends an event to the app when it subscribed to it; twice when a test ordered that."""
        if subscription not in self.options.subscriptions:
            return
        if self.options.connect_files:
            event = events.with_files_by_id(event)
        payload = events.event_callback(self.space, event)
        self.spawn(self.transport.deliver_event(payload))
        if self.faults.take_duplicate():
            self.spawn(self.transport.deliver_event(payload))

    # Files

    def file_path(self, file_id: str) -> Path:
        """Where the bytes of an upload are."""
        return self.folder / file_id

    def new_file(self, name: str, user_id: str, mimetype: str, length: int) -> File:
        """A place for an upload that has no bytes yet."""
        file = File(new_id("F"), name, name, user_id, mimetype, length, int(time.time()))
        self.space.files[file.id] = file
        return file

    def store(self, file: File, data: bytes) -> None:
        """Keeps the bytes of an upload."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.file_path(file.id).write_bytes(data)
        file.size = len(data)
        file.width, file.height = picture_size(data)

    # Modals

    def use_trigger(self, trigger_id: str) -> Trigger:
        """Uses a trigger up. Raises SlackError invalid_, exchanged_ or expired_trigger_id."""
        trigger = self.space.triggers.get(trigger_id)
        if trigger is None:
            raise SlackError("invalid_trigger_id")
        if trigger.used:
            raise SlackError("exchanged_trigger_id")
        if self.time.now() - trigger.born > self.options.trigger_ttl_s:
            raise SlackError("expired_trigger_id")
        trigger.used = True
        return trigger

    def show_view(self, view: View) -> View:
        """Puts a modal on its person's screen, or changes the one there."""
        self.space.views[view.id] = view
        self.feed.tell("view", user=view.user, view_id=view.id, open=view.open)
        return view
