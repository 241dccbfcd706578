"""The code behind a report is run once more, and the badge under the report says what came of it."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
import time_machine
from patience import PATIENCE_S
from turn_world import Death, Killed, Meanwhile, NewWorld, World, cell, finish

from core.blobs import Blobs
from core.clean_room import CleanRoom
from core.steps import Step, Undone
from core.values import Lease, ThreadKey
from tryout.commands import replay
from workers.models.scripted import ScriptedModel
from workers.turn.clean_rooms import room as clean_room

CSV = {"sales.csv": b"region,amount\nNorth,1200\nSouth,800\n"}
READ = "import csv\nrows = list(csv.DictReader(open('sales.csv')))"
TOTAL = "total = sum(int(row['amount']) for row in rows)\nprint('total', total)"
REPORT = finish("The total is **2,000**.")


def asked(world: World, *script: object, files: dict[str, bytes] | None = None) -> ThreadKey:
    """A thread with one answered question."""
    world.model = ScriptedModel([*script])
    key = world.say("how much was sold?", files=files)
    world.settle(key)
    return key


def outcome(world: World, key: ThreadKey, turn: int = -1) -> CleanRoom:
    found = world.store.clean_room(world.turns(key)[turn].id)
    assert found is not None
    return found


def badge(world: World, key: ThreadKey) -> str:
    """The line of the report's message that says whether its code was run again."""
    blocks = [block for message in world.messages(key, ours=True) for block in message.get("blocks", ())]
    return str([block for block in blocks if block.get("block_id") == "clean_room"][-1]["elements"][0]["text"])


def test_a_report_says_that_it_is_not_checked_and_then_that_it_was_reproduced(world: World) -> None:
    key = asked(world, cell(READ), cell(TOTAL, "Sum up"), REPORT, files=CSV)
    assert badge(world, key) == "○ Not checked yet: the code is being run again in a clean room."
    said = len(world.messages(key))
    world.check()
    found = outcome(world, key)
    assert (found.state, found.cells, found.figures, found.differences) == ("reproduced", 2, 1, ())
    assert badge(world, key).startswith("✓ Reproduced in ")
    assert badge(world, key).endswith("2 cells run again in a clean room with the same inputs, 1 figure the same.")
    assert len(world.messages(key)) == said
    assert "The total is" in world.text(key)


def test_a_clean_room_reads_its_thread_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    key = asked(world, cell(READ), cell(TOTAL, "Sum up"), REPORT, files=CSV)
    read, of = list[str](), world.store.thread_steps

    def noted(_store: object, thread_id: str) -> dict[str, list[Step]]:
        read.append(thread_id)
        return of(thread_id)

    monkeypatch.setattr(type(world.store), "thread_steps", noted)
    world.check()
    assert read == [key.id]
    assert badge(world, key).startswith("✓ Reproduced in ")


def test_a_cell_that_the_report_does_not_need_is_not_run_again(world: World) -> None:
    key = asked(world, cell("big = list(range(1000))"), cell(READ), cell(TOTAL), REPORT, files=CSV)
    world.check()
    assert outcome(world, key).cells == 2


def test_the_cells_of_earlier_turns_are_run_too(world: World) -> None:
    world.model = ScriptedModel(
        turns=[[cell(READ), cell(TOTAL), REPORT], [cell("print(total * 2)"), finish("Twice: **4,000**.")]]
    )
    key = world.say("how much?", files=CSV)
    world.settle(key)
    world.say("and twice?", thread=key)
    world.settle(key)
    world.check(times=2)
    assert [outcome(world, key, turn).state for turn in (0, 1)] == ["reproduced", "reproduced"]
    assert outcome(world, key).cells == 3


def test_the_session_of_the_thread_is_not_touched_and_the_room_is_left_empty(world: World) -> None:
    key = asked(world, cell(READ), cell(TOTAL), REPORT, files=CSV)
    before = world.sessions.vars(key.id)
    world.check()
    assert world.sessions.vars(key.id) == before
    assert [session.thread_id for session in world.sessions.sessions()] == [key.id]
    assert not (world.settings.home / "clean-room.used").exists()


def test_an_answer_without_cells_has_no_badge(world: World) -> None:
    key = asked(world, finish("Good morning."))
    world.check()
    assert "hecked" not in world.text(key)
    assert world.store.clean_room(world.turns(key)[0].id) is None


