"""Threads that a person has pinned in the app's home, for themselves."""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"


def upgrade() -> None:
    op.create_table(
        "own_pins",
        sa.Column("thread_id", sa.String(length=200), nullable=False),
        sa.Column("user", sa.String(length=60), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        # Code of the release before deletes threads without knowing of these pins.
        sa.ForeignKeyConstraint(["thread_id"], ["threads.id"], name="fk_own_pins_thread_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("thread_id", "user", name="pk_own_pins"),
    )
    op.create_index("ix_own_pins_user", "own_pins", ["user"])


def downgrade() -> None:
    op.drop_table("own_pins")
