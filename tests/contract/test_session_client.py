"""What a turn relies on at a session host, held against the real one and against the one that runs inside a test."""

from __future__ import annotations

import hashlib
import inspect
import itertools
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hosts import bare_host
from patience import PATIENCE_S, eventually

from executor.client import HostUnavailable, RequestError, SessionClient
from executor.fake import FakeSessions
from executor.files.exported import ExportedSession
from executor.values import CellResult, Limits, Notice
from workers.profiling.file_profiles import describe_code, read_abstracts

_threads = itertools.count(1)
LIMITS = Limits(cell_grace_s=PATIENCE_S)
KEY = b"shared by the hosts of one team!"


@pytest.fixture(scope="module")
def real_hosts() -> Iterator[tuple[SessionClient, SessionClient]]:
    with bare_host(limits=LIMITS, key=KEY) as one, bare_host(limits=LIMITS, key=KEY) as other:
        yield one, other


@pytest.fixture(scope="module")
def fake_hosts(tmp_path_factory: pytest.TempPathFactory) -> tuple[SessionClient, SessionClient]:
    return FakeSessions(tmp_path_factory.mktemp("one")), FakeSessions(tmp_path_factory.mktemp("other"))


@pytest.fixture(scope="module")
def real_shell() -> Iterator[SessionClient]:
    with bare_host(limits=LIMITS, bash=True) as host:
        yield host


@pytest.fixture(scope="module")
def fake_shell(tmp_path_factory: pytest.TempPathFactory) -> SessionClient:
    return FakeSessions(tmp_path_factory.mktemp("shell"), bash=True)


@pytest.fixture(params=["real", "fake"])
def hosts(request: pytest.FixtureRequest) -> tuple[SessionClient, SessionClient]:
    found: tuple[SessionClient, SessionClient] = request.getfixturevalue(f"{request.param}_hosts")
    return found


class Thread:
    """A thread of its own at a host."""

    def __init__(self, host: SessionClient) -> None:
        self.host = host
        self.id = f"T1:C1:{next(_threads)}.0"
        self._cells = itertools.count(1)

    def run(self, code: str, **options: Any) -> CellResult:
        return self.host.run(self.id, f"c{next(self._cells)}", code, **options)

    def settle(self) -> None:
        """Wait until the variables of the last cell are kept."""
        self.host.export_session(self.id)

    def put(self, folder: Path, name: str, content: str) -> str:
        source = folder / "source"
        source.write_text(content)
        return self.host.put(self.id, name, source)

    def run_until_printed(self, code: str, cell: str = "long") -> CellResult:
        """Run a cell and interrupt it once it has printed something."""
        printed = threading.Event()
        with ThreadPoolExecutor(1) as pool:
            result = pool.submit(self.host.run, self.id, cell, code, on_output=lambda *_: printed.set())
            assert printed.wait(PATIENCE_S)
            assert self.host.interrupt(self.id) is True
            return result.result(PATIENCE_S)


@pytest.fixture
def thread(hosts: tuple[SessionClient, SessionClient]) -> Thread:
    return Thread(hosts[0])


def shown(result: CellResult) -> str | None:
    return result.result.text if result.result is not None else None


def test_the_fake_has_every_call_of_the_client_with_the_same_arguments() -> None:
    calls = {name: call for name, call in vars(SessionClient).items() if callable(call) and not name.startswith("_")}
    missing = [
        name
        for name, call in calls.items()
        if name not in vars(FakeSessions) or inspect.signature(call) != inspect.signature(vars(FakeSessions)[name])
    ]
    assert missing == []


# --- cells


def test_variables_live_from_cell_to_cell_and_the_last_expression_is_shown(thread: Thread) -> None:
    assert shown(thread.run("x = 20")) is None
    assert shown(thread.run("x + 1")) == "21"
    assert shown(thread.run("x + 1;")) is None


def test_what_is_printed_is_kept_and_told_in_whole_lines(thread: Thread) -> None:
    told: list[tuple[str, str]] = []
    code = "import sys\nprint('one')\nprint('two', file=sys.stderr)\nprint('three', end='')"
    result = thread.run(code, on_output=lambda *said: told.append(said))
    assert (result.status, result.stdout, result.stderr) == ("ok", "one\nthree", "two\n")
    assert "".join(text for stream, text in told if stream == "stdout") == "one\n"


