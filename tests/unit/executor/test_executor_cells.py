"""Cells in a real subprocess: what they may contain, how they may end, and what is reported. Each test is a rule."""

from __future__ import annotations

import decimal
import fcntl
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest
from hosts import bare_host
from patience import PATIENCE_S, eventually

from executor.client import HostUnavailable, RequestError, SessionClient, WithFile
from executor.files.home import Home
from executor.launch import start_host, stop_host
from executor.linux import SEALS
from executor.notices import notice
from executor.values import CellResult, Limits
from workers.delivery.notices import worded

pytestmark = pytest.mark.process


def sealed(*batches: pa.RecordBatch) -> int:
    """An open file in memory of Arrow batches, as a broker of data makes it."""
    descriptor = os.memfd_create("rows", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    with open(descriptor, "wb", closefd=False) as file, pa.ipc.new_stream(file, batches[0].schema) as stream:
        for batch in batches:
            stream.write_batch(batch)
    os.lseek(descriptor, 0, os.SEEK_SET)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, SEALS)
    return descriptor


def shown(result: CellResult) -> str | None:
    return result.result.text if result.result is not None else None


# State and source


def test_variables_live_from_cell_to_cell(run) -> None:
    run("x = 41")
    assert shown(run("x + 1")) == "42"


def test_the_last_expression_is_shown_and_none_and_a_semicolon_show_nothing(run) -> None:
    assert shown(run("1\n2")) == "2"
    assert shown(run("'text'")) == "'text'"
    assert run("None").result is None
    assert run("1;").result is None
    assert run("x = 1").result is None


def test_source_is_taken_as_it_stands(run) -> None:
    """Blank lines in strings, lines like prompts, indentation, docstrings: nothing is stripped, dropped or injected."""
    code = 'def f():\n    """doc"""\n    return """a\n\n\n>>> b\n... c\n    d"""\n\nprint(f.__doc__)\nprint(f())'
    assert run(code).stdout == "doc\na\n\n\n>>> b\n... c\n    d\n"
    assert run('"""only a docstring"""\nprint(1)').stdout == "1\n"


def test_future_imports_work_and_hold_for_the_cells_after(run) -> None:
    assert run('"""doc"""\nfrom __future__ import annotations\ndef f(x: Unknown): ...').status == "ok"
    assert run("def g(x: AlsoUnknown): ...").status == "ok"


def test_printed_text_can_look_like_anything(run) -> None:
    """No sentinel ends a cell: only a frame on a descriptor that printing does not reach."""
    noise = '##end_of_execution##\n{"type": "result", "cell": "c1", "status": "ok"}\n'
    result = run(f"import os\nos.write(1, {noise!r}.encode())\nprint('still here')")
    assert result.stdout == noise + "still here\n"


# Errors


def test_an_exception_is_an_observation_with_the_cells_own_lines(run) -> None:
    result = run("import pandas as pd\ndf = pd.DataFrame({'a': [1]})\n\ndef f():\n    return df['b']\n\nf()")
    assert result.status == "error"
    assert result.error.name == "KeyError"
    assert result.error.line == 5
    assert "line 5, in f\n    return df['b']" in result.error.traceback
    assert "site-packages" not in result.error.traceback
    assert "runner" not in result.error.traceback
    assert "direct cause" not in result.error.traceback


def test_what_was_printed_before_an_error_is_kept(run) -> None:
    result = run("import sys\nprint('out')\nprint('err', file=sys.stderr)\n1/0")
    assert (result.stdout, result.stderr, result.status) == ("out\n", "err\n", "error")


def test_exit_and_keyboard_interrupt_do_not_end_the_session(run) -> None:
    run("x = 1")
    for code, name in [
        ("exit()", "SystemExit"),
        ("raise SystemExit(3)", "SystemExit"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    ]:
        result = run(code)
        assert (result.status, result.error.name) == ("error", name)
    assert shown(run("x")) == "1"


def test_a_syntax_error_is_an_error_with_its_line(run) -> None:
    result = run("x = 1\ny = = 2")
    assert (result.status, result.error.name, result.error.line) == ("error", "SyntaxError", 2)
    assert "y = = 2" in result.error.traceback


def test_a_null_byte_or_a_lone_surrogate_in_the_source_is_an_error_of_the_cell(run) -> None:
    assert run("x = '\0'").error.name in ("SyntaxError", "ValueError")
    assert run("x = '\ud800'").error.name in ("UnicodeEncodeError", "SyntaxError")
    assert shown(run("1 + 1")) == "2"


def test_a_chain_of_exceptions_is_shown_whole(run) -> None:
    result = run("try:\n    {}['a']\nexcept KeyError as e:\n    raise ValueError('no such thing') from e")
    assert "KeyError: 'a'" in result.error.traceback
    assert "direct cause" in result.error.traceback


def test_an_exception_that_cannot_be_shown_is_still_reported(run) -> None:
    result = run("class E(Exception):\n    def __str__(self): raise SystemExit\nraise E()")
    assert (result.status, result.error.name) == ("error", "E")


# Misbehaving cells


@pytest.mark.parametrize(
    "code",
    [
        "import sys\nsys.stdout = None\nsys.stderr = 5",
        "import sys\nclass B:\n    def write(self, t): 0/0\n    def flush(self): raise SystemExit\nsys.stdout = B()",
        "import sys\nsys.stdout.close()\nsys.stderr.close()",
        "import os\nos.close(0)\nos.close(1)\nos.close(2)",
        "import builtins\nfor n in list(vars(builtins)):\n    if n not in ('list',): setattr(builtins, n, None)",
        "import builtins\nvars(builtins).clear()",
        "import json\njson.dumps = json.loads = None\njson.encoder.c_make_encoder = 5\njson.JSONEncoder.encode = 1",
        "import os, linecache\nos.getpid = lambda: 0\nos.read = os.write = os._exit = None\nlinecache.cache.clear()",
        "import sys\nsys.modules.clear()",
        "import sys\nsys.modules['__main__'] = None\ndel sys.path[:]",
        "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nsignal.signal(signal.SIGUSR1, signal.SIG_DFL)",
        "import os\nos.chdir('/')\nimport shutil, tempfile\nd = tempfile.mkdtemp()\nos.chdir(d)\nos.rmdir(d)",
        "import sys\nsys.setrecursionlimit(60)",
        "import sys, threading\nthreading.Thread(target=sys.stdout.write, args=('late\\n',)).start()",
    ],
)
def test_a_cell_that_breaks_its_own_ground_does_not_confuse_the_next(run, code: str) -> None:
    run(code)
    result = run("print(1 + 1)")
    assert (result.status, result.stdout.replace("late\n", "")) == ("ok", "2\n")


def test_a_forked_child_does_not_answer_for_its_parent(run) -> None:
    result = run("import os\npid = os.fork()\nprint('child' if pid == 0 else 'parent')\nif pid: os.waitpid(pid, 0)")
    assert result.status == "ok"
    assert sorted(result.stdout.split()) == ["child", "parent"]
    assert shown(run("1 + 1")) == "2"


def test_a_cell_cannot_read_the_next_cell_from_stdin(run) -> None:
    assert run("input()").error.name == "EOFError"
    assert shown(run("1 + 1")) == "2"


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import os\nos._exit(3)", "exit code 3"),
        ("import ctypes\nctypes.string_at(0)", "SIGSEGV"),
        ("import os\nos.closerange(3, 1000)", "descriptor|connection|exit code"),
        ("import os\nos.abort()", "crashed"),
    ],
)
def test_each_way_to_die_is_a_result_with_a_reason_and_the_thread_goes_on(run, code: str, why: str) -> None:
    run("x = 1")
    result = run("print('before')\n" + code)
    assert (result.status, result.stdout) == ("died", "before\n")
    assert result.notices
    assert any(part in worded(result, "en") for part in why.split("|"))
    after = run("print(1 + 1)")
    assert (after.status, after.stdout, after.notices) == ("ok", "2\n", ())
    assert shown(run("x")) == "1"


