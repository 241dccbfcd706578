"""Variables outlive their process: for each way to lose it, what was there before is there after."""

from __future__ import annotations

import contextlib
import errno
import hmac
import json
import os
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from hosts import bare_host
from patience import PATIENCE_S, eventually

from executor.client import HostUnavailable, SessionClient
from executor.disk.line_file import LineFile
from executor.launch import running_host, start_host, stop_host
from executor.state import checkpoint_log
from executor.state.checkpoint_log import Refused
from executor.state.checkpoints import Checkpoint
from executor.state.received_state import Receiver, announced
from executor.values import CellResult, Limits, Variable
from workers.delivery.notices import worded

pytestmark = pytest.mark.process

EVERYTHING = """
import numpy as np, pandas as pd
from sklearn.linear_model import LinearRegression
n, text, flag = 7, "é", None
alias = items = [1, [2]]
frame = pd.DataFrame({"a": np.arange(200_000.0), "s": ["x"] * 200_000})
view = {"frame": frame}
def double(): return n * 2
class Point:
    def __init__(self, x): self.x = x
    def far(self): return self.x > n
point = Point(9)
model = LinearRegression().fit([[1.0], [2.0]], [2.0, 4.0])
"""
CHECK = """
(n, text, flag, alias is items, items, frame.shape, float(frame.a.sum()), view["frame"] is frame, double(),
 isinstance(point, Point), point.far(), round(float(model.predict([[3.0]])[0]), 6), np.__name__)
"""
EXPECTED = "(7, 'é', None, True, [1, [2]], (200000, 2), 19999900000.0, True, 14, True, True, 6.0, 'numpy')"


def shown(result: CellResult) -> str | None:
    return result.result.text if result.result is not None else None


WAYS_TO_DIE = {
    "os._exit": "import os\nn = 0\nos._exit(3)",
    "a crash": "import ctypes\nn = 0\nctypes.string_at(0)",
    "closed descriptors": "import os\nn = 0\nos.closerange(3, 1000)",
    "a forged frame": (
        "import os\nn = 0\nfor fd in range(100, 256):\n    try: os.write(fd, b'\\xff' * 8)\n"
        "    except OSError: pass\nimport time\ntime.sleep(30)"
    ),
}


@pytest.mark.parametrize("way", WAYS_TO_DIE)
def test_after_each_way_to_die_variables_are_as_before_the_cell(run, way: str) -> None:
    run(EVERYTHING)
    result = run(WAYS_TO_DIE[way])
    assert result.status == "died"
    assert "variables are as they were before this cell" in worded(result, "en")
    after = run(CHECK)
    assert (shown(after), after.notices) == (EXPECTED, ())


def test_after_a_kill_for_time_variables_are_as_before_the_cell(impatient: SessionClient) -> None:
    impatient.run("t", "1", "n = 7")
    code = "import signal\nn = 0\nsignal.signal(2, signal.SIG_IGN)\nwhile True: pass"
    result = impatient.run("t", "2", code, timeout_s=3)
    assert result.status == "timeout"
    assert "variables are as they were before this cell" in worded(result, "en")
    assert shown(impatient.run("t", "3", "n")) == "7"


def test_an_interrupted_cell_keeps_what_it_had_done(run, run_until) -> None:
    run("n = 7")
    run_until("n = 8\nprint('go')\nimport time\ntime.sleep(600)")
    assert shown(run("n")) == "8"


def test_functions_use_the_variables_of_the_notebook_after_a_restore(run) -> None:
    run("n = 1\ndef f(): return n")
    run("import os\nos._exit(1)")
    run("n = 5")
    assert shown(run("f()")) == "5"


def test_a_change_in_place_is_kept(run) -> None:
    run("import pandas as pd\nframe = pd.DataFrame({'a': range(100_000)})\nd = {'frame': frame}")
    run("d['frame'].loc[0, 'a'] = -1")
    run("import os\nos._exit(1)")
    assert shown(run("int(frame.a[0])")) == "-1"
    run("frame.loc[1, 'a'] = -2  # restored data can be changed again")
    run("import os\nos._exit(1)")
    assert shown(run("int(frame.a[0] + frame.a[1])")) == "-3"


