"""All contestants behind one interface: open a session with a first cell, run cells, time cells."""

from __future__ import annotations

import importlib
import itertools
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from bench.rivals.environment import LeftOut, environment
from executor.client import SessionClient

_PATIENCE_S = 180.0
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Session:
    """An open session. `first_s`: from nothing to the end of its first cell. `pid`: the root of its own processes."""

    run: Callable[[str], str]
    timed: Callable[[str, int], list[float]]
    first_s: float
    first: str
    pid: int | None = None


class Contestant(Protocol):
    """Something that runs cells.

    `slow`: measured in fewer rounds and cells. `copies`: how many sessions are opened for its memory figure.
    """

    name: str
    slow: bool
    copies: int

    def open(self, first: str) -> AbstractContextManager[Session]:
        """A fresh session that has run the cell `first`; ended with the block."""
        ...


@dataclass
class Threadbook:
    """The product, through its public client."""

    client: SessionClient
    name: str = "threadbook"
    slow: bool = False
    copies: int = 0

    @contextmanager
    def open(self, first: str) -> Iterator[Session]:
        """A thread that has had no cell yet."""
        thread = f"T:bench:{next(_numbers)}"

        def run(code: str) -> str:
            result = self.client.run(thread, f"c{next(_numbers)}", code)
            if result.status != "ok":
                raise RuntimeError(f"a measured cell ended as {result.status}: {result.error or result.notices}")
            return result.stdout

        yield _begun(lambda: run, first)
        self.client.reset(thread)


class PlainChild:
    """An interpreter behind two pipes that gets cells as JSON lines, without a sandbox: the least that could work."""

    name = "plain child"
    slow = False
    copies = 8
    _LOOP = """
import json, sys
space = {}
for line in sys.stdin:
    exec(json.loads(line), space)
    print("\\x04", flush=True)
"""

    @contextmanager
    def open(self, first: str) -> Iterator[Session]:
        """A fresh interpreter."""
        children: list[subprocess.Popen[str]] = []

        def start() -> Callable[[str], str]:
            command = [sys.executable, "-q", "-c", self._LOOP]
            child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            children.append(child)
            if child.stdin is None or child.stdout is None:
                raise RuntimeError("the child has no pipes")
            stdin, stdout = child.stdin, child.stdout

            def run(code: str) -> str:
                stdin.write(json.dumps(code) + "\n")
                stdin.flush()
                lines: list[str] = []
                while (line := stdout.readline()) != "\x04\n":
                    if not line:
                        raise RuntimeError("the child ended")
                    lines.append(line)
                return "".join(lines)

            return run

        try:
            session = _begun(start, first)
            yield Session(session.run, session.timed, session.first_s, session.first, children[0].pid)
        finally:
            for child in children:
                child.kill()
                child.communicate()


class Ipykernel:
    """A Jupyter kernel through jupyter_client, no sandbox."""

    name = "ipykernel"
    slow = False
    copies = 8

    def __init__(self) -> None:
        try:
            self._manager: Any = importlib.import_module("jupyter_client.manager").KernelManager
            importlib.import_module("ipykernel")
        except ImportError as error:
            raise LeftOut(f"not installed: {error.name}") from None

    @contextmanager
    def open(self, first: str) -> Iterator[Session]:
        """A fresh kernel."""
        command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        manager: Any = self._manager(kernel_cmd=command)
        clients: list[Any] = []

        def start() -> Callable[[str], str]:
            manager.start_kernel(stderr=subprocess.DEVNULL)
            client = manager.blocking_client()
            clients.append(client)
            client.start_channels()
            client.wait_for_ready(timeout=_PATIENCE_S)

            def run(code: str) -> str:
                found: list[str] = []
                client.execute_interactive(
                    code,
                    timeout=_PATIENCE_S,
                    output_hook=lambda message: found.append(message["content"].get("text", "")),
                )
                return "".join(found)

            return run

        try:
            session = _begun(start, first)
            yield Session(session.run, session.timed, session.first_s, session.first, int(manager.provisioner.pid))
        finally:
            for client in clients:
                client.stop_channels()
            manager.shutdown_kernel(now=True)


class Driven:
    """A rival that lives in an environment of its own and is timed there, by `driver.py`. Its import is not counted."""

    def __init__(self, name: str, packages: Sequence[str], *, slow: bool = False, copies: int = 3) -> None:
        self.name = name
        self.slow = slow
        self.copies = copies
        self._python = environment(name, packages)

    @contextmanager
    def open(self, first: str) -> Iterator[Session]:
        """A fresh process with the library imported, and a session in it."""
        home = self._python.parent.parent / "home"
        home.mkdir(exist_ok=True)
        with subprocess.Popen(
            [self._python, Path(__file__).with_name("driver.py"), self.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=home,
            env={
                "PATH": f"{self._python.parent}:{os.defpath}",
                "HOME": str(home),
                "MPLBACKEND": "Agg",
                "DISABLE_TELEMETRY": "true",
                "LITELLM_LOCAL_MODEL_COST_MAP": "true",  # else its import waits for an answer from the network
            },
        ) as child:
            if child.stdin is None or child.stdout is None:
                raise RuntimeError("the driver has no pipes")
            stdin, stdout = child.stdin, child.stdout
            patience = threading.Timer(_PATIENCE_S, child.kill)
            patience.start()

            def ask(request: dict[str, Any] | None) -> dict[str, Any]:
                if request is not None:
                    stdin.write(json.dumps(request) + "\n")
                    stdin.flush()
                line = stdout.readline()
                reply: dict[str, Any] = json.loads(line) if line else {"error": "its process ended or took too long"}
                if "error" in reply:
                    raise RuntimeError(reply["error"])
                return reply

            try:
                ask(None)
                opened = ask({"open": first})
                yield Session(
                    run=lambda code: str(ask({"run": code})["output"]),
                    timed=lambda code, times: list(ask({"time": code, "times": times})["times"]),
                    first_s=float(opened["seconds"]),
                    first=str(opened["output"]),
                    pid=child.pid,
                )
            finally:
                patience.cancel()
                ending = threading.Timer(10.0, child.kill)
                ending.start()
                stdin.close()
                child.wait()
                ending.cancel()


def rivals() -> tuple[list[Contestant], dict[str, str]]:
    """The rivals that can be measured here, and why each other one cannot."""
    makers: dict[str, Callable[[], Contestant]] = {
        "plain child": PlainChild,
        "ipykernel": Ipykernel,
        "open-interpreter": lambda: Driven(
            # it imports pkg_resources, which newer versions of setuptools no longer bring
            "open-interpreter",
            ["open-interpreter", "setuptools<81", "pandas", "matplotlib"],
            slow=True,
        ),
        "smolagents": lambda: Driven("smolagents", ["smolagents", "pandas", "matplotlib"]),
    }
    found: list[Contestant] = []
    left_out: dict[str, str] = {}
    for name, make in makers.items():
        try:
            found.append(make())
        except LeftOut as why:
            left_out[name] = str(why)
    return found, left_out


def _begun(start: Callable[[], Callable[[str], str]], first: str) -> Session:
    begin = time.perf_counter()
    run = start()
    output = run(first)
    first_s = time.perf_counter() - begin

    def timed(code: str, times: int) -> list[float]:
        found: list[float] = []
        for _ in range(times):
            begin = time.perf_counter()
            run(code)
            found.append(time.perf_counter() - begin)
        return found

    return Session(run, timed, first_s, output)
