"""What happens in a thread, for developers: what the local Slack saw, and what the app reports about itself.

The app's part comes from a function that is passed in when the playground starts. It is read only while a page shows
it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from starlette.concurrency import run_in_threadpool

from playground.hub import Playground
from playground.workspace import Json

MOST_SECTIONS, MOST_ROWS, TEXT, CODE, CODE_LINES = 10, 50, 200, 800, 5
ENVELOPES = {"envelope", "post"}
GOOD = {"ok", "done", "acknowledged"}
BUSY = {"waiting", "running", "asking"}


@dataclass(frozen=True)
class Row:
    """Something that happened. `state` is "" where there is none; `code` is shown as it is."""

    text: str
    at: float | None = None
    state: str = ""
    note: str = ""
    code: str = ""

    @property
    def tone(self) -> str:
        """good, busy, bad, or "" without a state."""
        if not self.state:
            return ""
        return "good" if self.state in GOOD else "busy" if self.state in BUSY else "bad"

    @property
    def moment(self) -> datetime | None:
        """When it happened, in UTC."""
        return datetime.fromtimestamp(self.at, UTC) if self.at is not None else None


@dataclass(frozen=True)
class Section:
    """Rows of one kind, newest first. `left_out` older ones are not among them."""

    name: str
    rows: tuple[Row, ...]
    note: str = ""
    left_out: int = 0

    @property
    def count(self) -> int:
        """How many there are, with those left out."""
        return len(self.rows) + self.left_out


async def look_inside(hub: Playground, channel: str, thread_ts: str) -> list[Section]:
    """All that is known of a thread. Without a function of the app, what the local Slack saw."""
    own = [_section("Events to the app", _events(hub, channel, thread_ts))]
    own.append(_section("Web API calls", _calls(hub, channel, thread_ts)))
    if hub.inside is None:
        return own
    given = await run_in_threadpool(hub.inside, hub.space.team_id, channel, thread_ts)
    told = [_section(str(each.get("name")), each.get("rows") or (), each.get("note")) for each in given]
    return [*told[:MOST_SECTIONS], *own]


def as_json(sections: Iterable[Section]) -> list[Json]:
    """The same for a script."""
    return [asdict(each) for each in sections]


def _events(hub: Playground, channel: str, thread_ts: str) -> list[Json]:
    return [
        {
            "at": each["at"],
            "text": each["event"],
            "state": each["outcome"],
            "note": f"delivery {each['attempt'] + 1}" if each["attempt"] else "",
        }
        for each in hub.wire.entries()
        if each["kind"] in ENVELOPES and _is_in(hub, channel, thread_ts, each["channel"], each["message"])
    ]


def _calls(hub: Playground, channel: str, thread_ts: str) -> list[Json]:
    found = []
    for each in hub.wire.entries(kind="call"):
        given = each["args"]
        where = given.get("channel") or given.get("channel_id")
        ts = given.get("thread_ts") or given.get("ts") or given.get("timestamp") or given.get("message_ts")
        if not _is_in(hub, channel, thread_ts, where, ts):
            continue
        state = "ok" if each["ok"] else each["error"] or each["fault"] or "waiting"
        code = json.dumps(given, ensure_ascii=False, default=str)
        found.append({"at": each["at"], "text": each["method"], "state": state, "code": code})
    return found


def _is_in(hub: Playground, channel: str, thread_ts: str, where: object, ts: object) -> bool:
    """Whether this message is in the thread."""
    if where != channel or not isinstance(ts, str):
        return False
    message = hub.space.channels[channel].messages.get(ts) if channel in hub.space.channels else None
    return (message.root_ts if message else ts) == thread_ts


def _section(name: str, rows: Sequence[Json], note: object = "") -> Section:
    """The newest rows, their texts cut to what a page can show."""
    kept = [_row(each) for each in rows[-MOST_ROWS:]]
    return Section(name[:TEXT], tuple(reversed(kept)), str(note or "")[:TEXT], len(rows) - len(kept))


def _row(given: Json) -> Row:
    at = given.get("at")
    return Row(
        _cut(str(given.get("text", "")), TEXT),
        float(at) if isinstance(at, int | float) else None,
        _cut(str(given.get("state", "")), TEXT),
        _cut(str(given.get("note", "")), TEXT),
        _head(str(given.get("code", ""))),
    )


def _head(code: str) -> str:
    """The first lines that are not empty."""
    lines = [each for each in code.splitlines() if each.strip()]
    more = [f"… {len(lines) - CODE_LINES} more lines"] if len(lines) > CODE_LINES else []
    return _cut("\n".join([*lines[:CODE_LINES], *more]), CODE)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
