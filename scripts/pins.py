"""Writes the extra `pinned` of pyproject.toml: the exact versions of constraints.txt for all that running needs.

    python scripts/pins.py            where everything is installed; prints nothing, changes pyproject.toml

`make install` gives pip the constraints file. Who installs the package itself has no such file:
`pip install 'threadbook[pinned]'` gives the same versions.
"""

from __future__ import annotations

import re
import textwrap
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PINNED = re.compile(r"^pinned = \[\n.*?^\]\n", re.MULTILINE | re.DOTALL)


def constraints() -> dict[str, str]:
    """The exact version of each package, by its canonical name."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return {
        canonicalize_name(name): version for name, _, version in (line.partition("==") for line in lines) if version
    }


def needed(requirements: list[str]) -> set[str]:
    """The canonical names of these packages and of all that they need, as installed here."""
    todo, seen = [Requirement(each) for each in requirements], set()
    while todo:
        wanted = todo.pop()
        if (key := (canonicalize_name(wanted.name), tuple(sorted(wanted.extras)))) in seen:
            continue
        seen.add(key)
        for line in metadata.requires(wanted.name) or []:
            inner = Requirement(line)
            if inner.marker is None or any(inner.marker.evaluate({"extra": each}) for each in wanted.extras or {""}):
                todo.append(inner)
    return {name for name, _ in seen}


def pins() -> list[str]:
    """What the extra `pinned` is to hold."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    exact = constraints()
    return [f"{name}=={exact[name]}" for name in sorted(needed(project["dependencies"]))]


def main() -> None:
    """Write the extra again."""
    path = ROOT / "pyproject.toml"
    listed = textwrap.fill(", ".join(f'"{pin}"' for pin in pins()), 118, break_on_hyphens=False)
    block = "pinned = [\n" + textwrap.indent(listed, "  ") + ",\n]\n"
    path.write_text(PINNED.sub(lambda _: block, path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
