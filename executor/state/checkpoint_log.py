"""The log of a thread's checkpoints: a line for each, signed by an HMAC for this thread. The last one counts."""

from __future__ import annotations

import hmac
import json
from pathlib import Path

from executor.disk.durable import replace_durably, sync_path
from executor.disk.kernel_sync import Synced
from executor.disk.line_file import LineFile
from executor.frames import Message
from executor.notices import for_log, notice
from executor.values import Notice

_LIMIT = 1 << 20  # bytes


class Refused(Exception):
    """The checkpoint is not to be used; `why` says so."""

    def __init__(self, why: Notice) -> None:
        super().__init__(for_log(why))
        self.why = why


class CheckpointLog:
    """The lines, `{"body": {...}, "hmac": ...}` each."""

    def __init__(self, path: Path, thread_id: str, key: bytes, unsynced: dict[Synced, None]) -> None:
        """What it writes is noted in `unsynced`, in the order in which it is to be synced."""
        self._path = path
        self._unsynced = unsynced
        self._thread_id = thread_id
        self._key = key
        self._file: LineFile | None = None
        self._prepared: tuple[Message, bytes] = {}, b""
        """What the next checkpoint will probably say, and its signed line."""
        self._line = b""
        """What this process appended last."""
        self._is_doubted = False
        """Whether a sync has failed since it was written."""

    @property
    def is_open(self) -> bool:
        """Whether this process has written to it."""
        return self._file is not None

    def prepare(self, body: Message) -> None:
        """Sign a line that will probably be the next one."""
        self._prepared = body, self._signed(body)

    def sign(self, body: Message) -> None:
        """Append a checkpoint of ours. Raises OSError for want of room."""
        (prepared, line), self._prepared = self._prepared, ({}, b"")
        self._append(line if prepared == body else self._signed(body))

    def adopt(self, stored: Message) -> None:
        """Append a line that another host signed, as it is. Raises OSError for want of room."""
        self._append(json.dumps(stored, separators=(",", ":")).encode() + b"\n")

    def last(self) -> Message:
        """The last whole line: a host that died in the middle of one leaves the one before.

        Raises FileNotFoundError when it died in the first line: nothing was ever kept. Raises Refused when no line can
        be read.
        """
        lines = self._path.read_bytes().split(b"\n")
        for line in reversed(lines):
            if (stored := _read_line(line)) is not None:
                return stored
        if len(lines) == 1:
            raise FileNotFoundError(self._path)
        raise Refused(notice("unreadable"))

    def genuine(self) -> Message:
        """Like `last`, but signed by us for this thread. Raises Refused for another one, too."""
        stored = self.last()
        if not self.is_ours(stored):
            raise Refused(notice("tampered"))
        return stored

    def is_ours(self, stored: Message) -> bool:
        """Whether we signed this line for this thread."""
        body = stored["body"]
        signature = str(stored.get("hmac")).encode(errors="replace")  # letters that are none of ours do not compare
        ours = self._hmac(_canonical(body)).encode()
        return hmac.compare_digest(signature, ours) and body["thread"] == self._thread_id

    def distrust(self) -> None:
        """A sync has failed: it is not known what of the log is on the disk."""
        self.close()
        self._is_doubted = self._path.exists()

    def trust(self) -> None:
        """Write the log to a new file after a sync that failed. Raises OSError while the disk refuses it."""
        if self._is_doubted:
            replace_durably(self._path, self._path.read_bytes())
            sync_path(self._path.parent)
            self._is_doubted = False

    def close(self) -> None:
        """Close the file. The next line opens it again."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def forget(self) -> None:
        """Close it, and forget what was appended: the caller removes the file."""
        self.close()
        self._line, self._is_doubted = b"", False

    def _append(self, line: bytes) -> None:
        """One write per checkpoint; now and then the log is begun anew with its last two lines."""
        self.trust()
        if self._file is not None and self._file.size > _LIMIT + 4 * len(line):
            self.close()
            replace_durably(self._path, self._line + line)
            self._line = line
            sync_path(self._path.parent)  # now: a line that waits for its sync gets that of the new log, by its name
            return
        if self._file is None:
            if not self._path.exists():
                self._unsynced[self._path.parent] = None
            self._file = LineFile(self._path)
        self._file.append(line)
        self._line = line
        self._unsynced[self._file] = None

    def _signed(self, body: Message) -> bytes:
        signed = _canonical(body)
        return f'{{"body":{signed},"hmac":"{self._hmac(signed)}"}}\n'.encode()

    def _hmac(self, text: str) -> str:
        return hmac.digest(self._key, text.encode(), "sha256").hex()


def stored_lines(path: Path) -> list[Message]:
    """Every whole line of a log, whoever signed it; none when there is no log."""
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    return [stored for line in lines if (stored := _read_line(line)) is not None]


def _read_line(line: bytes) -> Message | None:
    try:
        stored = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return stored if isinstance(stored, dict) and isinstance(stored.get("body"), dict) else None


_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
"""What is signed of a checkpoint: its JSON with the keys in order."""
