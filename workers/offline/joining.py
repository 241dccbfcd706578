"""How the tables of a thread become one frame."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from workers.offline.cells import literal
from workers.offline.columns import WHOLE_NAME, concepts, mentions, named_like_an_id
from workers.offline.lexicon import find, words
from workers.offline.loading import read_line
from workers.offline.values import Column, Join, Table


def joined(given: Sequence[Table], text: str) -> Join:
    """How these tables become one frame: joined by the key that they share, stacked when they are alike, else the one
    that fits the text best."""
    if len(given) == 1:
        return Join(given[0])
    tables, renamed = _with_shared_keys(given)
    if stack := _stackable(tables):
        return Join(stack[0], stack[1:], None, tuple(table for table in tables if table not in stack))
    keys = Counter(column.name for table in tables for column in table.columns if _may_be_key(column, table))
    if not renamed:  # rows that are merely numbered alike have nothing to do with each other
        keys = Counter({key: count for key, count in keys.items() if not _bare(key)})
    shared = list(dict.fromkeys([*renamed, *(key for key, count in keys.most_common() if count >= 2)]))
    for key in shared:
        holders = [table for table in tables if table.column(key)]
        base = max(holders, key=lambda table: (not _unique(table, key), table.rows or 0))
        others = tuple(table for table in holders if table is not base and _unique(table, key))
        if others:
            used = (base, *others)
            repeats = not _unique(base, key)
            if repeats and (alone := _only_one_named(used, key, text)):
                return Join(alone, unused=tuple(table for table in tables if table is not alone))
            return Join(base, others, key, tuple(table for table in tables if table not in used), repeats=repeats)
    best = max(
        tables, key=lambda table: (bool(find([table.name], text)), len(mentions(table.columns, text)), table.rows or 0)
    )
    return Join(best, unused=tuple(table for table in tables if table is not best))


def _with_shared_keys(tables: Sequence[Table]) -> tuple[Sequence[Table], list[str]]:
    """The tables with a shared key, and its name. One table's key gets the name that another table uses: "id" of
    customers becomes "customer_id"."""
    for table in tables:
        for key in table.columns:
            if not (_unique(table, key.name) and named_like_an_id(key.name)):
                continue
            for other in tables:
                theirs = next((c for c in other.columns if other is not table and _refers(c, key, table)), None)
                if theirs and other.column(key.name) != theirs and not table.column(theirs.name):
                    columns = tuple(replace(c, name=theirs.name) if c is key else c for c in table.columns)
                    read = f"{read_line(table)}.rename(columns={{{literal(key.name)}: {literal(theirs.name)}}})"
                    renamed = replace(table, columns=columns, read=read)
                    return [renamed if each is table else each for each in tables], [theirs.name]
    return tables, []


def _refers(column: Column, key: Column, table: Table) -> bool:
    """True when a column holds values of another table's key, by the values themselves or by name and look."""
    named = [word.stem for word in words(column.name)]
    own = [word.stem for word in words(key.name)]
    by_table = _bare(key.name) and named == [*(word.stem for word in words(table.name)), *own]
    same_words = bool(named[:-1]) and named[:-1] == own[:-1]
    subject = same_words or bool(concepts(column) & concepts(key) - {"date"})
    by_subject = named_like_an_id(column.name) and column.name != key.name and subject
    shared = set(column.samples) & set(key.samples)
    if min(len(column.samples), len(key.samples)) >= 5 and 2 * len(shared) > len(key.samples):
        return not any(sample.isdigit() for sample in shared)  # bare numbers are alike by chance
    looks = [{re.sub(r"\d+", "9", sample) for sample in each.samples} for each in (column, key)]
    return (by_table or by_subject) and (not all(looks) or bool(looks[0] & looks[1]))


def _bare(name: str) -> bool:
    """True for "id" and "no", which number the rows of whatever table they stand in."""
    return name.strip().casefold() in ("id", "no", "no.", "nr", "nr.", "number", "key", "index", "编号", "序号")


def rejoined(join: Join, tables: Sequence[Table], text: str) -> Join:
    """The frame for a further question: another one when the text names tables or columns that only it holds."""
    if not join.unused:
        return join
    whole = [mention for mention in mentions(_columns(tables), text) if mention.score >= WHOLE_NAME]
    named = {column.name for mention in whole for column in mention.columns}
    missed = named - {column.name for table in join.tables for column in table.columns}
    if not missed and not any(find([table.name], text) for table in join.unused):
        return join
    other = joined(tables, text)
    held = {column.name for table in other.tables for column in table.columns}
    return other if len(named & held) >= len(named) - len(missed) else join


def _columns(tables: Sequence[Table]) -> list[Column]:
    """The columns of the tables, each name once."""
    return list({column.name: column for table in tables for column in table.columns}.values())


def _only_one_named(tables: Sequence[Table], key: str, text: str) -> Table | None:
    """The one table that holds every column that a text names, the key left aside; None when there are several."""
    named = [{column.name for column in mention.columns} for mention in mentions(_columns(tables), text)]
    named = [names for names in named if key not in names]
    holding = [table for table in tables if all(names & {column.name for column in table.columns} for names in named)]
    return holding[0] if named and len(holding) == 1 else None


def _stackable(tables: Sequence[Table]) -> tuple[Table, ...]:
    by_shape: dict[frozenset[str], list[Table]] = {}
    for table in tables:
        by_shape.setdefault(frozenset(column.name for column in table.columns), []).append(table)
    largest = max(by_shape.values(), key=len)
    return tuple(largest) if len(largest) > 1 else ()


def _may_be_key(column: Column, table: Table) -> bool:
    tells_rows_apart = _unique(table, column.name) and (table.rows or 0) > 5
    return named_like_an_id(column.name) or column.kind == "id" or tells_rows_apart


def _unique(table: Table, name: str) -> bool:
    column = table.column(name)
    return column is not None and column.unique is not None and table.rows is not None and column.unique >= table.rows
