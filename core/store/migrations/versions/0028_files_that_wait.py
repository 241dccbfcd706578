"""An index of the files that wait for a person's yes, so that the app's home can list them."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"

_HOLDS_FILES = sa.text("kind = 'files_held'")


def upgrade() -> None:
    op.create_index(
        "ix_steps_files_held", "steps", ["created_at"], sqlite_where=_HOLDS_FILES, postgresql_where=_HOLDS_FILES
    )


def downgrade() -> None:
    op.drop_index("ix_steps_files_held", table_name="steps")
