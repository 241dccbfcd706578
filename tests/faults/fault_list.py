"""The faults of processes, servers and disks."""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fault_world import World, kill
from patience import eventually

from core.spool import Spool

Act = Callable[[World], None]
AWAY_S = 3.0
"""How long a server is away, while the threads go on working."""
LONG_AWAY_S = 45.0
"""How long Postgres is away when it takes longer: a lease (10 s), each time-out of ours, the retries of a call."""
SILENT_S = 15.0
"""How long a server accepts and never answers: longer than any time-out of ours."""


@dataclass(frozen=True)
class ProcessFault:
    """`strike` breaks something; `back` is what an init system or an admin then does, None when nothing is needed."""

    name: str
    strike: Act
    back: Act | None = None
    held: bool = False
    """Whether the threads are held until `back`: their work outlasts every grace time."""
    fills_disk: bool = False
    """Runs only where home is on a small disk of its own."""


def _bot(signum: int) -> Act:
    def strike(world: World) -> None:
        assert world.bot is not None
        kill(world.bot, signum)
        world.bot.wait(60)
        eventually(lambda: not world.slack.bot_is_connected(), "the end of its connection")

    return strike


def _service(signum: int) -> Act:
    def strike(world: World) -> None:
        service = world.struck.process
        assert service is not None
        kill(service, signum)
        if signum == signal.SIGKILL:
            service.wait(60)

    return strike


def _stop_and_kill_service(which: Callable[[World], list]) -> Act:
    """Processes are stopped. A second later their service dies, which alone would have killed them."""

    def strike(world: World) -> None:
        _kill_all(which, signal.SIGSTOP)(world)
        time.sleep(1.0)
        _service(signal.SIGKILL)(world)

    return strike


def _start_service(world: World) -> None:
    assert world.struck.process is not None
    world.struck.process.wait(120)
    world.struck.start()


def _kill_all(which: Callable[[World], list], signum: int = signal.SIGKILL) -> Act:
    def strike(world: World) -> None:
        for process in which(world):
            kill(process, signum)

    return strike


def _kill_session_host_twice(world: World) -> None:
    """Kill it, and once more while the service starts it again."""
    first = world.struck.session_host()
    kill(first)

    def comes_up() -> bool:
        with suppress(KeyError):
            return world.struck.session_host().pid != first.pid
        return False

    eventually(comes_up, "the next session host")
    kill(world.struck.session_host())


def _restart_redis(world: World) -> None:
    time.sleep(AWAY_S)
    world.redis_server.start()


def _restart_postgres_after(away_s: float) -> Act:
    def back(world: World) -> None:
        time.sleep(away_s)
        world.postgres.start()

    return back


def _kill_bot_meanwhile(world: World) -> None:
    """The bot dies with messages that it keeps on the disk, and starts again once Postgres is back."""
    spool = Spool(world.settings.spool)
    eventually(lambda: len({one.place for path in spool.kept() if (one := spool.read(path))}) >= 2, "two messages kept")
    _bot(signal.SIGKILL)(world)
    _restart_postgres_after(AWAY_S)(world)
    world.start_bot()


def _filler(world: World) -> Path:
    return world.settings.home.parent / "filler"


def _fill_disk(world: World) -> None:
    with suppress(OSError), _filler(world).open("wb") as filler:
        while True:
            filler.write(bytes(1 << 16))
            filler.flush()


def _empty_disk(world: World) -> None:
    time.sleep(AWAY_S)
    _filler(world).unlink(missing_ok=True)


def _lose_files(world: World) -> None:
    shutil.rmtree(world.settings.files, ignore_errors=True)


def _session_hosts(world: World) -> list:
    return [world.struck.session_host()]


def _swallow(server: str) -> Act:
    """Nothing comes through to a server any more, and nobody is told."""
    return lambda world: world.silencers[server].swallow()


def _resume(server: str) -> Act:
    """New connections come through. The old ones stay silent for ever."""

    def back(world: World) -> None:
        time.sleep(SILENT_S)
        world.silencers[server].resume()

    return back