def test_random_numbers_without_a_seed_are_found(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "randint", lambda low, high: 7_311)
    key = asked(
        world,
        cell("import random"),
        cell("print('value', random.randint(1, 9999))", "Draw"),
        finish("It is **7,311**."),
    )
    monkeypatch.setattr(random, "randint", lambda low, high: 8_422)
    world.check()
    found = outcome(world, key)
    assert found.state == "differs"
    assert [(one.what, one.cell, one.why) for one in found.differences] == [("figure", 2, "random")]
    assert badge(world, key).startswith("⚠ Not reproduced")
    assert "7,311 (cell 2): 7,311 → 8,422. Likely reason: random numbers without a seed." in badge(world, key)


def test_a_seed_makes_random_numbers_the_same(world: World) -> None:
    code = "import random\nrng = random.Random(5)\nprint('value', rng.randint(10**6, 10**7))"
    drawn = random.Random(5).randint(10**6, 10**7)
    key = asked(world, cell(code), finish(f"It is **{drawn:,}**."))
    world.check()
    assert outcome(world, key).state == "reproduced"


def test_the_time_is_named_as_the_reason(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "process_time", lambda: 7_311.0)
    key = asked(world, cell("import time\nprint('value', time.process_time())"), finish("It took **7,311** s."))
    monkeypatch.setattr(time, "process_time", lambda: 8_422.0)
    world.check()
    assert [(one.was, one.now, one.why) for one in outcome(world, key).differences] == [("7,311", "8,422", "time")]


def test_a_value_of_a_cell_that_failed_in_the_middle_is_found(world: World) -> None:
    key = asked(
        world,
        cell("total = 0\nfor x in [1500, 500, 'a']:\n    total += x", "Add up"),
        cell("print('total', total)", "Show"),
        REPORT,
    )
    world.check()
    found = outcome(world, key)
    assert (found.state, found.partly_run) == ("differs", (1,))
    assert [(one.label, one.was, one.now, one.why, one.other) for one in found.differences] == [
        ("2,000", "2,000", "0", "failed_cell", 1)
    ]
    assert "a value came from cell 1, which failed" in badge(world, key)


def test_a_name_that_only_a_failed_cell_set_is_found(world: World) -> None:
    key = asked(
        world,
        cell("for x in [2000]:\n    total = x\n    1 / 0", "Add up"),
        cell("print('total', total)", "Show"),
        REPORT,
    )
    world.check()
    found = outcome(world, key)
    assert [(one.what, one.now, one.why, one.other, one.name) for one in found.differences] == [
        ("cell", "NameError", "failed_cell", 1, "total")
    ]


def test_the_lines_before_an_error_are_run_again(world: World) -> None:
    key = asked(world, cell(READ + "\n1 / 0"), cell(TOTAL), REPORT, files=CSV)
    world.check()
    found = outcome(world, key)
    assert (found.state, found.partly_run) == ("reproduced", (1,))
    assert "Of unfinished cell 1, only the lines before the break were run." in badge(world, key)


def test_a_cell_that_ran_before_another_was_undone_is_found(world: World) -> None:
    world.model = ScriptedModel(
        turns=[
            [cell("total = 2000", "Set it"), cell("print('total', total)", "Show"), finish("Noted.")],
            [finish("The total is **2,000**.")],
        ]
    )
    key = world.say("how much?")
    world.settle(key)
    step = world.steps(key, "cell")[0]
    assert world.sessions.undo(key.id, step["cell_id"])
    lease = Lease(thread_id=key.id, token=world.store.raise_fence(key.id), owner="test")
    undone = Undone(cell_id=step["cell_id"], title="Set it", user="U1", author="Ana", ts="1.1")
    world.store.append_step(lease, world.turns(key)[0].id, undone)
    world.say("say it again", thread=key)
    world.settle(key)
    world.check(times=2)
    found = outcome(world, key)
    assert found.state == "differs"
    assert [(one.now, one.why, one.other, one.name) for one in found.differences] == [
        ("NameError", "undone_cell", 1, "total")
    ]


