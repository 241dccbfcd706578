"""`threadbook schedules` lists what is scheduled, and what stopped with its reason."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from turn_kit import ASKED, FINISHED, write_turn

from core.schedules.values import Figure, ScheduleOrder
from core.settings import load_settings
from core.store import Store
from core.values import Lease
from tryout.commands import schedules


def test_schedules_are_listed_with_their_next_time_or_why_they_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    environment = {"THREADBOOK_HOME": str(tmp_path), "THREADBOOK_NODE_ID": "here", "REDIS_URL": "redis://127.0.0.1:1/0"}
    settings = load_settings(environment, tmp_path)
    with closing(Store(settings.database_url)) as store:
        store.migrate()
        assert schedules.run(settings) == 0
        assert "Nothing is scheduled" in capsys.readouterr().out
        turn = write_turn(store, [ASKED, FINISHED])
        lease = Lease(thread_id=turn.thread_id, token=store.raise_fence(turn.thread_id), owner="w")
        for number in (1, 2):
            store.add_schedule(
                lease,
                turn.id,
                owner="U1",
                said=f"every Monday 9:00 run this again {number}",
                order=ScheduleOrder(cron="0 9 * * 1", zone="Europe/Berlin", language="en"),
                next_at=datetime(2026, 1, 5, 8, tzinfo=UTC),
                shown=[Figure(place=0, name="total", value=3900)],
                schedule_id=f"s{number}",
            )
        store.set_schedule_state("s2", "stopped", "no column 'amount'")
    assert schedules.run(settings) == 0
    printed = capsys.readouterr().out
    assert "next 2026-01-05 09:00 Europe/Berlin" in printed
    assert "stopped: no column 'amount'" in printed
    assert schedules.run(settings, as_json=True) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(each["id"], each["state"]) for each in found] == [("s1", "active"), ("s2", "stopped")]
    assert found[0]["figures"][0]["value"] == 3900


def test_before_the_first_question_nothing_is_stored_and_no_database_is_blamed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert schedules.run(load_settings({"THREADBOOK_HOME": str(tmp_path / "home")}, tmp_path)) == 1
    assert "Nothing is stored yet" in capsys.readouterr().err


def test_a_database_that_is_away_is_told_with_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "home" / "threadbook.db").mkdir(parents=True)
    assert schedules.run(load_settings({"THREADBOOK_HOME": str(tmp_path / "home")}, tmp_path)) == 1
    assert "unable to open database file. Check DATABASE_URL" in capsys.readouterr().err
