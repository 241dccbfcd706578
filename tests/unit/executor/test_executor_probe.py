"""What the attacks at start mean for the level, and what the watcher counts."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace

import pytest

from executor.sandbox import calls
from executor.sandbox.cgroup import Cgroups
from executor.sandbox.namespaces import Users
from executor.sandbox.probe import judge, uncounted
from executor.sandbox.steps import Plan
from executor.sessions import resource_monitor

ATTACKS = ("read a file of the host", "hold memory in files without a name", "hold memory that processes share")
HELD = dict.fromkeys(ATTACKS, "held")
PLAN = Plan(True, True, True, True, Users(0, 0, 1))
NAMELESS = {"hold memory in files without a name": "16 MB"}


@pytest.mark.parametrize(
    ("findings", "level"),
    [
        ({}, "strong"),
        ({"hold memory that processes share": "16 MB, not counted"}, "reduced"),
        ({"read a file of the host": "read it"}, "none"),
    ],
)
def test_memory_that_nobody_counts_costs_the_strong_level_and_a_breached_wall_all_of_it(
    findings: dict[str, str], level: str
) -> None:
    found = judge(PLAN, {}, Cgroups("", why_not="left out"), HELD | findings)
    assert found.level == level
    assert judge(replace(PLAN, namespaces=False), {}, Cgroups(""), HELD | findings).level != "strong"
    assert ("not counted" in found.layers["attacks at start"]) == (level == "reduced")


def test_without_namespaces_a_landlock_that_stops_no_signal_is_no_wall() -> None:
    bare = replace(PLAN, namespaces=False)
    assert judge(bare, {"landlock": "files"}, Cgroups(""), HELD, landlock=6).level == "reduced"
    old = judge(bare, {"landlock": "files"}, Cgroups(""), HELD, landlock=5)
    assert old.level == "none"
    assert old.layers["landlock"] == "too old: version 5; without namespaces it takes version 6"
    assert judge(PLAN, {"landlock": "files"}, Cgroups(""), HELD, landlock=5).level == "strong"


@pytest.mark.parametrize("attack", ["end a process of the host", "cut a file of the host to nothing"])
def test_a_host_that_a_cell_can_end_or_whose_files_it_can_cut_has_no_wall(attack: str) -> None:
    bare = replace(PLAN, namespaces=False)
    assert judge(bare, {}, Cgroups(""), HELD | {attack: "it could"}).level == "none"


def test_filters_are_called_untested_on_a_machine_that_nobody_has_attacked(monkeypatch: pytest.MonkeyPatch) -> None:
    layers = {"seccomp": "140 rules", "landlock": "files"}
    monkeypatch.setattr(calls, "MACHINE", "x86_64")
    assert judge(PLAN, layers, Cgroups(""), HELD).layers["seccomp"] == "on: 140 rules"
    monkeypatch.setattr(calls, "MACHINE", "aarch64")
    states = judge(PLAN, layers, Cgroups(""), HELD).layers
    assert states["seccomp"].startswith("on: 140 rules; untested on aarch64")
    assert (states["landlock"], states["allow-list"]) == ("on: files", "off")


def test_memory_that_was_got_is_held_when_it_is_counted() -> None:
    assert uncounted(HELD | NAMELESS, 16 << 20) == HELD
    assert uncounted(HELD | NAMELESS, 1 << 20)["hold memory in files without a name"] == "16 MB, not counted"


def test_the_watcher_counts_shared_memory_threads_and_files_without_a_name() -> None:
    ready, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            import mmap
            import threading

            shared = mmap.mmap(-1, 32 << 20)
            shared[:] = b"x" * len(shared)
            os.write(os.memfd_create("m"), bytes(32 << 20))
            for _ in range(5):
                threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
            os.write(tell, b"!")
            time.sleep(60)
        finally:
            os._exit(0)
    try:
        before = resource_monitor.usage(os.getpid())
        assert os.read(ready, 1) == b"!"
        used = resource_monitor.usage(pid)
        assert used.tasks == 6
        assert used.memory_bytes > 64 << 20
        assert resource_monitor.held(used.pids) > 60 << 20
        assert pid in before.pids
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