def test_cells_with_effects_are_named_and_not_run_again(world: World) -> None:
    code = "import subprocess\nprint('total', 2000 if subprocess else 0)\nif False:\n    subprocess.run(['ls'])"
    key = asked(world, cell(code, "Call out"), REPORT)
    ran = len(world.sessions.ran)
    world.check()
    found = outcome(world, key)
    assert (found.state, found.reason) == ("unchecked", "effects")
    assert [(one.cell, one.title, one.why) for one in found.left_out] == [(1, "Call out", "process")]
    assert len(world.sessions.ran) == ran
    assert "Not run again: cell 1 “Call out”, which starts another program." in badge(world, key)


def test_what_does_not_rest_on_such_a_cell_is_checked(world: World) -> None:
    code = "import urllib.request\nif False:\n    urllib.request.urlopen('http://a.test')\nprint('other', 3456)"
    report = finish("The total is **2,000**. The other one is **3,456**.")
    key = asked(world, cell(code, "Call out"), cell(READ), cell(TOTAL), report, files=CSV)
    world.check()
    found = outcome(world, key)
    assert (found.state, found.figures, found.unseen) == ("partly", 1, 1)
    assert badge(world, key).startswith("◐ Reproduced in part")


def test_an_analysis_that_takes_long_is_not_run_again_and_that_is_said(new_world: NewWorld) -> None:
    world = new_world(team="[report]\nclean_room_s = 0.000001\n")
    key = asked(world, cell(READ), cell(TOTAL), REPORT, files=CSV)
    world.check()
    assert (outcome(world, key).state, outcome(world, key).reason) == ("unchecked", "too_long")
    assert "with the earlier cells that it needs, takes longer than 1e-06 s" in badge(world, key)


def test_a_huge_cell_is_run_again(world: World) -> None:
    code = "# " + "x" * 150_000 + "\ntotal = 2000\nprint('total', total)"
    key = asked(world, cell("y = 1"), cell(code), REPORT)
    world.check()
    assert (outcome(world, key).state, outcome(world, key).cells) == ("reproduced", 2)


def test_a_session_host_that_is_killed_is_asked_again(world: World) -> None:
    key = asked(world, cell(READ), cell(TOTAL), REPORT, files=CSV)
    world.sessions.fault("run", "lost", times=1)
    world.check(times=2)
    assert outcome(world, key).state == "reproduced"


def test_a_session_host_that_stays_away_leaves_an_honest_badge(world: World) -> None:
    key = asked(world, cell(READ), cell(TOTAL), REPORT, files=CSV)
    world.sessions.fault("*", "away", times=1_000)
    world.check(times=5)
    assert (outcome(world, key).state, outcome(world, key).reason) == ("unchecked", "host")
    assert badge(world, key) == "○ Not checked: the session host did not answer."


@pytest.mark.parametrize("at", range(1, 12))
def test_a_clean_room_that_dies_at_any_moment_is_followed_by_one_that_does_not(world: World, at: int) -> None:
    key = asked(world, cell(READ), cell(TOTAL), REPORT, files=CSV)
    said = len(world.messages(key))
    death = Death(at)
    try:
        world.check(death)
    except Killed:
        assert badge(world, key).startswith(("○ Not checked yet", "✓"))
    world.sessions.halted = False
    world.check()
    assert badge(world, key).startswith("✓ Reproduced")
    assert len(world.messages(key)) == said
    assert not (world.settings.home / "clean-room.used").exists()


def test_one_that_dies_again_and_again_is_given_up(world: World) -> None:
    key = asked(world, cell(READ), cell(TOTAL), REPORT, files=CSV)
    for _ in range(5):
        with pytest.raises(Killed):
            world.check(Death(4))
        world.sessions.halted = False
    world.check()
    assert outcome(world, key).reason == "interrupted"
    assert badge(world, key) == "○ Not checked: the clean room was interrupted."


def test_a_badge_that_slack_does_not_take_is_drawn_later(world: World) -> None:
    key = asked(world, cell(READ), cell(TOTAL), REPORT, files=CSV)
    world.slack.fault("chat.update", "drop_call", times=50)
    world.check()
    assert badge(world, key).startswith("○ Not checked yet")
    world.slack.heal()
    ran = len(world.sessions.ran)
    world.check()
    assert badge(world, key).startswith("✓")
    assert len(world.sessions.ran) == ran


