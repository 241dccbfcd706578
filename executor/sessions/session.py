"""The host's side of one subprocess: its descriptors, its pidfd, and the frames it sends, checked.

Life: the zygote is asked for a fork (`starting`), the child reports ready (`ready`), runs cells, and ends (`gone`)
when its results descriptor closes, it breaks the protocol, or it is killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import signal
import socket
import struct
import sys
import termios
import traceback
from dataclasses import dataclass
from typing import Protocol

from executor.event_loop import Loop, Timer, Writer
from executor.frames import CLIENT_LIMIT, SESSION_LIMIT, FrameReader, Message, ProtocolError, encode
from executor.linux import pid_of, signal_main_thread
from executor.notices import notice, text_notice, words_of
from executor.processes import end_tree
from executor.sandbox.cgroup import Group, killed_for_memory
from executor.sessions.pipes import Ends, Pipes
from executor.sessions.refused_calls import RefusedCalls
from executor.sessions.state_pipe import StatePipe
from executor.state.received_state import Receiver
from executor.values import Notice
from executor.wire import clean

_CHUNK = 1 << 16
_LAST_WORD_S = 5.0
_WORDS = 1_000  # bytes of a failed set-up's complaint that are passed on
_DRAIN = 1 << 20  # most that is read of a stream after its cell has ended; a pipe holds less
_MISREAD = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""Errors of ours in reading a frame. They end the session that sent it, not the host."""
_FRAME_LINE = re.compile(rb'File "<cell \d+>", line (\d+)')


class Listener(Protocol):
    """Who is notified of what a session does."""

    def session_ready(self, session: Session) -> None:
        """The subprocess takes cells from now on."""

    def session_said(self, session: Session, message: Message) -> None:
        """A frame came out of it."""

    def session_wrote(self, session: Session, stream: str, data: bytes) -> None:
        """It printed."""

    def session_saved(self, session: Session, receiver: Receiver) -> None:
        """The bytes of its variables have all come."""

    def session_gone(self, session: Session, ending: Ending) -> None:
        """It has ended, or was ended because it broke the protocol; its last output has been read."""


@dataclass(frozen=True, slots=True)
class Ending:
    """Why a session ended, and whether a limit of ours ended it."""

    why: Notice
    by_limit: bool = False


