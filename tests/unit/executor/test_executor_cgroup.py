"""A session's cgroup, on a host that lets us make one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from patience import PATIENCE_S
from services import missing

from executor.sandbox.cgroup import Cgroups, enter, find
from executor.values import Limits


@pytest.fixture
def cgroups() -> Cgroups:
    found = find(f"threadbook-test-{os.getpid()}")
    if not found.kind:
        if os.geteuid() != 0:
            pytest.skip(f"cgroup: {found.why_not}")
        missing("cgroup", found.why_not)
    return found


def test_a_process_whose_group_was_removed_meanwhile_is_told_so(cgroups: Cgroups) -> None:
    try:
        group = cgroups.make("gone", Limits())
        assert group is not None
        group_files = group.open_procs()
        assert group.remove()
        assert enter(group_files) is False
        for file in group_files:
            os.close(file)
    finally:
        cgroups.close()


def test_a_process_that_enters_is_counted(cgroups: Cgroups) -> None:
    try:
        group = cgroups.make("one", Limits())
        assert group is not None
        group_files = group.open_procs()
        go, stay = os.pipe()
        child = os.fork()
        if child == 0:
            entered = enter(group_files)
            os.write(stay, b"y" if entered else b"n")
            os._exit(0)
        assert os.read(go, 1) == b"y"
        os.waitpid(child, 0)
        for descriptor in (*group_files, go, stay):
            os.close(descriptor)
        assert group.remove()
    finally:
        cgroups.close()


IN_ITS_GROUP = """
import json, os, sys
from executor.sandbox import cgroup
cgroup._NEEDED = (sys.argv[2],)
with open(os.path.join(sys.argv[1], "cgroup.procs"), "w") as procs:
    procs.write("0")
found = cgroup.find("threadbook-x")
own = cgroup._own_groups()[""]
again = cgroup.find("threadbook-y")
print(json.dumps([found.kind, [str(path) for path in found.parents], own, again.kind, found.why_not]))
found.close()
again.close()
"""


@pytest.fixture
def given() -> Iterator[tuple[Path, str]]:
    """A cgroup (v2) of our own with a controller that it may hand down; any controller shows the kernel's rule."""
    for root in (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified")):
        with suppress(OSError):
            controller = (root / "cgroup.controllers").read_text().split()[0]
            folder = root / f"threadbook-test-{os.getpid()}"
            (root / "cgroup.subtree_control").write_text(f"+{controller}")
            folder.mkdir()
            yield folder, controller
            for path in (*folder.glob("*/"), folder):
                with suppress(OSError):
                    path.rmdir()
            return
    pytest.skip("this machine lets nobody make a cgroup of version 2 with a controller")


def looked(folder: Path, controller: str) -> list[object]:
    command = [sys.executable, "-c", IN_ITS_GROUP, str(folder), controller]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    found: list[object] = json.loads(done.stdout)
    return found


def test_a_cgroup_that_systemd_gave_to_the_service_is_emptied_into_a_leaf_and_holds_sessions(
    given: tuple[Path, str],
) -> None:
    folder, controller = given
    os.setxattr(folder, "user.delegate", b"1")
    kind, parents, own, again, _ = looked(folder, controller)
    assert (kind, parents) == ("v2", [str(folder / "threadbook-x")])
    assert own == f"/{folder.name}/service"
    assert again == "v2", "the next host of the service is in the leaf already"


def test_a_cgroup_that_is_not_ours_is_left_as_it_is(given: tuple[Path, str]) -> None:
    folder, controller = given
    kind, _, own, _, why_not = looked(folder, controller)
    assert (kind, own) == ("", f"/{folder.name}")
    assert "busy" in str(why_not)
    assert not (folder / "service").exists()
