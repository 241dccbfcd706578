"""The part of a large schema that a question needs: BM25 over names, comments, dictionary and values; then neighbours.

Two stages: tables, then their columns. The index is built once per catalogue and dictionary and asked many times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice, pairwise

import numpy as np
from numpy.typing import NDArray

from workers.sources.catalogue import Catalogue, Table
from workers.sources.knowledge.entries import Dictionary, TableEntry, described
from workers.sources.knowledge.ranking import Ranking, Scores
from workers.sources.knowledge.value_index import ColumnPlace, ValueIndex, ValueMatch
from workers.sources.knowledge.words import (
    Phrases,
    abbreviates,
    abbreviates_both,
    pieces,
    spoken_initials,
    stem,
    telling,
    words,
)
from workers.sources.values import TableName

NAME_WEIGHT = 3
"""How often the words of a table's name and synonyms count."""

INSIDE_SHARE = 0.25
"""What the words of all columns together add to the score of a table's own name, meaning and synonyms."""

COLUMN_SHARE = 0.25
"""What the best column of a table adds to the table's own score."""

NEIGHBOUR_SHARE = 0.3
"""What the two best neighbours by foreign key add, and theirs: tables between those that are asked for come along."""

GUESS_SHARE = 0.6
"""The weight of a name part that may be an abbreviation of a word of the question; half if the word itself is known."""

VALUE_WORTH = 6.0
"""The score of a table that contains a value from the question, shared among all tables that contain it."""

COPY_SHARE = 0.5
"""What remains of the score of a table whose name says that it is a copy, when the question does not ask for one."""

COPY_WORDS = frozenset(
    words("stg stage staging tmp temp bak backup old hist history archive arch copy test deprecated")
)
LONGEST_INITIALS = 8
LONGEST_QUESTION = 2_000
MOST_WORDS = 60
MOST_MEANINGS = 3
"""Words that one short form is taken for, the most frequent first."""

_SHORT = """
dt date, ts time, qty quantity, amt amount, no number, nbr number, num number, nm name, cd code, desc description,
addr address, cust customer, acct account, txn transaction, trx transaction, inv invoice, ord order, emp employee,
dept department, pct percent, avg average, curr currency, bal balance, pmt payment, mgr manager, org organisation,
prod product, cat category, loc location, qtr quarter, yr year, mth month, wk week, hr hour, msg message, usr user,
tel telephone, ref reference, stat status, typ type, wh warehouse, po purchase order, so sales order,
gl general ledger, ar receivable, ap payable, hdr header, ln line, dtl detail, mst master, lkp lookup, xref link
"""
SHORT_FORMS = {short: words(" ".join(long)) for short, *long in map(str.split, _SHORT.split(","))}
"""Short forms that stand in names everywhere. Others are guessed from the words of the same schema."""