ONE_OBJECT = {
    "a record of a large list, in its index": (
        "records = [{'v': 0} for _ in range(20_000)]\nindex = dict(enumerate(records))",
        "index[5]['v'] = 9\nrecords[5]['v'], type(index), len(index)",
        "(9, <class 'dict'>, 20000)",
    ),
    "a record of a large list, by its own name": (
        "records = [{'v': [0]} for _ in range(20_000)]\nfirst = records[0]['v']",
        "first.append(9)\nrecords[0]",
        "{'v': [0, 9]}",
    ),
    "a large array, in a large list": (
        "import numpy as np\nbig = np.zeros(200_000)\nholders = [[big]] + [[] for _ in range(20_000)]",
        "big[0] = 9\nfloat(holders[0][0][0])",
        "9.0",
    ),
    "a part of an array": (
        "import numpy as np\na = np.zeros((4, 3))\npart, pair = a[1:, ::-1], {'t': a.T}",
        "part[0, 0] = 9\npair['t'][0, 0] = 8\na[:2].tolist()",
        "[[8.0, 0.0, 0.0], [0.0, 0.0, 9.0]]",
    ),
    "a part of a large array": (
        "import numpy as np\na = np.zeros(500_000)\nhalf = a[250_000:]",
        "half[0] = 9\nfloat(a[250_000])",
        "9.0",
    ),
    "two parts of an array that has no name": (
        "import numpy as np\na = np.zeros(6)\none, two = a[:4], a[2:]\ndel a",
        "two[0] = 9\nfloat(one[2])",
        "9.0",
    ),
    "a masked array, a table with names, and an array of one's own kind": (
        "import numpy as np\nclass Metres(np.ndarray): pass\na = np.zeros(3)\n"
        "m = np.ma.array(a, mask=[0, 1, 0], copy=False)\nt = np.zeros(2, [('x', 'f8'), ('n', 'i4')])\n"
        "r, row = t.view(np.recarray), t[1]\nu = a.view(Metres)\nu.unit = 'm'",
        "a[0], row['x'] = 9, 8\nm.tolist(), r.x.tolist(), float(u[0]), u.unit, type(row).__name__",
        "([9.0, None, 0.0], [0.0, 8.0], 9.0, 'm', 'void')",
    ),
    "numbers in bytes that change": (
        "import numpy as np\nb = bytearray(16)\nnumbers = np.frombuffer(b, 'f8')",
        "numbers[1] = 1\nbytes(b[8:]).hex()",
        "'000000000000f03f'",
    ),
    "texts and objects in a part of an array": (
        "import numpy as np\nfrom numpy.dtypes import StringDType\n"
        "t = np.array(['abc', 'x' * 40, 'de'], StringDType())\nrest = t[1:]\n"
        "o = np.array([1, 'a', None], object)\nback = o[::-1]",
        "rest[0], back[0] = 'a long text ' * 30, 7\nlen(t[1]), rest[1], o.tolist()",
        "(360, 'de', [1, 'a', 7])",
    ),
    "parts of an array deep in other objects": (
        "import numpy as np\nclass Box: pass\na, box = np.zeros(400), Box()\nbox.held = {'x': [a[1:]]}\n"
        "parts = [a[n : n + 2] for n in range(150)]\nwindows = np.lib.stride_tricks.sliding_window_view(a, 3)",
        "box.held['x'][0][2] = 9\nfloat(a[3]), float(parts[2][1]), float(windows[1, 2])",
        "(9.0, 9.0, 9.0)",
    ),
    "a frame made of an array without a copy": (
        "import numpy as np, pandas as pd\na = np.zeros((200_000, 2))\nframe = pd.DataFrame(a, copy=False)",
        "a[0, 0] = 9\nfloat(frame.iloc[0, 0])",
        "9.0",
    ),
    "what a class holds, whose objects are many": (
        "class Item:\n    known = []\nknown, items = Item.known, [Item() for _ in range(20_000)]",
        "known.append(9)\nitems[0].known",
        "[9]",
    ),
    "a variable of the function around two functions": (
        "def counter():\n    n = 0\n    def add():\n        nonlocal n\n        n += 1\n"
        "    def get(): return n\n    return add, get\nadd, get = counter()\nadd()",
        "add()\nget()",
        "2",
    ),
    "a view of bytes that change": (
        "data = bytearray(b'abc')\nview = memoryview(data)\nrest = memoryview(b'abc')[1:]",
        "view[0] = 120\nbytes(data), type(view), bytes(rest), type(rest)",
        "(b'xbc', <class 'memoryview'>, b'bc', <class 'memoryview'>)",
    ),
    "the names in a dictionary": (
        "import collections\nd, o = {'a': 1}, collections.OrderedDict(a=1)\nviews = d.keys(), d.items(), o.values()",
        "d['b'] = o['b'] = 2\nviews",
        "(dict_keys(['a', 'b']), dict_items([('a', 1), ('b', 2)]), odict_values([1, 2]))",
    ),
    "the random numbers of a module, by a function of it": (
        "import random, numpy as np\nfrom random import choice\nfrom numpy.random import rand",
        "random.seed(1)\nnp.random.seed(1)\none = choice(range(10_000)), float(rand())\n"
        "random.seed(1)\nnp.random.seed(1)\none == (random.choice(range(10_000)), float(np.random.rand()))",
        "True",
    ),
    "what is compared by identity": (
        "import math, numpy as np\nown = float('nan')\nwords = {np.nan: 'missing', math.nan: 'none', own: 'own'}\n"
        "many = [own] * 20_000",
        "words[np.nan], words[math.nan], words[own], words[many[7]]",
        "('missing', 'none', 'own', 'own')",
    ),
}


@pytest.mark.parametrize("what", ONE_OBJECT)
def test_an_object_that_is_held_twice_comes_back_as_one(run, what: str) -> None:
    made, change, seen = ONE_OBJECT[what]
    run(made)
    run("import os\nos._exit(1)")
    assert shown(run(change)) == seen


def test_frames_that_pandas_copies_when_one_is_changed_stay_apart(run) -> None:
    run("import numpy as np, pandas as pd\na = np.zeros((4, 2))\nframe = pd.DataFrame(a, copy=False)\npart = frame[1:]")
    run("import os\nos._exit(1)")
    assert shown(run("frame.iloc[1, 0] = 9\nfloat(part.iloc[0, 0]), float(a[1, 0])")) == "(0.0, 0.0)"


def test_an_array_of_a_kind_of_ones_own_keeps_its_attributes(run) -> None:
    run("import numpy as np\nclass Metres(np.ndarray): pass\na = np.ones(2).view(Metres)\na.unit = 'm'")
    run("import os\nos._exit(1)")
    assert shown(run("a.unit, a.tolist(), type(a) is Metres")) == "('m', [1.0, 1.0], True)"


def test_an_array_that_shows_the_same_number_many_times_is_kept_as_small_as_it_is(run) -> None:
    run("import numpy as np\na = np.broadcast_to(np.arange(1_000), (1_000_000, 1_000))")
    run("import os\nos._exit(1)")
    assert shown(run("int(a[5, 7]), a.shape, a.flags.writeable")) == "(7, (1000000, 1000), False)"


SETTINGS = {
    "the working folder": (
        "import os\nos.mkdir('sub')\nos.chdir('sub')\nopen('a.txt', 'w').write('found')",
        "open('a.txt').read()",
        "'found'",
    ),
    "an empty working folder": (
        "import os\nos.mkdir('new')\nos.chdir('new')",
        "os.path.basename(os.getcwd())",
        "'new'",
    ),
    "the environment": (
        "import os, time\nos.environ.update(MODE='fast', TZ='Asia/Tokyo')\ndel os.environ['HOME']\ntime.tzset()",
        "os.environ['MODE'], os.environ.get('HOME'), time.tzname[0]",
        "('fast', None, 'JST')",
    ),
    "where modules come from": (
        "import os, sys\nos.mkdir('lib')\nopen('lib/rates.py', 'w').write('vat = 20')\nsys.path.insert(0, 'lib')",
        "import rates\nrates.vat",
        "20",
    ),
    "exact numbers": ("import decimal\ndecimal.getcontext().prec = 5", "str(decimal.Decimal(1) / 3)", "'0.33333'"),
    "floating-point errors": (
        "import numpy as np\n_ = np.seterr(divide='raise')",
        "np.geterr()['divide']",
        "'raise'",
    ),
    "when decimals raise": (
        "import decimal\ndecimal.getcontext().traps[decimal.Inexact] = True",
        "decimal.getcontext().traps[decimal.Inexact]",
        "True",
    ),
    "how tables and arrays are shown": (
        "import pandas as pd, numpy as np\npd.set_option('display.max_rows', 3)\n"
        "pd.options.display.float_format = '{:.1f}'.format\n"
        "np.set_printoptions(precision=2, formatter={'int': lambda n: f'#{n}'})",
        "pd.get_option('display.max_rows'), pd.Series([1.25]).to_string(), str(np.array([1 / 3])), str(np.array([1]))",
        "(3, '0   1.2', '[0.33]', '[#1]')",
    ),
    "how charts look": (
        "import matplotlib.pyplot as plt\nplt.style.use('ggplot')\nplt.rcParams['font.sans-serif'].insert(0, 'Own')",
        "plt.rcParams['axes.facecolor'], plt.rcParams['font.sans-serif'][0]",
        "('#E5E5E5', 'Own')",
    ),
    "which warnings are shown": (
        "import warnings\nwarnings.filterwarnings('error', 'strange', UserWarning)\n"
        "warnings.simplefilter('once', append=True)",
        "[(f[0], f[1] and f[1].pattern, f[2]) for f in (warnings.filters[0], warnings.filters[-1])]",
        "[('error', 'strange', <class 'UserWarning'>), ('once', None, <class 'Warning'>)]",
    ),
    "which filters of warnings there are at all": (
        "import warnings\nwarnings.resetwarnings()",
        "warnings.filters",
        "[]",
    ),
    "how texts are sorted": (
        "import locale\n_ = locale.setlocale(locale.LC_ALL, 'C')",
        "locale.setlocale(locale.LC_ALL)",
        "'C'",
    ),
    "how long numbers may be as text": ("import sys\nsys.set_int_max_str_digits(0)", "len(str(10**5_000))", "5001"),
    "how deep calls may go": ("import sys\nsys.setrecursionlimit(5_000)", "sys.getrecursionlimit()", "5000"),
}


