"""The tools process's socket: a fork for each request, so that no server can harm more than the call that asked it.

This process imports the protocol once, holds the secrets, and runs nothing of a server's words. A fork talks with one
server for one request and ends. If its server does not end, it is killed here.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import NoReturn

import anyio
from pydantic import ValidationError

from core.errors import SettingsError
from core.settings import Settings, mcp_secrets
from core.telemetry import get_logger
from executor.frames import ProtocolError, encode
from executor.linux import die_with_parent
from executor.processes import end_children
from workers.sidecar.messages import Failed
from workers.sidecar.serving import NotOurUser, private_listener, read_request
from workers.tools import session
from workers.tools.errors import Refused, ToolAway, ToolError
from workers.tools.requests import LIMIT, Answered, Request

log = get_logger(__name__)

MOST_CALLS = 32
"""Requests at once; others wait."""
END_S = 15
"""Seconds after its time limit in which a fork must end its server. Then the fork is killed."""
_LOOK_S = 0.2


class Server:
    """Serves one node's tools on a socket that only this user can open. `held` are secrets by their variables."""

    def __init__(self, settings: Settings, held: Mapping[str, str], path: Path, folder: Path | None = None) -> None:
        self._settings = settings
        self._held = held
        self._folder = folder
        self._path = path
        self._calls: set[int] = set()
        self._listener = private_listener(path)
        self._listener.settimeout(_LOOK_S)

    def serve(self) -> NoReturn:
        """Take requests until this process is told to end."""
        while True:
            self._reap()
            if len(self._calls) >= MOST_CALLS:
                with contextlib.suppress(ChildProcessError):
                    self._calls.discard(os.wait()[0])
                continue
            with contextlib.suppress(TimeoutError):
                peer, _ = self._listener.accept()
                with peer:
                    self._fork(peer)

    def close(self) -> None:
        """Take no more requests, and end those that run with their servers."""
        self._listener.close()
        self._path.unlink(missing_ok=True)
        end_children()

    def _fork(self, peer: socket.socket) -> None:
        try:
            pid = os.fork()
        except OSError:  # no room for one more process; the asker may ask again
            log.warning("tools_are_full")
            return
        if pid:
            self._calls.add(pid)
            return
        try:
            self._listener.close()
            self._serve(peer)
        finally:
            os._exit(0)

    def _reap(self) -> None:
        """Forget the forks that have ended, and kill what any of them left behind."""
        ended = False
        with contextlib.suppress(ChildProcessError):
            while pid := os.waitpid(-1, os.WNOHANG)[0]:
                self._calls.discard(pid)
                ended = True
        if ended:
            end_children(kept=self._calls)

    def _serve(self, peer: socket.socket) -> None:
        """In the fork: read the request, do it, answer."""
        die_with_parent(signal.SIGKILL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        try:
            message = read_request(peer, LIMIT)
            if message is None:
                return
            request = Request.model_validate(message)
            signal.alarm(int(request.seconds) + END_S)  # a fork that hangs is ended by the kernel
            peer.sendall(encode(self._reply(peer, request)))
        except NotOurUser:
            log.warning("tools_refused_a_user")
        except (OSError, ProtocolError, ValidationError) as error:
            log.warning("tools_request_failed", why=type(error).__name__)

    def _reply(self, peer: socket.socket, request: Request) -> dict[str, object]:
        try:
            answered = self._answer(peer, request)
        except ToolError as error:
            log.info("tool_failed", server=request.server, tool=request.tool, why=type(error).__name__)
            failed = Failed(kind=type(error).__name__, message=str(error))
        except MemoryError:
            failed = Failed(kind="LimitReached", message="The server answers with more than is taken. Ask for less.")
        except Exception as error:
            # Its message may quote the server, or a secret.
            log.error("tool_call_failed", server=request.server, why=type(error).__name__)  # noqa: TRY400
            failed = Failed(kind="ToolAway", message="The call failed for a reason of ours, which is in the log.")
        else:
            if request.do == "call":
                log.info("tool_called", server=request.server, tool=request.tool, bytes=answered.bytes)
            return {"answered": answered.model_dump()}
        return {"failed": failed.model_dump()}

    def _answer(self, peer: socket.socket, request: Request) -> Answered:
        if request.do == "ping":
            return Answered()
        server = self._settings.mcp.get(request.server)
        if server is None:
            raise Refused(f"There is no server {request.server}.")
        try:
            secrets = mcp_secrets(self._settings, request.server, self._held, self._folder)
        except SettingsError:
            raise ToolAway(f"{request.server} is not set up whole. `threadbook doctor` says what to do.") from None
        folder = (self._folder or self._settings.config.parent).absolute()
        if request.do == "list":
            asked = partial(session.tools_of, server, secrets, folder)
        else:
            asked = partial(session.call, server, secrets, folder, request.tool, request.arguments)
        return anyio.run(_in_time, asked, request.seconds, peer)


async def _in_time(asked: partial[session.Asking], seconds: float, peer: socket.socket) -> Answered:
    """What is asked, unless it takes too long or the client hangs up."""
    found: list[Answered | Exception] = []
    with anyio.move_on_after(seconds):
        async with anyio.create_task_group() as group:

            async def left() -> None:
                await anyio.wait_readable(peer)  # it sends nothing but its request
                group.cancel_scope.cancel()

            group.start_soon(left)
            try:
                found.append(await asked())
            except Exception as error:
                found.append(error)
            group.cancel_scope.cancel()
    if not found:
        raise ToolAway("The server does not answer in time.")
    if isinstance(found[0], Exception):
        raise found[0]
    return found[0]
