"""The values that cross the bot, the Store and the workers. Frozen, JSON-able, without behaviour."""

from __future__ import annotations

from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """A frozen value; unknown fields are refused, so a renamed field is an error and not a silent loss."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ThreadKey(NamedTuple):
    """Where a conversation lives in Slack. `root_ts` is the ts of its first message (Slack's thread_ts)."""

    team: str
    channel: str
    root_ts: str

    @property
    def id(self) -> str:
        """The thread's id everywhere else: "team:channel:root_ts"."""
        return f"{self.team}:{self.channel}:{self.root_ts}"

    @classmethod
    def parse(cls, thread_id: str) -> ThreadKey:
        """The key of an id. Raises ValueError when it is not one of ours."""
        team, channel, root_ts = thread_id.split(":")
        return cls(team, channel, root_ts)


class FileRef(Value):
    """A file as Slack described it in an event: nothing is downloaded yet.

    `url` is url_private_download, else url_private.
    """

    id: str
    name: str
    mimetype: str = ""
    size: int = 0
    url: str = ""
    mode: str = "hosted"


class IncomingMessage(Value):
    """One thing a person said or pressed, as the bot received it.

    `kind` "text" is a message, "answer" a pressed option of a question, "stop" the wish that the running turn ends, in
    words or by a sign (then without `text`), "undo" that the last cell is taken back, "reset" that the session is
    forgotten. `text` is plain: mentions of the bot removed, Slack's escapes undone.
    `mention` says whether the bot was addressed. `files_known` is False when the event may have come without its files
    (an app_mention twin): the worker then looks once.
    """

    team: str
    channel: str
    channel_type: str
    ts: str
    root_ts: str
    user: str
    text: str
    kind: Literal["text", "answer", "stop", "undo", "reset"] = "text"
    mention: bool = False
    files: tuple[FileRef, ...] = ()
    files_known: bool = True

    @property
    def thread(self) -> ThreadKey:
        """The thread that this message belongs to."""
        return ThreadKey(self.team, self.channel, self.root_ts)


class StoredFile(Value):
    """A file in the file store, by content hash: an input a person gave or an artifact a cell made."""

    name: str
    mimetype: str
    size: int
    sha256: str


class Lease(Value):
    """The right to advance one thread. `token` rises with every taking; the Store refuses writes with an older one."""

    thread_id: str
    token: int
    owner: str


Language = Literal["en", "zh"]
"""The languages that our own sentences exist in; a person gets the one they wrote in, English when it is neither."""


TurnStatus = Literal["running", "waiting", "done", "stopped", "failed"]
"""running: has work to do · waiting: parked on a person · done: reported · stopped: ended honestly without an answer ·
failed: our own fault."""
