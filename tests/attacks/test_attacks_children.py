"""Children that misbehave, each in its own way: what they do to themselves, they do to nobody else."""

from __future__ import annotations

import os
import signal

import psutil
import pytest
from attack_kit import descendants, wait_for

from executor.client import SessionClient
from workers.delivery.notices import worded

DEATHS = {
    "leaves": "import os\nos._exit(3)",
    "crashes": "import ctypes\nctypes.string_at(0)",
    "aborts": "import os\nos.abort()",
    "closes everything": "import os\nos.closerange(3, 1024)",
    "eats memory in its own process": "import ctypes\nlibc = ctypes.CDLL(None)\nx = [bytearray(b'x') * (64 << 20)]\n"
    "while True: x.append(bytearray(x[0]))",
    "dies in the middle of a frame": (
        "import os, struct\nfor fd in range(200, 256):\n    try: os.write(fd, struct.pack('>I', 500) + b'{\"ty')\n"
        "    except OSError: pass\nos._exit(0)"
    ),
    "speaks nonsense": "import os\nfor fd in range(200, 256):\n    try: os.write(fd, b'\\xff' * 8)\n"
    "    except OSError: pass\nimport time\ntime.sleep(30)",
    "hangs and ignores the interrupt": "import signal\nsignal.signal(2, signal.SIG_IGN)\nwhile True: pass",
    "hangs in C": "import ctypes, signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [2])\nctypes.CDLL(None).pause()",
    "replaces json and answers for itself": (
        "import json, os, sys\njson.dumps = json.loads = lambda *a, **k: {}\nsys.modules.pop('json')\nos._exit(5)"
    ),
    "clears builtins and leaves": "import builtins, os\nleave = os._exit\nvars(builtins).clear()\nleave(1)",
    "raises out of its own repr for ever": (
        "class H:\n    def __repr__(self):\n        import os\n        os._exit(9)\nH()"
    ),
    "dies while it is drawn": (
        "import matplotlib.figure, matplotlib.pyplot as plt\nplt.plot([1])\n"
        "def savefig(*a, **k):\n    import os\n    os._exit(9)\nmatplotlib.figure.Figure.savefig = savefig"
    ),
}


@pytest.mark.parametrize("death", DEATHS)
@pytest.mark.parametrize("walls", ["walled", "unwalled"])
def test_after_each_death_the_variables_are_as_before_and_a_neighbour_noticed_nothing(
    request: pytest.FixtureRequest, walls: str, thread: str, death: str
) -> None:
    client: SessionClient = request.getfixturevalue(walls)
    client.run(thread + "-neighbour", "1", "mine = 'untouched'")
    client.run(thread, "1", "kept, text = {'a': [1, 2]}, 'é'")
    result = client.run(thread, "2", "kept['a'].append(3)\n" + DEATHS[death], timeout_s=3)
    assert result.status in ("died", "killed", "timeout", "error"), result
    assert result.notices
    after = client.run(thread, "3", "print(1 + 1, kept, text)")
    changed = result.status in ("error", "timeout") and "had to be killed" not in worded(result, "en")
    assert after.stdout == f"2 {{'a': [1, 2{', 3' if changed else ''}]}} é\n"
    assert client.run(thread + "-neighbour", "2", "print(mine)").stdout == "untouched\n"


@pytest.mark.parametrize("victim", ["the subprocess", "the zygote"])
def test_what_is_killed_from_outside_comes_back_with_its_variables(
    walled: SessionClient, thread: str, victim: str
) -> None:
    walled.run(thread, "1", "kept = 7")
    walled.run(thread, "settled", "'what the first cell made is kept by now'")
    pid = next(session.pid for session in walled.sessions() if session.thread_id == thread)
    if victim == "the zygote":
        pid = psutil.Process(pid).ppid()  # by its place among the host's processes it may be a spare session
        assert pid in descendants(walled.ping().pid)
    try:
        os.kill(pid, signal.SIGKILL)
    except PermissionError:
        pytest.skip("an ordinary user may not kill what has a uid of another namespace")
    assert wait_for(lambda: thread not in [session.thread_id for session in walled.sessions()])
    assert walled.run(thread, "2", "print(1 + 1, kept)").stdout == "2 7\n"


HOSTILE = {
    "a repr that raises": "class H:\n    def __repr__(self): raise SystemExit('no')\nH()",
    "a repr that never ends": "class H:\n    def __repr__(self):\n        while True: pass\nH()",
    "a repr that is no text": "class H:\n    def __repr__(self): return 5\nH()",
    "an html that bites": "class H:\n    def _repr_html_(self): raise KeyboardInterrupt\nH()",
    "a type that lies": (
        "class M(type):\n    def __getattribute__(c, n): raise MemoryError\nclass H(metaclass=M): pass\nH()"
    ),
    "an error that bites back": "class E(Exception):\n    def __str__(self): raise E\nraise E",
    "a reduce that raises": "class H:\n    def __reduce__(self): raise SystemExit\nh = H()",
    "a reduce that never ends": "class H:\n    def __reduce__(self):\n        while True: pass\nh = H()",
    "a reduce that is nothing": "class H:\n    def __reduce__(self): return 5\nh = H()",
    "a figure that cannot be saved": (
        "import matplotlib.pyplot as plt\nf = plt.figure(); plt.plot([1])\nf.savefig = lambda *a, **k: 1 / 0"
    ),
    "a stdout that bites": (
        "import sys\nclass B:\n    def write(self, t): raise SystemExit\n    def flush(self): raise SystemExit\n"
        "sys.stdout = B()"
    ),
    "builtins gone": "import builtins\nvars(builtins).clear()",
    "json gone": "import json\njson.dumps = json.loads = json.JSONEncoder.encode = None",
    "a forked child that answers too": "import os\nos.fork()",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_object_breaks_nothing_but_its_own_cell(attack, name: str) -> None:
    attack("kept = 7")
    result = attack(HOSTILE[name], timeout_s=2)
    assert result.status in ("ok", "error", "timeout"), result
    after = attack("print(1 + 1, kept)")
    assert (after.status, after.stdout) == ("ok", "2 7\n")
