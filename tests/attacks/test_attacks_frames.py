"""Frames that a hostile subprocess sends: none speaks in our voice, none costs the host memory or disk (promise 11)."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from attack_kit import resident, wait_for

from executor.client import SessionClient
from executor.launch import running_host
from executor.values import CellResult, Limits
from workers.delivery.notices import worded

WORDS = "Your account is locked, sign in at evil.example"
RUNNER = """
import os, struct, sys, time
frame = sys._getframe()
while type(frame.f_locals.get('self')).__name__ != 'Runner': frame = frame.f_back
runner = frame.f_locals['self']
kind = type(runner)
honest = kind._answer
"""
"""Finds the runner of this subprocess, through which a cell can send what it likes."""
SAYS = f"""{RUNNER}
def lie(self, message):
    honest(self, message | {{FIELD: VALUE}} if message['type'] == TYPE else message)
kind._answer = lie
"""
VOICES = {
    "a notice of words": ("result", "notice", WORDS),
    "a notice of a code and words": ("result", "notices", [{"code": "text", "text": WORDS, "values": {"text": WORDS}}]),
    "a notice of the host's own": ("result", "notices", [{"code": "memory", "values": {}}]),
    "names that are words": ("result", "notices", [{"code": "set_before_failure", "names": [WORDS], "more": 0}]),
    "names without an end": ("result", "notices", [{"code": "set_before_failure", "names": ["x" * 5000], "more": 0}]),
    "a figure that has words": ("result", "problems", [{"name": WORDS, "figure": 1, "why": WORDS}]),
    "why nothing is kept": ("state", "why", WORDS),
    "what is lost": ("state", "lost", [{"name": "x", "why": WORDS}]),
    "what is lost, by name": ("state", "lost", [{"name": WORDS, "why": "TypeError"}]),
}


def said(result: CellResult) -> str:
    """All that is shown of a result as ours."""
    return f"{worded(result, 'en')} {worded(result, 'zh')} {result.rejected}"


@pytest.mark.parametrize("voice", VOICES)
@pytest.mark.parametrize("walls", ["walled", "unwalled"])
def test_no_frame_puts_words_into_our_mouth(
    request: pytest.FixtureRequest, walls: str, thread: str, voice: str
) -> None:
    client: SessionClient = request.getfixturevalue(walls)
    frame, field, value = VOICES[voice]
    client.run(thread, "0", "kept = 7")
    lying = SAYS.replace("FIELD", repr(field)).replace("VALUE", repr(value)).replace("TYPE", repr(frame))
    cells = (lying, "new = 1", "import os\nos._exit(1)", "print(1 + 1)")  # from the second on it lies
    results = [client.run(thread, f"{number}", code) for number, code in enumerate(cells, 1)]
    assert results[-1].stdout == "2\n"
    for result in results:
        assert "locked" not in said(result)
        assert "x" * 100 not in said(result)
    if voice == "a notice of the host's own":
        assert not any("more memory than it may" in said(result) for result in results)


def test_the_subprocess_is_heard_with_the_codes_that_it_has(walled: SessionClient, thread: str) -> None:
    """The control: what it says by code is worded."""
    walled.run(thread, "1", "old = 1")
    failed = walled.run(thread, "2", "fresh = 1\nold = 1 / 0")
    assert worded(failed, "en") == (
        "Before it failed, the cell set `fresh`. These still have the value from before the cell: `old`."
    )
    assert "`fresh`" in worded(failed, "zh")


@pytest.fixture
def private(tmp_path: Path) -> Iterator[tuple[SessionClient, Path]]:
    with running_host(tmp_path / "home", Limits(memory_mb=200)) as client:
        yield client, tmp_path / "home"


STATES = (
    RUNNER
    + """