FORGE = """
import os, struct, json
def frame(message):
    body = json.dumps(message).encode()
    return struct.pack('>I', len(body)) + body
for fd in range(3, 256):
    try:
        if 'pipe' in os.readlink(f'/proc/self/fd/{fd}'): os.write(fd, PAYLOAD)
    except OSError: pass
import time; time.sleep(30)
"""


@pytest.mark.parametrize(
    "payload",
    [
        "struct.pack('>I', 0xffffffff)",
        "struct.pack('>I', 3) + b'[1]'",
        "struct.pack('>I', 5) + b'nope!'",
        "frame({'type': 'result', 'cell': 'other', 'status': 'ok'})",
        "frame({'type': 'weird'})",
        "frame({'type': 'request', 'id': 'x'})",
        "struct.pack('>I', 100000) + b'[' * 100000",
    ],
)
def test_a_forged_frame_ends_its_own_session_and_no_other(host: SessionClient, run, thread: str, payload: str) -> None:
    host.run(thread + "-neighbour", "a", "y = 7")
    result = run(FORGE.replace("PAYLOAD", payload))
    assert result.status == "died"
    assert "protocol" in worded(result, "en")
    assert shown(host.run(thread + "-neighbour", "b", "y")) == "7"
    assert shown(run("1 + 1")) == "2"


RUNNER = """
import sys
frame = sys._getframe()
while type(frame.f_locals.get('self')).__name__ != 'Runner': frame = frame.f_back
runner = frame.f_locals['self']
kind = type(runner)
honest = kind._answer
"""
LIES = [
    "x",
    5,
    -1,
    True,
    None,
    {"a": {}},
    ["x"],
    [5],
    [None],
    [[]],
    [{}],
    [{"name": 5}],
    [{"key": "a", "size": 1 << 62}],
]
FRAMES = {
    "state": ("keys", "parts", "lost", "variables", "set_by", "future", "why"),
    "result": ("cell", "status", "result", "error", "figures", "problems", "notices"),
}


@pytest.mark.parametrize(("frame", "field"), [(frame, field) for frame, fields in FRAMES.items() for field in fields])
def test_a_frame_with_a_field_of_another_shape_ends_its_own_session_at_most(
    host: SessionClient, thread: str, frame: str, field: str
) -> None:
    alive = host.ping().pid
    host.run(f"{thread}-neighbour", "a", "y = 7")
    for number, lie in enumerate(LIES):
        code = f"""{RUNNER}
def lie(self, message):
    honest(self, message | {{{field!r}: {lie!r}}} if message['type'] == {frame!r} else message)
kind._answer = lie
"""
        host.run(f"{thread}-{number}", "a", code)
        assert shown(host.run(f"{thread}-{number}", "b", "1 + 1")) in ("2", None)
    assert shown(host.run(f"{thread}-neighbour", "b", "y")) == "7"
    assert host.ping().pid == alive


@pytest.mark.parametrize("answer", [{"why": 5, "lost": []}, {"why": None, "lost": ["x"]}, {"why": None}])
def test_an_object_that_lies_about_how_it_was_put_back_is_given_up(run, answer: dict) -> None:
    lying = f"{RUNNER}\nimport time\nrunner._answer({dict(answer, type='restored')!r})\ntime.sleep(30)"
    run("n = 7")
    run(f"class Lying:\n    def __reduce__(self): return exec, ({lying!r},)\nlying = Lying()")
    run("import os\nos._exit(1)")
    told = run("1 + 1")
    assert (shown(told), [notice.code for notice in told.notices]) == ("2", ["not_restored"])


def test_a_file_that_became_a_folder_ends_no_host(host: SessionClient, run) -> None:
    alive = host.ping().pid
    run("open('a', 'w').write('1')\nopen('kept', 'w').write('2')")
    run("import os\nos.remove('a')\nos.mkdir('a')\nopen('a/b', 'w').write('3')")
    run("import os\nos._exit(0)")
    after = run("open('a/b').read(), open('kept').read()")
    assert (shown(after), after.notices) == ("('3', '2')", ())
    assert host.ping().pid == alive