class SchemaIndex:
    """The tables and columns of a source, ready to be asked which of them a question needs."""

    def __init__(self, catalogue: Catalogue, dictionary: Dictionary) -> None:
        self.catalogue = catalogue
        self.entries = described(catalogue, dictionary)
        self._values = ValueIndex(listed_values(catalogue, self.entries))
        self._at = {table.name: number for number, table in enumerate(catalogue.tables)}
        self._table_names = Phrases((table.name.name, number) for number, table in enumerate(catalogue.tables))
        self.first_column = np.cumsum([0, *(len(table.columns) for table in catalogue.tables)])
        longer = _Meanings(catalogue, self.entries)
        of_columns = [
            [longer.of_column(table, number) for number in range(len(table.columns))] for table in catalogue.tables
        ]
        self._heads = Ranking([longer.of_table(table) for table in catalogue.tables])
        self._insides = Ranking([list(chain.from_iterable(own)) for own in of_columns])
        self._columns = Ranking(list(chain.from_iterable(of_columns)))
        self._names = longer.unexplained()
        self._all_names = frozenset(chain.from_iterable(self._names.values()))
        self._links = self._linked()
        self._is_copy = np.array([bool(COPY_WORDS & set(words(table.name.name))) for table in catalogue.tables])

    def ranked(self, question: str) -> tuple[list[int], Scores, tuple[ValueMatch, ...]]:
        """The numbers of the tables, best first and without those that nothing speaks for; the score of each column;
        and the values that the question names. Tables that it names word for word come before all others."""
        asked = telling(question[:LONGEST_QUESTION])[:MOST_WORDS]
        asked += chain.from_iterable(SHORT_FORMS.get(word, ()) for word in asked[:])
        known = [word for word in asked if self._heads.knows(word) or self._insides.knows(word)]
        written = [piece for piece in dict.fromkeys(pieces(question[:LONGEST_QUESTION])) if stem(piece) in asked]
        guesses = {word: self._guesses(word) for word in written}
        sure = list(chain.from_iterable(found for word, found in guesses.items() if stem(word) not in known))
        unsure = list(chain.from_iterable(found for word, found in guesses.items() if stem(word) in known))
        for name, is_sure in self._longer_guesses(question[:LONGEST_QUESTION], written):
            (sure if is_sure else unsure).append(name)
        heads, insides, columns = (
            each.scores(known) + GUESS_SHARE * (each.scores(sure) + each.scores(unsure) / 2)
            for each in (self._heads, self._insides, self._columns)
        )
        tables: Scores = heads + INSIDE_SHARE * insides
        if len(tables):
            best = np.maximum.reduceat(np.append(columns, 0), self.first_column[:-1])
            tables = tables + COLUMN_SHARE * np.where(np.diff(self.first_column) > 0, best, 0)
        matches = self._values.find(question)
        for match in matches:
            names_table = next(self._table_names.found_in(match.asked), None) is not None
            if (at := self._at.get(match.table)) is not None and not names_table:
                alike = sum(other.asked == match.asked for other in matches)
                tables[at] += VALUE_WORTH / (alike * (1 + match.distance))
        if not COPY_WORDS & set(asked):
            tables = np.where(self._is_copy, tables * COPY_SHARE, tables)
        tables = self._with_neighbours(self._with_neighbours(tables))
        named = np.isin(np.arange(len(tables)), list(self._table_names.found_in(question[:LONGEST_QUESTION])))
        order = np.lexsort((-tables, ~named))
        return [int(at) for at in order if tables[at] > 0], columns, matches

    def _with_neighbours(self, scores: Scores) -> Scores:
        """Add to each table a share of the scores of its two best neighbours."""
        here, there = self._links
        near = scores[there]
        order = np.argsort(near, kind="stable")
        best = np.zeros_like(scores)
        for _ in range(2):
            last = np.full(len(scores), -1)
            last[here[order]] = np.arange(len(order))  # of several links of a table the last, and so the best, stays
            linked = last >= 0
            best[linked] += near[order[last[linked]]]
            order = np.delete(order, last[linked])
        return scores + NEIGHBOUR_SHARE * best

    def _linked(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Each pair of tables that a foreign key joins, in both directions, as two lists of their numbers."""
        pairs = {
            (at, other)
            for at, table in enumerate(self.catalogue.tables)
            for key in table.foreign_keys
            if (other := self._at.get(key.to)) is not None and other != at
        }
        both = sorted(pairs | {(other, at) for at, other in pairs})
        return np.array([at for at, _ in both], dtype=np.int64), np.array([to for _, to in both], dtype=np.int64)

    def _guesses(self, word: str) -> list[str]:
        """Parts of names that may be short for a word, and stand in no text themselves."""
        forms = {word, stem(word)}
        found = [name for name in self._names.get(word[0], ()) for form in forms if abbreviates(name, form)]
        return [stem(name) for name in sorted(found, key=lambda name: abs(len(name) - len(word)))[:MOST_MEANINGS]]

    def _longer_guesses(self, question: str, written: Sequence[str]) -> Iterator[tuple[str, bool]]:
        """Parts of names that may be short for several words of a question; whether that is likely.

        They are the initials of words (`sku`), two words that are cut off (`gdsrc` for goods receipt), or the initials
        of Chinese characters as they are spoken (`fbzx`). Two letters, and two words cut off, often fit by chance.
        """
        for part in self._initials("".join(word[0] for word in written if word[0].isascii()), 3):
            yield part, True
        for run in spoken_initials(question).split():
            for part in self._initials(run, 2):
                yield part, len(part) > 2
        for first, second in pairwise(written):
            for name in self._names.get(first[0], ()):
                if abbreviates_both(name, first, second):
                    yield stem(name), False

    def _initials(self, letters: str, shortest: int) -> list[str]:
        """The parts of names that stand in these letters."""
        lengths = range(shortest, LONGEST_INITIALS + 1)
        found = {letters[at : at + length] for length in lengths for at in range(len(letters) - length + 1)}
        return [stem(part) for part in sorted(found & self._all_names)]


class _Meanings:
    """The words of tables and columns, with what the short forms in their names stand for."""

    def __init__(self, catalogue: Catalogue, entries: dict[TableName, TableEntry]) -> None:
        self._entries = entries
        self.names: set[str] = set()
        self._told: dict[str, Counter[str]] = {}
        """How often a word is in the texts about each schema."""
        for table in catalogue.tables:
            entry = entries.get(table.name)
            said = [table.comment, *(column.comment for column in table.columns)]
            if entry:
                said += [entry.meaning, entry.source, *entry.synonyms, *(column.meaning for column in entry.columns)]
            self._told.setdefault(table.name.schema, Counter()).update(dict.fromkeys(pieces(" ".join(said)), 1))
            self.names.update(chain(pieces(table.name.name), *(pieces(column.name) for column in table.columns)))
        everywhere: Counter[str] = sum(self._told.values(), Counter())
        self._known = set(map(stem, everywhere))
        self._by_letters: dict[str, list[str]] = {}
        """The words by their first letter and any other one: a word has all letters of its short form."""
        for word, _ in everywhere.most_common():
            for letter in set(word[1:]):
                self._by_letters.setdefault(word[0] + letter, []).append(word)
        self._longer: dict[str, list[str]] = {}
        self._found: dict[tuple[str, str], list[str]] = {}

    def unexplained(self) -> dict[str, list[str]]:
        """Parts of names that stand in no text, by their first letter."""
        found: dict[str, list[str]] = {}
        for name in sorted(self.names):
            if name not in SHORT_FORMS and stem(name) not in self._known:
                found.setdefault(name[0], []).append(name)
        return found

    def of_table(self, table: Table) -> list[str]:
        entry = self._entries.get(table.name) or TableEntry("")
        named = self._named(table.name)
        said = f"{table.comment} {entry.meaning} {entry.notes} {entry.source}"
        # A table is also about the things that its foreign keys name: the remarks on orders are about orders.
        linked = chain.from_iterable(map(self._named, dict.fromkeys(key.to for key in table.foreign_keys)))
        return [*named * NAME_WEIGHT, *words(table.name.schema), *telling(said), *linked]

    def of_column(self, table: Table, number: int) -> list[str]:
        column = table.columns[number]
        named = self._with_meanings(column.name, table.name.schema)
        entry = self._entries.get(table.name)
        said = entry.column(column.name) if entry else None
        about = f"{column.comment} {said.meaning} {said.range} {said.unit}" if said else column.comment
        return [*named, *telling(about)]

    def _named(self, name: TableName) -> list[str]:
        """What a table is called: its name, what the name is short for, and its synonyms."""
        entry = self._entries.get(name)
        return [
            *self._with_meanings(name.name, name.schema),
            *chain.from_iterable(map(words, entry.synonyms if entry else ())),
        ]

    def _with_meanings(self, name: str, schema: str) -> list[str]:
        parts = pieces(name)
        return [*map(stem, parts), *chain.from_iterable(self._meanings(part, schema) for part in parts)]

    def _meanings(self, part: str, schema: str) -> list[str]:
        """What a part of a name is short for: words of its own schema come first."""
        if part in SHORT_FORMS:
            return SHORT_FORMS[part]
        if stem(part) in self._known:
            return []
        if (part, schema) not in self._found:
            told = self._told[schema]
            longer = sorted(self._longer_of(part), key=lambda word: -told[word])
            self._found[part, schema] = list(islice(dict.fromkeys(map(stem, longer)), MOST_MEANINGS))
        return self._found[part, schema]

    def _longer_of(self, part: str) -> list[str]:
        """The words that a part of a name may stand for. Only those with its rarest letter are compared with it: a
        schema has thousands of parts and thousands of words."""
        if part not in self._longer:
            likely = (self._by_letters.get(part[0] + letter, []) for letter in set(part[1:]))
            self._longer[part] = [word for word in min(likely, key=len, default=[]) if abbreviates(part, word)]
        return self._longer[part]


def listed_values(catalogue: Catalogue, entries: dict[TableName, TableEntry]) -> dict[ColumnPlace, Sequence[str]]:
    """The values that the dictionary lists, by table and column."""
    return {
        (table.name, column.name): said.values
        for table in catalogue.tables
        if (entry := entries.get(table.name))
        for column in table.columns
        if (said := entry.column(column.name)) and said.values
    }