def test_an_error_is_a_result_with_its_name_its_line_and_what_was_printed_before(thread: Thread) -> None:
    result = thread.run("print('before')\n\n1 / 0")
    assert (result.status, result.stdout) == ("error", "before\n")
    assert result.error is not None
    assert (result.error.name, result.error.line) == ("ZeroDivisionError", 3)
    assert result.error.traceback.splitlines()[1:3] == ['  File "<cell 1>", line 3, in <module>', "    1 / 0"]


def test_a_syntax_error_is_an_error_with_its_line(thread: Thread) -> None:
    error = thread.run("x = 1\ny = = 2").error
    assert error is not None
    assert (error.name, error.line) == ("SyntaxError", 2)


def test_leaving_python_is_an_error_of_the_cell(thread: Thread) -> None:
    thread.run("x = 1")
    assert thread.run("raise SystemExit(3)").status == "error"
    assert shown(thread.run("x")) == "1"


def test_a_cell_id_runs_once_and_is_answered_for_ever(thread: Thread) -> None:
    code = "n = globals().get('n', 0) + 1\nprint(n)"
    first = thread.host.run(thread.id, "same", code)
    assert thread.host.run(thread.id, "same", code) == first
    assert shown(thread.host.run(thread.id, "other", "n")) == "1"


def test_who_asks_for_a_running_cell_waits_for_it(thread: Thread) -> None:
    printed = threading.Event()
    code = "print('go')\nimport time\nfor n in range(10): time.sleep(0.01)\n'end'"
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(thread.host.run, thread.id, "slow", code, on_output=lambda *_: printed.set())
        assert printed.wait(PATIENCE_S)
        second = thread.host.run(thread.id, "slow", "this code is not looked at")
        assert first.result(PATIENCE_S) == second
    assert shown(second) == "'end'"


def test_an_interrupt_stops_a_cell_and_keeps_its_variables(thread: Thread) -> None:
    result = thread.run_until_printed("x = 5\nprint('go')\nwhile True:\n    x += 0")
    assert result.status == "killed"
    assert [notice.code for notice in result.notices] == ["on_request_in_line", "all_kept"]
    assert shown(thread.run("x")) == "5"


def test_nothing_is_interrupted_where_nothing_runs(thread: Thread) -> None:
    assert thread.host.interrupt(thread.id) is False
    thread.run("1")
    assert thread.host.interrupt(thread.id) is False


def test_a_cell_over_its_time_is_stopped_and_its_variables_are_kept(thread: Thread) -> None:
    thread.run("x = 6")
    result = thread.run("while True:\n    x += 0", timeout_s=0.3)
    assert result.status == "timeout"
    assert [notice.code for notice in result.notices] == ["after_time_in_line", "all_kept"]
    assert shown(thread.run("x")) == "6"


def test_a_frame_is_shown_as_text_and_table(thread: Thread) -> None:
    display = thread.run("import pandas as pd\npd.DataFrame({'a': [1, 2]})").result
    assert display is not None
    assert display.table is not None
    assert (display.table.columns, display.table.rows) == (("a",), ((1,), (2,)))


# --- files


def test_a_given_file_is_read_under_its_name_and_reading_it_is_seen(thread: Thread, tmp_path: Path) -> None:
    assert thread.put(tmp_path, "my sales.csv", "a\n1\n2\n") == "my sales.csv"
    assert thread.run("import pandas as pd").files_read == ()
    result = thread.run("int(pd.read_csv('my sales.csv').a.sum())")
    assert (shown(result), result.files_read, result.artifacts) == ("3", ("my sales.csv",), ())


def test_a_file_given_twice_is_one_and_another_of_the_same_name_gets_its_own(thread: Thread, tmp_path: Path) -> None:
    assert [thread.put(tmp_path, "a.csv", text) for text in ("1", "1", "2")] == ["a.csv", "a.csv", "a-2.csv"]
    assert thread.put(tmp_path, "../../etc/.passwd\n", "3") == "passwd_"
    assert shown(thread.run("sorted(__import__('os').listdir())")) == "['a-2.csv', 'a.csv', 'passwd_']"


def test_files_that_a_cell_writes_come_out_with_their_content(thread: Thread) -> None:
    result = thread.run("import os\nopen('a.csv', 'w').write('x,y\\n')\nos.mkdir('d')\nopen('d/b.txt', 'w').write('b')")
    made = [(file.name, file.mimetype, file.size, file.kind) for file in result.artifacts]
    assert made == [("a.csv", "text/csv", 4, "file"), ("d/b.txt", "text/plain", 1, "file")]
    assert Path(result.artifacts[0].path).read_text() == "x,y\n"
    assert [file.name for file in thread.run("open('d/b.txt', 'a').write('b')").artifacts] == ["d/b.txt"]
    assert thread.run("1").artifacts == ()