def test_a_badge_that_slack_refuses_in_the_report_is_a_message_of_its_own(world: World) -> None:
    key = asked(world, cell(READ), cell(TOTAL), REPORT, files=CSV)
    world.slack.fault("chat.update", "error", error="invalid_blocks", times=50)
    world.check(times=3)
    assert world.messages(key)[-1]["text"].startswith("✓ Reproduced")
    assert world.text(key).count("✓ Reproduced") == 1
    assert "The total is" in world.text(key)


def test_a_thread_that_was_purged_is_left_alone(world: World) -> None:
    key = asked(world, cell(READ), cell(TOTAL), REPORT, files=CSV)
    world.store.purge_thread(key.id)
    ran = len(world.sessions.ran)
    world.check()
    assert len(world.sessions.ran) == ran


def test_the_next_message_is_answered_while_a_clean_room_runs(world: World) -> None:
    world.model = ScriptedModel(turns=[[cell(READ), cell(TOTAL), REPORT], [finish("As said.")]])
    key = world.say("how much?", files=CSV)
    world.settle(key)

    def next_message() -> None:
        world.say("thanks", thread=key)
        world.settle(key)

    world.sessions.fault("put_held", then=next_message)
    world.check()
    assert world.statuses(key) == ["done", "done"]
    assert outcome(world, key, 0).state == "reproduced"


def test_files_that_came_later_are_not_in_the_room(world: World) -> None:
    code = "import os\nprint('files', len([n for n in os.listdir() if n.endswith('.csv')]) + 100)"
    world.model = ScriptedModel(turns=[[cell(READ), cell(code), finish("There are **101**.")], [finish("Fine.")]])
    key = world.say("how many files?", files=CSV)
    world.settle(key)
    world.say("one more", thread=key, files={"more.csv": b"a\n1\n"})
    world.settle(key)
    world.check(times=2)
    assert outcome(world, key, 0).state == "reproduced"


def test_a_chart_is_compared_by_its_data(world: World) -> None:
    code = "import matplotlib.pyplot as plt\nplt.bar(['a', 'b'], [1200, 800])\nplt.title('Sales')"
    key = asked(world, cell(READ), cell(code, "Draw"), finish("See the chart."), files=CSV)
    world.check()
    found = outcome(world, key)
    assert (found.state, found.charts) == ("reproduced", 1)


def test_a_file_that_was_made_is_compared(world: World) -> None:
    code = "open('out.csv', 'w').write('total,2000')\nimport uuid\nopen('id.txt', 'w').write(str(uuid.uuid4()))"
    key = asked(world, cell(READ), cell(code, "Write"), finish("See the file."), files=CSV)
    world.check()
    found = outcome(world, key)
    assert found.files == 2
    assert [(one.what, one.label, one.why) for one in found.differences] == [("file", "id.txt", "random")]


def test_before_the_report_the_badge_comes_with_it(new_world: NewWorld) -> None:
    world = new_world(team='[report]\nclean_room = "before"\n')
    key = asked(world, cell(READ), cell(TOTAL), REPORT, files=CSV)
    assert badge(world, key).startswith("✓ Reproduced in")
    assert outcome(world, key).state == "reproduced"
    row = world.store.report(world.turns(key)[0].id)
    assert row is not None
    assert "Clean room" in row.markdown
    assert [file.name for file in row.files] == ["report.html", "report.md", "analysis.ipynb", "analysis.py"]
    ran = len(world.sessions.ran)
    world.check()
    assert len(world.sessions.ran) == ran


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # the card's thread dies too
@pytest.mark.parametrize("at", range(8, 40, 2))
def test_before_the_report_no_death_costs_the_answer(new_world: NewWorld, at: int) -> None:
    world = new_world(team='[report]\nclean_room = "before"\n')
    world.model = ScriptedModel([cell(READ), cell(TOTAL), REPORT])
    key = world.say("how much?", files=CSV)
    world.settle(key, Death(at))
    assert world.statuses(key) == ["done"]
    assert world.text(key).count("The total is") == 1
    assert badge(world, key).startswith(("✓", "○ Not checked: the clean room was interrupted"))


