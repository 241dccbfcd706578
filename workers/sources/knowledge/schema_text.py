"""The text of a schema for a prompt: all of a small one, the parts of a large one that a question needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workers.sources.catalogue import Catalogue, Column, Table, one_line
from workers.sources.knowledge.entries import Dictionary, TableEntry, Trust
from workers.sources.knowledge.schema_index import SchemaIndex
from workers.sources.knowledge.tokens import estimated_tokens
from workers.sources.knowledge.value_index import ValueMatch
from workers.sources.values import TableName

BUDGET = 6_000
"""Tokens of the whole text, as `estimated_tokens` counts them."""

SEARCH_BUDGET, SEARCH_TABLES = 1_500, 5
"""Tokens of the answer to a search, and the tables that it describes at most: a question has its own text already."""
NAMES_SHARE = 0.08
"""The share of the budget for further tables, of which only the name is given."""

COLUMNS_BY_RANK = ((4, 14, 14), (12, 7, 4), (1_000_000, 4, 2))
"""How many columns a table shows beside its keys: (up to this rank, at most, so many even if no word fits them)."""

LONGEST_SAID = 200
"""Characters of a table's meaning; of a column's, half of it."""

SHORT_TYPES = (
    ("character varying", "varchar"),
    ("double precision", "double"),
    (" without time zone", ""),
    (" with time zone", "tz"),
)


@dataclass(frozen=True)
class SchemaText:
    """A text for a prompt. `tables` are described in it; `named` are further ones of which it holds only the name."""

    text: str
    tables: tuple[TableName, ...]
    named: tuple[TableName, ...] = ()

    @property
    def tokens(self) -> int:
        """About how many tokens the text takes."""
        return estimated_tokens(self.text)


class Schema:
    """A source's schema with the team's dictionary, built once and asked many times. It holds no connection.

    Building takes about a second for 1,000 tables; asking takes milliseconds. Threads may share it.
    """

    def __init__(self, catalogue: Catalogue, dictionary: Dictionary) -> None:
        self._index = SchemaIndex(catalogue, dictionary)
        self._catalogue = catalogue
        self._blocks = [
            [
                self._head(table),
                *(self._column(table, column) for column in table.columns),
            ]
            for table in catalogue.tables
        ]
        self._keys = [_keys(table) for table in catalogue.tables]
        self._costs = {line: estimated_tokens(line) + 1 for block in self._blocks for line in block}
        self._total = sum(self._costs[line] for block in self._blocks for line in block)

    def for_question(self, question: str, budget: int = BUDGET) -> SchemaText:
        """The text for a question: the whole schema when it fits into so many tokens, else what the question needs.

        A table that the question needs may be missing from a large schema's text; `search` looks for further ones.
        """
        tables = self._catalogue.tables
        if self._total <= budget:
            _, _, matches = self._index.ranked(question)
            text = "\n".join(
                "\n".join(self._block(at, range(len(tables[at].columns)), matches)) for at in range(len(tables))
            )
            whole = SchemaText(text, tuple(table.name for table in tables))
            if whole.tokens <= budget:
                return whole
        return self._chosen(question, budget, f"Of {len(tables):,} tables, those that fit the question best:")

    def search(self, wanted: str, budget: int = SEARCH_BUDGET) -> SchemaText:
        """The few tables that fit these words best, and the names of others; an empty text when nothing fits."""
        return self._chosen(wanted, budget, f"Tables that fit {one_line(wanted, 100)!r} best:", SEARCH_TABLES)

    def _chosen(self, question: str, budget: int, head: str, most: int | None = None) -> SchemaText:
        order, of_columns, matches = self._index.ranked(question)
        scores: list[float] = of_columns.tolist()
        left = budget - estimated_tokens(head) - 1
        for_names = int(budget * NAMES_SHARE)
        lines, chosen = [head], list[int]()
        for rank, at in enumerate(order[:most]):
            block = self._block(at, self._columns(at, rank, scores, matches), matches)
            cost = sum(self._cost(line) for line in block)
            if cost > left - for_names:
                break
            lines += block
            chosen.append(at)
            left -= cost
        named, text = self._names(order[len(chosen) :], left if most is None else min(left, for_names))
        if not chosen and not named:
            return SchemaText("", ())
        lines += [text] if named else []
        tables = self._catalogue.tables
        return SchemaText(
            "\n".join(lines), tuple(tables[at].name for at in chosen), tuple(tables[at].name for at in named)
        )

    def _columns(self, at: int, rank: int, scores: Sequence[float], matches: Sequence[ValueMatch]) -> list[int]:
        """Keys, columns that hold a value of the question, then those that fit it best; in the table's own order."""
        table = self._catalogue.tables[at]
        first = int(self._index.first_column[at])
        held = {match.column for match in matches if match.table == table.name}
        kept = self._keys[at] | {number for number, column in enumerate(table.columns) if column.name in held}
        most, others = next((most, others) for up_to, most, others in COLUMNS_BY_RANK if rank < up_to)
        rest = sorted(set(range(len(table.columns))) - kept, key=lambda each: (-scores[first + each], each))
        fitting = sum(scores[first + number] > 0 for number in rest)
        return sorted([*kept, *rest[: min(most, max(fitting, others))]])

    def _block(self, at: int, columns: Sequence[int], matches: Sequence[ValueMatch]) -> list[str]:
        table, block = self._catalogue.tables[at], self._blocks[at]
        lines = [block[0]]
        own = [match for match in matches if match.table == table.name]
        for number in columns:
            held = [match for match in own if match.column == table.columns[number].name]
            found = ", ".join(f"{each.value!r}" for each in held[:5])
            lines.append(block[number + 1] + (f"; holds {found}" if found else ""))
        more = len(table.columns) - len(columns)
        return [*lines, f"  … {more} more columns"] if more else lines

    def _names(self, order: Sequence[int], budget: int) -> tuple[list[int], str]:
        text, named = "Further tables, by name:", list[int]()
        left = budget - estimated_tokens(text) - 1
        for at in order:
            shown = f" {one_line(self._catalogue.shown(self._catalogue.tables[at].name), LONGEST_SAID)},"
            if (cost := estimated_tokens(shown)) > left:
                break
            text, left = text + shown, left - cost
            named.append(at)
        return named, text.rstrip(",")

    def _cost(self, line: str) -> int:
        """Tokens of a line and its end; those of the schema itself were counted before."""
        return self._costs.get(line) or estimated_tokens(line) + 1

    def _head(self, table: Table) -> str:
        entry = self._index.entries.get(table.name, TableEntry(""))
        about = ["view"] if table.is_view else []
        about += [f"about {table.rows:,} rows"] if table.rows is not None else []
        about += [f"trust {entry.trust}"] if entry.table and entry.trust is not Trust.UNREVIEWED else []
        about += [f"also called {', '.join(entry.synonyms)}"] if entry.synonyms else []
        said = one_line(entry.meaning or table.comment, LONGEST_SAID)
        shown = one_line(self._catalogue.shown(table.name), LONGEST_SAID)
        return shown + (f" ({'; '.join(about)})" if about else "") + (f": {said}" if said else "")

    def _column(self, table: Table, column: Column) -> str:
        entry = self._index.entries.get(table.name)
        said = entry.column(column.name) if entry else None
        kind = column.type
        for long, short in SHORT_TYPES:
            kind = kind.replace(long, short)
        about = [one_line(f"{column.name} {kind}", LONGEST_SAID) + (", key" if column.key else "")]
        for key in table.foreign_keys:
            if column.name in key.columns:
                about[0] += f" → {one_line(self._catalogue.shown(key.to), LONGEST_SAID)}"
        meaning = one_line((said.meaning if said else "") or column.comment, LONGEST_SAID // 2)
        if meaning:
            about.append(meaning)
        if said and (said.range or said.unit):
            about.append(one_line(" ".join(filter(None, (said.range, f"[{said.unit}]" if said.unit else ""))), 80))
        return "  " + ": ".join(about[:2]) + "".join(f"; {more}" for more in about[2:])


def _keys(table: Table) -> frozenset[int]:
    """The numbers of the columns that name a row of this table or of another one."""
    joins = {name for key in table.foreign_keys for name in key.columns}
    return frozenset(at for at, column in enumerate(table.columns) if column.key or column.name in joins)
