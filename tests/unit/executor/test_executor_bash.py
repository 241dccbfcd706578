"""The thread's shell: what stays from command to command, what is asked before one runs, how each one ends."""

from __future__ import annotations

import itertools
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from hosts import bare_host
from patience import PATIENCE_S, eventually

from executor.cell import Cell
from executor.client import RequestError, SessionClient
from executor.event_loop import Loop
from executor.frames import PROTOCOL_VERSION, Message, ProtocolError, encode
from executor.interpreters.bash import COMMAND_LIMIT, BashInterpreter
from executor.launch import run_files
from executor.notices import notice
from executor.sessions.session import Ending
from executor.state.checkpoints import Checkpoint
from executor.state.received_state import Receiver
from executor.values import CellResult, Limits, Notice
from workers.delivery.notices import worded

pytestmark = pytest.mark.process

Bash = Callable[..., CellResult]


def yes(command: str) -> bool:
    return True


@pytest.fixture(scope="module")
def shells() -> Iterator[SessionClient]:
    """A host with shells, which have all the time that they need to stop in."""
    with bare_host(limits=Limits(cell_grace_s=PATIENCE_S, output_kb=64), bash=True) as client:
        yield client


@pytest.fixture(scope="module")
def impatient_shells() -> Iterator[SessionClient]:
    """A host that soon kills what does not stop."""
    with bare_host(limits=Limits(cell_grace_s=0.5), bash=True) as client:
        yield client


def bash_in(client: SessionClient, thread: str) -> Bash:
    numbers = itertools.count(1)

    def run(command: str, **options: object) -> CellResult:
        return client.bash(thread, f"b{next(numbers)}", command, **{"approve": yes, **options})

    return run


@pytest.fixture
def bash(shells: SessionClient, thread: str) -> Bash:
    """`bash(command)`: the next command of this test's thread, approved."""
    return bash_in(shells, thread)


# What stays


def test_variables_functions_aliases_and_the_folder_stay(bash: Bash) -> None:
    bash("x=5; list=(a 'b c'); export y=é; mkdir -p deep/er; cd deep/er")
    bash("f() { echo \"f $x $1\"; }; alias hi='echo hello' while=until do=false")
    bash("exit")
    result = bash('f 1; echo "${list[1]}"; bash -c \'echo $y\'; basename "$PWD"; hi')
    assert result.stdout == "f 5 1\nb c\né\ner\nhello\n"
    assert (result.status, result.exit_status, result.stderr, result.notices) == ("ok", 0, "", ())


@pytest.mark.parametrize("extglob", ["-s", "-u"])
def test_a_function_with_a_pattern_takes_nothing_away(bash: Bash, extglob: str) -> None:
    bash("mkdir deep; shopt -s extglob")
    bash(f"f() {{ echo ${{1//+(a)/b}}; }}; g() {{ echo g; }}; alias hi='echo hello'; cd deep; shopt {extglob} extglob")
    bash("exit")
    result = bash('shopt -s extglob; f caad; g; hi; basename "$PWD"')
    assert (result.stdout, result.stderr) == ("cbd\ng\nhello\ndeep\n", "")


def test_options_that_stay_from_command_to_command_stay_when_the_shell_ends(bash: Bash) -> None:
    bash("x=1; set -o pipefail; shopt -s nullglob; set -a; y=2")
    for _ in range(2):
        result = bash("false | true; echo $? [*.none]; bash -c 'echo [$x] $y'")
        assert (result.stdout, result.stderr) == ("1\n[] 2\n", "")
        bash("exit")


def test_a_folder_that_is_gone_is_told(shells: SessionClient, bash: Bash, thread: str) -> None:
    bash("mkdir empty; cd empty; x=1")
    shells.run(thread, "p", "import os\nos._exit(1)")
    result = bash('echo $x; basename "$PWD"')
    assert result.stdout == "1\nworkspace\n"
    assert result.stderr.endswith("/empty: No such file or directory\n")
    assert bash("true").stderr == ""


