"""Questions about steps."""

from __future__ import annotations

import pytest
from turn_kit import REPLIED

from core.steps import (
    RESET_CALL,
    Acknowledged,
    Asked,
    Briefed,
    CellRan,
    Commanded,
    FileAbstract,
    FileProblem,
    Forgot,
    Moved,
    Questioned,
    Replied,
    StatementRan,
    Step,
    Undone,
    Unread,
    open_question,
)
from core.values import FileRef
from workers.agent.about_steps import (
    cells_not_in,
    cells_run,
    data_held,
    failed_cells,
    last_cell,
    only_unreadable_files,
    opens_turn,
    pending_command,
    repairs_of,
    unread_files,
    without_rows,
)

FORGOT = Forgot(done=True, user="U1", author="Ana", text="It is reset.")
REFUSED = Briefed(problems=(FileProblem(name="a.pdf", why="no"),))
READ = Briefed(files=(FileAbstract(path="a.csv", format="csv", size=1, sha256="a" * 64),))
FILE = FileRef(id="F1", name="a.csv")


def cell(number: int) -> CellRan:
    return CellRan(call_id=f"c{number}", cell_id=f"T1/c{number}", title="Step", code="1", status="ok")


def queried(number: int, source: str, rows: int = 3) -> CellRan:
    statement = StatementRan(source=source, sql="SELECT 1", rows=rows)
    return cell(number).model_copy(update={"statements": (statement,)})


def asked(text: str = "hi") -> Asked:
    return Asked(user="U1", author="Ana", text=text, ts="1.0")


def command(name: str, ts: str = "2.0") -> Commanded:
    return Commanded(command=name, user="U1", author="Ana", text=name, ts=ts)


def question(call: str = "c1") -> Questioned:
    return Questioned(call_id=call, question="Which?", options=("a", "b"))


def undone(number: int) -> Undone:
    return Undone(cell_id=f"T1/c{number}", title="Step", user="U1", author="Ana", ts="9.0")


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ([], None),
        ([[asked()]], None),
        ([[cell(1)], [cell(2)]], 2),
        ([[cell(1)], [asked()]], 1),
        ([[cell(1), cell(2), undone(2)]], 1),
        ([[cell(1), cell(2)], [undone(2)]], 1),
        ([[cell(1), undone(1)]], None),
        ([[cell(1)], [FORGOT]], None),
        ([[cell(1)], [FORGOT], [cell(2)]], 2),
        ([[cell(1)], [FORGOT.model_copy(update={"done": False})]], 1),
    ],
)
def test_the_last_cell_is_the_one_that_still_counts(turns: list[list[Step]], expected: int | None) -> None:
    found = last_cell(turns)
    assert (found.cell_id if found else None) == (f"T1/c{expected}" if expected else None)


@pytest.mark.parametrize(
    ("turns", "held"),
    [
        ([[cell(1)]], []),
        ([[queried(1, "shop")], [queried(2, "crm")]], ["crm", "shop"]),
        ([[queried(1, "shop", rows=0)]], []),
        ([[queried(1, "shop"), undone(1)]], ["shop"]),
        ([[queried(1, "shop")], [FORGOT]], []),
        ([[queried(1, "shop")], [FORGOT], [queried(2, "crm")]], ["crm"]),
        ([[queried(1, "shop")], [FORGOT.model_copy(update={"done": False})]], ["shop"]),
    ],
)
def test_a_thread_holds_rows_of_a_source_until_it_is_reset(turns: list[list[Step]], held: list[str]) -> None:
    assert data_held(turns).sources == tuple(held)


@pytest.mark.parametrize(
    ("steps", "is_open"),
    [
        ([asked(), question()], True),
        ([asked(), question(), asked("a")], False),
        ([asked(), question(), command("undo")], True),
        ([asked(), question(), command("change"), REPLIED.model_copy(update={"purpose": "build"})], True),
        ([asked(), question(), REPLIED], False),
        ([command("reset"), question(RESET_CALL), command("confirm")], False),
        ([asked()], False),
    ],
)
def test_only_an_answer_closes_a_question(steps: list[Step], is_open: bool) -> None:
    assert (open_question(steps) is not None) is is_open


def test_commands_are_pending_in_their_order_until_they_are_acknowledged() -> None:
    first, second = command("undo", "2.0"), command("stop", "3.0")
    steps: list[Step] = [asked(), first, second]
    assert pending_command(steps) == first
    assert pending_command([*steps, Acknowledged(command="undo", ts="2.0")]) == second
    done = [Acknowledged(command="undo", ts="2.0"), Acknowledged(command="stop", ts="3.0")]
    assert pending_command([*steps, *done]) is None


