"""Builds the wheel, installs it in an empty environment and uses every command there. Exit code 0 only if all work.

    python scripts/try_wheel.py        make test-wheel

No command may need the checkout: they run in an empty folder, with an empty environment, from the installed wheel.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PIP = ["-m", "pip", "--disable-pip-version-check", "--no-input"]


def main() -> int:
    """Build, install, use. Prints one line per step."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        wheel = build(place)
        binaries = install(wheel, place / "venv")
        home = place / "home"
        home.mkdir()
        return use(Use(binaries / "threadbook", home))


def build(folder: Path) -> Path:
    """The wheel, made from the source distribution: what is missing in one is missing in the other.

    It is built from the files that git knows, so that no leftover of this checkout gets in.
    """
    step("building the source distribution and the wheel")
    tree = folder / "tree"
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout  # noqa: S607
    for name in (os.fsdecode(each) for each in names.split(b"\0") if each):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_bytes((ROOT / name).read_bytes())
    command = [sys.executable, "-m", "build", "--outdir", folder / "dist", tree]
    subprocess.run(command, check=True, capture_output=True)
    return next((folder / "dist").glob("*.whl"))


def install(wheel: Path, venv: Path) -> Path:
    """Install the wheel with the exact versions of its extra `pinned`. Returns the folder of the programs."""
    step(f"installing {wheel.name} in an empty environment")
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    subprocess.run([venv / "bin/python", *PIP, "install", "-qq", f"{wheel}[pinned]"], check=True)
    return venv / "bin"


class Use:
    """The installed command, in an empty folder with an empty environment."""

    def __init__(self, program: Path, home: Path) -> None:
        self.program = program
        self.home = home

    def __call__(self, *arguments: str, allowed: tuple[int, ...] = (0,)) -> str:
        """Run it. Returns what it printed; raises if it ended otherwise than allowed, or with a traceback."""
        step("threadbook " + " ".join(arguments))
        environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.home), "COLUMNS": "200"}
        done = subprocess.run(
            [self.program, *arguments],
            check=False,
            cwd=self.home,
            env=environment,
            capture_output=True,
            text=True,
            timeout=400,
        )
        if done.returncode not in allowed or "Traceback" in done.stderr:
            raise SystemExit(f"exit code {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
        return done.stdout


def use(threadbook: Use) -> int:
    """Every command's help, and each command that needs no Slack for real."""
    printed = threadbook("--help")
    commands = re.findall(r"^\W+([a-z][a-z-]+) {2,}\S", printed.partition("Commands")[2], flags=re.M)
    if len(commands) < 10:
        raise SystemExit(f"the help names only {commands}")
    for command in commands:
        threadbook(command, "--help")
    threadbook("--version")
    threadbook("demo")
    table = threadbook.home / "sales.csv"
    table.write_text("region,amount\nnorth,10\nsouth,32\n", encoding="utf-8")
    answer = threadbook("ask", "What is the total amount?", "--file", str(table))
    if "42" not in answer:
        raise SystemExit(f"the answer has no 42:\n{answer}")
    cell = threadbook.home / "cell.py"
    cell.write_text("print(6 * 7)\n", encoding="utf-8")
    if "42" not in threadbook("run", str(cell)):
        raise SystemExit("the cell printed no 42")
    found = json.loads(threadbook("doctor", "--json", allowed=(0, 1)))
    step(f"doctor looked at {len(found)} things")
    return 0


def step(text: str) -> None:
    """One line on the way."""
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
