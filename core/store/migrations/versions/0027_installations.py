"""Many workspaces: installations with encrypted tokens, and the states of those on their way."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    op.create_table(
        "installations",
        sa.Column("enterprise", sa.String(length=60), nullable=False),
        sa.Column("team", sa.String(length=60), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("about", sa.JSON(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("refreshing_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("installed_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("enterprise", "team", name="pk_installations"),
    )
    op.create_index("ix_installations_team", "installations", ["team"])
    op.create_table(
        "installation_teams",
        sa.Column("team", sa.String(length=60), nullable=False),
        sa.Column("enterprise", sa.String(length=60), nullable=False),
        sa.PrimaryKeyConstraint("team", name="pk_installation_teams"),
    )
    op.create_index("ix_installation_teams_enterprise", "installation_teams", ["enterprise"])
    op.create_table(
        "oauth_states",
        sa.Column("state", sa.String(length=64), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("state", name="pk_oauth_states"),
    )
    op.create_index("ix_oauth_states_expires_at", "oauth_states", ["expires_at"])


def downgrade() -> None:
    op.drop_index("ix_oauth_states_expires_at", table_name="oauth_states")
    op.drop_table("oauth_states")
    op.drop_index("ix_installation_teams_enterprise", table_name="installation_teams")
    op.drop_table("installation_teams")
    op.drop_index("ix_installations_team", table_name="installations")
    op.drop_table("installations")
