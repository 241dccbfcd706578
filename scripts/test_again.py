"""Runs the fast and the integration tests many times on a busy machine, and lists every test that failed even once.

There are no second tries: a test that passes most of the time is a bug to be found. Exits with 1 unless the list is
empty.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree as Xml

_ELSEWHERE = "integration or browser or attack or fault"
_BY_FILE = ("-n", "4", "--dist", "loadfile", "--no-loadscope-reorder")
SUITES = {
    "fast": (*_BY_FILE, "-m", f"not (process or long or {_ELSEWHERE})"),
    "long": (*_BY_FILE, "-m", f"long and not (process or {_ELSEWHERE})"),
    "process": (*_BY_FILE, "-m", f"process and not ({_ELSEWHERE})"),
    "integration": (*_BY_FILE, "-m", "integration and not attack"),
    "attacks": ("-n", "2", *_BY_FILE[2:], "-m", "attack"),
}
BURN = "while True: pass"
_SAID = 4_000  # characters


def main(arguments: Sequence[str] | None = None) -> int:
    """Run them; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=20, help="how often each suite is run")
    parser.add_argument("--burners", type=int, default=os.cpu_count() or 1, help="processes that only take CPU time")
    parser.add_argument("--suite", choices=SUITES, action="append", help="only this one; may be given more than once")
    parser.add_argument("tests", nargs="*", help="only these files or tests")
    given = parser.parse_args(arguments)
    failed: Counter[str] = Counter()
    with load(given.burners):
        for number in range(1, given.times + 1):
            for suite in given.suite or SUITES:
                found = run_once([*SUITES[suite], *given.tests])
                failed.update(found)
                print(f"{number}/{given.times} {suite}: {len(found)} failed", flush=True)
                for name, why in found.items():
                    print(f"\n== {name}\n{why}\n", flush=True)
    print(summary(failed, given.times))
    return 1 if failed else 0


def run_once(arguments: Sequence[str]) -> dict[str, str]:
    """The tests of one run that failed, each with the end of what it said; the run itself when it came to no end."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # as `make test` does
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-p", "no:rerunfailures", f"--junitxml={report}", *arguments]
        done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
        found = failures(report) if report.exists() else {}
    if done.returncode not in (0, 1, 5) or (done.returncode == 1 and not found):
        said = f"{done.stdout[-_SAID:]}\n{done.stderr[-_SAID:]}"
        return {**found, f"a whole run (exit code {done.returncode})": said}
    return found


def failures(report: Path) -> dict[str, str]:
    """The failed tests in a JUnit report, each with the end of what it said."""
    found = {}
    for case in Xml.parse(report).iter("testcase"):  # noqa: S314  our own pytest wrote it
        said = [each.text or "" for each in (*case.iter("failure"), *case.iter("error"))]
        if said:
            found[f"{case.get('classname')}::{case.get('name')}"] = "\n".join(said)[-_SAID:]
    return found


def summary(failed: Counter[str], times: int) -> str:
    """The list for people, the most frequent first."""
    if not failed:
        return f"No test failed in {times} runs."
    lines = [f"{count:>4} of {times}  {name}" for name, count in failed.most_common()]
    return "\n".join([f"{len(failed)} tests failed at least once:", *lines])


@contextmanager
def load(burners: int) -> Iterator[None]:
    """Keep the machine busy while the block runs."""
    busy = [subprocess.Popen([sys.executable, "-c", BURN]) for _ in range(burners)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


if __name__ == "__main__":
    sys.exit(main())
