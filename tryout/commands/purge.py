"""`threadbook purge`: deletes threads for good, or says what it would delete."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

from redis import RedisError
from sqlalchemy.exc import SQLAlchemyError

from core.actions import Action
from core.blobs import Blobs
from core.errors import BlobsUnreachable, SettingsError, outline
from core.purging import delete_contents, purge_thread
from core.queue import connect_redis
from core.settings import Settings
from core.spool import Spool
from core.store import Store
from core.store.history import History
from tryout.commands.named import one_thread
from tryout.commands.operator import operator, permitted, why_unreadable
from tryout.commands.times import MOST_DAYS
from tryout.commands.workspace import of_workspace
from workers.agent.thread.states import last_state

_AGE = re.compile(r"(\d{1,5})d")
REDIS_TIMEOUT_S = 5.0


def run(
    settings: Settings,
    *,
    thread: str = "",
    person: str = "",
    older_than: str = "",
    workspace: str = "",
    dry_run: bool = False,
    as_json: bool = False,
) -> int:
    """Purge the threads that are meant; 1 when nothing of the thread is stored, or when something was unavailable, so
    that it has to be done again.

    With `person`, those are all threads in which they wrote: answers there may repeat their words; what they chose in
    Slack for themselves goes too. With `workspace`, only what is of that one. Raises SettingsError when nothing or too
    much is asked for.
    """
    if sum(map(bool, (thread, person, older_than))) != 1:
        raise SettingsError("purge takes one of: a thread (its id or a link), --person U…, --older-than 90d.")
    since = None if not older_than else datetime.now(UTC) - timedelta(days=_days(older_than))
    meant = thread or person or older_than
    if workspace:
        of_workspace(settings, workspace)
    with (
        closing(Store(settings.database_url)) as store,
        closing(History(settings.database_url)) as history,
        closing(connect_redis(settings.redis_url, timeout_s=REDIS_TIMEOUT_S)) as redis,
    ):
        try:
            if not permitted(settings, store, Action.PURGE, meant, {"dry_run": int(dry_run)}):
                return 1
            named = one_thread(history.threads_named(thread), workspace) if thread else ""
            thread = named or thread
            found = store.purgeable(thread_id=thread, user=person, older_than=since, team=workspace)
            counts = {thread_id: store.purge_counts(thread_id) for thread_id in found}
        except SQLAlchemyError as error:
            print(f"threadbook: nothing was deleted. {why_unreadable(store, error)}", file=sys.stderr)
            return 1
        spool = Spool(settings.spool)
        if thread and not named and not spool.holds(thread):
            print(f"threadbook: nothing of {thread!r} is stored. `threadbook threads` lists what is.", file=sys.stderr)
            return 1
        if dry_run:
            _print(counts, dry_run=dry_run, as_json=as_json)
            return 0
        purged = 0
        try:
            blobs = Blobs(settings.files)
            if person:
                spool.purge(user=person, team=workspace)
                store.forget_preferences(person, workspace)
            for thread_id in found or filter(None, [thread]):
                spool.purge(thread_id=thread_id)
            for thread_id in found:
                state = last_state(store.timed_steps(thread_id))
                rows = purge_thread(store, blobs, redis, thread_id, state, older_than=since, by=operator(settings))
                purged += rows is not None
                if rows is None:
                    del counts[thread_id]
                    print(f"threadbook: {thread_id} stays: something happened there meanwhile.", file=sys.stderr)
            delete_contents(store, blobs)
        except (SQLAlchemyError, RedisError, BlobsUnreachable, OSError) as error:
            said = (
                f"not everything is deleted: {outline(error)}. `threadbook doctor` says what to do; then purge again."
            )
            print(f"threadbook: {said}", file=sys.stderr)
            return 1
        except (KeyboardInterrupt, SystemExit):
            print(_stopped(purged, len(found)), file=sys.stderr)
            raise
    _print(counts, dry_run=dry_run, as_json=as_json)
    return 0


def _stopped(purged: int, found: int) -> str:
    if purged == found:
        return "threadbook: stopped: the threads are deleted; their files in the file store follow within the hour."
    return f"threadbook: stopped: {purged} of {found} threads deleted. Purge again for the others."


def _days(age: str) -> int:
    """The days of an age. Never 0: nothing asks again before everything is deleted for good."""
    days = int(found[1]) if (found := _AGE.fullmatch(age)) else 0
    if not 1 <= days <= MOST_DAYS:
        raise SettingsError(
            f"--older-than takes a number of days from 1d to {MOST_DAYS}d, such as 90d; {age!r} is none."
        )
    return days


def _print(counts: dict[str, dict[str, int]], *, dry_run: bool, as_json: bool) -> None:
    if as_json:
        document: dict[str, Any] = {"dry_run": dry_run, "threads": counts}
        print(json.dumps(document))
        return
    for thread_id, tables in counts.items():
        print(f"{thread_id}: " + ", ".join(f"{count} {name}" for name, count in tables.items()))
    total = sum(sum(tables.values()) for tables in counts.values())
    names = Counter(name for tables in counts.values() for name in tables)
    verb = "would be deleted" if dry_run else "are deleted; each node deletes their sessions, a node that is down later"
    print(f"{len(counts)} threads with {total} rows in {len(names)} tables {verb}.")