def test_a_part_of_an_array_is_that_after_the_second_rest_too(run) -> None:
    run("import numpy as np\na = np.zeros(500_000)\npart = a[1:]")
    run("import os\nos._exit(1)")
    run("part[0] = 9")
    run("import os\nos._exit(1)")
    assert shown(run("part[1] = 8\na[:3].tolist()")) == "[0.0, 9.0, 8.0]"


@pytest.mark.parametrize("what", SETTINGS)
def test_what_a_cell_sets_in_its_process_comes_back(run, what: str) -> None:
    made, look, seen = SETTINGS[what]
    assert run(made).status == "ok"
    run("import os\nos._exit(1)")
    after = run(look)
    assert (shown(after), after.error, after.notices) == (seen, None, ())


def test_what_a_cell_sets_in_its_process_comes_back_after_the_second_rest_too(run) -> None:
    run("import pandas as pd\npd.set_option('display.max_rows', 7)\nimport warnings\nwarnings.resetwarnings()")
    run("import os\nos._exit(1)")
    run("n = 1")
    run("import os\nos._exit(1)")
    assert shown(run("pd.get_option('display.max_rows'), warnings.filters")) == "(7, [])"


def test_a_setting_that_cannot_be_kept_is_named_and_the_others_are_kept(run) -> None:
    run("import os, pandas as pd\nos.environ['MODE'] = 'fast'\npd.options.display.float_format = (n for n in ()).send")
    result = run("import os\nos._exit(1)")
    assert "Not kept: pandas_options (TypeError)." in worded(result, "en")
    assert shown(run("os.environ['MODE']")) == "'fast'"


def test_objects_of_a_module_of_the_workspace_come_back_beside_large_files(tmp_path: Path) -> None:
    with running_host(tmp_path) as client:
        client.run("t", "1", "import os\nfor n in range(6): open(f'{n}.bin', 'wb').write(os.urandom(40 << 20))")
        client.run("t", "2", "open('shapes.py', 'w').write('class Dot: x = 7')\nimport shapes\ndot = shapes.Dot()")
        client.run("t", "3", "import os\nos._exit(1)")
        after = client.run("t", "4", "dot.x")
        assert (shown(after), after.notices) == ("7", ())


def test_random_numbers_go_on_where_they_were(run) -> None:
    draw = "random.random(), float(np.random.rand())"
    run(f"import random, numpy as np\nrandom.seed(1)\nnp.random.seed(1)\n{draw}")
    expected = shown(run(f"kept = random.getstate(), np.random.get_state()\n{draw}"))
    run("random.setstate(kept[0])\nnp.random.set_state(kept[1])")
    run("import os\nos._exit(1)")
    assert shown(run(draw)) == expected


@pytest.mark.parametrize(
    ("seed", "draw"),
    [("np.random.seed(1)", "float(np.random.randn())"), ("random.seed(1)", "random.gauss(0, 1)")],
    ids=["numpy", "python"],
)
def test_a_normal_number_that_was_drawn_in_advance_is_not_drawn_twice(run, seed: str, draw: str) -> None:
    run("import random, numpy as np")
    expected = shown(run(f"{seed}\n[{draw} for _ in range(3)]"))
    drawn = [shown(run(f"{seed}\n{draw}")), shown(run(draw))]  # they come in pairs
    run("import os\nos._exit(1)")
    assert f"[{', '.join([*drawn, shown(run(draw))])}]" == expected


def test_random_numbers_that_a_cell_of_long_ago_drew_come_back_after_each_rest(run) -> None:
    draw = "random.random(), float(np.random.rand())"
    run("import random, numpy as np\nrandom.seed(1)\nnp.random.seed(1)")
    expected = shown(run(f"[({draw}) for _ in range(3)]"))
    run("random.seed(1)\nnp.random.seed(1)")
    drawn = []
    for _ in range(3):
        run("x = 1")
        run("import os\nos._exit(1)")
        drawn.append(shown(run(f"({draw})")))
    assert f"[{', '.join(drawn)}]" == expected


def test_a_function_that_remembers_its_results_comes_back(run) -> None:
    run("import functools\n@functools.cache\ndef double(x): return 2 * x\ndouble(1)\ndouble.unit = 'm'")
    run("import os\nos._exit(1)")
    after = run("double(2), double.cache_parameters(), double.unit")
    assert (shown(after), after.notices) == ("(4, {'maxsize': None, 'typed': False}, 'm')", ())


EXCEPTIONS = {
    "what caused it": (
        "try:\n    try: 1 / 0\n    except ZeroDivisionError as error: raise ValueError('bad') from error\n"
        "except ValueError as error: kept = error",
        "repr(kept), repr(kept.__cause__), kept.__context__ is kept.__cause__, kept.__suppress_context__",
        "(\"ValueError('bad')\", \"ZeroDivisionError('division by zero')\", True, True)",
    ),
    "arguments of its own": (
        "class Odd(OSError):\n    def __init__(self, *, code): super().__init__(code, 'gone'); self.code = code\n"
        "kept = Odd(code=2)\nkept.add_note('hint')",
        "kept.code, kept.errno, kept.args, kept.__notes__",
        "(2, 2, (2, 'gone'), ['hint'])",
    ),
    "a cause that cannot be kept": (
        "kept = ValueError('bad')\nkept.__cause__ = KeyError(n for n in ())",
        "repr(kept), kept.__cause__",
        "(\"ValueError('bad')\", None)",
    ),
}


@pytest.mark.parametrize("what", EXCEPTIONS)
def test_an_exception_comes_back_with_what_belongs_to_it(run, what: str) -> None:
    made, look, seen = EXCEPTIONS[what]
    run(made)
    run("import os\nos._exit(1)")
    after = run(look)
    assert (shown(after), after.notices) == (seen, ())