def test_only_files_that_came_since_the_last_reply_and_cannot_be_read_leave_nothing_to_work_on() -> None:
    assert only_unreadable_files([[asked(), REFUSED]])
    assert not only_unreadable_files([[asked(), REFUSED, READ]])
    assert not only_unreadable_files([[READ], [asked(), REFUSED]])
    assert not only_unreadable_files([[asked(), REFUSED, Replied(purpose="act")]])


def test_a_file_that_cannot_be_read_ends_no_analysis_that_goes_on_without_it() -> None:
    work: list[Step] = [asked(), Replied(purpose="act"), cell(1)]
    failed: list[Step] = [*work[:2], cell(1).model_copy(update={"status": "error"})]
    assert not only_unreadable_files([[*work, asked(), REFUSED]])
    assert not only_unreadable_files([work, [asked(), REFUSED]])
    assert only_unreadable_files([[*failed, asked(), REFUSED]])
    assert only_unreadable_files([work, [FORGOT], [asked(), REFUSED]])


def test_files_that_a_stop_left_unread_wait_for_the_next_briefing() -> None:
    assert unread_files([[asked(), Unread(files=(FILE,))]]) == (FILE,)
    assert unread_files([[asked(), Unread(files=(FILE,))], [asked(), READ]]) == ()


DIED = cell(2).model_copy(update={"status": "died"})
STOPPED = cell(2).model_copy(update={"status": "killed"})


@pytest.mark.parametrize(
    ("turns", "known", "missing"),
    [
        ([], "", ""),
        ([[cell(1)], [cell(2)]], "12", ""),
        ([[cell(1)], [cell(2)]], "1", "2"),
        ([[cell(1)], [cell(2)]], "", "12"),
        ([[cell(1), cell(2)], [undone(2)]], "1", ""),
        ([[cell(1)], [FORGOT], [cell(2)]], "", "2"),
        ([[cell(1)], [FORGOT.model_copy(update={"done": False})]], "", "1"),
        ([[cell(1), DIED]], "1", ""),
        ([[cell(1), STOPPED]], "1", "2"),
    ],
)
def test_the_cells_that_a_session_lacks_are_those_with_an_effect_that_it_does_not_know(
    turns: list[list[Step]], known: str, missing: str
) -> None:
    found = cells_not_in(turns, {f"T1/c{number}" for number in known})
    assert [step.cell_id for step in found] == [f"T1/c{number}" for number in missing]


def test_a_command_opens_a_turn_also_behind_a_move() -> None:
    moved = Moved(node="there", came=False)
    assert opens_turn([moved, command("reset")], command("reset"))
    assert not opens_turn([moved, asked(), command("reset")], command("reset"))
    assert not opens_turn([moved], command("reset"))


def test_a_statement_without_rows_is_named_and_a_refused_one_is_not() -> None:
    refused = StatementRan(source="sales", sql="SELECT 2", error="no")
    ran = queried(1, "sales", rows=0)
    assert without_rows(ran.model_copy(update={"statements": (*ran.statements, *ran.statements, refused)})) == [
        "SELECT 1"
    ]
    assert without_rows(queried(1, "sales", rows=1)) == []


def ran(name: str, title: str, status: str = "ok") -> CellRan:
    return CellRan.model_validate({**cell(1).model_dump(), "cell_id": name, "title": title, "status": status})


def test_a_failed_cell_that_a_later_one_of_its_title_made_good_is_a_repair() -> None:
    steps = [ran("1", "A", "error"), ran("2", "A", "timeout"), ran("3", "A"), ran("4", "B", "error"), ran("5", "A")]
    assert repairs_of(steps) == {"3": ("1", "2")}
    assert [one.cell_id for one in failed_cells(steps)] == ["4"]
    assert cells_run(steps) == 5


def test_a_cell_whose_process_went_away_counts_unless_it_ran_again() -> None:
    again = [ran("1", "A", "died"), ran("2", "A")]
    assert (cells_run(again), failed_cells(again), repairs_of(again)) == (1, [], {})
    lost = [ran("1", "A", "died")]
    assert (cells_run(lost), len(failed_cells(lost))) == (1, 1)


def test_a_cell_that_only_had_a_person_asked_did_not_fail_and_is_no_try() -> None:
    asked = ran("1", "A", "error").model_copy(update={"ended_by": "question"})
    for steps in ([asked, ran("2", "A")], [asked, ran("2", "B")]):
        assert (cells_run(steps), failed_cells(steps), repairs_of(steps)) == (1, [], {})