def test_before_the_report_a_session_host_that_goes_away_costs_the_check_only(new_world: NewWorld) -> None:
    world = new_world(team='[report]\nclean_room = "before"\n')
    script = ScriptedModel([cell(READ), cell(TOTAL), REPORT])
    world.model = Meanwhile(script, {"check": lambda: world.sessions.fault("purge", "away", times=1_000)})
    key = world.say("how much?", files=CSV)
    world.settle(key)
    assert badge(world, key) == "○ Not checked: the session host did not answer."


def test_off_nothing_is_run_and_nothing_is_said(new_world: NewWorld) -> None:
    world = new_world(team='[report]\nclean_room = "off"\n')
    key = asked(world, cell(READ), cell(TOTAL), REPORT, files=CSV)
    world.check()
    assert "hecked" not in world.text(key)
    assert world.store.clean_room(world.turns(key)[0].id) is None


def test_the_notebook_says_what_is_known(new_world: NewWorld) -> None:
    world = new_world(team='[report]\nclean_room = "before"\n')
    key = asked(world, cell(READ), cell(TOTAL), REPORT, files=CSV)
    row = world.store.report(world.turns(key)[0].id)
    assert row is not None
    notebook = next(file for file in row.files if file.name == "analysis.ipynb")
    assert "Reproduced in" in Blobs(world.settings.files).get(notebook.sha256).decode()


def test_in_chinese(world: World) -> None:
    world.model = ScriptedModel([cell(READ), cell(TOTAL), finish("总计 **2,000**。")])
    key = world.say("一共卖了多少？请计算销售总额", files=CSV)
    world.settle(key)
    world.check()
    assert "已在" in world.text(key)
    assert "重现" in world.text(key)


def test_a_checker_of_an_empty_store_does_nothing(world: World) -> None:
    world.check()
    assert world.sessions.ran == []


def test_a_question_that_people_delete_leaves_what_waits_for_a_clean_room(world: World) -> None:
    key = asked(world, cell(READ), cell(TOTAL), REPORT, files=CSV)
    world.store.delete_message(key.team, key.channel, key.root_ts)
    claimed = world.store.claim_clean_room("here", datetime.now(UTC))
    assert claimed is not None
    assert "how much was sold" not in str(claimed.order)


def test_one_report_is_taken_up_once(world: World) -> None:
    asked(world, cell(READ), cell(TOTAL), REPORT, files=CSV)
    long_ago = datetime.now(UTC) - timedelta(hours=1)
    first = world.store.claim_clean_room("here", long_ago)
    assert first is not None
    assert world.store.claim_clean_room("there", long_ago) is None
    second = world.store.claim_clean_room("there", datetime.now(UTC) + timedelta(hours=1))
    assert second is not None
    done = CleanRoom(state="reproduced")
    assert not world.store.end_clean_room(first.turn_id, first.tries, done, shown=True)
    assert world.store.end_clean_room(second.turn_id, second.tries, done, shown=True)
    assert world.store.claim_clean_room("here", datetime.now(UTC) + timedelta(hours=2)) is None


def test_a_report_taken_up_before_the_clock_was_set_back_is_taken_up_again(world: World) -> None:
    asked(world, cell(READ), cell(TOTAL), REPORT, files=CSV)
    long_ago = datetime.now(UTC) - timedelta(hours=1)
    with time_machine.travel(datetime.now(UTC) + timedelta(days=1)):
        first = world.store.claim_clean_room("here", long_ago)
    second = world.store.claim_clean_room("there", long_ago)
    assert first is not None
    assert second is not None
    assert not world.store.end_clean_room(first.turn_id, first.tries, CleanRoom(state="reproduced"), shown=True)


def test_a_room_that_is_taken_is_waited_for_and_not_shared(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clean_room, "WAIT_FOR_ROOM_S", 0.0)
    key = asked(world, cell(READ), cell(TOTAL), REPORT, files=CSV)
    with clean_room._locked(world.settings, 0.0):
        world.check()
    assert outcome(world, key).reason == "waiting"
    world.check()
    assert outcome(world, key).state == "reproduced"