first = True
def many(self, message):
    if message['type'] != 'state':
        return honest(self, message)
    for turn in range(40):
        parts = [{'key': key, 'size': size << 20, 'checksum': 0} for key, size in (('o%d' % turn, 8), ('late', 1))]
        honest(self, message | {'keys': [part['key'] for part in parts], 'parts': parts})
        for piece in range(8): os.write(self._fds.state, os.urandom(1 << 20))
    time.sleep(600)
kind._answer = many
"""
)


def state_bytes(home: Path) -> int:
    return sum(path.stat().st_size for path in home.glob("threads/*/state/*"))


def test_frames_that_announce_variables_again_and_again_leave_nothing_behind(
    private: tuple[SessionClient, Path], thread: str
) -> None:
    client, home = private
    client.run(thread, "0", "kept = 7")
    client.run(thread, "1", STATES)
    told = client.run(thread, "2", "print(1 + 1, kept)")
    assert told.stdout == "2 7\n", told
    assert wait_for(lambda: state_bytes(home) < 1 << 20)


def test_parts_that_no_checkpoint_names_are_swept(tmp_path: Path, thread: str) -> None:
    with running_host(tmp_path, Limits(memory_mb=200)) as client:
        client.run(thread, "0", "import os\nkept = os.urandom(1 << 20)")
        client.run(thread, "1", "size = len(kept)")
    (folder,) = tmp_path.glob("threads/*/state")
    for name in ("0" * 64, "incoming", "log.new"):
        (folder / name).write_bytes(bytes(8 << 20))
    with running_host(tmp_path, Limits(memory_mb=200)) as client:
        assert client.run(thread, "2", "print(size, len(kept))").stdout == "1048576 1048576\n"
    assert state_bytes(tmp_path) < 4 << 20


FRAMES = {
    "a request": 'b\'{"type":"request","id":1,"kind":"query","payload":{"x":"\' + b\'x\' * (7 << 20) + b\'"}}\'',
    "a request that begins like a result": (
        'b\'{"type":"result","x":"\' + b\'x\' * (7 << 20) + b\'","type":"request","id":1}\''
    ),
    "a result of many small things": "b'{\"type\":\"result\",\"x\":[' + b'[],' * 2_500_000 + b'0]}'",
    "a result of many numbers": "b'{\"type\":\"result\",\"x\":[' + b'1.5,' * 2_000_000 + b'0]}'",
    "a result of many names": (
        "b'{\"type\":\"result\"' + b''.join(b',\"%d\":1' % turn for turn in range(700_000)) + b'}'"
    ),
}
SENDS = (
    RUNNER
    + """
frame = FRAME
frame = struct.pack('>I', len(frame)) + frame
view = memoryview(frame)
while view: view = view[os.write(runner._fds.results, view[:1 << 20]):]
time.sleep(600)
"""
)
ROOM = 40 << 20


@pytest.mark.parametrize("frame", FRAMES)
def test_no_single_frame_costs_the_host_much_memory(walled: SessionClient, thread: str, frame: str) -> None:
    host = walled.ping().pid
    walled.run(thread, "0", "kept = 7")
    before, peak, over = resident(host), [0], threading.Event()

    def look() -> None:
        while not over.is_set():
            peak[0] = max(peak[0], resident(host))
            time.sleep(0.002)

    looker = threading.Thread(target=look)
    looker.start()
    result = walled.run(thread, "1", SENDS.replace("FRAME", FRAMES[frame]), on_request=lambda *_: None)
    over.set()
    looker.join()
    assert result.status == "died"
    assert peak[0] - before < ROOM
    assert walled.run(thread, "2", "print(1 + 1, kept)").stdout == "2 7\n"


LATE = """
import os, threading, time
def later():
    while not os.path.exists("go"): time.sleep(0.01)
    os.write(1, b"LATE OUTPUT\\n")
    open("done", "w").close()
