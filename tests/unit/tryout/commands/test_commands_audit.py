"""Who looks into threads on a node leaves a line, and may only if `[access]` lets operators."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from core.settings import Settings, load_settings
from core.store import Store
from tryout.commands import audit, replay, status
from tryout.commands.operator import operator

THREAD = "T1:C1:100.000001"


def settings_in(folder: Path, team: str = "") -> Settings:
    (folder / "threadbook.toml").write_text(team, encoding="utf-8")
    environment = {"THREADBOOK_HOME": str(folder), "THREADBOOK_NODE_ID": "here", "REDIS_URL": "redis://127.0.0.1:1/0"}
    settings = load_settings(environment, folder)
    with closing(Store(settings.database_url)) as store:
        store.migrate()
    return settings


def lines(settings: Settings) -> list[tuple[str, str, str, str]]:
    with closing(Store(settings.database_url)) as store:
        return [(line.actor, line.action, line.resource, line.outcome) for line in store.audit_lines()]


def test_replay_status_and_audit_each_leave_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = settings_in(tmp_path)
    replay.run(settings, THREAD)
    status.run(settings)
    capsys.readouterr()
    assert audit.run(settings, as_json=True) == 0
    who = operator(settings)
    assert who.startswith("cli:")
    expected = [(who, "replay", THREAD, "done"), (who, "status", "", "done"), (who, "audit", "", "done")]
    assert lines(settings) == expected
    shown = json.loads(capsys.readouterr().out)
    assert [(line["actor"], line["action"], line["resource"], line["outcome"]) for line in shown] == expected


@pytest.mark.parametrize("action", ["replay", "status", "audit"])
def test_an_operator_who_may_not_sees_nothing_and_leaves_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], action: str
) -> None:
    settings = settings_in(tmp_path, f'[access]\n{action} = ["admins"]\n')
    code = {"replay": lambda: replay.run(settings, THREAD), "status": lambda: status.run(settings)}.get(
        action, lambda: audit.run(settings)
    )()
    assert code == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "[access]" in captured.err
    assert [line[3] for line in lines(settings)] == ["refused"]


def test_the_audit_can_be_narrowed_to_a_thread_or_a_person(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = settings_in(tmp_path)
    with closing(Store(settings.database_url)) as store:
        store.audit("U1", "reset", THREAD, "done")
        store.audit("U2", "reset", "T1:C1:200.000001", "refused")
    audit.run(settings, person="U2")
    shown = capsys.readouterr().out
    assert "refused" in shown
    assert "U1" not in shown
