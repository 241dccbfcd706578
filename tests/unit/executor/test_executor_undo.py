"""Undo: the session is as it was before its last cell, variables and files, and asking again changes nothing."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from patience import PATIENCE_S

from executor.client import RequestError, SessionClient
from executor.launch import start_host, stop_host
from executor.values import CellResult, Limits

pytestmark = pytest.mark.process


def shown(result: CellResult) -> str | None:
    return result.result.text if result.result is not None else None


def test_variables_are_as_before_the_last_cell(host: SessionClient, thread: str, run) -> None:
    run("n = 7; items = [1]")
    run("n = 8; items.append(2); more = 'x'")
    assert host.undo(thread, "c2") is True
    after = run("(n, items, 'more' in globals())")
    assert shown(after) == "(7, [1], False)"
    assert after.notices == ()
    assert {variable.name for variable in host.vars(thread)} == {"n", "items"}


def test_a_cell_that_could_not_be_kept_is_undone_too(host: SessionClient, thread: str, run) -> None:
    run("n = 7")
    run("import io\nio.BytesIO = None\nn = 8")
    assert host.undo(thread, "c2") is True
    after = run("n")
    assert (shown(after), after.notices) == ("7", ())


def test_asking_again_for_a_cell_after_one_that_could_not_be_kept_changes_nothing(
    host: SessionClient, thread: str, run
) -> None:
    run("n = 7")
    run("import io\nio.BytesIO = None\nn = 8")
    run("n = 9")
    host.export_session(thread)
    assert [host.undo(thread, "c3") for _ in range(3)] == [True] * 3
    after = run("n")
    assert (shown(after), [notice.code for notice in after.notices]) == ("7", ["changes_uncertain"])


def test_a_cell_that_was_kept_together_with_one_before_it_is_not_undone_by_itself(
    host: SessionClient, thread: str, run
) -> None:
    run("n = 7")
    run("import io\nkept, io.BytesIO = io.BytesIO, None\nm = 8")
    run("io.BytesIO = kept\nk = 9")
    host.export_session(thread)
    assert host.undo(thread, "c3") is False
    assert shown(run("n, m, k")) == "(7, 8, 9)"


def test_asking_again_changes_nothing(host: SessionClient, thread: str, run) -> None:
    run("n = 7")
    run("n = 8")
    assert [host.undo(thread, "c2") for _ in range(3)] == [True] * 3
    assert shown(run("n")) == "7"


def test_only_one_cell_can_be_undone_and_then_none_before_it(host: SessionClient, thread: str, run) -> None:
    run("n = 6")
    run("n = 7")
    run("n = 8")
    host.export_session(thread)  # it waits until the cell is kept; before that, what the first cell left is still there
    assert host.undo(thread, "c2") is False
    assert host.undo(thread, "c3") is True
    assert host.undo(thread, "c2") is False
    assert shown(run("n")) == "7"


def test_the_first_cell_of_all_can_be_undone(host: SessionClient, thread: str, run) -> None:
    run("n = 7")
    assert host.undo(thread, "c1") is True
    assert run("n").error.name == "NameError"


def test_after_an_undo_the_next_cell_can_be_undone(host: SessionClient, thread: str, run) -> None:
    run("n = 7")
    run("n = 8")
    host.undo(thread, "c2")
    run("n = 9")
    assert host.undo(thread, "c3") is True
    assert shown(run("n")) == "7"


def test_large_variables_come_back_too(host: SessionClient, thread: str, run) -> None:
    run("import numpy as np\nbig = np.arange(500_000.0)")
    run("big *= 2")
    run("print('changes nothing')")
    assert host.undo(thread, "c3") is True
    assert host.undo(thread, "c2") is True
    assert shown(run("float(big.sum())")) == str(float(sum(range(500_000))))


def test_a_cell_that_failed_half_way_is_undone_like_any_other(host: SessionClient, thread: str, run) -> None:
    run("n = 7")
    run("n = 8\n1 / 0")
    assert host.undo(thread, "c2") is True
    assert shown(run("n")) == "7"


def test_files_that_the_cell_wrote_changed_or_removed_are_as_before(
    host: SessionClient, thread: str, run, tmp_path: Path
) -> None:
    (tmp_path / "given.csv").write_text("given")
    host.put(thread, "given.csv", tmp_path / "given.csv")
    run("open('kept.txt', 'w').write('kept'); open('gone.txt', 'w').write('gone')")
    run("import os\nopen('kept.txt', 'w').write('other'); os.remove('gone.txt'); open('new.txt', 'w').write('new')")
    (tmp_path / "late.csv").write_text("late")
    host.put(thread, "late.csv", tmp_path / "late.csv")
    assert host.undo(thread, "c2") is True
    after = run("import os\n(sorted(os.listdir()), open('kept.txt').read())")
    assert shown(after) == "(['given.csv', 'gone.txt', 'kept.txt', 'late.csv'], 'kept')"


FILES = "import os\n[(name, open(name).read()) for name in sorted(os.listdir())]"
WRITE = "with open({!r}, 'w') as file: file.write({!r})\ndel file"


def test_what_an_earlier_cell_wrote_is_not_told_as_undone(host: SessionClient, thread: str, run) -> None:
    run(WRITE.format("a.txt", "0"))
    run(WRITE.format("b.txt", "1"))
    assert host.undo(thread, "c2") is True
    assert host.undo(thread, "c1") is False
    assert shown(run(FILES)) == "[('a.txt', '0')]"


def test_a_cell_is_not_undone_by_half(host: SessionClient, thread: str, run) -> None:
    run("n = 7\n" + WRITE.format("a.txt", "1"))
    run("n = 8\n" + WRITE.format("a.txt", "2"))
    run(WRITE.format("b.txt", "changes no variable"))
    host.export_session(thread)
    assert host.undo(thread, "c2") is False
    assert shown(run("n, open('a.txt').read()")) == "(8, '2')"
    host.export_session(thread)  # until then it is not known that the last cell left nothing
    assert host.undo(thread, "c3") is True


def test_files_are_not_undone_below_variables_that_a_later_cell_left(host: SessionClient, thread: str, run) -> None:
    run(WRITE.format("a.txt", "1"))
    run("n = len(open('a.txt').read())")
    host.export_session(thread)
    assert host.undo(thread, "c1") is False
    assert shown(run("n, open('a.txt').read()")) == "(1, '1')"


def test_a_file_that_somebody_gave_stays_beside_the_one_that_comes_back(
    host: SessionClient, thread: str, run, tmp_path: Path
) -> None:
    run(WRITE.format("out.csv", "of a cell"))
    run("import os\nos.remove('out.csv')")
    (tmp_path / "out.csv").write_text("of a person")
    assert host.put(thread, "out.csv", tmp_path / "out.csv") == "out.csv"
    assert host.undo(thread, "c2") is True
    assert shown(run(FILES)) == "[('out-2.csv', 'of a person'), ('out.csv', 'of a cell')]"


def test_what_was_not_taken_is_undone_too(host: SessionClient, thread: str, run) -> None:
    run(WRITE.format("a.txt", "small"))
    run("with open('a.txt', 'w') as file: file.write('large' * 1_000_000)\ndel file")
    assert host.undo(thread, "c2") is True
    after = run(FILES)
    assert (shown(after), after.notices) == ("[('a.txt', 'small')]", ())


def test_nothing_is_undone_while_a_cell_runs(host: SessionClient, thread: str, run) -> None:
    run("n = 7")
    started = threading.Event()
    code = "n = 8\nprint('go', flush=True)\nimport time\ntime.sleep(600)"
    with ThreadPoolExecutor(1) as pool:
        cell = pool.submit(host.run, thread, "long", code, on_output=lambda *_: started.set())
        assert started.wait(PATIENCE_S)
        with pytest.raises(RequestError, match="must end before"):
            host.undo(thread, "c1")
        host.interrupt(thread)
        cell.result(PATIENCE_S)
    assert host.undo(thread, "long") is True
    assert shown(run("n")) == "7"


def test_a_host_that_was_started_anew_undoes_what_an_earlier_one_ran(tmp_path: Path) -> None:
    for restart in (False, True):
        process = start_host(tmp_path / "host.sock", tmp_path / "home", Limits())
        client = SessionClient(tmp_path / "host.sock")
        try:
            if not restart:
                client.run("t", "1", "import numpy as np\nbig = np.zeros(100_000)")
                client.run("t", "2", "big += 1")
                client.run("t", "3", "1")
            else:
                assert client.undo("t", "2") is True
                assert shown(client.run("t", "4", "float(big.sum())")) == "0.0"
        finally:
            stop_host(process)
