"""Vectors are made beside the turns, and a search by meaning finds what the words do not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from chat_endpoint import Endpoint
from embedding_endpoint import embedding_endpoint, embeddings, refusing

from core.meaning import threads_near
from core.settings import Settings, load_settings
from core.steps import Asked, Finished
from core.store import Store
from core.values import IncomingMessage, Lease
from workers.service.supervisor import forked_targets
from workers.service.vectors import AWAY_S, SWEEP_EVERY_S, Embedder, opened_embeddings

_EVER = datetime(2000, 1, 1, tzinfo=UTC)


class Clock:
    """A clock that a test turns."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 0.001
        return self.now


class Kit:
    """A Store, an embedder, and somebody who looks for threads."""

    def __init__(self, settings: Settings, store: Store, embedder: Embedder, clock: Clock) -> None:
        self.settings, self.store, self.embedder, self.clock = settings, store, embedder, clock

    def thread(
        self, said: str, report: str = "Done.", *, team: str = "T1", channel: str = "C1", ts: str = "1.000001"
    ) -> str:
        message = IncomingMessage(
            team=team, channel=channel, channel_type="channel", ts=ts, root_ts=ts, user="U1", text=said
        )
        thread_id = self.store.record_message(message, "Ana").thread_id
        lease = Lease(thread_id=thread_id, token=self.store.raise_fence(thread_id), owner="test")
        turn = self.store.open_turn(lease, "en", "model")
        steps = [Asked(user="U1", author="Ana", text=said, ts=ts), Finished(report=report)]
        self.store.take_mail(lease, turn.id, [], steps)
        self.store.set_turn_status(lease, turn.id, "done")
        return thread_id

    def made(self) -> None:
        """All that is due is made."""
        self.clock.now += SWEEP_EVERY_S
        for _ in range(8):
            self.embedder.look()

    def near(self, text: str, team: str = "T1", channel: str = "C1") -> list[str]:
        """What is found while somebody waits; each time they look, the embedder has had a moment."""
        return threads_near(
            self.settings,
            self.store,
            text,
            team=team,
            channel=channel,
            clock=Clock(),
            sleep=lambda _: self.embedder.look(),
        )


@contextmanager
def kit(server: Endpoint, folder: Path, more: str = "") -> Iterator[Kit]:
    (folder / "threadbook.toml").write_text(
        f'[memory]\nembedding_model = "small"\nembedding_url = "{server.url}"\nembedding_least = 0.6\n{more}'
    )
    settings = load_settings({"THREADBOOK_HOME": str(folder)}, folder)
    store, clock = Store(settings.database_url), Clock()
    store.migrate()
    with opened_embeddings(settings) as model:
        yield Kit(settings, store, Embedder(settings, store, model, clock=clock), clock)
    store.close()


@pytest.fixture
def there(tmp_path: Path) -> Iterator[tuple[Kit, Endpoint]]:
    with embedding_endpoint() as server, kit(server, tmp_path) as made:
        yield made, server


def test_a_paraphrase_is_found_that_the_words_do_not_find(there: tuple[Kit, Endpoint]) -> None:
    world, _ = there
    churn = world.thread("How many customers cancelled?")
    world.thread("Where is the stock in the warehouse?", ts="2.000001")
    world.made()
    assert world.store.find_threads(["attrition", "subscribers"]) == []
    assert world.near("attrition of subscribers") == [churn]
    assert world.near("money back") == []
    assert world.store.open_searches(_EVER) == [], "no words stay"


def test_vectors_are_made_once_and_again_when_the_thread_goes_on(there: tuple[Kit, Endpoint]) -> None:
    world, server = there
    world.thread("How many customers cancelled?")
    world.made()
    world.made()
    assert [asked["input"] for asked in server.asked] == [["How many customers cancelled?", "Done."]]
    world.thread("And refunds?", "9.")
    world.made()
    assert server.asked[-1]["input"] == ["How many customers cancelled?", "Done.", "And refunds?", "9."]
    assert len(server.asked) == 2


def test_threads_of_another_workspace_are_never_near(there: tuple[Kit, Endpoint]) -> None:
    world, _ = there
    theirs = world.thread("How many customers cancelled?", team="T2")
    world.made()
    assert world.near("attrition of subscribers") == []
    assert world.near("attrition of subscribers", team="T2") == [theirs]


def test_the_endpoint_sees_placeholders_of_threads_and_of_searches(tmp_path: Path) -> None:
    more = '[channels.C1.privacy]\nredact = ["email"]\n'
    with embedding_endpoint() as server, kit(server, tmp_path, more) as world:
        world.thread("Did ana@example.com cancel?", "She, ana@example.com, cancelled.")
        world.made()
        world.near("mails of ben@example.com")
    sent = [text for asked in server.asked for text in asked["input"]]
    assert sent == ["Did <email_1> cancel?", "She, <email_1>, cancelled.", "mails of <email_1>"]


def test_while_the_endpoint_is_away_nobody_waits_and_later_all_is_made(tmp_path: Path) -> None:
    with embedding_endpoint(refusing(503), embeddings) as server, kit(server, tmp_path) as world:
        thread_id = world.thread("How many customers cancelled?")
        world.made()
        assert world.near("attrition of subscribers") == []
        assert len(server.asked) == 1, "it is left alone for a while"
        world.clock.now += AWAY_S
        world.made()
        assert world.near("attrition of subscribers") == [thread_id]


def test_a_thread_that_the_endpoint_refuses_keeps_no_other_one_from_its_vectors(tmp_path: Path) -> None:
    with embedding_endpoint(refusing(400), embeddings) as server, kit(server, tmp_path) as world:
        world.thread("How many customers cancelled?", ts="2.000001")
        older = world.thread("Who left?", ts="1.000001")
        world.made()
        world.clock.now += AWAY_S
        world.made()
        assert world.store.without_vectors("small") == []
        assert len(world.near("attrition")) == 1
        assert older


def test_a_wrong_key_marks_no_thread_as_done(tmp_path: Path) -> None:
    with embedding_endpoint(refusing(401)) as server, kit(server, tmp_path) as world:
        thread_id = world.thread("How many customers cancelled?")
        world.made()
        assert [found for _, found in world.store.without_vectors("small")] == [thread_id]


def test_without_a_worker_a_search_ends_with_nothing_and_leaves_nothing(there: tuple[Kit, Endpoint]) -> None:
    world, _ = there
    clock = Clock()

    def sleep(seconds: float) -> None:
        clock.now += seconds

    assert threads_near(world.settings, world.store, "churn", team="T1", clock=clock, sleep=sleep) == []
    assert world.store.open_searches(_EVER) == []


def test_without_an_embedding_model_nothing_is_asked_and_no_process_starts(tmp_path: Path) -> None:
    settings = load_settings({"THREADBOOK_HOME": str(tmp_path)}, tmp_path)
    store = Store(settings.database_url)
    store.migrate()
    assert threads_near(settings, store, "churn", team="T1") == []
    assert "vectors" not in forked_targets(settings)
    memory = settings.memory.model_copy(update={"embedding_model": "small"})
    assert "vectors" in forked_targets(settings.model_copy(update={"memory": memory}))
    store.close()