CLASSES = {
    "a list of the classes below": (
        "class A:\n    below = []\n    def __init_subclass__(cls, tag): cls.tag = tag; cls.below.append(cls)\n"
        "class B(A, tag=1): pass",
        "A.below == [B], B.tag",
        "(True, 1)",
    ),
    "a list in a variable": (
        "known = []\nclass A:\n    def __init_subclass__(cls): known.append(cls)\nclass B(A): pass",
        "known == [B]",
        "True",
    ),
    "a class of classes": (
        "import abc\nclass M(abc.ABCMeta):\n    made = []\n    def __new__(cls, name, bases, names, tag=0):\n"
        "        made = super().__new__(cls, name, bases, names)\n        cls.made.append(name)\n        return made\n"
        "    def __init__(cls, name, bases, names, tag=0): cls.tag, cls.number = tag, len(M.made)\n"
        "class A(metaclass=M):\n    @abc.abstractmethod\n    def f(self): ...\n"
        "class B(A, tag=7):\n    def f(self): return 9",
        "M.made, B.tag, B.number, type(B) is M, B().f(), sorted(A.__abstractmethods__)",
        "(['A', 'B'], 7, 2, True, 9, ['f'])",
    ),
}


@pytest.mark.parametrize("what", CLASSES)
def test_what_is_done_once_for_a_class_is_not_done_again(run, what: str) -> None:
    made, look, seen = CLASSES[what]
    run(made)
    run("import os\nos._exit(1)")
    run("n = 1")
    run("import os\nos._exit(1)")
    assert shown(run(look)) == seen
    assert run("class Late(A): pass").status == ("error" if "tag):" in made else "ok")


@pytest.mark.parametrize(
    "made",
    [
        "import numpy as np\nv = np.memmap('a.bin', 'u1', 'w+', shape=(9,))",
        "import numpy as np\nv = np.memmap('a.bin', 'u1', 'w+', shape=(9,))[3:].view(np.ndarray)",
        "b = bytearray(9)\nv = memoryview(b)[3:]",
    ],
)
def test_what_would_no_longer_write_where_it_did_is_named(run, made: str) -> None:
    run(made)
    result = run("import os\nos._exit(1)")
    assert "Not kept: v (TypeError)." in worded(result, "en")


def test_what_cannot_be_kept_is_named_and_the_rest_is_kept(run) -> None:
    run("n = 7\ng = (i for i in range(3))")
    result = run("import os\nos._exit(1)")
    assert "Not kept: g (TypeError)." in worded(result, "en")
    assert shown(run("n")) == "7"
    assert run("g").error.name == "NameError"


@pytest.mark.parametrize(
    "hostile",
    [
        "class H:\n    def __reduce__(self): raise SystemExit",
        "class H:\n    def __reduce__(self): return 5",
        "class H:\n    def __getattribute__(self, n): raise ZeroDivisionError",
        "class H:\n    def __reduce__(self):\n        import os\n        return (os._exit, (9,))",
    ],
)
def test_a_hostile_object_cannot_break_its_session(run, hostile: str) -> None:
    """Whatever it does when it is pickled or unpickled happens in its own subprocess, and the thread goes on."""
    run("n = 7")
    run(hostile + "\nh = H()")
    assert shown(run("n")) == "7"
    run("import os\nos._exit(1)")
    assert run("print(1 + 1)").stdout == "2\n"


def test_pickling_that_never_ends_does_not_hold_the_session(run) -> None:
    run("n = 7")
    run("class H:\n    def __reduce__(self):\n        while True: pass\nh = H()")
    result = run("print(n)")
    assert result.stdout == "7\n"


def test_a_host_that_restarts_brings_variables_back(tmp_path: Path) -> None:
    with bare_host(tmp_path / "home") as client:
        client.run("t", "1", EVERYTHING)
        client.run("t", "2", "1")
    with bare_host(tmp_path / "home") as client:
        after = client.run("t", "3", CHECK)
        assert (shown(after), after.notices) == (EXPECTED, ())


def test_a_host_that_is_killed_takes_no_variable_with_it(tmp_path: Path) -> None:
    process = start_host(tmp_path / "s", tmp_path / "home")
    try:
        client = SessionClient(tmp_path / "s")
        client.run("t", "1", "n = 7")
        client.run("t", "2", "1")
    finally:
        process.kill()
        stop_host(process)
    with bare_host(tmp_path / "home") as later:
        assert shown(later.run("t", "3", "n")) == "7"


def test_what_follows_a_checkpoint_that_a_kill_cut_off_is_kept(tmp_path: Path) -> None:
    keep_and_stop(tmp_path, "t")
    (log,) = (tmp_path / "threads").glob("*/state/log.jsonl")
    whole = log.read_bytes()
    log.write_bytes(whole + whole.splitlines()[-1][:100])
    with bare_host(tmp_path) as client:
        client.run("t", "3", "m = 8")
    with bare_host(tmp_path) as later:
        assert shown(later.run("t", "4", "secret, m")) == "('t', 8)"


@pytest.mark.parametrize("deaths", [1, 2])
def test_a_zygote_that_dies_while_variables_are_put_back_costs_neither_them_nor_the_cell(
    tmp_path: Path, deaths: int
) -> None:
    with bare_host(tmp_path) as client:
        slowly = "(open('begun', 'w').close(), __import__('time').sleep(2))"
        client.run("t", "1", f"class Slow:\n    def __reduce__(self): return eval, ({slowly!r},)\nn, slow = 7, Slow()")
        client.run("t", "2", "1")
    with bare_host(tmp_path) as later, ThreadPoolExecutor(1) as aside:
        host = psutil.Process(later.ping().pid)
        answer = aside.submit(later.run, "t", "3", "n")
        seen: set[int] = set()
        for _ in range(deaths):
            seen |= eventually(lambda: restoring(later) - seen, "variables that are being put back")  # noqa: B023
            host.children()[0].kill()
        found = answer.result(PATIENCE_S)
        assert (found.status, shown(found), found.notices) == ("ok", "7", ())


def restoring(client: SessionClient) -> set[int]:
    """The pid of the only thread's subprocess, once it has made the file that it makes while it gets its variables."""
    return {session.pid for session in client.sessions() if Path(f"/proc/{session.pid}/cwd/begun").exists()}


