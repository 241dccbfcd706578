"""Whatever comes in by a door is parsed or refused, and nothing else: `make fuzz MINUTES=30`.

`TARGETS` names each door: what may come in, who reads it, and how it may refuse. What breaks a reader is written into
`corpus/`, where a fast test reads it again for ever (tests/unit/test_fuzzed_doors.py). Minutes are those of the
processor, shared by the doors. Where atheris is installed, `guided.py` looks for more.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import errno
import hashlib
import html
import json
import logging
import os
import struct
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import structlog
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from markdown_pieces import split_markdown

from core.commands.approvals import Decision
from core.errors import FileUnreachable, SettingsError, UsersMove
from core.interactions import ApprovalButton, OptionButton, ReportButton
from core.settings import load_settings, tables
from core.slack import markdown
from core.slack.reading.files import file_refs
from core.slack.reading.incoming import incoming, listed
from core.slack.sanitize import addresses, sanitize
from core.slack.writing.outgoing import slack_blocks, slack_text
from core.values import FileRef
from executor import wire
from executor.files.collect import collect
from executor.files.home import Home
from executor.files.images import mimetype_of
from executor.frames import CLIENT_LIMIT, SESSION_LIMIT, FrameReader, ProtocolError, encode
from executor.said import problems_from
from executor.slices import at_once
from executor.state import checkpoint_log, checkpoints, received_state
from executor.values import Limits
from workers.delivery.reports.page_markdown import to_html
from workers.turn.downloads import Downloader, is_slacks

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
    # A ping inside of an address is broken by a character that nobody sees: that makes it no other address.
    seen = addresses(markdown.plain_text(shown).replace("\u200b", ""))
    known = addresses(text) | addresses(html.unescape(text))
    assert sanitize(shown) == shown or not seen - known
    assert "<!" not in slack_text(text)
    assert slack_text(slack_text(text)) == slack_text(text)
    slack_blocks([{"type": "markdown", "text": text}, {"type": "section", "text": {"type": "mrkdwn", "text": text}}])
    for part in split_markdown(text, 200):
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
        with contextlib.suppress(checkpoint_log.Refused, FileNotFoundError):
            message, _ = kept.open()
            raise AssertionError(f"a log that nobody signed is believed: {message}")
    return None


_KINDS = ("file", "folder", "link", "pipe", "second name", "holes")
_FILE_NAME = st.sampled_from(
    [b"a.csv", b"a", b"..", b".hidden", b"\xff\xfe", b"\xed\xa0\x80", b"x\n.png", b"a (deleted)", b"n" * 130]
)


_NOT_MADE = {errno.EEXIST, errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.EXDEV, errno.ENOENT, errno.ELOOP}


def _made(root: Path, files: list[tuple[str, list[bytes], bytes]]) -> None:
    """Put such files there. What the kernel does not take is left out, as for a cell."""
    for kind, parts, content in files:
        path = os.path.join(os.fsencode(root), *(part.replace(b"/", b"").replace(b"\0", b"") or b"e" for part in parts))
        if b".." in path.split(b"/"):
            continue
        try:
            os.makedirs(path if kind == "folder" else os.path.dirname(path), exist_ok=True)
            if kind == "file":
                with open(path, "xb") as file:
                    file.write(content)
            elif kind == "link":
                os.symlink(content.replace(b"\0", b"") or b"/etc/passwd", path)
            elif kind == "pipe":
                os.mkfifo(path)
            elif kind == "second name":
                os.link(__file__, path)
            elif kind == "holes":
                with open(path, "xb") as file:
                    file.truncate(1 << 20)
        except OSError as error:
            if error.errno not in _NOT_MADE:
                raise


def _collected(files: list[tuple[str, list[bytes], bytes]]) -> None:
    """What leaves is what regular files hold, under names that every layer can write."""
    with tempfile.TemporaryDirectory() as name:
        root, home = Path(name) / "workspace", Home(Path(name) / "home")
        root.mkdir()
        _made(root, files)
        descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            found = at_once(collect(descriptor, {}, home, Limits()))
        finally:
            os.close(descriptor)
        for taken in found.taken:
            assert home.path_of(taken.sha256).read_bytes() == (root / taken.name).read_bytes()
            assert not (root / taken.name).is_symlink()
        names = [each.name for each in (*found.taken, *found.rejected)]
        assert all(each.isprintable() for each in names)
        encode({"names": names})


_SCHEMES = st.sampled_from(
    ["https://", "http://", "HTTPS://", "https:", "//", "/", "", "file://", "https:\\\\", " https://"]
)
_PARTS = r"""
files.slack.com slack.com evil.com files.local . @ # ? / \ : %2e [::1] xn-- SLACK.COM :443 :80 :x ;
""".split()
_HOSTS = st.lists(st.sampled_from([*_PARTS, *"\u3002\t\n\0 \u212a\u00df"]), max_size=5).map("".join)
_URL = st.builds("{}{}{}".format, _SCHEMES, _HOSTS, st.text(max_size=4))
_HEADER = (
    st.sampled_from(["text/html", "text/html; charset=x", "image/png", "gzip", "-1", "99", "bytes", "\u00ff"]) | _URL
)
_ANSWER = st.tuples(
    st.sampled_from([200, 206, 301, 302, 307, 308, 304, 404, 401, 429, 500, 599]),
    st.dictionaries(
        st.sampled_from(["location", "content-type", "content-length", "content-encoding"]), _HEADER, max_size=3
    ),
    st.binary(max_size=40),
)
_TOKEN, _HOST, _MOST_BYTES = "xoxb-of-the-service", "files.local", 30


def _downloaded(given: tuple[str, list[tuple[int, dict[str, str], bytes]]]) -> None:
    """The token goes to hosts that may have it, whatever an address or a server says."""
    url, answers = given
    left = list(answers)

    def answer(request: httpx.Request) -> httpx.Response:
        host = request.url.host
        assert host == _HOST or (is_slacks(host) and request.url.scheme == "https"), request.url
        status, headers, body = left.pop() if left else (200, {}, b"done")
        written = [(name, b"".join(value.encode().split())) for name, value in headers.items()]
        return httpx.Response(status, headers=[(name.encode(), value) for name, value in written], stream=_Body(body))

    def look_up(_: str) -> FileRef:
        raise UsersMove("file_no_access")

    transport = httpx.MockTransport(answer)
    with (
        tempfile.TemporaryDirectory() as folder,
        Downloader(
            lambda: _TOKEN, hosts=(_HOST,), max_bytes=_MOST_BYTES, look_up=look_up, transport=transport
        ) as downloader,
    ):
        file = FileRef(id="F1", name="a.csv", mimetype="text/csv", size=0, url=url, mode="hosted")
        fetched = downloader.fetch(file, Path(folder) / "a.csv")
        assert (Path(folder) / "a.csv").stat().st_size == fetched.size <= _MOST_BYTES


class _Body(httpx.SyncByteStream):
    """A body that comes as it is, whatever the headers say of it."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def __iter__(self) -> Iterator[bytes]:
        yield self._content


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
    "announced variables": Target(_mapping(*_STATE), received_state.announced, (ProtocolError,)),
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
    "collected files": Target(
        st.lists(
            st.tuples(
                st.sampled_from(_KINDS),
                st.lists(_FILE_NAME | st.binary(min_size=1, max_size=12), min_size=1, max_size=10),
                st.binary(max_size=20),
            ),
            max_size=8,
        ),
        _collected,
    ),
    "answers to a download": Target(
        st.tuples(_URL | _HOSTS.map("https://files.slack.com".__add__), st.lists(_ANSWER, max_size=5)),
        _downloaded,
        (UsersMove, FileUnreachable),
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


def read_by(door: str, seen: Callable[[Any], None], at_once: int = 200) -> Callable[[], None]:
    """A hypothesis test that gives a door so many inputs; each is `seen` first."""
    target = TARGETS[door]

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
        seen(value)
        with contextlib.suppress(*target.refuses):
            target.reads(value)

    return reads


def fuzz(door: str, seconds: float, at_once: int = 200) -> tuple[int, Exception | None, Any]:
    """(inputs read, what broke, the smallest input that breaks it) after so many seconds of the processor, `at_once` at
    least."""
    count, last, end = 0, None, time.process_time() + seconds

    def seen(value: Any) -> None:
        nonlocal count, last
        count, last = count + 1, value

    reads = read_by(door, seen, at_once)
    while not count or time.process_time() < end:
        try:
            reads()
        except Exception as error:
            return count, error, last
    return count, None, None


def be_quiet() -> None:
    """Readers that log what they refuse would fill the screen."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


def main() -> None:
    """Fuzz each door for its share of the minutes; keep what breaks a reader. Exit code 1 when one broke."""
    be_quiet()
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