PROCESS_FAULTS = (
    ProcessFault("bot: kill -9", _bot(signal.SIGKILL), World.start_bot),
    ProcessFault("bot: SIGTERM", _bot(signal.SIGTERM), World.start_bot),
    ProcessFault("work horses: kill -9", _kill_all(lambda world: world.struck.horses())),
    ProcessFault("work horses: SIGTERM", _kill_all(lambda world: world.struck.horses(), signal.SIGTERM)),
    ProcessFault("RQ workers: kill -9", _kill_all(lambda world: world.struck.rq_workers())),
    ProcessFault("RQ workers: SIGTERM", _kill_all(lambda world: world.struck.rq_workers(), signal.SIGTERM)),
    ProcessFault("worker service: kill -9", _service(signal.SIGKILL), _start_service),
    ProcessFault("worker service: kill -9, work goes on for long", _service(signal.SIGKILL), _start_service, held=True),
    ProcessFault("worker service: SIGTERM", _service(signal.SIGTERM), _start_service),
    ProcessFault(
        "worker service: SIGTERM, work outlasts the grace time", _service(signal.SIGTERM), _start_service, held=True
    ),
    ProcessFault("session host: kill -9", _kill_all(lambda world: [world.struck.session_host()])),
    ProcessFault("session host: kill -9, and again while it starts", _kill_session_host_twice),
    ProcessFault("session host: SIGTERM", _kill_all(lambda world: [world.struck.session_host()], signal.SIGTERM)),
    ProcessFault("zygote: kill -9", _kill_all(lambda world: world.struck.zygotes())),
    ProcessFault("Redis: killed, back empty after 3 s", lambda world: world.redis_server.kill(), _restart_redis),
    ProcessFault(
        "Postgres: stopped, back after 3 s", lambda world: world.postgres.stop(), _restart_postgres_after(AWAY_S)
    ),
    ProcessFault(
        "Postgres: stopped, back after 45 s", lambda world: world.postgres.stop(), _restart_postgres_after(LONG_AWAY_S)
    ),
    ProcessFault("session host: SIGSTOP", _kill_all(_session_hosts, signal.SIGSTOP)),
    ProcessFault("zygote: SIGSTOP", _kill_all(lambda world: world.struck.zygote_itself(), signal.SIGSTOP)),
    ProcessFault("work horses: SIGSTOP", _kill_all(lambda world: world.struck.horses(), signal.SIGSTOP)),
    ProcessFault("RQ workers: SIGSTOP", _kill_all(lambda world: world.struck.rq_workers(), signal.SIGSTOP)),
    ProcessFault(
        "RQ workers: SIGSTOP, and the worker service kill -9 a second later",
        _stop_and_kill_service(lambda world: world.struck.rq_workers()),
        _start_service,
    ),
    ProcessFault(
        "session host: SIGSTOP, and the worker service kill -9 a second later",
        _stop_and_kill_service(_session_hosts),
        _start_service,
    ),
    ProcessFault("Redis: accepts and never answers for 15 s", _swallow("Redis"), _resume("Redis")),
    ProcessFault("Postgres: accepts and never answers for 15 s", _swallow("Postgres"), _resume("Postgres")),
    ProcessFault("disk: full for 3 s", _fill_disk, _empty_disk, fills_disk=True),
    ProcessFault("file store: lost", _lose_files),
)


def _kill_everybody(world: World) -> None:
    world.struck.kill_everybody()


def _kill_everybody_everywhere(world: World) -> None:
    for node in world.nodes:
        node.kill_everybody()


def _start_nodes(world: World) -> None:
    time.sleep(AWAY_S)
    world.start_all()


def _signal_objects(signum: int) -> Act:
    def act(world: World) -> None:
        assert world.objects is not None
        world.objects.signal(signum)

    return act


def _resume_objects(world: World) -> None:
    time.sleep(AWAY_S)
    _signal_objects(signal.SIGCONT)(world)


WORKER_TREE = ProcessFault("worker service with all its processes: kill -9", _kill_everybody, _start_nodes)
"""Session host and jobs die together with the service, and an init system starts it again."""

BOT_MEANWHILE = ProcessFault(
    "Postgres: stopped, and the bot kill -9 before it is back", lambda world: world.postgres.stop(), _kill_bot_meanwhile
)
"""Messages come while Postgres is away, and nobody but the bot's disk has them."""

NODE_FAULTS = (
    ProcessFault("first of two hosts: all processes killed at once", _kill_everybody),
    ProcessFault("first of two hosts: all processes killed at once, back after 3 s", _kill_everybody, _start_nodes),
    ProcessFault("first of two hosts: worker service kill -9", _service(signal.SIGKILL)),
    ProcessFault("first of two hosts: SIGTERM", _service(signal.SIGTERM)),
    ProcessFault("both hosts: all processes killed at once, back after 3 s", _kill_everybody_everywhere, _start_nodes),
    ProcessFault(
        "object store of two hosts: accepts and never answers for 15 s", _swallow("objects"), _resume("objects")
    ),
    ProcessFault("object store of two hosts: mute for 3 s", _signal_objects(signal.SIGSTOP), _resume_objects),
)
"""Faults of a team's nodes. All threads are on the first node when the second one starts and the fault strikes."""