def test_a_given_file_that_does_not_fit_is_refused_and_one_that_fits_no_more_is_named(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(bytes(20 << 20))
    small = bare_host(limits=Limits(workspace_mb=16))
    with small as client, pytest.raises(RequestError, match="larger than this host takes"):
        client.put("t", "large", tmp_path / "large")
    with bare_host(tmp_path / "home") as client:
        client.put("t", "large", tmp_path / "large")
    with bare_host(tmp_path / "home", limits=Limits(workspace_mb=16)) as client:
        told = client.run("t", "1", "1 + 1")
        assert (shown(told), [notice.code for notice in told.notices]) == ("2", ["files_not_placed"])
        assert "large (No space left on device)" in worded(told, "en")
    with bare_host(tmp_path / "home") as client:
        assert shown(client.run("t", "2", "import os\nos.path.getsize('large')")) == str(20 << 20)


def test_a_signal_without_a_name_ends_its_process_and_no_host() -> None:
    with bare_host(without=("namespaces",)) as client:
        alive = client.ping().pid
        result = client.run("t", "1", "import os\nos.kill(os.getpid(), 40)")
        assert (result.status, "signal 40" in worded(result, "en")) == ("died", True)
        assert client.ping().pid == alive


def test_folders_deeper_than_python_walks_end_no_host() -> None:
    with bare_host(without=("namespaces",)) as client:
        alive = client.ping().pid
        client.run("t", "1", "import os\nfor _ in range(3000):\n    os.mkdir('d')\n    os.chdir('d')")
        client.run("t", "2", "import os\nos._exit(0)")
        assert shown(client.run("t", "3", "import os\nos.listdir()")) == "[]"
        assert client.ping().pid == alive


def test_one_request_at_a_time_is_passed_on(run) -> None:
    result = run(
        f"{RUNNER}\nimport time\nfor number in (8, 9):\n"
        "    runner._answer({'type': 'request', 'id': number, 'kind': 'query', 'payload': {}})\ntime.sleep(30)",
        on_request=lambda *_: threading.Event().wait(2),
    )
    assert (result.status, "it asked before it was answered" in worded(result, "en")) == ("died", True)


def test_a_number_beyond_all_numbers_is_refused(run) -> None:
    result = run(FORGE.replace("PAYLOAD", "struct.pack('>I', 11) + b'{\"x\":1e999}'"))
    assert (result.status, "protocol" in worded(result, "en")) == ("died", True)


def test_nobody_watches_files_from_inside(run) -> None:
    result = run("import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nlibc.inotify_init(), ctypes.get_errno()")
    assert shown(result) == "(-1, 1)"


# Limits


def test_a_cell_over_its_time_is_stopped_with_its_line_and_its_variables_are_kept(run) -> None:
    result = run("import time\nx = 5\ntime.sleep(60)  # here", timeout_s=3)
    assert result.status == "timeout"
    assert (
        worded(result, "en")
        == "the cell was stopped after 3 s in line 3: `time.sleep(60)  # here`. All variables are kept."
    )
    assert shown(run("x")) == "5"


def test_where_says_in_which_line_the_running_cell_is(host: SessionClient, thread: str) -> None:
    assert host.where(thread) is None
    printed = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        code = "import time\nprint('go')\ntime.sleep(600)  # waits"
        answer = pool.submit(host.run, thread, "one", code, on_output=lambda *_: printed.set())
        assert printed.wait(PATIENCE_S)
        where = eventually(lambda: (found := host.where(thread)) and found.line == 3 and found, "the third line")
        assert (where.cell_id, where.source) == ("one", "time.sleep(600)  # waits")
        assert where.seconds > 0
        assert host.interrupt(thread) is True
        assert answer.result(PATIENCE_S).status == "killed"
    assert host.where(thread) is None


def test_a_cell_that_ignores_the_interrupt_is_killed_and_says_where(impatient: SessionClient) -> None:
    code = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n\nwhile True: pass"
    result = impatient.run("t", "1", code, timeout_s=3)
    assert result.status == "timeout"
    assert "in line 4" in worded(result, "en")
    assert "had to be killed" in worded(result, "en")
    assert shown(impatient.run("t", "2", "1 + 1")) == "2"


def test_interrupt_stops_a_cell_and_keeps_its_variables(host: SessionClient, thread: str, run, run_until) -> None:
    assert host.interrupt(thread) is False
    result = run_until("x = 3\nprint('go')\nimport time\nwhile True: time.sleep(0.01)")
    assert result.status == "killed"
    assert "on request in line" in worded(result, "en")
    assert shown(run("x")) == "3"


def test_long_output_keeps_head_and_tail_and_the_whole_is_an_artifact(run) -> None:
    result = run("for i in range(20_000): print('line', i)")
    assert result.stdout.startswith("line 0\n")
    assert result.stdout.endswith("line 19999\n")
    assert "characters left out" in result.stdout
    assert [file.name for file in result.artifacts] == ["stdout.txt"]
    assert Path(result.artifacts[0].path).read_text().count("\n") == 20_000


def test_output_is_streamed_by_whole_lines(host: SessionClient, thread: str) -> None:
    seen: list[tuple[str, str]] = []
    host.run(
        thread,
        "a",
        "import sys\nprint('a', end='')\nprint('b')\nprint('c', file=sys.stderr)",
        on_output=lambda *p: seen.append(p),
    )
    assert "".join(text for stream, text in seen if stream == "stdout") == "ab\n"
    assert ("stderr", "c\n") in seen


def test_more_memory_than_allowed_is_an_error_and_the_session_goes_on() -> None:
    with bare_host(limits=Limits(memory_mb=300)) as client:
        result = client.run("t", "a", "x = 1\ny = bytearray(900 << 20)")
        assert (result.status, result.error.name) == ("error", "MemoryError")
        assert "300 MB" in worded(result, "en")
        assert shown(client.run("t", "b", "x")) == "1"


# What comes out


def test_a_dataframe_is_shown_as_text_and_a_bounded_table(run) -> None:
    result = run(
        "import pandas as pd\n"
        "n = 500\nt = pd.date_range('2024-01-01', periods=n)\n"
        "pd.DataFrame({'n': range(n), 't': t, 's': ['é'] * n, 'f': [float('nan')] * n})"
    )
    assert "500 rows" in result.result.text
    table = result.result.table
    assert (table.total_rows, table.total_columns, len(table.rows)) == (500, 4, 100)
    assert table.columns == ("n", "t", "s", "f")
    assert table.rows[1] == (1, "2024-01-02T00:00:00", "é", None)


def test_an_index_that_means_something_is_a_column_of_the_table(run) -> None:
    table = run(
        "import pandas as pd\npd.DataFrame({'k': ['a', 'b', 'a'], 'v': [1, 2, 3]}).groupby('k').v.sum()"
    ).result.table
    assert (table.columns, table.rows, table.total_columns) == (("k", "v"), (("a", 4), ("b", 2)), 2)


def test_open_figures_become_named_pngs_and_artists_are_not_shown_as_values(run) -> None:
    result = run(
        "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.title('Net sales, by month (€)')\n"
        "plt.figure()\nplt.bar([1], [2])"
    )
    assert result.result is None
    assert sorted((file.name, file.mimetype, file.kind) for file in result.artifacts) == [
        ("figure-1.png", "image/png", "figure"),
        ("net-sales-by-month.png", "image/png", "figure"),
    ]
    assert all(Path(file.path).read_bytes().startswith(b"\x89PNG") for file in result.artifacts)
    assert run("plt.get_fignums()").result.text == "[]"


def test_our_grid_does_not_run_through_a_heatmap_unless_the_cell_asks_for_one(run) -> None:
    shown = run(
        "import matplotlib.pyplot as plt\n"
        "def grid(axes): return any(line.get_visible() for line in axes.get_xgridlines())\n"
        "figure, (heat, line, asked) = plt.subplots(1, 3)\n"
        "heat.imshow([[1, 2], [3, 4]])\nline.plot([1, 2])\n"
        "asked.pcolormesh([[1, 2], [3, 4]])\nasked.grid(color='white')\n"
        "plt.savefig('own.png')\nplt.close()\nprint(grid(heat), grid(line), grid(asked))"
    )
    assert shown.stdout == "False True True\n"


def test_of_two_axes_at_one_place_only_the_first_has_our_grid(run) -> None:
    shown = run(
        "import matplotlib.pyplot as plt\n"
        "def grid(axes): return any(line.get_visible() for line in axes.get_ygridlines())\n"
        "figure, (bars, alone) = plt.subplots(1, 2)\n"
        "bars.bar([1, 2], [500, 480])\nsecond = bars.twinx()\nsecond.plot([1, 2], [34, 37])\n"
        "plt.savefig('own.png')\nplt.close()\nprint(grid(bars), grid(second), grid(alone))"
    )
    assert shown.stdout == "True False True\n"


def test_a_figure_comes_with_its_data(run) -> None:
    result = run(
        "import matplotlib.pyplot as plt, pandas as pd\n"
        "fig, (left, right) = plt.subplots(1, 2)\n"
        "left.plot(pd.to_datetime(['2024-01-01', '2024-02-01']), [1.5, 2], label='net')\n"
        "left.set_title('Sales')\nleft.set_xlabel('Month')\nleft.set_ylabel('EUR')\n"
        "pd.Series([3, 4], index=['north', 'south']).plot.bar(ax=right)"
    )
    sales, regions = result.artifacts[0].chart
    assert (sales.title, sales.x, sales.y) == ("Sales", "Month", "EUR")
    assert [(one.kind, one.name, one.total_points) for one in sales.series] == [("line", "net", 2)]
    assert sales.series[0].points == (("2024-01-01T00:00:00", 1.5), ("2024-02-01T00:00:00", 2))
    assert regions.series[0].points == (("north", 3), ("south", 4))


@pytest.mark.parametrize("turned", ["", "\naxes.invert_yaxis()"])
def test_bars_that_lie_name_what_they_are_of_first_and_are_read_from_the_top(run, turned: str) -> None:
    result = run(
        "import matplotlib.pyplot as plt\nfig, axes = plt.subplots()\naxes.barh(['north', 'south'], [3, 4])\n"
        f"axes.set_xlabel('EUR')\naxes.set_ylabel('region'){turned}"
    )
    (regions,) = result.artifacts[0].chart
    assert (regions.x, regions.y) == ("region", "EUR")
    from_below = (("north", 3), ("south", 4))
    assert regions.series[0].points == (from_below if turned else from_below[::-1])


def test_a_figure_says_whether_its_data_is_all_that_it_shows(run) -> None:
    """A chart that is drawn again from its data must show no less, and nothing else."""
    plain = (
        "left.bar(['a', 'b'], [1, 2])",
        "left.barh(['a'], [1])",
        "left.plot([1, 2])",
        "left.scatter([1], [2])",
        "left.barh(['a', 'b'], [1, 2]); left.invert_yaxis()",
        "left.bar(['a'], [1.2e6]); left.yaxis.set_major_formatter('{x:,.0f} EUR'); left.set_ylabel('in EUR')",
        "left.plot([0.1, 0.3]); left.yaxis.set_major_formatter('{x:.2f}')",
        "left.plot([12, 40]); left.yaxis.set_major_formatter('{x:.0f} %'); left.set_ylabel('%')",
        "left.plot(numpy.array(['2024-01-01', '2024-03-01'], 'M8[D]'), [1, 2])",
        "left.plot([1e9, 3e10])",
        "left.pie([1, 2], labels=['a', 'b'])",
    )
    fuller = (
        "left.bar(['a'], [1]); left.bar(['a'], [2], bottom=[1])",
        "left.barh(['a'], [1]); left.barh(['a'], [2], left=[1])",
        "left.plot([1, 10]); left.set_yscale('log')",
        "left.plot([1, 2]); left.fill_between([0, 1], [0, 1], [2, 3])",
        "left.plot([1, 2]); left.axhline(1.5)",
        "left.plot([1, 2]); left.axvspan(0, 1)",
        "left.bar(['a'], [1], yerr=[0.5])",
        "left.plot([5e6, 6e6]); left.yaxis.set_major_formatter(lambda value, _: f'{value / 1e6:.1f}')",
        "left.bar(['a'], [0.12]); left.yaxis.set_major_formatter('{x:.0%}')",
        "left.barh(['a'], [5e6]); left.xaxis.set_major_formatter(lambda value, _: f'{value / 1e6:g} M')",
        "left.scatter([1e6, 2e6], [1, 2]); left.xaxis.set_major_formatter(lambda value, _: f'{value / 1e6:g}')",
        "left.plot([1, 2]); left.yaxis.set_major_formatter('{x:.0f} M')",
        "left.plot([1, 2]); left.set_yticks([1, 2], ['low', 'high'])",
        "left.plot([3, 1]); left.invert_yaxis()",
        "left.plot([3, 1]); left.invert_xaxis()",
    )
    for drawing in (*plain, *fuller):
        (made,) = run(f"import numpy\nimport matplotlib.pyplot as plt\nfig, left = plt.subplots()\n{drawing}").artifacts
        assert (drawing, made.chart[0].more) == (drawing, drawing in fuller)


def test_a_figure_that_the_cell_saved_itself_comes_once(run) -> None:
    result = run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.savefig('mine.png')\nplt.show()")
    assert [(file.name, file.kind) for file in result.artifacts] == [("mine.png", "figure")]
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("after", "figures"), [("", ["mine.png"]), ("axes.set_title('Later')", ["later.png"])], ids=["as saved", "changed"]
)
def test_a_figure_saved_by_its_own_method_comes_once_unless_it_was_changed_since(
    run, after: str, figures: list[str]
) -> None:
    drawn = "import matplotlib.pyplot as plt\nfig, axes = plt.subplots()\naxes.plot([1, 2])\nfig.savefig('mine.png')\n"
    result = run(drawn + after)
    assert [file.name for file in result.artifacts if file.kind == "figure"] == figures
    assert len(result.artifacts) == len({"mine.png", *figures})


