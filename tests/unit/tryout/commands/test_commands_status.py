"""`threadbook status` and `threadbook replay` say what the Store and Redis hold, and nothing that steers a terminal."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from pathlib import Path

import fakeredis
import pytest
from redis.exceptions import OutOfMemoryError
from turn_kit import ASKED, CELL, DANCED, FINISHED, QUESTION, REPLIED, changed, message, write_turn
from typer.testing import CliRunner

import threadbook
from core.blobs import Blobs
from core.leases import Leases
from core.queue import Wakes
from core.rows import Spent
from core.settings import Settings, load_settings
from core.steps import UnknownStep, Usage, dump_step, load_step
from core.store import Store
from core.values import Lease, StoredFile
from tryout.commands import replay, status


@pytest.fixture
def redis(monkeypatch: pytest.MonkeyPatch) -> Iterator[fakeredis.FakeRedis]:
    with fakeredis.FakeRedis(server=fakeredis.FakeServer()) as connection:
        monkeypatch.setattr(status, "connect_redis", lambda *_, **__: connection)
        yield connection


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings({"THREADBOOK_NODE_ID": "here", "REDIS_URL": "redis://:hunter22@127.0.0.1:1/0"}, tmp_path)


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    opened = Store(settings.database_url)
    opened.migrate()
    yield opened
    opened.close()


def test_everything_that_goes_on_is_in_one_document(
    settings: Settings, store: Store, redis: fakeredis.FakeRedis, capsys: pytest.CaptureFixture[str]
) -> None:
    running = write_turn(store, [ASKED, REPLIED], "running")
    left = write_turn(store, [ASKED], "running", channel="C2")
    waiting = write_turn(store, [ASKED, QUESTION], "waiting", channel="C3")
    new = store.record_message(message("C4")).thread_id
    wakes = Wakes(redis, store)
    wakes.announce_node("host-a", about={"workers": 4, "sandbox": "strong", "up_s": 90})
    wakes.wake(running.thread_id)
    wakes.wake(new)
    assert Leases(redis, store).take(running.thread_id)
    assert status.run(settings, as_json=True) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [(turn["turn"], turn["worked_on"], turn["last_step"]) for turn in shown["turns"]] == [
        (running.id, True, "replied"),
        (left.id, False, "asked"),
    ]
    assert [(turn["turn"], turn["question"]) for turn in shown["waiting"]] == [(waiting.id, "Gross or net?")]
    assert [(mail["thread"], mail["messages"]) for mail in shown["mail"]] == [(new, 1)]
    assert shown["queues"] == {"threads": 1, "node:host-a": 1}
    (node,) = shown["nodes"]
    assert (node["node"], node["workers"], node["sandbox"]) == ("host-a", 4, "strong")
    assert node["seen_s_ago"] >= 0
    assert shown["sessions"] == {"node": "here", "up": False, "sandbox": None, "sessions": []}
    assert shown["problems"] == []
    assert shown["today"] == {"model_calls": 0, "tokens": 0, "cost": None, "currency": "USD"}


def test_a_full_redis_is_named_and_no_worker_is_called_dead(
    settings: Settings,
    store: Store,
    redis: fakeredis.FakeRedis,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OutOfMemoryError("command not allowed when used memory > 'maxmemory'.")

    monkeypatch.setattr(redis, "set", full)
    assert status.run(settings) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert "Redis is full and takes no writes: raise its maxmemory" in shown
    assert "no worker service is alive" not in shown


@pytest.mark.usefixtures("store", "redis")
def test_a_home_that_takes_no_writes_is_named(
    settings: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(status, "check_home", read_only)
    assert status.run(settings) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert "takes no writes (Read-only file system), so threads wait: stop the services, repair" in shown


def test_a_person_gets_tables_and_hints(
    settings: Settings, store: Store, redis: fakeredis.FakeRedis, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status.run(settings) == 0
    quiet = capsys.readouterr().out
    assert "no turn is running" in quiet
    assert "threadbook worker" in quiet
    write_turn(store, [ASKED, changed(QUESTION, question="Gross\x1b[2J or net?")], "waiting")
    assert status.run(settings) == 0
    shown = capsys.readouterr().out
    assert "waiting for a person" in shown
    assert "\x1b" not in shown


def test_the_status_names_the_tokens_of_the_day_and_a_replay_those_of_the_turn(
    settings: Settings, store: Store, redis: fakeredis.FakeRedis, capsys: pytest.CaptureFixture[str]
) -> None:
    turn = write_turn(store, [ASKED], "running")
    lease = Lease(thread_id=turn.thread_id, token=store.raise_fence(turn.thread_id), owner="test")
    spent = Spent(prompt_tokens=1_200, cached_tokens=200, completion_tokens=30, cost_micros=4_210)
    usage = Usage(prompt_tokens=1_200, cached_tokens=200, completion_tokens=30)
    step = changed(REPLIED, usage=usage, cost_micros=4_210)
    store.append_step(lease, turn.id, step, spent=spent, user="U1")
    assert status.run(settings) == 0
    assert "today: 1 model call, 1,230 tokens, about 0.0042 USD" in capsys.readouterr().out
    assert replay.run(settings, turn.id) == 0
    assert "1,230 tokens (200 cached, 17% of the prompts), cost 0.0042" in capsys.readouterr().out


def test_a_part_that_is_away_leaves_out_only_its_own_lines_and_shows_no_password(
    settings: Settings, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    running = write_turn(store, [ASKED], "running")
    assert status.run(settings, as_json=True) == 1
    written = capsys.readouterr().out
    shown = json.loads(written)
    assert [turn["turn"] for turn in shown["turns"]] == [running.id]
    assert shown["turns"][0]["worked_on"] is None
    assert ["Redis" in problem for problem in shown["problems"]] == [True]
    assert "hunter22" not in written


def test_a_store_that_cannot_be_read_is_not_called_idle(
    settings: Settings, store: Store, redis: fakeredis.FakeRedis, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other.db").write_bytes(b"no database " * 1_000)
    elsewhere = settings.model_copy(update={"database_url": f"sqlite:///{tmp_path / 'other.db'}"})
    assert status.run(elsewhere) == 1
    shown = capsys.readouterr().out
    assert "no turn is running" not in shown
    assert "turns: ?" in shown


def test_a_replay_shows_the_steps_in_their_order(
    settings: Settings, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    turn = write_turn(store, [ASKED, REPLIED, CELL, FINISHED])
    assert replay.run(settings, turn.id) == 0
    shown = capsys.readouterr().out
    words = [
        turn.id,
        "Ana",
        "what sold best?",
        "run_python (1.50 s, 120 + 30 tokens)",
        "Totals: ok in 0.25 s",
        "df.groupby",
        "stdout: north 12",
        "report",
        "North sold best.",
    ]
    places = [shown.index(word) for word in words]
    assert places == sorted(places)
    assert "card: chat.postMessage" in shown


def test_a_replay_writes_the_whole_text_of_an_output_that_a_step_holds_in_part(
    settings: Settings, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = b"all of it\n" * 10_000
    kept = StoredFile(name="stdout", mimetype="text/plain", size=len(whole), sha256=Blobs(settings.files).put(whole))
    turn = write_turn(store, [ASKED, changed(CELL, cell_id="../c1", whole_outputs=(kept,)), FINISHED])
    assert replay.run(settings, turn.id, outputs=tmp_path / "texts") == 0
    assert "whole stdout: 100,000 bytes in the file store" in capsys.readouterr().out
    (written,) = (tmp_path / "texts").iterdir()
    assert written.name == "..%2Fc1-stdout.txt"
    assert written.read_bytes() == whole
    Blobs(settings.files).set_aside(kept.sha256)
    written.unlink()
    assert replay.run(settings, turn.id, outputs=tmp_path / "texts") == 1
    assert "cannot be read from the file store" in capsys.readouterr().err


def test_a_replay_for_a_program_holds_every_step_as_stored(
    settings: Settings, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    turn = write_turn(store, [ASKED, REPLIED, CELL, FINISHED])
    assert replay.run(settings, turn.thread_id, as_json=True) == 0
    (document,) = json.loads(capsys.readouterr().out)
    steps = document["steps"]
    stored = [dump_step(step) for step in (ASKED, REPLIED, CELL, FINISHED)]
    assert [{key: value for key, value in step.items() if key != "at"} for step in steps] == stored
    assert all(step["at"].endswith("+00:00") for step in steps)
    assert (document["status"], document["turn"]) == ("done", turn.id)


def test_what_a_cell_printed_cannot_steer_the_terminal(
    settings: Settings, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    turn = write_turn(store, [ASKED, changed(CELL, title="a\x1b]0;b\x07", stdout="\x1b[31mred\x9b2J\u202e")])
    assert replay.run(settings, turn.id) == 0
    shown = capsys.readouterr().out
    assert "red" in shown
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(shown)


def test_a_step_of_another_version_is_shown_as_unknown(
    settings: Settings, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    later = load_step({**dump_step(CELL), "energy_wh": 3})
    turn = write_turn(store, [ASKED, DANCED, UnknownStep(body={"kind": "cell"}), later])
    assert replay.run(settings, turn.id) == 0
    shown = capsys.readouterr().out
    for words in (
        "unknown step: danced",
        '"how": "well"',
        "unknown step: cell",
        "Totals: ok",
        "unknown fields: energy_wh",
    ):
        assert words in shown
    assert replay.run(settings, turn.id, as_json=True) == 0
    (document,) = json.loads(capsys.readouterr().out)
    steps = [{key: value for key, value in step.items() if key != "at"} for step in document["steps"]]
    assert steps == [dump_step(step) for step in (ASKED, DANCED, UnknownStep(body={"kind": "cell"}), later)]
    assert steps[-1]["energy_wh"] == 3


def test_a_name_of_no_turn_is_answered_with_what_to_do(
    settings: Settings, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    assert replay.run(settings, "nonsense") == 1
    assert "threadbook status" in capsys.readouterr().err
    assert replay.run(settings, "nonsense", as_json=True) == 1
    assert json.loads(capsys.readouterr().out) == []


def test_a_store_that_was_never_made_gives_a_sentence_and_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("DATABASE_URL", "THREADBOOK_HOME", "REDIS_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    for command in (["status"], ["replay", "x"]):
        result = CliRunner().invoke(threadbook.app, command)
        assert result.exit_code == 1
        assert not isinstance(result.exception, Exception) or isinstance(result.exception, SystemExit)
        assert "Nothing is stored yet" in result.output


def test_a_home_that_nobody_used_says_how_to_begin(
    settings: Settings, redis: fakeredis.FakeRedis, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status.run(settings) == 0
    assert "Nothing is stored yet: start `make run`" in capsys.readouterr().out
    assert replay.run(settings, "T1:C1:1.000001/t1") == 1
    assert "Nothing is stored yet" in capsys.readouterr().err


def test_two_versions_beside_each_other_are_told(
    settings: Settings, store: Store, redis: fakeredis.FakeRedis, capsys: pytest.CaptureFixture[str]
) -> None:
    wakes = Wakes(redis, store)
    wakes.announce_node("host-a", about={"workers": 4})
    wakes.announce_node("host-b", about={"workers": 4, "version": "7.1.0"})
    assert status.run(settings) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "several versions run: 7.1.0 on host-b; an older one on host-a. Upgrade the others too" in shown
    wakes.announce_node("host-a", about={"workers": 4, "version": "7.1.0"})
    assert status.run(settings) == 0
    assert "several versions" not in capsys.readouterr().out
