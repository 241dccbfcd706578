"""Which code works with a schema, and indexes for what is asked often."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

UNREAD = sa.text("turn_id IS NULL AND NOT quiet")


def upgrade() -> None:
    op.create_table(
        "schema_versions",
        sa.Column("revision", sa.String(length=32), nullable=False),
        sa.Column("code_from", sa.String(length=32), nullable=False),
        sa.Column("made_by", sa.String(length=60), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("revision", name="pk_schema_versions"),
    )
    op.create_index("ix_messages_mail", "messages", ["thread_id"], sqlite_where=UNREAD, postgresql_where=UNREAD)
    op.create_index("ix_messages_turn_id", "messages", ["turn_id"])
    op.create_index("ix_turns_ended_at", "turns", ["ended_at"])
    op.create_index("ix_model_calls_user_created_at", "model_calls", ["user", "created_at"])


def downgrade() -> None:
    op.drop_index("ix_model_calls_user_created_at", table_name="model_calls")
    op.drop_index("ix_turns_ended_at", table_name="turns")
    op.drop_index("ix_messages_turn_id", table_name="messages")
    op.drop_index("ix_messages_mail", table_name="messages", sqlite_where=UNREAD, postgresql_where=UNREAD)
    op.drop_table("schema_versions")
