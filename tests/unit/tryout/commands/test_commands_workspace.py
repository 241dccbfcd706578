"""Commands about what one of many workspaces has learned: those of another one are out of reach."""

from __future__ import annotations

import hashlib
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner
from workspaces_world import MANY, A, B

import threadbook
from core.errors import SettingsError
from core.settings import Settings, load_settings
from core.store import Store
from tryout.commands import functions, memory, playbooks
from tryout.commands.mcp_server import person_of
from tryout.commands.workspace import of_workspace

TOKEN = "planted-token-of-ana-0123456789abcdef"
PAGE = "---\nplaybook: {0}\nwhen: How many {0}?\n---\n\n## 1. Count\nShows: a number\n\n```python\nprint(1)\n```\n"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Two workspaces that have learned something; their folders are there."""
    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    (tmp_path / "threadbook.toml").write_text(f'[mcp_server]\ntokens = ["{A}/U0ANA00001 sha256:{digest}"]\n')
    environment = {"THREADBOOK_HOME": str(tmp_path / "home"), "THREADBOOK_MCP_TOKEN": TOKEN, **MANY}
    settings = load_settings(environment, tmp_path)
    with closing(Store(settings.database_url)) as store:
        store.migrate()
    for team, name in ((A, "Apples"), (B, "Bananas")):
        folder = settings.for_workspace(team).memory_folder / "everyone" / "playbooks"
        folder.mkdir(parents=True)
        (folder / f"{name.lower()}.md").write_text(PAGE.format(name))
    return settings


def test_a_command_sees_the_folder_of_its_workspace_alone(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    assert memory.run_add(of_workspace(settings, A), "everyone", "active customer = ordered in 90 days", A) == 0
    capsys.readouterr()
    there = of_workspace(settings, B)
    assert memory.run_list(there, "", "") == 0
    assert playbooks.run_list(there) == 0
    assert playbooks.run_report(there, 90, B) == 0
    assert functions.run_list(there) == 0
    shown = capsys.readouterr().out
    assert "Bananas" in shown
    assert "Apples" not in shown
    assert "active customer" not in shown
    assert playbooks.run_show(there, "everyone/playbooks/apples.md") == 1
    assert playbooks.run_show(there, f"../{A}/everyone/playbooks/apples.md") == 1
    assert memory.run_forget(there, "everyone/definitions.md", "active customer", B) == 1
    assert memory.run_forget(of_workspace(settings, A), "everyone/definitions.md", "active customer", A) == 0
    with closing(Store(settings.database_url)) as store:
        assert {line.resource.partition("/")[0] for line in store.audit_lines()} == {A}


@pytest.mark.parametrize("team", ["", "../home", "T0NOBODY01"])
def test_a_workspace_that_is_not_named_or_not_known_is_refused(settings: Settings, team: str) -> None:
    with pytest.raises(SettingsError):
        of_workspace(settings, team)


def test_one_workspace_needs_no_name(tmp_path: Path) -> None:
    settings = load_settings({"THREADBOOK_HOME": str(tmp_path / "home")}, tmp_path)
    assert of_workspace(settings, "") is settings
    with pytest.raises(SettingsError, match="Leave it out"):
        of_workspace(settings, A)


def test_a_token_is_good_for_the_workspace_that_its_line_names(settings: Settings) -> None:
    assert person_of(settings, A) == "U0ANA00001"
    for team in (B, ""):
        with pytest.raises(SettingsError, match="nobody's"):
            person_of(settings, team)


@pytest.mark.parametrize(
    "command",
    [
        ["memory", "list"],
        ["memory", "add", "everyone", "a = b"],
        ["memory", "forget", "everyone/definitions.md", "a"],
        ["playbooks", "list"],
        ["playbooks", "show", "x.md"],
        ["playbooks", "check"],
        ["playbooks", "report"],
        ["functions", "list"],
        ["functions", "check"],
        ["mcp"],
    ],
    ids=" ".join,
)
def test_each_command_asks_which_workspace_is_meant(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.setattr(threadbook, "_settings", lambda: settings)
    monkeypatch.chdir(settings.home.parent)  # `make run` may be up in the folder of the tests
    result = CliRunner().invoke(threadbook.app, command)
    assert isinstance(result.exception, SettingsError)
    assert "--workspace" in str(result.exception)
