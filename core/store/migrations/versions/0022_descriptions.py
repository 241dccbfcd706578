"""What somebody says a thread is about."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    op.create_table(
        "descriptions",
        sa.Column("thread_id", sa.String(length=200), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("user", sa.String(length=60), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["thread_id"], ["threads.id"], name="fk_descriptions_thread_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("thread_id", name="pk_descriptions"),
    )


def downgrade() -> None:
    op.drop_table("descriptions")
