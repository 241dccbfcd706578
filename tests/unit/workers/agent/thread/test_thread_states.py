"""States of a thread: the same list is the same state, any change makes another one, and none is lost."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from core.steps import Asked, CellRan, Changed, Finished, Replied, Step, ToolCall, Undone
from workers.agent.thread.states import differences, items_of, last_state, state_named, states

BEGAN = datetime(2026, 1, 2, tzinfo=UTC)
ASKED = Asked(user="U1", author="Ana", text="what sold best?", ts="1.1")
CALLED = Replied(purpose="act", calls=(ToolCall(id="c1", name="run_python", arguments="{}"),))
CELL = CellRan(call_id="c1", cell_id="x1", title="Totals", code="print(12)", status="ok", stdout="12\n")
ENDED = Replied(purpose="act", calls=(ToolCall(id="c2", name="finish", arguments="{}"),))
REPORT = Finished(report="North: 12")
TURN = [ASKED, CALLED, CELL, ENDED, REPORT]


def timed(*turns: list[Step]) -> list[list[tuple[datetime, Step]]]:
    return [
        [(BEGAN + timedelta(minutes=10 * n, seconds=s), step) for s, step in enumerate(each)]
        for n, each in enumerate(turns)
    ]


def change(do: str, target: str, text: str = "") -> Changed:
    return Changed.model_validate(
        {"do": do, "target": target, "text": text, "user": "U2", "author": "Ben", "ts": "9.9"}
    )


def test_a_turn_and_each_change_of_a_person_make_a_state_with_its_time_and_author() -> None:
    found = states(timed([*TURN, change("edit", "message:1.1", "what sold worst?")]))
    assert [(state.event, state.who) for state in found] == [("edit", "Ben")]
    found = states(timed(TURN, [Asked(user="U1", author="Ana", text="and south?", ts="2.1")]))
    assert [(state.turn, state.event) for state in found] == [(1, "turn"), (2, "turn")]
    assert [item.at for item in found[0].items] == [BEGAN + timedelta(seconds=n) for n in range(5)]
    assert found[1].items[:5] == found[0].items


def test_what_is_left_out_and_put_back_leads_to_the_state_before() -> None:
    gone, back = change("leave_out", "message:1.1"), change("put_back", "message:1.1")
    found = states(timed(TURN, [gone, back, Asked(user="U1", author="Ana", text="next", ts="2.1")]))
    first, without, again, _ = found
    assert (without.event, again.event) == ("leave_out", "put_back")
    assert first.hash == again.hash != without.hash
    assert "left out" in without.items[0].text
    assert state_named(found, without.hash[:8]) == without
    assert state_named(found, first.hash[:12]) is not None, "two moments, one state"
    assert state_named(found, "") == found[-1]
    assert state_named(found, without.hash[:3]) is None
    assert state_named(found, "f" * 64) is None


def test_an_edit_names_what_it_was_made_from_and_so_do_a_cell_and_a_report() -> None:
    before = items_of(timed(TURN))
    after = items_of(timed([*TURN, change("edit", "message:1.1", "what sold worst?")]))
    assert (after[0].text, after[0].source) == ("what sold worst?", before[0].hash)
    assert before[2].source == before[1].hash
    assert before[4].source == before[3].hash
    (difference,) = differences(before, after)
    assert difference.before == before[0]
    assert difference.after == after[0]


def test_identical_texts_sent_twice_stay_two() -> None:
    again = Asked(user="U1", author="Ana", text=ASKED.text, ts="1.2")
    once, twice = items_of(timed([ASKED])), items_of(timed([ASKED, again]))
    assert [item.text for item in twice] == [ASKED.text] * 2
    assert len({item.hash for item in twice}) == 2
    same_words = items_of(timed([CALLED, CALLED]))
    assert len(same_words) == 2
    assert last_state(timed([CALLED, CALLED])) != last_state(timed([CALLED]))
    assert [each.after for each in differences(once, twice)] == [twice[1]]


def test_a_cell_that_was_taken_back_is_another_item_with_its_source() -> None:
    undone = Undone(cell_id="x1", title="Totals", user="U2", author="Ben", ts="3.1")
    before, after = items_of(timed(TURN)), items_of(timed([*TURN, undone]))
    assert len(after) == len(before)
    assert after[2].text.startswith("[undone]")
    assert after[2].source == before[2].hash


def test_a_thread_that_says_nothing_has_no_state() -> None:
    assert last_state([]) == ""
    assert last_state([[]]) == ""
    assert states([[]]) == []
