"""The requests that a client may make of the session host, each checked on arrival (PROTOCOL.md, first hop)."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import asdict

from executor.cell import Cell
from executor.client_connection import Connection, Handler
from executor.frames import Message, ProtocolError
from executor.interpreters.bash import COMMAND_LIMIT
from executor.linux import is_sealed
from executor.slices import Result, Work
from executor.values import Language
from executor.wire import content_name, integer, mapping, number, optional_text, text, texts

_MANY_CONTENTS = 100_000
_MANY_THREADS = 1_000
_CODE_LIMIT = 4 << 20
_PUT_LIMIT = 4 << 30
_NO_THREAD = ""
"""Whose work it is to take in contents that no thread names yet."""

# The host, and what it keeps


def _ping(client: Connection, message: Message) -> None:
    client.send({"type": "pong", "host": asdict(client.host.info())})


def _keep(client: Connection, message: Message) -> None:
    descriptor = _sent_file(client)

    def kept(content: tuple[str, int]) -> None:
        client.host.disk.sync(client.host.home.take_unsynced(), lambda: client.answer(content[0]), client.refuse)

    work = _closing(descriptor, client.host.home.keep(descriptor, _PUT_LIMIT))
    client.host.work.do(_NO_THREAD, work, kept, client.refuse)


def _held(client: Connection, message: Message) -> None:
    wanted = texts(message, "contents", 64, _MANY_CONTENTS)
    client.answer([sha256 for sha256 in wanted if client.host.home.holds(content_name({"sha256": sha256}))])


def _unused(client: Connection, message: Message) -> None:
    live = {notebook.thread.thread_id for notebook in client.host.live()}
    unused = [name for name in client.host.home.unused(number(message, "for_s")) if name not in live]
    client.answer(unused[: min(integer(message, "limit"), _MANY_THREADS)])


def _sessions(client: Connection, message: Message) -> None:
    live = [
        {"thread_id": notebook.thread.thread_id, "pid": notebook.session.pid, "cell_id": notebook.running}
        for notebook in client.host.live()
        if notebook.session is not None
    ]
    client.answer(live)


# Cells


def _run(client: Connection, message: Message) -> None:
    client.attach(_thread(message), message)
    client.answers = message.get("answers") is True
    code = message.get("code")
    if not isinstance(code, str) or len(code) > _CODE_LIMIT:
        raise ProtocolError(f"a cell is a text of at most {_CODE_LIMIT:,} characters")
    _submit(client, message, code, "python")


def _run_bash(client: Connection, message: Message) -> None:
    client.attach(_thread(message), message)
    client.approves = message.get("approves") is True
    command = message.get("command")
    if not isinstance(command, str) or len(command) > COMMAND_LIMIT or "\0" in command:
        raise ProtocolError(f"a command is a text of at most {COMMAND_LIMIT:,} characters, without a NUL")
    _submit(client, message, command, "bash")


def _submit(client: Connection, message: Message, code: str, language: Language) -> None:
    timeout = None if message.get("timeout_s") is None else number(message, "timeout_s")
    limits = client.host.limits_of(message)
    notebook = client.host.notebook(client.thread)
    notebook.use_limits(limits)
    timeout = timeout or limits.cell_timeout_s
    notebook.submit(Cell(text(message, "cell", 500), code, timeout, language, answers=client.answers), client)


def _approval(client: Connection, message: Message) -> None:
    if client.thread and client.approves:
        why = optional_text(message, "error", 1_000)
        approvals = client.host.notebook(client.thread).approvals
        approvals.decide(client, approved=message.get("value") is True, why=why)


def _reply(client: Connection, message: Message) -> None:
    file = client.descriptors.pop(0) if message.get("file") is True and client.descriptors else None
    try:
        if client.thread and isinstance(message.get("id"), int):
            error = optional_text(message, "error", 4_000)
            if message.get("file") is True and (file is None or not is_sealed(file)):
                error = "the rows came without a sealed file; ask again"
            sent = None if error is not None else file
            client.host.notebook(client.thread).reply(message["id"], message.get("value"), error, sent)
    finally:
        if file is not None:
            os.close(file)


def _interrupt(client: Connection, message: Message) -> None:
    client.answer(client.host.notebook(_thread(message)).interrupt())


def _where(client: Connection, message: Message) -> None:
    client.host.notebook(_thread(message)).where(client.answer)


# A thread's files and variables


def _put(client: Connection, message: Message) -> None:
    name, thread = text(message, "name", 500), _thread(message)
    notebook, restore = client.host.notebook(thread), message.get("restore") is True
    if message.get("sha256") is not None:
        work = notebook.put_held(name, content_name(message), restore=restore)
    else:
        descriptor = _sent_file(client)
        work = _closing(descriptor, notebook.put(name, descriptor, _PUT_LIMIT, restore=restore))
    client.host.work.do(thread, work, lambda placed: client.answer_once_durable(placed, notebook), client.refuse)


def _vars(client: Connection, message: Message) -> None:
    client.answer(client.host.notebook(_thread(message)).variables())


def _undo(client: Connection, message: Message) -> None:
    notebook = client.host.notebook(_thread(message))
    client.answer_once_durable(notebook.undo(text(message, "cell", 500)), notebook)


def _reset(client: Connection, message: Message) -> None:
    notebook = client.host.notebook(_thread(message))
    notebook.reset()
    client.answer_once_durable(None, notebook)


def _purge(client: Connection, message: Message) -> None:
    client.host.purge(_thread(message), client.purged)


def _export(client: Connection, message: Message) -> None:
    client.host.notebook(_thread(message)).export_session(client.answer)


def _import(client: Connection, message: Message) -> None:
    notebook = client.host.notebook(_thread(message))
    notebook.import_session(mapping(message, "session"))
    client.answer_once_durable(None, notebook)


HANDLERS: Mapping[str, Handler] = {
    "ping": _ping,
    "run": _run,
    "bash": _run_bash,
    "approval": _approval,
    "reply": _reply,
    "put": _put,
    "interrupt": _interrupt,
    "reset": _reset,
    "purge": _purge,
    "undo": _undo,
    "sessions": _sessions,
    "vars": _vars,
    "where": _where,
    "export": _export,
    "held": _held,
    "unused": _unused,
    "keep": _keep,
    "import": _import,
}
"""The requests that a host answers."""


def _sent_file(client: Connection) -> int:
    """The open file that came with the request. To read anything else may stop the loop for ever."""
    if not client.descriptors or not stat.S_ISREG(os.fstat(client.descriptors[-1]).st_mode):
        raise ProtocolError("this request comes with an open file")
    return client.descriptors.pop()


def _closing(descriptor: int, work: Work[Result]) -> Work[Result]:
    """The same work; when it is over, the descriptor is closed."""
    try:
        return (yield from work)
    finally:
        os.close(descriptor)


def _thread(message: Message) -> str:
    thread_id = text(message, "thread", 200)
    if not thread_id:
        raise ProtocolError("thread is empty")
    if thread_id in (".", ".."):
        raise ProtocolError("a thread has a name of its own")
    return thread_id
