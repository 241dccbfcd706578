"""How many rows a database expects to process for a statement: read from its explained plan.

The larger of two numbers counts: the rows of all tables that the plan reads, and the rows of its largest step. The
database estimates them from its statistics; nothing runs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

Json = Mapping[str, Any]

_WAITS = frozenset({"Sort", "Hash", "Aggregate", "WindowAgg", "SetOp"})
"""Steps of Postgres that take all of their input, also when only a few of their rows are wanted."""
_SCANS = ("SCAN", "READ_")
_PREVIEW = re.compile(r"SELECT (?!DISTINCT)[^()]* FROM \S+(?: AS \S+)? LIMIT (\d+)")


class _Rows(NamedTuple):
    read: float
    made: float

    @property
    def expected(self) -> int:
        largest = max(self.read, self.made)
        return int(largest) if math.isfinite(largest) else 1 << 62


def postgres_rows(plan: Json, sizes: Mapping[tuple[str, str], float]) -> int:
    """The rows of a plan of `EXPLAIN (FORMAT JSON, VERBOSE)`. `sizes` are the rows of tables by schema and name: a plan
    tells of a sequential scan only what is left behind its filter.
    """
    return _postgres(plan, sizes, runs=1.0, share=1.0).expected


def scanned_tables(plan: Json) -> set[tuple[str, str]]:
    """The tables that such a plan reads from beginning to end, by schema and name."""
    here = {(str(plan.get("Schema")), str(plan.get("Relation Name")))} if plan["Node Type"] == "Seq Scan" else set()
    return here.union(*(scanned_tables(each) for each in plan.get("Plans", ())))


def _postgres(step: Json, sizes: Mapping[tuple[str, str], float], runs: float, share: float) -> _Rows:
    """`runs`: how often the step runs; `share`: the part of its rows that the steps above want."""
    kind, rows, below = step["Node Type"], float(step["Plan Rows"]), step.get("Plans", ())
    place = (str(step.get("Schema")), str(step.get("Relation Name")))
    read = max(rows, sizes.get(place, 0.0) if kind == "Seq Scan" else rows) if "Relation Name" in step else 0.0
    found = [_Rows(read * runs * share, rows * runs * share)]
    if kind == "Limit" and below:
        share *= min(1.0, rows / max(1.0, float(below[0]["Plan Rows"])))
    elif kind in _WAITS:
        share = 1.0
    if kind.startswith("Gather"):  # a plan counts the rows of one process
        workers = int(step.get("Workers Planned", 0))
        runs *= workers + max(0.0, 1 - 0.3 * workers)
    for child in below:
        again, part = 1.0, share
        match child.get("Parent Relationship"):
            case "Inner" if kind == "Nested Loop":
                again = max(1.0, float(below[0]["Plan Rows"]))
            case "InitPlan":
                part = 1.0
            case "SubPlan" if "hashed SubPlan" not in str(step):
                again = max(1.0, read, rows)
        found.append(_postgres(child, sizes, runs * again, part))
    return _Rows(sum(each.read for each in found), max(each.made for each in found))


def mysql_rows(plan: Sequence[Mapping[str, Any]], sql: str) -> int:
    """The rows of a plan of `EXPLAIN`, a mapping for each table; `sql` is the statement: a plan tells of no LIMIT.

    The tables of one SELECT are joined in the order of the plan, each once for every row before.
    """
    read: dict[Any, float] = {}
    total, largest = 0.0, 0.0
    for line in plan:
        rows = float(line.get("rows") or 0)
        before = read.get(line.get("id"), 1.0)
        total += rows * before
        read[line.get("id")] = max(1.0, rows * before * float(line.get("filtered") or 100) / 100)
        largest = max(largest, rows * before)
    if len(plan) == 1 and (preview := _PREVIEW.fullmatch(" ".join(sql.split()))):
        total = largest = min(total, float(preview[1]))
    return _Rows(total, largest).expected


def duckdb_rows(plan: Json) -> int:
    """The rows of a plan of DuckDB's `EXPLAIN (FORMAT JSON)`."""
    return _duckdb(plan)[1].expected


def _duckdb(step: Json) -> tuple[float, _Rows]:
    """The rows that leave a step, and those of all of it."""
    name, about = str(step["name"]).strip(), step.get("extra_info") or {}
    below = [_duckdb(child) for child in step.get("children", ())]
    told = str(about.get("Estimated Cardinality", "")) if isinstance(about, Mapping) else ""
    if name == "STREAMING_LIMIT" and _is_plain(step["children"][0]):
        return 0.0, _Rows(0.0, 0.0)  # reading ends with the last row that is wanted
    if told.isdigit():
        rows = float(told)
    elif name in ("CROSS_PRODUCT", "NESTED_LOOP_JOIN", "BLOCKWISE_NL_JOIN"):
        rows = math.prod(max(1.0, each[0]) for each in below)
    else:
        rows = sum(each[0] for each in below)
    read = rows if any(sign in name for sign in _SCANS) else 0.0
    found = [_Rows(read, rows), *(each[1] for each in below)]
    return rows, _Rows(sum(each.read for each in found), max(each.made for each in found))


def _is_plain(step: Json) -> bool:
    """Whether a step hands on the rows of one table as they come."""
    about = step.get("extra_info") or {}
    below = step.get("children", ())
    if not below:
        return "Filters" not in about
    return str(step["name"]).strip() == "PROJECTION" and _is_plain(below[0])
