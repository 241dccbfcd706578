"""The exported session before the last one, and how many bytes the two take: per thread, node and team."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.add_column("threads", sa.Column("packed_before", sa.String(length=64), nullable=True))
    op.add_column("threads", sa.Column("packed_bytes", sa.BigInteger(), nullable=False, server_default="0"))
    op.create_table(
        "packed_totals",
        sa.Column("scope", sa.String(length=200), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("scope", name="pk_packed_totals"),
    )


def downgrade() -> None:
    op.drop_table("packed_totals")
    op.drop_column("threads", "packed_bytes")
    op.drop_column("threads", "packed_before")
