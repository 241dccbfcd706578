"""What threads are about, as vectors of an embedding model, and the searches that look through them."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"


def upgrade() -> None:
    op.create_table(
        "thread_vectors",
        sa.Column("thread_id", sa.String(length=200), nullable=False),
        sa.Column("team", sa.String(length=60), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("dims", sa.Integer(), nullable=False),
        sa.Column("vectors", sa.LargeBinary(), nullable=False),
        sa.Column("upto", sa.BigInteger(), nullable=False),
        sa.Column("changed", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("thread_id", name="pk_thread_vectors"),
    )
    op.create_index("ix_thread_vectors_team_model", "thread_vectors", ["team", "model"])
    op.create_index("ix_thread_vectors_model", "thread_vectors", ["model"])
    op.create_table(
        "searches",
        sa.Column("id", sa.Integer().with_variant(sa.BigInteger(), "postgresql"), nullable=False),
        sa.Column("thread_id", sa.String(length=200), nullable=False),
        sa.Column("team", sa.String(length=60), nullable=False),
        sa.Column("channel", sa.String(length=60), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("found", sa.JSON(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_searches"),
    )
    op.create_index("ix_searches_at", "searches", ["at"])
    op.create_index("ix_searches_thread_id", "searches", ["thread_id"])


def downgrade() -> None:
    op.drop_table("searches")
    op.drop_table("thread_vectors")
