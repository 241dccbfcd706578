"""The schema of the Store. `core/store/migrations/` brings a database to it; a test compares the two.

threads ─┬─ messages   what people wrote, unique by (team, channel, ts); `turn_id` is the turn that read it, or null
         ├─ turns ─┬─ steps        what happened, in order; append only
         │         ├─ model_calls  what each call of a model took, by thread, channel, person and time
         │         ├─ reports      how the turn ended for the people in the thread
         │         ├─ votes        what people think of its report, one for each person
         │         └─ examples     who marked it as an example to learn from
         ├─ thread_files        inputs of the thread, in the order in which they came
         ├─ schedules ─ schedule_runs   reports that are made again and again, and each time that one was due
         ├─ pins                threads that somebody wants to find again
         ├─ own_pins            those that a person wants to find again themselves
         ├─ descriptions        what somebody says a thread is about
         ├─ lineage             threads whose words were taken from another thread
         ├─ thread_vectors      what a thread is about, as vectors of an embedding model
         └─ outbox              what was or is being sent to Slack, by deterministic key
schema_versions                 which code works with the schema of each revision

messages ── message_versions   what a message said before it was changed
threads ── blob_refs           the contents of the file store that a thread needs
purge_orders     threads whose traces every node deletes; purge_nodes says how far each node is
purge_blobs      contents to delete from the file store once no thread needs them
searches         words of people for which a worker looks up threads that mean the same; they stay for a minute
tombstones       threads that were deleted for good: the hash of what they held, and when

preferences      what people chose in Slack, by person, channel and workspace

installations    workspaces and organisations that have installed the app, their tokens encrypted;
                 installation_teams says which workspaces that of an organisation serves
oauth_states     installations on their way: each state counts once

audit            who did what; append only, which triggers of the database see to

Times are UTC. Ids of threads and turns are text made of Slack's own ids, so that they mean the same in every database.
"""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
)
from sqlalchemy.types import TypeDecorator

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


