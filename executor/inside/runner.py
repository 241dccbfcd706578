"""The loop of a subprocess: a cell comes in through stdin, runs, and what became of it goes out on the private
descriptor.

A cell may do anything to its own process: close descriptors, replace `sys.stdout`, empty `builtins`, fork. So the
runner keeps what it needs under names of its own, puts the rest back before each cell, and leaves at once in a
process that a cell forked.
"""

from __future__ import annotations

import builtins
import contextlib
import faulthandler
import itertools
import os
import signal
import sys
import time
import types
from collections.abc import Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Never

from executor.frames import (
    CLIENT_LIMIT,
    SESSION_LIMIT,
    Message,
    encode,
    read_message,
)
from executor.inside.compiling import compile_cell, remember_source
from executor.inside.data_checks import MOST, Watched
from executor.inside.display import show
from executor.inside.failing_variables import describe_variables_at
from executor.inside.figures import discard_open_figures, missing_glyphs, save_open_figures
from executor.inside.host_requests import request_functions
from executor.inside.pickle_salvage import kind_of
from executor.inside.request_channel import RequestChannel
from executor.inside.streams import CellStream, threads_left
from executor.inside.tracebacks import describe_error
from executor.inside.variable_names import (
    describe_failure,
    describe_variables,
    identities,
    names_in,
    reached_names,
)
from executor.inside.variable_pickles import Keeper, Part, TooLargeToKeep

_getpid, _exit, _read, _write, _dup2, _chdir = os.getpid, os._exit, os.read, os.write, os.dup2, os.chdir
_monotonic = time.monotonic
_ONE_INTERRUPT_S = 5.0
"""The host sends an interrupt again, in case it was missed: within this time it disturbs no cell that cleans up."""
_PIECE = 1 << 20
_NAMES = 2_000  # that the host takes
_GONE = 70  # exit code of a runner whose host has gone or speaks nonsense


@dataclass(frozen=True, slots=True)
class Descriptors:
    """The subprocess's ends.

    Frames in, frames out, the two captured streams, where tracebacks on demand are written, and where variables go out.
    """

    frames: int
    results: int
    stdout: int
    stderr: int
    trace: int
    state: int


