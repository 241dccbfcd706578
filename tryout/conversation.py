"""A conversation with the running stack: say something, wait until the turn rests, read what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.store import TurnRow
from core.values import ThreadKey
from tryout.blocks_text import message_text
from tryout.stack import Stack

TURN_TIMEOUT_S = 600.0
_RESTING = ("done", "stopped", "failed", "waiting")

Json = dict[str, Any]
Watch = Callable[[Json], None]


class NoAnswer(Exception):
    """The turn did not come to rest in time; the message says where the logs are."""


@dataclass
class Conversation:
    """One thread in the playground. `watch` gets each message, in Slack's shape, when it appears or changes."""

    stack: Stack
    channel: str
    watch: Watch = lambda message: None
    key: ThreadKey | None = None
    _shown: dict[str, str] = field(default_factory=dict)

    def say(self, text: str, files: list[Path], user: str = "ana") -> str:
        """Say it (the first message mentions the bot), wait, return the turn's status. Raises NoAnswer, ProcessDied."""
        said = text if self.key else f"@threadbook {text}"
        posted = self.stack.slack.say(self.channel, user, said, files, thread_ts=self.key.root_ts if self.key else "")
        self.key = posted.thread
        return self._wait(posted.ts)

    def _wait(self, ts: str) -> str:
        """Wait until the turn that read the message of this ts rests."""
        deadline = time.monotonic() + TURN_TIMEOUT_S
        while True:
            self.stack.check()
            self._show()
            turn = next((turn for turn in reversed(self.turns()) if self._read(turn, ts)), None)
            if turn and turn.status in _RESTING and not self.stack.store.unread(self.thread_id):
                self._show()
                return turn.status
            if time.monotonic() > deadline:
                raise NoAnswer(f"No answer within {TURN_TIMEOUT_S:.0f} s. The logs are in {self.stack.home / 'logs'}.")
            time.sleep(0.1)

    def _read(self, turn: TurnRow, ts: str) -> bool:
        return any(step["kind"] == "asked" and step["ts"] == ts for step in self.stack.store.steps(turn.id))

    def _show(self) -> None:
        for message in self.messages():
            seen = message_text(message) + "".join(file["id"] for file in message.get("files") or ())
            if self._shown.get(message["ts"]) != seen:
                self._shown[message["ts"]] = seen
                self.watch(message)

    @property
    def thread_id(self) -> str:
        """The Store's id of the thread. Raises ValueError before anything was said."""
        if self.key is None:
            raise ValueError("nothing was said yet")
        return self.key.id

    def messages(self) -> list[Json]:
        """The thread as Slack has it."""
        return self.stack.slack.thread(self.key) if self.key else []

    def turns(self) -> list[TurnRow]:
        """The thread's turns, oldest first."""
        return self.stack.store.turns(self.thread_id) if self.key else []

    def cells(self, turn: TurnRow) -> Iterator[Json]:
        """The cells of a turn as stored steps."""
        return (step for step in self.stack.store.steps(turn.id) if step["kind"] == "cell")

    def save_files(self, folder: Path) -> dict[str, Path]:
        """Write every file of the thread under `folder`; paths by Slack's file id. Equal names get the id in front."""
        folder.mkdir(parents=True, exist_ok=True)
        paths: dict[str, Path] = {}
        for message in self.messages():
            for file in message.get("files") or ():
                path = folder / Path(file["name"]).name
                paths[file["id"]] = path if not path.exists() else folder / f"{file['id']}-{path.name}"
                paths[file["id"]].write_bytes(self.stack.slack.file(file["id"]))
        return paths