class UtcDateTime(TypeDecorator[datetime]):
    """An aware datetime in UTC, also where the database keeps no time zone (SQLite)."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time without its zone")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


Id = Integer().with_variant(BigInteger, "postgresql")
"""SQLite numbers rows by itself only in a column whose type is INTEGER."""

OPEN = text("status IN ('running', 'waiting')")
UNREAD = text("turn_id IS NULL AND (NOT quiet OR talk_wanted)")
"""Conditions of the partial indexes. A query uses such an index only when it holds exactly the same text."""

NOT_READ = text("turn_id IS NULL")
"""The condition for unread messages and for those that nobody has to read: what people said to a bot that had nothing
to do."""
OF_A_TURN = text("turn_id IS NOT NULL")
"""The condition of an index. Without it, SQLite would use that index to find unread messages."""
TO_CHECK = text("clean_room_state IN ('due', 'ended')")
"""The condition of an index: reports whose code is to be run again, or whose badge is to be drawn."""

HOLDS_FILES = text("kind = 'files_held'")
"""The condition of an index: steps that have files wait for a yes."""

ACTIVE = text("state = 'active'")
TO_RUN = text("state IN ('due', 'ended')")
"""The conditions of two indexes: schedules that wait for their time, and runs that are not over."""

threads = Table(
    "threads",
    metadata,
    Column("id", String(200), primary_key=True),
    Column("team", String(60), nullable=False),
    Column("channel", String(60), nullable=False),
    Column("root_ts", String(60), nullable=False),
    Column("fence", BigInteger, nullable=False, server_default="0"),
    Column("host_id", String(100), key="node_id"),
    Column("created_at", UtcDateTime, nullable=False),
    Column("packed", String(64), key="exported_session"),
    Column("begun_cell", String(500)),
    Column("left_ts", String(60)),
    Column("packed_before", String(64), key="exported_before"),
    Column("packed_bytes", BigInteger, nullable=False, server_default="0", key="exported_bytes"),
)
"""`left_ts` is the ts of the message that told the bot to leave; null while the bot takes part."""

packed_totals = Table(
    "packed_totals",
    metadata,
    Column("scope", String(200), primary_key=True),
    Column("bytes", BigInteger, nullable=False),
)
"""Bytes of exported sessions by scope: "node:NAME" or "team:ID". Kept up with `threads.packed_bytes`."""

turns = Table(
    "turns",
    metadata,
    Column("id", String(220), primary_key=True),
    Column("thread_id", ForeignKey("threads.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("status", String(20), nullable=False),
    Column("language", String(10), nullable=False),
    Column("model", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("ended_at", UtcDateTime),
    UniqueConstraint("thread_id", "number"),
    Index("ix_turns_one_open", "thread_id", unique=True, sqlite_where=OPEN, postgresql_where=OPEN),
    Index("ix_turns_ended_at", "ended_at"),
)

messages = Table(
    "messages",
    metadata,
    Column("id", Id, primary_key=True),
    Column("thread_id", ForeignKey("threads.id"), nullable=False),
    Column("team", String(60), nullable=False),
    Column("channel", String(60), nullable=False),
    Column("channel_type", String(20), nullable=False),
    Column("ts", String(60), nullable=False),
    Column("user", String(60), nullable=False),
    Column("author", Text, nullable=False),
    Column("kind", String(20), nullable=False),
    Column("text", Text, nullable=False),
    Column("mention", Boolean, nullable=False),
    Column("files", JSON, nullable=False),
    Column("files_known", Boolean, nullable=False),
    Column("quiet", Boolean, nullable=False),
    Column("talk_wanted", Boolean, nullable=False, server_default=false()),
    Column("turn_id", ForeignKey("turns.id")),
    Column("received_at", UtcDateTime, nullable=False),
    Column("standing", String(20)),
    UniqueConstraint("team", "channel", "ts"),
    Index("ix_messages_thread_id", "thread_id"),
    Index("ix_messages_mail", "thread_id", sqlite_where=UNREAD, postgresql_where=UNREAD),
    Index("ix_messages_turn_id", "turn_id", sqlite_where=OF_A_TURN, postgresql_where=OF_A_TURN),
    # Only code before revision 0004 asks for this one; a migration after the next release may drop it.
    Index("ix_messages_unread", "thread_id", sqlite_where=NOT_READ, postgresql_where=NOT_READ),
    Index("ix_messages_received_at", "received_at"),
    Index("ix_messages_user_received_at", "user", "received_at"),
)
"""`talk_wanted`: this message called the bot into a conversation of people, and no worker has read that talk yet."""

steps = Table(
    "steps",
    metadata,
    Column("id", Id, primary_key=True),
    Column("turn_id", ForeignKey("turns.id"), nullable=False),
    Column("seq", Integer, nullable=False),
    Column("kind", String(40), nullable=False),
    Column("body", JSON, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    UniqueConstraint("turn_id", "seq"),
    Index("ix_steps_files_held", "created_at", sqlite_where=HOLDS_FILES, postgresql_where=HOLDS_FILES),
)

model_calls = Table(
    "model_calls",
    metadata,
    Column("id", Id, primary_key=True),
    Column("turn_id", ForeignKey("turns.id"), nullable=False),
    Column("thread_id", ForeignKey("threads.id"), nullable=False),
    Column("channel", String(60), nullable=False),
    Column("user", String(60), nullable=False),
    Column("model", Text, nullable=False),
    Column("prompt_tokens", BigInteger, nullable=False),
    Column("cached_tokens", BigInteger, nullable=False),
    Column("completion_tokens", BigInteger, nullable=False),
    Column("cost_micros", BigInteger),
    Column("created_at", UtcDateTime, nullable=False),
    Index("ix_model_calls_thread_id", "thread_id"),
    Index("ix_model_calls_turn_id", "turn_id"),
    Index("ix_model_calls_user_created_at", "user", "created_at"),
    Index("ix_model_calls_created_at_user", "created_at", "user"),
)
"""`user` is the person whose message began the turn, or continued it last. A budget of a person reads the first index,
by user and day; one of the whole team reads the second, by day."""

thread_files = Table(
    "thread_files",
    metadata,
    Column("id", Id, primary_key=True),
    Column("thread_id", ForeignKey("threads.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("mimetype", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    UniqueConstraint("thread_id", "name", "sha256"),
)

reports = Table(
    "reports",
    metadata,
    Column("turn_id", ForeignKey("turns.id"), primary_key=True),
    Column("markdown", Text, nullable=False),
    Column("files", JSON, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("clean_room", JSON),
    Column("clean_room_state", String(20)),
    Column("clean_room_outcome", JSON),
    Column("clean_room_node", String(100)),
    Column("clean_room_at", UtcDateTime),
    Column("clean_room_tries", Integer, nullable=False, server_default="0"),
    Index("ix_reports_to_check", "created_at", sqlite_where=TO_CHECK, postgresql_where=TO_CHECK),
)
"""`clean_room` is what has to be known to run a report's code again (`core/store/clean_rooms.py`); null where it is not
run again. `clean_room_at` is when `clean_room_node` began it."""

votes = Table(
    "votes",
    metadata,
    Column("turn_id", ForeignKey("turns.id", ondelete="CASCADE"), primary_key=True),
    Column("user", String(60), primary_key=True),
    Column("vote", String(10), nullable=False),
    Column("reason", Text, nullable=False),
    Column("at", UtcDateTime, nullable=False),
)

examples = Table(
    "examples",
    metadata,
    Column("turn_id", ForeignKey("turns.id", ondelete="CASCADE"), primary_key=True),
    Column("user", String(60), primary_key=True),
    Column("at", UtcDateTime, nullable=False),
)
"""Turns that somebody marked as an example to learn from."""

pins = Table(
    "pins",
    metadata,
    Column("thread_id", ForeignKey("threads.id", ondelete="CASCADE"), primary_key=True),
    Column("user", String(60), nullable=False),
    Column("at", UtcDateTime, nullable=False),
)

own_pins = Table(
    "own_pins",
    metadata,
    Column("thread_id", ForeignKey("threads.id", ondelete="CASCADE"), primary_key=True),
    Column("user", String(60), primary_key=True),
    Column("at", UtcDateTime, nullable=False),
    Index("ix_own_pins_user", "user"),
)
"""Threads that a person has pinned in the app's home, for themselves."""

