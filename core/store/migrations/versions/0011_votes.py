"""What people think of reports."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.create_table(
        "votes",
        sa.Column("turn_id", sa.String(length=220), nullable=False),
        sa.Column("user", sa.String(length=60), nullable=False),
        sa.Column("vote", sa.String(length=10), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        # Code of the release before deletes turns without knowing of votes.
        sa.ForeignKeyConstraint(["turn_id"], ["turns.id"], name="fk_votes_turn_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("turn_id", "user", name="pk_votes"),
    )


def downgrade() -> None:
    op.drop_table("votes")
