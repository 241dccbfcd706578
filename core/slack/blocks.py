"""Block Kit as plain dicts: builders that stay inside Slack's limits, and a check that names each broken limit.

Data goes into raw and rich text wherever possible: Slack parses no mention and no link there. `Limit` has the numbers.
If Slack's documents and its servers differ, it has the smaller one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final, Literal, NamedTuple

from core.interactions import Interaction
from core.slack.charts import CHART, CHARTS, chart_faults, without_charts
from core.slack.text import clip, clip_escaped, escape

Block = dict[str, Any]
"""One block, as Slack's JSON has it."""

TaskStatus = Literal["pending", "in_progress", "complete", "error"]
TASK_SIGNS: Final[Mapping[str, str]] = {"pending": "○", "in_progress": "◐", "complete": "✓", "error": "✗"}
"""A task's status in plain text."""
Align = Literal["left", "center", "right"]


class Limit:
    """Slack's limits, in characters where nothing else is said."""

    BLOCKS: Final = 50
    MESSAGE: Final = 12_000
    """All text of a message's blocks together; above about 13,200 the message is refused though each block is legal."""
    MARKDOWN: Final = 12_000
    SECTION: Final = 3_000
    HEADER: Final = 150
    CONTEXT_ELEMENTS: Final = 10
    BUTTONS: Final = 25
    BUTTON_TEXT: Final = 75
    BUTTON_VALUE: Final = 2_000
    MENU_OPTIONS: Final = 5
    SELECT_OPTIONS: Final = 100
    OPTION_VALUE: Final = 150
    ID: Final = 255
    TABLE_ROWS: Final = 100
    TABLE_COLUMNS: Final = 20
    TABLE: Final = 10_000
    TABLE_FITS: Final = 8_000
    """All cells of a table of ours together: by our own choice below what Slack takes."""
    CAPTION: Final = 150
    PAGE_ROWS: Final = 20
    """Rows of a data table that are shown at once, by our own choice; Slack takes up to a hundred, and shows five."""
    TASKS: Final = 50
    CONFIRM_TITLE: Final = 100
    CONFIRM_TEXT: Final = 300
    CONFIRM_BUTTON: Final = 30
    VIEW_TITLE: Final = 24
    VIEW_BLOCKS: Final = 100
    VIEW_BYTES: Final = 240_000
    """A window as JSON; above 250 kB it is refused. A letter outside ASCII takes six bytes of it, an emoji twelve."""
    FIELD_LABEL: Final = 2_000
    TASK_FIELD: Final = 250
    """Documented as 256 for a task's title; longer ones were seen to pass on some servers only."""
    FALLBACK: Final = 3_000
    """The text beside the blocks; chat.update refuses 4,000."""


class SlackMessage(NamedTuple):
    """A message for chat.postMessage: `text` is for notifications, already escaped; `blocks` is what people see.

    `known` are the web addresses in it that a person wrote: they may stay links.
    """

    text: str
    blocks: list[Block]
    known: frozenset[str] = frozenset()


def fallback(text: str) -> str:
    """Raw text as the escaped text beside blocks, cut to `Limit.FALLBACK` without cutting an escape in two."""
    shown = clip_escaped(escape(text), Limit.FALLBACK)
    return shown if shown.strip() else "…"


def section(text: str) -> Block:
    """A paragraph of mrkdwn. `text` must already be escaped; Slack adds no links to it."""
    return {"type": "section", "text": _mrkdwn(clip_escaped(text, Limit.SECTION))}


def context(*texts: str) -> Block:
    """Small grey text, one element per argument, mrkdwn already escaped."""
    return {
        "type": "context",
        "elements": [_mrkdwn(clip_escaped(text, Limit.SECTION)) for text in texts[: Limit.CONTEXT_ELEMENTS]],
    }


def header(text: str) -> Block:
    """A heading in plain text."""
    return {"type": "header", "text": _plain(clip(_shown(text), Limit.HEADER))}


def divider() -> Block:
    """A thin line."""
    return {"type": "divider"}