def test_what_cannot_be_put_back_is_said_even_when_the_host_is_killed_before_it_could_say_so(tmp_path: Path) -> None:
    fatal = (
        "class Fatal:\n    def __reduce__(self): return eval, (\"__import__('os')._exit(9)\",)\nn, fatal = 7, Fatal()"
    )
    process = start_host(tmp_path / "s", tmp_path / "home")
    try:
        client = SessionClient(tmp_path / "s")
        client.run("t", "1", fatal)
        client.run("t", "2", "1")
        client.run("t", "3", "import os\nos._exit(1)")
        started = threading.Event()
        with ThreadPoolExecutor(1) as aside:
            code = "import time\nprint('in a fresh process', flush=True)\ntime.sleep(60)"
            cut_off = aside.submit(client.run, "t", "4", code, on_output=lambda *_: started.set())
            assert started.wait(PATIENCE_S)
            process.kill()
            with contextlib.suppress(HostUnavailable):
                cut_off.result(PATIENCE_S)
    finally:
        process.kill()
        stop_host(process)
    with bare_host(tmp_path / "home") as later:
        told = later.run("t", "5", "'n' in globals()")
        assert (shown(told), [notice.code for notice in told.notices]) == ("False", ["not_restored"])
        assert later.run("t", "6", "1").notices == ()


def test_what_could_not_be_kept_is_named_when_its_process_ends_between_cells(tmp_path: Path) -> None:
    with bare_host(tmp_path) as client:
        client.run("t", "1", "n = 7\ng = (i for i in range(3))")
        client.run("t", "2", "1")
        psutil.Process(client.ping().pid).children()[0].kill()
        eventually(lambda: not client.sessions(), "the end of its process")
        told = client.run("t", "3", "n")
        assert (shown(told), [notice.code for notice in told.notices]) == ("7", ["not_kept"])
        assert client.run("t", "4", "n").notices == ()


def test_what_could_not_be_kept_is_named_when_its_host_is_killed_between_cells(tmp_path: Path) -> None:
    process = start_host(tmp_path / "s", tmp_path / "home")
    try:
        client = SessionClient(tmp_path / "s")
        client.run("t", "1", "n = 7\ng = (i for i in range(3))")
        client.run("t", "2", "1")
        client.export_session("t")  # answers once all is kept
    finally:
        process.kill()
        stop_host(process)
    with bare_host(tmp_path / "home") as later:
        told = later.run("t", "3", "n")
        assert (shown(told), [notice.code for notice in told.notices]) == ("7", ["not_kept"])
        assert later.run("t", "4", "n").notices == ()


def test_all_cells_that_could_not_be_kept_are_counted(run) -> None:
    run("n = 7")
    run("import io\nio.BytesIO = None\nn = 8")
    run("n = 9")
    told = run("import os\nos._exit(1)")
    assert [notice.code for notice in told.notices] == ["ended", "as_before", "several_changes_not_kept"]
    assert "Not kept: the changes of the last 2 cells (an error of the kind TypeError" in worded(told, "en")
    after = run("n")
    assert (shown(after), after.notices) == ("7", ())


def test_cells_that_could_not_be_kept_are_counted_by_the_next_host_too(tmp_path: Path) -> None:
    with bare_host(tmp_path) as client:
        client.run("t", "1", "n = 7")
        client.run("t", "2", "import io\nio.BytesIO = None\nn = 8")
        client.run("t", "3", "n = 9")
        client.export_session("t")  # answers once all that could be is kept
    with bare_host(tmp_path) as later:
        told = later.run("t", "4", "n")
        assert (shown(told), [notice.code for notice in told.notices]) == ("7", ["several_changes_uncertain"])
        assert later.run("t", "5", "n").notices == ()


def test_a_large_variable_that_cannot_be_kept_does_not_take_the_others_with_it(run) -> None:
    run(
        "import threading\nn, frame = 7, {i: i for i in range(20_000)}\n"
        "lock = [threading.Lock()] * 20_000\nalso = (lock,)"
    )
    run("n = 8")
    result = run("import os\nos._exit(1)")
    assert all(f"{name} (TypeError)" in worded(result, "en") for name in ("lock", "also"))
    assert shown(run("n, len(frame)")) == "(8, 20000)"


NOT_MADE_AGAIN = {
    "an exception that is made in its own way": (
        "class Odd(Exception):\n    def __init__(self, status, text): super().__init__(f'{status} {text}')\n"
        "    def __reduce__(self): return Odd, self.args\nodd = Odd(404, 'gone')"
    ),
    "a class whose state cannot be set": (
        "class Odd:\n    def __getstate__(self): return 5\n    def __setstate__(self, state): raise ValueError(5)\n"
        "odd = Odd()"
    ),
    "something whose maker wants to end the process": (
        "class Odd:\n    def __reduce__(self): return exit, (3,)\nimport sys\nexit = sys.exit\nodd = Odd()"
    ),
}


@pytest.mark.parametrize("made", NOT_MADE_AGAIN.values(), ids=NOT_MADE_AGAIN)
def test_what_cannot_be_made_again_is_named_and_costs_no_other_variable(run, made: str) -> None:
    run("n, big = 7, list(range(20_000))\ndef double(): return n * 2")
    run(f"{made}\nholders = [odd]\nalias = odd\nimport pandas as pd\nframe = pd.DataFrame({{'a': range(100_000)}})")
    run("import os\nos._exit(1)")
    after = run("n, len(big), double(), len(frame), [name in globals() for name in ('odd', 'holders', 'alias')]")
    assert shown(after) == "(7, 20000, 14, 100000, [False, False, False])"
    assert [notice.code for notice in after.notices] == ["some_not_restored"]
    assert all(f"{name} (" in worded(after, "en") for name in ("odd", "holders", "alias"))
    run("n = 8")
    run("import os\nos._exit(1)")
    again = run("n, len(big), len(frame)")
    assert (shown(again), again.notices) == ("(8, 20000, 100000)", ())


def test_names_whose_object_can_be_kept_again_are_kept(run) -> None:
    run("class Slot: pass\nslot = Slot()\nslot.value = (i for i in range(3))\nholders = [slot]")
    run("slot.value = 5")
    run("import os\nos._exit(1)")
    assert shown(run("slot.value, holders[0] is slot")) == "(5, True)"


CHANGING = {
    "a counter, which is pickled as a fresh dictionary": "import collections\nodd = collections.Counter(range(20_000))",
    "a class whose state is a fresh list": (
        "class Box:\n    def __init__(self): self.items = list(range(20_000))\n"
        "    def __getstate__(self): return list(self.items)\n"
        "    def __setstate__(self, state): self.items = state\n"
        "    def __len__(self): return len(self.items)\nodd = Box()"
    ),
}


@pytest.mark.parametrize("made", CHANGING.values(), ids=CHANGING)
def test_what_is_pickled_as_something_fresh_is_kept_beside_what_cannot_be(run, made: str) -> None:
    run(f"{made}\nn = 1")
    run("import threading\nlock = [threading.Lock()] * 20_000\nn = 2")
    assert run("n = 3").notices == ()
    run("import os\nos._exit(1)")
    assert shown(run("n, len(odd)")) == "(3, 20000)"


