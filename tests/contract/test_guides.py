"""The guides name only commands, options, targets, settings and metrics that exist; the site has every page."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest
import typer
import yaml
from test_deploy import metrics

import threadbook
from core.settings import ALIASES, environment_names, tables
from core.team_settings import tables_in

ROOT = Path(__file__).parents[2]
GUIDES = [ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(?:sh|toml)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`\n]+)`")


def written(page: Path) -> list[str]:
    """What a page writes as code, a line each."""
    text = page.read_text(encoding="utf-8")
    fences = [line for block in FENCE.findall(text) for line in block.replace("\\\n", " ").splitlines()]
    return [line.partition("  #")[0] for line in fences] + INLINE.findall(FENCE.sub("", text))


@functools.cache
def commands() -> dict[str, set[str]]:
    """Command → its options."""
    found: dict[str, set[str]] = {}
    todo = [("", typer.main.get_command(threadbook.app))]
    while todo:
        name, command = todo.pop()
        todo += [(f"{name} {word}".strip(), inner) for word, inner in getattr(command, "commands", {}).items()]
        found[name] = {option for part in command.params for option in part.opts} | {"--help"}
    return found


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.name)
def test_every_command_and_option_in_a_guide_exists(page: Path) -> None:
    known = commands()
    for line in written(page):
        for word, inner, rest in re.findall(r"(?:^|/|-- )threadbook ([a-z]+)(?: ([a-z]+))?([^|&;]*)", line):
            assert word in known, line
            name = f"{word} {inner}" if f"{word} {inner}" in known else word
            assert set(re.findall(r"(?<!\S)--[a-z-]+", rest)) <= known[name], line


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.name)
def test_every_target_setting_and_metric_in_a_guide_exists(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    known = {re.sub(r"_(total|bucket|count|sum)$", "", name) for name in metrics()}
    for line in written(page):
        for target in re.findall(r"^make (?!this )([a-z-]+)", line):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), line
        for name in re.findall(r"\b(?:THREADBOOK|SLACK|OPENAI)_[A-Z_]*[A-Z]\b", line):
            assert name in {*environment_names(), *ALIASES} or name.endswith("_COMPLETE"), line
        for table, key in re.findall(r"\[([a-z]+)\] ([a-z_]+)", line):
            assert key in tables()[table].model_fields.keys() - tables_in(tables()[table]).keys(), line
        for name in re.findall(r"^threadbook_[a-z_]+$", line):
            assert re.sub(r"_(total|bucket|count|sum)$", "", name) in known, line


def test_the_site_has_every_page() -> None:
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    named = [page for part in site["nav"] for page in ([part] if isinstance(part, str) else next(iter(part.values())))]
    assert sorted(named) == sorted(page.name for page in (ROOT / "docs").glob("*.md"))
    assert site["strict"] is True
