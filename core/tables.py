"""The schema of the Store. `core/migrations/` brings a database to it; a test compares the two.

threads ─┬─ messages   what people said, unique by (team, channel, ts); `turn_id` is the turn that read it, or null
         ├─ turns ─┬─ steps        what happened, in order; append only
         │         ├─ model_calls  what each call of a model took, by thread, channel, person and time
         │         └─ reports      how the turn ended for the people in the thread
         ├─ thread_files        inputs of the thread, in the order they came
         └─ outbox              what was or is being sent to Slack, by deterministic key

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
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
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
"""SQLite counts up only in a column that is plainly INTEGER."""

OPEN = text("status IN ('running', 'waiting')")
UNREAD = text("turn_id IS NULL")
"""The small part of a table that is asked for again and again. A query uses the index when it says the same words."""

threads = Table(
    "threads",
    metadata,
    Column("id", String(200), primary_key=True),
    Column("team", String(60), nullable=False),
    Column("channel", String(60), nullable=False),
    Column("root_ts", String(60), nullable=False),
    Column("fence", BigInteger, nullable=False, server_default="0"),
    Column("host_id", String(100)),
    Column("created_at", UtcDateTime, nullable=False),
    Column("packed", String(64)),
    Column("begun_cell", String(500)),
)

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
    Column("turn_id", ForeignKey("turns.id")),
    Column("received_at", UtcDateTime, nullable=False),
    UniqueConstraint("team", "channel", "ts"),
    Index("ix_messages_unread", "thread_id", sqlite_where=UNREAD, postgresql_where=UNREAD),
)

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
    Index("ix_model_calls_created_at_user", "created_at", "user"),
)
"""`user` is the person whose message began the turn."""

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
)

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
    Index("ix_outbox_thread_id", "thread_id"),
)
