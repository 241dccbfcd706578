"""Which threads the janitor rings for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import fakeredis
import pytest
from redis import Redis
from rq import Queue

from core.leases import Leases
from core.queue import SERIALIZER, SHARED_QUEUE, Wakes
from core.store import Store
from core.team_settings import FairnessSettings
from core.values import IncomingMessage
from workers.janitor import ring, waiting
from workers.patience import Patience
from workers.turnstile import Turnstile


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


def swept(store: Store, redis: Redis, *, anew: bool = True) -> list[str]:
    """As the janitor sweeps; not `anew`, as a job rings for others when it ends."""
    leases = Leases(redis, store)
    line = waiting(store, leases, Patience(redis))
    return ring(line, Wakes(redis, store), Turnstile(redis, leases, FairnessSettings()), anew=anew)


def test_a_thread_with_mail_and_nobody_at_it_is_woken_once(store: Store, redis: Redis) -> None:
    thread = record(store, "1.000001")
    assert swept(store, redis) == [thread]
    assert swept(store, redis) == []
    queue = Queue(SHARED_QUEUE, connection=redis, serializer=SERIALIZER)
    assert [list(job.args) for job in queue.jobs] == [[thread]]


def test_a_job_that_ends_rings_for_those_nobody_rang_for_and_the_janitor_also_where_the_bell_was_lost(
    store: Store, redis: Redis
) -> None:
    thread = record(store, "1.000001")
    assert swept(store, redis, anew=False) == [thread]
    redis.delete(Queue(SHARED_QUEUE, connection=redis, serializer=SERIALIZER).key)
    assert swept(store, redis, anew=False) == []
    assert swept(store, redis) == [thread]


def test_a_thread_that_somebody_works_on_is_left_alone(store: Store, redis: Redis) -> None:
    thread = record(store, "1.000001")
    leases = Leases(redis, store)
    lease = leases.take(thread)
    assert lease is not None
    assert swept(store, redis) == []
    leases.release(lease)
    assert swept(store, redis) == [thread]


def test_a_thread_that_was_put_off_is_left_alone(store: Store, redis: Redis) -> None:
    thread = record(store, "1.000001")
    other = record(store, "2.000002")
    Patience(redis).postpone(thread, "step")
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
    Wakes(redis, store).answered(thread)
    store.set_turn_status(lease, turn.id, "waiting")
    assert swept(store, redis) == []


def test_a_turn_that_ends_while_the_line_is_read_waits_for_nothing(store: Store, redis: Redis) -> None:
    thread = record(store, "1.000001")
    leases = Leases(redis, store)
    lease = leases.take(thread)
    assert lease is not None
    turn = store.open_turn(lease, "en", "scripted")
    store.take_mail(lease, turn.id, [message.id for message in store.unread(thread)], [])

    class Ending(Leases):
        """The turn comes to its end right before the leases are looked at."""

        def held(self, thread_ids: Iterable[str]) -> set[str]:
            store.set_turn_status(lease, turn.id, "done")
            self.release(lease)
            return super().held(thread_ids)

    assert waiting(store, Ending(redis, store), Patience(redis)) == []
