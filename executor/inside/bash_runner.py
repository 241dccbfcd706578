"""The loop of a bash subprocess: a command comes in through stdin, a shell runs it, and how it ended goes out on the
private descriptor.

    this process   pid 1 of its namespace: speaks with the host, passes SIGINT on, reaps what commands leave
     └ bash        one shell for command after command, so that its variables, functions and folder stay

After each command the shell tells, on a descriptor that no command can see, its exit status and a script that makes
its state anew. A shell that a command ends (`exit`, `set -e`, SIGINT) is followed by another one in the state before
that command.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import zlib
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Never

from executor.frames import CLIENT_LIMIT, Message, encode, read_message
from executor.inside.runner import Descriptors

_PROGRAMS = ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_STDOUT, _STDERR, _COMMANDS, _REPORTS = 95, 96, 97, 98
"""Descriptors of the shell. While a command runs they are put aside: neither it nor a program that it starts has them,
and its own `exec >file` ends with it."""
_LOOP = f"""{{
unset BASH_EXECUTION_STRING
IFS= builtin read -r -d '' -u {_COMMANDS} __command && builtin eval "$__command" >/dev/null 2>&1
while IFS= builtin read -r -d '' -u {_COMMANDS} __command; do
  builtin eval "$__command" </dev/null >&{_STDOUT} 2>&{_STDERR} \\
    {_STDOUT}>&- {_STDERR}>&- {_COMMANDS}<&- {_REPORTS}>&-
  {{ __status=$?; builtin trap - DEBUG; builtin set +euvx; }} >/dev/null 2>&1
  builtin printf '%s\\0' "$__status" >&{_REPORTS} 2>/dev/null
  builtin unset __command __status 2>/dev/null
  builtin printf 'builtin shopt -s extglob\\n' >&{_REPORTS} 2>/dev/null
  builtin declare -p >&{_REPORTS} 2>/dev/null
  builtin declare -f >&{_REPORTS} 2>/dev/null
  builtin alias -p >&{_REPORTS} 2>/dev/null
  builtin shopt -p >&{_REPORTS} 2>/dev/null
  builtin shopt -po >&{_REPORTS} 2>/dev/null
  builtin printf 'builtin cd -- %q 2>&{_STDERR} || builtin cd -P .\\n\\0' "$PWD" >&{_REPORTS} 2>/dev/null
done
}}"""
"""One compound command, read as a whole before any alias of a thread can change how it is read.

