"""What is purged is nowhere any more: not in a table, not in a file, not in a key, on no node."""

from __future__ import annotations

import errno
import hashlib
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from planted import places
from sqlalchemy import text
from structlog.testing import capture_logs
from turn_world import ANA, BEN, Meanwhile, World, cell, finish, hurried, new_database

from core.blobs import Blobs, Objects
from core.errors import BlobsUnreachable, SlackUnreachable
from core.purging import delete_contents, purge_thread
from core.steps import FunctionDraft
from core.store.purge import KEPT, OF_PEOPLE, PURGED
from core.store.tables import metadata
from core.values import ThreadKey
from executor.client import HostUnavailable
from workers.memory.functions.shelf import UNTESTED
from workers.memory.team import memory_of
from workers.models.scripted import ScriptedModel
from workers.service.sweeping import purges
from workers.service.sweeping.purges import RETENTION_EVERY_S, carry_out_orders, keep_retention
from workers.turn.building import folder_of

SENTENCE, VALUE, FILE, NAME = "Nightingale-question", "Nightingale-value", "Nightingale-file", "Nightingale-name"
WORDS = (SENTENCE, VALUE, FILE, NAME)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_database(tmp_path_factory.mktemp("template"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "world"


@pytest.fixture
def world(folder: Path, template: Path) -> Iterator[World]:
    with hurried(), closing(World(folder, template, hands_over=True)) as made:
        yield made


def right() -> datetime:
    """The time by a clock of Slack that is right."""
    return datetime.now(UTC)


def planted(world: World, *, user: str = ANA) -> ThreadKey:
    """A thread that holds a sentence, a cell value and a file, in every place where one may be."""
    world.model = ScriptedModel(
        [
            cell(
                f"data = open('{NAME}.csv').read()\nsecret = '{VALUE}'\n"
                f"print(secret)\nopen('{NAME}.txt', 'w').write(secret)",
                f"{NAME}",
            ),
            finish(f"It is {VALUE}."),
        ]
    )
    key = world.say(f"what is {SENTENCE}?", user=user, files={f"{NAME}.csv": f"name,sold\n{FILE},1\nb,2\n".encode()})
    world.settle(key)
    assert world.statuses(key) == ["done"], world.text(key)
    return key


def another(world: World) -> ThreadKey:
    """A thread with nothing of it, but with a file that the first one has too."""
    world.model = ScriptedModel([cell("print(open('same.csv').read())"), finish("One.")])
    key = world.say("count", files={"same.csv": b"a\n1\n"})
    world.settle(key)
    return key


def away() -> NoReturn:
    raise BlobsUnreachable("away")


def purge(world: World, key: ThreadKey) -> None:
    blobs = Blobs(world.settings.files)
    purge_thread(world.store, blobs, world._redis, key.id)
    delete_contents(world.store, blobs)


def orders(world: World, node: str = "here") -> int:
    settings = world.settings.model_copy(update={"node_id": node})
    return carry_out_orders(settings, world.store, world.sessions_at(node), Blobs(settings.files))


def found(world: World, folder: Path, word: str) -> list[str]:
    return places(word, folders=(folder,), database=world.settings.database_url, redis=world._redis)


@pytest.mark.parametrize("word", WORDS)
def test_what_was_planted_is_found_before_a_purge_and_nowhere_after_it(world: World, folder: Path, word: str) -> None:
    key = planted(world)
    before = found(world, folder, word)
    assert any(place.startswith("table") for place in before)
    assert any(place.startswith("/") for place in before)
    purge(world, key)
    assert orders(world) == 1
    assert found(world, folder, word) == []


def test_a_draft_on_which_nobody_decided_leaves_the_folder_with_its_thread(world: World) -> None:
    key, shelf = planted(world), memory_of(world.settings).functions
    draft = FunctionDraft(name="churn_rate", schema_text="{}", code="x = 1\n", tests="y = 1\n")
    for thread, space in ((key.id, "channels/C1"), ("T1:C2:1.0", "channels/C2")):
        shelf.put_untested(space, draft, {"function": draft.name, "thread": thread})
    purge(world, key)
    assert orders(world) == 1
    assert shelf.names("channels/C1", UNTESTED) == []
    assert shelf.names("channels/C2", UNTESTED) == ["churn_rate"]


def test_other_threads_keep_all_that_is_theirs(world: World) -> None:
    other, key = another(world), planted(world)
    world.say("and this?", thread=key, files={"same.csv": b"a\n1\n"})
    world.model = ScriptedModel([cell("print(open('same.csv').read())"), finish("The same.")])
    world.settle(key)
    before = world.seen(other), world.store.thread_files(other.id), world.steps(other)
    purge(world, key)
    orders(world)
    assert (
        world.seen(other),
        world.store.thread_files(other.id),
        world.steps(other),
    ) == before
    blobs = Blobs(world.settings.files)
    assert [blobs.has(file.sha256) for file in world.store.thread_files(other.id)] == [True]
    again = [cell("print(open('same.csv').read())"), finish("Still there.")]
    world.model = ScriptedModel(turns=[[], again])
    world.say("still there?", thread=other)
    world.settle(other)
    assert world.steps(other, "cell")[-1]["status"] == "ok"


def test_an_order_that_cannot_be_carried_out_holds_back_no_other(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = planted(world), another(world)
    for key in (first, second):
        purge(world, key)
    sessions, again_at, tried, resists = world.sessions_at("here"), dict[int, float](), list[str](), [first.id]
    purged = sessions.purge

    def purge_there(thread_id: str) -> None:
        tried.append(thread_id)
        if thread_id in resists:
            raise HostUnavailable("a part of it could not be removed")
        purged(thread_id)

    def carried_out() -> int:
        return carry_out_orders(world.settings, world.store, sessions, Blobs(world.settings.files), again_at)

    monkeypatch.setattr(sessions, "purge", purge_there)
    assert [carried_out(), carried_out()] == [1, 0]
    assert tried == [first.id, second.id]
    resists.clear()
    later = time.monotonic() + 1_000
    monkeypatch.setattr(purges, "time", SimpleNamespace(monotonic=lambda: later))
    assert carried_out() == 1
    assert tried == [first.id, second.id, first.id]
    assert (world.store.purge_orders("here"), again_at) == ([], {})


def test_a_node_that_was_down_deletes_at_its_return(world: World, folder: Path) -> None:
    key = planted(world)
    world.run(key, node="there")
    purge(world, key)
    assert orders(world, "there") == 1
    assert found(world, folder, VALUE) != []
    world.sessions.fault("purge", "away")
    assert orders(world) == 0
    assert found(world, folder, VALUE) != []
    assert orders(world) == 1
    assert orders(world) == 0
    assert found(world, folder, VALUE) == []


def test_what_a_build_left_on_a_node_is_deleted_too(world: World) -> None:
    key, other = planted(world), planted(world)
    for thread in (key, other):
        folder_of(world.settings.home, thread.id, "program:1.0").mkdir(parents=True)
    purge(world, key)
    orders(world)
    assert not folder_of(world.settings.home, key.id).exists()
    assert folder_of(world.settings.home, other.id).exists()


def test_what_a_build_left_and_the_disk_does_not_let_go_keeps_its_order_open(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = planted(world)
    built = folder_of(world.settings.home, key.id) / "1"
    built.mkdir(parents=True)
    (built / "main.py").write_text(SENTENCE)
    purge_thread(world.store, Blobs(world.settings.files), world._redis, key.id)

    def resists(folder: Path) -> NoReturn:
        raise OSError(errno.EROFS, "Read-only file system")

    with monkeypatch.context() as disk:
        disk.setattr(purges, "remove_tree", resists)
        assert (orders(world), built.exists()) == (0, True)
    assert (orders(world), built.exists()) == (1, False)


def test_a_thread_that_begins_anew_has_nothing_of_the_purged_one_and_keeps_what_is_new(world: World) -> None:
    key = planted(world)
    purge(world, key)
    anew = [cell("print(globals().get('secret')); fresh = 2"), finish("Gone.")]
    world.model = ScriptedModel(turns=[anew, [cell("print(fresh)"), finish("Two.")]])
    world.say("what do you still know?", thread=key)
    world.settle(key)
    assert world.steps(key, "cell")[0]["stdout"] == "None\n"
    assert orders(world) == 1  # its session is a new one: the order is not for it
    world.say("and now?", thread=key)
    world.settle(key)
    assert world.steps(key, "cell")[0]["stdout"] == "2\n"


def test_a_worker_that_is_at_work_writes_nothing_after_a_purge(world: World, folder: Path) -> None:
    model = ScriptedModel([cell(f"print('{VALUE}')"), finish(f"It is {VALUE}.")])
    world.model = Meanwhile(model, {2: lambda: purge(world, key)})
    key = world.say(f"what is {SENTENCE}?")
    world.run(key)
    orders(world)
    assert found(world, folder, SENTENCE) == found(world, folder, VALUE) == []


def test_a_purge_that_died_half_way_is_finished_by_the_next_one(world: World, folder: Path) -> None:
    key = planted(world)
    purge_thread(world.store, Blobs(world.settings.files), world._redis, key.id)
    assert found(world, folder, FILE) != []
    keep_retention(world.settings, world.store, Blobs(world.settings.files), world._redis, right)
    orders(world)
    assert found(world, folder, FILE) == []


def test_retention_waits_no_longer_than_an_hour_when_the_clock_of_redis_is_set_back(world: World) -> None:
    given = (world.settings, world.store, Blobs(world.settings.files), world._redis, right)
    keep_retention(*given)
    (key,) = world._redis.keys("*:retention")
    world._redis.expire(key, 30 * 86_400)
    keep_retention(*given)
    assert world._redis.ttl(key) <= RETENTION_EVERY_S


def test_a_purge_whose_file_store_goes_away_half_way_leaves_nothing_of_the_session(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, removes = planted(world), Objects.remove
    packs = Blobs(world.settings.files).thread_folder(key.id)
    assert packs.names() != []

    monkeypatch.setattr(Objects, "remove", lambda *_: away())
    with pytest.raises(BlobsUnreachable):
        purge(world, key)
    assert orders(world) == 0
    monkeypatch.setattr(Objects, "remove", removes)
    assert orders(world) == 1
    assert packs.names() == []


def test_a_file_that_a_thread_gets_while_contents_are_deleted_stays(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs, sets_aside = Blobs(world.settings.files), Blobs.set_aside
    files = {"one.csv": b"a\n1\n", "two.csv": b"a\n2\n"}
    contents = {hashlib.sha256(content).hexdigest(): content for content in files.values()}

    def counted(given: dict[str, bytes]) -> ThreadKey:
        world.model = ScriptedModel([cell("print(1)"), finish("One.")])
        key = world.say("count", files=given)
        world.settle(key)
        return key

    purge_thread(world.store, blobs, world._redis, counted(files).id)
    came: list[ThreadKey] = []

    def set_aside(blobs: Blobs, sha256: str) -> str:
        if sha256 in contents and not came:
            (other,) = contents.keys() - {sha256}
            came.append(counted({"same.csv": contents[other]}))
        return sets_aside(blobs, sha256)

    monkeypatch.setattr(Blobs, "set_aside", set_aside)
    delete_contents(world.store, blobs)
    (kept,) = world.store.thread_files(came[0].id)
    assert blobs.get(kept.sha256) == contents[kept.sha256]


@pytest.mark.parametrize("moment", ["before it leaves its place", "once it has left its place"])
def test_a_file_that_a_thread_gets_right_before_it_is_deleted_stays(
    world: World, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    blobs, content = Blobs(world.settings.files), b"a\n1\n"
    sha256 = hashlib.sha256(content).hexdigest()
    sets_aside = Blobs.set_aside
    first = another(world)
    purge_thread(world.store, blobs, world._redis, first.id)
    came: list[ThreadKey] = []

    def set_aside(blobs: Blobs, leaving: str) -> str:
        is_it = leaving == sha256 and not came
        if is_it and moment.startswith("before"):
            came.append(another(world))
        name = sets_aside(blobs, leaving)
        if is_it and not came:
            came.append(another(world))
        return name

    monkeypatch.setattr(Blobs, "set_aside", set_aside)
    delete_contents(world.store, blobs)
    assert blobs.get(world.store.thread_files(came[0].id)[0].sha256) == content
    assert blobs.left_aside() == []


@pytest.mark.parametrize("is_needed", [True, False])
def test_what_a_purge_that_died_had_set_aside_is_settled_by_the_next_one(world: World, *, is_needed: bool) -> None:
    blobs, key = Blobs(world.settings.files), another(world)
    (file,) = world.store.thread_files(key.id)
    if not is_needed:
        purge_thread(world.store, blobs, world._redis, key.id)
    blobs.set_aside(file.sha256)
    assert (blobs.has(file.sha256), len(blobs.left_aside())) == (False, 1)
    delete_contents(world.store, blobs)
    assert (blobs.has(file.sha256), blobs.left_aside()) == (is_needed, [])


def test_retention_purges_what_is_old_and_leaves_what_is_not(world: World, folder: Path) -> None:
    old, new = planted(world), another(world)
    _age(world, old, days=40)
    settings = world.settings.model_copy(update={"retention": world.settings.retention.model_copy(update={"days": 30})})
    blobs = Blobs(settings.files)
    assert keep_retention(settings, world.store, blobs, world._redis, right) == 1
    assert keep_retention(settings, world.store, blobs, world._redis, right) == 0  # once an hour
    orders(world)
    assert found(world, folder, SENTENCE) == []
    assert world.statuses(new) == ["done"]
    assert [(line.actor, line.resource) for line in world.store.audit_lines()] == [("retention", old.id)]


def test_retention_whose_file_store_goes_away_half_way_says_in_the_audit_what_it_deleted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = planted(world)
    _age(world, key, days=40)
    settings = world.settings.model_copy(update={"retention": world.settings.retention.model_copy(update={"days": 30})})
    monkeypatch.setattr(Objects, "remove", lambda *_: away())
    with pytest.raises(BlobsUnreachable):
        keep_retention(settings, world.store, Blobs(settings.files), world._redis, right)
    assert world.statuses(key) == []
    assert world.store.purgeable(older_than=datetime.now(UTC)) == [], "no later purge would find it"
    assert [(line.actor, line.action, line.resource) for line in world.store.audit_lines()] == [
        ("retention", "purge", key.id)
    ]


@pytest.mark.parametrize("is_fork", [False, True])
def test_a_thread_to_which_somebody_comes_back_while_retention_works_stays(
    world: World, monkeypatch: pytest.MonkeyPatch, is_fork: bool
) -> None:
    """So does one of which a new thread was made meanwhile."""
    first, second = sorted([planted(world), planted(world)], key=lambda key: key.id)
    for key in (first, second):
        _age(world, key, days=40)
    purge_first = purges.purge_thread

    def then_somebody_comes(*given: Any, **named: Any) -> int | None:
        rows = purge_first(*given, **named)
        if given[3] == first.id:
            young = another(world) if is_fork else world.say("are you still there?", thread=second)
            if is_fork:
                lease = world.worker().leases.take(young.id)
                assert lease is not None
                world.store.note_source(lease, second.id)
        return rows

    monkeypatch.setattr(purges, "purge_thread", then_somebody_comes)
    settings = world.settings.model_copy(update={"retention": world.settings.retention.model_copy(update={"days": 30})})
    assert keep_retention(settings, world.store, Blobs(settings.files), world._redis, right) == 1
    assert (world.statuses(first), world.statuses(second)) == ([], ["done"])
    assert [line.resource for line in world.store.audit_lines()] == [first.id]


def test_a_clock_that_jumps_a_year_ahead_purges_nothing_that_is_young(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Ahead(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Ahead:
            return cls.fromtimestamp(time.time() + 365 * 86_400, tz)

    old, young = planted(world), another(world)
    _age(world, old, days=40)
    settings = world.settings.model_copy(update={"retention": world.settings.retention.model_copy(update={"days": 30})})
    monkeypatch.setattr(purges, "datetime", Ahead)
    with capture_logs() as logged:
        assert keep_retention(settings, world.store, Blobs(settings.files), world._redis, right) == 1
    assert (world.statuses(old), world.statuses(young)) == ([], ["done"])
    assert "clock_is_ahead" in [entry["event"] for entry in logged]


def test_nothing_is_purged_by_age_while_slack_does_not_say_what_time_it_is(world: World) -> None:
    def silent() -> NoReturn:
        raise SlackUnreachable("away")

    key = planted(world)
    _age(world, key, days=40)
    settings = world.settings.model_copy(update={"retention": world.settings.retention.model_copy(update={"days": 30})})
    assert keep_retention(settings, world.store, Blobs(settings.files), world._redis, silent) == 0
    assert world.statuses(key) == ["done"]


def test_without_retention_everything_is_kept(world: World) -> None:
    key = planted(world)
    _age(world, key, days=4_000)
    assert keep_retention(world.settings, world.store, Blobs(world.settings.files), world._redis, right) == 0
    assert world.statuses(key) == ["done"]


def test_the_threads_of_a_person_are_those_in_which_they_wrote(world: World) -> None:
    mine, shared, other = planted(world, user=BEN), planted(world), planted(world)
    world.model = ScriptedModel([finish("Yes.")])
    world.say("also for me?", user=BEN, thread=shared)
    world.settle(shared)
    assert world.store.purgeable(user=BEN) == sorted([mine.id, shared.id])
    assert world.store.purgeable(thread_id=other.id) == [other.id]
    purge(world, mine)
    assert world.store.purgeable(user=BEN) == [shared.id]
    assert world.store.purgeable(thread_id=mine.id) == []


def test_a_running_turn_is_never_too_old(world: World) -> None:
    world.model = ScriptedModel([finish("One.")])
    key = world.say("count")
    world.slack.fault("chat.postMessage", "drop_call", times=99)
    world.run(key)
    _age(world, key, days=40)
    assert world.statuses(key) == ["running"]
    assert world.store.purgeable(older_than=datetime.now(UTC) - timedelta(days=30)) == []


def test_a_reset_leaves_no_variable_and_no_made_file_on_disk(world: World, folder: Path) -> None:
    world.model = ScriptedModel([cell(f"a = '{VALUE[:5]}' + '{VALUE[5:]}'\nopen('x', 'w').write(a)"), finish("Done.")])
    key = world.say("compute")
    world.settle(key)
    assert [place for place in found(world, folder, VALUE) if "/files/" in place]
    for words in ("reset", "yes"):
        world.say(words, thread=key)
        world.settle(key)
    assert "The session is reset" in world.text(key)
    assert [place for place in found(world, folder, VALUE) if "/here/" not in place] == []


def test_every_table_is_purged_or_holds_no_words() -> None:
    assert set(metadata.tables) == PURGED | KEPT | OF_PEOPLE
    assert not PURGED & KEPT


def _age(world: World, key: ThreadKey, *, days: int) -> None:
    then = {"then": (datetime.now(UTC) - timedelta(days=days)).isoformat(sep=" "), "thread": key.id}
    changes = (
        "UPDATE threads SET created_at = :then WHERE id = :thread",
        "UPDATE messages SET received_at = :then WHERE thread_id = :thread",
        "UPDATE outbox SET created_at = :then WHERE thread_id = :thread",
        "UPDATE turns SET created_at = :then WHERE thread_id = :thread",
        "UPDATE turns SET ended_at = :then WHERE thread_id = :thread AND ended_at IS NOT NULL",
    )
    with world.store._database.writing() as db:
        for change in changes:
            db.execute(text(change.replace(":then", "substr(:then, 1, 26)")), then)