def test_an_open_figure_becomes_a_picture_named_by_its_title(thread: Thread) -> None:
    (figure,) = thread.run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.title('Sales')").artifacts
    assert (figure.name, figure.kind, figure.mimetype) == ("sales.png", "figure", "image/png")
    assert Path(figure.path).read_bytes().startswith(b"\x89PNG")
    assert figure.chart[0].title == "Sales"


def test_figures_come_in_the_order_in_which_they_were_drawn(thread: Thread) -> None:
    titles = list("dbfacegh")
    drawn = f"for title in {titles}:\n    plt.figure()\n    plt.plot([1, 2])\n    plt.title(title)"
    made = thread.run(f"import matplotlib.pyplot as plt\nopen('a.csv', 'w').write('x')\n{drawn}").artifacts
    assert [file.name for file in made] == [*(f"{title}.png" for title in titles), "a.csv"]


def test_files_are_described_in_a_cell(thread: Thread, tmp_path: Path) -> None:
    paths = [thread.put(tmp_path, "sales.csv", "region,amount\nNorth,10\n"), thread.put(tmp_path, "x.csv", "")]
    (abstract,), (problem,) = read_abstracts(thread.run(describe_code(paths)), "en", paths)
    assert [column.name for column in abstract.tables[0].columns] == ["region", "amount"]
    assert problem.name == "x.csv"


