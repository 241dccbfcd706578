"""What a cell did to its tables that is easily overlooked, as codes and numbers (executor/said.py).

Rows that went, values that became missing, joins that repeat or lose rows, dates that can be read in two orders, mixed
currencies. Two ways to see it: `Watched` compares the tables that a cell sets or changes with what they were before;
`watch_pandas` puts a thin function around three of pandas' own, which counts what they were given and what they gave.

None of it may change what a cell computes, cost much, or raise.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeGuard

from executor.inside.variable_names import CellNames

Check = dict[str, Any]
"""{code, names, numbers}: a name is that of a variable or column, or "#3" for the third column."""

MOST = 8
_LOST = 0.8
_CELLS = 2_000_000
"""A table with more of them is not counted through."""
_COLUMNS, _SAMPLE = 60, 5_000
_JOIN_ROWS = 1_000_000
_ORDERED = re.compile(r"^\s*(\d{1,2})[/.-](\d{1,2})[/.-](\d{2}|\d{4})(?:\D|$)")
_CURRENCIES = re.compile(r"(US\$|\$|USD|€|EUR|£|GBP|¥|￥|CNY|RMB|JPY|CHF|元)")
_SAME = {"US$": "$", "USD": "$", "EUR": "€", "GBP": "£", "￥": "¥", "CNY": "¥", "RMB": "¥", "元": "¥"}
_UNIT = re.compile(r"\d\s?(kg|g|mg|lbs?|oz|km|mi|miles|m|cm|mm|ft|l|ml|kwh|mwh)\b", re.IGNORECASE)
_UNIT_COLUMN = re.compile(r"^\s*(currency|curr|ccy|währung|waehrung|units?|uom|einheit|币种|单位)\s*$", re.IGNORECASE)
_DROPS = frozenset({"dropna", "drop_duplicates"})


class Watched:
    """The tables of one cell: made before it runs, asked when it has ended."""

    def __init__(self, names: CellNames, namespace: dict[str, Any]) -> None:
        self._assignments = names.assignments
        self._names = list(dict.fromkeys([*names.assigned, *sorted(names.changed)]))
        targets = (node for one in names.assignments for target in one.targets for node in ast.walk(target))
        self._set = {node.id for node in targets if isinstance(node, ast.Name)} | names.changed
        self._before: dict[str, tuple[int, int, dict[Any, int]]] = {}
        SEEN.clear()
        with contextlib.suppress(Exception):
            for name in self._names:
                if _is_frame(value := namespace.get(name)):
                    self._before[name] = (id(value), len(value), _missing(value))

    def checks(self, namespace: dict[str, Any], told: set[tuple[str, ...]]) -> list[Check]:
        """What there is to say, each thing about mixed columns once per session (`told`)."""
        found = list(SEEN)
        SEEN.clear()
        with contextlib.suppress(Exception):
            found += self._rows(namespace)
            unread = {name for each in found if each["code"] in ("not_numbers", "not_dates") for name in each["names"]}
            found += [each for each in self._values(namespace) if each["names"][1] not in unread]
            for check in self._mixed(namespace):
                key = (check["code"], *check["names"][1:])
                if key not in told:
                    told.add(key)
                    found.append(check)
        return found[:MOST]

    def _rows(self, namespace: dict[str, Any]) -> Iterator[Check]:
        """Tables that have lost rows, or have none."""
        sources = dict(_filtered(self._assignments))
        for name in self._names:
            if not _is_frame(value := namespace.get(name)):
                continue
            source, drops = sources.get(name, (name, False))
            if name in self._before and source == name and name in self._set:  # not a variable of a loop
                before = self._before[name][1]
                counts = True
            elif _is_frame(other := namespace.get(source)) and other is not value:
                before, counts = len(other), drops
            else:
                continue
            if not self._is_alike(name, source, value, namespace):
                continue
            if before and not len(value):
                yield _check("empty_frame", (name, source), (before,))
            elif counts and len(value) < _LOST * before:
                yield _check("rows_lost", (name, source), (before, len(value)))

    def _is_alike(self, name: str, source: str, value: Any, namespace: dict[str, Any]) -> bool:
        """Whether a table has most columns of the one that it comes from: a summary of it has others."""
        before = set(self._before[name][2] if source == name else namespace[source].columns)
        return bool(before) and len(before & set(value.columns)) >= len(before) / 2

    def _values(self, namespace: dict[str, Any]) -> Iterator[Check]:
        """Columns of a table that stays in which more values are missing than before."""
        for name, (_, rows, missing) in self._before.items():
            value = namespace.get(name)
            if not _is_frame(value) or len(value) != rows:
                continue
            after = _missing(value)
            for place, column in enumerate(value.columns):
                if after.get(column, 0) > missing.get(column, rows) >= 0:
                    yield _check("nan_made", (name, _name(column, place)), (missing[column], after[column], rows))

    def _mixed(self, namespace: dict[str, Any]) -> Iterator[Check]:
        """Columns of the tables that are new in which currencies or units are mixed."""
        for name in self._names:
            value = namespace.get(name)
            if not _is_frame(value) or self._before.get(name, (0,))[0] == id(value):
                continue
            for place, column in enumerate(value.columns[:_COLUMNS]):
                series = value.iloc[:, place]
                if str(series.dtype) not in ("object", "str", "string"):
                    continue
                texts = [text for text in series.head(_SAMPLE) if type(text) is str]
                kinds = {_SAME.get(match[0], match[0]) for text in texts if (match := _CURRENCIES.search(text))}
                units = {match[1].casefold() for text in texts if (match := _UNIT.search(text))}
                named = set(texts) if _UNIT_COLUMN.match(str(column)) else set()
                if len(kinds) > 1:
                    codes = {_SAME.get(text.strip().upper(), text.strip().upper()) for text in named}
                    yield _check("mixed_currencies", (name, _name(column, place)), (max(len(kinds), len(codes)),))
                elif len(units) > 1 or 1 < len(named) <= 12:
                    yield _check("mixed_units", (name, _name(column, place)), (max(len(units), len(named)),))


def _filtered(assignments: Iterable[ast.Assign]) -> Iterator[tuple[str, tuple[str, bool]]]:
    """The names that are set to a part of a table: (name, (the table, whether rows are dropped for what they miss)).

    Whoever names the columns, as in `drop_duplicates("user_id")`, wants one row for each of them.
    """
    for node in assignments:
        if len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
            continue
        value, drops, parts, given = node.value, False, False, False
        while isinstance(value, (ast.Call, ast.Attribute, ast.Subscript)):
            if isinstance(value, ast.Call):
                given = bool(value.args) or any(one.arg == "subset" for one in value.keywords)
            if isinstance(value, ast.Attribute):
                drops = drops or (value.attr in _DROPS and not (given and value.attr == "drop_duplicates"))
                parts = parts or value.attr in (*_DROPS, "query", "loc", "merge", "join", "filter")
            parts = parts or isinstance(value, ast.Subscript)
            value = value.func if isinstance(value, ast.Call) else value.value
        if isinstance(value, ast.Name) and parts:
            yield node.targets[0].id, (value.id, drops)


def _is_frame(value: Any) -> TypeGuard[Any]:
    return type(value).__name__ == "DataFrame" and type(value).__module__.startswith("pandas")


def _missing(frame: Any) -> dict[Any, int]:
    """Column → how many values are missing; without counts for a table that is too large."""
    columns = list(frame.columns)
    if frame.shape[0] * min(len(columns), _COLUMNS) > _CELLS or len(set(columns)) != len(columns):
        return dict.fromkeys(columns, -1)
    counts = frame.iloc[:, :_COLUMNS].isna().sum()
    return {column: int(count) for column, count in zip(columns, counts.tolist(), strict=False)}


def _name(column: object, place: int) -> str:
    word = str(column)
    return word if word.isidentifier() and len(word) <= 60 else f"#{place + 1}"


def _check(code: str, names: tuple[str, ...], numbers: tuple[int, ...]) -> Check:
    return {"code": code, "names": [name[:60] for name in names], "numbers": [int(each) for each in numbers]}


# --- what pandas was given


SEEN: list[Check] = []
"""What the functions below have counted since the cell began."""


def watch_pandas() -> None:
    """Put a counting function around three of pandas', wherever it keeps them. Done once, in the zygote."""
    pandas = sys.modules.get("pandas")
    if pandas is None:
        return
    for name, count in (("merge", _of_join), ("to_datetime", _of_dates), ("to_numeric", _of_numbers)):
        original = getattr(pandas, name)
        counting = _counting(original, count, os.path.dirname(str(pandas.__file__)))
        for module in [module for key, module in sys.modules.items() if key.startswith("pandas")]:
            for key, value in list(vars(module).items()):
                if value is original:  # everywhere, so that it is still pickled by its name
                    setattr(module, key, counting)


