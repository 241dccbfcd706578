"""Jobs in real sessions: none is in the way of the next."""

from __future__ import annotations

from contextlib import closing

import pytest

from executor.launch import running_host
from executor.values import Limits
from workers.builder.sandbox.session_walls import SandboxWalls
from workers.builder.sandbox.walls import Job

pytestmark = pytest.mark.process

MB = 1_000_000


def outputs(*programs: str) -> list[str]:
    """What these programs print, one after the other, in a session with 32 MB."""
    limits = Limits(memory_mb=512, workspace_mb=32, spare_sessions=0)
    with running_host(limits=limits, bash=True) as sessions, closing(SandboxWalls(sessions)) as walls:
        return [walls.run(Job(("python", "p.py"), files={"p.py": each})).stdout for each in programs]


def test_what_a_job_leaves_takes_no_room_from_the_next() -> None:
    program = f"open('large', 'wb').write(bytes({20 * MB}))\nprint('written')"
    assert outputs(program, program, program) == ["written\n"] * 3


def test_a_job_that_fills_the_workspace_is_not_in_the_way_of_the_next() -> None:
    fills = f"try:\n    open('../large', 'wb').write(bytes({40 * MB}))\nexcept OSError:\n    print('full')"
    assert outputs(fills, f"# {'x' * MB}\nprint('fine')") == ["full\n", "fine\n"]