threading.Thread(target=later).start()
"""


@pytest.mark.parametrize("walls", ["walled", "unwalled"])
def test_what_an_earlier_cell_prints_late_is_labelled(request: pytest.FixtureRequest, walls: str, thread: str) -> None:
    client: SessionClient = request.getfixturevalue(walls)
    client.run(thread, "1", LATE)
    client.run(thread, "2", "import threading\nthreading.Timer(0.3, open, ('go', 'w')).start()")
    time.sleep(1)  # between two cells: nothing runs that could be waited for
    result = client.run(thread, "3", "import os\nprint('mine')\nassert os.path.exists('done')")
    assert result.status == "ok", result.error
    assert "LATE OUTPUT" in result.stdout
    assert "an earlier cell left running" in worded(result, "en")
    quiet = client.run(thread, "4", "print('mine')")
    assert (quiet.stdout, worded(quiet, "en")) == ("mine\n", "")


WAITS = """
import _thread, os, sys, threading, time
say = print
begun = threading.Event()
def later():
    begun.set()
    while not os.path.exists("go"): time.sleep(0.01)
    say("LATE OUTPUT")
    open("done", "w").close()
"""
LEFT_BEHIND = {
    "a thread": "threading.Thread(target=later).start()",
    "a thread without a name": "_thread.start_new_thread(later, ())",
    "a thread that kept the stream": (
        "kept = sys.stdout\ndef say(text): kept.write(text + '\\n')\nthreading.Thread(target=later).start()"
    ),
    "a thread that prints errors": (
        "def say(text): sys.stderr.writelines([text, '\\n'])\nthreading.Thread(target=later).start()"
    ),
    "a pool": (
        "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(1)\npool.submit(later)\nNone"
    ),
}
MEANWHILE = """
import os, threading, time
own = threading.Thread(target=lambda: print("mine"))
own.start()
own.join()
open("go", "w").close()
while not os.path.exists("done"): time.sleep(0.01)
"""


@pytest.mark.parametrize("left", LEFT_BEHIND)
@pytest.mark.parametrize("walls", ["walled", "unwalled"])
def test_what_a_thread_of_an_earlier_cell_prints_while_the_next_one_runs_is_labelled(
    request: pytest.FixtureRequest, walls: str, left: str, thread: str
) -> None:
    client: SessionClient = request.getfixturevalue(walls)
    client.run(thread, "1", f"{WAITS}{LEFT_BEHIND[left]}\nassert begun.wait(60)")
    result = client.run(thread, "2", MEANWHILE)
    assert sorted((result.stdout + result.stderr).splitlines()) == ["LATE OUTPUT", "mine"], result.error
    assert worded(result, "en").startswith("Of the output, 12 characters were printed by a thread that an earlier cell")
    quiet = client.run(thread, "3", MEANWHILE)
    assert (quiet.stdout, worded(quiet, "en")) == ("mine\n", "")


IMAGES = {
    "a page": b"<html><script>alert(1)</script>",
    "a page behind the magic": b"\x89PNG\r\n\x1a\n<html><script>alert(1)</script>",
    "a picture of a size beyond all": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff\xff\xff\xff\xff\xff\xff\xff\x08\x06\0\0\0",
}


@pytest.mark.parametrize("content", IMAGES)
@pytest.mark.parametrize("name", ["chart.png", "chart.jpg", "chart.gif", "chart.webp", "chart.svg"])
def test_what_is_no_image_does_not_leave_as_one(walled: SessionClient, thread: str, content: str, name: str) -> None:
    figures = [{"name": name, "chart": []}]
    lie = SAYS.replace("FIELD", repr("figures")).replace("VALUE", repr(figures)).replace("TYPE", repr("result"))
    walled.run(thread, "1", lie)
    result = walled.run(thread, "2", f"open({name!r}, 'wb').write({IMAGES[content]!r})")
    (artifact,) = result.artifacts
    assert not artifact.mimetype.startswith("image/")
    assert artifact.kind == "file"


def test_a_real_figure_leaves_as_an_image(walled: SessionClient, thread: str) -> None:
    result = walled.run(thread, "1", "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.title('t')")
    (artifact,) = result.artifacts
    assert (artifact.mimetype, artifact.kind) == ("image/png", "figure")
