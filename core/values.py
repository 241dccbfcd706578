"""The values that cross the bot, the Store and the workers. Frozen, JSON-able, without behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer


class Value(BaseModel):
    """A frozen value. Unknown fields are refused, so a misspelled field is an error and not a silent loss.

    Code that reads what a newer version stored validates with `extra="allow"`: the unknown fields are
    then kept and are dumped with the rest.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    @property
    def later_fields(self) -> Mapping[str, Any]:
        """Fields that a newer version stored and this one does not know."""
        return self.model_extra or {}

    @model_serializer(mode="wrap")
    def _with_later_fields(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        known: dict[str, Any] = dump(self)
        return {**known, **self.later_fields}


IMPORTED = "import-"
"""The `root_ts` of a conversation that was imported begins so. A ts of Slack never does."""


class ThreadKey(NamedTuple):
    """Where a conversation lives in Slack. `root_ts` is the ts of its first message (Slack's thread_ts)."""

    team: str
    channel: str
    root_ts: str

    @property
    def id(self) -> str:
        """The thread's id everywhere else: "team:channel:root_ts"."""
        return f"{self.team}:{self.channel}:{self.root_ts}"

    @property
    def is_imported(self) -> bool:
        """Whether the conversation was never in Slack: another tool had it (`threadbook import`)."""
        return self.root_ts.startswith(IMPORTED)

    @classmethod
    def parse(cls, thread_id: str) -> ThreadKey:
        """The key of an id. Raises ValueError when it is not one of ours."""
        team, channel, root_ts = thread_id.split(":")
        return cls(team, channel, root_ts)


Standing = Literal["", "member", "admin", "guest", "stranger"]
"""What Slack says of a person: of this workspace, an owner or admin of it, a guest, or of another workspace. "" is not
known yet."""


REPOSITORY_MODE: Final = "repository"
"""The mode of a "file" that is a git repository at `url`. Slack's own files never have it
(`core/slack/reading/files.py`)."""


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
    """One thing that a person wrote or pressed, as the bot received it.

    `kind` is "text" for a message, "answer" for a pressed option of a question, else the name of a command of
    `core/commands/commands.yaml`. A stop by a button or a reaction has no `text`. `text` is plain: mentions of the bot
    are removed, Slack's escapes undone.
    `mention` says whether the bot was addressed. `files_known` is False when the event may have come without its files
    (an app_mention twin): the worker then looks once. `standing` is what was known of its author when it came.
    """

    team: str
    channel: str
    channel_type: str
    ts: str
    root_ts: str
    user: str
    text: str
    kind: str = Field(default="text", pattern=r"^[a-z_]{1,20}$")
    mention: bool = False
    files: tuple[FileRef, ...] = ()
    files_known: bool = True
    standing: Standing = ""

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
    """The right to advance one thread. A newer lease has a higher `token`; writes with an older one are refused."""

    thread_id: str
    token: int
    owner: str


Language = Literal["en", "zh", "de", "es", "fr", "ja"]
"""The languages of our own sentences. People get the one they wrote in, English when it is none of them."""


TurnStatus = Literal["running", "waiting", "done", "stopped", "failed"]
"""running: has work to do · waiting: for a person · done: reported · stopped: ended without an answer ·
failed: ended by our own fault."""


def moment_of(ts: str) -> str:
    """A ts of Slack as people read it, to the minute; "…" for one that is no time."""
    try:
        return f"{datetime.fromtimestamp(float(ts), UTC):%Y-%m-%d %H:%M} UTC"
    except (ValueError, OverflowError, OSError):
        return "…"
