"""A session host for tests, inside the test's own process: the calls of `SessionClient` without socket or subprocess.

Cells are run by `exec` in a namespace per thread. There is no sandbox and no memory limit, a cell stops only where it
begins another round of a loop, and cells of all threads run one after the other, because they share this process's
stdout and working folder. Bash, and what happens when a process dies, are left out. All else is held to the same
contract suite as the real client (`tests/contract/test_session_client.py`).

sessions = FakeSessions(tmp_path)
sessions.fault("run", "away", times=2)
sessions.run("T1:C1:171.1", "cell-1", "1 + 1")
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import copy
import os
import shutil
import subprocess
import sys
import threading
import time
import types
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal
from urllib.parse import quote

from executor.client import (
    HostUnavailable,
    LimitsOf,
    OnApproval,
    OnOutput,
    OnRequest,
    RequestError,
    SessionClient,
    WithFile,
)
from executor.files.collect import collect, snapshot
from executor.files.exported import ExportedSession
from executor.files.home import Home
from executor.files.workspace import artifacts_of, clean_name
from executor.inside.compiling import remember_source
from executor.inside.display import show
from executor.inside.figures import discard_open_figures, save_open_figures
from executor.inside.host_requests import RequestRefused, request_functions
from executor.inside.tracebacks import describe_error
from executor.notices import notice
from executor.said import problems_from
from executor.slices import at_once
from executor.values import (
    CellError,
    CellResult,
    CellStatus,
    Display,
    HostInfo,
    Limits,
    Notice,
    Sandbox,
    SessionInfo,
    Variable,
    Where,
)
from executor.wire import display_from, error_from, figures_from

When = Literal["before", "after"]
FaultKind = Literal["away", "lost", "refused"]
"""away: no host answers · lost: the call is done, then the host is gone · refused: RequestError."""

_PROCESS = threading.RLock()
"""Held while a cell runs: stdout, the working folder and open figures belong to the whole process."""
_PAUSE = "__threadbook_pause__"


@dataclass(slots=True)
class Fault:
    """What happens to the next `times` calls of `method` ("*": any). `then` is run at the call, before all else."""

    method: str
    kind: FaultKind | None
    times: int = 1
    then: Callable[[], object] = field(default=lambda: None)


@dataclass(slots=True)
class _Cell:
    """A cell that runs."""

    id: str
    number: int
    code: str
    timeout_s: float
    on_output: OnOutput | None
    on_request: OnRequest | None
    halted: Callable[[], bool]
    started: float = field(default_factory=time.monotonic)
    stopped_by: CellStatus | None = None
    over: threading.Event = field(default_factory=threading.Event)

    def pause(self) -> None:
        """Called by the cell itself, in each round of its loops: here it is stopped."""
        if self.stopped_by is None and time.monotonic() - self.started > self.timeout_s:
            self.stopped_by = "timeout"
        if self.stopped_by is None and self.halted():
            self.stopped_by = "killed"
        if self.stopped_by is not None:
            raise KeyboardInterrupt


@dataclass(slots=True)
class _Ran:
    """A cell that ended: whether it left anything, and variables and files as they were before it."""

    id: str
    left: bool
    variables: dict[str, Any]
    files: dict[str, bytes]
    undone: bool = False


@dataclass(slots=True)
class _Session:
    """A thread's variables and files, and what its cells gave."""

    folder: Path
    alive: bool = False
    namespace: dict[str, Any] = field(default_factory=dict)
    set_by: dict[str, str] = field(default_factory=dict)
    given: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Files that people gave: name in the folder → (name it was given under, sha256)."""
    results: dict[str, CellResult] = field(default_factory=dict)
    known: list[str] = field(default_factory=list)
    """The ids of all cells in order, also of those that ran at another host."""
    ran: list[_Ran] = field(default_factory=list)
    running: _Cell | None = None
    exported: ExportedSession | None = None
    used_at: float = field(default_factory=time.time)
    """Seconds since the epoch: when a cell began or ended last."""


class FakeSessions(SessionClient):
    """One session host with all its sessions. Safe to share between threads."""

    _carried: ClassVar[dict[str, dict[str, Any]]] = {}
    """Variables on their way from one fake host of this process to another."""

    def __init__(
        self, home: Path, limits_of: LimitsOf | None = None, limits: Limits | None = None, *, bash: bool = False
    ) -> None:
        """`home` is a folder for workspaces and artifacts; `limits` are those of the host. `bash` gives a shell."""
        super().__init__(home / "host.sock", limits_of)
        self.calls: list[tuple[str, str, str]] = []
        """Every call: method, thread and cell, "" where there is none."""
        self.ran: list[str] = []
        """The id of each cell that was really run, in order."""
        self.halted = False
        """True: every cell is stopped at its next round, as by an interrupt."""
        self.watch: Callable[[When, str], None] = lambda when, method: None
        """Called before and after each call; what it raises ends the call there."""
        self._home = Home(home)
        self._limits = limits or Limits()
        self._bash = bash
        self._sessions: dict[str, _Session] = {}
        self._faults: list[Fault] = []
        self._lock = threading.RLock()

    # --- what a test does

    def fault(
        self,
        method: str,
        kind: FaultKind | None = None,
        *,
        times: int = 1,
        then: Callable[[], object] = lambda: None,
    ) -> None:
        """Order a fault. Without a `kind` the call passes and only `then` happens."""
        self._faults.append(Fault(method, kind, times, then))

    def heal(self) -> None:
        """Forget all faults."""
        self._faults.clear()

    def restart(self) -> None:
        """The host is started anew: no session is alive, variables, files and results are kept."""
        for session in self._sessions.values():
            session.alive = False

    # --- the calls

    def ping(self) -> HostInfo:
        with self._call_of("ping"):
            return HostInfo(os.getpid(), Sandbox("none"), len(self._alive()))

    def put(self, thread_id: str, name: str, source: Path, *, restore: bool = False) -> str:
        with self._call_of("put", thread_id):
            session, wanted = self._session(thread_id), clean_name(name)
            descriptor = os.open(source, os.O_RDONLY)
            try:
                sha256, _ = at_once(self._home.keep(descriptor, 1 << 40))
            finally:
                os.close(descriptor)
            return self._give(session, wanted, sha256, restore=restore)

    def held(self, contents: Sequence[str]) -> set[str]:
        with self._call_of("held"):
            return {sha256 for sha256 in contents if self._home.holds(sha256)}

    def unused(self, for_s: float, limit: int = 100) -> list[str]:
        with self._call_of("unused"):
            until = time.time() - for_s
            found = [
                (session.used_at, thread_id)
                for thread_id, session in self._sessions.items()
                if not session.alive and session.used_at <= until
            ]
            return [thread_id for _, thread_id in sorted(found)][:limit]

    def put_held(self, thread_id: str, name: str, sha256: str, *, restore: bool = False) -> str:
        with self._call_of("put_held", thread_id):
            if not self._home.holds(sha256):
                raise RequestError("this host does not hold that content")
            return self._give(self._session(thread_id), clean_name(name), sha256, restore=restore)

    def run(
        self,
        thread_id: str,
        cell_id: str,
        code: str,
        *,
        timeout_s: float | None = None,
        on_output: OnOutput | None = None,
        on_request: OnRequest | None = None,
    ) -> CellResult:
        with self._call_of("run", thread_id, cell_id):
            own = self._limits_of(thread_id) if self._limits_of is not None else {}
            timeout_s = timeout_s or own.get("cell_timeout_s") or self._limits.cell_timeout_s
            session = self._session(thread_id)
            if (running := session.running) is not None and running.id == cell_id:
                running.over.wait()
            with _PROCESS:
                if cell_id not in session.results:
                    session.results[cell_id] = self._run_cell(
                        session, cell_id, code, timeout_s, on_output=on_output, on_request=on_request
                    )
                return session.results[cell_id]

    def bash(
        self,
        thread_id: str,
        cell_id: str,
        command: str,
        *,
        approve: OnApproval | None = None,
        timeout_s: float | None = None,
        on_output: OnOutput | None = None,
    ) -> CellResult:
        with self._call_of("bash", thread_id, cell_id):
            session = self._session(thread_id)
            if not self._bash:
                raise RequestError("bash is off on this host")
            if cell_id not in session.results:
                if approve is None or not approve(command):
                    why = "no_approver" if approve is None else "not_approved"
                    return CellResult(cell_id, "killed", notices=(notice("not_run", why=notice(why)),))
                with _PROCESS:
                    session.results[cell_id] = self._run_command(session, cell_id, command, on_output)
            return session.results[cell_id]

    def interrupt(self, thread_id: str) -> bool:
        with self._call_of("interrupt", thread_id):
            cell = self._session(thread_id).running
            if cell is None:
                return False
            cell.stopped_by = cell.stopped_by or "killed"
            return True

    def reset(self, thread_id: str) -> None:
        with self._call_of("reset", thread_id):
            session = self._session(thread_id)
            session.alive, session.exported = False, None
            session.namespace.clear()
            session.set_by.clear()
            session.ran.clear()
            self._replace_files(session, {})

    def purge(self, thread_id: str) -> None:
        with self._call_of("purge", thread_id):
            session = self._session(thread_id)
            if (running := session.running) is not None:
                running.stopped_by = running.stopped_by or "killed"
                running.over.wait()
            with self._lock:
                del self._sessions[thread_id]
                shutil.rmtree(session.folder)
                others = {sha256 for other in self._sessions.values() for _, sha256 in other.given.values()}
                kept = [path for path in self._home.root.glob("files/*/*") if path.name not in others]
                self._home.forget([path.name for path in kept])

    def undo(self, thread_id: str, cell_id: str) -> bool:
        with self._call_of("undo", thread_id, cell_id):
            session = self._session(thread_id)
            if session.running is not None:
                raise RequestError("a cell of this thread runs")
            for ran in reversed(session.ran):
                if ran.id == cell_id:
                    if ran.left and not ran.undone:
                        self._restore(session, ran)
                    ran.undone, session.exported = True, None
                    return True
                if ran.left:  # one state before the last is kept, and no older one
                    return False
            return True  # nothing of it is there

    def sessions(self) -> list[SessionInfo]:
        with self._call_of("sessions"):
            return self._alive()

    def vars(self, thread_id: str) -> list[Variable]:
        with self._call_of("vars", thread_id):
            session = self._session(thread_id)
            return [
                Variable(name, type(value).__name__, _shape(value), sys.getsizeof(value), session.set_by.get(name))
                for name, value in _variables(session.namespace).items()
            ]

    def export_session(self, thread_id: str) -> ExportedSession:
        with self._call_of("export", thread_id):
            session = self._session(thread_id)
            if session.exported is None:
                session.exported = self._exported(session)
            return session.exported

    def keep(self, source: Path) -> str:
        with self._call_of("keep"), open(source, "rb") as file:
            return at_once(self._home.keep(file.fileno(), 1 << 40))[0]

    def import_session(self, thread_id: str, session: ExportedSession) -> None:
        with self._call_of("import", thread_id):
            if not all(self._home.holds(sha256) for sha256 in session.contents):
                raise HostUnavailable("a content that was here is gone; give it again")
            here = self._session(thread_id)
            here.alive, here.exported, here.known = False, None, list(session.cells)
            here.ran.clear()
            here.namespace.clear()
            if session.state is not None:
                carried = self._carried[session.state["token"]]
                here.namespace.update(_copied(carried["variables"]))
                here.set_by = dict(carried["set_by"])
            here.given = {file["name"]: (file["given"], file["sha256"]) for file in session.files if file["given"]}
            self._replace_files(
                here, {file["name"]: self._home.path_of(file["sha256"]).read_bytes() for file in session.files}
            )

    def where(self, thread_id: str) -> Where | None:
        with self._call_of("where", thread_id):
            cell = self._session(thread_id).running
            return None if cell is None else Where(cell.id, None, "", time.monotonic() - cell.started)

    # --- how they work

    @contextlib.contextmanager
    def _call_of(self, method: str, thread_id: str = "", cell_id: str = "") -> Iterator[None]:
        self.calls.append((method, thread_id, cell_id))
        self.watch("before", method)
        with self._lock:
            fault = next((one for one in self._faults if one.method in (method, "*")), None)
            if fault is not None:
                fault.times -= 1
                if not fault.times:
                    self._faults.remove(fault)
        kind = fault.kind if fault is not None else None
        if fault is not None:
            fault.then()
        if kind == "away":
            raise HostUnavailable(f"no session host answers at {self._path}")
        if kind == "refused":
            raise RequestError("refused by the test")
        yield
        self.watch("after", method)
        if kind == "lost":
            raise HostUnavailable("the session host ended during the call")

    def _session(self, thread_id: str) -> _Session:
        with self._lock:
            if thread_id not in self._sessions:
                folder = self._home.root / "workspaces" / quote(thread_id, safe="")
                folder.mkdir(parents=True)
                self._sessions[thread_id] = _Session(folder)
            return self._sessions[thread_id]

    def _give(self, session: _Session, wanted: str, sha256: str, *, restore: bool) -> str:
        """Put a content of the home into the folder; the same one under the same name is one file.

        With `restore`, one that a cell has changed or removed is left alone: "".
        """
        content = self._home.path_of(sha256).read_bytes()
        same = [placed for placed, given in session.given.items() if given == (wanted, sha256)]
        for placed in same:
            if (session.folder / placed).is_file() and (session.folder / placed).read_bytes() == content:
                return placed
        if restore and same:
            return ""
        placed = _free_name(session.folder, wanted)
        session.given[placed] = wanted, sha256
        shutil.copyfile(self._home.path_of(sha256), session.folder / placed)
        return placed

    def _alive(self) -> list[SessionInfo]:
        return [
            SessionInfo(thread_id, os.getpid(), session.running.id if session.running else None)
            for thread_id, session in self._sessions.items()
            if session.alive
        ]

    def _run_cell(
        self,
        session: _Session,
        cell_id: str,
        code: str,
        timeout_s: float,
        *,
        on_output: OnOutput | None,
        on_request: OnRequest | None,
    ) -> CellResult:
        session.known.append(cell_id)
        self.ran.append(cell_id)
        cell = _Cell(cell_id, len(session.known), code, timeout_s, on_output, on_request, lambda: self.halted)
        before = _Ran(cell_id, False, _copied(_variables(session.namespace)), _files(session.folder))
        session.alive, session.exported, session.running = True, None, cell
        try:
            result = self._ended(session, cell)
            self._note(session, before)
        finally:
            session.running, session.used_at = None, time.time()
            cell.over.set()
        return result

    def _run_command(self, session: _Session, cell_id: str, command: str, on_output: OnOutput | None) -> CellResult:
        """Run a command in a shell of its own: what it sets is gone with it. What it left in the folder is kept."""
        session.known.append(cell_id)
        self.ran.append(cell_id)
        session.alive, session.exported = True, None
        before = _Ran(cell_id, False, _copied(_variables(session.namespace)), _files(session.folder))
        folder = os.open(session.folder, os.O_RDONLY)
        try:
            seen = snapshot(folder)
            ended = subprocess.run(["bash", "-c", command], cwd=session.folder, capture_output=True, text=True)  # noqa: PLW1510, S607
            found = at_once(collect(folder, seen, self._home, self._limits))
        finally:
            os.close(folder)
        for stream, text in (("stdout", ended.stdout), ("stderr", ended.stderr)):
            if text and on_output is not None:
                on_output(stream, text)
        self._note(session, before)
        session.used_at = time.time()
        return CellResult(
            id=cell_id,
            status="error" if ended.returncode else "ok",
            stdout=ended.stdout,
            stderr=ended.stderr,
            artifacts=tuple(artifacts_of(found.taken, self._home.path_of, {})),
            rejected=tuple(found.rejected),
            exit_status=ended.returncode,
        )

    def _ended(self, session: _Session, cell: _Cell) -> CellResult:
        """Run a cell in the session's folder; returns how it ended and what it left there."""
        folder = os.open(session.folder, os.O_RDONLY)
        try:
            seen = snapshot(folder)
            out, err = _Stream("stdout", cell, sys.stdout), _Stream("stderr", cell, sys.stderr)
            with _inside(session.folder):
                discard_open_figures()  # what something else in this process left open is not this cell's
                with _opened_files(session.folder) as opened, _printing(out, err):
                    display, error, line = _execute(session.namespace, cell)
                figures, problems = save_open_figures(str(session.folder))
            found = at_once(collect(folder, seen, self._home, self._limits))
        finally:
            discard_open_figures()
            os.close(folder)
        charts = figures_from({"figures": figures})
        result = CellResult(
            id=cell.id,
            status=cell.stopped_by or ("error" if error else "ok"),
            stdout=out.text,
            stderr=err.text,
            result=display,
            error=error,
            artifacts=tuple(artifacts_of(found.taken, self._home.path_of, charts)),
            rejected=(*found.rejected, *problems_from({"problems": problems})),
            files_read=tuple(sorted(opened & set(session.given))),
            duration_s=time.monotonic() - cell.started,
            notices=_notices(cell, line),
        )
        for stream in (out, err):
            stream.complain()
        return result

    def _note(self, session: _Session, before: _Ran) -> None:
        """Keep what the session was before a cell, for an undo, and which variables the cell set."""
        now = _variables(session.namespace)
        changed = [
            name
            for name, value in now.items()
            if name not in before.variables or not _same(value, before.variables[name])
        ]
        session.set_by |= dict.fromkeys(changed, before.id)
        before.left = bool(changed or before.variables.keys() - now.keys() or _files(session.folder) != before.files)
        session.ran.append(before)

    def _restore(self, session: _Session, ran: _Ran) -> None:
        for name in _variables(session.namespace):
            del session.namespace[name]
        session.namespace.update(ran.variables)
        self._replace_files(session, ran.files)

    def _replace_files(self, session: _Session, files: Mapping[str, bytes]) -> None:
        """Let the folder hold these files and those that people gave."""
        shutil.rmtree(session.folder)
        session.folder.mkdir()
        for name, (_, sha256) in session.given.items():
            shutil.copyfile(self._home.path_of(sha256), session.folder / name)
        for name, content in files.items():
            (session.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (session.folder / name).write_bytes(content)

    def _exported(self, session: _Session) -> ExportedSession:
        files, paths = [], {}
        for name in _files(session.folder):
            with open(session.folder / name, "rb") as file:
                sha256, size = at_once(self._home.keep(file.fileno(), 1 << 40))
            given = session.given.get(name, (None,))[0]
            files.append({"name": name, "sha256": sha256, "size": size, "given": given})
            paths[sha256] = self._home.path_of(sha256)
        state: dict[str, Any] | None = None
        if session.known:
            state = {"token": uuid.uuid4().hex, "body": {"parts": []}}
            variables = _copied(_variables(session.namespace))
            self._carried[state["token"]] = {"variables": variables, "set_by": dict(session.set_by)}
        return ExportedSession(state, files, list(session.known), paths=paths)


def _offer_requests(names: dict[str, Any], cell: _Cell) -> None:
    """Put the functions that ask the cell's client among its built-ins, or take them away."""

    def exchange(kind: str, payload: Mapping[str, Any]) -> tuple[Any, int | None]:
        cell.pause()
        try:
            answer = cell.on_request(kind, dict(payload)) if cell.on_request is not None else None
        except Exception as error:
            raise RequestRefused(str(error)) from None
        finally:
            cell.pause()
        return (answer.value, answer.descriptor) if isinstance(answer, WithFile) else (answer, None)

    functions = request_functions(exchange)
    for name in functions:
        names.pop(name, None)
    if cell.on_request is not None:
        names.update(functions)


def _execute(namespace: dict[str, Any], cell: _Cell) -> tuple[Display | None, CellError | None, int | None]:
    """Run a cell's code: the value of its last expression, its error, the line where it stopped."""
    file = f"<cell {cell.number}>"
    namespace.setdefault("__name__", "__main__")
    namespace.setdefault("__builtins__", {**vars(builtins), "compile": _compiled})
    _offer_requests(namespace["__builtins__"], cell)
    namespace[_PAUSE] = cell.pause
    try:
        remember_source(cell.code, file)
        tree = _Pauses().visit(ast.parse(cell.code, file))
        last = tree.body.pop() if tree.body and not cell.code.rstrip().endswith(";") else None
        if last is not None and not isinstance(last, ast.Expr):
            tree.body.append(last)
            last = None
        exec(compile(tree, file, "exec", dont_inherit=True), namespace)  # noqa: S102  a session runs code
        value = None
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), file, "eval", dont_inherit=True), namespace)  # noqa: S307
        shown = show(value)
    except BaseException as raised:
        error = error_from(describe_error(raised, file, lambda name: name.startswith("<cell ")))
        return None, error, error.line
    return (None if shown is None else display_from(shown)), None, None


