"""The first schema: threads, messages, turns, steps, files, reports, outbox."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

UNREAD = sa.text("turn_id IS NULL")
OPEN = sa.text("status IN ('running', 'waiting')")


def upgrade() -> None:
    op.create_table(
        "threads",
        sa.Column("id", sa.String(length=200), nullable=False),
        sa.Column("team", sa.String(length=60), nullable=False),
        sa.Column("channel", sa.String(length=60), nullable=False),
        sa.Column("root_ts", sa.String(length=60), nullable=False),
        sa.Column("fence", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("host_id", sa.String(length=100), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_threads"),
    )
    op.create_table(
        "outbox",
        sa.Column("key", sa.String(length=300), nullable=False),
        sa.Column("thread_id", sa.String(length=200), nullable=False),
        sa.Column("method", sa.String(length=100), nullable=False),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("ts", sa.String(length=60), nullable=True),
        sa.Column("response", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["thread_id"], ["threads.id"], name="fk_outbox_thread_id"),
        sa.PrimaryKeyConstraint("key", name="pk_outbox"),
    )
    op.create_index("ix_outbox_thread_id", "outbox", ["thread_id"], unique=False)
    op.create_table(
        "thread_files",
        sa.Column("id", sa.Integer().with_variant(sa.BigInteger(), "postgresql"), nullable=False),
        sa.Column("thread_id", sa.String(length=200), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("mimetype", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["thread_id"], ["threads.id"], name="fk_thread_files_thread_id"),
        sa.PrimaryKeyConstraint("id", name="pk_thread_files"),
        sa.UniqueConstraint("thread_id", "name", "sha256", name="uq_thread_files_thread_id_name_sha256"),
    )
    op.create_table(
        "turns",
        sa.Column("id", sa.String(length=220), nullable=False),
        sa.Column("thread_id", sa.String(length=200), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("language", sa.String(length=10), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["thread_id"], ["threads.id"], name="fk_turns_thread_id"),
        sa.PrimaryKeyConstraint("id", name="pk_turns"),
        sa.UniqueConstraint("thread_id", "number", name="uq_turns_thread_id_number"),
    )
    op.create_index("ix_turns_one_open", "turns", ["thread_id"], unique=True, sqlite_where=OPEN, postgresql_where=OPEN)
    op.create_table(
        "messages",
        sa.Column("id", sa.Integer().with_variant(sa.BigInteger(), "postgresql"), nullable=False),
        sa.Column("thread_id", sa.String(length=200), nullable=False),
        sa.Column("team", sa.String(length=60), nullable=False),
        sa.Column("channel", sa.String(length=60), nullable=False),
        sa.Column("channel_type", sa.String(length=20), nullable=False),
        sa.Column("ts", sa.String(length=60), nullable=False),
        sa.Column("user", sa.String(length=60), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("mention", sa.Boolean(), nullable=False),
        sa.Column("files", sa.JSON(), nullable=False),
        sa.Column("files_known", sa.Boolean(), nullable=False),
        sa.Column("quiet", sa.Boolean(), nullable=False),
        sa.Column("turn_id", sa.String(length=220), nullable=True),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["thread_id"], ["threads.id"], name="fk_messages_thread_id"),
        sa.ForeignKeyConstraint(["turn_id"], ["turns.id"], name="fk_messages_turn_id"),
        sa.PrimaryKeyConstraint("id", name="pk_messages"),
        sa.UniqueConstraint("team", "channel", "ts", name="uq_messages_team_channel_ts"),
    )
    op.create_index("ix_messages_unread", "messages", ["thread_id"], sqlite_where=UNREAD, postgresql_where=UNREAD)
    op.create_table(
        "reports",
        sa.Column("turn_id", sa.String(length=220), nullable=False),
        sa.Column("markdown", sa.Text(), nullable=False),
        sa.Column("files", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["turn_id"], ["turns.id"], name="fk_reports_turn_id"),
        sa.PrimaryKeyConstraint("turn_id", name="pk_reports"),
    )
    op.create_table(
        "steps",
        sa.Column("id", sa.Integer().with_variant(sa.BigInteger(), "postgresql"), nullable=False),
        sa.Column("turn_id", sa.String(length=220), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["turn_id"], ["turns.id"], name="fk_steps_turn_id"),
        sa.PrimaryKeyConstraint("id", name="pk_steps"),
        sa.UniqueConstraint("turn_id", "seq", name="uq_steps_turn_id_seq"),
    )


def downgrade() -> None:
    op.drop_table("steps")
    op.drop_table("reports")
    op.drop_index("ix_messages_unread", table_name="messages", sqlite_where=UNREAD, postgresql_where=UNREAD)
    op.drop_table("messages")
    op.drop_index("ix_turns_one_open", table_name="turns", sqlite_where=OPEN, postgresql_where=OPEN)
    op.drop_table("turns")
    op.drop_table("thread_files")
    op.drop_index("ix_outbox_thread_id", table_name="outbox")
    op.drop_table("outbox")
    op.drop_table("threads")
