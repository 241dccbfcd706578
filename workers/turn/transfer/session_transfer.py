"""Keeps each thread's session in the file store, as it was after the last cell, so that the thread can change nodes.

Only where several nodes share a Store, a file store and a key (`Settings.hands_threads_over`); elsewhere every method
does nothing, because a thread can only come back to where it was.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from core.blobs import Blobs
from core.errors import BlobMissing, BlobsUnreachable, LeaseLost
from core.purging import delete_contents
from core.rows import ExportedRow
from core.store import Store
from core.team_settings import StorageSettings
from core.telemetry import get_logger
from core.values import Lease
from executor.client import HostUnavailable, RequestError, SessionClient
from executor.files.exported import ExportedSession
from executor.frames import ProtocolError
from workers.turn.transfer.packs import Pack, PackStore, Plan, size_of
from workers.turn.transfer.unexported import Unexported

log = get_logger(__name__)

MOST_KNOWN = 200
"""Threads whose last packs a process remembers."""
MOST_LOOKED_AT = 10_000
"""Threads of which a process remembers that it has looked whether their sessions fit their records."""
_UNUSABLE = (BlobMissing, ProtocolError, RequestError, ValueError, KeyError, TypeError)
"""The errors with which a pack that is not whole, or not ours, may be refused."""


@dataclass(frozen=True, slots=True)
class OverQuota:
    """A session that was not kept, because it would take more than `[storage]` allows."""

    scope: Literal["thread", "node", "team"]
    used_mb: int
    limit_mb: int


@dataclass(frozen=True, slots=True)
class Imported:
    """A session that was brought along: the cells whose effects are in it, and variables that could not be kept.

    `was_here`: nothing was brought, this node had it.
    """

    cells: frozenset[str]
    lost: tuple[str, ...]
    was_here: bool = False


def _imported(session: ExportedSession, *, was_here: bool = False) -> Imported:
    cells = frozenset(session.cells) - frozenset(session.unsaved_cells)
    return Imported(cells if session.state is not None else frozenset(), tuple(session.lost), was_here)


class SessionTransfer:
    """Exports and imports sessions. Both may be done again at any time, with the same outcome."""

    def __init__(
        self,
        store: Store,
        blobs: Blobs,
        sessions: SessionClient,
        *,
        node_id: str,
        enabled: bool,
        unexported: Unexported,
        limits: StorageSettings,
    ) -> None:
        self._store = store
        self._here = node_id.replace(" ", "_")
        self._node_id = node_id
        self._blobs = blobs
        self._packs = PackStore(blobs)
        self._sessions = sessions
        self.enabled = enabled
        """Whether sessions are kept in the file store at all."""
        self._unexported = unexported
        self._limits = limits
        self._known: dict[str, tuple[int, list[Pack]]] = {}
        """The last packs of a thread, the one that counts first, with its token: under one lease nobody else exports.
        Threads that were not exported for longest leave it."""
        self._looked_at: dict[str, int] = {}
        """The threads whose sessions this process has held against their records, with the newest token."""
        self._lock = threading.Lock()

    def has_looked(self, lease: Lease) -> bool:
        """Whether this process has held the thread's session against its record, by `looked`.

        Not where the Store counts tokens from an earlier number since: that is the one of a backup.
        """
        with self._lock:
            token = self._looked_at.get(lease.thread_id)
        return token is not None and lease.token >= token

    def looked(self, lease: Lease) -> None:
        """Note that the thread's session fits its record, or that what does not was told."""
        with self._lock:
            self._looked_at.pop(lease.thread_id, None)
            self._looked_at[lease.thread_id] = lease.token
            while len(self._looked_at) > MOST_LOOKED_AT:
                del self._looked_at[next(iter(self._looked_at))]

    def begin_cell(self, lease: Lease, cell_id: str) -> None:
        """Note that a cell begins here. If this node dies during the cell, the next node does not run it again."""
        if self.enabled:
            self._unexported.add(lease.thread_id)
            self._store.begin_cell(lease, f"{self._here} {cell_id}")

    def began_elsewhere(self, thread_id: str, cell_id: str) -> bool:
        """Whether this cell is the last one of the thread that began, and began at another node."""
        if not self.enabled or (begun := self._store.begun_cell(thread_id)) is None:
            return False
        host, _, cell = begun.partition(" ")
        return cell == cell_id and host != self._here

    def export_state(self, lease: Lease) -> OverQuota | None:
        """Export the session as it is after its last cell. Contents that the file store already has are not sent again.

        A thread whose session is elsewhere is left alone: the state here is older. A file store that is unavailable
        stops no turn: the next export makes up for it, and so does the end of the service. Returns why the session was
        not kept, when it is too large. Raises HostUnavailable, LeaseLost.
        """
        if not self.enabled or self._store.thread_node(lease.thread_id) != self._node_id:
            return None
        self._unexported.add(lease.thread_id)
        exported = self._sessions.export_session(lease.thread_id)
        try:
            over = self._export(lease, exported)
        except (LeaseLost, HostUnavailable):
            raise
        except BlobsUnreachable as error:  # said for each cell of each thread while it lasts, so without a traceback
            log.warning("session_not_exported", thread=lease.thread_id, error=error)
            return None
        except Exception:  # whatever the driver of a file store raises
            log.exception("session_not_exported", thread=lease.thread_id)
            return None
        self._unexported.remove(lease.thread_id)
        return over

    def evict(self, lease: Lease) -> bool:
        """Delete the session from this node's disk, once the file store has all of it; False when it has not.

        The next question brings it back, here or at another node. Raises HostUnavailable, LeaseLost.
        """
        node = self._store.thread_node(lease.thread_id)
        if not self.enabled or (node == self._node_id and not self._is_kept(lease)):
            return False
        if node == self._node_id:
            self._store.set_thread_node(lease, None)
        self._sessions.purge(lease.thread_id)
        return True

    def _is_kept(self, lease: Lease) -> bool:
        if self.export_state(lease) is not None or lease.thread_id in self._unexported.threads():
            return False
        return self._store.exported_session(lease.thread_id) is not None

    def forget(self, lease: Lease, made: Collection[str]) -> None:
        """Delete what the file store has of the session, and these files that cells made: the thread was reset.

        Raises LeaseLost, BlobsUnreachable.
        """
        contents = {sha256 for pack in self._known_packs(lease) for sha256 in (pack.name, *pack.session.contents)}
        self._store.forget_contents(lease, contents, made)
        self._remember(lease, [])
        self._packs.sweep(lease.thread_id, lease.token, [])
        delete_contents(self._store, self._blobs)

    def _export(self, lease: Lease, session: ExportedSession) -> OverQuota | None:
        known = self._known_packs(lease)
        if known and known[0].session.to_message() == session.to_message():
            return None
        over, is_whole = self._write(lease, session, known)
        if known and not is_whole:  # somebody removed parts that were counted on: all of it is sent again
            log.error("packs_damaged", thread=lease.thread_id)
            over, _ = self._write(lease, session, [])
        return over

    def _write(self, lease: Lease, session: ExportedSession, known: Sequence[Pack]) -> tuple[OverQuota | None, bool]:
        """Write a pack and sweep what is not needed any more: (why it was not kept, whether all that counts is there).

        What `known` packs have is neither read nor sent.
        """
        plan = self._packs.plan(lease.token, session, known)
        before = list(known[:1])
        if (over := self._over_quota(lease.thread_id, plan, before)) and over.scope == "thread" and before:
            before = []  # alone it may have room
            over = self._over_quota(lease.thread_id, plan, before)
        if over is not None:
            log.warning("session_over_quota", thread=lease.thread_id, scope=over.scope, used_mb=over.used_mb)
            return over, True
        pack = self._packs.store(lease.thread_id, lease.token, plan)
        kept = [pack, *before]
        row = ExportedRow(pack.name, before[0].name if before else None, size_of(kept))
        blobs = {sha256 for each in kept for sha256 in each.session.contents if sha256 not in each.contents}
        self._store.set_exported_session(lease, row, blobs)
        self._remember(lease, kept)
        try:
            return None, self._packs.sweep(lease.thread_id, lease.token, kept)
        except BlobsUnreachable:
            log.warning("packs_not_swept", thread=lease.thread_id)
        return None, True

    def _known_packs(self, lease: Lease) -> list[Pack]:
        with self._lock:
            token, known = self._known.get(lease.thread_id, (-1, []))
        if token == lease.token:
            return known
        row = self._store.exported_session(lease.thread_id)
        names = [] if row is None else [row.name, *([row.before] if row.before else [])]
        found = [pack for name in names if (pack := self._loaded(lease.thread_id, name)) is not None]
        self._remember(lease, found)
        return found

    def _remember(self, lease: Lease, packs: list[Pack]) -> None:
        with self._lock:
            self._known.pop(lease.thread_id, None)
            self._known[lease.thread_id] = (lease.token, packs)
            while len(self._known) > MOST_KNOWN:
                del self._known[next(iter(self._known))]

    def _loaded(self, thread_id: str, name: str) -> Pack | None:
        try:
            return self._packs.load(thread_id, name)
        except _UNUSABLE as error:
            log.exception("pack_not_read", thread=thread_id, pack=name, why=error)
            return None

    def _over_quota(self, thread_id: str, plan: Plan, before: list[Pack]) -> OverQuota | None:
        used, size = self._store.exported_bytes(thread_id), size_of([plan.as_pack, *before])
        limits = self._limits
        sums: tuple[tuple[Literal["thread", "node", "team"], int, int], ...] = (
            ("thread", size, limits.thread_mb),
            ("node", used.node - used.thread + size, limits.node_mb),
            ("team", used.team - used.thread + size, limits.team_mb),
        )
        for scope, total, limit_mb in sums:
            # What does not make the sum larger is always taken.
            if limit_mb and total > limit_mb * 1_000_000 and size > used.thread:
                return OverQuota(scope, round(total / 1e6), limit_mb)
        return None

    def import_state(self, lease: Lease) -> Imported | None:
        """Import the session; None if there is none, or if none can be used.

        If the last one cannot be used, the one before it is imported. The session on this node is older and is
        replaced; it stays when there is nothing else, as on a node that was renamed. Raises HostUnavailable,
        BlobsUnreachable.
        """
        for pack in self._known_packs(lease) if self.enabled else ():
            try:
                self._bring(lease.thread_id, pack)
            except _UNUSABLE as error:
                log.exception("session_not_imported", thread=lease.thread_id, pack=pack.name, why=error)
                if isinstance(error, BlobMissing):  # its parts are not counted on: the next pack has its own
                    self._remember(lease, [known for known in self._known_packs(lease) if known is not pack])
                continue
            return _imported(pack.session)
        here = _imported(self._sessions.export_session(lease.thread_id), was_here=True)
        return here if here.cells else None

    def _bring(self, thread_id: str, pack: Pack) -> None:
        contents = pack.session.contents
        held = self._sessions.held(contents)
        with tempfile.TemporaryDirectory(prefix="threadbook-") as folder:
            copy = Path(folder) / "content"
            for content in contents:
                if content in held:
                    continue
                self._packs.fetch(thread_id, pack, content, copy)
                if self._sessions.keep(copy) != content:
                    raise BlobMissing(f"content {content} of {thread_id} is damaged in the file store")
        self._sessions.import_session(thread_id, pack.session)
