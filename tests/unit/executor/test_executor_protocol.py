"""The protocol is a document: what it lists and what the code knows are the same, and so is the shape on the wire."""

from __future__ import annotations

import contextlib
import json
import os
import re
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from executor import client_requests, wire
from executor.cell import Cell
from executor.cells.outcome import reported
from executor.frames import (
    CLIENT_LIMIT,
    HEADER,
    PROTOCOL_VERSION,
    SESSION_LIMIT,
    SMALL_LIMIT,
    FrameReader,
    ProtocolError,
    encode,
)
from executor.interpreters.bash import COMMAND_LIMIT
from executor.said import lost_from, notices_from, problems_from, why_from
from executor.state.received_state import announced
from executor.values import (
    Artifact,
    CellError,
    CellResult,
    Chart,
    DataCheck,
    Display,
    Limits,
    Notice,
    Rejected,
    Series,
    Table,
)

DOCUMENT = Path(client_requests.__file__).with_name("PROTOCOL.md").read_text()
GOLDEN = Path(__file__).parents[2] / "golden" / "protocol" / "result.json"

RESULT = CellResult(
    id="cell-1",
    status="error",
    stdout="out\n",
    stderr="err\n",
    result=Display("42", Table(("a",), ("int64",), ((1,), (None,)), 2, 1)),
    error=CellError("KeyError", "'b'", "Traceback ...", 3, "df: DataFrame of 3 rows"),
    artifacts=(
        Artifact(
            "sales.png",
            "image/png",
            10,
            "ab" * 32,
            "/home/files/ab/abab",
            "figure",
            (Chart("Sales", "Month", "EUR", (Series("line", "net", (("2024-01", 1.5),), 1),)),),
        ),
    ),
    rejected=(Rejected("big.bin", Notice("file_large", {"size": 300, "limit": 100})),),
    files_read=("sales.csv",),
    duration_s=0.25,
    notices=(Notice("over_limit", {"what": "cell", "why": Notice("used_processes", {"limit": 64})}),),
    exit_status=2,
    checks=(DataCheck("rows_lost", ("clean", "df"), (100, 50)),),
)


def test_the_document_lists_the_version_and_the_limits_of_the_code() -> None:
    assert f"version {PROTOCOL_VERSION}" in DOCUMENT.splitlines()[0]
    assert f"frame from or to a client | {CLIENT_LIMIT >> 20} MiB" in DOCUMENT
    assert f"`restored` | {SESSION_LIMIT >> 20} MiB" in DOCUMENT
    assert f"command of a shell | {COMMAND_LIMIT >> 10} Ki characters" in DOCUMENT


def test_the_document_lists_exactly_the_requests_that_the_host_answers() -> None:
    section = DOCUMENT.split("## 2.")[1].split("## 3.")[0]
    documented = set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))
    assert documented == set(client_requests.HANDLERS)


def test_a_result_on_the_wire_has_the_agreed_shape() -> None:
    shape = json.dumps(json.loads(encode(wire.result_to(RESULT))[4:]), indent=2, ensure_ascii=False) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.parent.mkdir(parents=True, exist_ok=True)
        GOLDEN.write_text(shape)
    assert shape == GOLDEN.read_text()


def test_a_result_survives_the_wire() -> None:
    assert wire.result_from(json.loads(encode(wire.result_to(RESULT))[4:])) == RESULT
    assert set(wire.result_to(RESULT)) == {field.name for field in fields(CellResult)}


def test_a_result_that_an_old_host_stored_keeps_its_words() -> None:
    stored = json.loads(encode(wire.result_to(RESULT))[4:])
    del stored["notices"]
    assert wire.result_from(stored).notices == ()
    assert wire.result_from(stored | {"notice": "Kept."}).notices == (Notice("text", {"text": "Kept."}),)
    refused = stored | {"rejected": [{"name": "link", "why": "it is a symbolic link"}]}
    assert wire.result_from(refused).rejected == (Rejected("link", Notice("text", {"text": "it is a symbolic link"})),)


def test_a_client_of_version_3_finds_a_text_for_each_file_that_was_not_taken() -> None:
    assert [one["why"] for one in wire.result_to(RESULT)["rejected"]] == ["file_large"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": 5},
        {"status": "fine"},
        {"stdout": None},
        {"artifacts": {}},
        {"duration_s": -1},
        {"result": {"text": 1}},
        {"result": {"text": "", "table": {"columns": ["a"], "dtypes": [], "rows": [], "total_rows": 0}}},
        {"error": {"name": "E", "message": "m", "traceback": "t", "line": "3"}},
    ],
)
def test_a_result_of_another_shape_is_refused(wrong: dict) -> None:
    with pytest.raises(ProtocolError):
        wire.result_from(wire.result_to(RESULT) | wrong)


