"""`python -m bench [name ...] [--json]`: measure, print, write raw figures and machine facts to bench/results.json.

With `--json` stdout gets the same JSON and nothing else; the tables go to stderr.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path

RESULTS = Path(__file__).with_name("results.json")
NAMES = (
    "executor",
    "turns",
    "load",
    "calls",
    "paced",
    "inflight",
    "packs",
    "schema",
    "playbooks",
    "provenance",
    "sources",
    "answers",
    "growth",
)


def main(names: list[str]) -> str:
    """Runs each named module's `measure() -> dict`. A module that does not exist yet is left out with a line.

    Returns what was written, as JSON.
    """
    results: dict[str, object] = {"machine": machine()}
    for name in names or NAMES:
        if not Path(__file__).with_name(f"{name}.py").exists():
            print(f"bench/{name}.py: not there")
            continue
        results[name] = importlib.import_module(f"bench.{name}").measure()
    text = json.dumps(results, indent=2)
    RESULTS.write_text(text + "\n")
    print(f"\nraw figures: {RESULTS}")
    return text


def machine() -> dict[str, object]:
    """What the figures were measured on."""
    return {
        "python": platform.python_version(),
        "kernel": platform.release(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0],
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(NAMES)}; all when none is given")
    parser.add_argument("--json", action="store_true", help="only JSON on stdout")
    options = parser.parse_args()
    with redirect_stdout(sys.stderr if options.json else sys.stdout):
        written = main(options.names)
    if options.json:
        print(written)
