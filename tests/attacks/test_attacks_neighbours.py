"""A thread cannot notice that others exist, and whatever it leaves behind is gone on reset (promises 3 and 4)."""

from __future__ import annotations

import ast
import os
import signal
from pathlib import Path

import pytest
from attack_kit import descendants, need_layer, processes, wait_for

from core.errors import SettingsError
from core.settings import load_settings
from executor.attacks import NEIGHBOURS, REACH, VICTIMS_CELL, given
from executor.client import RequestError, SessionClient
from executor.values import Sandbox

NOT_WITHOUT_A_KERNEL = {"read its memory", "read its environment", "trace it", "read its memory by call"}
"""What `hide_memory` stops by itself, walls or not, unless the attacker is root."""


@pytest.mark.parametrize("reach", NEIGHBOURS)
def test_a_thread_cannot_notice_that_another_exists(
    walled: SessionClient, unwalled: SessionClient, sandbox: Sandbox, thread: str, reach: str
) -> None:
    victim = thread + "-victim"

    def spied(client: SessionClient) -> str:
        folder = client.run(victim, "1", VICTIMS_CELL + "print(os.getcwd())").stdout.strip()
        assert folder
        live = {session.thread_id: session.pid for session in client.sessions()}
        code = given(VICTIM_PID=live[victim], VICTIM_FOLDER=folder) + NEIGHBOURS[reach].code
        result = client.run(thread + "-spy", "1", REACH + code)
        assert result.status == "ok", result.error
        after = client.run(victim, "2", "print(secret, open('canary-file.txt').read())")
        assert after.stdout == "CANARY-4711 CANARY-4711\n"
        client.reset(victim)
        return result.stdout

    found = spied(walled)
    if "BREACHED" in found:
        need_layer(sandbox, "namespaces")
    assert "BREACHED" not in found
    if reach not in NOT_WITHOUT_A_KERNEL:
        assert "BREACHED" in spied(unwalled), "without walls it gets nowhere either: it proves nothing"


DAEMONS = """
import ctypes, os, time
for turn in range(5):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            {cover}
            ctypes.CDLL(None).prctl(15, b"{mark}", 0, 0, 0)
            time.sleep(600)
        os._exit(0)
"""
COVERS = {
    "a daemon": "pass",
    "one that ignores signals": "import signal; [signal.signal(s, signal.SIG_IGN) for s in (1, 2, 3, 13, 15)]",
    "one that has closed everything": "os.closerange(0, 1024)",
    "one that does not want to die with its parent": "ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)",
}


@pytest.mark.parametrize("cover", COVERS)
@pytest.mark.parametrize("walls", ["walled", "unwalled"])
def test_whatever_a_thread_leaves_running_is_gone_after_reset(
    request: pytest.FixtureRequest, walls: str, thread: str, cover: str
) -> None:
    """With and without a pid namespace, which takes it along; without one the zygote finds it as its orphan."""
    client: SessionClient = request.getfixturevalue(walls)
    mark = f"left-{os.getpid() % 9999}-{thread[6:-2]}"[-15:]
    client.run(thread, "1", DAEMONS.format(mark=mark, cover=COVERS[cover]))
    assert wait_for(lambda: len(processes(mark)) == 5), "the daemons did not start: this test proves nothing"
    client.reset(thread)
    assert wait_for(lambda: processes(mark) == [])
    assert client.run(thread, "2", "print(1 + 1)").stdout == "2\n"


def test_whatever_threads_leave_running_is_gone_with_a_zygote_that_dies(unwalled: SessionClient, thread: str) -> None:
    """Its subprocesses die with it, and what they started has nobody but the host."""
    mark = f"left-{os.getpid() % 9999}-{thread[6:-2]}"[-15:]
    for number in range(4):
        unwalled.run(f"{thread}-{number}", "1", DAEMONS.format(mark=mark, cover="pass"))
    assert wait_for(lambda: len(processes(mark)) == 20), "the daemons did not start: this test proves nothing"
    os.kill(descendants(unwalled.ping().pid)[1], signal.SIGKILL)
    assert wait_for(lambda: processes(mark) == [])
    assert unwalled.run(f"{thread}-0", "2", "print(1 + 1)").stdout == "2\n"