def test_what_runs_in_the_background_goes_on(bash: Bash) -> None:
    bash("sleep 600 & job=$!")
    assert bash("kill -0 $job && kill $job; wait $job; echo $?").stdout == "143\n"


def test_the_workspace_is_that_of_python(shells: SessionClient, bash: Bash, thread: str) -> None:
    shells.run(thread, "p1", "open('from_python.txt', 'w').write('1')")
    result = bash("cat from_python.txt; echo 2 > from_bash.txt; mkdir d; echo 3 > d/e.txt")
    assert result.stdout == "1"
    assert [file.name for file in result.artifacts] == ["d/e.txt", "from_bash.txt"]
    assert [Path(file.path).read_text() for file in result.artifacts] == ["3\n", "2\n"]
    read = shells.run(thread, "p2", "print(open('from_bash.txt').read(), open('d/e.txt').read())")
    assert (read.stdout, read.artifacts) == ("2\n 3\n\n", ())
    assert bash("rm -r from_bash.txt d").status == "ok"
    assert shells.run(thread, "p3", "import os\nos.listdir()").result.text == "['from_python.txt']"


def test_a_file_that_was_given_and_read_is_reported(
    shells: SessionClient, bash: Bash, thread: str, tmp_path: Path
) -> None:
    (tmp_path / "given.csv").write_text("a\n1\n")
    shells.put(thread, "given.csv", tmp_path / "given.csv")
    assert bash("true").files_read == ()
    assert bash("wc -l given.csv").files_read == ("given.csv",)


# What comes out


def test_stdout_and_stderr_are_kept_apart_and_free_of_colours(bash: Bash) -> None:
    result = bash(r"printf '\033[1;31mred\033[0m\n'; echo oops >&2")
    assert (result.stdout, result.stderr) == ("red\n", "oops\n")


def test_a_command_has_no_terminal_and_waits_for_no_answer(bash: Bash) -> None:
    result = bash("for n in 0 1 2; do test -t $n && echo terminal; done; read -r -p 'continue? ' key || echo no answer")
    assert (result.stdout, result.stderr) == ("no answer\n", "")


def test_the_output_of_one_command_is_a_file_to_another(bash: Bash) -> None:
    lines = "while read -r x; do echo $x; done < <(echo five)"
    result = bash(f"paste <(seq 2) <(seq 3 4)\n{lines}\necho six | cat /dev/stdin")
    assert (result.stdout, result.stderr) == ("1\t3\n2\t4\nfive\nsix\n", "")


def test_a_command_writes_to_its_streams_by_name(bash: Bash) -> None:
    result = bash("echo wrong >/dev/stderr; echo right >/dev/stdout; echo both | tee /dev/stderr")
    assert (result.stdout, result.stderr) == ("right\nboth\n", "wrong\nboth\n")


def test_long_output_keeps_head_and_tail_and_the_whole_as_a_file(bash: Bash) -> None:
    result = bash("seq 1 100000")
    assert result.stdout.startswith("1\n2\n")
    assert "characters left out here" in result.stdout
    assert result.stdout.endswith("\n100000\n")
    whole = Path(result.artifacts[0].path).read_text()
    assert whole.split() == [str(number) for number in range(1, 100001)]


def test_output_streams_while_the_command_runs(shells: SessionClient, thread: str) -> None:
    pieces: list[str] = []
    shells.bash(
        thread, "1", "echo one; sleep 0.1; echo two", approve=yes, on_output=lambda _, text: pieces.append(text)
    )
    assert "".join(pieces) == "one\ntwo\n"


def test_another_exit_status_than_zero_is_an_error(bash: Bash) -> None:
    result = bash("echo 0; (exit 3)")
    assert (result.status, result.exit_status) == ("error", 3)
    assert result.error.message == "the command ended with exit status 3"