def _counting(original: Callable[..., Any], count: Callable[..., Any], folder: str) -> Callable[..., Any]:
    @functools.wraps(original)
    def counted(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if len(SEEN) < MOST:
            with contextlib.suppress(Exception):  # what cannot be counted is not said
                SEEN.extend(count(result, *args, **kwargs))
        return result

    # pandas blames a warning on the first file outside of its folder: that must stay the cell
    function: Any = counted
    function.__code__ = function.__code__.replace(co_filename=os.path.join(folder, "counted.py"))
    return counted


def _of_join(
    result: Any, left: Any, right: Any, how: str = "inner", on: Any = None, *more: Any, **given: Any
) -> list[Check]:
    if more or how == "cross" or given.get("left_index") or given.get("right_index"):
        return []
    on_left, on_right = (on if given.get(side) is None else given[side] for side in ("left_on", "right_on"))
    if on_left is None:
        on_left = on_right = [column for column in left.columns if column in set(right.columns)]
    if max(len(left), len(right), len(result)) > _JOIN_ROWS:
        return []
    keys_left, keys_right = left[_listed(on_left)], right[_listed(on_right)]
    names = tuple(_name(column, list(left.columns).index(column)) for column in _listed(on_left)[:1])
    twice_left, twice_right = int(keys_left.duplicated().sum()), int(keys_right.duplicated().sum())
    found = []
    grew = len(result) > len(left) if how in ("left", "inner") else len(result) > max(len(left), len(right))
    if grew and twice_right and (twice_left or how in ("left", "inner")):
        found.append(_check("join_grew", names, (len(left), len(right), len(result), twice_left, twice_right)))
    if len(_listed(on_left)) == 1:
        first, second = keys_left.iloc[:, 0], keys_right.iloc[:, 0]
        ours, theirs = set(first.dropna()), set(second.dropna())
        both = len(ours & theirs)
        if ours and both < _LOST * len(ours):
            plain = len({_plain(key) for key in ours} & {_plain(key) for key in theirs})
            kinds = int(first.dtype.kind != second.dtype.kind)
            found.append(_check("join_missed", names, (len(ours), both, plain, kinds, len(left), len(result))))
    return found


def _listed(on: Any) -> list[Any]:
    return list(on) if isinstance(on, (list, tuple)) else [on]


def _plain(key: object) -> str:
    """A key without what is easily overlooked: blanks, case, a number read as text, ".0"."""
    word = " ".join(str(key).split()).casefold()
    return word[:-2] if word.endswith(".0") else word


def _of_dates(result: Any, arg: Any, *more: Any, **given: Any) -> list[Check]:
    found = _lost_values("not_dates", result, arg)
    each_alone = given.get("format") == "mixed"  # 03/04 is read month first even where another row is 25/04
    if more or (given.get("format") and not each_alone) or given.get("dayfirst") is not None or given.get("unit"):
        return found
    if not _is_series(arg):
        return found
    first = second = both = 0
    for text in arg.head(_SAMPLE):
        if type(text) is str and (match := _ORDERED.match(text)):
            a, b = int(match[1]), int(match[2])
            first += a > 12 >= b
            second += b > 12 >= a
            both += a <= 12 and b <= 12 and a != b
    if both and not (first and not second and not each_alone) and not (second and not first):
        found.append(_check("two_orders", _name_of_series(arg), (both, first, second)))
    return found


def _of_numbers(result: Any, arg: Any, *more: Any, **given: Any) -> list[Check]:
    return _lost_values("not_numbers", result, arg)


def _lost_values(code: str, result: Any, arg: Any) -> list[Check]:
    """Values that could not be read and are missing now."""
    if not _is_series(arg) or not hasattr(result, "isna"):
        return []
    lost = int(result.isna().sum()) - int(arg.isna().sum())
    return [_check(code, _name_of_series(arg), (lost, len(arg)))] if lost > 0 else []


def _name_of_series(series: Any) -> tuple[str, ...]:
    """The name of a series, if it can be shown. A series has no place in a table, so it is not named by one."""
    name = _name(series.name, 0)
    return () if series.name is None or name.startswith("#") else (name,)


def _is_series(value: object) -> bool:
    return type(value).__name__ == "Series" and type(value).__module__.startswith("pandas")
