"""Which processes the worker service of a node consists of."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NoReturn

import fakeredis
import pytest

from core.queue import Wakes, nodes, signatures_of
from core.settings import Settings, load_settings
from core.store import Store
from workers.service import clean_rooms, health, janitor, rq_worker
from workers.service import supervisor as module
from workers.service.processes import forked
from workers.service.processes.registry import live_processes, registry_file, write_registry
from workers.service.schedules import runner as schedule_runner
from workers.service.start_checks import CannotStart
from workers.service.supervisor import Supervisor, forked_targets


def test_a_node_has_as_many_workers_as_the_team_says_and_one_janitor(tmp_path: Path) -> None:
    (tmp_path / "threadbook.toml").write_text("[workers]\ncount = 2\n")
    targets = forked_targets(load_settings({}, tmp_path))
    workers = {"worker-1": rq_worker.run, "worker-2": rq_worker.run}
    assert targets == {
        **workers,
        "janitor": janitor.run,
        "clean room": clean_rooms.run,
        "schedules": schedule_runner.run,
    }


def test_health_is_a_process_of_its_own_when_it_has_a_port(tmp_path: Path) -> None:
    targets = forked_targets(load_settings({"THREADBOOK_WORKER_HEALTH_PORT": "8081"}, tmp_path))
    assert targets["health"] is health.run


@pytest.fixture
def wakes(tmp_path: Path) -> Iterator[Wakes]:
    server = fakeredis.FakeServer()
    with closing(fakeredis.FakeRedis(server=server)) as redis, closing(Store(f"sqlite:///{tmp_path}/s.db")) as store:
        yield Wakes(redis, store)


def test_a_service_whose_name_another_one_took_meanwhile_stops_with_a_sentence(tmp_path: Path, wakes: Wakes) -> None:
    supervisor = Supervisor(load_settings({"THREADBOOK_NODE_ID": "here"}, tmp_path))
    supervisor._announce(wakes)
    supervisor._announce(wakes)
    wakes._redis.delete("threadbook:node:here")
    wakes.announce_node("here", instance="another one")
    with pytest.raises(CannotStart, match="works under this node's name, 'here'"):
        supervisor._announce(wakes)


def test_the_home_of_a_started_service_keeps_the_name(tmp_path: Path) -> None:
    settings = load_settings({"THREADBOOK_NODE_ID": "here"}, tmp_path)
    settings.home.mkdir()
    Supervisor(settings)._keep_name()
    assert load_settings({}, tmp_path).node_id == "here"


def test_a_home_that_takes_no_file_keeps_no_service_from_working(tmp_path: Path) -> None:
    Supervisor(load_settings({"THREADBOOK_HOME": "nowhere"}, tmp_path))._keep_name()


class Host:
    """A session host that answers or does not."""

    sandbox = "strong"
    answers = False
    pid = None

    def keep(self) -> None:
        """It is looked at."""


class Forks:
    """No processes; the watch ends after a few looks."""

    def __init__(self, looks: int, stop: Callable[[], None]) -> None:
        self._looks, self._stop = looks, stop

    def keep(self) -> None:
        self._looks -= 1
        if self._looks == 0:
            self._stop()

    def alive(self, prefix: str) -> int:
        return 0

    def pids(self) -> dict[str, int]:
        return {"worker-1": os.getpid()}


@pytest.mark.parametrize("answers", [False, True])
def test_a_node_is_announced_only_while_its_session_host_answers(
    answers: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WATCH_EVERY_S", 0.0)
    settings = load_settings({"THREADBOOK_HOME": str(tmp_path), "THREADBOOK_NODE_ID": "n1"}, tmp_path)
    supervisor, host = Supervisor(settings), Host()
    host.answers = answers
    supervisor._session_host = host  # type: ignore[assignment]
    supervisor._forks = Forks(3, supervisor._stopping.set)  # type: ignore[assignment]
    with fakeredis.FakeRedis(server=fakeredis.FakeServer()) as redis:
        supervisor._watch(Wakes(redis, None, signatures_of(bytes)))  # type: ignore[arg-type]
        assert [node.id for node in nodes(redis)] == (["n1"] if answers else [])


def test_a_moment_without_room_for_a_process_ends_no_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wakes: Wakes
) -> None:
    monkeypatch.setattr(module, "WATCH_EVERY_S", 0.0)
    monkeypatch.setattr(forked, "RESTART_PAUSE_S", 0.0)
    settings = load_settings({"THREADBOOK_HOME": str(tmp_path)}, tmp_path)
    supervisor, host, tried = Supervisor(settings), Host(), []

    def no_room(*_: object) -> NoReturn:
        tried.append(1)
        if len(tried) == 3:
            supervisor._stopping.set()
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(forked, "_fork", no_room)
    supervisor._session_host = host  # type: ignore[assignment]
    supervisor._watch(wakes)
    assert len(tried) == 3


def test_the_registry_is_written_once_a_full_disk_has_room_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(settings: Settings, pids: dict[str, int]) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    settings = load_settings({"THREADBOOK_HOME": str(tmp_path)}, tmp_path)
    supervisor = Supervisor(settings)
    supervisor._forks = Forks(3, lambda: None)  # type: ignore[assignment]
    with monkeypatch.context() as disk:
        disk.setattr(module, "write_registry", full)
        supervisor._register()
        assert live_processes(settings) == {}
    supervisor._register()
    assert live_processes(settings) == {"supervisor": True, "worker-1": True}


def test_a_service_that_starts_on_a_full_disk_is_ready_once_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wakes: Wakes, capsys: pytest.CaptureFixture[str]
) -> None:
    looks = []

    def look() -> None:
        looks.append(module.ready_file(settings).exists())
        if len(looks) == 2:
            monkeypatch.undo()
        elif len(looks) == 4:
            supervisor._stopping.set()

    def full(path: Path, text: str) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    settings = load_settings({"THREADBOOK_HOME": str(tmp_path)}, tmp_path)
    supervisor = Supervisor(settings)
    supervisor._forks, supervisor._session_host = Forks(9, lambda: None), Host()  # type: ignore[assignment]
    supervisor._forks.keep = look  # type: ignore[method-assign]
    monkeypatch.setattr(Path, "write_text", full)
    supervisor._watch(wakes)
    assert looks == [False, False, True, True]
    assert capsys.readouterr().out == "worker ready\n"


def test_a_service_that_is_refused_leaves_the_files_of_the_one_that_works(tmp_path: Path, wakes: Wakes) -> None:
    settings = load_settings({"THREADBOOK_HOME": str(tmp_path)}, tmp_path)
    module.ready_file(settings).write_text("1")
    with subprocess.Popen(["sleep", "600"]) as working:
        write_registry(settings, {"supervisor": working.pid})
        Supervisor(settings)._stop(wakes)
        assert module.ready_file(settings).exists()
        assert live_processes(settings) == {"supervisor": True}
        working.kill()


def test_a_service_that_is_refused_leaves_the_files_of_one_in_another_container(tmp_path: Path, wakes: Wakes) -> None:
    settings = load_settings({"THREADBOOK_HOME": str(tmp_path)}, tmp_path)
    module.ready_file(settings).write_text("1")
    registry = '{"supervisor": [1, 4711]}'  # process 1 of that container is none of this one
    registry_file(settings).write_text(registry)
    Supervisor(settings)._stop(wakes)
    assert module.ready_file(settings).exists()
    assert registry_file(settings).read_text() == registry


def test_a_service_that_worked_takes_its_files_away(tmp_path: Path, wakes: Wakes) -> None:
    settings = load_settings({"THREADBOOK_HOME": str(tmp_path)}, tmp_path)
    supervisor = Supervisor(settings)
    supervisor._has_home = True
    module.ready_file(settings).write_text(str(os.getpid()))
    write_registry(settings, {"supervisor": os.getpid()})
    supervisor._stop(wakes)
    assert not module.ready_file(settings).exists()
    assert live_processes(settings) == {}


def test_a_service_ends_its_processes_on_a_disk_that_takes_no_writes(
    tmp_path: Path, wakes: Wakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(path: Path, missing_ok: bool = False) -> NoReturn:
        raise OSError(errno.EROFS, "Read-only file system")

    supervisor, ended = Supervisor(load_settings({"THREADBOOK_HOME": str(tmp_path)}, tmp_path)), []
    supervisor._has_home = True
    for name in ("_forks", "_broker", "_tools", "_session_host"):
        monkeypatch.setattr(getattr(supervisor, name), "stop", partial(ended.append, name))
    monkeypatch.setattr(Path, "unlink", read_only)
    supervisor._stop(wakes)
    assert ended == ["_forks", "_broker", "_tools", "_session_host"]


def test_a_service_that_could_not_store_its_last_sessions_does_not_end_with_0(
    tmp_path: Path, wakes: Wakes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = load_settings({"SLACK_BOT_TOKEN": "xoxb-1"}, tmp_path)
    left = [["T1:C1:1.0"], []]
    monkeypatch.setattr(module, "export_the_rest", lambda _: left.pop(0))
    monkeypatch.setattr(module, "refuse_wrong_token", lambda _: None)
    monkeypatch.setattr(module, "log_uncaught", lambda: None)
    monkeypatch.setattr(module, "configure_logging", lambda _: None)
    monkeypatch.setattr(Supervisor, "run", lambda service: service._stop(wakes))
    with pytest.raises(SystemExit) as ended:
        module.main(settings)
    assert ended.value.code == 1
    assert "Start this node again, and nothing is lost" in capsys.readouterr().err
    module.main(settings)


def test_a_home_that_cannot_be_made_keeps_a_service_from_starting_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    settings = load_settings({"THREADBOOK_HOME": "/dev/null/home"}, tmp_path)
    with pytest.raises(CannotStart, match="home folder /dev/null/home cannot be used: Not a directory"):
        Supervisor(settings).run()


def test_a_stop_is_heeded_while_the_service_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load_settings({"THREADBOOK_HOME": str(tmp_path)}, tmp_path)
    kept = {signum: signal.getsignal(signum) for signum in (signal.SIGTERM, signal.SIGINT)}
    monkeypatch.setattr(module, "warm_up", lambda _: signal.raise_signal(signal.SIGTERM))
    try:
        with pytest.raises(SystemExit) as ended:
            Supervisor(settings).run()
        assert ended.value.code == 0
    finally:
        for signum, handler in kept.items():
            signal.signal(signum, handler)


@pytest.mark.parametrize("when", ["before", "off"])
def test_a_node_has_no_process_for_clean_rooms_where_none_follow_a_report(tmp_path: Path, when: str) -> None:
    (tmp_path / "threadbook.toml").write_text(f'[report]\nclean_room = "{when}"\n')
    assert "clean room" not in forked_targets(load_settings({}, tmp_path))
