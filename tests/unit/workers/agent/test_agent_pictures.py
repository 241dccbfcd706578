"""Which pictures a model that sees is shown, and what becomes of them when the prompt is too long."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from agent_kit import BRIEFED, FIGURE, asked, cell, judged, run, turn

from core.steps import Briefed, CellRan, Checked, Compacted, FileAbstract, Finished, Step, Undone
from core.values import StoredFile
from workers.agent.actions import Message
from workers.agent.pictures import MOST_BYTES, MOST_CHARTS, MOST_IMAGES, MOST_JUDGED, PICTURE_CHARS, pictures_in
from workers.agent.prompt.messages import check_messages, messages, size
from workers.agent.thread.effective_steps import effective_steps

PHOTO = FileAbstract(path="shelf.jpg", format="jpeg", size=90_000, sha256="d" * 64)


def drawn(number: int, **changes: object) -> StoredFile:
    return FIGURE.model_copy(update={"name": f"figure-{number}.png", "sha256": f"{number:064x}", **changes})


def steps_that_draw(count: int, first: int = 1) -> list[Step]:
    return [
        step
        for number in range(first, first + count)
        for step in (run("plot()", f"c{number}"), cell("plot()", f"c{number}", number, figures=(drawn(number),)))
    ]


def shown(told: Iterable[Message]) -> list[str]:
    return [picture["name"] for message in told for picture in pictures_in(message)]


def test_a_model_that_sees_is_shown_each_chart_once_behind_its_cell() -> None:
    told = messages(turn(asked(), BRIEFED, *steps_that_draw(2), sees=True))
    assert shown(told) == ["figure-1.png", "figure-2.png"]
    roles = [message["role"] for message in told]
    places = [place for place, message in enumerate(told) if pictures_in(message)]
    assert all(roles[place] == "user" and roles[place - 1] == "tool" for place in places)


def test_a_chart_that_two_cells_drew_alike_is_shown_once() -> None:
    steps = [run("plot()", "c1"), cell("plot()", "c1", 1, figures=(drawn(1), drawn(1)))]
    assert shown(messages(turn(asked(), BRIEFED, *steps, sees=True))) == ["figure-1.png"]


def test_a_model_that_does_not_see_is_shown_none() -> None:
    told = messages(turn(asked(), Briefed(files=(PHOTO,)), *steps_that_draw(2)))
    assert shown(told) == []
    assert "cannot see" in str(told[1]["content"])


def test_a_judge_that_sees_is_shown_the_last_charts_of_the_turn_small() -> None:
    told = check_messages(turn(asked(), BRIEFED, *steps_that_draw(MOST_JUDGED + 2), sees=True), "North leads.")
    assert shown(told) == [f"figure-{number}.png of cell {number}" for number in range(3, MOST_JUDGED + 3)]
    assert {picture["detail"] for picture in pictures_in(told[0])} == {"low"}
    assert "says something else than a chart plainly shows" in " ".join(told[0]["content"].split())


@pytest.mark.parametrize("changes", [{"sees": False}, {"earlier": (tuple(steps_that_draw(2)),), "steps": (asked(),)}])
def test_a_judge_that_does_not_see_or_a_turn_without_a_chart_is_told_of_none(changes: dict[str, object]) -> None:
    now = replace(turn(asked(), BRIEFED, *steps_that_draw(2), sees=True), **changes)  # type: ignore[arg-type]
    told = check_messages(now, "North leads.")
    assert shown(told) == []
    assert "chart" not in told[0]["content"].partition("# Your verdict")[2]


def test_a_chart_that_a_person_left_out_is_not_shown_to_the_judge() -> None:
    steps = [s.model_copy(update={"left_out": True}) if isinstance(s, CellRan) else s for s in steps_that_draw(1)]
    assert shown(check_messages(turn(asked(), BRIEFED, *steps, sees=True), "North leads.")) == []


def test_later_charts_do_not_push_out_earlier_ones_so_that_the_prompt_goes_on_as_it_began() -> None:
    before = messages(turn(asked(), BRIEFED, *steps_that_draw(MOST_CHARTS), sees=True))
    after = messages(turn(asked(), BRIEFED, *steps_that_draw(MOST_CHARTS + 3), sees=True))
    assert after[: len(before)] == before
    assert len(shown(after)) == MOST_CHARTS


def test_a_cell_that_a_person_left_out_takes_its_charts_along() -> None:
    steps = steps_that_draw(2)
    assert isinstance(steps[1], CellRan)
    steps[1] = steps[1].model_copy(update={"left_out": True})
    assert shown(messages(turn(asked(), BRIEFED, *steps, sees=True))) == ["figure-2.png"]


@pytest.mark.parametrize("changes", [{"size": MOST_BYTES + 1}, {"mimetype": "image/svg+xml"}, {"size": 0}])
def test_a_chart_that_no_endpoint_takes_is_not_shown(changes: dict[str, object]) -> None:
    steps = [run("plot()", "c1"), cell("plot()", "c1", 1, figures=(drawn(1, **changes),))]
    assert shown(messages(turn(asked(), BRIEFED, *steps, sees=True))) == []


def test_of_many_images_the_first_are_shown_and_the_others_named() -> None:
    photos = tuple(PHOTO.model_copy(update={"path": f"p{n}.jpg", "sha256": f"{n:064x}"}) for n in range(6))
    told = messages(turn(asked(), Briefed(files=photos), sees=True))
    assert shown(told) == [f"p{n}.jpg" for n in range(MOST_IMAGES)]
    assert "not attached, for want of room: p4.jpg, p5.jpg" in str(told[1]["content"])


def test_a_table_is_no_picture() -> None:
    assert shown(messages(turn(asked(), BRIEFED, sees=True))) == []


def test_a_follow_up_sees_the_charts_of_the_turn_before_and_none_of_older_ones() -> None:
    closing = (judged('{"is_final": true}'), Checked(is_final=True), Finished(report="Done."))
    earlier = tuple((asked(), *steps_that_draw(1, number), *closing) for number in (1, 2, 3))
    assert shown(messages(turn(asked("larger labels", ts="9.0"), earlier=earlier, sees=True))) == ["figure-3.png"]


def test_a_chart_of_a_cell_that_was_undone_is_shown_neither_in_its_turn_nor_in_the_next_nor_to_the_judge() -> None:
    drew = (asked(), BRIEFED, *steps_that_draw(2))
    last = drew[-1]
    assert isinstance(last, CellRan)
    undone = Undone(cell_id=last.cell_id, title="", user="U1", author="Ana", ts="8.0")
    closing = (judged('{"is_final": true}'), Checked(is_final=True), Finished(report="Done."))
    (steps,) = effective_steps([(*drew, undone)])
    assert shown(messages(turn(*steps, sees=True))) == ["figure-1.png"]
    assert shown(check_messages(turn(*steps, sees=True), "North leads.")) == ["figure-1.png of cell 1"]
    earlier, now = effective_steps([(*drew, *closing), (asked("once more", ts="7.0"), undone)])
    assert shown(messages(turn(*now, earlier=(earlier,), sees=True))) == ["figure-1.png"]


def test_pictures_leave_first_when_the_prompt_is_too_long() -> None:
    steps = (asked(), Briefed(files=(PHOTO,)), *steps_that_draw(4))
    whole = messages(turn(*steps, sees=True))
    tight = messages(turn(*steps, Compacted(context_chars=size(whole) - PICTURE_CHARS), sees=True))
    assert shown(tight) == ["shelf.jpg", *shown(whole)[2:]]
    none = messages(turn(*steps, Compacted(context_chars=size(whole) - 5 * PICTURE_CHARS), sees=True))
    assert shown(none) == []
    assert "not attached, for want of room: shelf.jpg" in str(none[1]["content"])
    assert [m for m in none if m["role"] == "tool"] == [m for m in whole if m["role"] == "tool"]
