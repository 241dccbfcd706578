"""Which threads the janitor wakes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path

import fakeredis
import pytest
from patience import PATIENCE_S
from redis import Redis
from rq import Queue

from core.leases import Leases
from core.queue import SERIALIZER, SHARED_QUEUE, Wakes
from core.settings import load_settings
from core.store import Store
from core.team_settings import FairnessSettings
from core.values import IncomingMessage
from workers.service import janitor
from workers.service.admission import Admission
from workers.service.backoff import Backoff
from workers.service.janitor import notify, waiting


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(f"sqlite:///{tmp_path / 'store.db'}")) as opened:
        opened.migrate()
        yield opened


@pytest.fixture
def redis() -> Iterator[Redis]:
    with closing(fakeredis.FakeRedis()) as fake:
        yield fake


def record(store: Store, ts: str) -> str:
    message = IncomingMessage(
        team="T1", channel="C1", channel_type="channel", ts=ts, root_ts=ts, user="U1", text="how much was sold?"
    )
    return store.record_message(message).thread_id


def swept(store: Store, redis: Redis, *, force: bool = True) -> list[str]:
    """Sweep as the janitor does; without `force`, as a job does when it ends."""
    leases = Leases(redis, store)
    queue = waiting(store, leases, Backoff(redis))
    return notify(queue, Wakes(redis, store), Admission(redis, leases, FairnessSettings()), force=force)


def test_a_thread_with_mail_and_no_worker_is_woken_once(store: Store, redis: Redis) -> None:
    thread = record(store, "1.000001")
    assert swept(store, redis) == [thread]
    assert swept(store, redis) == []
    queue = Queue(SHARED_QUEUE, connection=redis, serializer=SERIALIZER)
    assert [list(job.args) for job in queue.jobs] == [[thread]]


def test_a_job_that_ends_wakes_unnotified_threads_and_the_janitor_also_those_whose_wake_was_lost(
    store: Store, redis: Redis
) -> None:
    thread = record(store, "1.000001")
    assert swept(store, redis, force=False) == [thread]
    redis.delete(Queue(SHARED_QUEUE, connection=redis, serializer=SERIALIZER).key)
    assert swept(store, redis, force=False) == []
    assert swept(store, redis) == [thread]


def test_a_thread_that_a_worker_holds_is_left_alone(store: Store, redis: Redis) -> None:
    thread = record(store, "1.000001")
    leases = Leases(redis, store)
    lease = leases.take(thread)
    assert lease is not None
    assert swept(store, redis) == []
    leases.release(lease)
    assert swept(store, redis) == [thread]


def test_a_postponed_thread_is_left_alone(store: Store, redis: Redis) -> None:
    thread = record(store, "1.000001")
    other = record(store, "2.000002")
    Backoff(redis).postpone(thread, "step")
    assert swept(store, redis) == [other]


def test_a_running_turn_without_mail_is_woken_and_a_waiting_one_is_not(store: Store, redis: Redis) -> None:
    thread = record(store, "1.000001")
    leases = Leases(redis, store)
    lease = leases.take(thread)
    assert lease is not None
    turn = store.open_turn(lease, "en", "scripted")
    store.take_mail(lease, turn.id, [message.id for message in store.unread(thread)], [])
    leases.release(lease)
    assert swept(store, redis) == [thread]
    Wakes(redis, store).claimed(thread)
    store.set_turn_status(lease, turn.id, "waiting")
    assert swept(store, redis) == []


def test_a_turn_that_ends_while_the_queue_is_read_is_not_woken(store: Store, redis: Redis) -> None:
    thread = record(store, "1.000001")
    leases = Leases(redis, store)
    lease = leases.take(thread)
    assert lease is not None
    turn = store.open_turn(lease, "en", "scripted")
    store.take_mail(lease, turn.id, [message.id for message in store.unread(thread)], [])

    class Ending(Leases):
        """The turn comes to its end right before the leases are read."""

        def held(self, thread_ids: Iterable[str]) -> set[str]:
            store.set_turn_status(lease, turn.id, "done")
            self.release(lease)
            return super().held(thread_ids)

    assert waiting(store, Ending(redis, store), Backoff(redis)) == []


def test_a_look_for_old_threads_that_takes_long_holds_up_no_sweep(
    store: Store, redis: Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on, woken = threading.Event(), threading.Event(), list[str]()

    def look_for_long(*_: object) -> None:
        begun.set()
        assert go_on.wait(PATIENCE_S)

    def twice(sweep: Callable[[], Iterable[str]], _: threading.Event, *, swept: Callable[[], None]) -> None:
        swept()
        assert begun.wait(PATIENCE_S)
        woken.extend(sweep())
        go_on.set()

    monkeypatch.setattr(janitor, "connect_redis", lambda _: redis)
    monkeypatch.setattr(janitor, "keep_retention", look_for_long)
    monkeypatch.setattr(janitor, "keep_sweeping", twice)
    thread = record(store, "1.000001")
    places = {"THREADBOOK_HOME": str(tmp_path), "DATABASE_URL": f"sqlite:///{tmp_path / 'store.db'}"}
    janitor.run(load_settings(places, tmp_path))
    assert woken == [thread]


def test_a_disk_that_refuses_the_sign_of_a_sweep_keeps_no_question_from_its_end(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sweep_once(sweep: object, stop: object, *, swept: Callable[[], None]) -> None:
        with pytest.raises(FileNotFoundError):  # there is no home: a file in it cannot be made
            swept()

    expired: list[Store] = []
    env = {"THREADBOOK_HOME": str(tmp_path / "home"), "DATABASE_URL": f"sqlite:///{tmp_path / 'store.db'}"}
    monkeypatch.setattr(janitor, "connect_redis", lambda _: fakeredis.FakeRedis())
    monkeypatch.setattr(janitor, "keep_sweeping", sweep_once)
    monkeypatch.setattr(janitor, "expire_questions", lambda opened, _: expired.append(opened))
    janitor.run(load_settings({**env, "SLACK_BOT_TOKEN": "xoxb-1"}, tmp_path))
    assert len(expired) == 1
