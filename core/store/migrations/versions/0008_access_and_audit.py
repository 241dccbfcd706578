"""What is known of who wrote, messages by thread, and who did what: rows that the database itself never lets change."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_SQLITE = "CREATE TRIGGER audit_no_{verb} BEFORE {verb} ON audit BEGIN SELECT RAISE(ABORT, 'audit is append-only'); END"
_POSTGRES = (
    "CREATE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'audit is append-only'; END $$",
    "CREATE TRIGGER audit_no_change BEFORE UPDATE OR DELETE OR TRUNCATE ON audit "
    "FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only()",
)


def upgrade() -> None:
    op.add_column("messages", sa.Column("standing", sa.String(length=20), nullable=True))
    op.create_index("ix_messages_thread_id", "messages", ["thread_id"])
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer().with_variant(sa.BigInteger(), "postgresql"), nullable=False),
        sa.Column("key", sa.String(length=500), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor", sa.String(length=200), nullable=False),
        sa.Column("action", sa.String(length=40), nullable=False),
        sa.Column("resource", sa.String(length=300), nullable=False),
        sa.Column("outcome", sa.String(length=20), nullable=False),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit"),
        sa.UniqueConstraint("key", name="uq_audit_key"),
    )
    op.create_index("ix_audit_at", "audit", ["at"])
    if op.get_bind().dialect.name == "sqlite":
        for verb in ("UPDATE", "DELETE"):
            op.execute(_SQLITE.format(verb=verb))
    else:
        for statement in _POSTGRES:
            op.execute(statement)


def downgrade() -> None:
    op.drop_table("audit")
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION audit_is_append_only()")
    op.drop_index("ix_messages_thread_id", table_name="messages")
    op.drop_column("messages", "standing")
