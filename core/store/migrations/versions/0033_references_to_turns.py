"""Indexes of what refers to a turn. Before a turn is deleted, the database looks for rows that refer to it.

Without these, it read all model calls for each turn of a thread that is purged.
"""

from alembic import op

revision = "0033"
down_revision = "0032"


def upgrade() -> None:
    op.create_index("ix_model_calls_turn_id", "model_calls", ["turn_id"])
    op.create_index("ix_schedules_turn_id", "schedules", ["turn_id"])


def downgrade() -> None:
    op.drop_index("ix_schedules_turn_id", "schedules")
    op.drop_index("ix_model_calls_turn_id", "model_calls")