def test_chinese_japanese_and_korean_text_has_its_glyphs(run) -> None:
    result = run(
        "import matplotlib.pyplot as plt\nplt.plot([-1, 1])\nplt.title('销售额 売上高 매출')\nplt.xlabel('月份')"
    )
    assert (result.status, result.stderr) == ("ok", "")
    assert len(result.artifacts) == 1


def test_a_title_in_chinese_is_no_half_bold_one(run) -> None:
    code = (
        "import matplotlib.pyplot as plt\nfig, (one, two) = plt.subplots(1, 2)\n"
        "one.set_title('各套餐的 MRR')\ntwo.set_title('MRR by plan')"
    )
    weights = "print(one.title.get_fontweight(), two.title.get_fontweight())"
    run(code)
    assert run(weights).stdout == "normal bold\n"


@pytest.mark.parametrize(
    "setting",
    [
        "plt.rcParams['font.sans-serif'] = ['SimHei']\nplt.rcParams['font.family'] = 'sans-serif'",
        "plt.rcParams['font.family'] = 'Microsoft YaHei'",
        "plt.rcParams['font.family'] = 'Arial'",
        "plt.style.use('ggplot')",
        "import seaborn\nseaborn.set_theme()",
    ],
)
def test_glyphs_are_there_whatever_font_the_cell_asks_for(run, setting: str) -> None:
    result = run(f"import matplotlib.pyplot as plt\n{setting}\nplt.plot([1])\nplt.title('销售额 매출')")
    assert (result.status, result.stderr, len(result.artifacts)) == ("ok", "", 1)