def test_no_program_has_the_descriptors_that_the_shell_reports_on(bash: Bash) -> None:
    forge = "import os\nfor fd in range(3, 256):\n    try: os.write(fd, b'0\\0\\0')\n    except OSError: pass"
    assert bash("readlink /proc/self/fd/0 /proc/self/fd/95 /proc/self/fd/98").stdout == "/dev/null\n"
    result = bash(f'{{ {sys.executable} -c "{forge}" || true; }} 2>/dev/null; (exit 7)')
    assert (result.status, result.exit_status) == ("error", 7)
    assert bash("echo 0 >&98").stderr.endswith("98: Bad file descriptor\n")


def test_a_redirection_of_the_shell_itself_ends_with_its_command(bash: Bash) -> None:
    bash("exec >all.txt 2>&1; echo kept")
    assert bash("cat all.txt; echo shown").stdout == "kept\nshown\n"


def test_options_that_end_a_shell_hold_for_one_command(bash: Bash) -> None:
    bash("set -eux; true")
    result = bash("false; echo still $nothing here")
    assert (result.stdout, result.stderr) == ("still here\n", "")


def test_a_trap_that_shows_each_step_shows_those_of_its_own_command(bash: Bash) -> None:
    result = bash("trap 'echo \"> $BASH_COMMAND\"' DEBUG\nx=1\necho one")
    assert (result.status, result.exit_status, result.stdout) == ("ok", 0, "> x=1\n> echo one\none\n")
    assert bash("echo $x").stdout == "1\n"


# How commands end

WAYS_TO_END_A_SHELL = {
    "exit": ("exit 3", 3),
    "set -e": ("set -e; x=2; false; echo never", 1),
    "an unset variable under set -u": ("set -u; echo $nothing", 127),
    "a program in its place": ("exec true", 0),
    "a signal": ("kill -9 $$", 137),
}


@pytest.mark.parametrize("way", WAYS_TO_END_A_SHELL)
def test_a_shell_that_its_command_ends_comes_back_as_before_it(bash: Bash, way: str) -> None:
    command, status = WAYS_TO_END_A_SHELL[way]
    bash("x=1; mkdir d; cd d")
    result = bash(command)
    assert result.exit_status == status
    assert worded(result, "en").startswith(
        "Its shell ended with the command: variables, functions and folder are as they were"
    )
    after = bash('echo $x $(basename "$PWD")')
    assert (after.stdout, after.notices) == ("1 d\n", ())


ENDED, KILLED = "Its shell ended with the command", "It had to be killed. The shell's variables"
WAYS_TO_STOP = {
    "a program": ("shells", "sleep 600", ENDED),
    "the shell itself": ("shells", "while :; do :; done", ENDED),
    "one that does not listen": ("impatient_shells", "trap '' INT; sleep 600", KILLED),
    "one that would leave its group": ("shells", "setsid sleep 600", ENDED),
}


@pytest.mark.parametrize("way", WAYS_TO_STOP)
def test_wall_time_ends_a_command_and_the_next_one_works(request: pytest.FixtureRequest, thread: str, way: str) -> None:
    host, command, sentence = WAYS_TO_STOP[way]
    bash = bash_in(request.getfixturevalue(host), thread)
    bash("x=1")
    result = bash(command, timeout_s=2)
    assert (result.status, result.exit_status) == ("timeout", None)
    assert worded(result, "en").startswith(f"the command was stopped after 2 s. {sentence}")
    assert bash("echo $x").stdout == "1\n"


def stopped(client: SessionClient, thread: str, command: str) -> CellResult:
    """The result of a command that is interrupted once it has printed something."""
    printed = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(client.bash, thread, "long", command, approve=yes, on_output=lambda *_: printed.set())
        assert printed.wait(PATIENCE_S)
        assert client.interrupt(thread)
        return result.result(PATIENCE_S)


def test_a_command_that_takes_the_interrupt_itself_keeps_its_shell(
    shells: SessionClient, bash: Bash, thread: str
) -> None:
    patient = 'import time\ntry:\n  print("on", flush=True)\n  time.sleep(600)\nexcept KeyboardInterrupt: pass'
    result = stopped(shells, thread, f"x=2; {sys.executable} -c '{patient}'")
    assert (result.status, worded(result, "en")) == (
        "killed",
        "the command was stopped on request. All variables are kept.",
    )
    assert bash("echo $x").stdout == "2\n"


