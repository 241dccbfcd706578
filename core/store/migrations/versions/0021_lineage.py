"""Threads that hold words of other threads."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0019"


def upgrade() -> None:
    op.create_table(
        "lineage",
        sa.Column("thread_id", sa.String(length=200), nullable=False),
        sa.Column("source_id", sa.String(length=200), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["thread_id"], ["threads.id"], name="fk_lineage_thread_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("thread_id", "source_id", name="pk_lineage"),
    )
    op.create_index("ix_lineage_source_id", "lineage", ["source_id"])


def downgrade() -> None:
    op.drop_table("lineage")
