"""docs/cli.md, written from the commands themselves.

python scripts/cli_page.py        writes the page; a test compares the two
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import threadbook  # noqa: E402  run as a program, the checkout is not on the path

PAGE = ROOT / "docs" / "cli.md"
HEAD = """\
# Commands

Generated from the commands; a test compares the two. `threadbook COMMAND --help` prints the same.

```sh
threadbook --install-completion      # from then on the shell completes commands and options
threadbook --version
threadbook init                      # sets up a folder; it asks five questions
```

## Exit codes

| code | meaning |
| --- | --- |
| 0 | success; `ask` and `demo`: the last answer arrived, or waits for you; `bot` and `worker`: stopped when told to |
| 1 | failure, or something is missing; standard error says what; `bot`: cut off; `worker`: last sessions not stored |
| 2 | an argument or a setting is wrong, and nothing was started; `init`: nothing was written |
| 130 | ended by Ctrl-C; `bot` and `worker` end with 0 |
| 143 | ended by SIGTERM; `bot` and `worker` end with 0 |

Results go to standard output, everything else goes to standard error. `--json` prints one document.
"""


def page() -> str:
    """The whole page."""
    lines = [HEAD]
    for name, command in _commands(typer.main.get_command(threadbook.app), "threadbook"):
        lines += _section(name, command)
    return "\n".join(lines)


def _commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Every command with its whole name; the commands of a group follow in its place."""
    if inner := getattr(command, "commands", None):
        for word in sorted(inner):
            yield from _commands(inner[word], f"{name} {word}")
    else:
        yield name, command


def _section(name: str, command: Any) -> list[str]:
    words = [_written(part) for part in command.params if part.param_type_name == "argument"]
    about = re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.cleandoc(command.help or ""))
    wrapped = "\n\n".join(textwrap.fill(each, 119, break_on_hyphens=False) for each in about.split("\n\n"))
    lines = [f"## `{' '.join([name, *words])}`", "", wrapped, ""]
    if rows := [_row(part) for part in command.params if part.name != "help"]:
        lines += ["| argument or option | meaning | default |", "| --- | --- | --- |", *rows, ""]
    return lines


def _written(part: Any) -> str:
    name = part.name.upper()
    return f"{name}..." if part.nargs == -1 else name if part.required else f"[{name}]"


def _row(part: Any) -> str:
    if part.param_type_name == "argument":
        name = f"`{_written(part)}`"
    else:
        value = "" if part.is_flag else f" {part.name.upper().replace('_', '-')}"
        name = ", ".join(f"`{each}{value}`" for each in part.opts)
    shown = "" if part.default in (None, "", False, ()) else f"`{part.default}`"
    return f"| {name} | {_escaped(part.help or '')} | {shown} |"


def _escaped(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
