"""The whole message or view: every block's own rule, then the totals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from playground.blocks import elements as el
from playground.blocks.kinds import EVERYWHERE, MESSAGE
from playground.blocks.rules import Complaint, Complaints, boolean, by_type, items, shape, string
from playground.blocks.tables import CHARACTERS, characters
from playground.errors import SlackError

MESSAGE_BLOCKS, VIEW_BLOCKS = 50, 100
ALL_TEXT = (
    13_200  # found by trial, not documented: above it Slack answers msg_blocks_too_long although each block is legal
)
ALL_MARKDOWN = 12_000
CHARTS = 2  # found by trial, too
VIEW_BYTES = 250_000
TABLES = {"table", "data_table"}
SPOKEN = {"text", "title", "subtitle", "body", "alt_text", "label", "hint", "caption"}
MAX_COMPLAINTS = 20

_message = items(by_type(MESSAGE), MESSAGE_BLOCKS, 0)
_view = shape(
    {},
    {
        "title": el.plain(24),
        "submit": el.plain(24),
        "close": el.plain(24),
        "blocks": items(by_type(EVERYWHERE), VIEW_BLOCKS, 0),
        "private_metadata": string(3000, 0),
        "callback_id": string(255, 0),
        "external_id": string(255, 0),
        "clear_on_close": boolean,
        "notify_on_close": boolean,
        "submit_disabled": boolean,
    },
)


def check_blocks(blocks: Any, is_ready_image: Callable[[str], bool]) -> None:
    """Refuses blocks of a message as Slack would. `is_ready_image` says whether a file id or URL may be shown.

    Raises SlackError invalid_blocks_format, invalid_blocks, invalid_attachments or msg_blocks_too_long.
    """
    if not isinstance(blocks, list):
        raise SlackError("invalid_blocks_format")
    _refuse(_message(blocks, "/blocks"), "invalid_blocks")
    _refuse(_same_ids(blocks), "invalid_blocks")
    _refuse(_unready_files(blocks, "/blocks", is_ready_image), "invalid_blocks")
    if sum(each["type"] == "table" for each in blocks) > 1:
        raise SlackError("invalid_attachments", response_metadata={"messages": ["[ERROR] only_one_table_allowed"]})
    if sum(each["type"] == "data_visualization" for each in blocks) > CHARTS:
        _refuse(iter([Complaint(f"no more than {CHARTS} charts allowed", "/blocks")]), "invalid_blocks")
    if characters([each["rows"] for each in blocks if each["type"] == "data_table"]) > CHARACTERS:
        complaint = Complaint(f"must be less than {CHARACTERS + 1} characters over all data tables", "/blocks")
        _refuse(iter([complaint]), "invalid_blocks")
    markdown = sum(len(each["text"]) for each in blocks if each["type"] == "markdown")
    if markdown > ALL_MARKDOWN or _spoken([each for each in blocks if each["type"] not in TABLES]) > ALL_TEXT:
        raise SlackError("msg_blocks_too_long")


def check_view(view: Any, is_ready_image: Callable[[str], bool], *, kinds: tuple[str, ...] = ("modal",)) -> None:
    """Refuses a view as Slack would. Raises SlackError invalid_arguments or view_too_large."""
    if not isinstance(view, dict) or view.get("type") not in kinds:
        raise SlackError(
            "invalid_arguments", response_metadata={"messages": ["[ERROR] unsupported type [json-pointer:/view/type]"]}
        )
    if len(str(view).encode()) > VIEW_BYTES:
        raise SlackError("view_too_large")

    def problems() -> Complaints:
        yield from _view(view, "/view")
        if "blocks" not in view:
            yield Complaint("missing required field: blocks", "/view")
        if view["type"] == "modal":
            if not view.get("title"):
                yield Complaint("missing required field: title", "/view")
            if not view.get("submit") and any(
                isinstance(b, dict) and b.get("type") == "input" for b in view.get("blocks", [])
            ):
                yield Complaint("missing required field: submit", "/view")
        yield from _unready_files(view.get("blocks", []), "/view/blocks", is_ready_image)

    _refuse(problems(), "invalid_arguments")
    _refuse(_same_ids(view.get("blocks", [])), "invalid_arguments")


def _refuse(complaints: Complaints, error: str) -> None:
    told = [str(each) for _, each in zip(range(MAX_COMPLAINTS), complaints, strict=False)]
    if told:
        raise SlackError(error, errors=told, response_metadata={"messages": [f"[ERROR] {each}" for each in told]})


def _same_ids(blocks: list[dict[str, Any]]) -> Complaints:
    ids = Counter(each["block_id"] for each in blocks if each.get("block_id"))
    for place, block in enumerate(blocks):
        if ids.get(block.get("block_id") or "", 0) > 1:
            yield Complaint(f"`block_id` must be unique: {block['block_id']}", f"/blocks/{place}/block_id")
    for place, block in enumerate(blocks):
        if block["type"] == "actions":
            actions = Counter(each.get("action_id") for each in block["elements"])
            for name, count in actions.items():
                if count > 1:
                    yield Complaint(f"`action_id` {name} already exists for block_id", f"/blocks/{place}/elements")


def _unready_files(value: Any, pointer: str, is_ready_image: Callable[[str], bool]) -> Complaints:
    for name, each in _children(value):
        if name == "slack_file" and isinstance(each, dict):
            if not is_ready_image(str(each.get("id") or each.get("url"))):
                yield Complaint("invalid slack file", f"{pointer}/slack_file")
        else:
            yield from _unready_files(each, f"{pointer}/{name}", is_ready_image)


def _spoken(value: Any) -> int:
    return sum(
        len(each) if name in SPOKEN and isinstance(each, str) else _spoken(each) for name, each in _children(value)
    )


def _children(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from ((str(place), each) for place, each in enumerate(value))