schedules = Table(
    "schedules",
    metadata,
    Column("id", String(260), primary_key=True),
    Column("thread_id", ForeignKey("threads.id", ondelete="CASCADE"), nullable=False),
    Column("turn_id", ForeignKey("turns.id", ondelete="CASCADE"), nullable=False),
    Column("owner", String(60), nullable=False),
    Column("said", Text, nullable=False),
    Column("order", JSON, nullable=False),
    Column("state", String(20), nullable=False),
    Column("reason", Text, nullable=False),
    Column("next_at", UtcDateTime, nullable=False),
    Column("shown", JSON, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Index("ix_schedules_due", "next_at", sqlite_where=ACTIVE, postgresql_where=ACTIVE),
    Index("ix_schedules_thread_id", "thread_id"),
    Index("ix_schedules_turn_id", "turn_id"),
    Index("ix_schedules_owner", "owner"),
)
"""`order` is a `core.schedules.values.ScheduleOrder`; `shown` are the figures (`Figure` there) that people saw last."""

schedule_runs = Table(
    "schedule_runs",
    metadata,
    Column("id", Id, primary_key=True),
    Column("schedule_id", ForeignKey("schedules.id", ondelete="CASCADE"), nullable=False),
    Column("due_at", UtcDateTime, nullable=False),
    Column("state", String(20), nullable=False),
    Column("tries", Integer, nullable=False, server_default="0"),
    Column("node_id", String(100)),
    Column("taken_at", UtcDateTime),
    Column("outcome", JSON),
    UniqueConstraint("schedule_id", "due_at"),
    Index("ix_schedule_runs_open", "due_at", sqlite_where=TO_RUN, postgresql_where=TO_RUN),
)
"""Each due time once. `due`: to be run · `ended`: to be told · `told`: over."""

descriptions = Table(
    "descriptions",
    metadata,
    Column("thread_id", ForeignKey("threads.id", ondelete="CASCADE"), primary_key=True),
    Column("text", Text, nullable=False),
    Column("user", String(60), nullable=False),
    Column("at", UtcDateTime, nullable=False),
)
"""What somebody says a thread is about."""

lineage = Table(
    "lineage",
    metadata,
    Column("thread_id", ForeignKey("threads.id", ondelete="CASCADE"), primary_key=True),
    Column("source_id", String(200), primary_key=True),
    Column("created_at", UtcDateTime, nullable=False),
    Index("ix_lineage_source_id", "source_id"),
)
"""A thread that holds words of another one, its source. What is deleted there is deleted here."""

thread_vectors = Table(
    "thread_vectors",
    metadata,
    Column("thread_id", String(200), primary_key=True),
    Column("team", String(60), nullable=False),
    Column("model", Text, nullable=False),
    Column("dims", Integer, nullable=False),
    Column("vectors", LargeBinary, nullable=False),
    Column("upto", BigInteger, nullable=False),
    Column("changed", BigInteger, nullable=False),
    Index("ix_thread_vectors_team_model", "team", "model"),
    Index("ix_thread_vectors_model", "model"),
)
"""`model` is "" where they have to be made again. `upto` is the last step that was read. `changed` counts what was
taken back: vectors of words that were deleted meanwhile are not stored. There is no foreign key, because writing one
would lock the thread."""

searches = Table(
    "searches",
    metadata,
    Column("id", Id, primary_key=True),
    Column("thread_id", String(200), nullable=False),
    Column("team", String(60), nullable=False),
    Column("channel", String(60), nullable=False),
    Column("text", Text, nullable=False),
    Column("found", JSON),
    Column("at", UtcDateTime, nullable=False),
    Index("ix_searches_at", "at"),
    Index("ix_searches_thread_id", "thread_id"),
)
"""`thread_id` is where they were said. `found` are the threads, the nearest first; null until a worker has looked."""

tombstones = Table(
    "tombstones",
    metadata,
    Column("thread_id", String(200), primary_key=True),
    Column("state", String(64), nullable=False),
    Column("turns", Integer, nullable=False),
    Column("purged_at", UtcDateTime, nullable=False),
)
"""`state` is the hash of the thread's last state (`workers/agent/thread/states.py`), "" when nobody worked it out."""

outbox = Table(
    "outbox",
    metadata,
    Column("key", String(300), primary_key=True),
    Column("thread_id", ForeignKey("threads.id"), nullable=False),
    Column("method", String(100), nullable=False),
    Column("payload", JSON, nullable=False),
    Column("status", String(20), nullable=False),
    Column("ts", String(60)),
    Column("response", JSON, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("sent_at", UtcDateTime),
    Column("after_ts", String(60)),
    Index("ix_outbox_thread_id_ts", "thread_id", "ts"),
)
"""`after_ts` is the newest ts of the thread's rows when this row was made: a post of this row stands behind it."""

schema_versions = Table(
    "schema_versions",
    metadata,
    Column("revision", String(32), primary_key=True),
    Column("code_from", String(32), nullable=False),
    Column("made_by", String(60), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
)
"""Code whose newest revision is `code_from` or later works with the schema of `revision`, which version `made_by` made.

Older code reads this table (`schema.py`): it may get columns that have a default, and must never lose one.
"""

audit = Table(
    "audit",
    metadata,
    Column("id", Id, primary_key=True),
    Column("key", String(500), unique=True),
    Column("at", UtcDateTime, nullable=False),
    Column("actor", String(200), nullable=False),
    Column("action", String(40), nullable=False),
    Column("resource", String(300), nullable=False),
    Column("outcome", String(20), nullable=False),
    Column("details", JSON, nullable=False),
    Index("ix_audit_at", "at"),
)

message_versions = Table(
    "message_versions",
    metadata,
    Column("id", Id, primary_key=True),
    Column("message_id", ForeignKey("messages.id"), nullable=False),
    Column("text", Text, nullable=False),
    Column("replaced_at", UtcDateTime, nullable=False),
    Index("ix_message_versions_message_id", "message_id"),
)

preferences = Table(
    "preferences",
    metadata,
    Column("team", String(60), primary_key=True),
    Column("subject", String(60), primary_key=True),
    Column("body", JSON, nullable=False),
    Column("changed_at", UtcDateTime, nullable=False),
    Column("changed_by", String(60), nullable=False),
    Index("ix_preferences_subject", "subject"),
)
"""`subject` is the id of a person or a channel, or "" for the whole workspace. One row, of no workspace, has the key of
`service_keys.py`."""

installations = Table(
    "installations",
    metadata,
    Column("enterprise", String(60), primary_key=True),
    Column("team", String(60), primary_key=True),
    Column("secret", Text, nullable=False),
    Column("about", JSON, nullable=False),
    Column("expires_at", UtcDateTime),
    Column("refreshing_until", UtcDateTime),
    Column("installed_at", UtcDateTime, nullable=False),
    Index("ix_installations_team", "team"),
)
"""`enterprise` is "" outside Enterprise Grid, `team` is "" for the installation of a whole organisation."""

installation_teams = Table(
    "installation_teams",
    metadata,
    Column("team", String(60), primary_key=True),
    Column("enterprise", String(60), nullable=False),
    Index("ix_installation_teams_enterprise", "enterprise"),
)

oauth_states = Table(
    "oauth_states",
    metadata,
    Column("state", String(64), primary_key=True),
    Column("expires_at", UtcDateTime, nullable=False),
    Index("ix_oauth_states_expires_at", "expires_at"),
)
"""`state` is a SHA-256, so that whoever reads the table can finish no installation."""

blob_refs = Table(
    "blob_refs",
    metadata,
    Column("thread_id", ForeignKey("threads.id"), primary_key=True),
    Column("sha256", String(64), primary_key=True),
    Index("ix_blob_refs_sha256", "sha256"),
)

purge_orders = Table(
    "purge_orders",
    metadata,
    Column("id", Id, primary_key=True),
    Column("thread_id", String(200), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
)

purge_nodes = Table(
    "purge_nodes",
    metadata,
    Column("node_id", String(100), primary_key=True),
    Column("done", BigInteger, nullable=False),
    Column("seen_at", UtcDateTime, nullable=False),
)

purge_blobs = Table(
    "purge_blobs",
    metadata,
    Column("sha256", String(64), primary_key=True),
    Column("created_at", UtcDateTime, nullable=False),
)
