"""The index of the messages of a turn has only messages that a turn has read.

SQLite took it for the question which messages no turn has read, and so read all that nobody has to read.
"""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"

_OF_A_TURN = sa.text("turn_id IS NOT NULL")


def upgrade() -> None:
    op.drop_index("ix_messages_turn_id", "messages")
    op.create_index(
        "ix_messages_turn_id", "messages", ["turn_id"], sqlite_where=_OF_A_TURN, postgresql_where=_OF_A_TURN
    )


def downgrade() -> None:
    op.drop_index("ix_messages_turn_id", "messages")
    op.create_index("ix_messages_turn_id", "messages", ["turn_id"])
