"""Runs pip in the current environment and shows a short line per package, so that a long first install shows progress.

    python scripts/install.py TARGET        TARGET is "." or ".[dev]"

Standard library only: it runs before anything is installed. pip's errors pass through, and so does its exit code.
"""

import re
import subprocess
import sys

COLLECTING = re.compile(r"Collecting ([A-Za-z0-9._-]+)")


def show(lines: list[str], line: str, seen: set[str], terminal: bool) -> None:
    """One line of pip's output: counted, translated, or kept for the case that pip fails."""
    lines.append(line)
    clear = "\r\033[K" if terminal else ""
    if found := COLLECTING.match(line):
        seen.add(found[1].lower())
        if terminal:
            print(f"{clear}      {len(seen):>3}  {found[1]}", end="", flush=True)
        elif len(seen) % 10 == 0:
            print(f"      {len(seen)} packages found, now {found[1]}", flush=True)
    elif line.startswith("Installing collected packages"):
        print(f"{clear}      unpacking {line.count(',') + 1} packages", flush=True)
    elif line.startswith("Successfully installed"):
        print(f"{clear}      {len(line.split()) - 2} packages installed", flush=True)


def main(target: str) -> int:
    """Install `target` in editable form under the project's constraints. Returns pip's exit code."""
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    command += ["--progress-bar", "off", "-c", "constraints.txt", "-e", target]
    lines: list[str] = []
    seen: set[str] = set()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:
        for line in pip.stdout or ():
            show(lines, line, seen, sys.stdout.isatty())
    if pip.returncode:
        print("".join(lines[-40:]), file=sys.stderr)
        print(
            "pip could not install Threadbook; its last lines are above. Nothing outside .venv was changed.",
            file=sys.stderr,
        )
    return pip.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