def test_what_needs_an_import_of_the_notebook_to_be_pickled_comes_back_beside_what_cannot_be(run) -> None:
    run("import json\nclass Good:\n    def __reduce__(self): return (eval, ('7', json.loads('{}')))\ngood = Good()")
    run(NOT_MADE_AGAIN["an exception that is made in its own way"])
    run("import os\nos._exit(1)")
    after = run("good, 'odd' in globals()")
    assert (shown(after), [notice.code for notice in after.notices]) == ("(7, False)", ["some_not_restored"])


def test_a_large_object_that_is_changed_through_what_holds_it_is_kept(run) -> None:
    run("import numpy as np\nholder = {'big': np.zeros(10 << 20)}\nother = np.zeros(1 << 20)")
    run("holder['big'][0] = 5")
    run("import os\nos._exit(1)")
    assert shown(run("float(holder['big'][0])")) == "5.0"


def test_names_that_share_much_are_looked_at_once(run) -> None:
    """One by one they would take longer than the host waits."""
    run("shared = [[i] for i in range(300_000)]\nclass Holder: pass")
    run("holders = {}\nfor i in range(80):\n    globals()[f'name{i}'] = [shared, i]")
    run("import threading\nlock = threading.Lock()\nn = 7")
    result = run("import os\nos._exit(1)")
    assert [notice.code for notice in result.notices] == ["ended", "as_before", "not_kept"]
    assert "Not kept: lock (TypeError)." in worded(result, "en")
    assert shown(run("n, name0[0] is name79[0]")) == "(7, True)"


def test_the_loss_of_a_closed_file_is_not_told_and_that_of_an_open_one_is(run) -> None:
    run("with open('a.txt', 'w') as closed:\n    closed.write('x')\nstill_open = open('b.txt', 'w')\nn = 7")
    result = run("import os\nos._exit(1)")
    assert [notice.code for notice in result.notices] == ["ended", "as_before", "not_kept"]
    told = worded(result, "en")
    assert "still_open" in told
    assert "closed" not in told
    assert shown(run("n")) == "7"


def test_what_was_told_is_not_told_again(tmp_path: Path) -> None:
    with bare_host(tmp_path, Limits(idle_s=0.1)) as client:
        client.run("t", "1", "n = 7\ng = (i for i in range(3))")
        told = []
        for cell in range(2, 5):
            eventually(lambda: not client.sessions(), "rest")
            told.append([notice.code for notice in client.run("t", str(cell), "n").notices])
        assert told == [["not_kept"], [], []]
    with bare_host(tmp_path) as later:
        assert later.run("t", "5", "n").notices == ()


def test_what_was_told_when_its_cell_died_is_not_told_again(tmp_path: Path) -> None:
    with bare_host(tmp_path) as client:
        client.run("t", "1", "n = 7\ng = (i for i in range(3))")
        died = client.run("t", "2", "import os\nos._exit(1)")
        assert [notice.code for notice in died.notices] == ["ended", "as_before", "not_kept"]
        client.export_session("t")
    with bare_host(tmp_path) as later:
        assert later.run("t", "3", "n").notices == ()


def test_a_loss_is_told_once_in_a_result_that_tells_of_another_end(tmp_path: Path) -> None:
    with bare_host(tmp_path) as client:
        client.run("t", "1", "n = 7\ng = (i for i in range(3))")
        client.run("t", "2", "import io\nio.BytesIO = None")
        client.export_session("t")
    with bare_host(tmp_path) as later:
        died = later.run("t", "3", "import os\nos._exit(1)")
        assert [notice.code for notice in died.notices] == ["changes_uncertain", "not_kept", "ended", "as_before"]
        assert later.run("t", "4", "n").notices == ()


def test_a_session_that_could_keep_nothing_loses_it_once(run, host: SessionClient, thread: str) -> None:
    run("import io\nio.BytesIO = None\nn = 8")
    died = run("import os\nos._exit(1)")
    assert [notice.code for notice in died.notices] == ["ended", "changes_not_kept"]
    assert host.vars(thread) == []
    assert [notice.code for notice in run("import os\nos._exit(1)").notices] == ["ended"]


@pytest.mark.parametrize(
    "looked_at",
    ["def __sizeof__(self): raise SystemExit", "def __getattribute__(self, name): raise ZeroDivisionError"],
)
def test_an_object_that_raises_when_it_is_looked_at_costs_no_other_variable(run, looked_at: str) -> None:
    run(f"class Odd:\n    {looked_at}\nn, odd = 7, Odd()")
    run("import os\nos._exit(1)")
    assert shown(run("n")) == "7"


def test_an_object_of_a_class_without_a_home_costs_no_other_variable(run) -> None:
    run("n = 7\nclass Odd: __module__ = 5\nodd = Odd()")
    run("import os\nos._exit(1)")
    assert shown(run("n")) == "7"


def test_an_object_that_answers_to_every_attribute_can_be_used(run) -> None:
    run("class Proxy:\n    def __getattr__(self, name): return Proxy()\nproxy = Proxy()")
    assert shown(run("type(proxy.anything).__name__")) == "'Proxy'"