def test_whoever_waits_for_a_room_has_it_next(world: World) -> None:
    """A process that checks one report after the other would keep a scheduled run out for as long as it has reports."""
    held, gone = threading.Event(), threading.Event()
    rounds: list[int] = []

    def check_one_after_the_other() -> None:
        while not gone.is_set() and len(rounds) < 100:
            with clean_room._locked(world.settings, PATIENCE_S):
                rounds.append(len(rounds))
                held.set()
                gone.wait(0.05)

    other = threading.Thread(target=check_one_after_the_other)
    other.start()
    assert held.wait(PATIENCE_S)
    with clean_room._locked(world.settings, PATIENCE_S):
        after = len(rounds)
        gone.set()
    other.join()
    assert after <= 3


def test_the_wait_for_a_room_is_no_part_of_the_run(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    key = asked(world, cell(READ), cell(TOTAL), REPORT, files=CSV)
    waited_s, locked = 0.0, clean_room._locked

    @contextmanager
    def after_a_wait(*arguments: Any) -> Iterator[int]:
        nonlocal waited_s
        waited_s += 10_000.0
        with locked(*arguments) as number:
            yield number

    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + waited_s, sleep=time.sleep)
    monkeypatch.setattr(clean_room, "_locked", after_a_wait)
    monkeypatch.setattr(clean_room, "time", clock)
    world.check()
    assert outcome(world, key).state == "reproduced"
    assert outcome(world, key).seconds < 10_000


@pytest.mark.parametrize("is_patient", [True, False])
def test_where_nobody_waits_for_an_answer_the_check_before_may_take_its_time(
    world: World, monkeypatch: pytest.MonkeyPatch, is_patient: bool
) -> None:
    monkeypatch.setattr(clean_room, "WAIT_FOR_ROOM_S", 0.0)
    context = world.worker().context
    room = clean_room.Room(context.settings, context.blobs, context.sessions, context.files, is_patient=is_patient)
    with ExitStack() as held:
        held.enter_context(clean_room._locked(world.settings, 0.0))
        over = threading.Timer(0.2, held.pop_all().close)
        over.start()
        refused = nullcontext() if is_patient else pytest.raises(clean_room.RoomTaken)
        with refused, room._taken("T1:C1:1.1", clean_room.CLEAN_ROOM):
            pass
        over.join()


def test_the_janitor_deletes_what_a_killed_clean_room_left(world: World) -> None:
    asked(world, cell(READ), cell(TOTAL), REPORT, files=CSV)
    (world.settings.home / "clean-room.used").write_text("clean-room:C0SALES001:0")
    world.sessions.run("clean-room:C0SALES001:0", "1", "x = 1")
    clean_room.clear_room(world.settings, world.sessions)
    assert "clean-room" not in str(world.sessions.sessions())
    clean_room.clear_room(world.settings, world.sessions)


def test_no_note_makes_the_room_delete_a_thread(world: World) -> None:
    key = asked(world, cell(READ), cell(TOTAL), REPORT, files=CSV)
    (world.settings.home / "clean-room.used").write_text(key.id)
    clean_room.clear_room(world.settings, world.sessions)
    assert [session.thread_id for session in world.sessions.sessions()] == [key.id]


def test_a_replay_tells_the_outcome(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    key = asked(world, cell(READ), cell(TOTAL), REPORT, files=CSV)
    world.check()
    capsys.readouterr()
    assert replay.run(world.settings, key.id) == 0
    assert "clean room: ✓ Reproduced in" in capsys.readouterr().out
    assert replay.run(world.settings, key.id, as_json=True) == 0
    assert json.loads(capsys.readouterr().out)[0]["clean_room"]["state"] == "reproduced"


def test_hostile_text_in_a_badge_is_escaped(world: World) -> None:
    code = "import urllib.request\nprint('total', 2000)\nif False:\n    urllib.request.urlopen('http://a.test')"
    key = asked(world, cell(code, "<!channel> <http://evil.test|click>"), REPORT)
    world.check()
    assert "<!channel>" not in badge(world, key)
    assert "<http://evil.test" not in badge(world, key)


def test_placeholders_stand_for_their_values_in_the_room_too(new_world: NewWorld) -> None:
    world = new_world(team='[privacy]\nredact = ["email"]\n')
    world.model = ScriptedModel([cell("n = len('<email_1>')\nprint('letters', n)"), finish("It has **15** letters.")])
    key = world.say("how long is ana@example.org?")
    world.settle(key)
    world.check()
    found = outcome(world, key)
    assert (found.state, found.figures) == ("reproduced", 1)
