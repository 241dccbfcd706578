"""Whatever comes in by a door is parsed or refused, and nothing else: `make fuzz MINUTES=10`.

`TARGETS` names each door: what may come in, who reads it, and how it may refuse. What breaks a reader is written into
`corpus/`, where a fast test reads it again for ever (tests/unit/test_fuzzed_doors.py).
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import hashlib
import json
import struct
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from core.approvals import Decision
from core.errors import SettingsError
from core.interactions import ApprovalButton, OptionButton, ReportButton
from core.settings import load_settings, tables
from core.slack import markdown
from core.slack.files import file_refs
from core.slack.incoming import incoming, listed
from core.slack.outgoing import slack_blocks, slack_text
from core.slack.sanitize import addresses, sanitize
from executor import checkpoints, wire
from executor.frames import CLIENT_LIMIT, SESSION_LIMIT, FrameReader, ProtocolError, encode
from executor.images import mimetype_of
from executor.said import problems_from
from executor.values import Limits
from workers.delivery.reports.page_markdown import to_html

CORPUS = Path(__file__).parent / "corpus"


@dataclass(frozen=True)
class Target:
    """A door: `reads` may raise `refuses` and nothing else."""

    given: st.SearchStrategy[Any]
    reads: Callable[[Any], object]
    refuses: tuple[type[Exception], ...] = ()


_ODD = st.sampled_from(
    ["", "\0", "\ud800", "a" * 5_000, "../x", "x\ny", "NaN", "1e999", "<!here>", "https://evil.com/x", "\u202e", "id"]
)
_SCALAR = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | _ODD | st.just(1 << 70)


def _json(*names: str) -> st.SearchStrategy[Any]:
    """Any JSON, in which these names are frequent."""
    keys = st.sampled_from(names) | st.text(max_size=5)
    return st.recursive(
        _SCALAR, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=8), max_leaves=25
    )


def _mapping(*names: str) -> st.SearchStrategy[dict[str, Any]]:
    """An object with any of these names, each with any JSON."""
    return st.dictionaries(st.sampled_from(names), _json(*names), max_size=len(names))


def _frames(limit: int, *, hostile: bool) -> Callable[[list[bytes]], object]:
    def read(pieces: list[bytes]) -> object:
        reader = FrameReader(limit, hostile=hostile)
        return [message for piece in pieces for message in reader.feed(piece)]

    return read


_RESULT = """
type id cell status stdout stderr result text table columns dtypes rows total_rows total_columns error name message
traceback line artifacts mimetype size sha256 path kind chart title x y series points total_points rejected why
files_read duration_s notices code values exit_status figures problems figure
""".split()
_STATE = "keys parts key size checksum lost name why variables type shape bytes cell set_by future".split()
_EVENT = """
type subtype hidden edited user channel channel_type ts thread_ts bot_id text files id name title mimetype size mode
url_private url_private_download blocks elements rows style url attachments table
""".split()
_SIGNS = r"""
[ ]( ) < > ` ``` | * _ ~ \ &lt; &#58; ![ $ 中 <!-- 1. https://evil.com/x evil.com/x <!here> <@U1> @channel
""".split()
_LINES = ("\n", "\n\n", "\n- ", "\n> ", "\n# ", "    ", "\n[1]: https://evil.com\n", "\n| --- |\n", "\0", "\r\n", "\t")
_MARKS = st.sampled_from([*_SIGNS, *_LINES, " "])
_MARKDOWN = st.lists(_MARKS | st.text(max_size=6), max_size=120).map("".join)
_NAMES = sorted({name for table in tables().values() for name in table.model_fields} | set(tables()))
_TOML_VALUE = st.sampled_from(
    ['""', '"x"', "1", "-1", "1e9", "true", "[]", "{}", '["x"]', "1979-05-27", "nan", '"\\u0000"']
)
_TOML_LINE = st.one_of(
    st.builds("[{}]".format, st.sampled_from(_NAMES)),
    st.builds("[{}.{}]".format, st.sampled_from(_NAMES), st.sampled_from(["x", "shop", '""'])),
    st.builds("{} = {}".format, st.sampled_from(_NAMES), _TOML_VALUE),
    st.text(max_size=10),
)


def _safe_markdown(text: str) -> None:
    shown = sanitize(text)
    assert sanitize(shown) == shown or not addresses(markdown.plain_text(shown)) - addresses(text)
    assert "<!" not in slack_text(text)
    assert slack_text(slack_text(text)) == slack_text(text)
    slack_blocks([{"type": "markdown", "text": text}, {"type": "section", "text": {"type": "mrkdwn", "text": text}}])
    for part in markdown.split_markdown(text, 200):
        markdown.split_tables(part)
    if len(text) > 200:
        markdown.cut_markdown(text, 200)
    markdown.plain_text(markdown.with_emphasis(text))
    to_html(text, frozenset())


def _settings(text: str) -> object:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "threadbook.toml").write_text(text, encoding="utf-8", errors="surrogatepass")
        return load_settings({"THREADBOOK_HOME": folder}, Path(folder))


def _checkpoint(lines: list[bytes]) -> object:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "state").mkdir()
        (folder / "state" / "log.jsonl").write_bytes(b"\n".join(lines))
        kept = checkpoints.Checkpoint(folder, "t", b"key", {})
        with contextlib.suppress(checkpoints.Refused):
            message, _ = kept.open()
            raise AssertionError(f"a log that nobody signed is believed: {message}")
    return None


_WIRE: dict[str, Callable[[Any], object]] = {
    "result": wire.result_from,
    "figures": wire.figures_from,
    "problems": problems_from,
    "display": wire.display_from,
    "error": wire.error_from,
    "host": wire.host_info_from,
    "variable": wire.variable_from,
    "where": wire.where_from,
    "limits": wire.limits_from,
    "own limits": lambda data: wire.limits_within(data, Limits(), Limits()),
}


def _framed(data: dict[str, Any]) -> bytes:
    try:
        return encode(data)
    except (TypeError, ValueError):
        return b"\0\0\0\2{}"


_DEEP = st.sampled_from([b"[" * 5_000, b'{"a":' * 5_000])
_BYTES = (
    st.binary(max_size=64)
    | _DEEP.map(lambda deep: struct.pack(">I", len(deep)) + deep)
    | _mapping(*_RESULT).map(_framed)
)


TARGETS: dict[str, Target] = {
    "frames of a subprocess": Target(
        st.lists(_BYTES, max_size=4), _frames(SESSION_LIMIT, hostile=True), (ProtocolError,)
    ),
    "frames of a client": Target(st.lists(_BYTES, max_size=4), _frames(CLIENT_LIMIT, hostile=False), (ProtocolError,)),
    **{f"wire: {name}": Target(_mapping(*_RESULT), read, (ProtocolError,)) for name, read in _WIRE.items()},
    "wire: limits by name": Target(_mapping(*Limits.__dataclass_fields__), wire.limits_from, (ProtocolError,)),
    "announced variables": Target(_mapping(*_STATE), checkpoints.announced, (ProtocolError,)),
    "log of a checkpoint": Target(
        st.lists(
            st.binary(max_size=40)
            | _DEEP
            | _mapping("body", "mac", "parts", "keys").map(lambda data: json.dumps(data).encode("utf-8", "replace")),
            max_size=3,
        ),
        _checkpoint,
    ),
    "events": Target(_mapping(*_EVENT), lambda event: incoming(event, "T1", str, "U0BOT")),
    "listed messages": Target(_mapping(*_EVENT), lambda event: incoming(listed(event, "C1"), "T1", str)),
    "files of an event": Target(_json(*_EVENT), file_refs),
    "buttons": Target(
        _json("turn", "call", "n", "do") | st.text(max_size=30),
        lambda payload: [kind.decode(payload) for kind in (ApprovalButton, OptionButton, ReportButton)],
    ),
    "decisions": Target(st.text(max_size=40) | _mapping("call", "do", "code", "hint").map(json.dumps), Decision.decode),
    "Markdown": Target(_MARKDOWN, _safe_markdown),
    "threadbook.toml": Target(st.lists(_TOML_LINE, max_size=8).map("\n".join), _settings, (SettingsError,)),
    "an image": Target(
        st.tuples(
            st.sampled_from(["a.png", "a.jpg", "a.gif", "a.webp", "a.svg", "a", "\0.png"]), st.binary(max_size=64)
        ),
        lambda given: mimetype_of(*given),
    ),
}


def corpus() -> Iterator[tuple[str, Path]]:
    """(door, file) of each input that once broke its reader."""
    for path in sorted(CORPUS.glob("*.json")):
        yield str(json.loads(path.read_text())["door"]), path


def read_again(door: str, path: Path) -> None:
    """Give a kept input to its reader."""
    value = _revived(json.loads(path.read_text())["input"])
    with contextlib.suppress(*TARGETS[door].refuses):
        TARGETS[door].reads(value)


def keep(door: str, value: Any) -> Path:
    """Write an input into the corpus."""
    text = json.dumps({"door": door, "input": _kept(value)}, indent=1)
    path = CORPUS / f"{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"
    CORPUS.mkdir(exist_ok=True)
    path.write_text(text + "\n")
    return path


def _kept(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, list | tuple):
        return [_kept(each) for each in value]
    return {"is": value}


def _revived(kept: Any) -> Any:
    if isinstance(kept, list):
        return [_revived(each) for each in kept]
    return base64.b64decode(kept["bytes"]) if "bytes" in kept else kept["is"]


def fuzz(door: str, seconds: float, at_once: int = 200) -> tuple[int, Exception | None, Any]:
    """(inputs read, what broke, the smallest input that breaks it) after so many seconds, `at_once` at least."""
    target, end, count, last = TARGETS[door], time.monotonic() + seconds, 0, None

    @settings(
        max_examples=at_once,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
        phases=(Phase.generate, Phase.shrink),
    )
    @given(target.given)
    def reads(value: Any) -> None:
        nonlocal count, last
        count, last = count + 1, value
        with contextlib.suppress(*target.refuses):
            target.reads(value)

    while not count or time.monotonic() < end:
        try:
            reads()
        except Exception as error:
            return count, error, last
    return count, None, None


def main() -> None:
    """Fuzz each door for its share of the minutes; keep what breaks a reader. Exit code 1 when one broke."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    doors = [door for door in TARGETS if options.only in door]
    broken = 0
    for door in doors:
        count, error, value = fuzz(door, options.minutes * 60 / len(doors))
        if error is None:
            print(f"{door}: {count:,} inputs, all read or refused", flush=True)
            continue
        broken += 1
        print(f"{door}: BROKEN after {count:,} inputs, kept in {keep(door, value)}", flush=True)
        traceback.print_exception(error)
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
