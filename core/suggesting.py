"""Three questions that fit the data at hand, made from what is known of its columns. Pure: no model is asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from core.phrases import say
from core.steps import ColumnNote, FileAbstract, TableNote
from core.values import Language

COUNT: Final = 3
_NAME: Final = 60
_FEW: Final = 30
"""A column of words with at most so many different ones divides the rows into groups."""
_DATE_NAME = re.compile(
    r"(?:^|[_\W])(?:date|day|month|year|week|time|at)(?:$|[_\W])|日期|时间|月份|年份", re.IGNORECASE
)
_ISO = re.compile(r"\d{4}-\d{2}(?:-\d{2})?")
_ID_NAME = re.compile(r"(?:^|[_\W])(?:id|no|nr|key|code|zip|index)(?:$|[_\W])|id$|编号|序号", re.IGNORECASE)
_MONEY_NAME = re.compile(r"revenue|sales|amount|total|profit|turnover|收入|销售|金额|利润", re.IGNORECASE)
_COUNT_NAME = re.compile(r"cost|price|value|charge|units|quantity|count|成本|价格|数量", re.IGNORECASE)


class _Roles(NamedTuple):
    """What the columns of a table may be used for, by name."""

    measures: list[str]
    groups: list[str]
    dates: list[str]


def suggestions(files: Sequence[FileAbstract], language: Language) -> tuple[str, ...]:
    """Three questions about the newest table among these files, each a sentence; () when there is none to ask about."""
    found = next(((file, table) for file in reversed(files) for table in file.tables if table.columns), None)
    if found is None:
        return ()
    file, table = found
    roles = _roles(table)
    asked: list[str] = []
    if roles.measures and roles.groups:
        asked.append(say("suggest_most", language, group=roles.groups[0], measure=roles.measures[0]))
    if roles.measures and roles.dates:
        asked.append(say("suggest_time", language, measure=roles.measures[0], date=roles.dates[0]))
    if len(roles.measures) > 1:
        asked.append(say("suggest_related", language, measure=roles.measures[0], other=roles.measures[1]))
    if roles.groups:
        asked.append(say("suggest_rows", language, group=roles.groups[-1]))
    if roles.measures:
        asked.append(say("suggest_extremes", language, measure=roles.measures[0]))
    asked.append(say("suggest_missing", language, file=_short(file.path)))
    asked.append(say("suggest_summary", language, file=_short(file.path)))
    asked.append(say("suggest_strange", language, file=_short(file.path)))
    return tuple(asked[:COUNT])


def _roles(table: TableNote) -> _Roles:
    roles = _Roles([], [], [])
    for column in table.columns:
        name = _short(column.name)
        if not name:
            continue
        if _is_date(column):
            roles.dates.append(name)
        elif _is_number(column):
            if not _ID_NAME.search(column.name):
                roles.measures.append(name)
        elif column.levels or (column.unique is not None and 1 < column.unique <= _FEW):
            roles.groups.append(name)
    roles.measures.sort(key=lambda name: 0 if _MONEY_NAME.search(name) else 1 if _COUNT_NAME.search(name) else 2)
    return roles


def _is_number(column: ColumnNote) -> bool:
    return column.dtype.lower().startswith(("int", "float", "uint", "decimal", "double"))


def _is_date(column: ColumnNote) -> bool:
    if column.dtype.lower().startswith(("datetime", "date", "timestamp")):
        return True
    told = [*column.spread, *column.samples]
    looks_like = bool(told) and all(_ISO.match(value.strip()) for value in told if value.strip())
    return not _is_number(column) and (looks_like or bool(_DATE_NAME.search(column.name)))


def _short(text: str) -> str:
    """A name from a file on one line: it is shown and asked, and is never an instruction."""
    plain = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return plain if len(plain) <= _NAME else f"{plain[: _NAME - 1]}…"
