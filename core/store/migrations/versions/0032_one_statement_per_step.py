"""In SQLite, one statement adds a step with what belongs to it, and one a report with its references.

SQLite has no writes in a common table expression. It has views whose triggers write to several tables instead.
Code of the release before does not know of them and goes on writing to the tables themselves.
"""

from alembic import op

revision = "0032"
down_revision = "0031"

_CALL = ("user", "model", "prompt_tokens", "cached_tokens", "completion_tokens", "cost_micros", "channel")


def upgrade() -> None:
    if op.get_bind().dialect.name != "sqlite":
        return
    fields = ", ".join(f"json_extract(new.call, '$.{name}')" for name in _CALL)
    columns = ", ".join(f'"{name}"' for name in _CALL)
    thread = "(SELECT thread_id FROM turns WHERE id = new.turn_id)"
    op.execute(
        "CREATE VIEW step_writes AS SELECT turn_id, seq, kind, body, created_at, NULL AS call, NULL AS contents "
        "FROM steps"
    )
    op.execute(
        "CREATE TRIGGER step_writes_added INSTEAD OF INSERT ON step_writes BEGIN "  # noqa: S608 - names of ours
        "INSERT INTO steps (turn_id, seq, kind, body, created_at) "
        "VALUES (new.turn_id, new.seq, new.kind, new.body, new.created_at); "
        f"INSERT INTO model_calls (turn_id, thread_id, created_at, {columns}) "
        f"SELECT new.turn_id, {thread}, new.created_at, {fields} WHERE new.call IS NOT NULL; "
        f"INSERT INTO blob_refs (thread_id, sha256) SELECT {thread}, value FROM json_each(new.contents) WHERE true "
        "ON CONFLICT DO NOTHING; END"
    )
    op.execute(
        "CREATE TRIGGER reports_refer AFTER INSERT ON reports BEGIN "  # noqa: S608
        f"INSERT INTO blob_refs (thread_id, sha256) SELECT {thread}, json_extract(value, '$.sha256') "
        "FROM json_each(new.files) WHERE true ON CONFLICT DO NOTHING; END"
    )


def downgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        op.execute("DROP TRIGGER reports_refer")
        op.execute("DROP VIEW step_writes")
