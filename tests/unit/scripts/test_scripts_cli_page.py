"""docs/cli.md is what the commands say of themselves."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

FILE = Path(__file__).parents[3] / "scripts" / "cli_page.py"
specification = importlib.util.spec_from_file_location("cli_page", FILE)
assert specification is not None
assert specification.loader is not None
cli_page = importlib.util.module_from_spec(specification)
specification.loader.exec_module(cli_page)


def test_the_page_of_commands_is_the_generated_one() -> None:
    if os.environ.get("UPDATE_GOLDEN"):
        cli_page.PAGE.write_text(cli_page.page(), encoding="utf-8")
    assert cli_page.PAGE.read_text(encoding="utf-8") == cli_page.page(), "UPDATE_GOLDEN=1 writes docs/cli.md again"


def test_the_page_of_commands_has_every_command_with_a_meaning() -> None:
    text = cli_page.page()
    assert "## `threadbook dictionary draft SOURCE`" in text
    assert "## `threadbook init [FOLDER]`" in text
    assert "| `--json` |  |" not in text
