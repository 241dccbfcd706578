"""Deletes threads for good from what all nodes share: the Store, the file store and Redis. Each node does its own disk.

Everything may be done again after a crash: what the Store says is to be deleted stays there until it is gone.
"""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime

from redis import Redis

from core.blobs import PACK, Blobs
from core.errors import BlobMissing
from core.store import Store
from core.store.part import contents_in


def purge_thread(
    store: Store,
    blobs: Blobs,
    redis: Redis,
    thread_id: str,
    state: str = "",
    *,
    older_than: datetime | None = None,
    by: str = "",
) -> int | None:
    """Delete a thread; returns the number of rows. Raises StoreUnreachable, BlobsUnreachable, redis.RedisError.

    A worker that works on it loses its lease. The contents of the file store follow with `delete_contents`. `state` is
    the hash of the thread's last state, which its tombstone keeps. With `older_than` a thread in which something
    happened since stays as it is, and None is returned: it may be long ago that it was found.

    The audit says that `by` did it, also if this raises once the rows are gone: no later purge finds the thread then.
    """
    rows = store.purge_thread(thread_id, _packed(store, blobs, thread_id), state, older_than=older_than, by=by)
    if rows is None:
        return None
    delete_packs(blobs, thread_id)
    keys = list(redis.scan_iter(match=f"threadbook:*{_literal(thread_id)}*", count=1_000))
    if keys:
        redis.delete(*keys)
    for name in ("threadbook:running", "threadbook:places"):
        redis.hdel(name, thread_id)
    return rows


def delete_packs(blobs: Blobs, thread_id: str) -> None:
    """Delete what the file store has of a thread's session, but contents. Raises BlobsUnreachable."""
    folder = blobs.thread_folder(thread_id)
    folder.remove(folder.names())


def delete_contents(store: Store, blobs: Blobs) -> int:
    """Delete the contents that only purged threads needed; returns their number. Raises BlobsUnreachable."""
    deleted = 0
    for name in blobs.left_aside():  # by a purge that died
        _let_go(store, blobs, name)
    store.contents_deleted(())
    while contents := store.unneeded_contents(limit=1):  # looked up right before: a thread may get the same file now
        for sha256 in contents:
            deleted += _let_go(store, blobs, blobs.set_aside(sha256))
        store.contents_deleted(contents)
    store.contents_deleted(())
    store.scrub()
    return deleted


def _let_go(store: Store, blobs: Blobs, name: str) -> bool:
    """Delete what was set aside, or put it back if a thread needs it: False then.

    It has left its place before the Store is asked, so that no thread that gets it now relies on what was there.
    """
    if store.needs_content(name.partition(".")[0]):
        blobs.put_back(name)
        return False
    blobs.remove_aside(name)
    return True


def _packed(store: Store, blobs: Blobs, thread_id: str) -> set[str]:
    """The contents that the thread's exported sessions name, also for those that an earlier version stored."""
    folder = blobs.thread_folder(thread_id)
    found: set[str] = set()
    for name in folder.names():
        with suppress(BlobMissing, ValueError):
            found |= contents_in(json.loads(folder.get([name])[0])) if name.startswith(PACK) else set()
    if (row := store.exported_session(thread_id)) is not None:
        for name in filter(None, (row.name, row.before)):
            with suppress(BlobMissing, ValueError):  # a pack is no content: only an earlier version made it one
                found |= {name, *contents_in(json.loads(blobs.get(name)))}
    return found


def _literal(thread_id: str) -> str:
    """The id for a pattern of Redis: its special characters stand for themselves."""
    return "".join(f"\\{letter}" if letter in "*?[]^\\" else letter for letter in thread_id)
