"""A talk that a message wants read, the message that told the bot to leave, and threads by their latest message."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

UNREAD = sa.text("turn_id IS NULL AND (NOT quiet OR talk_wanted)")
UNREAD_BEFORE = sa.text("turn_id IS NULL AND NOT quiet")


def upgrade() -> None:
    op.add_column("threads", sa.Column("left_ts", sa.String(length=60), nullable=True))
    op.add_column("messages", sa.Column("talk_wanted", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.create_index("ix_messages_received_at", "messages", ["received_at"])
    op.drop_index("ix_messages_mail", table_name="messages")
    op.create_index("ix_messages_mail", "messages", ["thread_id"], sqlite_where=UNREAD, postgresql_where=UNREAD)


def downgrade() -> None:
    before = UNREAD_BEFORE
    op.drop_index("ix_messages_mail", table_name="messages")
    op.create_index("ix_messages_mail", "messages", ["thread_id"], sqlite_where=before, postgresql_where=before)
    op.drop_index("ix_messages_received_at", table_name="messages")
    op.drop_column("messages", "talk_wanted")
    op.drop_column("threads", "left_ts")
