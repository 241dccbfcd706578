"""What deletes for good: contents by thread, orders that every node carries out, and earlier texts of messages."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

_ID = sa.Integer().with_variant(sa.BigInteger(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "blob_refs",
        sa.Column("thread_id", sa.String(length=200), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["thread_id"], ["threads.id"], name="fk_blob_refs_thread_id"),
        sa.PrimaryKeyConstraint("thread_id", "sha256", name="pk_blob_refs"),
    )
    op.create_index("ix_blob_refs_sha256", "blob_refs", ["sha256"])
    op.create_table(
        "purge_orders",
        sa.Column("id", _ID, nullable=False),
        sa.Column("thread_id", sa.String(length=200), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_purge_orders"),
    )
    op.create_table(
        "purge_nodes",
        sa.Column("node_id", sa.String(length=100), nullable=False),
        sa.Column("done", sa.BigInteger(), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("node_id", name="pk_purge_nodes"),
    )
    op.create_table(
        "purge_blobs",
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name="pk_purge_blobs"),
    )
    op.create_table(
        "message_versions",
        sa.Column("id", _ID, nullable=False),
        sa.Column("message_id", _ID, nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("replaced_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["message_id"], ["messages.id"], name="fk_message_versions_message_id"),
        sa.PrimaryKeyConstraint("id", name="pk_message_versions"),
    )
    op.create_index("ix_message_versions_message_id", "message_versions", ["message_id"])
    _refer_to_what_is_there()


def _refer_to_what_is_there() -> None:
    """Contents that earlier versions stored. Those inside exported sessions are found when they are purged."""
    db = op.get_bind()
    found: set[tuple[str, str]] = set()
    found |= {(row[0], row[1]) for row in db.execute(sa.text("SELECT thread_id, sha256 FROM thread_files"))}
    packed = sa.text("SELECT id, packed FROM threads WHERE packed IS NOT NULL")
    found |= {(row[0], row[1]) for row in db.execute(packed)}
    for table, column in (("steps", "body"), ("reports", "files")):
        query = sa.text(
            f"SELECT turns.thread_id, {table}.{column} FROM {table} JOIN turns ON turns.id = {table}.turn_id "  # noqa: S608
            f"WHERE CAST({table}.{column} AS TEXT) LIKE '%sha256%'"
        )
        for thread_id, body in db.execute(query):
            value = json.loads(body) if isinstance(body, str) else body
            found |= {(thread_id, sha256) for sha256 in _contents(value)}
    refs = sa.table("blob_refs", sa.column("thread_id"), sa.column("sha256"))
    if found:
        op.bulk_insert(refs, [{"thread_id": thread_id, "sha256": sha256} for thread_id, sha256 in sorted(found)])


def _contents(value: object) -> set[str]:
    if isinstance(value, dict):
        own = value.get("sha256")
        inner = set().union(*(_contents(item) for item in value.values())) if value else set()
        return inner | ({own} if isinstance(own, str) and len(own) == 64 else set())
    if isinstance(value, list):
        return set().union(*(_contents(item) for item in value)) if value else set()
    return set()


def downgrade() -> None:
    for table in ("message_versions", "purge_blobs", "purge_nodes", "purge_orders", "blob_refs"):
        op.drop_table(table)