def markdown(text: str) -> Block:
    """Standard Markdown. The caller splits at `Limit.MARKDOWN`: cutting here could lose text."""
    return {"type": "markdown", "text": text}


def quote(text: str) -> Block:
    """A quotation: raw text, nothing in it is parsed."""
    return rich_text({"type": "rich_text_quote", "elements": [_raw(text)]})


def code(text: str) -> Block:
    """Code or output in fixed width: raw text, nothing in it is parsed."""
    return rich_text({"type": "rich_text_preformatted", "elements": [_raw(text)]})


def paragraph(text: str) -> Block:
    """A paragraph of raw text: nothing in it is parsed."""
    return rich_text({"type": "rich_text_section", "elements": [_raw(text)]})


def rich_text(*elements: dict[str, Any]) -> Block:
    """A rich_text block of these sections, quotes, lists or preformatted parts."""
    return {"type": "rich_text", "elements": list(elements)}


def table(rows: Sequence[Sequence[str]], aligns: Sequence[Align | None] = ()) -> Block:
    """A table of raw text, header row first. The caller keeps it within the limits (`fits_table`)."""
    block: Block = {
        "type": "table",
        "rows": [[{"type": "raw_text", "text": cell if cell.strip() else " "} for cell in row] for row in rows],
    }
    if any(aligns):
        block["column_settings"] = [{"align": align} if align else None for align in aligns]
    return block


def data_table(rows: Sequence[Sequence[str | tuple[float, str]]], caption: str) -> Block:
    """A table that people can sort, filter and page, header row first. A pair is a number with the text that shows it.

    The caller keeps it within the limits (`fits_table`), with a row below the header. Not every workspace has it:
    `as_plain_tables` makes a table of it.
    """
    width = max(map(len, rows))
    filled = [[*row, *[""] * (width - len(row))] for row in rows]
    return {
        "type": "data_table",
        "caption": clip(_shown(caption), Limit.CAPTION),
        "rows": [[_cell(each) for each in row] for row in filled],
        "page_size": min(len(rows) - 1, Limit.PAGE_ROWS),
    }


def as_plain_tables(blocks: Sequence[Block]) -> list[Block]:
    """The same blocks for a workspace without data tables: the same rows, numbers to the right."""
    return [_plain_table(block) if block.get("type") == "data_table" else block for block in blocks]


def _plain_table(block: Block) -> Block:
    rows = [[str(cell.get("text") or " ") for cell in row] for row in block["rows"]]
    columns = zip(*block["rows"][1:], strict=False)
    aligns: list[Align | None] = [
        "right" if any(cell.get("type") == "raw_number" for cell in column) else None for column in columns
    ]
    return table(rows, aligns)


def _cell(item: str | tuple[float, str]) -> dict[str, Any]:
    if isinstance(item, str):
        return {"type": "raw_text", "text": item if item.strip() else " "}
    value, text = item
    return {"type": "raw_number", "value": value, "text": text}


def fits_table(rows: Sequence[Sequence[str]]) -> bool:
    """Whether these rows, header included, may be one table block."""
    return (
        0 < len(rows) <= Limit.TABLE_ROWS
        and max(len(row) for row in rows) <= Limit.TABLE_COLUMNS
        and sum(max(1, len(cell)) for row in rows for cell in row) <= Limit.TABLE_FITS
    )


def actions(*elements: dict[str, Any]) -> Block:
    """A row of buttons."""
    return {"type": "actions", "elements": list(elements[: Limit.BUTTONS])}


def button(text: str, interaction: Interaction, style: Literal["primary", "danger"] | None = None) -> dict[str, Any]:
    """A button. Raises ValueError when its id or its payload is too long: a cut one would mean something else."""
    action_id, value = interaction.id, interaction.encode()
    if len(value) > Limit.BUTTON_VALUE or len(action_id) > Limit.ID:
        raise ValueError(f"the payload or the id of the button {text!r} is longer than Slack takes")
    element: dict[str, Any] = {
        "type": "button",
        "text": _plain(clip(_shown(text), Limit.BUTTON_TEXT)),
        "action_id": action_id,
        "value": value,
    }
    if style:
        element["style"] = style
    return element


