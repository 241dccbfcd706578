"""Reports whose code is run once more in a clean room: what has to be known for that, and its outcome."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

_TO_CHECK = sa.text("clean_room_state IN ('due', 'ended')")


def upgrade() -> None:
    op.add_column("reports", sa.Column("clean_room", sa.JSON()))
    op.add_column("reports", sa.Column("clean_room_state", sa.String(length=20)))
    op.add_column("reports", sa.Column("clean_room_outcome", sa.JSON()))
    op.add_column("reports", sa.Column("clean_room_node", sa.String(length=100)))
    op.add_column("reports", sa.Column("clean_room_at", sa.DateTime(timezone=True)))
    op.add_column("reports", sa.Column("clean_room_tries", sa.Integer(), nullable=False, server_default="0"))
    op.create_index(
        "ix_reports_to_check", "reports", ["created_at"], sqlite_where=_TO_CHECK, postgresql_where=_TO_CHECK
    )


def downgrade() -> None:
    op.drop_index("ix_reports_to_check", table_name="reports")
    for name in ("tries", "at", "node", "outcome", "state"):
        op.drop_column("reports", f"clean_room_{name}")
    op.drop_column("reports", "clean_room")