def test_libraries_that_would_start_programs_for_their_workers_do_without(run) -> None:
    result = run(
        "from sklearn.ensemble import RandomForestClassifier\nfrom sklearn.model_selection import cross_val_score\n"
        "import numpy as np\nX = np.random.rand(60, 2)\ny = X[:, 0] > 0.5\n"
        "model = RandomForestClassifier(n_estimators=5, n_jobs=-1)\n"
        "print(len(cross_val_score(model, X, y, cv=3, n_jobs=2)))"
    )
    assert (result.status, result.stdout, result.stderr) == ("ok", "3\n", "")


def test_polars_streams_more_than_it_wants_to_hold(run) -> None:
    """It puts the rest into a folder of its own, which has to be one that a cell may write."""
    result = run(
        "import polars as pl\nframe = pl.DataFrame({'a': range(2_000_000)}).lazy().sort('a', descending=True)\n"
        "for _ in range(3):\n    rows = frame.collect(engine='streaming').height\nrows"
    )
    assert (result.status, result.stderr, result.result.text) == ("ok", "", "2000000")


def test_a_figure_that_cannot_be_drawn_is_named_with_the_reason(run) -> None:
    result = run("import matplotlib.pyplot as plt\nplt.figure(figsize=(4000, 4000))\nplt.plot([1])")
    assert result.status == "ok"
    assert [(file.name, file.why) for file in result.rejected] == [("figure 1", notice("not_drawn", kind="ValueError"))]
    assert "inches" in result.stderr  # what the error says is the cell's own output


def test_files_that_a_cell_writes_come_out_and_links_do_not(run) -> None:
    result = run(
        "import os\nopen('a.csv', 'w').write('x,y\\n')\nos.mkdir('d')\nopen('d/b.txt', 'w').write('b')\n"
        "os.symlink('/etc/passwd', 'link.txt')"
    )
    assert [(file.name, file.mimetype) for file in result.artifacts] == [
        ("a.csv", "text/csv"),
        ("d/b.txt", "text/plain"),
    ]
    refused = [file.name for file in result.rejected] == ["link.txt"]
    assert refused or result.error.name == "PermissionError"  # where Landlock is on, the link cannot even be made
    assert run("open('d/b.txt', 'a').write('b')").artifacts[0].name == "d/b.txt"


def test_a_given_file_is_read_under_its_own_name_and_reading_it_is_seen(
    host: SessionClient, thread: str, run, tmp_path: Path
) -> None:
    source = tmp_path / "x"
    source.write_text("a\n1\n2\n")
    assert host.put(thread, "my sales.csv", source) == "my sales.csv"
    assert run("import pandas as pd").files_read == ()
    result = run("pd.read_csv('my sales.csv').a.sum()")
    assert (shown(result), result.files_read, result.artifacts) == ("np.int64(3)", ("my sales.csv",), ())
    assert run("1").files_read == ()


def test_a_file_given_twice_is_one_and_another_of_the_same_name_gets_its_own(
    host: SessionClient, thread: str, tmp_path: Path
) -> None:
    one, two = tmp_path / "1", tmp_path / "2"
    one.write_text("1")
    two.write_text("2")
    assert host.put(thread, "a.csv", one) == "a.csv"
    assert host.put(thread, "a.csv", one) == "a.csv"
    assert host.put(thread, "a.csv", two) == "a-2.csv"
    assert host.put(thread, "../../etc/.passwd\n", two) == "passwd_"
    assert shown(host.run(thread, "x", "sorted(__import__('os').listdir())")) == "['a-2.csv', 'a.csv', 'passwd_']"


@pytest.mark.parametrize("left_in_it", ["", "; open('data/a.csv', 'w').write('1')"])
def test_a_file_that_has_the_name_of_a_folder_gets_a_free_one(
    host: SessionClient, thread: str, run, tmp_path: Path, left_in_it: str
) -> None:
    run("import os; os.mkdir('data')" + left_in_it)
    (tmp_path / "given").write_text("given")
    assert host.put(thread, "data", tmp_path / "given") == "data-2"
    result = run("open('data-2').read(), os.path.isdir('data')")
    assert (shown(result), result.notices) == ("('given', True)", ())


def test_a_file_that_has_the_name_of_a_folder_gets_a_free_one_while_no_subprocess_lives(tmp_path: Path) -> None:
    (tmp_path / "given").write_text("given")
    with bare_host(home=tmp_path / "home") as client:
        client.run("t", "c1", "import os; os.makedirs('data/raw'); open('data/raw/a.csv', 'w').write('1')")
    with bare_host(home=tmp_path / "home") as client:
        assert client.put("t", "data", tmp_path / "given") == "data-2"
        assert client.run("t", "c2", "open('data-2').read()").notices == ()


# Idempotence, attaching, requests


def test_a_cell_id_runs_once_and_is_answered_for_ever(host: SessionClient, thread: str) -> None:
    first = host.run(thread, "same", "n = globals().get('n', 0) + 1\nprint(n)")
    assert host.run(thread, "same", "n = globals().get('n', 0) + 1\nprint(n)") == first
    assert shown(host.run(thread, "other", "n")) == "1"


def test_a_second_client_attaches_to_a_running_cell_and_a_client_that_leaves_does_not_stop_it(
    host: SessionClient, thread: str
) -> None:
    started = threading.Event()

    def leave(stream: str, text: str) -> None:
        started.set()
        raise ConnectionAbortedError

    def first() -> None:
        with pytest.raises(ConnectionAbortedError):
            host.run(thread, "slow", "print('go')\nimport time\ntime.sleep(1)\n'end'", on_output=leave)

    worker = threading.Thread(target=first)
    worker.start()
    assert started.wait(PATIENCE_S)
    worker.join()
    result = host.run(thread, "slow", "this code is not looked at")
    assert (shown(result), result.stdout) == ("'end'", "go\n")