def test_a_command_is_stopped_on_request(shells: SessionClient, bash: Bash, thread: str) -> None:
    result = stopped(shells, thread, "echo on; sleep 600")
    assert result.status == "killed"
    assert worded(result, "en").startswith("the command was stopped on request.")
    assert bash("echo on").stdout == "on\n"


BECOMES_A_PROGRAM = "(trap 'exec sleep 600' INT; echo on; sleep 600)"
CLEANS_UP = "trap 'sleep 1; echo clean; exit 3' INT; echo on; sleep 600"


def test_an_interrupt_between_a_fork_and_its_program_is_not_lost(shells: SessionClient, thread: str) -> None:
    """A fork of bash has a handler until it becomes a program. This one becomes it in its handler."""
    said = worded(stopped(shells, thread, BECOMES_A_PROGRAM), "en")
    assert said.startswith(f"the command was stopped on request. {ENDED}")


def test_what_an_interrupted_command_starts_to_clean_up_is_not_interrupted(shells: SessionClient, thread: str) -> None:
    assert stopped(shells, thread, CLEANS_UP).stdout == "on\nclean\n"


def test_where_a_command_runs_is_told(shells: SessionClient, thread: str) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(shells.bash, thread, "b1", "sleep 600", approve=yes)
        assert eventually(lambda: shells.where(thread), "the command").cell_id == "b1"
        shells.interrupt(thread)
        waiting.result(PATIENCE_S)


def test_a_syntax_error_is_only_an_error(bash: Bash) -> None:
    bash("x=1")
    assert "syntax error" in bash("if").stderr
    assert bash("echo $x").stdout == "1\n"


def test_state_that_is_too_large_to_keep_is_said(bash: Bash) -> None:
    bash("x=$(head -c 2000000 /dev/zero | tr '\\0' x)")
    assert bash("echo ${#x}").stdout == "2000000\n"
    assert "larger than 1 MB" in worded(bash("exit 1"), "en")
    assert bash("echo ${#x}").stdout == "0\n"


def test_a_shell_whose_state_was_too_large_is_missed_after_a_rest(tmp_path: Path) -> None:
    with bare_host(tmp_path, Limits(idle_s=0.1), bash=True) as client:
        bash = bash_in(client, "t")
        bash("x=$(head -c 2000000 /dev/zero | tr '\\0' x)")
        eventually(lambda: not client.sessions(), "rest")
        result = bash("echo ${#x}")
        assert (result.stdout, [notice.code for notice in result.notices]) == ("0\n", ["shell_not_restored"])
        assert "larger than 1 MB" in worded(result, "en")
        assert bash("true").notices == ()


def test_a_command_after_which_the_state_is_too_large_is_not_told_as_undone(
    shells: SessionClient, bash: Bash, thread: str
) -> None:
    bash("x=small; y=5")
    bash("x=$(head -c 2000000 /dev/zero | tr '\\0' x)")
    bash("true")
    assert [shells.undo(thread, cell) for cell in ("b3", "b2")] == [False, False]
    assert bash("x=again; echo $y").stdout == "5\n"
    bash("true")
    assert shells.undo(thread, "b4") is False
    assert bash("echo $x").stdout == "again\n"


# What ends the shell from outside


def test_a_shell_comes_back_when_python_died(shells: SessionClient, bash: Bash, thread: str) -> None:
    bash("x=1; sleep 600 &")
    assert shells.run(thread, "p", "import os\nos._exit(1)").status == "died"
    result = bash("echo $x; jobs")
    assert (result.stdout, worded(result, "en")) == (
        "1\n",
        "There is a new shell: background processes of the old one have ended.",
    )