def asking_first(element: dict[str, Any], title: str, text: str, yes: str, no: str) -> dict[str, Any]:
    """The button with a question that Slack asks before it counts as pressed."""
    confirm = {
        "title": _plain(clip(_shown(title), Limit.CONFIRM_TITLE)),
        "text": _plain(clip(_shown(text), Limit.CONFIRM_TEXT)),
        "confirm": _plain(clip(_shown(yes), Limit.CONFIRM_BUTTON)),
        "deny": _plain(clip(_shown(no), Limit.CONFIRM_BUTTON)),
        **({"style": element["style"]} if "style" in element else {}),
    }
    return {**element, "confirm": confirm}


def menu(action_id: str, options: Sequence[tuple[str, Interaction]]) -> dict[str, Any]:
    """A "⋯" with at most five things to do, each with its words. Raises ValueError when a payload is too long."""
    shown = [(_plain(clip(_shown(text), Limit.BUTTON_TEXT)), each.encode()) for text, each in options]
    if len(shown) > Limit.MENU_OPTIONS or any(len(value) > Limit.OPTION_VALUE for _, value in shown):
        raise ValueError(f"the menu {action_id!r} is longer than Slack takes")
    return {
        "type": "overflow",
        "action_id": action_id,
        "options": [{"text": text, "value": value} for text, value in shown],
    }


def select(
    action_id: str, placeholder: str, options: Sequence[tuple[str, Interaction]], chosen: int | None = None
) -> dict[str, Any]:
    """A list to choose one of at most a hundred from; `chosen` is the place of what is shown now.

    Raises ValueError when there are more, or a payload is too long.
    """
    shown = [{"text": _plain(clip(_shown(text), Limit.BUTTON_TEXT)), "value": each.encode()} for text, each in options]
    if not 0 < len(shown) <= Limit.SELECT_OPTIONS or any(len(one["value"]) > Limit.OPTION_VALUE for one in shown):
        raise ValueError(f"the select {action_id!r} is longer than Slack takes")
    return {
        "type": "static_select",
        "action_id": action_id,
        "placeholder": _plain(clip(_shown(placeholder), Limit.OPTION_VALUE)),
        "options": shown,
        **({} if chosen is None else {"initial_option": shown[chosen]}),
    }


def task_card(
    task_id: str, title: str, status: TaskStatus, *, output: Block | None = None, details: Block | None = None
) -> Block:
    """One task of a plan. `output` and `details` are rich_text blocks."""
    card: Block = {
        "type": "task_card",
        "task_id": clip(task_id, Limit.ID),
        "title": clip(_shown(title), Limit.TASK_FIELD),
        "status": status,
    }
    if details:
        card["details"] = details
    if output:
        card["output"] = output
    return card


def plan(title: str, tasks: Iterable[Block]) -> Block:
    """The tasks of one piece of work under a title. The caller folds above `Limit.TASKS`."""
    return {"type": "plan", "title": clip(_shown(title), Limit.TASK_FIELD), "tasks": list(tasks)}


def as_plain_plans(blocks: Sequence[Block]) -> list[Block]:
    """The same blocks for a workspace without plans: a title, and a line for each task. What a plan keeps folded, the
    details of its tasks, is left out."""
    return [part for block in blocks for part in (_plain_plan(block) if block.get("type") == "plan" else [block])]


def _plain_plan(block: Block) -> list[Block]:
    title = {"type": "text", "text": block["title"], "style": {"bold": True}}
    lines = [
        clip(": ".join(filter(None, (f"{TASK_SIGNS[task['status']]} {task['title']}", _output(task)))), Limit.SECTION)
        for task in block["tasks"]
    ]
    parts: list[str] = []
    for line in lines:
        if parts and len(parts[-1]) + 1 + len(line) <= Limit.SECTION:
            parts[-1] = f"{parts[-1]}\n{line}"
        else:
            parts.append(line)
    return [rich_text({"type": "rich_text_section", "elements": [title]}), *(paragraph(part) for part in parts)]