def test_a_fork_bomb_is_gone_after_reset(walled: SessionClient, thread: str) -> None:
    mark = f"bomb-{os.getpid() % 9999}-{thread[6:-2]}"[-15:]
    bomb = f"""
import ctypes, os, time
ctypes.CDLL(None).prctl(15, b"{mark}", 0, 0, 0)
if os.fork() == 0:
    os.setsid()
    while True:
        try: os.fork()
        except OSError: time.sleep(0.01)
"""
    walled.run(thread, "1", bomb)
    live = lambda: thread in [session.thread_id for session in walled.sessions()]  # noqa: E731
    went_off = lambda: len(processes(mark)) > 2 or not live()  # a watcher, where there is no cgroup, is as fast  # noqa: E731
    assert wait_for(went_off), "the bomb did not go off: this test proves nothing"
    walled.reset(thread)
    assert wait_for(lambda: processes(mark) == [])


def test_whatever_a_thread_wrote_is_gone_after_reset(walled: SessionClient, sandbox: Sandbox, thread: str) -> None:
    write = VICTIMS_CELL + "os.makedirs('deep/er')\nopen('deep/er/canary-deep', 'w').write(secret)\n"
    look = """
import os, tempfile
found = []
for top in (".", os.environ["TMPDIR"], "/dev/shm"):
    for folder, folders, files in os.walk(top): found += [name for name in files if "canary" in name]
print(sorted(found))
"""
    walled.run(thread, "1", write)
    before = walled.run(thread, "2", look).stdout
    assert "canary-file.txt" in before
    assert "canary-deep" in before
    assert "canary-tmp" in before
    walled.reset(thread)
    assert walled.run(thread, "3", look).stdout == "[]\n"
    assert walled.run(thread, "4", "secret").error.name == "NameError"


# --- classes of faults that other sandboxes had, each under its name


OUTSIDE = {
    "settings": "[sandbox]\nminimum = 'none'\n[approvals]\nask = 'never'\n",
    "start-up": "import sys\nprint('BREACHED', file=sys.stderr)\nraise SystemExit(3)\n",
}
SETTINGS = """
import os
for name in ("threadbook.toml", ".env", "pyvenv.cfg", "sitecustomize.py", "usercustomize.py", "executor.py", "json.py"):
    with open(name, "w") as file: file.write(SETTINGS if name.endswith(("toml", "env", "cfg")) else START)
for name in ("THREADBOOK_CONFIG", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "LD_PRELOAD"):
    os.environ[name] = os.path.abspath("sitecustomize.py")
print("written")
"""


def test_settings_that_a_cell_writes_open_no_sandbox(walled: SessionClient, thread: str) -> None:
    """Class: the settings file changed from inside. The next subprocess of the thread has the walls of the first."""
    before = walled.run(thread, "1", LAYERS).stdout
    assert before.startswith("2 1\n")
    code = given(SETTINGS=OUTSIDE["settings"], START=OUTSIDE["start-up"]) + SETTINGS
    assert walled.run(thread, "2", code).stdout == "written\n"
    assert walled.run(thread, "3", "import os\nos._exit(1)").status == "died"
    after = walled.run(thread, "4", LAYERS)
    assert (after.status, after.stdout) == ("ok", before)
    assert "BREACHED" not in after.stderr
    walled.reset(thread)


LAYERS = """
import ctypes
print(ctypes.CDLL(None).prctl(21, 0, 0, 0, 0), ctypes.CDLL(None).prctl(39, 0, 0, 0, 0))  # a filter, no new privileges
try: open("/etc/shadow"); print("open")
except OSError as error: print(type(error).__name__)
try: __import__("socket").create_connection(("127.0.0.1", 1), 1)
except PermissionError: print("no socket")
"""


@pytest.mark.parametrize("where", ["missing", "unreadable", "no TOML", "a word that is not known"])
def test_settings_that_are_missing_or_broken_open_no_sandbox(where: str, tmp_path: Path) -> None:
    """Class: the settings file missing. What is asked for is the strongest, or nothing starts."""
    config = tmp_path / "threadbook.toml"
    match where:
        case "unreadable":
            config.mkdir()
        case "no TOML":
            config.write_text("[sandbox\nminimum = 'none'")
        case "a word that is not known":
            config.write_text("[sandbox]\nminimum = 'off'")
    if where == "missing":
        assert load_settings({}, tmp_path).sandbox.minimum == "strong"
        with pytest.raises(SettingsError):
            load_settings({"THREADBOOK_CONFIG": str(config)}, tmp_path)
    else:
        with pytest.raises(SettingsError):
            load_settings({"THREADBOOK_CONFIG": str(config)}, tmp_path)