def test_a_first_command_that_ends_its_shell_is_followed_by_one_that_lives(
    shells: SessionClient, bash: Bash, thread: str
) -> None:
    """No state has been kept by then. That the host has not ended it shows in what it says when Python does: on a busy
    machine also that the new shell's state had not come yet."""
    assert bash("exit 3").exit_status == 3
    shells.run(thread, "p", "import os\nos._exit(1)")
    result = bash("echo 2")
    assert result.stdout == "2\n"
    assert worded(result, "en").startswith("There is a new shell: background processes of the old one have ended.")


def test_a_command_that_overfills_the_folder_is_told_the_limit_also_where_only_a_watcher_counts() -> None:
    limits = Limits(workspace_files=100)
    with bare_host(limits=limits, without=("namespaces",), bash=True) as client:
        bash = bash_in(client, "t")
        bash("x=1")
        result = bash("x=2; for i in $(seq 200); do : >n$i; done; sleep 600")
        assert result.status == "killed"
        assert "the command was stopped: it made more than 100 files. " in worded(result, "en")
        assert bash("echo $x").stdout == "1\n"


def test_a_zygote_that_dies_fails_no_command_that_had_not_begun(tmp_path: Path) -> None:
    with bare_host(tmp_path, Limits(spare_sessions=0), bash=True) as client, ThreadPoolExecutor(1) as aside:
        host = psutil.Process(client.ping().pid)
        for number in range(5):
            thread = f"t{number}"
            client.run(thread, "1", "1")
            before = len(host.children(recursive=True))
            answer = aside.submit(client.bash, thread, "2", "sleep 0.2; echo hi", approve=yes)
            eventually(lambda before=before: len(host.children(recursive=True)) > before, "its shell")
            host.children()[0].kill()
            result = answer.result(PATIENCE_S)
            assert "not_started" not in [notice.code for notice in result.notices]


def test_python_is_untouched_when_the_shell_dies(impatient_shells: SessionClient, thread: str) -> None:
    impatient_shells.run(thread, "p1", "n = 7\nimport os\npid = os.getpid()")
    bash_in(impatient_shells, thread)("trap '' INT; sleep 600", timeout_s=1)
    assert impatient_shells.run(thread, "p2", "n").result.text == "7"


def test_a_shell_survives_rest_and_a_restart_of_its_host(tmp_path: Path) -> None:
    with bare_host(tmp_path, Limits(idle_s=0.1), bash=True) as client:
        client.bash("t", "1", "x=1; f() { echo f$x; }", approve=yes)
        eventually(lambda: not client.sessions(), "rest")
        assert client.bash("t", "2", "f; x=2", approve=yes).stdout == "f1\n"
        client.bash("t", "3", "true", approve=yes)  # begins when what the command before it left has been kept
    with bare_host(tmp_path, bash=True) as client:
        result = client.bash("t", "4", "f", approve=yes)
        assert (result.stdout, result.notices) == ("f2\n", ())


def test_the_state_of_a_shell_is_bound_to_its_thread(tmp_path: Path) -> None:
    with bare_host(tmp_path, bash=True) as client:
        client.bash("a", "1", "secret=a", approve=yes)
        client.bash("b", "1", "secret=b", approve=yes)
        for thread in "ab":
            client.bash(thread, "2", "true", approve=yes)
    threads = tmp_path / "threads"
    (threads / "b" / "bash" / "state" / "log.jsonl").write_bytes(
        (threads / "a" / "bash" / "state" / "log.jsonl").read_bytes()
    )
    with bare_host(tmp_path, bash=True) as client:
        result = client.bash("b", "3", "echo $secret", approve=yes)
        assert result.stdout == "\n"
        assert "tampered" in worded(result, "en")


def test_reset_forgets_the_shell(shells: SessionClient, bash: Bash, thread: str) -> None:
    bash("x=1; touch made")
    shells.reset(thread)
    assert bash("echo [$x]; ls").stdout == "[]\n"


def test_a_command_runs_once_per_id(shells: SessionClient, thread: str) -> None:
    first = shells.bash(thread, "1", "echo $RANDOM$RANDOM", approve=yes)
    assert shells.bash(thread, "1", "echo $RANDOM$RANDOM") == first


