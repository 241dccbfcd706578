"""Named metrics: read from the team's files, checked by the guard, found in a question, given verbatim to a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from workers.sources.guard.check import check
from workers.sources.knowledge.entries import Metric
from workers.sources.knowledge.page import read_page
from workers.sources.knowledge.table_pages import refuse_unknown, trust_of
from workers.sources.knowledge.words import Phrases
from workers.sources.values import TableName, Visible

FRONT = ("metric", "table", "grain", "filters", "synonyms", "unit", "owner", "trust")
HEAD = (
    "Metrics that the team defines. Use the SQL of a metric verbatim and cite the metric by its name. Add only the "
    "filters that it allows. Do not compute such a number in another way. You may group it by any column: the report "
    "says then that this grouping is not the team's."
)


def read_metric(file: str, text: str) -> Metric:
    """The metric that a file defines. Raises PageFault."""
    page = read_page(file, text)
    refuse_unknown(page, FRONT)
    if not page.text("metric"):
        raise page.fault("names no metric: write `metric: NAME` in the front matter.", line=1)
    if not page.code:
        raise page.fault("holds no SQL: write a block ```sql with a SELECT, or with an expression.")
    return Metric(
        page.text("metric"),
        page.code.rstrip("; \n"),
        "\n\n".join(filter(None, (page.before, page.after))),
        page.text("table"),
        page.text("grain"),
        page.items("filters"),
        page.items("synonyms"),
        page.text("unit"),
        page.text("owner"),
        trust_of(page),
    )


def tables_of_metric(metric: Metric, dialect: str, visible: Visible) -> tuple[TableName, ...]:
    """The tables that a metric reads. Raises Refused when the guard would not let its SQL through."""
    return check(metric.statement, dialect, visible).tables


def named_in(question: str, metrics: Sequence[Metric]) -> tuple[Metric, ...]:
    """The metrics that a question names, by name or synonym, the longest name first."""
    phrases = Phrases((name, metric) for metric in metrics for name in (metric.name, *metric.synonyms))
    return tuple(phrases.found_in(question))


def metrics_text(metrics: Iterable[Metric]) -> str:
    """The metrics as they stand in a prompt, each with its SQL verbatim; empty without metrics."""
    parts = [_metric_text(metric) for metric in metrics]
    return "\n\n".join([HEAD, *parts]) if parts else ""


def _metric_text(metric: Metric) -> str:
    about = {
        "also called": ", ".join(metric.synonyms),
        "meaning": " ".join(metric.meaning.split()),
        "expression over": metric.table,
        "grain": metric.grain,
        "filters allowed": ", ".join(metric.filters),
        "unit": metric.unit,
        "owner": metric.owner,
        "trust": metric.trust.value,
    }
    lines = [f"Metric: {metric.name}", *(f"  {name}: {text}" for name, text in about.items() if text)]
    return "\n".join([*lines, "  ```sql", *(f"  {line}" for line in metric.sql.splitlines()), "  ```"])