@pytest.mark.parametrize("walls", ["walled", "unwalled"])
def test_no_link_is_followed_where_a_workspace_is_made(
    request: pytest.FixtureRequest, walls: str, thread: str, tmp_path: Path
) -> None:
    """Class: a symbolic link at a mount point. The folders of the thread become links, then its subprocess dies."""
    client: SessionClient = request.getfixturevalue(walls)
    tmp_path.chmod(0o777)
    (tmp_path / "kept").write_text("a file of the host")
    swap = given(TARGET=str(tmp_path)) + SWAP
    client.run(thread, "1", swap)
    client.run(thread, "2", "import os\nos._exit(1)")
    result = client.run(thread, "3", "open('mine.txt', 'w').write('mine')\nprint(1 + 1)")
    assert result.stdout == "2\n"
    client.reset(thread)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (tmp_path / "kept").read_text() == "a file of the host"


SWAP = """
import os, shutil
for folder in (os.getcwd(), os.environ["TMPDIR"]):
    try: os.rename(folder, folder + "-before")
    except OSError: shutil.rmtree(folder, ignore_errors=True)
    try: os.symlink(TARGET, folder)
    except OSError as error: print(error)
    else: print("a link")
"""
NAMES = {
    "an end in the middle": "report.csv\0.png",
    "a byte that is no text": "a\udcff.csv",
    "half a character": "a\ud800.csv",
    "a longer way to write a slash": "..\udcc0\udcaf..\udcc0\udcafetc",
    "a slash of another width": "..\uff0f..\uff0fetc",
    "a folder above": "../../left.csv",
    "a folder of Windows": "..\\..\\left.csv",
    "a whole path": "/tmp/left.csv",
    "letters that are turned round": "a\u202evsc.exe",
    "only dots": "...",
}


@pytest.mark.parametrize("kind", NAMES)
def test_every_layer_reads_a_name_as_the_same_one(
    kind: str, walled: SessionClient, thread: str, tmp_path: Path
) -> None:
    """Class: a name that two layers read differently. What a file is called is decided once, and is plain."""
    content = tmp_path / "content"
    content.write_text("given")
    walled.run(thread, "1", "1")
    try:
        name = walled.put(thread, NAMES[kind], content)
    except (RequestError, ValueError):
        return
    assert name.isprintable()
    assert not {"/", "\\", "\0"} & set(name)
    assert name.strip(".")
    seen = walled.run(thread, "2", "import os\nprint(ascii(sorted(os.listdir())))")
    assert ast.literal_eval(seen.stdout) == [name]
    assert walled.run(thread, "3", f"print(open({name!r}).read())").stdout == "given\n"


OBJECTS = """
import gc, sys
seen, ours = set(), set()
for thing in gc.get_objects():
    try: name = getattr(thing, "__module__", None) or getattr(type(thing), "__module__", None)
    except Exception: continue
    if isinstance(name, str): seen.add(name.partition(".")[0])
ours = {name.partition(".")[0] for name in sys.modules} | seen
print(len(seen) > 10, sorted(ours & {"core", "workers", "bot", "slack_sdk", "openai", "redis"}))
"""


def test_no_object_that_a_cell_holds_leads_to_one_of_the_service(walled: SessionClient, thread: str) -> None:
    """Class: a proxy of attributes that leads to the host's objects. What answers a cell are frames, and no library or
    object of the service is in its process, whichever way code walks there."""

    def answer(kind: str, payload: object) -> dict[str, object]:
        return {"plain": [1, "two"]}

    ask = "value = tool('other.thing', x=1)\nprint(type(value).__name__, value)\n"
    result = walled.run(thread, "1", ask + OBJECTS, on_request=answer)
    assert result.status == "ok", result.error
    assert result.stdout == "dict {'plain': [1, 'two']}\nTrue []\n"
