"""Turns that are examples to learn from; full-text search over imported conversations."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0022"

_CJK = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
_PUNCTUATION = r"[\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e]+"


def upgrade() -> None:
    op.create_table(
        "examples",
        sa.Column("turn_id", sa.String(length=220), nullable=False),
        sa.Column("user", sa.String(length=60), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        # Code of the release before deletes turns without knowing of examples.
        sa.ForeignKeyConstraint(["turn_id"], ["turns.id"], name="fk_examples_turn_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("turn_id", "user", name="pk_examples"),
    )
    for statement in _postgres() if op.get_bind().dialect.name == "postgresql" else _sqlite():
        # A colon in a text is no parameter.
        op.execute(sa.text(statement.replace(":", r"\:")))


def _postgres() -> list[str]:
    plain = f"regexp_replace(left(coalesce(body->'message'->>'content', ''), 100000), '{_PUNCTUATION}', ' ', 'g')"
    words = f"to_tsvector('simple', regexp_replace({plain}, '([{_CJK}])', ' \\1 ', 'g'))"
    return [f"CREATE INDEX ix_steps_said_words ON steps USING gin (({words})) WHERE kind = 'said'"]


def _sqlite() -> list[str]:
    """The table and the trigger that forgets a row are those of revision 0018. Nothing changes what was said."""
    said = "substr(coalesce(json_extract(new.body, '$.message.content'), ''), 1, 100000)"
    insert = f"INSERT INTO found_steps(rowid, body) SELECT new.id, {said} WHERE new.kind = 'said'"
    return [f"CREATE TRIGGER found_steps_said AFTER INSERT ON steps BEGIN {insert}; END"]


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.drop_index("ix_steps_said_words", "steps")
    else:
        op.execute("DROP TRIGGER found_steps_said")
    op.drop_table("examples")