def test_a_host_whose_parent_dies_while_it_starts_ends_and_leaves_its_successor_alone(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    command = [sys.executable, "-m", "executor.host", "--socket", str(tmp_path / "s"), "--home"]
    orphan = subprocess.Popen([*command, str(tmp_path / "home"), "--die-with-parent"], stdin=subprocess.PIPE)
    eventually((tmp_path / "s").exists, "its socket")
    assert orphan.stdin is not None
    orphan.stdin.close()
    successor = start_host(tmp_path / "s", tmp_path / "home")
    try:
        assert orphan.wait(PATIENCE_S) == 0
        assert SessionClient(tmp_path / "s").ping().pid == successor.pid
    finally:
        stop_host(successor)
    assert not (tmp_path / "s").exists()


def test_what_a_killed_host_had_no_time_to_keep_is_told_once(tmp_path: Path) -> None:
    process = start_host(tmp_path / "s", tmp_path / "home")
    try:
        client = SessionClient(tmp_path / "s")
        client.run("t", "1", "n = 7")
        client.run("t", "2", "import time\nclass Slow:\n    def __reduce__(self): time.sleep(60)\nm, slow = 8, Slow()")
    finally:
        process.kill()
        stop_host(process)
    with bare_host(tmp_path / "home") as later:
        told = later.run("t", "3", "n")
        assert (shown(told), [notice.code for notice in told.notices]) == ("7", ["changes_uncertain"])
        assert later.run("t", "4", "n").notices == ()
    with bare_host(tmp_path / "home") as again:
        assert again.run("t", "5", "n").notices == ()


@pytest.mark.parametrize("written", [0, 100])
def test_variables_that_a_full_disk_had_no_room_to_keep_are_told_as_what_may_be_missing(
    tmp_path: Path, written: int
) -> None:
    with bare_host(tmp_path) as client:
        client.run("t", "1", "n = 7")
    (log,) = (tmp_path / "threads").glob("*/state/log.jsonl")
    log.write_bytes(log.read_bytes()[:written])
    cells = log.parents[1] / "cells.jsonl"
    cells.write_bytes(b"".join(line for line in cells.read_bytes().splitlines(True) if b'"settled"' not in line))
    with bare_host(tmp_path) as later:
        told = later.run("t", "2", "m = 8")
        assert [notice.code for notice in told.notices] == ["changes_uncertain"]
    with bare_host(tmp_path) as again:
        after = again.run("t", "3", "m, 'n' in globals()")
        assert (shown(after), after.notices) == ("(8, False)", ())


@pytest.mark.parametrize("back", ["undo", "reset"])
def test_what_people_called_back_before_it_was_kept_is_not_missed_after_a_kill(tmp_path: Path, back: str) -> None:
    process = start_host(tmp_path / "s", tmp_path / "home")
    try:
        client = SessionClient(tmp_path / "s")
        client.run("t", "1", "import time\nclass Slow:\n    def __reduce__(self): time.sleep(60)\nslow = Slow()")
        _ = client.undo("t", "1") if back == "undo" else client.reset("t")
    finally:
        process.kill()
        stop_host(process)
    with bare_host(tmp_path / "home") as later:
        assert later.run("t", "2", "1").notices == ()


def test_an_idle_session_is_put_to_rest_and_comes_back_unnoticed(tmp_path: Path) -> None:
    (tmp_path / "given.csv").write_text("a")
    with bare_host(limits=Limits(idle_s=0.1)) as client:
        client.put("t", "given.csv", tmp_path / "given.csv")
        client.run("t", "1", EVERYTHING + "open('made.txt', 'w').write('x')")
        eventually(lambda: not client.sessions(), "rest")
        assert [variable.name for variable in client.vars("t")][:3] == ["n", "text", "flag"]
        after = client.run("t", "2", CHECK)
        assert (shown(after), after.notices) == (EXPECTED, ())
        assert shown(client.run("t", "3", "import os\nsorted(os.listdir())")) == "['given.csv', 'made.txt']"


def test_a_host_holds_nothing_open_for_threads_at_rest(tmp_path: Path) -> None:
    with bare_host(limits=Limits(idle_s=0.1)) as client:
        host = client.ping().pid

        def open_files() -> list[str]:
            links = []
            for link in Path(f"/proc/{host}/fd").iterdir():
                # The host opens and closes files while we look.
                with contextlib.suppress(FileNotFoundError):
                    links.append(str(link.readlink()))
            return [link for link in links if "/threads/" in link]

        go = threading.Event()
        with ThreadPoolExecutor(1) as pool:
            code = "n = 7\nquery('go?')"
            running = pool.submit(client.run, "t", "1", code, on_request=lambda *_: go.wait(PATIENCE_S))
            eventually(open_files, "files of a running cell")
            go.set()
            assert running.result(PATIENCE_S).status == "ok"
        eventually(lambda: not open_files(), "rest")
        assert shown(client.run("t", "2", "n")) == "7"


def test_a_zygote_that_dies_with_an_order_unread_takes_no_host_with_it(tmp_path: Path) -> None:
    with bare_host(tmp_path, Limits(spare_sessions=0)) as client:
        host = client.ping().pid
        client.run("a", "1", "n = 7")
        client.run("a", "2", "'what the first cell made is kept by now'")
        zygote = psutil.Process(host).children()[0]
        zygote.suspend()
        waiting: list[CellResult] = []
        order = threading.Thread(target=lambda: waiting.append(client.run("b", "1", "1 + 1")))
        order.start()
        eventually(lambda: "b" in [session.thread_id for session in client.sessions()], "an order for the zygote")
        zygote.kill()
        order.join(PATIENCE_S)
        eventually(lambda: zygote not in psutil.Process(host).children(), "the host's word on its end")
        assert client.ping().pid == host
        assert (shown(client.run("b", "2", "1 + 1")), shown(client.run("a", "3", "n"))) == ("2", "7")


def keep_and_stop(home: Path, *threads: str) -> None:
    with bare_host(home) as client:
        for thread in threads:
            client.run(thread, "1", f"secret = {thread!r}")
            client.run(thread, "2", "1")


def test_a_checkpoint_that_was_tampered_with_is_refused_and_said(tmp_path: Path) -> None:
    keep_and_stop(tmp_path, "a")
    log = tmp_path / "threads" / "a" / "state" / "log.jsonl"
    stored = json.loads(log.read_text().splitlines()[-1])
    stored["body"]["future"] = 1
    log.write_text(json.dumps(stored) + "\n")
    with bare_host(tmp_path) as client:
        result = client.run("a", "3", "secret")
        assert result.error.name == "NameError"
        assert "tampered" in worded(result, "en")
        assert client.run("a", "4", "1").notices == ()


def test_a_part_that_was_tampered_with_is_refused(tmp_path: Path) -> None:
    with running_host(tmp_path) as client:
        client.run("a", "1", "import numpy as np\nlarge = np.zeros(100_000)")
        client.run("a", "2", "1")
    parts = [part for part in (tmp_path / "threads" / "a" / "state").iterdir() if part.name != "log.jsonl"]
    assert len(parts) == 1
    parts[0].write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    with running_host(tmp_path) as client:
        assert "tampered" in worded(client.run("a", "3", "1"), "en")


LARGE = "import numpy as np\nlarge = np.arange(500_000.0)\nsmaller = np.arange(50_000.0)"
MAPPED = """
import os
links = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
held = [os.readlink(link) for link in links if os.path.lexists(link)]
large[0] = smaller[0] = -1
[[array.flags.aligned and array.flags.writeable and float(array[0]) for array in (large, smaller)],
 [path for path in held if "state" in path]]
"""


def test_large_arrays_come_back_changeable_and_give_the_cell_nothing_of_the_host_to_hold(run) -> None:
    run(LARGE)
    run("import os\nos._exit(1)")
    assert shown(run(MAPPED)) == "[[-1.0, -1.0], []]"


def test_changing_an_array_that_came_back_does_not_change_what_is_kept_of_it(tmp_path: Path) -> None:
    with bare_host(tmp_path) as client:
        client.run("a", "1", LARGE)
        for cell in ("2", "3"):
            assert client.run("a", cell, "large[0] = -1\nimport os\nos._exit(1)").status == "died"
        result = client.run("a", "4", "float(large[0]), float(large.sum())")
        assert (shown(result), result.notices) == ("(0.0, 124999750000.0)", ())


def test_a_checkpoint_of_another_thread_is_refused(tmp_path: Path) -> None:
    keep_and_stop(tmp_path, "a", "b")
    shutil.rmtree(tmp_path / "threads" / "b" / "state")
    shutil.copytree(tmp_path / "threads" / "a" / "state", tmp_path / "threads" / "b" / "state")
    with bare_host(tmp_path) as client:
        result = client.run("b", "3", "secret")
        assert result.error.name == "NameError"
        assert "tampered" in worded(result, "en")


def test_variables_that_another_key_signed_are_refused_and_the_key_is_named(tmp_path: Path) -> None:
    keep_and_stop(tmp_path, "a")
    (tmp_path / "key").write_bytes(b"another key, of thirty-two bytes")
    with bare_host(tmp_path) as client:
        assert "another key (THREADBOOK_CHECKPOINT_KEY)" in worded(client.run("a", "3", "secret"), "en")


def test_a_checkpoint_of_other_versions_is_refused_and_running_again_is_offered(tmp_path: Path) -> None:
    from executor.files.home import Home

    keep_and_stop(tmp_path, "a")
    kept = Checkpoint(tmp_path / "threads" / "a", "a", Home(tmp_path).secret(), {"python": "2.7"})
    with pytest.raises(Refused, match="other_versions"):
        kept.open()


def came_whole(checkpoint: Checkpoint, content: bytes) -> Receiver:
    """Variables of which every byte has come; they are not committed yet."""
    part = {"key": "a", "size": len(content), "checksum": 1}
    said = {"keys": ["a"], "parts": [part], "lost": [], "variables": [], "set_by": {}, "future": 0}
    receiver = checkpoint.receive(announced(said))
    receiver.feed(content)
    return receiver


def test_variables_that_came_too_late_take_nothing_from_those_that_came_after_them(tmp_path: Path) -> None:
    """A subprocess ends while the disk still writes its variables, and the next one sends the same bytes."""
    checkpoint, content = Checkpoint(tmp_path, "t", b"key", {}), bytes(300_000)
    late = came_whole(checkpoint, content)
    checkpoint.forget()
    next_one = came_whole(checkpoint, content)
    late.abandon()
    checkpoint.commit(next_one, "c2")
    message, descriptors = checkpoint.open()
    for descriptor in descriptors:
        os.close(descriptor)
    checkpoint.close()
    assert [part["size"] for part in message["parts"]] == [300_000]


def test_a_checkpoint_is_written_as_it_was_signed_in_advance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint, signed = Checkpoint(tmp_path, "t", b"key", {}), list[bytes]()
    plain = hmac.digest
    monkeypatch.setattr(hmac, "digest", lambda key, text, kind: signed.append(text) or plain(key, text, kind))
    receiver = came_whole(checkpoint, b"1")
    checkpoint.prepare(receiver, "c1")
    assert len(signed) == 1
    checkpoint.commit(receiver, "c1")
    assert len(signed) == 1
    assert checkpoint.last_cell() == "c1"
    checkpoint.close()


def test_a_checkpoint_that_changed_after_it_was_signed_in_advance_is_signed_anew(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path, "t", b"key", {})
    checkpoint.commit(came_whole(checkpoint, b"1"), "c1")
    receiver = came_whole(checkpoint, b"2")
    checkpoint.prepare(receiver, "c2", also_of_others=True)
    checkpoint.commit(receiver, "c2")
    checkpoint.close()
    there = Checkpoint(tmp_path, "t", b"key", {})
    assert there.last_cell() == "c2"
    assert there.undo("c2") == "undone"
    there.close()


def test_an_undo_that_found_no_room_is_not_what_the_next_one_goes_back_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: LineFile, line: bytes) -> tuple[int, int]:
        raise OSError(errno.ENOSPC, "No space left on device")

    checkpoint = Checkpoint(tmp_path, "t", b"key", {})
    for cell in ("c1", "c2"):
        checkpoint.commit(came_whole(checkpoint, cell.encode()), cell)
    with monkeypatch.context() as disk:
        disk.setattr(LineFile, "append", full)
        with pytest.raises(OSError, match="No space"):
            checkpoint.undo("c2")
    monkeypatch.setattr(checkpoint_log, "_LIMIT", -(1 << 20))  # the log is begun anew with its last two lines
    checkpoint.commit(came_whole(checkpoint, b"c3"), "c3")
    assert checkpoint.undo("c3") == "undone"
    assert checkpoint.last_cell() == "c2"
    checkpoint.close()


