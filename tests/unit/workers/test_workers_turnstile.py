"""Who may run: limits in all, per channel and per person; the longest waiting first; nobody starves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import fakeredis
import pytest
from redis import Redis
from rq import Queue

from core.leases import Leases
from core.line import Waiting
from core.queue import SERIALIZER, SHARED_QUEUE, Wakes
from core.slack import SlackWriter
from core.store import Store
from core.team_settings import FairnessSettings
from core.values import IncomingMessage, ThreadKey
from workers.janitor import ring, waiting
from workers.patience import Patience
from workers.queue_signs import QueueSigns
from workers.turnstile import Turnstile

NOW = datetime.now(UTC)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(f"sqlite:///{tmp_path / 'store.db'}")) as opened:
        opened.migrate()
        yield opened


@pytest.fixture
def redis() -> Iterator[Redis]:
    with closing(fakeredis.FakeRedis()) as fake:
        yield fake


class House:
    """A store, its queue, and what runs."""

    def __init__(self, store: Store, redis: Redis, **limits: int) -> None:
        self.store = store
        self.redis = redis
        self.leases = Leases(redis, store)
        self.turnstile = Turnstile(redis, self.leases, FairnessSettings(**limits))
        self.running = ExitStack()

    def mail(self, number: int, channel: str = "C1", user: str = "U1", kind: str = "text") -> Waiting:
        message = IncomingMessage.model_validate(
            {
                "team": "T1",
                "channel": channel,
                "channel_type": "channel",
                "ts": f"{number}.000001",
                "root_ts": f"{number}.000001",
                "user": user,
                "kind": kind,
                "text": "how much was sold?",
            }
        )
        thread_id = self.store.record_message(message).thread_id
        (who,) = self.store.line(thread_id)
        return who

    def begin(self, who: Waiting) -> bool:
        """Take the lease and pass, until the house is closed."""
        held = self.running.enter_context(self.leases.hold(who.thread_id))
        assert held is not None
        return self.running.enter_context(self.turnstile.passing(who))


@pytest.fixture
def house(store: Store, redis: Redis) -> Iterator[House]:
    opened = House(store, redis, running=4, per_channel=3, per_person=2)
    with opened.running:
        yield opened


def test_a_person_with_many_threads_leaves_room_for_others(house: House) -> None:
    anas = [house.mail(n, user="UANA") for n in range(1, 6)]
    ben = house.mail(9, user="UBEN")
    assert [house.begin(who) for who in anas[:3]] == [True, True, False]
    assert house.begin(ben)


def test_a_channel_with_many_people_leaves_room_for_others(house: House) -> None:
    crowd = [house.mail(n, user=f"U{n}") for n in range(1, 6)]
    assert [house.begin(who) for who in crowd[:4]] == [True, True, True, False]
    assert house.begin(house.mail(9, channel="C2"))


def test_there_is_a_limit_in_all(house: House) -> None:
    many = [house.mail(n, channel=f"C{n}", user=f"U{n}") for n in range(1, 6)]
    assert [house.begin(who) for who in many] == [True, True, True, True, False]


def test_a_thread_that_ends_gives_its_place_free(house: House) -> None:
    first, second, third = (house.mail(n) for n in range(1, 4))
    with house.leases.hold(first.thread_id), house.turnstile.passing(first) as admitted:
        assert admitted
        assert house.begin(second)
        assert house.turnstile.who_fits([third]) == []
    assert house.turnstile.who_fits([third]) == [third]


def test_a_killed_worker_takes_no_place_once_its_lease_is_over(house: House, redis: Redis) -> None:
    for number in (1, 2):
        assert house.begin(house.mail(number))
    third = house.mail(3)
    assert house.turnstile.who_fits([third]) == []
    redis.delete("threadbook:lease:T1:C1:1.000001")
    assert house.turnstile.who_fits([third]) == [third]
    assert house.begin(third)


def test_a_wish_to_stop_waits_for_nothing(house: House) -> None:
    for number in (1, 2):
        assert house.begin(house.mail(number))
    house.mail(3)
    stop = Waiting("T1:C1:3.000001", "U1", NOW, "en", stops=True)
    assert house.begin(stop)


def test_no_limit_means_none(store: Store, redis: Redis) -> None:
    house = House(store, redis, running=0, per_channel=0, per_person=0)
    with house.running:
        assert all(house.begin(house.mail(number)) for number in range(1, 9))


def test_those_that_wait_longest_are_rung_for_and_go_before_later_ones(house: House, redis: Redis) -> None:
    threads = [house.mail(number) for number in range(1, 5)]
    wakes = Wakes(redis, house.store)
    later = house.mail(9, user="UBEN")
    wakes.wake(later.thread_id)
    line = waiting(house.store, house.leases, Patience(redis))
    assert [who.thread_id for who in line] == [who.thread_id for who in (*threads, later)]
    ring(line, wakes, house.turnstile)
    queue = Queue(SHARED_QUEUE, connection=redis, serializer=SERIALIZER)
    rung = [job.args[0] for job in queue.jobs]
    assert rung == [threads[0].thread_id, threads[1].thread_id, later.thread_id]


def test_a_running_turn_that_nobody_works_on_waits_since_it_began(house: House) -> None:
    who = house.mail(1)
    with house.leases.hold(who.thread_id) as held:
        assert held is not None
        turn = house.store.open_turn(held.lease, "zh", "model")
        mail = [message.id for message in house.store.unread(who.thread_id)]
        asked = {"kind": "asked", "user": "UANA", "author": "Ana", "text": "?", "ts": "1.000001"}
        house.store.take_mail(held.lease, turn.id, mail, [asked])
    (found,) = house.store.line(who.thread_id)
    assert (found.user, found.language, found.since) == ("UANA", "zh", turn.created_at)


class Signs(SlackWriter):
    """Remembers the status lines."""

    def __init__(self) -> None:
        self.shown: list[tuple[str, str]] = []

    def set_status(self, key: ThreadKey, text: str, **more: object) -> None:
        self.shown.append((key.id, text))


def queue_of(*numbers: int, language: str = "en") -> list[Waiting]:
    since = NOW - timedelta(minutes=1)
    return [Waiting(f"T1:C1:{number}.0", "U1", since, "zh" if language == "zh" else "en") for number in numbers]


def test_a_waiting_thread_shows_its_place_and_again_when_it_changes(redis: Redis) -> None:
    slack = Signs()
    signs = QueueSigns(redis, slack)
    for line in (queue_of(1, 2, 3), queue_of(1, 2, 3), queue_of(2, 3)):
        redis.delete("threadbook:places:turn")
        signs.show(line)
    numbers = [(thread, "".join(filter(str.isdigit, text))) for thread, text in slack.shown]
    ids = [f"T1:C1:{number}.0" for number in (1, 2, 3)]
    assert numbers == [(ids[0], "1"), (ids[1], "2"), (ids[2], "3"), (ids[1], "1"), (ids[2], "2")]


def test_the_place_is_said_in_the_threads_language(redis: Redis) -> None:
    slack = Signs()
    QueueSigns(redis, slack).show(queue_of(1, language="zh"))
    assert "排队" in slack.shown[0][1]


def test_who_came_just_now_and_a_second_janitor_show_nothing(redis: Redis) -> None:
    slack = Signs()
    QueueSigns(redis, slack).show([Waiting("T1:C1:1.0", "U1", datetime.now(UTC) + timedelta(minutes=1), "en")])
    QueueSigns(redis, slack).show(queue_of(1))
    assert slack.shown == []
