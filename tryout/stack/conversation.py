"""A conversation with the running stack: post a message, wait until the turn rests, read the result."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.retry import wait_until
from core.steps import Asked, CellRan
from core.store import TurnRow
from core.values import ThreadKey
from tryout.stack.blocks_text import message_text
from tryout.stack.stack import Stack

TURN_TIMEOUT_S = 600.0
FILES_TIMEOUT_S = 15.0
"""A turn does not wait for its last files; whoever reads the whole thread does."""
_RESTING = ("done", "stopped", "failed", "waiting")

Json = dict[str, Any]
Watch = Callable[[Json], None]


class NoAnswer(Exception):
    """The turn did not rest in time. The message says where the logs are."""


@dataclass
class Conversation:
    """One thread in the playground. `watch` gets each message, in Slack's shape, when it appears or changes."""

    stack: Stack
    channel: str
    watch: Watch = lambda message: None
    key: ThreadKey | None = None
    _shown: dict[str, str] = field(default_factory=dict)

    def say(self, text: str, files: list[Path], user: str = "ana") -> str:
        """Post the text, wait, return the turn's status; "done" for a word such as "help" that is answered at once.

        The first message mentions the bot.

        Raises NoAnswer, ProcessDied.
        """
        written = text if self.key else f"@threadbook {text}"
        posted = self.stack.slack.say(
            self.channel, user, written, files, thread_ts=self.key.root_ts if self.key else ""
        )
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
                wait_until(self._shows_its_files, for_s=FILES_TIMEOUT_S, every_s=0.1)
                self._show()
                return turn.status
            if self._is_told(ts):
                return "done"
            if time.monotonic() > deadline:
                raise NoAnswer(f"No answer within {TURN_TIMEOUT_S:.0f} s. The logs are in {self.stack.home / 'logs'}.")
            time.sleep(0.1)

    def _is_told(self, ts: str) -> bool:
        """Whether the bot has answered this message without a turn, as it does with "help".

        A turn may begin, and even end, between two looks at the Store. A message that is no longer unread has its turn
        by then: so the unread ones are asked for first, and the turns last.
        """
        if not any(message.get("bot_id") and message["ts"] > ts for message in self.messages()):
            return False
        store = self.stack.store
        if store.unread(self.thread_id) or store.current_turn(self.thread_id):
            return False
        return not any(self._read(turn, ts) for turn in self.turns())

    def _shows_its_files(self) -> bool:
        return self.key is None or self.stack.slack.shows_its_files(self.key)

    def _read(self, turn: TurnRow, ts: str) -> bool:
        return any(isinstance(step, Asked) and step.ts == ts for step in self.stack.store.steps(turn.id))

    def _show(self) -> None:
        for message in self.messages():
            seen = message_text(message) + "".join(file["id"] for file in message.get("files") or ())
            if self._shown.get(message["ts"]) != seen:
                self._shown[message["ts"]] = seen
                self.watch(message)

    @property
    def thread_id(self) -> str:
        """The Store's id of the thread. Raises ValueError before the first message."""
        if self.key is None:
            raise ValueError("no message was posted yet")
        return self.key.id

    def messages(self) -> list[Json]:
        """The thread as Slack has it."""
        return self.stack.slack.thread(self.key) if self.key else []

    def turns(self) -> list[TurnRow]:
        """The thread's turns, oldest first."""
        return self.stack.store.turns(self.thread_id) if self.key else []

    def cells(self, turn: TurnRow) -> Iterator[CellRan]:
        """The cells of a turn, in order."""
        return (step for step in self.stack.store.steps(turn.id) if isinstance(step, CellRan))

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

    def save_report(self, turn: TurnRow, folder: Path) -> dict[str, Path]:
        """Write the files of a turn's report under `folder`, also those that people get only on request; by name."""
        report = self.stack.store.report(turn.id)
        paths: dict[str, Path] = {}
        for file in report.files if report else ():
            paths[file.name] = folder / Path(file.name).name
            folder.mkdir(parents=True, exist_ok=True)
            self.stack.blobs.fetch(file.sha256, paths[file.name])
        return paths