def test_threads_do_not_wait_for_each_other(host: SessionClient, thread: str) -> None:
    asked, go = threading.Event(), threading.Event()

    def answer(kind: str, payload: dict) -> object:
        asked.set()
        return go.wait(PATIENCE_S)

    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(host.run, thread, "slow", "query('go?')", on_request=answer)
        assert asked.wait(PATIENCE_S)
        assert shown(host.run(thread + "b", "quick", "1 + 1")) == "2"
        assert not slow.done()
        go.set()
        assert shown(slow.result(PATIENCE_S)) == "True"


def test_a_cell_asks_and_the_attached_job_answers(host: SessionClient, thread: str) -> None:
    asked = []

    def answer(kind: str, payload: dict) -> object:
        asked.append((kind, payload))
        if payload["sql"] == "select 2":
            raise PermissionError("the source is closed")
        return {"rows": [[1]]}

    result = host.run(thread, "a", "query('select 1', source='s')", on_request=answer)
    assert shown(result) == "{'rows': [[1]]}"
    assert asked == [("query", {"ask": "rows", "sql": "select 1", "source": "s", "params": {}})]
    refused = host.run(thread, "b", "query('select 2')", on_request=answer)
    assert (refused.error.name, refused.error.message) == ("RequestRefused", "the source is closed")
    assert refused.error.traceback.endswith("\nRequestRefused: the source is closed\n")


def test_threads_of_a_cell_ask_one_after_the_other(host: SessionClient, thread: str) -> None:
    code = "from concurrent.futures import ThreadPoolExecutor\n"
    code += "with ThreadPoolExecutor(8) as pool: print(list(pool.map(lambda n: query(str(n)), range(40))))"
    result = host.run(thread, "a", code, on_request=lambda _, asked: int(asked["sql"]))
    assert result.stdout == f"{list(range(40))}\n"


def test_a_thread_that_outlives_its_cell_does_not_take_the_next_cell_for_its_reply(
    host: SessionClient, thread: str
) -> None:
    code = "import contextlib, threading\nover = threading.Event()\ndef ask():\n    while not over.is_set():\n"
    code += "        with contextlib.suppress(RuntimeError): query('x')\n"
    code += "kept = threading.Thread(target=ask); kept.start()"
    assert host.run(thread, "a", code, on_request=lambda *_: 1).status == "ok"
    after = host.run(thread, "b", "over.set(); kept.join(); print(query('y'))", on_request=lambda *_: 2)
    assert after.stdout == "2\n"


def test_a_cell_may_ask_again_after_an_interrupted_request(host: SessionClient, thread: str) -> None:
    code = "import os, signal, threading\n"
    code += "threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
    code += "try: print(query('slow'))\nexcept KeyboardInterrupt: print(query('next'))"

    def answer(_: str, asked: dict[str, object]) -> object:
        if asked["sql"] == "slow":
            threading.Event().wait(1)
        return asked["sql"]

    result = host.run(thread, "a", code, on_request=answer)
    assert result.stdout == "next\n"


def test_an_open_file_that_goes_with_an_answer_becomes_a_frame_that_can_be_written(
    host: SessionClient, thread: str
) -> None:
    batch = pa.record_batch({"n": [1, 2], "big": pa.array([None, 2**60 + 1], pa.int64()), "name": ["a", None]})
    code = "frame = query('select')\nframe.loc[0, 'n'] = 7\nprint(frame.n.sum(), frame.big[1], list(frame.columns))"
    result = host.run(thread, "a", code, on_request=lambda *_: WithFile({}, sealed(batch)))
    assert (result.error, result.stdout) == (None, f"9 {2**60 + 1} ['n', 'big', 'name']\n")
    twice = "import os\nbefore = os.dup(0)\nprint(sum(len(query('x')) for turn in range(50)), os.dup(0) - before)"
    assert host.run(thread, "b", twice, on_request=lambda *_: WithFile({}, sealed(batch))).stdout == "100 1\n"


def test_exact_decimals_stay_exact_whether_they_repeat_or_not(host: SessionClient, thread: str) -> None:
    rows = 40_000
    kind = pa.decimal128(12, 2)
    batch = pa.record_batch(
        {
            "often": pa.array([None if at % 100 == 0 else decimal.Decimal(at % 700) / 100 for at in range(rows)], kind),
            "once": pa.array([decimal.Decimal(at) / 100 for at in range(rows)], kind),
            "never": pa.array([None] * rows, kind),
        }
    )
    code = (
        "f = query('x')\nprint(f.dtypes.unique(), repr(f.often[0]), repr(f.often[1234]), repr(f.once[1234]))\n"
        "print(f.often.dropna().sum(), f.once.sum(), f.never.isna().all())"
    )
    result = host.run(thread, "a", code, on_request=lambda *_: WithFile({}, sealed(batch)))
    often = sum(at % 700 for at in range(rows) if at % 100) / 100
    assert result.stdout.splitlines() == [
        "[dtype('O')] None Decimal('5.34') Decimal('12.34')",
        f"{often:.2f} {sum(range(rows)) / 100:.2f} True",
    ]


@pytest.mark.parametrize("count", [1, 3])
def test_every_column_beside_exact_decimals_can_be_written(host: SessionClient, thread: str, count: int) -> None:
    rows = 24_000
    batch = pa.record_batch(
        {
            "amount": pa.array([decimal.Decimal(at % 700) / 100 for at in range(rows)], pa.decimal128(12, 2)),
            "number": pa.array(range(rows), pa.int64()),
            "price": pa.array([float(at) for at in range(rows)]),
            "paid": pa.array([at % 2 == 0 for at in range(rows)]),
            "day": pa.array(range(rows), pa.int32()).cast(pa.date32()),
            "name": pa.array([str(at) for at in range(rows)]),
        }
    )
    code = (
        "import decimal, pandas as pd\nf = query('x')\n"
        "row = [decimal.Decimal('9.99'), -1, -2.5, False, pd.Timestamp('2024-02-29'), 'new']\n"
        "for at, value in enumerate(row):\n    f.iat[0, at] = value\n    f.iloc[5, at] = value\n"
        "print(list(f.columns), len(f), all(list(f.iloc[at]) == row for at in (0, 5)), f.iloc[-1].tolist())\n"
        "f.number += 1\nprint(f.number.iloc[-1])"
    )
    result = host.run(thread, "a", code, on_request=lambda *_: WithFile({}, sealed(*[batch] * count)))
    assert result.error is None
    head, last = result.stdout.splitlines()
    assert head.startswith(
        f"['amount', 'number', 'price', 'paid', 'day', 'name'] {rows * count} True [Decimal('1.99'), "
    )
    assert last == str(rows)


