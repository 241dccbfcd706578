"""Which threads may run: limits in all, per channel and per person; oldest first; nobody starves."""

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
from core.queue import SERIALIZER, SHARED_QUEUE, Wakes
from core.slack.writing.writer import SlackWriter
from core.steps import Asked
from core.store import Store
from core.store.wait_queue import QueuedThread
from core.team_settings import FairnessSettings
from core.values import IncomingMessage, ThreadKey
from workers.service.admission import Admission
from workers.service.backoff import Backoff
from workers.service.janitor import notify, waiting
from workers.service.queue_status import QueueStatus

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


class Node:
    """A store, its wait queue, and what runs."""

    def __init__(self, store: Store, redis: Redis, **limits: int) -> None:
        self.store = store
        self.redis = redis
        self.leases = Leases(redis, store)
        self.admission = Admission(redis, self.leases, FairnessSettings(**limits))
        self.running = ExitStack()

    def mail(
        self, number: int, channel: str = "C1", user: str = "U1", kind: str = "text", root: int = 0
    ) -> QueuedThread:
        message = IncomingMessage.model_validate(
            {
                "team": "T1",
                "channel": channel,
                "channel_type": "channel",
                "ts": f"{number}.000001",
                "root_ts": f"{root or number}.000001",
                "user": user,
                "kind": kind,
                "text": "how much was sold?",
            }
        )
        thread_id = self.store.record_message(message).thread_id
        queued = self.store.thread_state(thread_id).queued
        assert queued is not None
        return queued

    def begin(self, thread: QueuedThread) -> bool:
        """Take the lease and be admitted, until the fixture is closed."""
        held = self.running.enter_context(self.leases.hold(thread.thread_id))
        assert held is not None
        return self.running.enter_context(self.admission.admit(thread))


@pytest.fixture
def node(store: Store, redis: Redis) -> Iterator[Node]:
    opened = Node(store, redis, running=4, per_channel=3, per_person=2)
    with opened.running:
        yield opened


def test_a_person_with_many_threads_leaves_room_for_others(node: Node) -> None:
    anas = [node.mail(n, user="UANA") for n in range(1, 6)]
    ben = node.mail(9, user="UBEN")
    assert [node.begin(thread) for thread in anas[:3]] == [True, True, False]
    assert node.begin(ben)


def test_a_channel_with_many_people_leaves_room_for_others(node: Node) -> None:
    crowd = [node.mail(n, user=f"U{n}") for n in range(1, 6)]
    assert [node.begin(thread) for thread in crowd[:4]] == [True, True, True, False]
    assert node.begin(node.mail(9, channel="C2"))


def test_there_is_a_limit_in_all(node: Node) -> None:
    many = [node.mail(n, channel=f"C{n}", user=f"U{n}") for n in range(1, 6)]
    assert [node.begin(thread) for thread in many] == [True, True, True, True, False]


def test_a_thread_that_ends_frees_its_place(node: Node) -> None:
    first, second, third = (node.mail(n) for n in range(1, 4))
    with node.leases.hold(first.thread_id), node.admission.admit(first) as admitted:
        assert admitted
        assert node.begin(second)
        assert node.admission.admissible([third]) == []
    assert node.admission.admissible([third]) == [third]


def test_a_killed_worker_takes_no_place_once_its_lease_is_over(node: Node, redis: Redis) -> None:
    for number in (1, 2):
        assert node.begin(node.mail(number))
    third = node.mail(3)
    assert node.admission.admissible([third]) == []
    redis.delete("threadbook:lease:T1:C1:1.000001")
    assert node.admission.admissible([third]) == [third]
    assert node.begin(third)


def test_a_worker_that_lost_its_thread_leaves_the_place_of_the_one_that_has_it_now(node: Node, redis: Redis) -> None:
    first, second, third = (node.mail(n) for n in range(1, 4))
    assert node.begin(second)
    with node.leases.hold(first.thread_id), node.admission.admit(first):
        redis.delete("threadbook:lease:T1:C1:1.000001")
        assert node.begin(first)
    assert node.admission.admissible([third]) == []
    assert not node.begin(third)


def test_a_stop_command_is_always_admitted(node: Node) -> None:
    for number in (1, 2):
        assert node.begin(node.mail(number))
    node.mail(3)
    stop = QueuedThread("T1:C1:3.000001", "U1", NOW, "en", stops=True)
    assert node.begin(stop)


@pytest.mark.parametrize("kind", ["status", "schedules", "stop_schedules", "explain"])
def test_a_command_that_asks_no_model_waits_for_nobody(node: Node, kind: str) -> None:
    for number in (1, 2):
        assert node.begin(node.mail(number))
    command = node.mail(3, kind=kind)
    assert node.admission.held_back([command]) == {}
    assert node.admission.admissible([command]) == [command]
    assert node.begin(command)


def test_a_question_beside_such_a_command_waits_as_others_do(node: Node) -> None:
    for number in (1, 2):
        assert node.begin(node.mail(number))
    node.mail(3, kind="status")
    both = node.mail(4, root=3)
    assert node.admission.held_back([both]) == {both.thread_id: "person"}
    assert not node.begin(both)


