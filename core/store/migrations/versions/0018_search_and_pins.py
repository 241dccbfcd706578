"""Full-text search over messages, reports and code; pins; what is left to say of purged threads."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0013"

_CJK = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
_PUNCTUATION = r"[\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e]+"
_MESSAGES = "kind IN ('text', 'answer', 'note')"
_STEPS = "kind IN ('finished', 'cell')"


def upgrade() -> None:
    op.create_table(
        "pins",
        sa.Column("thread_id", sa.String(length=200), nullable=False),
        sa.Column("user", sa.String(length=60), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        # Code of the release before deletes threads without knowing of pins.
        sa.ForeignKeyConstraint(["thread_id"], ["threads.id"], name="fk_pins_thread_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("thread_id", name="pk_pins"),
    )
    op.create_table(
        "tombstones",
        sa.Column("thread_id", sa.String(length=200), nullable=False),
        sa.Column("state", sa.String(length=64), nullable=False),
        sa.Column("turns", sa.Integer(), nullable=False),
        sa.Column("purged_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("thread_id", name="pk_tombstones"),
    )
    for statement in _postgres() if op.get_bind().dialect.name == "postgresql" else _sqlite():
        # A colon in a text is no parameter.
        op.execute(sa.text(statement.replace(":", r"\:")))


def _postgres() -> list[str]:
    step = (
        "CASE WHEN kind = 'finished' THEN coalesce(body->>'report', '') "
        "ELSE coalesce(body->>'title', '') || ' ' || coalesce(body->>'code', '') END"
    )
    made = []
    for table, body, kinds in (("messages", "text", _MESSAGES), ("steps", step, _STEPS)):
        plain = f"regexp_replace(left({body}, 100000), '{_PUNCTUATION}', ' ', 'g')"
        words = f"to_tsvector('simple', regexp_replace({plain}, '([{_CJK}])', ' \\1 ', 'g'))"
        made.append(f"CREATE INDEX ix_{table}_words ON {table} USING gin (({words})) WHERE {kinds}")
    return made


def _sqlite() -> list[str]:
    step = (
        "CASE WHEN {row}kind = 'finished' THEN coalesce(json_extract({row}body, '$.report'), '') ELSE "
        "coalesce(json_extract({row}body, '$.title'), '') || ' ' || coalesce(json_extract({row}body, '$.code'), '') END"
    )
    made = []
    for table, body, kinds, changing in (
        ("messages", "{row}text", _MESSAGES, "text, kind"),
        ("steps", step, _STEPS, "body"),
    ):
        name = f"found_{table}"
        new, stored = (f"substr({body.format(row=row)}, 1, 100000)" for row in ("new.", ""))
        insert = f"INSERT INTO {name}(rowid, body) SELECT new.id, {new} WHERE new.{kinds}"
        forget = f"DELETE FROM {name} WHERE rowid = old.id"  # noqa: S608 - names of ours
        made += [
            f"CREATE VIRTUAL TABLE {name} USING fts5(body, tokenize = 'trigram')",
            f"CREATE TRIGGER {name}_added AFTER INSERT ON {table} BEGIN {insert}; END",
            f"CREATE TRIGGER {name}_changed AFTER UPDATE OF {changing} ON {table} BEGIN {forget}; {insert}; END",
            f"CREATE TRIGGER {name}_deleted AFTER DELETE ON {table} BEGIN {forget}; END",
            f"INSERT INTO {name}(rowid, body) SELECT id, {stored} FROM {table} WHERE {kinds}",  # noqa: S608
        ]
    return made


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.drop_index("ix_steps_words", "steps")
        op.drop_index("ix_messages_words", "messages")
    else:
        for name in ("found_steps", "found_messages"):
            for trigger in ("added", "changed", "deleted"):
                op.execute(f"DROP TRIGGER {name}_{trigger}")
            op.execute(f"DROP TABLE {name}")
    op.drop_table("tombstones")
    op.drop_table("pins")