def test_a_content_that_the_host_has_need_not_be_sent_again(thread: Thread, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_text("a\n1\n")
    sha256, unknown = hashlib.sha256(b"a\n1\n").hexdigest(), "0" * 64
    assert thread.host.held([]) == set()
    assert thread.host.keep(source) == sha256
    assert thread.host.held([unknown, sha256]) == {sha256}
    assert [thread.host.put_held(thread.id, name, sha256) for name in ("a.csv", "a.csv", "b.csv")] == [
        *("a.csv", "a.csv", "b.csv")
    ]
    assert thread.put(tmp_path, "a.csv", "2") == "a-2.csv"
    assert thread.run("open('a.csv').read() + open('b.csv').read()").files_read == ("a.csv", "b.csv")
    with pytest.raises(RequestError):
        thread.host.put_held(thread.id, "c.csv", unknown)


def test_a_file_that_a_cell_changed_or_removed_is_not_restored(thread: Thread, tmp_path: Path) -> None:
    for name in ("kept.csv", "changed.csv", "removed.csv", "touched.csv"):
        thread.put(tmp_path, name, name)
    thread.run("import os\nos.remove('removed.csv'); os.utime('touched.csv'); open('changed.csv', 'w').write('clean')")

    def restored() -> list[str]:
        names = []
        for name in ("kept.csv", "changed.csv", "removed.csv", "touched.csv", "new.csv"):
            (tmp_path / "again").write_text(name)
            names.append(thread.host.put(thread.id, name, tmp_path / "again", restore=True))
        return names

    assert restored() == ["kept.csv", "", "", "touched.csv", "new.csv"]
    assert thread.put(tmp_path, "removed.csv", "removed.csv") == "removed.csv"
    held = hashlib.sha256(b"changed.csv").hexdigest()
    assert thread.host.put_held(thread.id, "changed.csv", held, restore=True) == ""
    assert thread.host.put_held(thread.id, "changed.csv", held) == "changed-2.csv"
    listed = thread.run("import os\n(sorted(os.listdir()), open('changed.csv').read())").result.text
    names = ["changed-2.csv", "changed.csv", "kept.csv", "new.csv", "removed.csv", "touched.csv"]
    assert listed == str((names, "clean"))


# --- undo and reset


def test_an_undo_brings_variables_and_files_back_once_and_asking_again_changes_nothing(thread: Thread) -> None:
    thread.run("n = 7; items = [1]; open('a.txt', 'w').write('one')")
    thread.run("n = 8; items.append(2); more = 'x'; open('a.txt', 'w').write('two'); open('b.txt', 'w').close()")
    assert [thread.host.undo(thread.id, "c2") for _ in range(3)] == [True] * 3
    after = thread.run("(n, items, 'more' in globals(), open('a.txt').read(), __import__('os').listdir())")
    assert shown(after) == "(7, [1], False, 'one', ['a.txt'])"
    assert {variable.name for variable in thread.host.vars(thread.id)} == {"n", "items"}


def test_only_the_last_cell_can_be_undone(thread: Thread) -> None:
    for number in (6, 7, 8):
        thread.run(f"n = {number}")
    thread.settle()
    assert [thread.host.undo(thread.id, cell) for cell in ("c2", "c3", "c2")] == [False, True, False]
    assert shown(thread.run("n")) == "7"


def test_a_cell_that_left_nothing_stands_in_nobodys_way(thread: Thread) -> None:
    thread.run("n = 7")
    thread.run("n = 8")
    thread.run("print('changes nothing')")
    assert thread.host.undo(thread.id, "c3") is True
    assert thread.host.undo(thread.id, "c2") is True
    assert shown(thread.run("n")) == "7"


def test_a_cell_that_failed_half_way_is_undone_like_any_other(thread: Thread) -> None:
    thread.run("n = 7")
    thread.run("n = 8\n1 / 0")
    assert thread.host.undo(thread.id, "c2") is True
    assert shown(thread.run("n")) == "7"


def test_nothing_is_undone_while_a_cell_runs(thread: Thread) -> None:
    printed = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        code = "print('go')\nwhile True:\n    pass"
        running = pool.submit(thread.host.run, thread.id, "long", code, on_output=lambda *_: printed.set())
        assert printed.wait(PATIENCE_S)
        with pytest.raises(RequestError):
            thread.host.undo(thread.id, "long")
        assert thread.host.where(thread.id) is not None
        assert [info.cell_id for info in thread.host.sessions() if info.thread_id == thread.id] == ["long"]
        thread.host.interrupt(thread.id)
        running.result(PATIENCE_S)
    assert thread.host.where(thread.id) is None


def test_a_reset_forgets_variables_and_made_files_and_keeps_given_ones(thread: Thread, tmp_path: Path) -> None:
    thread.put(tmp_path, "given.csv", "a")
    thread.run("x = 1\nopen('made.csv', 'w').write('b')")
    thread.host.reset(thread.id)
    assert thread.id not in {info.thread_id for info in thread.host.sessions()}
    assert thread.host.undo(thread.id, "c1") is True  # nothing of it is left
    result = thread.run("import os\nprint('x' in globals(), os.listdir())")
    assert (result.stdout, result.notices) == ("False ['given.csv']\n", ())


def test_a_purge_leaves_nothing_of_a_thread_and_all_of_the_others(
    thread: Thread, hosts: tuple[SessionClient, SessionClient], tmp_path: Path
) -> None:
    shared, other = "the same file in two threads", Thread(thread.host)
    for one in (thread, other):
        one.put(tmp_path, "shared.txt", shared)
        one.run("1")
    thread.put(tmp_path, "given.txt", "Nightingale was given")
    thread.run("word = 'Nightin' + 'gale'; print(word)\nopen('made.txt', 'w').write(word + ' was made')")
    thread.settle()
    thread.host.purge(thread.id)
    thread.host.purge(thread.id)
    assert thread.id not in {info.thread_id for info in thread.host.sessions()}
    assert other.run("print(open('shared.txt').read())").stdout == f"{shared}\n"
    result = thread.run("import os\nprint('word' in globals(), os.listdir())")
    assert (result.stdout, result.notices) == ("False []\n", ())


def test_a_purge_ends_a_running_cell(thread: Thread) -> None:
    printed = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        code = "print('go')\nwhile True:\n    pass"
        running = pool.submit(thread.host.run, thread.id, "long", code, on_output=lambda *_: printed.set())
        assert printed.wait(PATIENCE_S)
        thread.host.purge(thread.id)
        assert running.result(PATIENCE_S).status in ("killed", "died")


# --- what is alive


def test_a_session_lives_from_its_first_cell_on(thread: Thread, tmp_path: Path) -> None:
    thread.put(tmp_path, "a.csv", "a")
    assert thread.id not in {info.thread_id for info in thread.host.sessions()}
    thread.run("1")
    assert thread.id in {info.thread_id for info in thread.host.sessions()}
    assert thread.host.ping().sessions >= 1


def test_what_is_unused_has_no_subprocess_and_ran_nothing_for_long(thread: Thread) -> None:
    thread.run("n = 1")
    assert thread.id not in thread.host.unused(0, 1_000), "it is alive"
    thread.host.reset(thread.id)
    eventually(lambda: thread.id not in {info.thread_id for info in thread.host.sessions()}, "the end of the session")
    assert thread.id in thread.host.unused(0, 1_000)
    assert thread.id not in thread.host.unused(3_600, 1_000)
    assert thread.host.unused(0, 0) == []
    thread.host.purge(thread.id)
    assert thread.id not in thread.host.unused(0, 1_000)


def test_variables_are_listed_with_the_cell_that_set_them(thread: Thread) -> None:
    thread.run("import os\nn = 1")
    thread.run("words = ['a']")
    thread.settle()
    found = {variable.name: (variable.type, variable.cell_id) for variable in thread.host.vars(thread.id)}
    assert found == {"n": ("int", "c1"), "words": ("list", "c2")}


def test_bash_is_refused_by_a_host_without_it(thread: Thread) -> None:
    with pytest.raises(RequestError):
        thread.host.bash(thread.id, "b1", "ls")


@pytest.fixture(params=["real", "fake"])
def shell(request: pytest.FixtureRequest) -> Thread:
    """A thread at a host that gives threads a shell."""
    return Thread(request.getfixturevalue(f"{request.param}_shell"))


def test_an_approved_command_runs_in_the_threads_folder_once(shell: Thread) -> None:
    shell.run("open('from_python.txt', 'w').write('1')")
    asked: list[str] = []

    def approve(command: str) -> bool:
        asked.append(command)
        return True

    command = "cat from_python.txt; echo 2 > from_bash.txt; echo no >&2; (exit 3)"
    results = [shell.host.bash(shell.id, "b1", command, approve=approve) for _ in range(2)]
    assert asked == [command]
    assert results[0] == results[1]
    assert (results[0].status, results[0].exit_status) == ("error", 3)
    assert (results[0].stdout, results[0].stderr) == ("1", "no\n")
    assert [file.name for file in results[0].artifacts] == ["from_bash.txt"]
    assert shown(shell.run("open('from_bash.txt').read()")) == "'2\\n'"


@pytest.mark.parametrize("approve", [None, lambda _: False], ids=["nobody", "no"])
def test_a_command_without_a_yes_is_not_run_and_may_be_asked_for_again(shell: Thread, approve: Any) -> None:
    refused = shell.host.bash(shell.id, "b1", "touch there", approve=approve)
    assert refused.status == "killed"
    assert [note.code for note in refused.notices] == ["not_run"]
    assert refused.notices[0].values["why"] == Notice("no_approver" if approve is None else "not_approved")
    again = shell.host.bash(shell.id, "b1", "ls", approve=lambda _: True)
    assert (again.status, again.stdout) == ("ok", "")


# --- from host to host


def test_variables_and_files_come_along_to_another_host(
    hosts: tuple[SessionClient, SessionClient], thread: Thread, tmp_path: Path
) -> None:
    here, there = hosts
    thread.put(tmp_path, "given.csv", "a")
    thread.run("small = {'a': 1}\nopen('made.txt', 'w').write('by a cell')")
    packed = here.export_session(thread.id)
    assert here.export_session(thread.id).to_json() == packed.to_json()
    for sha256 in packed.contents:
        assert there.keep(packed.paths[sha256]) == sha256
    there.import_session(thread.id, ExportedSession.from_json(packed.to_json()))
    result = there.run(thread.id, "c2", "print(small, open('made.txt').read(), open('given.csv').read())")
    assert (result.status, result.stdout) == ("ok", "{'a': 1} by a cell a\n")
    assert [variable.cell_id for variable in there.vars(thread.id)] == ["c1"]


def test_without_a_content_that_it_names_a_session_does_not_come_and_what_is_there_stays(
    hosts: tuple[SessionClient, SessionClient], thread: Thread, tmp_path: Path
) -> None:
    here, there = hosts
    thread.put(tmp_path, "given.csv", "nobody else has this")
    packed = here.export_session(thread.id)
    there.run(thread.id, "t1", "older = 1")
    with pytest.raises(HostUnavailable):
        there.import_session(thread.id, packed)
    assert shown(there.run(thread.id, "t2", "older")) == "1"
    for sha256 in packed.contents:
        there.keep(packed.paths[sha256])
    there.import_session(thread.id, packed)
    assert there.run(thread.id, "c2", "print(open('given.csv').read())").stdout == "nobody else has this\n"


def test_nothing_at_all_moves_as_well(hosts: tuple[SessionClient, SessionClient], thread: Thread) -> None:
    here, there = hosts
    packed = here.export_session(thread.id)
    assert (packed.state, packed.contents) == (None, [])
    there.import_session(thread.id, packed)
    assert shown(there.run(thread.id, "c1", "1 + 1")) == "2"