def test_zero_means_no_limit(store: Store, redis: Redis) -> None:
    node = Node(store, redis, running=0, per_channel=0, per_person=0)
    with node.running:
        assert all(node.begin(node.mail(number)) for number in range(1, 9))


def test_the_oldest_threads_are_woken_and_go_before_later_ones(node: Node, redis: Redis) -> None:
    threads = [node.mail(number) for number in range(1, 5)]
    wakes = Wakes(redis, node.store)
    later = node.mail(9, user="UBEN")
    wakes.wake(later.thread_id)
    queue = waiting(node.store, node.leases, Backoff(redis))
    assert [queued.thread_id for queued in queue] == [queued.thread_id for queued in (*threads, later)]
    notify(queue, wakes, node.admission)
    jobs = Queue(SHARED_QUEUE, connection=redis, serializer=SERIALIZER).jobs
    assert [job.args[0] for job in jobs] == [threads[0].thread_id, threads[1].thread_id, later.thread_id]


def test_a_running_turn_without_a_worker_waits_since_it_began(node: Node) -> None:
    queued = node.mail(1)
    with node.leases.hold(queued.thread_id) as held:
        assert held is not None
        turn = node.store.open_turn(held.lease, "zh", "model")
        mail = [message.id for message in node.store.unread(queued.thread_id)]
        asked = Asked(user="UANA", author="Ana", text="?", ts="1.000001")
        node.store.take_mail(held.lease, turn.id, mail, [asked])
    found = node.store.thread_state(queued.thread_id).queued
    assert found is not None
    assert (found.user, found.language, found.since) == ("UANA", "zh", turn.created_at)


class StatusLines(SlackWriter):
    """Remembers the status lines."""

    def __init__(self) -> None:
        self.shown: list[tuple[str, str]] = []

    def set_status(self, key: ThreadKey, text: str, **more: object) -> None:
        self.shown.append((key.id, text))


def queue_of(*numbers: int, language: str = "en") -> list[QueuedThread]:
    since = NOW - timedelta(minutes=1)
    return [QueuedThread(f"T1:C1:{number}.0", "U1", since, "zh" if language == "zh" else "en") for number in numbers]


def test_a_waiting_thread_shows_its_place_each_time_it_changes(redis: Redis) -> None:
    slack = StatusLines()
    status = QueueStatus(redis, lambda team: slack)
    for queue in (queue_of(1, 2, 3), queue_of(1, 2, 3), queue_of(2, 3)):
        redis.delete("threadbook:places:turn")
        status.show(queue, {})
    numbers = [(thread, "".join(filter(str.isdigit, text))) for thread, text in slack.shown]
    ids = [f"T1:C1:{number}.0" for number in (1, 2, 3)]
    assert numbers == [(ids[0], "1"), (ids[1], "2"), (ids[2], "3"), (ids[1], "1"), (ids[2], "2")]


def test_the_place_is_shown_in_the_threads_language(redis: Redis) -> None:
    slack = StatusLines()
    QueueStatus(redis, lambda team: slack).show(queue_of(1, language="zh"), {})
    assert "排队" in slack.shown[0][1]


def test_a_thread_says_that_it_waits_for_its_person_or_its_channel_and_again_when_that_changes(redis: Redis) -> None:
    slack = StatusLines()
    status = QueueStatus(redis, lambda team: slack)
    for held_back in ({}, {"T1:C1:1.0": "person"}, {"T1:C1:1.0": "person"}, {"T1:C1:1.0": "channel"}):
        redis.delete("threadbook:places:turn")
        status.show(queue_of(1), held_back)
    said = [text for _, text in slack.shown]
    assert ["worker" in said[0], "same person" in said[1], "this channel" in said[2]] == [True] * 3
    assert len(said) == 3
    assert not any(map(str.isdigit, said[1] + said[2])), "its place in the whole queue says nothing then"


def test_a_thread_is_held_back_by_its_own_limits_not_by_the_limit_in_all(node: Node) -> None:
    for number in (1, 2):
        assert node.begin(node.mail(number, user="UANA"))
    ana, ben = node.mail(3, user="UANA"), node.mail(4, user="UBEN")
    assert node.admission.held_back([ana, ben]) == {ana.thread_id: "person"}
    assert node.begin(node.mail(5, user="UCLEO"))
    dan = node.mail(6, channel="C2", user="UDAN")
    assert node.admission.held_back([ben, dan]) == {ben.thread_id: "channel"}
    assert node.begin(dan)
    assert node.admission.held_back([node.mail(7, channel="C3", user="UEVE")]) == {}


def test_a_thread_that_just_came_and_a_second_janitor_show_nothing(redis: Redis) -> None:
    slack = StatusLines()
    QueueStatus(redis, lambda team: slack).show(
        [QueuedThread("T1:C1:1.0", "U1", datetime.now(UTC) + timedelta(minutes=1), "en")], {}
    )
    QueueStatus(redis, lambda team: slack).show(queue_of(1), {})
    assert slack.shown == []
