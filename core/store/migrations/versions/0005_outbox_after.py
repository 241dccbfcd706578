"""Behind which message of its thread a post stands: where a lost one is looked for, by Slack's clock."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("outbox", sa.Column("after_ts", sa.String(length=60), nullable=True))
    op.create_index("ix_outbox_thread_id_ts", "outbox", ["thread_id", "ts"])
    op.drop_index("ix_outbox_thread_id", "outbox")


def downgrade() -> None:
    op.create_index("ix_outbox_thread_id", "outbox", ["thread_id"])
    op.drop_index("ix_outbox_thread_id_ts", "outbox")
    op.drop_column("outbox", "after_ts")