# Approval


def test_without_an_approver_the_answer_is_no(shells: SessionClient, thread: str) -> None:
    result = shells.bash(thread, "1", "touch made")
    assert (result.status, result.exit_status) == ("killed", None)
    assert worded(result, "en") == "the command was not run: nobody is there who could approve it."
    assert shells.run(thread, "2", "import os\nos.listdir()").result.text == "[]"


def test_a_command_that_is_refused_does_not_run_and_may_be_asked_for_again(shells: SessionClient, thread: str) -> None:
    asked: list[str] = []

    def no(command: str) -> bool:
        asked.append(command)
        return False

    def broken(command: str) -> bool:
        raise RuntimeError("the question could not be posted")

    assert (
        worded(shells.bash(thread, "1", "echo a", approve=no), "en") == "the command was not run: it was not approved."
    )
    assert asked == ["echo a"]
    refused = shells.bash(thread, "1", "echo a", approve=broken)
    assert worded(refused, "en") == "the command was not run: the question could not be posted."
    assert shells.bash(thread, "1", "echo a", approve=yes).stdout == "a\n"


def test_a_command_that_waits_for_its_approval_holds_nobody_up(shells: SessionClient, thread: str) -> None:
    def think(command: str) -> bool:
        return shells.run(thread, "meanwhile", "print(1)").stdout == "1\n"

    assert shells.bash(thread, "1", "echo a", approve=think).stdout == "a\n"


