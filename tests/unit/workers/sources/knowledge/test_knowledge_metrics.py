"""Named metrics: read, checked by the guard, found in a question, given verbatim."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from workers.sources.errors import Refused
from workers.sources.knowledge.entries import ColumnEntry
from workers.sources.knowledge.folder import read_folder
from workers.sources.knowledge.metrics import metrics_text, named_in, read_metric, tables_of_metric
from workers.sources.knowledge.page import PageFault
from workers.sources.knowledge.table_pages import read_table
from workers.sources.values import TableName, Visible

PAGE = """---
metric: net revenue
table: orders
unit: EUR
grain: per month
filters: [region, channel]
synonyms: [turnover, 净收入]
owner: Ana
trust: high
---

# Net revenue

What customers paid, without tax.

```sql
sum(net_amt)
  FILTER (WHERE status <> 'cancelled');
```

Refunds count in the month of the refund.
"""
VISIBLE = Visible((TableName("public", "orders"),), ("public",))


def test_a_metric_is_read_in_all_its_parts() -> None:
    metric = read_metric("m.md", PAGE)
    assert metric.sql == "sum(net_amt)\n  FILTER (WHERE status <> 'cancelled')"
    assert metric.meaning == "What customers paid, without tax.\n\nRefunds count in the month of the refund."
    assert (metric.name, metric.table, metric.unit, metric.grain) == ("net revenue", "orders", "EUR", "per month")
    assert metric.filters == ("region", "channel")
    assert metric.synonyms == ("turnover", "净收入")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (PAGE.replace("metric: net revenue\n", ""), "m.md:1: names no metric"),
        (PAGE.replace("```sql", "```python"), "m.md: holds no SQL"),
        (PAGE.replace("grain:", "grian:"), "m.md:5: unknown name 'grian' in the front matter; the nearest known one"),
    ],
)
def test_a_metric_that_cannot_be_used_is_said_with_file_and_line(text: str, said: str) -> None:
    with pytest.raises(PageFault) as error:
        read_metric("m.md", text)
    assert said in str(error.value)


def test_the_guard_reads_the_sql_of_a_metric() -> None:
    metric = read_metric("m.md", PAGE)
    assert tables_of_metric(metric, "postgres", VISIBLE) == (TableName("public", "orders"),)
    for sql, said in (
        ("1) FROM orders; DROP TABLE orders; --", "refused|cannot be read|statements"),
        ("pg_read_file('/etc/passwd')", "not among those"),
        ("(SELECT max(pay) FROM salaries)", "no table salaries"),
    ):
        evil = read_metric("m.md", PAGE.replace("sum(net_amt)\n  FILTER (WHERE status <> 'cancelled')", sql))
        with pytest.raises(Refused, match=said):
            tables_of_metric(evil, "postgres", VISIBLE)


def test_a_question_names_a_metric_by_its_name_or_a_synonym() -> None:
    metric = read_metric("m.md", PAGE)
    for question in ("Net revenues by month?", "How did TURNOVER develop?", "去年的净收入是多少"):
        assert named_in(question, [metric]) == (metric,), question
    assert named_in("revenue before tax, net of fees", [metric]) == ()


def test_metrics_are_given_verbatim_with_the_order_to_cite_them(
    golden: Callable[[str, str], None], examples: Path
) -> None:
    metrics = [read_metric("m.md", PAGE), *read_folder(examples / "telco" / "dictionary").metrics]
    golden("metrics.txt", metrics_text(metrics) + "\n")
    assert metrics[0].sql.splitlines()[1] in metrics_text(metrics)
    assert metrics_text([]) == ""


def test_the_files_that_the_documentation_shows_can_be_read() -> None:
    page = (Path(__file__).parents[5] / "docs" / "sources.md").read_text(encoding="utf-8")
    table, metric = (found[1] for found in re.findall(r"(?ms)^(`{3,4})markdown\n(.*?)^\1$", page))
    region = ColumnEntry("region", "text", "where it was sold", "NORTH, SOUTH")
    assert read_table("orders.md", table).column("region") == region
    assert read_metric("net_revenue.md", metric).sql == "sum(net_amt) FILTER (WHERE status <> 'cancelled')"
