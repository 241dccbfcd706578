"""What a thread's session was after its last cell, and which cell began last: for hosts that hand threads over."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("threads", sa.Column("packed", sa.String(length=64), nullable=True))
    op.add_column("threads", sa.Column("begun_cell", sa.String(length=500), nullable=True))


def downgrade() -> None:
    op.drop_column("threads", "begun_cell")
    op.drop_column("threads", "packed")
