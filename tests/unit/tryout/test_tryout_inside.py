"""The drawer of the playground's page gets what the Store and Redis hold of a thread, and no secret."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import fakeredis
import pytest
from turn_kit import ASKED, CELL, DANCED, FINISHED, REPLIED, changed, message, write_turn

from core.leases import Leases
from core.queue import Wakes
from core.settings import Settings, load_settings
from core.steps import Queried, StatementRan
from core.store import Store
from tryout import inside
from tryout.commands.operator import operator
from tryout.inside import LOOK_ENDS_S, Inside

RAN = StatementRan(source="shop", sql="select 1", rows=1, seconds=0.5)
HERE = ("T1", "C1", "100.000001")
Json = dict[str, Any]


@pytest.fixture
def redis(monkeypatch: pytest.MonkeyPatch) -> Iterator[fakeredis.FakeRedis]:
    with fakeredis.FakeRedis(server=fakeredis.FakeServer()) as connection:
        monkeypatch.setattr(inside, "connect_redis", lambda *_, **__: connection)
        yield connection


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings({"REDIS_URL": "redis://:hunter22@127.0.0.1:1/0"}, tmp_path)


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    opened = Store(settings.database_url)
    opened.migrate()
    yield opened
    opened.close()


def look(settings: Settings) -> dict[str, Json]:
    with closing(Inside(settings)) as read:
        return {each["name"]: each for each in read(*HERE)}


def texts(section: Json) -> list[tuple[str, str]]:
    return [(row["text"], row.get("state", "")) for row in section["rows"]]


def test_cells_model_calls_and_steps_are_told_with_what_they_took(
    settings: Settings, store: Store, redis: fakeredis.FakeRedis
) -> None:
    write_turn(store, [ASKED, changed(REPLIED, cost_micros=20_000), CELL, DANCED, FINISHED])
    shown = look(settings)
    (cell,) = shown["Cells"]["rows"]
    assert (cell["text"], cell["state"], cell["note"]) == ("Totals", "ok", "0.25 s")
    assert cell["code"] == "df.groupby('region').sum()"
    (call,) = shown["Model calls"]["rows"]
    assert (call["text"], call["note"]) == ("act, gpt-x", f"1.50 s, 120 + 30 tokens, 0.02 {settings.budget.currency}")
    assert shown["Model calls"]["note"] == f"150 tokens, 0.02 {settings.budget.currency}"
    assert len(shown["Steps"]["rows"]) == 5


def test_a_statement_is_told_once_also_when_its_cell_has_ended(
    settings: Settings, store: Store, redis: fakeredis.FakeRedis
) -> None:
    asked = Queried(cell_id="x1", statement=RAN)
    failed = changed(RAN, error="no such table")  # type: ignore[arg-type]
    other = changed(CELL, cell_id="x2", statements=(failed,))
    write_turn(store, [ASKED, asked, changed(CELL, statements=(RAN,)), other])
    rows = look(settings)["SQL"]["rows"]
    assert [(row["text"], row["state"], row["note"], row["code"]) for row in rows] == [
        ("shop", "ok", "1 row in 0.50 s", "select 1"),
        ("shop", "error", "no such table", "select 1"),
    ]


def test_a_job_is_told_from_the_queue_to_its_end(settings: Settings, store: Store, redis: fakeredis.FakeRedis) -> None:
    thread = store.record_message(message("C1")).thread_id
    wakes, leases = Wakes(redis, store), Leases(redis, store)
    wakes.wake(thread)
    assert texts(look(settings)["Jobs"]) == [("a job is in the queue", "waiting")]
    wakes.claimed(thread)
    lease = leases.take(thread)
    assert lease is not None
    assert texts(look(settings)["Jobs"]) == [("a job advances the thread", "running")]
    leases.release(lease)
    assert texts(look(settings)["Jobs"]) == [("1 job has ended", "done")]


def test_a_cell_that_began_runs_while_a_job_waits_for_it(
    settings: Settings, store: Store, redis: fakeredis.FakeRedis
) -> None:
    turn = write_turn(store, [ASKED, CELL], "running")
    lease = Leases(redis, store).take(turn.thread_id)
    assert lease is not None
    store.begin_cell(lease, "x2")
    assert texts(look(settings)["Cells"]) == [("Totals", "ok"), ("cell x2", "running")]
    Leases(redis, store).release(lease)
    assert texts(look(settings)["Cells"]) == [("Totals", "ok")]


def test_secrets_and_control_characters_are_in_no_row(
    settings: Settings, store: Store, redis: fakeredis.FakeRedis
) -> None:
    write_turn(store, [ASKED, changed(CELL, title="\x1b[2J", code="print('hunter22', 'xoxb-1234567890-abcdef')")])
    (cell,) = look(settings)["Cells"]["rows"]
    assert "\x1b" not in cell["text"]
    assert "hunter22" not in cell["code"]
    assert "xoxb-1234567890" not in cell["code"]


def test_opening_the_drawer_leaves_one_line_of_audit_however_often_it_is_read(
    settings: Settings, store: Store, redis: fakeredis.FakeRedis
) -> None:
    turn = write_turn(store, [ASKED, changed(CELL, statements=(RAN,)), FINISHED])
    moments = iter([0.0, 2.0, 4.0, 4.0 + LOOK_ENDS_S])
    with closing(Inside(settings, lambda: next(moments))) as read:
        for _ in range(3):
            read(*HERE)
        (line,) = store.audit_lines()
        read(*HERE)
    assert (line.actor, line.action, line.resource) == (operator(settings), "replay", turn.thread_id)
    assert (line.outcome, line.details) == ("done", {"by": "page", "sources": "shop"})
    assert len(store.audit_lines()) == 2, "closed and opened again: another look"


def test_who_may_not_replay_sees_nothing_in_the_drawer(
    tmp_path: Path, store: Store, redis: fakeredis.FakeRedis
) -> None:
    (tmp_path / "threadbook.toml").write_text('[access]\nreplay = ["admins"]\n')
    settings = load_settings({"REDIS_URL": "redis://127.0.0.1:1/0"}, tmp_path)
    write_turn(store, [ASKED, CELL, FINISHED])
    ((name, section),) = look(settings).items()
    assert (name, texts(section)[0][1]) == ("Not allowed", "refused")
    assert "groupby" not in str(section)
    assert [line.outcome for line in store.audit_lines()] == ["refused"]


def test_a_redis_that_is_away_is_said(settings: Settings, store: Store) -> None:
    ((name, section),) = look(settings).items()
    assert name == "Not readable"
    assert "hunter22" not in str(section)


def test_a_thread_that_nobody_knows_has_nothing(settings: Settings, store: Store, redis: fakeredis.FakeRedis) -> None:
    assert [each["rows"] for each in look(settings).values()] == [[], [], [], [], []]
