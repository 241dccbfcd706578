"""What a thread takes along when it changes hosts: its session as it was after the last cell, kept in the file store.

Only where several hosts share a Store, a file store and a key (`Settings.hands_threads_over`); elsewhere every method
does nothing, because a thread can only come back to where it was.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from core.blobs import Blobs
from core.errors import BlobMissing
from core.store import Store
from core.telemetry import get_logger
from core.values import Lease
from executor.client import RequestError, SessionClient
from executor.frames import ProtocolError
from executor.packed import Packed

log = get_logger(__name__)


class Luggage:
    """Packs and unpacks. Both may be done again at any time, with the same outcome."""

    def __init__(self, store: Store, blobs: Blobs, sessions: SessionClient, *, host_id: str, enabled: bool) -> None:
        self._store = store
        self._here = host_id.replace(" ", "_")
        self._blobs = blobs
        self._sessions = sessions
        self._enabled = enabled

    def begin_cell(self, lease: Lease, cell_id: str) -> None:
        """Note that a cell begins here: should this host die in it, the next one knows better than to run it again."""
        if self._enabled:
            self._store.begin_cell(lease, f"{self._here} {cell_id}")

    def began_elsewhere(self, thread_id: str, cell_id: str) -> bool:
        """Whether this cell is the last one of the thread that began, and began at another host."""
        if not self._enabled or (begun := self._store.begun_cell(thread_id)) is None:
            return False
        host, _, cell = begun.partition(" ")
        return cell == cell_id and host != self._here

    def pack(self, lease: Lease) -> None:
        """Keep the session as it is after its last cell. What is in the file store already is not sent again.

        A file store that is away stops no turn: the next packing makes up for it. Raises HostUnavailable, LeaseLost.
        """
        if not self._enabled:
            return
        packed = self._sessions.pack(lease.thread_id)
        try:
            for sha256 in packed.contents:
                self._blobs.put_as(sha256, packed.paths[sha256])
            kept = self._blobs.put(packed.to_json())
        except Exception:  # whatever the driver of a file store raises
            log.exception("session not packed", thread=lease.thread_id)
            return
        self._store.set_packed(lease, kept)

    def unpack(self, lease: Lease) -> bool:
        """Bring the session here; False when there is none to bring, or when it cannot be used.

        What was on this host before is older and is replaced. Raises HostUnavailable.
        """
        sha256 = self._store.packed(lease.thread_id) if self._enabled else None
        if sha256 is None:
            return False
        try:
            packed = Packed.from_json(self._blobs.get(sha256))
            with tempfile.TemporaryDirectory(prefix="threadbook-") as folder:
                copy = Path(folder) / "content"
                for content in packed.contents:
                    self._blobs.fetch(content, copy)
                    self._sessions.keep(copy)
            self._sessions.unpack(lease.thread_id, packed)
        except (BlobMissing, ProtocolError, RequestError, json.JSONDecodeError) as error:
            log.exception("session not brought along", thread=lease.thread_id, why=str(error))
            return False
        return packed.state is not None
