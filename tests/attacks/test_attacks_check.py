"""The check that people run on their own machine finds every wall standing here, and says when one is not."""

from __future__ import annotations

import pytest
from attack_kit import need_layer

from executor.values import Sandbox
from tryout.commands import attack_check


@pytest.mark.parametrize(
    ("without", "level"), [((), "strong"), (("cgroup",), "strong"), (("cgroup", "namespaces"), "reduced")]
)
def test_every_named_attack_is_held_behind_the_walls_of_its_level(
    sandbox: Sandbox, without: tuple[str, ...], level: str
) -> None:
    need_layer(sandbox, "namespaces")
    found = attack_check.attack(without=without)
    assert found.level == level
    assert len(found.rows) >= 40
    assert found.breached == []
    open_ = {row.attack for row in found.rows if row.state == "not applicable"}
    assert open_ == ({"hold on to it", "ask for its group"} if level == "reduced" else set())


def test_a_wall_that_is_not_there_is_in_the_table(sandbox: Sandbox) -> None:
    need_layer(sandbox, "namespaces")
    found = attack_check.attack(without=("seccomp",))
    assert found.level == "none"
    got_through = {row.attack for row in found.breached}
    assert {"set up io_uring", "unshare a user namespace", "trace itself", "a watch on a file"} <= got_through
