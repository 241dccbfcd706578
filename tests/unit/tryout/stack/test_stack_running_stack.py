"""Commands that look into threads find the stack of `make run`, and never take it for a team's own service."""

from __future__ import annotations

import json
import os
from contextlib import closing
from pathlib import Path

import pytest
from turn_kit import message
from typer.testing import CliRunner

import threadbook
from core.settings import Settings, load_settings
from core.store import Store
from tryout.stack.running_stack import as_link, instead_of, noted


@pytest.fixture
def stack(tmp_path: Path) -> Settings:
    home = tmp_path / "run"
    home.mkdir()
    return load_settings({"THREADBOOK_HOME": str(home), "REDIS_URL": "unix:///tmp/x.sock"}, tmp_path)


@pytest.fixture
def own(tmp_path: Path) -> Settings:
    return load_settings({}, tmp_path)


def test_a_running_stack_is_found_while_it_runs_and_not_after(
    stack: Settings, own: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    with noted(stack):
        found = instead_of(own, stack.home)
    assert (found.redis_url, found.database_url, found.home) == (stack.redis_url, stack.database_url, stack.home)
    assert "threadbook up" in capsys.readouterr().err
    assert instead_of(own, stack.home) is own


def test_a_node_with_a_token_looks_at_itself(stack: Settings, tmp_path: Path) -> None:
    ours = load_settings({"SLACK_BOT_TOKEN": "xoxb-0"}, tmp_path)
    with noted(stack):
        assert instead_of(ours, stack.home) is ours


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"pid": 1}',
        json.dumps({"pid": 2**40}),
        json.dumps({"pid": "x"}),
        json.dumps({"pid": os.getpid(), "REDIS_URL": 3}),
    ],
    ids=["empty", "list", "cut", "no-address", "no-such-pid", "pid-is-text", "address-is-a-number"],
)
def test_a_note_that_is_damaged_or_of_a_stack_that_died_is_no_stack(stack: Settings, own: Settings, text: str) -> None:
    (stack.home / "stack.json").write_text(text)
    assert instead_of(own, stack.home) is own


def test_the_address_of_a_threads_page_is_a_link() -> None:
    assert as_link("http://127.0.0.1:8765/C0SALES/1763836000.000100") == "/archives/C0SALES/p1763836000000100"
    for other in ("T1-C1-1.2", "https://evil.test/C0SALES/1763836000.000100", "/archives/C0SALES/p1763836000000100"):
        assert as_link(other) == other


@pytest.mark.parametrize("command", [["audit"], ["purge", "http://127.0.0.1:8765/C1/1712345678.000100", "--dry-run"]])
def test_audit_and_purge_look_into_the_running_stack_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("DATABASE_URL", "THREADBOOK_HOME", "SLACK_BOT_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    home = tmp_path / ".threadbook" / "run"
    home.mkdir(parents=True)
    stack = load_settings({"THREADBOOK_HOME": str(home), "REDIS_URL": "redis://127.0.0.1:1/0"}, tmp_path)
    with closing(Store(stack.database_url)) as store:
        store.migrate()
        store.record_message(message("C1", "1712345678.000100"))
    with noted(stack):
        done = CliRunner().invoke(threadbook.app, command)
    assert done.exit_code == 0
    assert "Nothing is stored yet" not in done.output