@cache
def _compiled(source: str, filename: str, mode: str) -> types.CodeType:
    """`compile` for cells that bring modules along, as the one that describes files: each is compiled once."""
    return compile(source, filename, mode, dont_inherit=True)


class _Pauses(ast.NodeTransformer):
    """Lets each round of a loop begin with a look whether the cell is to stop."""

    def visit_While(self, node: ast.While) -> ast.AST:
        return self._paused(node)

    def visit_For(self, node: ast.For) -> ast.AST:
        return self._paused(node)

    def _paused(self, node: ast.While | ast.For) -> ast.AST:
        self.generic_visit(node)
        look = ast.Expr(ast.Call(ast.Name(_PAUSE, ast.Load()), [], []))
        node.body.insert(0, ast.fix_missing_locations(ast.copy_location(look, node.body[0])))
        return node


class _Stream:
    """What the thread that runs the cell prints; all other threads print where they did before."""

    encoding = "utf-8"

    def __init__(self, name: str, cell: _Cell, other: Any) -> None:
        self.text = ""
        self._name = name
        self._cell = cell
        self._other = other
        self._mine = threading.get_ident()
        self._told = 0
        self._trouble: BaseException | None = None

    def write(self, text: str) -> int:
        if threading.get_ident() != self._mine:
            return int(self._other.write(text))
        self.text += text
        if (end := self.text.rfind("\n") + 1) > self._told:
            self._tell(end)
        return len(text)

    def flush(self) -> None:
        """Nothing waits."""

    def isatty(self) -> bool:
        return False

    def complain(self) -> None:
        """Raise what the listener raised: the cell went on without it."""
        if self._trouble is not None:
            raise self._trouble

    def _tell(self, end: int) -> None:
        lines, self._told = self.text[self._told : end], end
        if self._cell.on_output is not None and self._trouble is None:
            try:
                self._cell.on_output(self._name, lines)
            except BaseException as error:
                self._trouble = error


