"""The contradictions of a report: its figures against one another, without the outputs that they come from."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from workers.agent.provenance.claims.reading import read_report
from workers.agent.provenance.consistency.amounts import Contradiction, tables_of
from workers.agent.provenance.consistency.changes import in_sentences
from workers.agent.provenance.consistency.rows import in_rows
from workers.agent.provenance.consistency.totals import beside_tables, in_rows_of_totals
from workers.agent.text import one_line

_MOST_TOLD = 12


@lru_cache(maxsize=8)
def contradictions(report: str) -> tuple[Contradiction, ...]:
    """The figures of a report, without tokens, that its other figures contradict. Silent in doubt.

    Each may come from an output, and yet not all can be right: a total and the rows above it, a change and its two
    levels, a figure and the two others of its row.
    """
    reading = read_report(report)
    checks = (in_rows_of_totals, beside_tables, in_rows)
    found = [one for table in tables_of(reading) for check in checks for one in check(table, reading)]
    return tuple(dict.fromkeys((*found, *in_sentences(reading))))


def contradicted(found: Sequence[Contradiction]) -> list[dict[str, str]]:
    """Contradictions of a report for a model: the figure, its place, what the others give, and which these are."""
    return [
        {
            "figure": one_line(one.figure, 60),
            "where": one_line(one.where, 240),
            "gives": one_line(one.gives, 60),
            "by": one_line(one.by, 160),
        }
        for one in found[:_MOST_TOLD]
    ]