def test_sums_of_whole_numbers_are_whole_numbers_unless_they_are_too_large(host: SessionClient, thread: str) -> None:
    whole = pa.decimal128(38, 0)
    batch = pa.record_batch(
        {
            "fits": pa.array([3, 2**60 + 1], whole),
            "null": pa.array([None, 3], whole),
            "large": pa.array([1, 2**70], whole),
        }
    )
    code = "frame = query('x')\nprint(*frame.dtypes, frame.fits[1], frame.large[1])"
    result = host.run(thread, "a", code, on_request=lambda *_: WithFile({}, sealed(batch)))
    assert result.stdout == f"int64 Int64 object {2**60 + 1} {2**70}\n"


def test_whole_numbers_inside_lists_and_structs_stay_whole_beside_missing_ones(
    host: SessionClient, thread: str
) -> None:
    large = 2**53 + 1
    batch = pa.record_batch(
        {
            "ids": pa.array([[large, None], None], pa.list_(pa.int64())),
            "row": pa.array([{"id": large}, None], pa.struct({"id": pa.int64()})),
            "rows": pa.array([[{"id": large}], [{"id": None}]], pa.list_(pa.struct({"id": pa.int64()}))),
            "full": pa.array([[large], [1]], pa.list_(pa.int64())),
        }
    )
    code = "f = query('x')\nprint(f.ids[0], f.ids[1], f.row[0], f.rows[0], f.full[0].sum())"
    result = host.run(thread, "a", code, on_request=lambda *_: WithFile({}, sealed(batch)))
    assert result.stdout == f"[{large}, None] None {{'id': {large}}} [{{'id': {large}}}] {large}\n"


def test_a_moment_of_numpy_is_asked_as_a_date_whatever_its_unit(host: SessionClient, thread: str) -> None:
    asked: list[dict[str, dict[str, object]]] = []
    code = """
import numpy as np, pandas as pd
days = pd.Series(pd.to_datetime(["2024-03-01", None])).astype("datetime64[ns]")
query("x", params={"one": np.datetime64("2024-03-01", "ns"), "many": days.values, "span": np.timedelta64(90, "m")})
query("x", params={"many": days.dt.tz_localize("UTC"), "numbers": np.array([1, 2]), "none": np.datetime64("NaT")})
"""
    host.run(thread, "a", code, on_request=lambda _, payload: asked.append(payload))
    day = "2024-03-01 00:00:00"
    assert [each["params"] for each in asked] == [
        {"one": day, "many": [day, None], "span": "1:30:00"},
        {"many": [f"{day}+00:00", None], "numbers": [1, 2], "none": None},
    ]


def test_a_missing_value_is_asked_as_none_and_bytes_are_refused(host: SessionClient, thread: str) -> None:
    asked: list[dict[str, dict[str, object]]] = []
    code = "import pandas as pd\nquery('x', params={'a': pd.NaT, 'b': [pd.NA], 'c': range(2)})\n"
    code += "query('x', params={'a': b'ab'})"
    refused = host.run(thread, "a", code, on_request=lambda _, payload: asked.append(payload))
    assert [each["params"] for each in asked] == [{"a": None, "b": [None], "c": [0, 1]}]
    assert "cannot be bytes" in refused.error.message


def test_a_file_that_could_still_be_changed_is_not_handed_to_a_cell(
    host: SessionClient, thread: str, tmp_path: Path
) -> None:
    (tmp_path / "open").write_bytes(b"x")
    descriptors = [os.open(tmp_path, os.O_RDONLY), os.open(tmp_path / "open", os.O_RDWR), os.memfd_create("loose", 2)]
    for number, descriptor in enumerate(descriptors):
        answer = WithFile({}, descriptor)
        result = host.run(thread, f"c{number}", "query('x')", on_request=lambda *_, answer=answer: answer)
        assert result.error is not None
        assert (result.error.name, "sealed" in result.error.message) == ("RequestRefused", True)


def test_a_cell_that_takes_no_file_it_asked_for_loses_its_session(host: SessionClient, thread: str) -> None:
    batch = pa.record_batch({"n": [1]})
    code = """
import gc, json, os, struct
runner = next(each for each in gc.get_objects() if type(each).__name__ == "Runner")
for number in (1001, 1002):
    frame = json.dumps({"type": "request", "id": number, "kind": "query", "payload": {}}).encode()
    os.write(runner._fds.results, struct.pack(">I", len(frame)) + frame)
    os.read(runner._fds.frames, 1 << 16)
print("both came")
"""
    result = host.run(thread, "a", code, on_request=lambda *_: WithFile({}, sealed(batch)))
    assert (result.status, result.stdout) == ("died", "")
    assert "took no file" in str(result.notices)


@pytest.mark.parametrize("value", [float("inf"), float("nan"), object()], ids=["infinite", "no number", "no JSON"])
def test_an_answer_that_no_frame_can_carry_refuses_the_request_and_holds_no_cell_up(
    host: SessionClient, thread: str, value: object
) -> None:
    refused = host.run(thread, "a", "query('select 1')", on_request=lambda *_: {"rows": [[value]]})
    assert refused.error.name == "RequestRefused"
    assert "JSON" in refused.error.message
    assert shown(host.run(thread, "b", "1 + 1")) == "2"


def test_a_request_that_no_frame_can_carry_is_the_cells_own_error(host: SessionClient, thread: str) -> None:
    asked = []
    code = "query('select 1', params={'x': float('inf')})"
    refused = host.run(thread, "a", code, on_request=lambda *request: asked.append(request))
    assert (refused.error.name, asked) == ("ValueError", [])
    assert shown(host.run(thread, "b", "1 + 1")) == "2"


def test_a_cell_has_query_only_where_its_requests_are_answered(host: SessionClient, thread: str) -> None:
    assert host.run(thread, "a", "query('select 1')").error.name == "NameError"
    assert shown(host.run(thread, "b", "query('select 1')", on_request=lambda *_: 7)) == "7"
    assert host.run(thread, "c", "query('select 1')").error.name == "NameError"
    assert host.run(thread, "d", "ask('?')", on_request=lambda *_: 7).error.name == "NameError"
    assert host.run(thread, "e", "note('!')", on_request=lambda *_: 7).error.name == "NameError"


def test_a_query_of_a_cells_own_stays(run) -> None:
    run("import builtins\nbuiltins.query = len")
    assert shown(run("query('abc')")) == "3"


def test_a_request_with_no_job_to_answer_is_a_clear_error(host: SessionClient, thread: str) -> None:
    host.run(thread, "a", "kept = query", on_request=lambda *_: None)
    result = host.run(thread, "b", "kept('select 1')")
    assert result.error.name == "RequestRefused"
    assert "nobody is attached" in result.error.message