@contextlib.contextmanager
def _printing(out: _Stream, err: _Stream) -> Iterator[None]:
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = out, err
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.simplefilter("ignore", ResourceWarning)
            yield
    finally:
        sys.stdout, sys.stderr = before


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


_opening: list[tuple[int, set[str]]] = []
"""Where the audit hook notes what a running cell opens: the cell's thread, and paths."""


@contextlib.contextmanager
def _opened_files(folder: Path) -> Iterator[set[str]]:
    """The names of the folder's files that this thread opens while the block runs."""
    _hook_opening()
    names: set[str] = set()
    _opening.append((threading.get_ident(), names))
    try:
        yield names
    finally:
        _opening.pop()
        names |= {os.path.relpath(name, folder) for name in names if os.path.isabs(name)}


def _hook_opening(hooked: list[bool] = []) -> None:  # noqa: B006  a process can be hooked once, and never unhooked
    if not hooked:
        hooked.append(True)
        sys.addaudithook(_on_audit)


def _on_audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and _opening and _opening[-1][0] == threading.get_ident() and isinstance(arguments[0], str):
        _opening[-1][1].add(arguments[0])


def _notices(cell: _Cell, line: int | None) -> tuple[Notice, ...]:
    """What there is to say about a cell that was stopped."""
    if cell.stopped_by is None:
        return ()
    code = "after_time" if cell.stopped_by == "timeout" else "on_request"
    values: dict[str, str | float | Notice] = {"what": "cell"}
    if code == "after_time":
        values["seconds"] = cell.timeout_s
    lines = cell.code.split("\n")
    if line is not None and 1 <= line <= len(lines):
        source = lines[line - 1].strip()[:80]
        return notice(f"{code}_in_line", **values, line=line, source=source), notice("all_kept")
    return notice(code, **values), notice("all_kept")


def _variables(namespace: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in namespace.items()
        if not name.startswith("__") and not isinstance(value, types.ModuleType)
    }


def _copied(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Copies that share among each other what the variables share; what cannot be copied is the thing itself."""
    memo: dict[int, Any] = {}
    copies = {}
    for name, value in variables.items():
        try:
            copies[name] = copy.deepcopy(value, memo)
        except Exception:
            copies[name] = value
    return copies


def _same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    try:
        equals = getattr(one, "equals", None)  # of pandas
        found = equals(other) if equals is not None else one == other
        return bool(found.all() if hasattr(found, "all") else found)
    except Exception:
        return False


def _files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def _free_name(folder: Path, name: str) -> str:
    stem, dot, ending = name.rpartition(".")
    if not dot:
        stem, ending = name, ""
    number, candidate = 1, name
    while (folder / candidate).exists():
        number += 1
        candidate = f"{stem}-{number}{dot}{ending}"
    return candidate


def _shape(value: Any) -> str:
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return " x ".join(str(side) for side in shape)
    return str(len(value)) if isinstance(value, str | bytes | list | tuple | dict | set | frozenset) else ""
