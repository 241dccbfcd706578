"""Block Kit as Markdown, for a terminal and for `--json`: the text that a reader of the thread sees."""

from __future__ import annotations

import math
from typing import Any

from core.slack.charts import UNNAMED

Json = dict[str, Any]

_CHART_DIGITS = 6
"""Of a value in a chart: nobody reads more off its picture."""
_STATUS = {"pending": "○", "in_progress": "◐", "complete": "●", "error": "✗"}


def message_text(message: Json) -> str:
    """The text of a message in Slack's shape: its blocks when they hold text, else its `text`."""
    parts = [part for block in message.get("blocks") or () if (part := block_text(block).strip())]
    return "\n\n".join(parts) or str(message.get("text") or "")


def block_text(block: Json) -> str:
    """One block as lines of text; kinds without readable text give ""."""
    match block.get("type"):
        case "markdown":
            return str(block.get("text", ""))
        case "section":
            return "\n".join(_text(part) for part in (block.get("text"), *(block.get("fields") or ())) if part)
        case "header":
            return f"# {_text(block.get('text'))}"
        case "context":
            return " · ".join(_text(part) for part in block.get("elements") or () if part.get("type") != "image")
        case "actions":
            return "  ".join(filter(None, map(_element, block.get("elements") or ())))
        case "image":
            return f"[picture: {block.get('alt_text', '')}]"
        case "table" | "data_table":
            return _table(block.get("rows") or [])
        case "data_visualization":
            return _chart(block)
        case "plan":
            tasks = [block_text({"type": "task_card", **task}) for task in block.get("tasks") or ()]
            return "\n".join([f"**{block.get('title', '')}**", "", *tasks])
        case "task_card":
            mark = _STATUS.get(str(block.get("status")), " ")
            return f"- {mark} {block.get('title', '')}{_last_line(block.get('output'))}"
        case "rich_text":
            return _rich(block)
        case _:
            return ""


def _table(rows: list[list[Json]]) -> str:
    lines = ["| " + " | ".join(_cell(cell).replace("\n", " ") for cell in row) + " |" for row in rows]
    rule = "|" + " --- |" * len(rows[0]) if rows else ""
    return "\n".join([*lines[:1], rule, *lines[1:]])


def _chart(block: Json) -> str:
    """A chart as a table: a column for each series. What is measured is its head, or stands beside the title."""
    drawn, title = block.get("chart") or {}, str(block.get("title", ""))
    axes = drawn.get("axis_config") or {}
    measured = str(axes.get("y_label", ""))
    series = drawn.get("series") or [{"name": "", "data": drawn.get("segments") or []}]
    labels = [str(point.get("label", "")) for point in series[0].get("data") or ()]
    columns = [[_charted(point.get("value", "")) for point in each.get("data") or ()] for each in series]
    names = [str(each.get("name", "")) for each in series]
    names = [measured or title] if names in ([""], [UNNAMED]) else names
    rows = [[str(axes.get("x_label", "")), *names], *map(list, zip(labels, *columns, strict=False))]
    cells = [[{"text": text} for text in row] for row in rows]
    beside = f" ({measured})" if measured and measured not in names else ""
    return f"**{title}**{beside}\n\n{_table(cells)}"


def _charted(value: Any) -> str:
    """A value of a chart in six digits, those before the point always: 33.3333, 1234568."""
    if not isinstance(value, float) or not math.isfinite(value):
        return str(value)
    before = math.floor(math.log10(abs(value))) + 1 if value else 1
    shown = f"{value:.{max(_CHART_DIGITS - before, 0)}f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def _last_line(output: Json | None) -> str:
    lines = _rich(output).strip().splitlines() if output else []
    return f": {lines[-1]}" if lines else ""


def _element(element: Json) -> str:
    if element.get("type") == "overflow":
        return f"[⋯ {' · '.join(_text(option.get('text')) for option in element.get('options') or ())}]"
    return f"[{_text(element.get('text'))}]" if element.get("text") else ""


def _text(part: Any) -> str:
    return str(part.get("text", "")) if isinstance(part, dict) else str(part or "")


def _cell(cell: Json) -> str:
    return _rich(cell) if cell.get("type") == "rich_text" else str(cell.get("text", cell.get("value", "")))


def _rich(element: Json) -> str:
    kind = element.get("type")
    if kind == "user":
        return f"<@{element.get('user_id', '')}>"
    if kind == "link":
        return str(element.get("text") or element.get("url", ""))
    if kind == "emoji":
        return f":{element.get('name', '')}:"
    if "elements" in element:
        between = "\n" if kind in ("rich_text", "rich_text_list") else ""
        return between.join(_rich(child) for child in element["elements"])
    return str(element.get("text", ""))
