"""Deletes threads for good: finds the threads, deletes their rows, and notes what is left to delete elsewhere.

One transaction deletes the rows of a thread and leaves two kinds of work behind: an order that every node carries out
on its own disk, and the contents that the file store no longer needs. Both stay until they are done, so nothing is
forgotten when a process dies or a node is down.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, Table, and_, delete, exists, func, or_, select, update

from core.store import tables as t
from core.store.audit import line_values
from core.store.lineage import inheritors_of
from core.store.nodes import forget_exported
from core.store.part import Part, contents_in, now, writes
from core.values import Lease


@dataclass(frozen=True, slots=True)
class PurgeOrder:
    """A thread whose traces a node deletes. Orders are numbered in their order."""

    id: int
    thread_id: str
    created_at: datetime


class Purges(Part):
    """Tables `purge_orders`, `purge_nodes` and `purge_blobs`, and what they delete from all others but `audit`."""

    # --- which threads

    def purgeable(
        self, *, thread_id: str = "", user: str = "", older_than: datetime | None = None, team: str = ""
    ) -> list[str]:
        """The threads with anything stored that fit all that is given, by id.

        `user`: the person wrote or commanded there. `team`: only of this workspace. `older_than`: nothing happened
        there since, no turn runs, and no schedule is active.
        Threads that hold words of these threads are included and come first, so an interrupted purge finds them again.
        By age, a thread stays for as long as one of those stays.
        """
        c = t.threads.c
        messages = select(t.messages.c.id).where(t.messages.c.thread_id == c.id)
        turns = select(t.turns.c.id).where(t.turns.c.thread_id == c.id)
        sent = select(t.outbox.c.key).where(t.outbox.c.thread_id == c.id)
        query = select(c.id).where(or_(exists(messages), exists(turns), exists(sent)))
        if thread_id:
            query = query.where(c.id == thread_id)
        if team:
            query = query.where(c.team == team)
        if user:
            spent = select(t.model_calls.c.id).where(t.model_calls.c.thread_id == c.id, t.model_calls.c.user == user)
            query = query.where(or_(exists(messages.where(t.messages.c.user == user)), exists(spent)))
        if older_than is not None:
            query = query.where(_nothing_since(older_than))
        with self._database.reading(patient=True) as db:  # it looks at every thread
            found = set(db.execute(query).scalars())
            heirs = _all_heirs(db)
        if older_than is not None:
            return _youngest_first({each for each in found if found.issuperset(heirs.get(each, ()))}, heirs)
        return _youngest_first(found.union(*(heirs.get(each, ()) for each in found)), heirs)

    def purge_counts(self, thread_id: str) -> dict[str, int]:
        """How many rows of each table a purge of the thread would delete."""
        with self._reading() as db:
            counts = {
                table.name: int(db.execute(select(func.count()).select_from(table).where(mine)).scalar_one())
                for table, mine in _rows_of(thread_id)
            }
        return {name: count for name, count in counts.items() if count}

    # --- deleting

    @writes
    def purge_thread(
        self,
        thread_id: str,
        more_contents: Collection[str] = (),
        state: str = "",
        *,
        older_than: datetime | None = None,
        by: str = "",
    ) -> int | None:
        """Delete what the tables hold of a thread; returns the number of rows. The audit says in the same transaction
        who did it (`by`), if that is given.

        `more_contents` are contents that only its exported session names. The thread's id and its fencing token stay:
        a worker that still works on it can write nothing any more. A tombstone keeps the hash of its last `state`.
        With `older_than` a thread that is not purgeable by age any more is left as it is, and None returned.
        """
        c = t.threads.c
        with self._writing() as db:
            if older_than is not None and not _is_still_old(db, thread_id, older_than):
                return None
            fence = update(t.threads).where(c.id == thread_id).values(fence=c.fence + 1, begun_cell=None)
            if db.execute(fence).rowcount:
                forget_exported(db, thread_id)
                db.execute(update(t.threads).where(c.id == thread_id).values(node_id=None))
            named = set(db.execute(select(t.blob_refs.c.sha256).where(t.blob_refs.c.thread_id == thread_id)).scalars())
            turns = select(func.count()).select_from(t.turns).where(t.turns.c.thread_id == thread_id)
            if count := db.execute(turns).scalar_one():
                values = {"state": state, "turns": count, "purged_at": now()}
                stone = self._insert(t.tombstones).values(thread_id=thread_id, **values)
                db.execute(stone.on_conflict_do_update(index_elements=["thread_id"], set_=values))
            deleted = sum(db.execute(delete(table).where(mine)).rowcount for table, mine in _rows_of(thread_id))
            for sha256 in sorted({*named, *more_contents}):
                self._insert_once(db, t.purge_blobs, sha256=sha256, created_at=now())
            db.execute(t.purge_orders.insert().values(thread_id=thread_id, created_at=now()))
            if by:
                db.execute(t.audit.insert().values(line_values(by, "purge", thread_id, "done", {"rows": deleted})))
        return deleted

    @writes
    def forget_contents(self, lease: Lease, contents: Collection[str], made: Collection[str]) -> None:
        """The thread was reset: it no longer needs the `contents` of its session, nor the files that cells `made`.

        What people gave stays, and so does what else its steps and reports name.
        """
        thread_id = lease.thread_id
        turns = select(t.turns.c.id).where(t.turns.c.thread_id == thread_id)
        with self._writing(lease) as db:
            named: set[str] = set()
            for column in (t.steps.c.body, t.reports.c.files):
                for value in db.execute(select(column).where(column.table.c.turn_id.in_(turns))).scalars():
                    named |= contents_in(value)
            given = select(t.thread_files.c.sha256).where(t.thread_files.c.thread_id == thread_id)
            kept = (named - set(made)) | set(db.execute(given).scalars())
            gone = sorted({*contents, *made} - kept)
            mine = (t.blob_refs.c.thread_id == thread_id) & t.blob_refs.c.sha256.in_(gone)
            db.execute(delete(t.blob_refs).where(mine))
            for sha256 in gone:
                self._insert_once(db, t.purge_blobs, sha256=sha256, created_at=now())
            forget_exported(db, thread_id)

    @writes
    def give_up_contents(self, thread_id: str, contents: Collection[str]) -> bool:
        """A worker put these contents for a thread and could not store who needs them: if the thread was purged, they
        are to be deleted, unless another one needs them. Returns whether it was."""
        purged = select(t.tombstones.c.thread_id).where(t.tombstones.c.thread_id == thread_id)
        with self._reading() as db:
            if db.execute(purged).first() is None:
                return False
        with self._writing() as db:
            for sha256 in sorted(contents):
                self._insert_once(db, t.purge_blobs, sha256=sha256, created_at=now())
        return True

    # --- what is left to do

    def purge_orders(self, node_id: str) -> list[PurgeOrder]:
        """The orders that a node has not carried out yet, oldest first."""
        done = select(t.purge_nodes.c.done).where(t.purge_nodes.c.node_id == node_id).scalar_subquery()
        o = t.purge_orders.c
        query = select(o.id, o.thread_id, o.created_at).where(o.id > func.coalesce(done, 0)).order_by(o.id)
        with self._reading() as db:
            return [PurgeOrder(*row) for row in db.execute(query)]

    @writes
    def purge_order_done(self, node_id: str, order: PurgeOrder) -> None:
        """A node has carried out this order, and all before it."""
        with self._writing() as db:
            if not self._insert_once(db, t.purge_nodes, node_id=node_id, done=order.id, seen_at=now()):
                mine = t.purge_nodes.c.node_id == node_id
                db.execute(update(t.purge_nodes).where(mine).values(done=order.id, seen_at=now()))

    def unneeded_contents(self, limit: int = 500) -> list[str]:
        """Contents of purged threads that no thread needs any more."""
        c = t.purge_blobs.c
        needed = select(t.blob_refs.c.sha256).where(t.blob_refs.c.sha256 == c.sha256)
        with self._reading() as db:
            return list(db.execute(select(c.sha256).where(~exists(needed)).limit(limit)).scalars())

    def needs_content(self, sha256: str) -> bool:
        """Whether a thread needs this content now."""
        with self._reading() as db:
            return bool(db.execute(select(exists().where(t.blob_refs.c.sha256 == sha256))).scalar())

    @writes
    def contents_deleted(self, contents: Sequence[str]) -> None:
        """These contents have left the file store, and leave the list. Given none, those that a thread needs again do.

        A call with contents looks at no other rows: there may be thousands, and each content has a call of its own.
        """
        c = t.purge_blobs.c
        needed = select(t.blob_refs.c.sha256).where(t.blob_refs.c.sha256 == c.sha256)
        with self._writing() as db:
            db.execute(delete(t.purge_blobs).where(c.sha256.in_(contents) if contents else exists(needed)))


def _nothing_since(older_than: datetime) -> ColumnElement[bool]:
    """SQL: nothing happened in a row of `threads` since then, no turn runs there, and no report is made again.

    What we post happens too: a schedule that stopped asks whether to repair its report, perhaps long after any message.
    """
    c = t.threads.c
    fresh_mail = select(t.messages.c.id).where(t.messages.c.thread_id == c.id, t.messages.c.received_at >= older_than)
    fresh_turn = or_(t.turns.c.created_at >= older_than, t.turns.c.ended_at >= older_than)
    at_work = or_(fresh_turn, t.turns.c.status == "running")
    fresh_work = select(t.turns.c.id).where(t.turns.c.thread_id == c.id, at_work)
    fresh_post = select(t.outbox.c.key).where(t.outbox.c.thread_id == c.id, t.outbox.c.created_at >= older_than)
    scheduled = select(t.schedules.c.id).where(t.schedules.c.thread_id == c.id, t.schedules.c.state == "active")
    happened = (fresh_mail, fresh_work, fresh_post, scheduled)
    return and_(c.created_at < older_than, *(~exists(each) for each in happened))


def _is_still_old(db: Connection, thread_id: str, older_than: datetime) -> bool:
    """Whether nothing happened since then in a thread and in those that hold words of it.

    The thread's row is locked: on Postgres, a message that comes now waits until the transaction has ended.
    """
    c = t.threads.c
    db.execute(select(c.id).where(c.id == thread_id).with_for_update())
    meant = {thread_id, *inheritors_of(db, [thread_id])}
    old = select(func.count()).select_from(t.threads).where(c.id.in_(meant), _nothing_since(older_than))
    return int(db.execute(old).scalar_one()) == len(meant)


def _all_heirs(db: Connection) -> dict[str, set[str]]:
    """For each thread, the other threads that contain text of it, directly or not. Others are left out."""
    direct: dict[str, set[str]] = {}
    for thread_id, source_id in db.execute(select(t.lineage.c.thread_id, t.lineage.c.source_id)):
        direct.setdefault(source_id, set()).add(thread_id)
    heirs = {}
    for source in direct:
        known = fresh = {source}
        while fresh:
            fresh = set[str]().union(*(direct.get(each, ()) for each in fresh)) - known
            known = known | fresh
        heirs[source] = known - {source}
    return heirs


def _youngest_first(thread_ids: Collection[str], heirs: Mapping[str, Collection[str]]) -> list[str]:
    """The threads in an order in which each comes before the threads whose words it holds."""
    found: list[str] = []
    left = set(thread_ids)
    while left:
        behind = {each for each in left if not left.isdisjoint(heirs.get(each, ()))}
        first = left - behind or left
        found += sorted(first)
        left = left - first
    return found


def _rows_of(thread_id: str) -> list[tuple[Table, ColumnElement[bool]]]:
    """The rows of a thread in every table that has any, in an order in which they can be deleted.

    A test compares the tables with the schema.
    """
    turns = select(t.turns.c.id).where(t.turns.c.thread_id == thread_id)
    messages = select(t.messages.c.id).where(t.messages.c.thread_id == thread_id)
    schedules = select(t.schedules.c.id).where(t.schedules.c.thread_id == thread_id)
    return [
        (t.schedule_runs, t.schedule_runs.c.schedule_id.in_(schedules)),
        (t.schedules, t.schedules.c.thread_id == thread_id),
        (t.message_versions, t.message_versions.c.message_id.in_(messages)),
        (t.messages, t.messages.c.thread_id == thread_id),
        (t.steps, t.steps.c.turn_id.in_(turns)),
        (t.model_calls, t.model_calls.c.thread_id == thread_id),
        (t.reports, t.reports.c.turn_id.in_(turns)),
        (t.votes, t.votes.c.turn_id.in_(turns)),
        (t.examples, t.examples.c.turn_id.in_(turns)),
        (t.turns, t.turns.c.thread_id == thread_id),
        (t.thread_files, t.thread_files.c.thread_id == thread_id),
        (t.outbox, t.outbox.c.thread_id == thread_id),
        (t.blob_refs, t.blob_refs.c.thread_id == thread_id),
        (t.pins, t.pins.c.thread_id == thread_id),
        (t.own_pins, t.own_pins.c.thread_id == thread_id),
        (t.descriptions, t.descriptions.c.thread_id == thread_id),
        (t.lineage, or_(t.lineage.c.thread_id == thread_id, t.lineage.c.source_id == thread_id)),
        (t.thread_vectors, t.thread_vectors.c.thread_id == thread_id),
        (t.searches, t.searches.c.thread_id == thread_id),
    ]


PURGED = frozenset(table.name for table, _ in _rows_of(""))
KEPT = frozenset(
    {
        *("threads", "audit", "purge_orders", "purge_nodes", "purge_blobs", "packed_totals", "schema_versions"),
        *("tombstones", "installations", "installation_teams", "oauth_states"),
    }
)
"""Tables that a purge leaves: they hold ids, numbers, hashes, names of workspaces and sealed tokens, and no words."""
OF_PEOPLE = frozenset({"preferences"})
"""Tables that hold no trace of a thread. A purge of a person deletes theirs."""
