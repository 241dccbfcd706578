"""The doors again, by a fuzzer that sees which lines an input reaches: `make fuzz` runs it where atheris is installed.

Each door has a process of its own and a folder of inputs that reached new lines, `build/fuzz/<door>`, from which the
next run goes on. What breaks a reader goes into `corpus/`, as with door.py.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

import atheris

with atheris.instrument_imports(include=["core", "executor", "workers"]):
    import door as doors

SEEDS = Path(__file__).parents[2] / "build" / "fuzz"


def guided(door: str, seconds: float) -> None:
    """Fuzz a door for so many seconds of the processor, in this process, and end it: 1 when the reader broke."""
    folder = SEEDS / "".join(letter if letter.isalnum() else "-" for letter in door)
    folder.mkdir(parents=True, exist_ok=True)
    count, last, end = 0, None, time.process_time() + seconds

    def seen(value: Any) -> None:
        nonlocal count, last
        count, last = count + 1, value

    read = doors.read_by(door, seen).hypothesis.fuzz_one_input  # type: ignore[attr-defined]

    def one(data: bytes) -> None:
        if time.process_time() > end:
            print(f"{door}: {count:,} inputs, {len(list(folder.iterdir())):,} kept; all read or refused", flush=True)
            os._exit(0)
        try:
            read(data)
        except Exception as error:
            print(f"{door}: BROKEN after {count:,} inputs, kept in {doors.keep(door, last)}", flush=True)
            traceback.print_exception(error)
            os._exit(1)

    told = ["-max_len=4096", "-verbosity=0", "-timeout=120", f"-artifact_prefix={tempfile.gettempdir()}/"]
    atheris.Setup(["door", str(folder), *told], one)
    atheris.Fuzz()


def main() -> None:
    """Each door for its share of the minutes. Exit code 1 when one broke."""
    doors.be_quiet()
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    chosen = [door for door in doors.TARGETS if options.only in door]
    broken = 0
    for door in chosen:
        child = os.fork()
        if child == 0:
            guided(door, options.minutes * 60 / len(chosen))
        broken += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
