"""`threadbook purge` deletes what is meant, says what it would delete, and leaves a line in the audit."""

from __future__ import annotations

import errno
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

import fakeredis
import pytest
from redis import Redis, RedisError
from turn_kit import ASKED, CELL, FINISHED, message, write_turn

from core.blobs import Blobs
from core.errors import BlobsUnreachable, SettingsError
from core.purging import purge_thread
from core.settings import Settings, load_settings
from core.spool import Spool, Spooled
from core.store import Store, StoreTooNew
from tryout.commands import purge
from tryout.commands.operator import operator


@pytest.fixture(autouse=True)
def redis(monkeypatch: pytest.MonkeyPatch) -> Iterator[fakeredis.FakeRedis]:
    with fakeredis.FakeRedis(server=fakeredis.FakeServer()) as connection:
        monkeypatch.setattr(purge, "connect_redis", lambda *_, **__: connection)
        yield connection


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings({"THREADBOOK_HOME": str(tmp_path), "THREADBOOK_NODE_ID": "here"}, tmp_path)


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    with closing(Store(settings.database_url)) as opened:
        opened.migrate()
        yield opened


def test_a_dry_run_says_what_would_be_deleted_and_deletes_nothing(
    settings: Settings, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    turn = write_turn(store, [ASKED, CELL, FINISHED])
    assert purge.run(settings, thread=turn.thread_id, dry_run=True, as_json=True) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["dry_run"] is True
    assert shown["threads"][turn.thread_id]["steps"] == 3
    assert len(store.steps(turn.id)) == 3


LINK = "https://x.slack.com/archives/C1/p1712345678000100"
TS = "1712345678.000100"


def test_a_link_that_two_workspaces_share_deletes_nothing_and_names_both_threads(
    settings: Settings, store: Store
) -> None:
    for team in ("T1", "T2"):
        store.record_message(message("C1", TS).model_copy(update={"team": team}))
    with pytest.raises(SettingsError, match=rf"nothing was done: .*T1:C1:{TS}, T2:C1:{TS}") as refused:
        purge.run(settings, thread=LINK)
    assert "\n" not in str(refused.value)
    assert purge.run(settings, thread=f"T2:C1:{TS}") == 0
    assert [store.purgeable(thread_id=f"{team}:C1:{TS}") for team in ("T1", "T2")] == [[f"T1:C1:{TS}"], []]


def test_what_could_not_be_deleted_is_not_called_deleted(
    settings: Settings, store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def away(*_: object, **__: object) -> None:
        raise RedisError

    turn = write_turn(store, [ASKED, CELL, FINISHED])
    monkeypatch.setattr(purge, "purge_thread", away)
    assert purge.run(settings, thread=turn.thread_id) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "not everything is deleted" in said.err


def test_a_file_store_that_refuses_a_purge_is_named_with_what_to_do(
    settings: Settings, store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuses(*_: object) -> None:
        raise BlobsUnreachable("the file store is away or full: PermissionError: Forbidden")

    turn = write_turn(store, [ASKED, CELL, FINISHED])
    monkeypatch.setattr(purge, "delete_contents", refuses)
    assert purge.run(settings, thread=turn.thread_id) == 1
    said = capsys.readouterr().err
    assert "PermissionError: Forbidden" in said
    assert "threadbook doctor" in said


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_a_purge_that_is_stopped_says_how_far_it_came_and_the_next_one_goes_on(
    settings: Settings,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    stop: type[BaseException],
) -> None:
    for number in range(3):
        store.record_message(message("C1", f"{number + 1}.000001"))
    purged: list[str] = []

    def stopped_at_the_second(store: Store, blobs: Blobs, redis: Redis, thread_id: str, *args: str, **more: Any) -> Any:
        if purged:
            raise stop
        purged.append(thread_id)
        return purge_thread(store, blobs, redis, thread_id, *args, **more)

    with monkeypatch.context() as patch:
        patch.setattr(purge, "purge_thread", stopped_at_the_second)
        with pytest.raises(stop):
            purge.run(settings, person="U1")
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.endswith("threadbook: stopped: 1 of 3 threads deleted. Purge again for the others.\n")
    assert purge.run(settings, person="U1") == 0
    assert store.purgeable(user="U1") == []


def test_a_thread_in_which_something_happened_meanwhile_is_not_called_deleted(
    settings: Settings, store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    turn = write_turn(store, [ASKED, CELL, FINISHED])
    monkeypatch.setattr(purge, "purge_thread", lambda *_, **__: None)
    assert purge.run(settings, thread=turn.thread_id) == 0
    said = capsys.readouterr()
    assert f"{turn.thread_id} stays" in said.err
    assert "0 threads with 0 rows" in said.out


def test_a_link_to_a_thread_without_a_turn_deletes_its_messages(settings: Settings, store: Store) -> None:
    store.record_message(message("C1", TS))
    assert purge.run(settings, thread=LINK) == 0
    assert store.purgeable(thread_id=f"T1:C1:{TS}") == []


@pytest.fixture
def shared(tmp_path: Path) -> Settings:
    """Settings of many workspaces, of which T1 and T2 have installed the app."""
    env = {"THREADBOOK_HOME": str(tmp_path), "THREADBOOK_NODE_ID": "here", "SLACK_CLIENT_ID": "1.2"}
    found = load_settings({**env, "SLACK_SIGNING_SECRET": "s", "SLACK_CLIENT_SECRET": "c"}, tmp_path)
    for team in ("T1", "T2"):
        found.for_workspace(team).memory_folder.mkdir(parents=True)
    return found


def test_a_purge_of_a_person_can_be_of_one_workspace(shared: Settings, store: Store) -> None:
    for team in ("T1", "T2"):
        store.record_message(message("C1", TS).model_copy(update={"team": team}))
        store.save_preferences(team, "U1", {"language": "zh"}, "U1")
        store.pin_for(f"{team}:C1:{TS}", "U1")
        Spool(shared.spool).keep(Spooled({"type": "message", "channel": "C1", "ts": "1.2", "user": "U1"}, team, "B1"))
    assert purge.run(shared, person="U1", workspace="T2") == 0
    assert [store.purgeable(team=team) for team in ("T1", "T2")] == [[f"T1:C1:{TS}"], []]
    assert [bool(store.preferences(team, ["U1"])) for team in ("T1", "T2")] == [True, False]
    assert [one.team for path in Spool(shared.spool).kept() if (one := Spool(shared.spool).read(path))] == ["T1"]
    assert store.forget_preferences("U1") == 2


def test_a_link_means_the_thread_of_the_workspace_that_is_given(shared: Settings, store: Store) -> None:
    for team in ("T1", "T2"):
        store.record_message(message("C1", TS).model_copy(update={"team": team}))
    assert purge.run(shared, thread=LINK, workspace="T2") == 0
    assert [store.purgeable(team=team) for team in ("T1", "T2")] == [[f"T1:C1:{TS}"], []]


def test_a_purge_of_an_unknown_workspace_deletes_nothing(shared: Settings, store: Store) -> None:
    with pytest.raises(SettingsError, match="No workspace T9"):
        purge.run(shared, person="U1", workspace="T9")


def test_words_that_stay_in_the_spool_are_not_called_deleted(
    settings: Settings, store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(path: Path, **_: bool) -> NoReturn:
        raise OSError(errno.EROFS, "Read-only file system")

    Spool(settings.spool).keep(Spooled({"type": "message", "channel": "C1", "ts": "1.2", "user": "U1"}, "T1", "B1"))
    monkeypatch.setattr(Path, "unlink", refused)
    assert purge.run(settings, person="U1") == 1
    assert "not everything is deleted" in capsys.readouterr().err


def test_a_purge_of_a_person_deletes_what_they_chose_in_slack(settings: Settings, store: Store) -> None:
    store.save_preferences("T1", "U1", {"instructions": "Be brief."}, "U1")
    store.save_preferences("T1", "U2", {"language": "zh"}, "U2")
    assert purge.run(settings, person="U1") == 0
    assert store.preferences("T1", ["U1", "U2"]) == {"U2": {"language": "zh"}}


def test_a_purge_of_a_person_deletes_what_they_thought_of_answers_to_others(settings: Settings, store: Store) -> None:
    turn = write_turn(store, [ASKED, CELL, FINISHED])
    for user in ("U8", "U9"):
        store.save_vote(turn.id, user, "down")
        store.save_reason(turn.id, user, f"{user} does not like it")
        store.mark_example(turn.id, user)
    assert purge.run(settings, person="U9") == 0
    assert len(store.steps(turn.id)) == 3
    assert [(vote.user, vote.reason) for vote in store.votes(turn.id)] == [("U8", "U8 does not like it")]
    assert list(store.examples(turn.id)) == ["U8"]


def test_a_purge_deletes_the_thread_and_says_so_in_the_audit(
    settings: Settings, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    turn = write_turn(store, [ASKED, CELL, FINISHED])
    assert purge.run(settings, thread=turn.thread_id) == 0
    assert "1 threads" in capsys.readouterr().out
    assert store.turns(turn.thread_id) == []
    assert [order.thread_id for order in store.purge_orders("any")] == [turn.thread_id]
    lines = [(line.actor, line.action, line.resource, line.outcome) for line in store.audit_lines()]
    assert lines == [(operator(settings), "purge", turn.thread_id, "done")] * 2


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"thread": "T1:C1:1.0", "person": "U1"},
        {"older_than": "soon"},
        {"older_than": "90"},
        {"older_than": "0d"},
        {"older_than": "36501d"},
    ],
)
def test_what_is_not_clear_is_refused(settings: Settings, store: Store, asked: dict[str, str]) -> None:
    with pytest.raises(SettingsError):
        purge.run(settings, **asked)  # type: ignore[arg-type]


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_thread_of_which_nothing_is_stored_is_not_called_purged(
    settings: Settings, store: Store, capsys: pytest.CaptureFixture[str], dry_run: bool
) -> None:
    for name in ("NONSENSE", LINK):
        assert purge.run(settings, thread=name, dry_run=dry_run) == 1
        said = capsys.readouterr()
        assert (said.out, said.err) == (
            "",
            f"threadbook: nothing of {name!r} is stored. `threadbook threads` lists what is.\n",
        )


def test_words_that_only_the_spool_has_are_purged_with_their_thread(settings: Settings, store: Store) -> None:
    event = {"type": "message", "channel": "C1", "ts": TS, "user": "U1"}
    Spool(settings.spool).keep(Spooled(event, "T1", "B1"))
    assert purge.run(settings, thread=f"T1:C1:{TS}", dry_run=True) == 0
    assert purge.run(settings, thread=f"T1:C1:{TS}") == 0
    assert Spool(settings.spool).kept() == []


def test_a_purge_may_be_done_again(settings: Settings, store: Store) -> None:
    turn = write_turn(store, [ASKED, CELL, FINISHED])
    assert [purge.run(settings, thread=turn.thread_id) for _ in range(2)] == [0, 0]


def test_young_threads_are_not_older_than_a_day(settings: Settings, store: Store) -> None:
    turn = write_turn(store, [ASKED, CELL, FINISHED])
    assert purge.run(settings, older_than="1d") == 0
    assert len(store.steps(turn.id)) == 3


def test_an_operator_who_may_not_deletes_nothing(tmp_path: Path, store: Store) -> None:
    (tmp_path / "threadbook.toml").write_text('[access]\npurge = ["admins"]\n')
    settings = load_settings({"THREADBOOK_HOME": str(tmp_path), "THREADBOOK_NODE_ID": "here"}, tmp_path)
    turn = write_turn(store, [ASKED, CELL, FINISHED])
    assert purge.run(settings, thread=turn.thread_id) == 1
    assert len(store.steps(turn.id)) == 3


def test_a_version_that_does_not_know_all_tables_deletes_nothing(settings: Settings, store: Store) -> None:
    turn = write_turn(store, [ASKED, CELL, FINISHED])
    with closing(sqlite3.connect(settings.home / "threadbook.db")) as db:
        db.execute("UPDATE alembic_version SET version_num = '9999'")
        db.commit()
    for dry_run in (True, False):
        with pytest.raises(StoreTooNew, match="schema 9999"):
            purge.run(settings, thread=turn.thread_id, dry_run=dry_run)
    assert len(store.steps(turn.id)) == 3


def test_a_purge_where_nothing_is_stored_says_so_and_does_not_ask_to_be_repeated(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    for dry_run in (True, False):
        assert purge.run(settings, thread="T1:C1:1.0", dry_run=dry_run) == 1
        said = capsys.readouterr().err
        assert "nothing was deleted. Nothing is stored yet: start `make run`" in said
        assert "Purge again" not in said