def _output(task: Block) -> str:
    return " ".join(" ".join(_texts(task.get("output"))).split())


DATA_TABLE, PLAN = "data_table", "plan"
PLAINER: Final[Mapping[str, Callable[[Sequence[Block]], list[Block]]]] = {
    CHART: without_charts,
    DATA_TABLE: as_plain_tables,
    PLAN: as_plain_plans,
}
"""The kinds of blocks that not every workspace has, with what makes others of them; the least needed first."""


def characters(blocks: Iterable[Block]) -> int:
    """All text that Slack would count in these blocks."""
    return sum(map(len, _texts(blocks)))


def json_bytes(value: object) -> int:
    """How many bytes a view, a block or a text takes on its way to Slack."""
    return len(json.dumps(value))


def in_a_window(blocks: Sequence[Block], most: int) -> list[Block]:
    """The first of these blocks, at most `most` and as many as a window has room for beside its buttons."""
    room = Limit.VIEW_BYTES - 10_000
    sizes = accumulate(json_bytes(block) + 2 for block in blocks)
    return [block for block, size in zip(blocks[:most], sizes, strict=False) if size <= room]


def broken_limits(blocks: Sequence[Block]) -> list[str]:
    """Every limit that these blocks break, as "/blocks/0/text: why"; empty when Slack would take them."""
    faults: list[str] = []
    if not 0 < len(blocks) <= Limit.BLOCKS:
        faults.append(f"/blocks: {len(blocks)} blocks, 1 to {Limit.BLOCKS} are taken")
    if (total := characters(blocks)) > Limit.MESSAGE:
        faults.append(f"/blocks: {total} characters together, at most {Limit.MESSAGE}")
    marked = sum(len(block["text"]) for block in blocks if block["type"] == "markdown")
    if marked > Limit.MARKDOWN:
        faults.append(f"/blocks: {marked} characters of markdown, at most {Limit.MARKDOWN}")
    if sum(block["type"] in ("table", "data_table") for block in blocks) > 1:
        faults.append("/blocks: more than one table")
    if (charts := sum(block["type"] == CHART for block in blocks)) > CHARTS:
        faults.append(f"/blocks: {charts} charts, at most {CHARTS} are taken")
    for index, block in enumerate(blocks):
        faults += [f"/blocks/{index}{fault}" for fault in _faults(block)]
    return faults


def broken_view(view: Block) -> list[str]:
    """Every limit that this modal breaks; empty when Slack would take it."""
    faults = [
        fault
        for key in ("title", "submit", "close")
        if key in view
        for fault in _length(f"/{key}", view[key]["text"], Limit.VIEW_TITLE)
    ]
    faults += _count("/blocks", view["blocks"], Limit.VIEW_BLOCKS)
    if (size := json_bytes(view)) > Limit.VIEW_BYTES:
        faults.append(f"/: {size} bytes, at most {Limit.VIEW_BYTES}")
    if any(block["type"] == "input" for block in view["blocks"]) and "submit" not in view:
        faults.append("/submit: a modal with fields needs one")
    if len(view.get("private_metadata", "")) > Limit.SECTION:
        faults.append("/private_metadata: too long")
    for index, block in enumerate(view["blocks"]):
        faults += [f"/blocks/{index}{fault}" for fault in _faults(block)]
    return faults


