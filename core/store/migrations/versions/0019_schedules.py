"""Reports that are made again and again."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"

_ID = sa.Integer().with_variant(sa.BigInteger(), "postgresql")
_ACTIVE = sa.text("state = 'active'")
_TO_RUN = sa.text("state IN ('due', 'ended')")


def upgrade() -> None:
    op.create_table(
        "schedules",
        sa.Column("id", sa.String(length=260), nullable=False),
        sa.Column("thread_id", sa.String(length=200), nullable=False),
        sa.Column("turn_id", sa.String(length=220), nullable=False),
        sa.Column("owner", sa.String(length=60), nullable=False),
        sa.Column("said", sa.Text(), nullable=False),
        sa.Column("order", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("next_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("shown", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        # Code of the release before deletes threads and turns without knowing of schedules.
        sa.ForeignKeyConstraint(["thread_id"], ["threads.id"], name="fk_schedules_thread_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["turn_id"], ["turns.id"], name="fk_schedules_turn_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_schedules"),
    )
    op.create_index("ix_schedules_due", "schedules", ["next_at"], sqlite_where=_ACTIVE, postgresql_where=_ACTIVE)
    op.create_index("ix_schedules_thread_id", "schedules", ["thread_id"])
    op.create_index("ix_schedules_owner", "schedules", ["owner"])
    op.create_table(
        "schedule_runs",
        sa.Column("id", _ID, nullable=False),
        sa.Column("schedule_id", sa.String(length=260), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("tries", sa.Integer(), server_default="0", nullable=False),
        sa.Column("node_id", sa.String(length=100)),
        sa.Column("taken_at", sa.DateTime(timezone=True)),
        sa.Column("outcome", sa.JSON()),
        sa.ForeignKeyConstraint(
            ["schedule_id"], ["schedules.id"], name="fk_schedule_runs_schedule_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_schedule_runs"),
        sa.UniqueConstraint("schedule_id", "due_at", name="uq_schedule_runs_schedule_id_due_at"),
    )
    op.create_index(
        "ix_schedule_runs_open", "schedule_runs", ["due_at"], sqlite_where=_TO_RUN, postgresql_where=_TO_RUN
    )


def downgrade() -> None:
    op.drop_table("schedule_runs")
    op.drop_table("schedules")
