"""The full-text search over what people wrote, and over reports, code and titles of cells.

SQLite has two FTS5 tables that triggers keep in step with `messages` and `steps`, Postgres three GIN indexes. So code
of the release before, which knows nothing of them, keeps them right too.

Migrations 0018 and 0026 make them, with the texts of the conditions below. Postgres uses an index only if a query has
exactly the same text.

SQLite finds a word anywhere inside a text (the tokenizer "trigram"). Postgres finds only beginnings of words. In
Chinese, any sequence of characters is found: Postgres treats each character as a word.
"""

from __future__ import annotations

import re
from typing import Final

from sqlalchemy import ColumnElement, Select, column, func, literal_column, select, table, text

from core.store import tables as t

FULL_TEXT_TABLES: Final = ("found_messages", "found_steps")
"""The tables of SQLite. It makes more of the same names with an ending."""
_INDEXES: Final = ("ix_messages_words", "ix_steps_words", "ix_steps_said_words")
"""The indexes of Postgres."""

_MOST_CHARS: Final = 100_000
_CJK: Final = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
_PUNCTUATION: Final = r"[\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e]+"
_ONE_BY_ONE = re.compile(f"[{_CJK}]|[^{_CJK}]+")
_MARKS: Final = " .,;:!?，。；：！？'()[]{}<>&|*"
_MOST_WORDS: Final = 10
_SHORTEST: Final = 3
"""A trigram has this many characters; FTS5 finds no shorter word."""


def is_full_text(name: str | None) -> bool:
    """Whether a table or an index is one of the search's own. `tables.py` does not have them."""
    return name is not None and (name in _INDEXES or name.startswith(FULL_TEXT_TABLES))


def _words(source: str) -> str:
    """SQL of Postgres: the words of a text, each Chinese, Japanese or Korean character as a word of its own.

    Marks of ASCII are blanks: the parser would take `df.mean` for the name of a host, one word.
    """
    plain = f"regexp_replace(left({source}, {_MOST_CHARS}), '{_PUNCTUATION}', ' ', 'g')"
    return f"to_tsvector('simple', regexp_replace({plain}, '([{_CJK}])', ' \\1 ', 'g'))"


_STEP_TEXT = (
    "CASE WHEN kind = 'finished' THEN coalesce(body->>'report', '') "
    "ELSE coalesce(body->>'title', '') || ' ' || coalesce(body->>'code', '') END"
)
_MESSAGE_WORDS: Final = _words("text")
_STEP_WORDS: Final = _words(_STEP_TEXT)
_MESSAGE_KINDS: Final = "kind IN ('text', 'answer', 'note')"
"""A search itself is a message too, but it is not searched."""
_STEP_KINDS: Final = "kind IN ('finished', 'cell')"
_SAID_WORDS: Final = _words("coalesce(body->'message'->>'content', '')")
_SAID_KIND: Final = "kind = 'said'"
"""What was said in imported conversations has an index of its own: code of revision 0018 knows the other one."""


def words_in(said: str) -> list[str]:
    """The words to look for, each once. Quotation marks mean nothing: words may stand anywhere in a thread.

    What no database takes as a value parts words too: a zero character, half of a character (a lone surrogate).
    """
    words = (word.strip(_MARKS).casefold() for word in re.split(r"[\s\x00\ud800-\udfff\"“”「」]+", said))
    return list(dict.fromkeys(word for word in words if any(map(str.isalnum, word))))[:_MOST_WORDS]


def has_word(dialect: str, word: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """SQL: whether a row of `messages`, and whether one of `steps`, has this word."""
    if dialect == "postgresql":
        asked = func.to_tsquery("simple", _tsquery(word))
        return (
            text(_MESSAGE_KINDS) & literal_column(_MESSAGE_WORDS).op("@@")(asked),
            (text(_STEP_KINDS) & literal_column(_STEP_WORDS).op("@@")(asked))
            | (text(_SAID_KIND) & literal_column(_SAID_WORDS).op("@@")(asked)),
        )
    return t.messages.c.id.in_(_found("found_messages", word)), t.steps.c.id.in_(_found("found_steps", word))


def _found(name: str, word: str) -> Select[tuple[int]]:
    """SQL of SQLite: the ids of rows with this word."""
    found = table(name, column("rowid"), column("body"))
    if len(word) < _SHORTEST:
        return select(found.c.rowid).where(found.c.body.contains(word, autoescape=True))
    quoted = '"' + word.replace('"', '""') + '"'
    return select(found.c.rowid).where(literal_column(name).op("MATCH")(quoted))


def _tsquery(word: str) -> str:
    """The word for `to_tsquery`: a prefix, and Chinese characters as words that follow each other."""
    parts = [part for run in re.sub(_PUNCTUATION, " ", word).split() for part in _ONE_BY_ONE.findall(run)]
    return " <-> ".join(f"'{part}':*" for part in parts) or "''"
