"""The broker's socket: one request per connection, a thread for each. A client that hangs up stops its statement."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from core.telemetry import get_logger
from executor.frames import ProtocolError, encode
from workers.sidecar.messages import Failed
from workers.sidecar.serving import NotOurUser, private_listener, read_request
from workers.sources.broker.broker import CANCEL_AGAIN_S, Broker, Job
from workers.sources.broker.requests import LIMIT, Request
from workers.sources.errors import SourceError

log = get_logger(__name__)


class Server:
    """Serves one broker on a socket that only this user can open."""

    def __init__(self, broker: Broker, path: Path) -> None:
        self._broker = broker
        self._path = path
        self._listener = private_listener(path)

    def serve(self) -> None:
        """Take connections until the socket is closed."""
        with contextlib.suppress(OSError):
            while True:
                peer, _ = self._listener.accept()
                try:
                    threading.Thread(target=self._serve, args=(peer,), name="request", daemon=True).start()
                except (RuntimeError, MemoryError):  # no memory for one more; the asker may ask again
                    log.warning("broker_is_full")
                    peer.close()

    def close(self) -> None:
        """Take no more connections."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._path.unlink(missing_ok=True)
        self._broker.close()

    def _serve(self, peer: socket.socket) -> None:
        with peer:
            try:
                if (message := read_request(peer, LIMIT)) is not None:
                    self._answer(peer, message)
            except NotOurUser:
                log.warning("broker_refused_a_user")
            except (OSError, ProtocolError, ValidationError) as error:
                log.warning("broker_request_failed", why=type(error).__name__)

    def _answer(self, peer: socket.socket, message: dict[str, object]) -> None:
        if message == {"ask": "kinds"}:
            peer.sendall(encode({"answered": {"value": self._broker.kinds()}}))
            return
        if message == {"ask": "memory"}:
            memory = self._broker.memory
            told = {"used_mb": memory.used_mb, "limit_mb": memory.limit_mb, "refused": memory.refused}
            peer.sendall(encode({"answered": {"value": told}}))
            return
        reply, descriptor = self._reply(peer, Request.model_validate(message))
        try:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # nobody waits any more
                _send(peer, reply, descriptor)
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def _reply(self, peer: socket.socket, request: Request) -> tuple[dict[str, object], int | None]:
        job = Job()
        try:
            with _left_when_gone(peer, job):
                answer, descriptor = self._broker.answer(request, job)
        except SourceError as error:
            failed = Failed(kind=type(error).__name__, message=str(error))
        except Exception as error:
            # Its message may quote a row, or an address.
            log.error("broker_failed", why=type(error).__name__)  # noqa: TRY400
            failed = Failed(
                kind="SourceAway",
                message="The query failed for a reason of ours, which is in the log. Try it in another way.",
            )
        else:
            return {"answered": answer.model_dump()}, descriptor
        return {"failed": failed.model_dump()}, None


@contextlib.contextmanager
def _left_when_gone(peer: socket.socket, job: Job) -> Iterator[None]:
    over, ended = os.pipe()

    def watch() -> None:
        ready, _, _ = select.select([peer.fileno(), over], [], [])
        while over not in ready:  # the client has hung up: it sends nothing but its request
            job.leave()
            ready, _, _ = select.select([over], [], [], CANCEL_AGAIN_S)

    watcher = threading.Thread(target=watch, name="watch", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        os.close(ended)
        watcher.join()
        os.close(over)


def _send(peer: socket.socket, message: dict[str, object], descriptor: int | None) -> None:
    frame = encode(message)
    sent = socket.send_fds(peer, [frame], [descriptor]) if descriptor is not None else 0
    peer.sendall(frame[sent:])