def test_text_from_a_subprocess_is_bounded_and_storable() -> None:
    display = wire.display_from({"text": "x\0\ud800" + "y" * 100_000, "table": None})
    assert display.text.startswith("x\ufffd?y")
    assert len(display.text) == wire.TEXT_LIMIT


def test_an_unknown_limit_is_refused_by_name() -> None:
    with pytest.raises(ProtocolError, match="memory_gb"):
        wire.limits_from({"memory_gb": 2})
    assert wire.limits_from({"memory_mb": 512}) == Limits(memory_mb=512)


def test_a_threads_limits_replace_the_hosts_up_to_the_maximum() -> None:
    usual, maximum = Limits(memory_mb=512, processes=8), Limits(memory_mb=1024, processes=8)
    assert wire.limits_within({}, usual, maximum) == usual
    assert wire.limits_within({"memory_mb": 1024}, usual, maximum) == Limits(memory_mb=1024, processes=8)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"memory_mb": 1025}, "memory_mb = 1025 is more than the 1024 that this session host was started with"),
        ({"memory_mb": 0}, "above zero"),
        ({"memory_mb": "much"}, "not a count"),
        ({"memory_gb": 1}, "unknown limits: memory_gb"),
        ({"idle_s": 5}, "only the whole host"),
    ],
)
def test_a_threads_limits_are_checked(asked: dict, sentence: str) -> None:
    with pytest.raises(ProtocolError, match=sentence):
        wire.limits_within(asked, Limits(), Limits(memory_mb=1024))


def test_points_of_charts_are_taken_while_there_is_room_for_them() -> None:
    series = [{"kind": "line", "name": "y", "points": [[0, 0]] * 200, "total_points": 200}] * 10
    figures = [
        {"name": f"{number}.png", "chart": [{"title": "", "x": "", "y": "", "series": series}]} for number in range(12)
    ]
    found = wire.figures_from({"figures": figures})
    assert [len(found[f"{number}.png"]) for number in range(12)] == [1] * 10 + [0] * 2


KEYS = [
    "keys",
    "parts",
    "lost",
    "variables",
    "set_by",
    "future",
    "why",
    "key",
    "size",
    "checksum",
    "name",
    "type",
    "shape",
    "bytes",
    "cell",
    "status",
    "result",
    "error",
    "figures",
    "problems",
    "notices",
    "code",
    "names",
    "more",
    "count",
    "figure",
    "exit_status",
    "text",
    "table",
    "columns",
    "dtypes",
    "rows",
    "total_rows",
    "total_columns",
    "message",
    "traceback",
    "line",
    "chart",
    "title",
    "x",
    "y",
    "series",
    "kind",
    "points",
    "total_points",
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(KEYS), JSON, max_size=8))
def test_what_a_subprocess_says_is_read_or_refused_whatever_it_is(message: dict) -> None:
    cell = Cell("c1", "", 1.0)
    for read in (announced, lost_from, lambda one: reported(one | {"cell": "c1", "status": "ok"}, cell, Limits())):
        with contextlib.suppress(ProtocolError):
            read(message)


@given(st.text(max_size=80))
def test_no_words_of_a_subprocess_are_in_what_is_said_of_it(words: str) -> None:
    """Names and kinds of errors are identifiers of bounded length; whatever is not is shown as "?"."""
    set_before = {"code": "set_before_failure", "names": [words], "more": 0}
    heard = [
        *(str(said.values["names"]).strip("`") for said in notices_from({"notices": [set_before]})),
        *(
            str(said.values["kind"])
            for said in [why_from({"why": words})]
            if said is not None and "kind" in said.values
        ),
        *(part for pair in lost_from({"lost": [{"name": words, "why": words}]}) for part in pair),
        *map(str, problems_from({"problems": [{"figure": 1, "why": words}]})[0].why.values.values()),
    ]
    for one in heard:
        assert one == "?" or one.isidentifier()
        assert len(one) <= 60


def test_a_large_frame_is_refused_at_its_first_bytes_unless_its_kind_may_be_large() -> None:
    reader = FrameReader(SESSION_LIMIT, hostile=True)
    with pytest.raises(ProtocolError, match="of no kind that may be"):
        reader.feed(HEADER.pack(SMALL_LIMIT + 1) + b'{"type":"request","id":1,')
    reader = FrameReader(SESSION_LIMIT, hostile=True)
    honest = encode({"type": "result", "text": "x" * SMALL_LIMIT})
    assert [message["type"] for part in (honest[:9], honest[9:]) for message in reader.feed(part)] == ["result"]
    two = b'{"type":"result","x":"' + b"x" * SMALL_LIMIT + b'","type":"request"}'
    with pytest.raises(ProtocolError, match="not of the kind"):
        reader.feed(HEADER.pack(len(two)) + two)
