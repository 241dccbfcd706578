"""A node whose sessions and whose Store are of different moments: a backup of one of them was restored."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from turn_world import Death, Killed, Meanwhile, NewWorld, World, cell, finish

from core.steps import CONFIRM_CALL, CellRan, Decided, Moved, Replied, Step, ToolCall
from core.values import Lease, ThreadKey
from workers.models.scripted import ScriptedModel
from workers.turn.arrival import goes_further, lacks_cells

REPORT = finish("It is **7**.")
ONE = cell("n = 1\nprint('n is', n)", "One")
TWO = cell("n = 2\nprint('n is', n)", "Two")
OTHER = cell("print('other', 'n' in globals() and n)", "Other")
TOLD = "The saved variables of this thread did not fit its record"
TURN = "T1:C1:1.1/t2"


def copy_database(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source)) as one, closing(sqlite3.connect(target)) as other:
        one.backup(other)


def asks(world: World, *turns: list[object]) -> ThreadKey:
    world.model = Meanwhile(ScriptedModel(turns=[[ONE, REPORT], *turns]), {})
    key = world.say("how much?")
    world.settle(key)
    return key


def outputs(world: World, key: ThreadKey) -> list[str]:
    return [ran["stdout"] for ran in world.steps(key, "cell")]


def asks_on(world: World, key: ThreadKey, text: str) -> None:
    world.say(text, thread=key)
    world.settle(key)


def with_a_restored_store(world: World, folder: Path) -> ThreadKey:
    """The session has gone on for a turn of which the Store knows nothing."""
    key = asks(world, [TWO, REPORT])
    database = Path(world.settings.database_url.removeprefix("sqlite:///"))
    copy_database(database, folder / "backup.db")
    asks_on(world, key, "and two?")
    world.store.close()
    copy_database(folder / "backup.db", database)
    return key


def test_a_cell_after_a_restored_store_is_not_answered_by_what_another_one_showed(world: World, tmp_path: Path) -> None:
    key = with_a_restored_store(world, tmp_path)
    world.model = Meanwhile(ScriptedModel(turns=[[ONE, REPORT], [OTHER, REPORT]]), {})
    asks_on(world, key, "something else?")
    assert outputs(world, key) == ["other False\n"], "neither the other cell's output nor its variables"
    assert TOLD in world.text(key)
    assert "start again without variables" in world.text(key)
    (moved,) = world.steps(key, "moved")
    assert (moved["came"], moved["cells"]) == (False, ["One"])


def test_a_restored_store_is_told_once_wherever_a_worker_dies(world: World, tmp_path: Path) -> None:
    for at in range(1, 12):
        key = with_a_restored_store(world, tmp_path)
        world.model = Meanwhile(ScriptedModel(turns=[[ONE, REPORT], [OTHER, REPORT]]), {})
        world.say("something else?", thread=key)
        world.settle(key, death=Death(at))
        assert outputs(world, key) == ["other False\n"], at
        assert world.text(key).count(TOLD) == 1, at


def test_a_session_that_is_older_than_the_store_names_the_cells_that_it_lacks(world: World) -> None:
    key = asks(world, [TWO, REPORT], [OTHER, REPORT])
    host = world.sessions_at("here")
    before = host.export_session(key.id)
    asks_on(world, key, "and two?")
    host.import_session(key.id, before)
    asks_on(world, key, "and now?")
    assert outputs(world, key) == ["other 1\n"]
    assert TOLD in world.text(key)
    assert "The results of these steps are missing: Two." in world.text(key)
    assert [moved["cells"] for moved in world.steps(key, "moved")] == [["Two"]]


def test_lost_sessions_are_told_once_and_not_at_every_question(world: World) -> None:
    key = asks(world, [OTHER, REPORT], [TWO, REPORT])
    world.sessions_at("here").purge(key.id)
    asks_on(world, key, "and now?")
    asks_on(world, key, "and two?")
    assert world.text(key).count(TOLD) == 1


def test_a_session_host_that_is_away_at_first_is_looked_at_later(world: World, tmp_path: Path) -> None:
    key = with_a_restored_store(world, tmp_path)
    world.model = Meanwhile(ScriptedModel(turns=[[ONE, REPORT], [OTHER, REPORT]]), {})
    world.say("something else?", thread=key)
    worker = world.worker()
    lease = Lease(thread_id=key.id, token=7, owner="test")
    assert not worker.context.transfer.has_looked(lease)
    worker.context.transfer.looked(lease)
    assert worker.context.transfer.has_looked(lease)
    assert not worker.context.transfer.has_looked(lease.model_copy(update={"token": 6})), "a Store of a backup"
    world.sessions_at("here").fault("export", "away", times=1)
    world.settle(key)
    assert outputs(world, key) == ["other False\n"]
    assert world.text(key).count(TOLD) == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("at", range(1, 30))
def test_a_worker_that_dies_is_not_taken_for_a_restored_backup(new_world: NewWorld, at: int) -> None:
    world = new_world()
    key = asks(world, [TWO, OTHER, REPORT])
    world.say("and two?", thread=key)
    try:
        world.run(key, death=Death(at))
    except Killed:
        world.settle(key)
    assert TOLD not in world.text(key)
    assert not world.steps(key, "moved")


def ran(cell_id: str, status: str = "ok") -> Step:
    return CellRan(call_id="1", cell_id=cell_id, title="", code="", status=status)  # type: ignore[arg-type]


def replied(*calls: str) -> Step:
    """A reply that asks for a cell by each of these calls."""
    asked = (ToolCall(id=call, name="run_python", arguments='{"code": "1"}') for call in calls or ("1",))
    return Replied(purpose="act", calls=tuple(asked))


STOPPED = CellRan(call_id="1", cell_id=f"{TURN}/c1", title="", code="", status="error", ended_by="question")
YES = Decided(call_id=f"{CONFIRM_CALL}1", outcome="run", user="U1", author="Ana", ts="9.0")


@pytest.mark.parametrize(
    ("begun", "steps", "is_ahead"),
    [
        ([f"{TURN}/c1"], [], True),
        ([f"{TURN}/c1"], [replied()], False),
        ([f"{TURN}/c1", f"{TURN}/c2"], [replied()], True),
        ([f"{TURN}/c1", f"{TURN}/c2"], [replied(), ran(f"{TURN}/c1")], True),
        ([f"{TURN}/c1", f"{TURN}/c2"], [replied(), ran(f"{TURN}/c1"), replied()], False),
        ([f"{TURN}/c1", f"{TURN}/c2"], [replied("1", "2"), ran(f"{TURN}/c1")], False),
        ([f"{TURN}/c1", f"{TURN}/c2"], [replied(), STOPPED, YES], False),
        ([f"{TURN}/c1"], [Replied(purpose="act", text="```python\nx = 1\n```")], False),
        ([f"{TURN}/c1:team", f"{TURN}:files:0123456789ab"], [], False),
        (["T1:C1:1.1/t3/c1"], [replied()], True),
        (["T1:C1:1.1/t1/c9", "T1:C1:9.9/t7/c1"], [], False),
    ],
)
def test_a_session_goes_further_than_its_record_where_no_reply_can_have_asked_for_a_cell(
    begun: list[str], steps: list[Step], *, is_ahead: bool
) -> None:
    assert goes_further(begun, [steps], TURN) is is_ahead


def test_a_session_lacks_only_cells_that_ended_well_since_it_came() -> None:
    before, after, failed = ran("t/c1"), ran("t/c2"), ran("t/c3", "error")
    moved = Moved(node="here", came=True, cells=("One",))
    assert lacks_cells([], [[before]])
    assert not lacks_cells([], [[before, moved], [failed]])
    assert lacks_cells([], [[before, moved], [after]])
    assert not lacks_cells(["t/c2"], [[before, moved], [after, failed]])