class Session:
    """One subprocess."""

    def __init__(
        self,
        loop: Loop,
        number: int,
        listener: Listener,
        *,
        group: Group | None = None,
        file_user: int | None = None,
        contained: bool = True,
    ) -> None:
        self.number = number
        self.group = group
        self.file_user = file_user
        """The uid, here on the host, that owns the workspace's files; None when it is this process's own."""
        self.contained = contained
        """Whether the kernel ends all that it started together with it (a pid namespace)."""
        self.pid = 0
        self.workspace = -1
        """The workspace's folder, as the subprocess sees it; whoever listens closes it. Set when ready."""
        self.mounts: int | None = None
        """Its mount namespace, for a subprocess that is to share the workspace; closed when it has gone."""
        self.layers: dict[str, str] = {}
        self.refused: RefusedCalls | None = None
        """The calls that were refused by name; None where the kernel tells nobody."""
        self.ready = False
        self.gone = False
        self._loop = loop
        self._listener = listener
        self._pidfd: int | None = None
        self._reader = FrameReader(SESSION_LIMIT, hostile=True)
        self._last_word: Timer | None = None
        self._set_up = False
        self._words = b""
        self._killed_for_memory = 0
        self._memory_events = group.open_events() if group is not None else None
        self._line: int | None = None
        self._is_asked_where = False
        self._pipes = pipes = Pipes(loop, group)
        self._writer = Writer(loop, pipes.stdin)
        self._state = StatePipe(loop, pipes, saved=self._saved, broken=self.kill)
        loop.watch_read(pipes.results, self._on_results)
        loop.watch_read(pipes.stdout, lambda: self._on_output(pipes.stdout, "stdout", _CHUNK))
        loop.watch_read(pipes.stderr, lambda: self._on_output(pipes.stderr, "stderr", _CHUNK))
        loop.watch_read(pipes.setup.fileno(), self._on_setup)

    @property
    def child_ends(self) -> Ends:
        """The child's ends of the pipes, for the zygote."""
        return self._pipes.child_ends

    def forked(self, pidfd: int) -> None:
        """The zygote has forked: here is its handle."""
        if self.gone:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            os.close(pidfd)
            return
        self._pidfd = pidfd
        self.pid = pid_of(pidfd)

    def hand_over(self, listener: Listener) -> None:
        """From here on `listener` is notified."""
        self._listener = listener

    def send_place(self, place: Message, mounts: int | None) -> None:
        """Say, before it is forked, where the subprocess will stand. `mounts`: the namespace of the one beside it."""
        socket.send_fds(self._pipes.setup, [encode(place)], [] if mounts is None else [mounts])

    def begin(self, state: tuple[Message, list[int]] | None = None) -> None:
        """Start its loop, with the variables of an earlier process if there are any. Closes `state`."""
        message, descriptors = state or ({"type": "fresh"}, [])
        with contextlib.suppress(OSError):  # a subprocess that has died already is noticed by its silence
            self._pipes.setup.shutdown(socket.SHUT_RD)  # from here on it only takes files
            socket.send_fds(self._pipes.setup, [encode(message)], descriptors)
        for descriptor in descriptors:
            os.close(descriptor)

    def send_file(self, number: int, descriptor: int) -> None:
        """Let the subprocess have an open file, which it takes when it reads the reply with this number.

        Raises ProtocolError when it has not taken the one before: what is under way is nobody's memory.
        """
        setup = self._pipes.setup
        if struct.unpack("i", fcntl.ioctl(setup, termios.TIOCOUTQ, b"\0" * 4))[0]:
            raise ProtocolError("it took no file that it had asked for")
        with contextlib.suppress(OSError):  # it has closed its end, and will find no file there
            socket.send_fds(setup, [encode({"type": "file", "id": number})], [descriptor])

    def receive(self, receiver: Receiver) -> None:
        """Read the bytes that the subprocess has announced; the listener hears when they are all there.

        Raises ProtocolError while those announced before have not all come.
        """
        self._state.receive(receiver)

    def send(self, message: Message) -> None:
        """Queue a frame for the subprocess's stdin."""
        self._writer.send(encode(message))

    def interrupt(self) -> None:
        """SIGINT: KeyboardInterrupt in the running cell."""
        self._signal_main_thread(signal.SIGINT)

    def ask_where(self) -> None:
        """Have the subprocess write down where it is, even from inside C code.

        `where` reads the answer a moment later.
        """
        self._pipes.read(self._pipes.trace, _DRAIN)
        self._line, self._is_asked_where = None, True
        self._signal_main_thread(signal.SIGUSR1)

    def where(self) -> int | None:
        """The line of the cell that ran when last asked, if the subprocess told."""
        if (
            self._is_asked_where
            and self._pipes.trace in self._pipes.open
            and (found := _FRAME_LINE.search(self._pipes.read(self._pipes.trace, _CHUNK) or b""))
        ):
            self._line = int(found[1][:9])
        return self._line

    def exited(self, code: int) -> None:
        """The zygote has seen the end of the process: an exit code, or minus a signal's number."""
        if self.newly_killed_for_memory():
            self._end(Ending(notice("memory"), by_limit=True))
        elif code == -signal.SIGKILL:
            self._end(Ending(notice("killed")))
        elif code < 0:
            self._end(Ending(notice("crashed", signal=_signal_name(-code))))
        else:
            self._end(Ending(notice("left", status=code)))

    def kill(self, why: Notice, *, by_limit: bool = False) -> None:
        """Send SIGKILL and count as gone at once: nothing more is expected of the process."""
        if not self.contained and self.pid and not self.gone:
            end_tree(self.pid)
        if self._pidfd is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        self._end(Ending(why, by_limit))

    def newly_killed_for_memory(self) -> int:
        """How many of its processes the kernel has killed for their memory since the last call."""
        if self._memory_events is None:
            return 0
        killed = killed_for_memory(self._memory_events)
        fresh, self._killed_for_memory = killed - self._killed_for_memory, killed
        return fresh

    def drain(self) -> None:
        """Read what is in the output pipes now: all that the subprocess printed before its last frame."""
        self._on_output(self._pipes.stdout, "stdout", _DRAIN)
        self._on_output(self._pipes.stderr, "stderr", _DRAIN)

    def _on_setup(self) -> None:
        descriptors: list[int] = []
        try:
            packet, descriptors, _, _ = socket.recv_fds(self._pipes.setup, _CHUNK, 2)
        except BlockingIOError:
            return
        except OSError:
            packet = b""
        try:
            messages = FrameReader(CLIENT_LIMIT).feed(packet)
        except ProtocolError:
            messages = []
        if messages and messages[0].get("type") == "listen" and len(descriptors) == 1 and self.refused is None:
            self.refused = RefusedCalls(self._loop, descriptors[0])
            return
        self._loop.forget(self._pipes.setup.fileno())
        if not messages or messages[0].get("type") != "ready" or not descriptors:
            self._pipes.setup.close()
            for descriptor in descriptors:
                os.close(descriptor)
            self.drain()
            words = clean(self._words.decode(errors="replace")).strip()
            self.kill(text_notice(words) if words else notice("setup_cut_off"))
            return
        self.ready = self._set_up = True
        self.workspace = descriptors[0]
        self.mounts = descriptors[1] if len(descriptors) > 1 else None
        self.layers = {str(name): str(value) for name, value in messages[0]["layers"].items()}
        self._listener.session_ready(self)

    def _saved(self, receiver: Receiver) -> None:
        self._listener.session_saved(self, receiver)

    def _on_results(self) -> None:
        data = self._pipes.read(self._pipes.results, _CHUNK)
        if data is None:
            return
        if not data:
            # The zygote is about to say how it ended; if it does not, the process closed its descriptor and lives on.
            self._pipes.close(self._pipes.results)
            self.ready = False
            self._last_word = self._loop.call_later(_LAST_WORD_S, lambda: self.kill(notice("closed")))
            return
        try:
            messages = self._reader.feed(data)
        except ProtocolError as error:
            self.kill(notice("protocol", error=str(error)))
            return
        for message in messages:
            if self.gone:
                return
            try:
                self._listener.session_said(self, message)
            except ProtocolError as error:
                self.kill(notice("protocol", error=str(error)))
            except OSError as error:  # of its thread's part of the disk: the other threads go on
                self.kill(notice("disk_refused", error=words_of(error)))
            except _MISREAD as error:
                # The message of the error would quote the frame, and so what people's code printed.
                print(
                    "".join(traceback.format_tb(error.__traceback__)), type(error).__name__, file=sys.stderr, flush=True
                )
                self.kill(notice("protocol", error=type(error).__name__))

    def _on_output(self, descriptor: int, stream: str, limit: int) -> None:
        left = limit
        while left > 0 and descriptor in self._pipes.open:
            data = self._pipes.read(descriptor, _CHUNK)
            if data is None:
                return
            if not data:
                self._pipes.close(descriptor)
                return
            left -= len(data)
            if self._set_up:
                self._listener.session_wrote(self, stream, data)
            else:
                self._words = (self._words + data)[-_WORDS:]

    def _signal_main_thread(self, signum: signal.Signals) -> None:
        if self._pidfd is not None:
            with contextlib.suppress(ProcessLookupError):
                signal_main_thread(self._pidfd, signum)

    def _end(self, ending: Ending) -> None:
        if self.gone:
            return
        if self._last_word is not None:
            self._last_word.cancel()
        self.drain()
        self.where()
        self._state.abandon()
        self.gone, self.ready = True, False
        self._pipes.close_all()
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None
        if self.mounts is not None:
            os.close(self.mounts)
            self.mounts = None
        if self._memory_events is not None:
            os.close(self._memory_events)
            self._memory_events = None
        if self.refused is not None:
            self.refused.close()
        self._listener.session_gone(self, ending)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # the real-time ones have numbers only
        return f"signal {number}"
