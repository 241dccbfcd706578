"""A session's cgroup, on a host that lets us make one."""

from __future__ import annotations

import os

import pytest
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