class Runner:
    """One Python namespace and the loop that runs cells in it."""

    def __init__(self, descriptors: Descriptors, workspace: str, state_limit: int) -> None:
        self._fds = descriptors
        self._workspace = workspace
        self._pid = _getpid()
        self._running = False
        self._interrupted = 0.0
        """When a cell was interrupted last."""
        self._future = 0
        self._filename = ""
        self.requests = RequestChannel(self._answer, self._receive, self._leave_if_forked)
        """What the cells ask the host."""
        self._main = types.ModuleType("__main__")
        self._main.__dict__["__builtins__"] = builtins
        sys.modules["__main__"] = self._main
        self._keeper = Keeper(self._main.__dict__, state_limit)
        self._told: set[tuple[str, ...]] = set()
        """What was said of the data already, and is not said again."""
        self._checks: list[Message] = []
        self._set_by: dict[str, int] = {}
        self._mentioned: set[str] = set()
        self._changed: set[str] = set()
        self._before: dict[str, int] = {}
        self._builtins = dict(vars(builtins))
        self._restore_builtins = vars(builtins).update
        self._get_builtin, self._remove_builtin = vars(builtins).get, vars(builtins).pop
        self._request_functions = request_functions(self.requests.exchange)
        self._stdout = self._open_stream(1)
        self._stderr = self._open_stream(2)
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115  lives as long as the process

    def loop(self) -> Never:
        """Run cells until the host closes stdin. Never returns."""
        with contextlib.suppress(BaseException):  # nobody is left to tell: the host sees the descriptor close
            self.run_all()
        _exit(_GONE)

    def run_all(self) -> None:
        """Run cells until the host closes stdin."""
        while (message := read_message(self._receive, CLIENT_LIMIT)) is not None:
            if message.get("type") == "run":
                self._answer(self._run(message))
                self._save(int(message["number"]))

    def _run(self, message: Message) -> Message:
        self._put_back()
        self._offer_requests(offered=message.get("answers") is True)
        code = str(message["code"])
        self._filename = f"<cell {message['number']}>"
        outcome: Message = {"type": "result", "cell": message["cell"], "status": "ok", "result": None, "error": None}
        self.requests.open()
        self._checks = []
        try:
            try:
                self._running, self._interrupted = True, 0.0
                outcome["result"] = self._execute(code)
                self._draw(outcome)
                self._flush()
            finally:
                self._running = False
        except BaseException as error:
            self._leave_if_forked()
            self._restore_builtins(self._builtins)
            outcome["status"] = "interrupted" if isinstance(error, KeyboardInterrupt) else "error"
            outcome["result"] = None
            outcome["error"] = describe_error(error, self._filename, self._is_own_file)
            outcome["error"]["variables"] = self._variables_at(code, outcome["error"]["line"], error)
            outcome["notices"] = self._failure()
            self._draw_after_error(outcome)
            self._flush()
        self._leave_if_forked()
        self._restore_builtins(self._builtins)
        if self._checks:
            outcome["checks"] = self._checks
        self.requests.close()
        if late := self._stdout.late + self._stderr.late:
            outcome["notices"] = [*outcome.get("notices", ()), {"code": "background_output", "count": late}]
        return outcome

    def _execute(self, code: str) -> Message | None:
        remember_source(code, self._filename)
        namespace = self._main.__dict__
        self._mentioned, self._changed, self._before = set(), set(), {}
        compiled = compile_cell(code, self._filename, self._future)
        self._future = compiled.future
        names = names_in(compiled.tree)
        self._changed = names.changed
        self._before = identities(names.assigned, namespace)
        self._mentioned = reached_names(names.used, namespace)
        self._keeper.expect(self._mentioned, code)
        watched = Watched(names, namespace)
        exec(compiled.body, namespace)  # noqa: S102  running cells is what this process is for
        value = eval(compiled.last, namespace) if compiled.last is not None else None  # noqa: S307
        self._leave_if_forked()
        self._restore_builtins(self._builtins)
        shown = show(value)
        self._checks = watched.checks(namespace, self._told)
        return shown

    def _failure(self) -> list[Message]:
        with contextlib.suppress(Exception):
            return describe_failure(self._before, self._main.__dict__)
        return []

    def _variables_at(self, code: str, line: int | None, error: BaseException) -> str:
        if isinstance(error, Exception):  # one that was stopped gets no more of our time
            with contextlib.suppress(Exception):
                return describe_variables_at(code, line, error, self._main.__dict__)
        return ""

    def restore(self, message: Message, parts: Mapping[str, memoryview]) -> None:
        """Put back the variables of an earlier process of this thread, and tell the host how that went."""
        why, lost = None, []
        try:
            lost = self._keeper.load(message["parts"], parts)
            self._future = int(message["future"])
            self._set_by = {str(name): int(number) for name, number in message["set_by"].items()}
        except BaseException as error:
            why = kind_of(error)
        self._answer({"type": "restored", "why": why, "lost": lost})

    def _save(self, number: int) -> None:
        """Send the variables that changed. Until this has been said the host sends no other cell."""
        namespace = self._main.__dict__
        after = identities(self._before, namespace)
        self._set_by |= {name: number for name, was in self._before.items() if after[name] != was}
        self._set_by |= dict.fromkeys(self._changed, number)
        message: Message = {"type": "state", "keys": None, "parts": [], "lost": [], "why": None, "future": self._future}
        set_by = {name: cell for name, cell in self._set_by.items() if name in namespace}
        message["set_by"] = dict(itertools.islice(set_by.items(), _NAMES))
        message["variables"] = describe_variables(namespace, self._set_by)
        parts: list[Part] = []
        try:
            message["keys"], parts, lost = self._keeper.save(self._mentioned)
            message["lost"] = lost[:_NAMES]
            message["parts"] = [{"key": one.key, "size": one.size, "checksum": one.checksum} for one in parts]
        except BaseException as error:
            message["why"] = "too_large_to_keep" if isinstance(error, TooLargeToKeep) else kind_of(error)
        self._leave_if_forked()
        self._restore_builtins(self._builtins)
        self._answer(message)
        for part in parts:
            for piece in part.pieces:
                view = piece
                while view:
                    view = view[_write(self._fds.state, view[:_PIECE]) :]

    def _draw(self, outcome: Message) -> None:
        outcome["figures"], outcome["problems"] = save_open_figures(self._workspace)
        self._checks = [*missing_glyphs(), *self._checks][:MOST]

    def _draw_after_error(self, outcome: Message) -> None:
        """A cell that failed half-way may have finished charts; one that was stopped gets no more of our time."""
        try:
            if outcome["status"] == "error" and "figures" not in outcome:
                self._draw(outcome)
            else:
                discard_open_figures()
        except BaseException:  # noqa: S110  the error being reported is the one that matters
            pass

    def _offer_requests(self, *, offered: bool) -> None:
        """Put the request functions among the built-ins for the next cell, or take them away again."""
        if offered:
            self._restore_builtins(self._request_functions)
        else:
            for name, function in self._request_functions.items():
                if self._get_builtin(name) is function:
                    self._remove_builtin(name)

    def _flush(self) -> None:
        for stream in (sys.stdout, sys.stderr, self._stdout, self._stderr):
            with contextlib.suppress(BaseException):  # a stream that the cell broke is put back before the next cell
                stream.flush()

    def _put_back(self) -> None:
        """Undo what the last cell changed in what the runner shares with it."""
        _dup2(self._fds.stdout, 1)
        _dup2(self._fds.stderr, 2)
        if self._stdout.closed:
            self._stdout = self._open_stream(1)
        if self._stderr.closed:
            self._stderr = self._open_stream(2)
        left = threads_left()
        for name, stream in (("stdout", self._stdout), ("stderr", self._stderr)):
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
            stream.begin(left)
        sys.modules["__main__"] = self._main
        signal.signal(signal.SIGINT, self._on_interrupt)
        faulthandler.register(signal.SIGUSR1, self._fds.trace, all_threads=False)
        try:
            os.getcwd()
        except OSError:
            _chdir(self._workspace)

    def _open_stream(self, descriptor: int) -> CellStream:
        raw = open(descriptor, "wb", closefd=False)  # noqa: SIM115  lives as long as the process
        return CellStream(raw, encoding="utf-8", errors="replace", line_buffering=True)

    def _on_interrupt(self, signum: int, frame: FrameType | None) -> None:
        if self._running and (now := _monotonic()) - self._interrupted > _ONE_INTERRUPT_S:
            self._interrupted = now
            raise KeyboardInterrupt

    def _is_own_file(self, filename: str) -> bool:
        return filename.startswith("<cell ") or filename.startswith(self._workspace + "/")

    def _leave_if_forked(self) -> None:
        """A process that a cell forked has come back into our loop: it must not answer for its parent."""
        if _getpid() != self._pid:
            try:
                self._flush()
            finally:
                _exit(0)

    def _receive(self, count: int) -> bytes:
        return _read(self._fds.frames, count)

    def _answer(self, message: Message) -> None:
        frame = encode(message)
        if len(frame) > SESSION_LIMIT:
            frame = encode(message | {"result": None, "notices": [{"code": "result_too_large"}]})
        view = memoryview(frame)
        while view:
            view = view[_write(self._fds.results, view) :]
