"""Lists that must agree: what the documents name exists, and what we call on Slack the playground offers."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest
from own_code import ROOT, files, nodes_of
from slack_sdk import WebClient
from typer.testing import CliRunner

import threadbook
from playground.api.registry import METHODS

DOCUMENTS = ["README.md", "ARCHITECTURE.md", "AGENTS.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"]
DOCUMENTS += ["examples/README.md", "executor/PROTOCOL.md", "playground/README.md", "prompts/README.md"]
DOCUMENTS += [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*.md"))]
WRITTEN = {"bench/results.json"}
"""Files that a command writes and nobody commits."""
DECISIONS = sorted((ROOT / "docs" / "adr").glob("*.md"))

PATH = re.compile(
    r"`((?:bot|workers|core|executor|playground|threadbook_tools|tryout|prompts|tests|bench|examples|docs|scripts)/[\w./-]*)`"
)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)\)")
ROW = re.compile(r"^\| ((?:MG|OI|AC|MP|JD)-\d\d) \|", re.MULTILINE)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_file_that_a_document_names_exists(name: str) -> None:
    page = ROOT / name
    text = page.read_text(encoding="utf-8")
    missing = {path for path in PATH.findall(text) if not (ROOT / path).exists()} - WRITTEN
    missing |= {link for link in LINK.findall(text) if not (page.parent / link).exists()}
    assert not missing


def test_every_command_of_the_readme_exists() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"(?<!“)\bmake ([a-z-]+)\b", text)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"make {target}"
    for command in set(re.findall(r"threadbook (\w+)", text)):
        result = CliRunner().invoke(threadbook.app, [command, "--help"])
        assert result.exit_code == 0, f"threadbook {command}"


def test_each_decision_has_the_number_of_its_file_in_its_title() -> None:
    titles = {path.name: path.read_text(encoding="utf-8").splitlines()[0] for path in DECISIONS}
    assert [name for name, title in titles.items() if not title.startswith(f"# {int(name[:4])}. ")] == []
    assert [int(name[:4]) for name in titles] == list(range(1, len(titles) + 1))


def test_every_mission_row_is_named_once() -> None:
    rows = ROW.findall((ROOT / "docs" / "mission.md").read_text(encoding="utf-8"))
    assert rows
    assert len(rows) == len(set(rows))


def test_every_mission_row_that_is_built_names_its_file_and_its_test() -> None:
    text = (ROOT / "docs" / "mission.md").read_text(encoding="utf-8")
    for line in filter(ROW.match, text.splitlines()):
        name, _, where, shown, missing = line.strip("| ").split(" | ")
        built = bool(PATH.search(where)) and "`tests/" in shown
        assert built != missing.startswith("not yet"), name
        assert built or (where, shown) == ("–", "–"), name


def test_the_page_of_prompts_names_every_prompt() -> None:
    page = (ROOT / "prompts" / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)`", "".join(line for line in page.splitlines() if line.startswith("| `"))))
    prompts = {path.stem for path in (ROOT / "prompts").glob("*.yaml")}
    assert named == {name for name in prompts if not name.startswith("howto_")} | {"words"}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_lines_of_prose_have_at_most_120_characters(name: str) -> None:
    """Tables and code blocks may be wider, and so may a list of what people see in a thread (`docs/two-nodes.md`)."""
    text = (ROOT / name).read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert [line for line in prose.splitlines() if len(line) > 120 and not line.startswith(("|", "- ✗"))] == []


@cache
def slack_methods_called() -> frozenset[str]:
    """Web API methods that our code calls, by the SDK's naming: `client.chat_postMessage(...)` → chat.postMessage."""
    named = {method.replace(".", "_"): method for method in METHODS}
    names = {name for name in dir(WebClient) if "_" in name and not name.startswith("_")} - {"api_call"}
    return frozenset(
        named.get(node.attr, node.attr)
        for _, node in nodes_of(files("bot", "core", "workers"), names)
        if isinstance(node, ast.Attribute) and node.attr in names
    )


def test_the_playground_offers_every_slack_method_that_we_call() -> None:
    called = slack_methods_called()
    assert "chat.postMessage" in called
    assert called - set(METHODS) == set()


def test_a_command_of_the_readme_names_what_a_group_of_commands_should_do() -> None:
    groups = [group.name for group in threadbook.app.registered_groups]
    text = (ROOT / "README.md").read_text("utf-8")
    assert [name for name in groups if f"`threadbook {name}`" in text] == []