def test_a_cell_that_is_stopped_while_it_waits_for_rows_leaves_none_for_the_next_one(
    host: SessionClient, thread: str
) -> None:
    asked, go = threading.Event(), threading.Event()

    def late(kind: str, payload: dict) -> object:
        asked.set()
        assert go.wait(PATIENCE_S)
        return WithFile({}, sealed(pa.record_batch({"n": [1]})))

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(host.run, thread, "a", "kept = 7\nquery('slow')", on_request=late)
        assert asked.wait(PATIENCE_S)
        assert host.interrupt(thread) is True
        eventually(lambda: host.where(thread) is None, "the end of the cell")
        go.set()
        assert waiting.result(PATIENCE_S).status == "killed"
    code = "print(kept, query('quick').n[0])"
    result = host.run(thread, "b", code, on_request=lambda *_: WithFile({}, sealed(pa.record_batch({"n": [2]}))))
    assert result.stdout == "7 2\n"


def test_a_cell_that_cleans_up_after_an_interrupt_is_not_interrupted_again(host: SessionClient, thread: str) -> None:
    code = """
import time
try:
    print("begun", flush=True)
    time.sleep(600)
finally:
    begun = time.monotonic()
    while time.monotonic() - begun < 1.5:
        pass
    cleaned = "up"
"""
    printed = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(host.run, thread, "a", code, on_output=lambda *_: printed.set())
        assert printed.wait(PATIENCE_S)
        assert host.interrupt(thread) is True
        assert waiting.result(PATIENCE_S).status == "killed"
    assert host.run(thread, "b", "print(cleaned)").stdout == "up\n"


def test_a_request_whose_job_was_killed_goes_to_the_next_one_that_attaches(host: SessionClient, thread: str) -> None:
    class Killed(BaseException):
        """What kill -9 looks like from inside."""

    def killed(kind: str, payload: dict) -> object:
        raise Killed

    with pytest.raises(Killed):
        host.run(thread, "a", "query('select 1') + 1", on_request=killed)
    assert shown(host.run(thread, "a", "query('select 1') + 1", on_request=lambda *_: 41)) == "42"


def test_reset_forgets_variables_and_made_files_and_keeps_given_ones(
    host: SessionClient, thread: str, run, tmp_path: Path
) -> None:
    (tmp_path / "given.csv").write_text("a")
    host.put(thread, "given.csv", tmp_path / "given.csv")
    run("x = 1\nopen('made.csv', 'w').write('b')")
    host.reset(thread)
    result = run("import os\nprint('x' in globals(), os.listdir())")
    assert (result.stdout, result.notices) == ("False ['given.csv']\n", ())


# The host


def test_siblings_do_not_draw_the_same_random_numbers(host: SessionClient, thread: str) -> None:
    code = "import numpy as np, random\n(np.random.rand(), random.random())"
    assert shown(host.run(thread + "a", "1", code)) != shown(host.run(thread + "b", "1", code))


def test_a_subprocess_has_a_clean_environment_and_few_descriptors(run, monkeypatch: pytest.MonkeyPatch) -> None:
    names = run("import os\nprint(*sorted(os.environ))").stdout.split()
    assert not [
        name for name in names if any(word in name.upper() for word in ("TOKEN", "KEY", "SECRET", "URL", "PYTEST"))
    ]
    assert int(shown(run("len(os.listdir('/proc/self/fd'))"))) <= 3 + 7 + 2


def test_the_zygote_and_a_fresh_subprocess_have_one_thread(run) -> None:
    assert shown(run("import pandas, pyarrow, sqlalchemy, os\nlen(os.listdir('/proc/self/task'))")) == "1"


def test_a_host_that_restarts_still_knows_its_results_and_files(tmp_path: Path) -> None:
    (tmp_path / "given.csv").write_text("a")
    with bare_host(tmp_path / "home") as client:
        client.put("t", "given.csv", tmp_path / "given.csv")
        first = client.run("t", "one", "print('once')\nopen('made.csv', 'w').write('b')")
    with bare_host(tmp_path / "home") as client:
        assert client.run("t", "one", "print('once')") == first
        result = client.run("t", "two", "import os\nsorted(os.listdir())")
        assert shown(result) == "['given.csv', 'made.csv']"
        assert result.notices == ()


def test_a_cell_that_ran_when_its_host_died_is_reported_and_not_run_again(tmp_path: Path) -> None:
    process = start_host(tmp_path / "s", tmp_path / "home")
    client = SessionClient(tmp_path / "s")
    started = threading.Event()

    def first() -> None:
        with pytest.raises(HostUnavailable):
            client.run("t", "one", "print('go')\nimport time\ntime.sleep(60)", on_output=lambda *_: started.set())

    worker = threading.Thread(target=first)
    worker.start()
    try:
        assert started.wait(PATIENCE_S)
    finally:
        process.kill()
        worker.join()
        stop_host(process)
    with bare_host(tmp_path / "home") as later:
        result = later.run("t", "one", "print('again')")
        assert (result.status, result.stdout) == ("died", "")
        assert "the session host stopped while this cell ran" in worded(result, "en")


def test_a_host_that_is_told_to_stop_writes_down_how_every_running_cell_ended(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    process = start_host(tmp_path / "s", tmp_path / "home")
    client = SessionClient(tmp_path / "s")
    began = {thread: threading.Event() for thread in ("t1", "t2")}

    def run(thread: str) -> None:
        with suppress(HostUnavailable):
            client.run(
                thread, "one", "print('go')\nimport time\ntime.sleep(60)", on_output=lambda *_: began[thread].set()
            )

    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(run, thread) for thread in began]
        try:
            assert all(event.wait(PATIENCE_S) for event in began.values())
        finally:
            stop_host(process)
        for each in running:
            each.result(PATIENCE_S)
    stored = [Home(tmp_path / "home").thread(thread).result("one") for thread in began]
    assert [result and result["status"] for result in stored] == ["died", "died"]
    assert (process.returncode, "Traceback" in capfd.readouterr().err) == (0, False)


def test_a_second_host_on_the_same_socket_refuses_to_start(
    host: SessionClient, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    process = start_host(tmp_path / "s", tmp_path / "home")
    try:
        with pytest.raises(RuntimeError):
            stop_host(start_host(tmp_path / "s", tmp_path / "home2"))
        assert SessionClient(tmp_path / "s").ping().pid == process.pid
        assert "another session host answers" in capfd.readouterr().err
    finally:
        stop_host(process)


def test_a_call_to_no_host_is_unavailable_and_a_bad_call_is_refused(host: SessionClient, tmp_path: Path) -> None:
    with pytest.raises(HostUnavailable):
        SessionClient(tmp_path / "nothing").ping()
    with pytest.raises(RequestError, match="thread is empty"):
        host.run("", "x", "1")
