"""Whether new data still fit the code. Pure.

A run on other data also gives numbers, but they mean something else. So a run stops if columns are missing or have
another type, if a table has no rows, or if values are far outside the earlier range.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import partial

from core.phrases import say
from core.steps import ColumnNote, FileAbstract, TableNote
from core.values import Language, StoredFile

FAR = 10.0
"""A median this many times the spread of the middle half away from the old one is another quantity, or another unit."""
MISSING = 0.4
"""So much more of a column may not be missing."""
_KNOWN_LEVELS = 0.5
"""At least so many of the values that a column of words had must still be there."""
NO_TYPE = "null"
"""The type of a column without a single value: it may be any."""
_QUARTILES = 5
_LISTED = 4
_DIGITS = re.compile(r"\d+")


def pattern_of(name: str) -> str:
    """The pattern of a file's name: its numbers may be others. "sales_2026-03.csv" gives "sales_*-*.csv"."""
    stem, dot, ending = name.rpartition(".")
    return f"{_DIGITS.sub('*', stem)}{dot}{ending}" if dot else _DIGITS.sub("*", name)


def fits(name: str, pattern: str) -> bool:
    """Whether a name fits a pattern: `*` stands for anything, `?` for one character, in any case."""
    parts = (".*" if each == "*" else "." if each == "?" else re.escape(each) for each in pattern)
    return re.fullmatch("".join(parts), name, re.IGNORECASE | re.DOTALL) is not None


def patterns_of(names: Sequence[str], pattern: str = "") -> list[str]:
    """What a file has to be called to take the place of each of these inputs. `pattern` is what a person wrote.

    Several inputs may have one pattern: it counts for the one with the highest numbers in its name, and the others wait
    for files with their own names. An input with the name of a later one gets "": it stays as it is.
    """
    meant = [pattern if pattern and fits(name, pattern) else pattern_of(name) for name in names]

    def is_newest(place: int) -> bool:
        same = [other for other, each in enumerate(meant) if each == meant[place]]
        return place == max(same, key=lambda other: ([int(each) for each in _DIGITS.findall(names[other])], other))

    return [
        "" if name in names[place + 1 :] else meant[place] if is_newest(place) else name
        for place, name in enumerate(names)
    ]


def newest_of(inputs: Sequence[StoredFile], pattern: str, known: Iterable[StoredFile]) -> list[StoredFile]:
    """For each input the first of the `known` files that may stand for it, else the input itself.

    A file with the name of one input never takes the place of another one. `known` is read only as far as needed.
    """
    found, own = list(inputs), [file.name.casefold() for file in inputs]
    wanted = {place: each for place, each in enumerate(patterns_of([file.name for file in inputs], pattern)) if each}
    for file in known if wanted else ():
        name = file.name.casefold()
        for place in [at for at, each in wanted.items() if name == own[at] or (name not in own and fits(name, each))]:
            found[place] = file
            del wanted[place]
        if not wanted:
            break
    return found


def drift(before: FileAbstract, now: FileAbstract, language: Language = "en") -> list[str]:
    """What of the new file the code was not written for, a sentence fragment each; empty when it fits."""
    found: list[str] = []
    tables = {table.name: table for table in now.tables}
    alone = len(before.tables) == len(now.tables) == 1
    for table in before.tables:
        other = now.tables[0] if alone else tables.get(table.name)
        if other is None:
            gone = say("drift_no_table", language, name=repr(table.name))
            found.append(f"{now.path}: {gone}")
            continue
        found += [f"{now.path}: {each}" for each in table_drift(table, other, language)]
    return found


def table_drift(before: TableNote, now: TableNote, language: Language = "en") -> list[str]:
    """What of the new table the code was not written for, a sentence fragment each; empty when it fits."""
    if before.rows and now.rows == 0:
        return [say("drift_no_rows", language)]
    there = {column.name: column for column in now.columns}
    names = {*there, *now.more_names}
    gone = [column.name for column in before.columns if column.name not in names]
    gone += [name for name in before.more_names if name not in names]
    if gone:
        new = sorted(names - {column.name for column in before.columns} - set(before.more_names))
        told = say("drift_no_column", language, names=_listed(gone, language))
        others = say("drift_new", language, names=_listed(new, language))
        return [f"{told} ({others})" if new else told]
    pairs = ((column, there[column.name]) for column in before.columns if column.name in there)
    return [why for column, other in pairs if (why := _column(column, other, language))]


def _column(before: ColumnNote, now: ColumnNote, language: Language) -> str:
    tell = partial(say, language=language, name=repr(before.name))
    if NO_TYPE not in (before.dtype, now.dtype) and _kind(before.dtype) != _kind(now.dtype):
        return tell("drift_type", before=before.dtype, now=now.dtype)
    if now.missing - before.missing > MISSING:
        return tell("drift_missing", before=f"{before.missing:.0%}", now=f"{now.missing:.0%}")
    if before.levels and now.levels:
        kept = {level.value for level in before.levels} & {level.value for level in now.levels}
        if len(kept) < _KNOWN_LEVELS * len(before.levels):
            gone = sorted({level.value for level in before.levels} - kept)
            return tell("drift_levels", values=_listed(gone, language))
    old, new = _quartiles(before), _quartiles(now)
    if old and new:
        width = max(old[3] - old[1], abs(old[2]) * 0.05, 1e-9)
        if abs(new[2] - old[2]) > FAR * width:
            return tell("drift_middle", before=f"{old[2]:g}", now=f"{new[2]:g}")
    return ""


def _kind(dtype: str) -> str:
    name = dtype.lower()
    if any(each in name for each in ("int", "float", "double", "decimal")):
        return "number"
    if "date" in name or "time" in name:
        return "date"
    return "bool" if "bool" in name else "text"


def _quartiles(column: ColumnNote) -> list[float]:
    """Minimum, quartiles and maximum; empty for what has none."""
    if _kind(column.dtype) != "number" or len(column.spread) != _QUARTILES:
        return []
    try:
        return [float(each.replace(",", "")) for each in column.spread]
    except ValueError:
        return []


def _listed(names: Sequence[str], language: Language) -> str:
    shown = ", ".join(repr(name) for name in names[:_LISTED])
    more = len(names) - _LISTED
    return say("drift_and_more", language, names=shown, count=more) if more > 0 else shown