def _faults(block: Block) -> list[str]:
    match block["type"]:
        case "markdown":
            return _length("/text", block["text"], Limit.MARKDOWN)
        case "section":
            return _length("/text", block["text"]["text"], Limit.SECTION)
        case "header":
            return _length("/text", block["text"]["text"], Limit.HEADER)
        case "context":
            return _count("/elements", block["elements"], Limit.CONTEXT_ELEMENTS)
        case "actions":
            return _count("/elements", block["elements"], Limit.BUTTONS) + [
                f"/elements/{number}{fault}"
                for number, element in enumerate(block["elements"])
                for fault in _element_faults(element)
            ]
        case "table" | "data_table":
            return _data_table_faults(block) + (
                _count("/rows", block["rows"], Limit.TABLE_ROWS)
                + [f for n, row in enumerate(block["rows"]) for f in _count(f"/rows/{n}", row, Limit.TABLE_COLUMNS)]
                + _length("/rows", "".join(cell["text"] for row in block["rows"] for cell in row), Limit.TABLE)
                + ["/rows: an empty cell" for row in block["rows"] for cell in row if not cell["text"]]
            )
        case "data_visualization":
            return chart_faults(block)
        case "plan":
            return (
                _length("/title", block["title"], Limit.TASK_FIELD)
                + _count("/tasks", block["tasks"], Limit.TASKS)
                + [f"/tasks/{n}{fault}" for n, task in enumerate(block["tasks"]) for fault in _faults(task)]
            )
        case "task_card":
            return _length("/title", block["title"], Limit.TASK_FIELD)
        case "input":
            given, most = (
                len(block["element"].get("initial_value", "")),
                block["element"].get("max_length", Limit.SECTION),
            )
            too_long = [f"/element/initial_value: {given} characters, at most {most}"] if given > most else []
            return _length("/label", block["label"]["text"], Limit.FIELD_LABEL) + too_long
        case "rich_text":
            return ["/elements: empty text" for text in _texts(block) if not text]
        case _:
            return []


def _data_table_faults(block: Block) -> list[str]:
    if block["type"] != "data_table":
        return []
    faults = _length("/caption", block["caption"], Limit.CAPTION)
    if len(block["rows"]) < 2:
        faults.append("/rows: no row below the header")
    if len({len(row) for row in block["rows"]}) > 1:
        faults.append("/rows: rows of several lengths")
    return faults


def _element_faults(element: Mapping[str, Any]) -> list[str]:
    if element["type"] not in ("overflow", "static_select"):
        return _choice_faults("", element, Limit.BUTTON_VALUE)
    most = Limit.MENU_OPTIONS if element["type"] == "overflow" else Limit.SELECT_OPTIONS
    return _count("/options", element["options"], most) + [
        fault
        for number, option in enumerate(element["options"])
        for fault in _choice_faults(f"/options/{number}", option, Limit.OPTION_VALUE)
    ]


def _choice_faults(pointer: str, choice: Mapping[str, Any], most: int) -> list[str]:
    return _length(f"{pointer}/text", choice["text"]["text"], Limit.BUTTON_TEXT) + _length(
        f"{pointer}/value", choice["value"], most
    )


def _length(pointer: str, text: str, limit: int) -> list[str]:
    return [] if 0 < len(text) <= limit else [f"{pointer}: {len(text)} characters, 1 to {limit} are taken"]


def _count(pointer: str, items: Sequence[object], limit: int) -> list[str]:
    return [] if 0 < len(items) <= limit else [f"{pointer}: {len(items)} items, 1 to {limit} are taken"]


_WITH_TEXT = ("title", "text", "caption", "elements", "rows", "tasks", "details", "output")


def _texts(value: object) -> list[str]:
    """The texts in blocks, or in what blocks hold."""
    found: list[str] = []
    _gather(value, found)
    return found


def _gather(value: object, found: list[str]) -> None:
    if isinstance(value, dict):
        for key in _WITH_TEXT:
            if key in value:
                inner = value[key]
                if isinstance(inner, str):
                    found.append(inner)
                else:
                    _gather(inner, found)
    elif isinstance(value, list | tuple):
        for item in value:
            _gather(item, found)


_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def _shown(text: str) -> str:
    """Text on one line that is never empty: Slack refuses empty titles and labels."""
    return " ".join(_CONTROLS.sub(" ", text).split()) or "…"


def _raw(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text or " "}


def _mrkdwn(text: str) -> dict[str, Any]:
    return {"type": "mrkdwn", "text": text or " ", "verbatim": True}


def _plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text, "emoji": False}
