"""Runs inside a rival's own environment and times it there, so that the transport is not counted against it.

One JSON object a line on stdin, one answer a line on stdout: `{"open": code}` starts a session and runs its first cell,
`{"run": code}` runs a cell, `{"time": code, "times": n}` runs it n times. End of input ends the session.
Run as `python driver.py open-interpreter|smolagents`; imports nothing of ours.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

Run = Callable[[str], str]


def main(name: str) -> None:
    """Serve one rival until the end of input."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints must not be taken for an answer
    begin = time.perf_counter()
    start, end = RIVALS[name]()
    _answer(answers, {"seconds": time.perf_counter() - begin})
    run: Run = _closed
    for line in sys.stdin:
        request = json.loads(line)
        try:
            begin = time.perf_counter()
            if "open" in request:
                run = start()
                output = run(request["open"])
                reply: dict[str, Any] = {"seconds": time.perf_counter() - begin, "output": output}
            elif "run" in request:
                reply = {"output": run(request["run"])}
            else:
                reply = {"times": [_timed(run, request["time"]) for _ in range(request["times"])]}
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"[:500]}
        _answer(answers, reply)
    end()


def _open_interpreter() -> tuple[Callable[[], Run], Callable[[], None]]:
    library: Any = importlib.import_module("interpreter")
    opened: list[Any] = []

    def start() -> Run:
        session = library.OpenInterpreter()
        opened.append(session)
        return lambda code: "".join(
            part["content"] for part in session.computer.run("python", code) if part.get("format") == "output"
        )

    return start, lambda: [session.computer.terminate() for session in opened] and None


def _smolagents() -> tuple[Callable[[], Run], Callable[[], None]]:
    library: Any = importlib.import_module("smolagents.local_python_executor")

    def start() -> Run:
        session = library.LocalPythonExecutor(
            ["pandas", "matplotlib", "matplotlib.*"], max_print_outputs_length=10_000_000
        )
        session.send_tools({})
        return lambda code: str(session(code).logs)

    return start, lambda: None


RIVALS = {"open-interpreter": _open_interpreter, "smolagents": _smolagents}


def _closed(code: str) -> str:
    raise RuntimeError("no session is open")


def _timed(run: Run, code: str) -> float:
    begin = time.perf_counter()
    run(code)
    return time.perf_counter() - begin


def _answer(answers: Any, message: dict[str, Any]) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()


if __name__ == "__main__":
    main(sys.argv[1])
