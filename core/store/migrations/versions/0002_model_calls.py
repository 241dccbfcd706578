"""What each call of a model took, for budgets per thread, person and day. Earlier calls stay in their steps only."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "model_calls",
        sa.Column("id", sa.Integer().with_variant(sa.BigInteger(), "postgresql"), nullable=False),
        sa.Column("turn_id", sa.String(length=220), nullable=False),
        sa.Column("thread_id", sa.String(length=200), nullable=False),
        sa.Column("channel", sa.String(length=60), nullable=False),
        sa.Column("user", sa.String(length=60), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("prompt_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cached_tokens", sa.BigInteger(), nullable=False),
        sa.Column("completion_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cost_micros", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["turn_id"], ["turns.id"], name="fk_model_calls_turn_id"),
        sa.ForeignKeyConstraint(["thread_id"], ["threads.id"], name="fk_model_calls_thread_id"),
        sa.PrimaryKeyConstraint("id", name="pk_model_calls"),
    )
    op.create_index("ix_model_calls_thread_id", "model_calls", ["thread_id"])
    op.create_index("ix_model_calls_created_at_user", "model_calls", ["created_at", "user"])


def downgrade() -> None:
    op.drop_table("model_calls")