Functions are read back with `extglob`, which some of them need: one that cannot be read takes all that follows it away.
Options come after the variables, because `allexport` would export them all. A folder that is gone is told on stderr.
Each line is sent to the host by itself: a trap that a command has set may run between any two, and prints to stdout.
One for DEBUG would run before each of them, so it ends with its command."""
_SIGNALS = [signal.SIGINT, signal.SIGPIPE, signal.SIGUSR1, signal.SIGTERM, signal.SIGCHLD]
_STATE_LIMIT = 1 << 20  # bash reads a pipe byte by byte: what is larger would take seconds to put back
_PIECE = 1 << 16
_GONE = 70  # exit code when the host has gone
_MISSED_S = 0.1
"""How long after SIGINT, and how often, it is looked whether a process missed it."""


class Shell:
    """One bash, started anew when it ends, and the loop that gives it commands."""

    def __init__(self, descriptors: Descriptors, scratch: str, toolchains: Sequence[str] = ()) -> None:
        """`toolchains` are folders whose programs come before the system's."""
        self._fds = descriptors
        self._program = next((path for path in _PROGRAMS if os.access(path, os.X_OK)), "")
        if not self._program:
            raise FileNotFoundError("this host has no bash")
        path = ":".join([*(f"{folder}/bin" for folder in toolchains), _PATH])
        self._environment = {"PATH": path, "LANG": "C.UTF-8", "TERM": "dumb", "USER": "analyst", "HOME": scratch}
        self._environment |= {"TMPDIR": scratch, "SHELL": self._program}
        self._state = b""
        self._sent: bytes | None = None
        """What the host has; nothing, which is not the same as an empty state, until it was sent once."""
        self._too_large = False
        self._pid = 0
        self._commands = self._reports = -1
        self._running = self._interrupted = False
        self._forks: list[int] = []
        """Those of the shell, when it was interrupted, that were no programs yet."""
        self._woken, wake = os.pipe()
        for end in (self._woken, wake):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, self._on_interrupt)
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # "where are you?" is a question for Python

    def restore(self, message: Message, parts: Mapping[str, memoryview]) -> None:
        """Put back the state of an earlier shell of this thread."""
        self._state = self._sent = b"".join(parts.values())
        self._answer({"type": "restored", "why": None, "lost": []})

    def loop(self) -> Never:
        """Run commands until the host closes stdin. Never returns."""
        try:
            while (message := read_message(self._receive, CLIENT_LIMIT)) is not None:
                if message.get("type") == "run":
                    self._answer({"type": "result", "cell": message["cell"]} | self._run(str(message["code"])))
                    self._save()
        finally:
            os._exit(_GONE)

    def _run(self, command: str) -> Message:
        """Have the shell run one command. Returns what the `result` says of it."""
        self._interrupted = False
        if self._pid and self._reap() is not None:
            self._bury()  # something in the background has ended it meanwhile
        if not self._pid:
            self._start()
        self._running = True
        self._tell(command.encode("utf-8", "replace"))
        report, ended = self._await_report()
        self._running = False
        status, notices = 0, list[Message]()
        if len(report) == 2:
            status, self._state = int(report[0]), report[1]
        elif ended is not None:
            status = ended if ended >= 0 else 128 - ended
            notices = [{"code": "shell_ended_too_large" if self._too_large else "shell_ended"}]
        if ended is not None:
            self._bury()
        kind = "interrupted" if self._interrupted else "error" if status else "ok"
        return {"status": kind, "exit_status": status, "notices": notices, "result": None, "error": None}

    def _start(self) -> None:
        """A new shell in the state of the last one."""
        commands, self._commands = os.pipe()
        self._reports, reports = os.pipe()
        os.set_blocking(self._reports, False)
        given = {self._fds.stdout: _STDOUT, self._fds.stderr: _STDERR, commands: _COMMANDS, reports: _REPORTS}
        self._pid = os.posix_spawn(
            self._program,
            # -p: where our real uid is one that only counts processes, bash would become that user and lose its files.
            ["bash", "--noprofile", "--norc", "-p", "-O", "expand_aliases", "-c", _LOOP, "bash"],
            self._environment,
            file_actions=[(os.POSIX_SPAWN_DUP2, ours, theirs) for ours, theirs in given.items()],
            setpgroup=0,  # so that SIGINT reaches all that a command started, and not this process
            setsigmask=[],
            setsigdef=_SIGNALS,
        )
        os.close(commands)
        os.close(reports)
        self._tell(self._state)

    def _tell(self, text: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):  # a shell that has ended is noticed when it is waited for
            self._write(self._commands, text + b"\0")

    def _await_report(self) -> tuple[list[bytes], int | None]:
        """What the shell reports of a command (exit status and state; less when it could not), and how it ended, if
        it did: an exit code, or minus a signal's number."""
        data, ended = b"", None
        was_too_large, self._too_large = self._too_large, False
        while data.count(b"\0") < 2 and ended is None:
            select.select([self._reports, self._woken], [], [], _MISSED_S if self._interrupted else None)
            if not self._drain(self._woken) and self._interrupted:
                _interrupt_again(self._forks, self._pid)
            ended = self._reap()
            data += self._drain(self._reports)
            if len(data) > _STATE_LIMIT or self._too_large:
                status, _, state = data.partition(b"\0")
                data, self._too_large = status + b"\0" + (b"\0" if state.endswith(b"\0") else b""), True
        report = data.split(b"\0")[:-1]
        if len(report) < 2:
            self._too_large = was_too_large
        return report, ended

    def _reap(self) -> int | None:
        """Reap ended processes: every orphan of this namespace is a child of pid 1."""
        ended = None
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return ended
            if pid == 0:
                return ended
            if pid == self._pid:
                ended = os.waitstatus_to_exitcode(status)

    def _bury(self) -> None:
        """The shell has ended: so does all that it started, and the next command gets another one."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._pid, signal.SIGKILL)
        os.close(self._commands)
        os.close(self._reports)
        self._pid = 0

    def _save(self) -> None:
        """Send the state, if it is another one. Until this has been said the host sends no other command."""
        message: Message = {"type": "state", "keys": ["shell"], "parts": [], "lost": [], "variables": []}
        message |= {"set_by": {}, "future": 0, "why": None}
        if self._too_large:
            message |= {"keys": None, "why": "shell_too_large"}
        elif self._state != self._sent:
            part = {"key": "shell", "size": len(self._state), "checksum": zlib.crc32(self._state)}
            message["parts"] = [part]
        self._answer(message)
        if message["parts"]:
            self._sent = self._state
            self._write(self._fds.state, self._state)

    def _on_interrupt(self, signum: int, frame: FrameType | None) -> None:
        if self._running and self._pid:
            self._interrupted = True
            self._forks = _forks(self._pid)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._pid, signal.SIGINT)

    def _drain(self, descriptor: int) -> bytes:
        data = bytearray()
        with contextlib.suppress(BlockingIOError):
            while len(data) <= _STATE_LIMIT and (piece := os.read(descriptor, _PIECE)):
                data += piece
        return bytes(data)

    def _receive(self, count: int) -> bytes:
        return os.read(self._fds.frames, count)

    def _answer(self, message: Message) -> None:
        self._write(self._fds.results, encode(message))

    def _write(self, descriptor: int, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]


def _forks(shell: int) -> list[int]:
    """The forks of a shell that have not become a program; none where /proc cannot be read."""
    found = []
    with contextlib.suppress(OSError):
        words = _command_line(shell)
        for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))):
            with contextlib.suppress(OSError):  # it has ended meanwhile
                if pid != shell and os.getpgid(pid) == shell and _command_line(pid) == words:
                    found.append(pid)
    return found


def _interrupt_again(forks: Sequence[int], shell: int) -> None:
    """Send SIGINT to those of them that missed it: it would have ended them, and they live.

    Until it becomes a program, a fork of bash has the handler of bash. That only makes a note, and the note is gone
    with the program. What a command has started since, to clean up perhaps, is left alone.
    """
    for pid in forks:
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if os.getpgid(pid) == shell and not _handles_interrupt(pid):
                os.kill(pid, signal.SIGINT)


def _command_line(pid: int) -> bytes:
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read(_PIECE)


def _handles_interrupt(pid: int) -> bool:
    """Whether a process catches or ignores SIGINT."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as lines:
        words = dict(line.split(":", 1) for line in lines if line.startswith("Sig"))
    return bool((int(words["SigCgt"], 16) | int(words["SigIgn"], 16)) >> (signal.SIGINT - 1) & 1)
