"""While a team upgrades, and on the way back, nodes of two versions share its threads."""

from __future__ import annotations

import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fault_cases import MOMENTS, Case, InCell, InModelCall, Moment
from fault_checks import check_leftovers, check_thread, outcome
from fault_table import Table
from fault_world import ROOT, Node, World, kill, world_of_its_own
from older_code import OlderCode, newest_schema, older_code
from patience import eventually
from sqlalchemy import text
from test_fault_processes import answers, release

import executor.client

pytestmark = pytest.mark.fault

UPGRADE = "rolling upgrade: first of two hosts SIGTERM, back as the newer version"
WAY_BACK = "the way back: first of two hosts SIGTERM, back as the older version"


@pytest.fixture(scope="module")
def older() -> Iterator[OlderCode]:
    """The code of before, in a folder that every user may enter."""
    with tempfile.TemporaryDirectory(prefix="older-") as folder:
        Path(folder).chmod(0o755)
        yield older_code(Path(folder))


class InCellAtTheOther(InCell):
    """The second cell runs at the host that has the other version."""

    name = "in mid-cell at the other host"


@pytest.mark.timeout(600)
@pytest.mark.parametrize("fault", [UPGRADE, WAY_BACK])
def test_threads_go_on_between_two_versions(
    fault: str, older: OlderCode, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor.client, "PROTOCOL_VERSION", older.protocol)  # newer session hosts answer it too
    ours = newest_schema()
    before, after = (ROOT, older.folder) if fault == WAY_BACK else (older.folder, ROOT)
    with world_of_its_own(nodes=2, code=before) as world:
        first, second = world.nodes
        moments = [moment(Case(world)) for moment in MOMENTS]
        for moment in moments:
            moment.reach()
        assert _schema(world) == (ours if fault == WAY_BACK else older.schema)
        second.code = after
        second.start()
        assert _schema(world) == ours
        others = _in_cell_at(second, world)
        for moment in moments:
            moment.strike()
        kill(first.process, signal.SIGTERM)
        assert first.process is not None
        first.process.wait(120)
        gone = time.monotonic()
        moments += others
        release(moments)
        first.code = after
        first.launch()
        for moment, seconds in answers(world, moments, gone).items():
            table.note(fault, moment.name, outcome(moment.case), seconds)
        eventually(first.takes_work, "the first host in its other version")
        _replace_bot(world, after)
        for moment in moments:
            moment.follow_up()
        eventually(lambda: all(moment.case.answered() for moment in moments), "the follow-ups")
        for moment in moments:
            check_thread(moment.case)
        check_leftovers(world)
        moved = [moment.name for moment in moments if all(node.journal(moment.case.thread.id) for node in world.nodes)]
        assert InModelCall.name in moved, f"only these threads were at both hosts: {moved}"


def _in_cell_at(node: Node, world: World) -> list[Moment]:
    """New threads in mid-cell, one after another until this node has one: any node may take a new thread."""
    found: list[Moment] = []

    def has_one() -> bool:
        found.append(InCellAtTheOther(Case(world)))
        found[-1].reach()
        return world.node_of(found[-1].case.thread.id) is node

    eventually(has_one, "a thread at the other host")
    return found


def _replace_bot(world: World, code: Path) -> None:
    """Stop the bot and start it with this code."""
    kill(world.bot, signal.SIGTERM)
    assert world.bot is not None
    world.bot.wait(60)
    world.bot_code = code
    world.start_bot()


def _schema(world: World) -> str:
    """The revision of the database."""
    with world.engine.connect() as db:
        return str(db.execute(text("SELECT version_num FROM alembic_version")).scalar_one())
