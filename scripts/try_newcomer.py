"""From `git clone` to the answer to a first own question, timed. Exit code 0 only if all of it worked.

    python scripts/try_newcomer.py        make test-newcomer

The commands are those of the README, in a fresh clone of the last commit, with an empty environment and an empty home.
The times are printed and never judged: most of them is the download of packages.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LONGEST_S = 900.0
ROWS = [
    *[("Bakery", 1204.5), ("Kitchen", 880.0), ("Garden", 312.25), ("Bakery", 1500.0), ("Kitchen", 2410.75)],
    *[("Garden", 95.5), ("Bakery", 640.0), ("Kitchen", 150.0), ("Garden", 77.0), ("Bakery", 20.25)],
]
QUESTION = "Which team spent the most?"


def main() -> int:
    """Clone, run, ask. Prints a line per step with its seconds."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "home").mkdir()
        env = {"HOME": str(place / "home"), "PATH": _path(), "LANG": "C.UTF-8"}
        began = time.monotonic()
        clone = place / "threadbook"
        subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)  # noqa: S607
        told = _said("git clone", began)
        if not _runs(clone, env):
            return 1
        told = _said("make run, until the page is open and the sample question answered", told)
        is_right = _answers(clone, env)
        _said("threadbook ask with an own file", told)
        _said("all of it", began)
        return 0 if is_right else 1


def _runs(clone: Path, env: dict[str, str]) -> bool:
    """Whether `make run` says which page to open. It is then ended as Ctrl-C does."""
    log = clone.parent / "run.log"
    with log.open("wb") as out:
        running = subprocess.Popen(
            ["make", "run"],  # noqa: S607
            cwd=clone,
            env=env,
            stdout=out,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            return _until_open(running, log)
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGINT)
                running.wait(60)


def _until_open(running: subprocess.Popen[bytes], log: Path) -> bool:
    until = time.monotonic() + LONGEST_S
    while time.monotonic() < until and running.poll() is None:
        if b"Open http" in log.read_bytes():
            return True
        time.sleep(0.2)
    print(log.read_text("utf-8", "replace")[-3_000:])
    return False


def _answers(clone: Path, env: dict[str, str]) -> bool:
    """Whether the answer to an own question on an own file names the right team."""
    own = clone.parent / "spend.csv"
    own.write_text("team,amount\n" + "".join(f"{team},{amount}\n" for team, amount in ROWS), encoding="utf-8")
    sums: defaultdict[str, float] = defaultdict(float)
    for team, amount in ROWS:
        sums[team] += amount
    most = max(sums, key=lambda team: sums[team])
    command = [".venv/bin/threadbook", "ask", QUESTION, "--file", str(own)]
    asked = subprocess.run(command, cwd=clone, env=env, capture_output=True, text=True, timeout=LONGEST_S, check=False)
    is_right = asked.returncode == 0 and any(
        most in line and f"{sums[most]:,.0f}" in line for line in asked.stdout.split("\n")
    )
    print(asked.stdout)
    if not is_right:
        print(f"The answer does not name {most} with {sums[most]:,.0f} (exit code {asked.returncode}).\n{asked.stderr}")
    return is_right


def _path() -> str:
    """Where make, git and this Python are found, and nothing else."""
    tools = [shutil.which(name) or f"/usr/bin/{name}" for name in ("make", "git")]
    folders = [Path(sys.executable).resolve().parent, *(Path(tool).parent for tool in tools), "/usr/bin", "/bin"]
    return os.pathsep.join(dict.fromkeys(map(str, folders)))


def _said(what: str, since: float) -> float:
    now = time.monotonic()
    print(f"{now - since:7.1f} s  {what}", flush=True)
    return now


if __name__ == "__main__":
    sys.exit(main())
