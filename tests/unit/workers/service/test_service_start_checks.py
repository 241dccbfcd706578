"""What the worker service refuses before it takes work."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import fakeredis
import pytest
from redis import Redis, RedisError
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from structlog.testing import capture_logs

from core.errors import SettingsError
from core.node_file import write_node_file
from core.queue import Wakes
from core.release import UNTOLD, version
from core.settings import Settings, load_settings
from core.store import Store
from workers.service import start_checks
from workers.service.start_checks import (
    CannotStart,
    refuse_second_node,
    refuse_second_of_a_name,
    refuse_weak_sandbox,
    refuse_wrong_token,
    tell_other_versions,
    wait_for_redis,
)

REAL = "https://slack.com/api/"
LOCAL = "http://127.0.0.1:8765/api/"


def settings(folder: Path, slack: str, minimum: str) -> Settings:
    (folder / "threadbook.toml").write_text(f'[sandbox]\nminimum = "{minimum}"\n')
    return load_settings({"SLACK_API_URL": slack}, cwd=folder)


@pytest.mark.parametrize(("level", "minimum"), [("none", "strong"), ("reduced", "strong"), ("none", "reduced")])
def test_a_sandbox_below_the_minimum_is_refused_on_real_slack_alone(tmp_path: Path, level: str, minimum: str) -> None:
    with pytest.raises(CannotStart, match=rf"{level}.*{minimum}"):
        refuse_weak_sandbox(level, settings(tmp_path, REAL, minimum))
    refuse_weak_sandbox(level, settings(tmp_path, LOCAL, minimum))


@pytest.mark.parametrize(("level", "minimum"), [("strong", "strong"), ("strong", "none"), ("reduced", "reduced")])
def test_a_sandbox_that_is_good_enough_is_taken(tmp_path: Path, level: str, minimum: str) -> None:
    refuse_weak_sandbox(level, settings(tmp_path, REAL, minimum))


def answering(monkeypatch: pytest.MonkeyPatch, error: Exception | None) -> None:
    """Slack answers auth.test so."""

    def auth_test(client: WebClient) -> None:
        if error is not None:
            raise error

    monkeypatch.setattr(WebClient, "auth_test", auth_test)


def slack_says(name: str, status: int = 200) -> SlackApiError:
    return SlackApiError(name, SimpleNamespace(data={"ok": False, "error": name}, status_code=status, headers={}))


@pytest.mark.parametrize("name", ["invalid_auth", "account_inactive", "token_revoked", "not_authed"])
def test_a_token_that_slack_refuses_starts_no_service_and_the_sentence_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    answering(monkeypatch, slack_says(name))
    with pytest.raises(SettingsError, match=rf"SLACK_BOT_TOKEN: {name}\. Copy the app's Bot User OAuth Token"):
        refuse_wrong_token(load_settings({"SLACK_BOT_TOKEN": "xoxb-wrong"}, tmp_path))


@pytest.mark.parametrize("error", [None, TimeoutError("timed out"), slack_says("internal_error", 500)])
def test_a_slack_that_does_not_answer_keeps_no_service_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception | None
) -> None:
    answering(monkeypatch, error)
    refuse_wrong_token(load_settings({"SLACK_BOT_TOKEN": "xoxb-right"}, tmp_path))


def test_many_workspaces_have_no_one_token_that_could_be_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, slack_says("not_authed"))
    refuse_wrong_token(load_settings({"SLACK_CLIENT_ID": "1.2"}, tmp_path))


class DeafRedis(fakeredis.FakeRedis):
    """Answers no PING."""

    def ping(self, **_: object) -> bool:
        raise RedisError("nobody is there")


def test_a_redis_that_does_not_answer_is_named_with_its_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_checks, "START_TIMEOUT_S", 0.0)
    with closing(DeafRedis()) as deaf, pytest.raises(CannotStart, match=r"nobody is there.*REDIS_URL"):
        wait_for_redis(deaf)


@pytest.fixture
def redis() -> Iterator[Redis]:
    with closing(fakeredis.FakeRedis(server=fakeredis.FakeServer())) as connection:
        yield connection


@pytest.fixture
def wakes(redis: Redis, tmp_path: Path) -> Iterator[Wakes]:
    with closing(Store(f"sqlite:///{tmp_path / 'store.db'}")) as store:
        yield Wakes(redis, store)


@pytest.fixture
def between_looks(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """What happens each time after the announced nodes were read, in place of the time that passes."""

    def install(happens: Callable[[], None]) -> None:
        read = start_checks.nodes

        def nodes(redis: Redis) -> list[object]:
            found = read(redis)
            happens()
            return list(found)

        monkeypatch.setattr(start_checks, "nodes", nodes)
        monkeypatch.setattr(start_checks, "NODE_POLL_S", 0.0)

    return install


SHARED = {
    "THREADBOOK_NODE_ID": "here",
    "DATABASE_URL": "postgresql://team@db/threadbook",
    "THREADBOOK_FILES": "s3://team/files",
    "THREADBOOK_CHECKPOINT_KEY": "the nodes of this team share this",
}
ALONE = {"THREADBOOK_NODE_ID": "here"}


def test_the_only_node_starts_and_its_own_announcement_is_no_other(redis: Redis, wakes: Wakes, tmp_path: Path) -> None:
    wakes.announce_node("here")
    refuse_second_node(redis, load_settings(ALONE, tmp_path))


def test_nodes_that_share_everything_work_together(redis: Redis, wakes: Wakes, tmp_path: Path) -> None:
    wakes.announce_node("there", about={"hands_over": True})
    refuse_second_node(redis, load_settings(SHARED, tmp_path))


@pytest.mark.parametrize(
    ("env", "hands_over", "reason"),
    [(ALONE, True, "SQLite.*local folder"), (SHARED, False, "cannot share its threads")],
)
def test_a_second_node_that_cannot_share_threads_is_refused_once_the_first_is_seen_alive(
    redis: Redis,
    wakes: Wakes,
    tmp_path: Path,
    between_looks: Callable[[Callable[[], None]], None],
    env: dict[str, str],
    hands_over: bool,
    reason: str,
) -> None:
    about = {"hands_over": hands_over}
    wakes.announce_node("there", ttl_s=9, about=about)
    redis.pexpire("threadbook:node:there", 5_000)
    between_looks(lambda: wakes.announce_node("there", ttl_s=9, about=about))
    with pytest.raises(CannotStart, match=rf"node there works with this Redis already.*{reason}"):
        refuse_second_node(redis, load_settings(env, tmp_path))


def test_a_node_that_was_killed_does_not_keep_the_next_one_from_starting(
    redis: Redis, wakes: Wakes, tmp_path: Path, between_looks: Callable[[Callable[[], None]], None]
) -> None:
    wakes.announce_node("there", about={"hands_over": False})
    between_looks(lambda: redis.delete("threadbook:node:there"))
    refuse_second_node(redis, load_settings(ALONE, tmp_path))


def test_a_second_service_of_the_same_name_is_refused_once_the_first_is_seen_alive(
    redis: Redis, wakes: Wakes, tmp_path: Path, between_looks: Callable[[Callable[[], None]], None]
) -> None:
    def alive() -> None:
        wakes.announce_node("here", about={"machine": "box-1"}, instance="one")

    alive()
    redis.pexpire("threadbook:node:here", 5_000)
    between_looks(alive)
    with pytest.raises(CannotStart, match=r"on box-1 works under this node's name, 'here'.*THREADBOOK_NODE_ID") as told:
        refuse_second_of_a_name(redis, wakes, load_settings(ALONE, tmp_path))
    assert str(tmp_path / ".threadbook" / "node.json") in str(told.value)


def test_a_service_that_was_first_seen_as_it_announced_itself_is_seen_alive_too(
    redis: Redis, wakes: Wakes, tmp_path: Path, between_looks: Callable[[Callable[[], None]], None]
) -> None:
    """No later look can be nearer to an announcement than that one."""
    ttls = iter([3_000, 9_000, 9_000])
    wakes.announce_node("here", ttl_s=10, instance="one")
    between_looks(lambda: redis.pexpire("threadbook:node:here", next(ttls)))
    with pytest.raises(CannotStart, match="works under this node's name"):
        refuse_second_of_a_name(redis, wakes, load_settings(ALONE, tmp_path))


def test_a_name_whose_service_was_killed_is_free_once_it_is_silent(
    redis: Redis, wakes: Wakes, tmp_path: Path, between_looks: Callable[[Callable[[], None]], None]
) -> None:
    wakes.announce_node("here", instance="one")
    between_looks(lambda: redis.delete("threadbook:node:here"))
    refuse_second_of_a_name(redis, wakes, load_settings(ALONE, tmp_path))


def test_what_a_killed_service_of_this_very_home_left_announced_holds_nobody_up(
    redis: Redis, wakes: Wakes, tmp_path: Path
) -> None:
    settings = load_settings(ALONE, tmp_path)
    settings.home.mkdir()
    write_node_file(settings.home, "here", "one")
    wakes.announce_node("here", instance="one")
    refuse_second_of_a_name(redis, wakes, settings)
    assert not wakes.node_is_live("here")


def test_a_copy_of_the_home_is_another_service(
    redis: Redis, wakes: Wakes, tmp_path: Path, between_looks: Callable[[Callable[[], None]], None]
) -> None:
    def alive() -> None:
        wakes.announce_node("here", instance="one")

    settings = load_settings(ALONE, tmp_path)
    (tmp_path / "original").mkdir()
    write_node_file(tmp_path / "original", "here", "one")
    shutil.copytree(tmp_path / "original", settings.home)
    alive()
    redis.pexpire("threadbook:node:here", 5_000)
    between_looks(alive)
    with pytest.raises(CannotStart, match="works under this node's name"):
        refuse_second_of_a_name(redis, wakes, settings)


def test_the_check_leaves_other_names_alone(redis: Redis, wakes: Wakes, tmp_path: Path) -> None:
    wakes.announce_node("there", instance="one")
    refuse_second_of_a_name(redis, wakes, load_settings(ALONE, tmp_path))
    assert wakes.node_is_live("there")


def test_a_service_that_starts_beside_another_version_says_so_in_its_log(
    redis: Redis, wakes: Wakes, tmp_path: Path
) -> None:
    settings = load_settings(ALONE, tmp_path)
    wakes.announce_node("of-ours", about={"version": version()})
    with capture_logs() as logs:
        tell_other_versions(redis, settings)
        assert logs == []
        wakes.announce_node("of-before")
        tell_other_versions(redis, settings)
    assert [(line["event"], line["others"]) for line in logs] == [("other_versions_run", {"of-before": UNTOLD})]
