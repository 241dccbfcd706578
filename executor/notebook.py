"""A thread's cells, files and present subprocess, in the host.

Cells run one after the other; each has one result for ever. Commands of bash (`bash.py`) are cells too, in the same
queue and workspace, after somebody approved them.

submit → (approval, for bash) → (queue) → begin → output, requests → finish
                     └ INT at its time limit or on request → grace → KILL
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace

from executor.bash import Bash
from executor.capture import Capture
from executor.cells import Attached, Cell, source_of, stopped, what
from executor.checkpoints import Checkpoint, Receiver, announced
from executor.frames import Message, ProtocolError
from executor.home import Home, KeptFile, ThreadHome, kept_file_from
from executor.loop import Loop, Timer
from executor.losses import Losses
from executor.notices import notices_of, said, together
from executor.outcome import Outcome, reported
from executor.session import Ending, Session
from executor.tally import Tally
from executor.values import Artifact, CellResult, CellStatus, Language, Limits
from executor.watch import Watcher
from executor.wire import integer, mapping, one_of, result_from, result_to, sequence, texts
from executor.workspace import Workspace, clean_name, free_name

NO_BASH = "bash is off on this host; [sandbox] bash = true in threadbook.toml switches it on"
NO_APPROVER = "nobody is there who could approve it"
NO_JOB = "nobody is attached to this cell who could answer; continue without it or try again in the next cell"


class Notebook:
    """One thread."""

    def __init__(
        self,
        thread: ThreadHome,
        *,
        loop: Loop,
        home: Home,
        limits: Limits,
        watcher: Watcher | None,
        checkpoint: Checkpoint,
        tally: Tally,
        start: Callable[[Notebook], Session],
        bash: Callable[[Notebook], Bash] | None = None,
    ) -> None:
        self.thread = thread
        self.session: Session | None = None
        self.bash = bash(self) if bash is not None else None
        self._loop = loop
        self._home = home
        self._limits = limits
        self._checkpoint = checkpoint
        self._start = start
        self._queue: deque[Cell] = deque()
        self._undecided: list[Cell] = []
        """Commands that wait for their approval; they hold nobody up."""
        self._cell: Cell | None = None
        self._asked: int | None = None
        """The number of the running cell's request that nobody answered yet."""
        self._captures: dict[str, Capture] = {}
        self._workspace = Workspace(thread, home, watcher)
        self._settling: Timer | None = None
        """Set while the subprocess puts back or sends its variables: it gets no cell meanwhile."""
        self._restoring = False
        self._state_limit = 0
        self._ordered = False
        """Whether it is us who end the subprocess at this moment."""
        self._failed_starts = self._failed_shells = 0
        self._tally = tally
        self._session_began = time.monotonic()
        self._packing: list[Callable[[Message], None]] = []
        self._losses = Losses(thread, checkpoint, tally)
        self.last_used = time.monotonic()

    # What clients ask for

    def submit(
        self, cell_id: str, code: str, timeout_s: float | None, attached: Attached, language: Language = "python"
    ) -> None:
        """Run a cell, attach to it when it waits or runs, or hand out its result when it has one.

        A command of bash runs only after one of those who are attached to it approved it. Raises ProtocolError when
        this host has no bash.
        """
        if language == "bash" and self.bash is None:
            raise ProtocolError(NO_BASH)
        stored = self.thread.result(cell_id)
        if stored is not None:
            attached.result(result_from(stored))
            return
        if cell_id in self.thread.unfinished and (self._cell is None or self._cell.id != cell_id):
            notice = said("host_died")
            attached.result(self._record(CellResult(cell_id, "died", notice=notice, notices=notice.notices)))
            return
        for cell in (self._cell, *self._queue):
            if cell is not None and cell.id == cell_id:
                cell.attached.append(attached)
                return
        for cell in self._undecided:
            if cell.id == cell_id:
                cell.attached.append(attached)
                self._ask_approval(cell, attached)
                return
        cell = Cell(cell_id, code, timeout_s or self._limits.cell_timeout_s, language, [attached])
        if language == "bash":
            self._undecided.append(cell)
            self._ask_approval(cell, attached)
        else:
            self._queue.append(cell)
            self._advance()

    def _ask_approval(self, cell: Cell, attached: Attached) -> None:
        if attached.approves:
            attached.approve(cell.code)
        else:
            self.decide(attached, approved=False, why=NO_APPROVER)

    def decide(self, attached: Attached, *, approved: bool, why: str | None = None) -> None:
        """The answer of one who was asked about a command. A refused one did not run: it may be asked for again."""
        for cell in [cell for cell in self._undecided if attached in cell.attached]:
            self._undecided.remove(cell)
            if approved:
                self._queue.append(cell)
                self._advance()
            else:
                notice = said("not_run", why=why or "it was not approved")
                for waiting in cell.attached:
                    waiting.result(CellResult(cell.id, "killed", notice=notice, notices=notice.notices))

    def detach(self, attached: Attached) -> None:
        """A client has gone; its cell runs on. A command that nobody waits for is not run without an approval."""
        for cell in (self._cell, *self._queue, *self._undecided):
            if cell is not None and attached in cell.attached:
                cell.attached.remove(attached)
        self._undecided = [cell for cell in self._undecided if cell.attached]

    def use_limits(self, limits: Limits) -> None:
        """From here on; what is built into the walls of a subprocess holds from its next start on."""
        before, self._limits = self._limits, limits
        same = (before.output_kb, before.output_file_mb) == (limits.output_kb, limits.output_file_mb)
        if self._captures and self._cell is None and not same:
            self._drop_captures()
            self._captures = self._new_captures()

    @property
    def workspace(self) -> int | None:
        """The open folder of the live session's workspace."""
        return self._workspace.folder

    @property
    def limits(self) -> Limits:
        """What its next cell may use."""
        return self._limits

    def interrupt(self) -> bool:
        """Stop the running cell and keep the session. False when none runs."""
        return self._stop("killed")

    def reply(self, number: int, value: object, error: str | None) -> None:
        """Pass on the answer to a cell's request."""
        if self.session is not None and self._cell is not None and self._asked == number:
            self._asked = None
            self.session.send({"type": "reply", "id": number, "value": value, "error": error})

    def put(self, name: str, descriptor: int, limit: int) -> str:
        """Take a file that somebody gave: into the store, and into the workspace. Returns the name it has there.

        The same file given twice under one name is one file. Raises TooLarge beyond `limit` bytes.
        """
        sha256, size = self._home.keep(descriptor, min(limit, self._limits.workspace_mb << 20))
        for file in self.thread.files.values():
            if (file.given, file.sha256) == (name, sha256):
                return file.name
        file = KeptFile(free_name(clean_name(name), self.thread.files), sha256, size, given=name)
        self._workspace.place([file])
        self.thread.set_files(self.thread.files | {file.name: file})
        return file.name

    def reset(self) -> None:
        """End the session and forget what cells made; the files that people gave stay."""
        self._checkpoint.forget()
        if self.bash is not None:
            self.bash.end("the session was reset")
        self._end_session("the session was reset")
        self._losses.forget()
        if self.bash is not None:
            self.bash.forget()
        self.thread.set_files({name: file for name, file in self.thread.files.items() if file.given is not None})

    def undo(self, cell_id: str) -> bool:
        """Go back to before a cell that has ended, variables and files; False when that is not kept (any more).

        Asked again for the same cell nothing changes. Raises ProtocolError while a cell waits or runs.
        """
        if self._cell is not None or self._queue:
            raise ProtocolError("a cell waits or runs; it must end before one can be undone")
        if cell_id == self.thread.undone_cell:
            return True
        cells, unsettled = self.thread.cell_ids, self.thread.unsettled
        if unsettled and cell_id in cells and cells.index(unsettled[-1]) > cells.index(cell_id):
            return False
        outcomes = {self._checkpoint.undo(cell_id)} | ({self.bash.undo(cell_id)} if self.bash is not None else set())
        if "gone" in outcomes:
            return False
        if self.thread.undo_files(cell_id) or "undone" in outcomes or cell_id in unsettled:
            self._end_session("a cell was undone")
            self.thread.undone(cell_id)
            self._losses.go_on_from_what_is_kept()
        return True

    def pack(self, answer: Callable[[Message], None]) -> None:
        """Tell what another host needs to go on: `answer` gets it once the variables of the last cell are kept."""
        if self._settling is not None:
            self._packing.append(answer)
            return
        state, parts = self._checkpoint.packed()
        files = [asdict(file) for file in self.thread.files.values()]
        paths = {file.sha256: str(self._home.path_of(file.sha256)) for file in self.thread.files.values()}
        paths |= {sha256: str(path) for sha256, path in parts.items()}
        cells, unsettled = self.thread.cell_ids, self.thread.unsettled
        answer({"state": state, "files": files, "cells": cells, "unsettled": unsettled, "paths": paths})

    def unpack(self, packed: Mapping[str, object]) -> None:
        """Go on from what another host packed; its contents are in the home already. What was here is older."""
        files = [kept_file_from(item) for item in sequence(packed, "files", _MANY_FILES)]
        state = None if packed.get("state") is None else dict(mapping(packed, "state"))
        cells = list(texts(packed, "cells", 500, _MANY_CELLS))
        unsettled = list(texts(packed, "unsettled", 500, _MANY_CELLS)) if "unsettled" in packed else []
        self._end_session("its thread went on at another host")
        self._checkpoint.adopt(state, self._home.path_of)
        self.thread.adopt({file.name: file for file in files}, cells, unsettled)
        self._losses.go_on_from_what_is_kept()

    def variables(self) -> list[Message]:
        """The variables after the last cell: name, type, shape, bytes, and the cell that last set each."""
        ids = self.thread.cell_ids
        return [
            {key: item[key] for key in ("name", "type", "shape", "bytes")}
            | {"cell_id": ids[item["cell"] - 1] if 0 < item["cell"] <= len(ids) else None}
            for item in self._losses.variables
        ]

    def where(self, answer: Callable[[Message | None], None]) -> None:
        """Ask where the running cell is; `answer` gets it a moment later, None when nothing runs."""
        cell, session = self._cell, self.running_session
        if cell is None or session is None:
            answer(None)
            return
        session.ask_where()

        def tell() -> None:
            line = session.where()
            seconds = round(time.monotonic() - cell.started, 3)
            answer({"cell_id": cell.id, "line": line, "source": source_of(cell, line), "seconds": seconds})

        self._loop.call_later(_WHERE_S, tell)

    @property
    def idle(self) -> bool:
        """Whether it could be put to rest: a live session that neither runs nor settles."""
        return (
            self.session is not None and self.session.ready and self._cell is None and not self._queue and self.settled
        )

    @property
    def settled(self) -> bool:
        """Whether what cells left in the variables is kept, as far as it can be."""
        return self._settling is None and (self.bash is None or self.bash.settled)

    @property
    def dormant(self) -> bool:
        """Whether nothing is alive or waiting: all there is of it is on disk."""
        return self.session is None and self._cell is None and not self._queue

    def rest(self) -> None:
        """End the subprocess; the next cell brings its variables back."""
        if self.idle:
            if self.bash is not None:
                self.bash.end("it was idle")
            self._end_session("it was idle")

    def _end_session(self, why: str) -> None:
        """End the subprocess on purpose: what it is keeping stays unsettled, what it is putting back stays kept."""
        self._forget_settling()
        if self.session is not None:
            self._ordered = True
            self.session.kill(why)
            self._ordered = False

    @property
    def running(self) -> str | None:
        """The id of the running cell."""
        return self._cell.id if self._cell is not None else None

    def close(self) -> None:
        """Let go of everything; the subprocess is killed."""
        self._queue.clear()
        if self.bash is not None:
            self.bash.close()
        self._end_session("the host is shutting down")
        self._checkpoint.close()
        self.thread.close()

    # What the session tells

    def session_ready(self, session: Session) -> None:
        """Put the thread's variables and files in place, both at once, and go on."""
        self._failed_starts = 0
        state = self._losses.open()
        session.begin(state)
        if state is not None:
            self._restoring = True
            self._settle(session)
        self._losses.files_left_out(self._workspace.enter(session))
        self._captures = self._new_captures()
        self._advance()

    def session_said(self, session: Session, message: Message) -> None:
        """A frame from the subprocess: nothing in it is believed beyond its shape."""
        kind = one_of(message, "type", ("result", "request", "state", "restored"))
        cell = self._cell if self._cell is not None and self._cell.language == "python" else None
        due = ("result", "request") if cell is not None else ("restored",) if self._restoring else ("state",)
        if kind not in due or (cell is None and self._settling is None):
            raise ProtocolError("it spoke out of turn")
        if kind == "result" and cell is not None:
            self._finish_by(message, cell)
            if self.session is not None and self.session.ready:
                self._settle(self.session)
        elif kind == "request" and cell is not None:
            self._pass_request(message, cell)
        elif kind == "state":
            what = announced(message)
            if what.size > self._state_limit:
                raise ProtocolError("its variables are larger than what may be kept")
            session.receive(self._checkpoint.receive(what))
        else:
            self._losses.put_back(message)
            self._settled()

    def session_saved(self, session: Session, receiver: Receiver) -> None:
        """The bytes of the variables have all come."""
        self._losses.keep(receiver)
        self._settled()

    def session_wrote(self, session: Session, stream: str, data: bytes) -> None:
        """Bytes of stdout or stderr."""
        capture = self._captures.get(stream)
        if capture is None:
            return
        lines = capture.feed(data)
        if lines and self._cell is not None:
            for attached in self._cell.attached:
                attached.output(stream, lines)

    def session_gone(self, session: Session, ending: Ending) -> None:
        """The subprocess is no more: whatever ran has ended with it. What could not even begin gets another one."""
        self.session = None
        self._tally.ended += 1
        self._tally.lived_s += time.monotonic() - self._session_began
        if self.bash is not None:
            shared = "the Python process, whose working folder it shares, ended"
            # the folder's limits end the Python process, also when it is a command that goes beyond them
            self.bash.end(ending.why if ending.by_limit else shared, unexpected=True, by_limit=ending.by_limit)
        if self._restoring:
            self._losses.died_restoring(ending)
        elif self._settling is not None:
            self._losses.died_keeping(ending)
        self._forget_settling()
        cell = self._cell
        if cell is None and self.workspace is None and self._queue and not self._ordered:
            self._failed_starts += 1
            if self._failed_starts == _TRIES_TO_START:
                cell = self._queue.popleft()
                cell.number = self.thread.started(cell.id)
                self._failed_starts = 0
        if cell is not None:
            cell.line = session.where() if cell.stopped_by is not None else None
            status: CellStatus = cell.stopped_by or ("killed" if ending.by_limit else "died")
            self._finish(cell, Outcome(status, self._ending(cell, ending)))
        else:
            self._losses.ended_between_cells(ending)
        self._workspace.leave()
        self._checkpoint.close()
        self._drop_captures()
        self._captures = {}
        self._pack_for_those_who_wait()
        self._advance()

    # What its shell tells

    def bash_ready(self) -> None:
        """The shell takes a command now."""
        self._failed_shells = 0
        self._advance()

    def bash_said(self, message: Message) -> None:
        """A command has ended."""
        if self._cell is None or self._cell.language != "bash":
            raise ProtocolError("it reported a command that does not run")
        self._finish_by(message, self._cell)

    def bash_gone(self, ending: Ending) -> None:
        """The shell is no more: the command that ran has ended with it. One that waited for it gets another one."""
        cell = self._cell
        if cell is None and self.session is not None and self._queue and self._queue[0].language == "bash":
            self._failed_shells += 1
            if self._failed_shells == _TRIES_TO_START:
                cell = self._queue.popleft()
                cell.number = self.thread.started(cell.id)
                self._failed_shells = 0
        if cell is not None and cell.language == "bash":
            status: CellStatus = cell.stopped_by or ("killed" if ending.by_limit else "died")
            self._finish(cell, Outcome(status, self._ending(cell, ending)))
        if self.session is not None:
            self._advance()

    @property
    def running_session(self) -> Session | None:
        """The subprocess that the running cell runs in; the one of Python when none runs."""
        if self._cell is not None and self._cell.language == "bash":
            return self.bash.session if self.bash is not None else None
        return self.session

    @property
    def sessions(self) -> list[Session]:
        """Its living subprocesses: the one of Python, and the shell if there is one."""
        shell = self.bash.session if self.bash is not None else None
        return [session for session in (self.session, shell) if session is not None]

    # Variables

    def _settle(self, session: Session) -> None:
        why = said("slow_to_restore" if self._restoring else "slow_to_keep")
        self._settling = self._loop.call_later(_SETTLE_S, lambda: session.kill(why))

    def _settled(self) -> None:
        self._forget_settling()
        self._pack_for_those_who_wait()
        self._advance()

    def _forget_settling(self) -> None:
        if self._settling is not None:
            self._settling.cancel()
        self._settling, self._restoring = None, False

    def _pack_for_those_who_wait(self) -> None:
        waiting, self._packing = self._packing, []
        for answer in waiting:
            self.pack(answer)

    def _fate(self, cell: Cell) -> str | None:
        """What becomes of the variables when a subprocess is gone in the middle of a cell."""
        if cell.language == "bash" and self.bash is not None:
            return self.bash.fate()
        return self._losses.fate()

    # The running cell

    def _advance(self) -> None:
        if self._cell is not None or not self._queue:
            return
        self.last_used = time.monotonic()
        if self.session is None:
            self._workspace.prepare()
            self._state_limit = self._limits.memory_mb << 20
            self.session = self._start(self)
            self._tally.started += 1
            self._session_began = time.monotonic()
        elif self.session.ready and self._settling is None and self.workspace is not None:
            session: Session | None = self.session
            if self._queue[0].language == "bash" and self.bash is not None:
                session = self.bash.take(beside=self.session)
            if session is not None:
                self._begin(self._queue.popleft(), session)

    def _begin(self, cell: Cell, session: Session) -> None:
        self._cell = cell
        cell.number = self.thread.started(cell.id)
        cell.started = time.monotonic()
        cell.deadline = self._loop.call_later(cell.timeout_s, self._time_out)
        self._workspace.watch()
        session.send({"type": "run", "cell": cell.id, "number": cell.number, "code": cell.code})

    def _time_out(self) -> None:
        self._stop("timeout")

    def _stop(self, status: CellStatus) -> bool:
        """Ask the cell to stop; kill the session when it does not within the grace time."""
        cell, session = self._cell, self.running_session
        if cell is None or session is None or cell.stopped_by is not None:
            return cell is not None
        cell.stopped_by = status
        if cell.deadline is not None:
            cell.deadline.cancel()
        session.ask_where()
        session.interrupt()
        cell.deadline = self._loop.call_later(self._limits.cell_grace_s, lambda: session.kill(said("deaf")))
        return True

    def _pass_request(self, message: Message, cell: Cell) -> None:
        number = integer(message, "id")
        if self._asked is not None:
            raise ProtocolError("it asked before it was answered")
        self._asked = number
        kind = one_of(message, "kind", ("query", "ask", "note"))
        payload = dict(mapping(message, "payload"))
        for attached in cell.attached:
            if attached.answers:
                attached.request(number, kind, payload)
                return
        self.reply(number, None, NO_JOB)

    def _finish_by(self, message: Message, cell: Cell) -> None:
        """End a cell as its own subprocess reports it."""
        session = self.running_session
        if session is not None:
            cell.line = session.where()
            session.drain()
        outcome = reported(message, cell, self._limits)
        if session is not None and session.newly_killed_for_memory():
            some = said("some_out_of_memory", limit=self._limits.memory_mb)
            outcome = replace(outcome, notice=together(outcome.notice, some))
        self._finish(cell, outcome)

    def _finish(self, cell: Cell, outcome: Outcome) -> None:
        duration = time.monotonic() - cell.started if cell.started else 0.0
        if cell.deadline is not None:
            cell.deadline.cancel()
        read, changed = self._workspace.seen()
        found = self._workspace.collect(cell.id, self._limits, changed=changed)
        stdout, long_stdout = self._output("stdout")
        stderr, long_stderr = self._output("stderr")
        self._captures = self._new_captures() if self.session is not None else {}
        died = self.session is None and cell.language == "python"  # then the outcome says what is lost with it
        told = cell.started > 0 and (died or self._losses.note is not None)
        notice = together(self._take_notes(cell), outcome.notice) if cell.started else outcome.notice
        self.last_used = time.monotonic()
        result = CellResult(
            id=cell.id,
            status=outcome.status,
            stdout=stdout,
            stderr=stderr,
            result=outcome.display,
            error=outcome.error,
            artifacts=tuple(self._workspace.artifacts(found, outcome.figures)) + long_stdout + long_stderr,
            rejected=(*found.rejected, *outcome.problems),
            files_read=read,
            duration_s=round(duration, 6),
            notice=notice,
            notices=notices_of(notice),
            exit_status=outcome.exit_status,
        )
        session = self.session if cell.language == "python" else None
        self._record(result, settles=session is not None and session.ready, told=told)
        if told:
            self._losses.told(lives=self.session is not None)
        self._cell = self._asked = None
        for attached in cell.attached:
            attached.result(result)

    def _take_notes(self, cell: Cell) -> str | None:
        """What there is to say about the session since the last cell, and about the shell since its last command."""
        notes = [self._losses.take_note()]
        if cell.language == "bash" and self.bash is not None:
            notes.append(self.bash.note)
            self.bash.note = None
        return together(*notes)

    def _record(self, result: CellResult, *, settles: bool = False, told: bool = False) -> CellResult:
        self.thread.finished(result.id, result_to(result), settles=settles, told=told)
        return result

    def _ending(self, cell: Cell, ending: Ending) -> str | None:
        if cell.stopped_by is not None:
            return together(stopped(cell), said("had_to_be_killed"), self._fate(cell))
        process = "Python" if cell.language == "python" else "bash"
        if not cell.started:
            return said("not_started", process=process, why=ending.why)
        if ending.by_limit:
            return together(said("over_limit", what=what(cell), why=ending.why), self._fate(cell))
        return together(said("ended", process=process, what=what(cell), why=ending.why), self._fate(cell))

    # Output

    def _new_captures(self) -> dict[str, Capture]:
        limit, whole = self._limits.output_kb << 10, self._limits.output_file_mb << 20
        return {stream: Capture(limit, self._home.temporary, whole) for stream in ("stdout", "stderr")}

    def _output(self, stream: str) -> tuple[str, tuple[Artifact, ...]]:
        capture = self._captures.pop(stream, None)
        if capture is None:
            return "", ()
        shown = capture.finish()
        whole = capture.close()
        if whole is None:
            return shown, ()
        sha256, size = self._home.adopt(whole)
        return shown, (Artifact(f"{stream}.txt", "text/plain", size, sha256, str(self._home.path_of(sha256))),)

    def _drop_captures(self) -> None:
        for capture in self._captures.values():
            if (path := capture.close()) is not None:
                path.unlink()


_SETTLE_S = 60.0
_MANY_FILES, _MANY_CELLS = 20_000, 100_000
_WHERE_S = 0.03  # a signal handler in C answers well within it
_TRIES_TO_START = 3  # some ends come from outside, as when a zygote takes all with it