def test_an_undo_goes_back_to_nothing_that_was_not_signed_for_this_thread(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    here, forger = Checkpoint(tmp_path, "t", b"key", {}), Checkpoint(tmp_path / "b", "t", b"guessed", {})
    forger.commit(came_whole(forger, b"forged"), "c1")
    stored, _ = forger.exported()
    here.adopt(stored, Path)
    with pytest.raises(Refused):
        here.open()
    here.commit(came_whole(here, b"ours"), "c2")
    assert here.undo("c2") == "gone"
    assert here.last_cell() == "c2"
    here.close()
    forger.close()


def test_a_signature_in_letters_that_are_none_of_ours_is_refused(tmp_path: Path) -> None:
    """A host that fell over it would take the sessions of all threads with it."""
    (tmp_path / "b").mkdir()
    here, there = Checkpoint(tmp_path, "t", b"key", {}), Checkpoint(tmp_path / "b", "t", b"key", {})
    there.commit(came_whole(there, b"1"), "c1")
    stored, _ = there.exported()
    here.adopt({**(stored or {}), "hmac": "é"}, Path)
    with pytest.raises(Refused):
        here.open()
    here.close()
    there.close()


def test_variables_that_came_too_late_take_nothing_from_those_of_another_host(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    here, there = Checkpoint(tmp_path, "t", b"key", {}), Checkpoint(tmp_path / "b", "t", b"key", {})
    there.commit(came_whole(there, bytes(300_000)), "c1")
    stored, paths = there.exported()
    late = came_whole(here, bytes(300_000))
    here.adopt(stored, lambda sha256: paths[sha256])
    late.abandon()
    _, descriptors = here.open()
    for descriptor in descriptors:
        os.close(descriptor)
    here.close()
    there.close()


def test_vars_lists_name_type_shape_size_and_the_cell_that_set_it(host: SessionClient, thread: str) -> None:
    host.run(thread, "first", "import pandas as pd\ndf = pd.DataFrame({'a': [1, 2]})\nn = 5")
    host.run(thread, "second", "df['b'] = 1")
    host.run(thread, "third", "1")
    found = {variable.name: variable for variable in host.vars(thread)}
    assert set(found) == {"df", "n"}
    assert found["n"] == Variable("n", "int", "", 28, "first")
    assert (found["df"].type, found["df"].shape, found["df"].cell_id) == ("DataFrame", "2 x 2", "second")


def test_a_failed_cell_says_which_names_are_new_and_which_are_old(run) -> None:
    run("total = 1\nrate = 2")
    result = run("total = 10\nfresh = 1\nrate = 1 / 0\nnever = 3")
    assert (
        worded(result, "en")
        == "Before it failed, the cell set `total`, `fresh`. These still have the value from before the cell: `rate`."
    )