def test_a_command_whose_asker_hangs_up_does_not_run(shells: SessionClient, thread: str, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(str(shells._path))
        request = {"v": PROTOCOL_VERSION, "type": "bash", "thread": thread, "cell": "1", "command": "touch made"}
        peer.sendall(encode(request | {"approves": True}))
        assert b"approve" in peer.recv(1000)
    assert shells.run(thread, "2", "import os\nos.listdir()").result.text == "[]"
    assert shells.bash(thread, "1", "ls", approve=yes).stdout == ""


def test_only_the_word_yes_approves(shells: SessionClient, thread: str) -> None:
    for answer in ("yes", 1, None, {}):
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(str(shells._path))
            request = {"v": PROTOCOL_VERSION, "type": "bash", "thread": thread, "cell": "1", "command": "touch made"}
            peer.sendall(encode(request | {"approves": True}))
            peer.recv(1000)
            peer.sendall(encode({"type": "approval", "value": answer}))
            assert b"not_approved" in peer.recv(10_000)


# Off, and out of bounds


def test_a_host_has_no_shell_unless_it_is_told_to(host: SessionClient, thread: str) -> None:
    with pytest.raises(RequestError, match=r"bash is off on this host; \[sandbox\] bash = true"):
        host.bash(thread, "1", "echo a", approve=yes)


@pytest.mark.parametrize("command", ["x" * (COMMAND_LIMIT + 1), "echo \0"])
def test_a_command_is_a_text_of_bounded_length(shells: SessionClient, thread: str, command: str) -> None:
    with pytest.raises(RequestError, match="a command is a text of at most"):
        shells.bash(thread, "1", command, approve=yes)


def test_a_cell_of_python_runs_no_program_where_there_are_shells(shells: SessionClient, thread: str) -> None:
    result = shells.run(thread, "1", "import subprocess\nsubprocess.run(['/bin/true'])")
    assert result.error.name == "PermissionError"


def test_a_command_can_be_undone(shells: SessionClient, bash: Bash, thread: str) -> None:
    bash("x=5; echo 1 > a.txt")
    bash("x=6; echo 2 > a.txt")
    assert shells.undo(thread, "b2") is True
    assert bash("echo $x; cat a.txt").stdout == "5\n1\n"


def test_threadbook_run_runs_shell_scripts_beside_python_files(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("open('made.txt', 'w').write('by python')")
    (tmp_path / "b.sh").write_text("x=$(cat made.txt)\n(exit 4)")
    (tmp_path / "c.sh").write_text('echo "$x"')
    cells = run_files([tmp_path / name for name in ("a.py", "b.sh", "c.sh")])["cells"]
    assert [(cell["status"], cell.get("exit_status")) for cell in cells] == [("ok", None), ("error", 4), ("ok", 0)]
    assert cells[2]["stdout"] == "by python\n"


# What is kept when it ends at a bad moment


class OneShell:
    """A subprocess that only ends when it is told to; what it says is put into its mouth."""

    def __init__(self, shell: BashInterpreter) -> None:
        self.ready, self.gone, self.workspace = True, False, os.dup(0)
        self._shell = shell

    def begin(self, state: object) -> None:
        """It starts."""

    def send(self, message: Message) -> None:
        """It gets a command."""

    def kill(self, why: Notice, *, by_limit: bool = False) -> None:
        self.gone = True
        self._shell.session_gone(self, Ending(why, by_limit))

    def receive(self, receiver: Receiver) -> None:
        """The bytes follow."""
        receiver.feed(b"x=1")
        self._shell.session_saved(self, receiver)


class AtOnce:
    """A disk on which everything is as soon as it is asked for."""

    def sync(self, paths: Sequence[Path], then: Callable[[], None], failed: object) -> None:
        then()


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[BashInterpreter]:
    """A shell that kept `x=1` after its first command and was begun again."""
    calls = ("ready", "reported", "wrote", "ends", "died", "gone")
    owner = SimpleNamespace(**{f"interpreter_{call}": lambda *_, **options: None for call in calls})
    owner.after_result, owner.sync_failed = lambda call: call(), lambda error: None
    python = SimpleNamespace(session="a session", take=lambda: "a session")
    checkpoint = Checkpoint(tmp_path, "t bash", b"key", {})
    loop = Loop()
    shell = BashInterpreter(
        owner, python, loop=loop, disk=AtOnce(), checkpoint=checkpoint, start=lambda shell, beside: OneShell(shell)
    )
    for ended in ("a first one", ""):
        shell.take()
        shell.session_ready(shell.session)
        if ended:
            run_in(shell, "1")
            state = {"type": "state", "keys": ["shell"], "lost": [], "variables": [], "set_by": {}, "future": 0}
            shell.session_said(shell.session, state | {"parts": [{"key": "shell", "size": 3, "checksum": 0}]})
            shell.end(notice("was_idle"))
    yield shell
    shell.close()
    loop.close()


def run_in(shell: BashInterpreter, cell: str) -> None:
    shell.begin(Cell(cell, "true", 1.0, "bash"))
    shell.session_said(shell.session, {"type": "result", "cell": cell})


def test_a_shell_that_is_ended_while_its_state_is_put_back_keeps_it(shell: BashInterpreter) -> None:
    shell.end_with_python(Ending(notice("closed")))
    assert [notice.code for notice in shell.take_notices()] == ["shell_background"]
    assert shell.take() is None
    shell.session_ready(shell.session)
    assert shell.take() is None
    with pytest.raises(ProtocolError):
        shell.session_said(shell.session, {"type": "result", "cell": "2"})  # what is kept is put back first


@pytest.mark.parametrize("outside", [True, False])
def test_a_shell_that_ends_while_its_state_is_being_kept_says_so(shell: BashInterpreter, outside: bool) -> None:
    shell.session_said(shell.session, {"type": "restored", "why": None, "lost": []})
    run_in(shell, "2")
    if outside:
        shell.end_with_python(Ending(notice("closed")))
    else:
        shell.session.kill(notice("killed"))
    codes = [notice.code for notice in shell.take_notices()]
    assert codes == ["shell_background", "shell_changes_not_kept"][not outside :]


def test_what_was_undone_before_it_was_kept_is_not_missed(shell: BashInterpreter) -> None:
    shell.session_said(shell.session, {"type": "restored", "why": None, "lost": []})
    run_in(shell, "2")
    assert shell.undo("2") == "nothing"
    assert (shell.session, shell.notices) == (None, ())
