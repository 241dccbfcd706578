"""Prints branch coverage per package from the data that `make coverage` gathered, then every line that is not covered.

Exits with 1 when a package that has a target is below it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

TARGETS = {"workers/turn": 90.0, "workers/agent": 90.0, "core": 90.0, "bot": 90.0}
"""Per cent of lines and branches together."""

Json = dict[str, Any]


def by_package(files: dict[str, Json]) -> dict[str, Counter[str]]:
    """What was covered of each package and of each package of a package, by its path."""
    found: dict[str, Counter[str]] = {}
    for path, measured in files.items():
        parts = Path(path).parent.parts
        for depth in range(1, min(len(parts), 2) + 1):
            counts = found.setdefault("/".join(parts[:depth]), Counter())
            counts.update({name: value for name, value in measured["summary"].items() if isinstance(value, int)})
    return found


def per_cent(counts: Counter[str]) -> float:
    """Lines and branches together, as coverage.py reckons."""
    wanted = counts["num_statements"] + counts["num_branches"]
    return 100.0 * (counts["covered_lines"] + counts["covered_branches"]) / wanted if wanted else 100.0


def main() -> int:
    """Print both; returns the exit code."""
    coverage = [sys.executable, "-m", "coverage"]
    subprocess.run([*coverage, "combine", "--quiet", "--append"], check=False, stderr=subprocess.DEVNULL)
    subprocess.run([*coverage, "report", "--show-missing"], check=False)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "coverage.json"
        subprocess.run([*coverage, "json", "--quiet", "-o", str(report)], check=True)
        packages = by_package(json.loads(report.read_text(encoding="utf-8"))["files"])
    below = []
    print(f"\n{'package':<28}{'lines':>8}{'branches':>10}{'covered':>10}{'target':>8}")
    for name in sorted(packages):
        counts, target = packages[name], TARGETS.get(name)
        covered = per_cent(counts)
        wish = f"{target:.0f} %" if target else ""
        figures = f"{counts['num_statements']:>8}{counts['num_branches']:>10}{covered:>8.1f} %{wish:>8}"
        print(f"{name:<28}{figures}")
        if target is not None and covered < target:
            below.append(f"{name}: {covered:.1f} % of {target:.0f} %")
    if below:
        print("\nBelow the target: " + "; ".join(below))
    return 1 if below else 0


if __name__ == "__main__":
    sys.exit(main())
