"""What people choose in Slack, and the threads of a person."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0011"


def upgrade() -> None:
    op.create_table(
        "preferences",
        sa.Column("team", sa.String(length=60), nullable=False),
        sa.Column("subject", sa.String(length=60), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_by", sa.String(length=60), nullable=False),
        sa.PrimaryKeyConstraint("team", "subject", name="pk_preferences"),
    )
    op.create_index("ix_preferences_subject", "preferences", ["subject"])
    op.create_index("ix_messages_user_received_at", "messages", ["user", "received_at"])


def downgrade() -> None:
    op.drop_index("ix_messages_user_received_at", table_name="messages")
    op.drop_table("preferences")
