"""`threadbook export`: shapes that trainers load, pairs from what people did, and nothing of who does not want it."""

from __future__ import annotations

import errno
import json
import os
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

import pytest
from turn_kit import changed, write_turn

from core.settings import Settings, load_settings
from core.steps import (
    Approval,
    Asked,
    CellRan,
    Changed,
    Corrected,
    Decided,
    Finished,
    Questioned,
    Replied,
    Step,
    ToolCall,
)
from core.store import Store
from tryout.commands import export
from tryout.commands.whole_files import NotWritten, whole_file

ASKED = Asked(user="U1", author="Ana Lopez", text="what sold best?", ts="100.000001")


def called(name: str, call_id: str, **arguments: str) -> Replied:
    return Replied(purpose="act", calls=(ToolCall(id=call_id, name=name, arguments=json.dumps(arguments)),))


def ran(call_id: str, status: str = "ok", **more: Any) -> CellRan:
    given = {"call_id": call_id, "cell_id": f"x{call_id}", "title": "Totals", "code": "print(12)", "status": status}
    return CellRan.model_validate({**given, "stdout": "12\n", **more})


FAILED = [called("run_python", "c1", code="boom"), ran("c1", "error", error_name="NameError", error="NameError: boom")]
PASSED = [called("run_python", "c2", code="print(12)"), ran("c2")]
REPORTED = [called("finish", "c3", report="North: 12"), Finished(report="North: 12")]
TURN: list[Step] = [ASKED, *FAILED, *PASSED, *REPORTED]


def settings_in(folder: Path, team: str = "") -> Settings:
    (folder / "threadbook.toml").write_text(team, encoding="utf-8")
    environment = {"THREADBOOK_HOME": str(folder), "THREADBOOK_NODE_ID": "here", "REDIS_URL": "redis://127.0.0.1:1/0"}
    settings = load_settings(environment, folder)
    with closing(Store(settings.database_url)) as store:
        store.migrate()
    return settings


def write(settings: Settings, steps: list[Step], channel: str = "C1", vote: str = "") -> None:
    with closing(Store(settings.database_url)) as store:
        turn = write_turn(store, steps, channel=channel)
        if vote:
            store.save_vote(turn.id, "U2", vote)  # type: ignore[arg-type]


def exported(capsys: pytest.CaptureFixture[str], settings: Settings, kind: Any, **wanted: Any) -> list[dict[str, Any]]:
    assert export.run(settings, kind, **wanted) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_only_the_attempt_that_passed_is_learned_and_the_whole_conversation_is_kept_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = settings_in(tmp_path)
    write(settings, TURN)
    (record,) = exported(capsys, settings, "sft")
    said = record["messages"]
    assert [message["role"] for message in said] == ["system", "user", "assistant", "tool", "assistant"]
    assert all(isinstance(message["content"], str) for message in said)
    assert "boom" not in json.dumps(said)
    assert json.loads(said[-1]["tool_calls"][0]["function"]["arguments"]) == {"report": "North: 12"}
    assert said[3]["tool_call_id"] == said[2]["tool_calls"][0]["id"]
    assert {tool["function"]["name"] for tool in json.loads(record["tools"])} >= {"run_python", "finish"}
    (record,) = exported(capsys, settings, "messages")
    assert "boom" in json.dumps(record)


@pytest.mark.parametrize("before", [[], FAILED], ids=["at once", "after a failed attempt"])
def test_code_that_a_person_edited_is_learned_as_that_person_wrote_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], before: list[Step]
) -> None:
    settings = settings_in(tmp_path)
    wrote = called("run_python", "c2", code="print(11)", title="Totals")
    approval = Approval(what="python", title="Totals", code="print(11)", call="c2")
    asked = Questioned(call_id="approve:1", question="Run?", approval=approval)
    edited = Decided(call_id="approve:1", outcome="edited", user="U2", author="Ben", code="print(12)")
    write(settings, [ASKED, *before, wrote, asked, edited, ran("c2"), *REPORTED])
    (record,) = exported(capsys, settings, "sft")
    called_with = json.loads(record["messages"][2]["tool_calls"][0]["function"]["arguments"])
    assert called_with == {"code": "print(12)", "title": "Totals"}
    assert "print(11)" not in json.dumps(record["messages"])
    assert record["by_person"] == [False, False, True, False, False]
    (record,) = exported(capsys, settings, "messages")
    assert "print(11)" in json.dumps(record)
    assert not any(record["by_person"]), "the model wrote what it shows"
    kinds = {pair["kind"]: pair for pair in exported(capsys, settings, "preferences")}
    assert "print(12)" in json.dumps(kinds["edit"]["chosen"])
    assert "print(11)" in json.dumps(kinds["edit"]["rejected"])


def test_what_a_person_wrote_in_the_analysts_place_is_marked_in_each_format_that_has_room(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = settings_in(tmp_path)
    spoken = changed(called("run_python", "by-1.0", code="print(12)"), user="U2", author="Ben")
    write(settings, [ASKED, *FAILED, spoken, changed(PASSED[1], call_id="by-1.0"), *REPORTED], vote="up")
    (record,) = exported(capsys, settings, "sft")
    marked = [said for said, by_person in zip(record["messages"], record["by_person"], strict=True) if by_person]
    assert [said["tool_calls"][0]["id"] for said in marked] == ["by-1.0"]
    (record,) = exported(capsys, settings, "messages")
    assert record["by_person"] == [False, False, False, False, True, False, False]
    (record,) = exported(capsys, settings, "sharegpt")
    assert record["by_person"] == [False, True, False, False]
    assert "print(12)" in record["conversations"][1]["value"]
    (pair,) = exported(capsys, settings, "preferences")
    assert pair["by_person"] == {"prompt": [False, False], "chosen": [True], "rejected": [False]}
    assert export.run(settings, "sft", out=tmp_path / "data.jsonl") == 0
    card = (tmp_path / "data.README.md").read_text()
    assert "1 messages of the analyst were written or edited by a person." in card


def test_an_answer_that_a_person_wrote_or_edited_is_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = settings_in(tmp_path, "[export]\ntest_percent = 0\n")
    spoken = changed(called("finish", "by-2.0", report="South: 1"), user="U2", author="Ben")
    edit = Changed(do="edit", target="report:1", text="North: 12 k", user="U2", author="Ben", ts="9.9")
    write(settings, [ASKED, *PASSED, *REPORTED, edit], vote="up")
    write(settings, [ASKED, *PASSED, spoken, Finished(report="South: 1")], channel="C2", vote="down")
    for record in exported(capsys, settings, "sft"):
        assert record["by_person"] == [False, False, False, False, True]
    edited, voted = sorted(exported(capsys, settings, "preferences"), key=lambda pair: str(pair["kind"]))
    assert (edited["by_person"]["chosen"], edited["by_person"]["rejected"]) == ([True], [False])
    assert (voted["by_person"]["chosen"], voted["by_person"]["rejected"]) == ([False], [True])


def test_a_server_that_names_all_its_calls_alike_is_not_taken_for_a_person(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = settings_in(tmp_path)
    edit = Changed(do="edit", target="report:1", text="North: 12 k", user="U2", author="Ben", ts="9.9")
    ran_first = [called("run_python", "c0", code="print(12)"), ran("c0")]
    write(settings, [ASKED, *ran_first, called("finish", "c0", report="North: 12"), REPORTED[1], edit])
    (record,) = exported(capsys, settings, "sft")
    assert record["by_person"] == [False, False, False, False, True]


def test_a_question_to_people_and_its_answer_stay_beside_a_failed_attempt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = settings_in(tmp_path)
    question = [called("ask_user", "c0", question="Gross or net?"), Questioned(call_id="c0", question="Gross or net?")]
    answer = changed(ASKED, text="net", ts="100.000002")
    write(settings, [ASKED, *question, answer, *FAILED, *PASSED, *REPORTED])
    (record,) = exported(capsys, settings, "sft")
    assert "boom" not in json.dumps(record["messages"])
    results = [message["content"] for message in record["messages"] if message.get("tool_call_id") == "c0"]
    assert len(results) == 1
    assert "net" in json.dumps(record["messages"][3:])


def test_only_turns_that_somebody_marked_are_examples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = settings_in(tmp_path)
    write(settings, TURN, vote="up")
    write(settings, [ASKED.model_copy(update={"text": "what sold worst?"}), *TURN[1:]], channel="C2")
    with closing(Store(settings.database_url)) as store:
        assert store.mark_example("T1:C2:100.000001/t1", "U2")
        assert not store.mark_example("T1:C2:100.000001/t1", "U2")
        assert list(store.examples("T1:C2:100.000001/t1")) == ["U2"]
    (record,) = exported(capsys, settings, "sft", only="examples")
    assert "what sold worst?" in json.dumps(record)
    with closing(Store(settings.database_url)) as store:
        assert store.unmark_example("T1:C2:100.000001/t1", "U2")
        assert not store.unmark_example("T1:C2:100.000001/t1", "U2")
    assert exported(capsys, settings, "sft", only="examples") == []


def test_the_shapes_are_those_of_the_trainers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = settings_in(tmp_path)
    write(settings, TURN)
    (record,) = exported(capsys, settings, "openai-jsonl")
    assert record.keys() == {"messages", "tools", "parallel_tool_calls", "split"}
    assert record["messages"][-1]["role"] == "assistant"
    (record,) = exported(capsys, settings, "sharegpt")
    sides = [each["from"] for each in record["conversations"]]
    assert sides == ["human", "function_call", "observation", "function_call"]
    assert all(side in ("human", "observation") for side in sides[::2])
    assert json.loads(record["conversations"][1]["value"])["name"] == "run_python"
    assert record["system"]


@pytest.mark.parametrize(
    ("kind", "steps", "chosen", "rejected"),
    [
        ("failure", TURN, "print(12)", "boom"),
        (
            "edit",
            [
                ASKED,
                called("run_python", "c1", code="print(11)"),
                Questioned(call_id="approve:1", question="Run?"),
                Decided(call_id="approve:1", outcome="edited", user="U2", author="Ben", code="print(12)"),
                ran("c1"),
                *REPORTED,
            ],
            "print(12)",
            "print(11)",
        ),
        (
            "redo",
            [
                ASKED,
                called("run_python", "c1", code="print(11)"),
                Questioned(call_id="approve:1", question="Run?"),
                Decided(call_id="approve:1", outcome="redo", user="U2", author="Ben", hint="by region"),
                *PASSED,
                *REPORTED,
            ],
            "print(12)",
            "print(11)",
        ),
        (
            "edit",
            [
                ASKED,
                *PASSED,
                *REPORTED,
                Changed(do="edit", target="report:1", text="North: 12 k", user="U2", author="Ben", ts="9.9"),
            ],
            "North: 12 k",
            "North: 12",
        ),
        (
            "failure",
            [
                ASKED,
                called("finish", "c1", report="North: 13"),
                Corrected(reason="unsourced", text="No."),
                *PASSED,
                *REPORTED,
            ],
            "print(12)",
            "North: 13",
        ),
    ],
    ids=["failed cell", "edited code", "redo", "edited report", "report sent back"],
)
def test_pairs_come_from_edits_redo_and_failures_that_passed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, steps: list[Step], chosen: str, rejected: str
) -> None:
    settings = settings_in(tmp_path)
    write(settings, steps)
    (pair,) = exported(capsys, settings, "preferences")
    assert pair["kind"] == kind
    assert chosen in json.dumps(pair["chosen"])
    assert rejected in json.dumps(pair["rejected"])
    assert [pair[side][0]["role"] for side in ("chosen", "rejected")] == ["assistant"] * 2
    assert [message["role"] for message in pair["prompt"][:2]] == ["system", "user"]


def test_votes_on_answers_to_the_same_question_make_a_pair(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = settings_in(tmp_path, "[export]\ntest_percent = 0\n")
    worse = [ASKED, *PASSED, changed(REPORTED[0]), Finished(report="South: 1")]
    write(settings, [ASKED, *PASSED, *REPORTED], vote="up")
    write(settings, worse, channel="C2", vote="down")
    (pair,) = exported(capsys, settings, "preferences")
    assert (pair["kind"], pair["chosen"][0]["content"], pair["rejected"][0]["content"]) == (
        "vote",
        "North: 12",
        "South: 1",
    )


def test_only_what_people_approved_is_written_when_that_is_wanted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = settings_in(tmp_path)
    write(settings, TURN, vote="up")
    write(settings, [changed(ASKED, text="and refunds?"), *PASSED, *REPORTED], channel="C2", vote="down")
    write(settings, [changed(ASKED, text="and tariffs?"), *PASSED, *REPORTED], channel="C3")
    assert len(exported(capsys, settings, "sft")) == 3
    (record,) = exported(capsys, settings, "sft", only="approved")
    assert "what sold best?" in json.dumps(record)


def test_who_opted_out_is_left_out_names_are_replaced_and_personal_values_masked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = settings_in(tmp_path, '[export]\nopted_out = ["U9"]\n[privacy]\nredact = ["email"]\n')
    write(settings, [changed(ASKED, text="mail ana@example.com the total"), *PASSED, *REPORTED])
    write(settings, [changed(ASKED, user="U9", text="my secret"), *PASSED, *REPORTED], channel="C2")
    (record,) = exported(capsys, settings, "sft")
    text = json.dumps(record)
    assert "<email_1>" in text
    assert all(each not in text for each in ("ana@example.com", "Ana Lopez", "U1", "secret", "T1:C1"))


def test_a_thread_is_in_one_split_duplicates_count_once_and_a_card_says_so(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, '[export]\ntest_percent = 50\nlicence = "internal use"\n')
    for number in range(12):
        write(settings, [changed(ASKED, text=f"question {number // 2}"), *PASSED, *REPORTED], channel=f"C{number}")
    out = tmp_path / "data.jsonl"
    assert export.run(settings, "sft", out=out) == 0
    splits = [
        [json.loads(line) for line in path.read_text().splitlines()] for path in (out, tmp_path / "data.test.jsonl")
    ]
    assert sum(map(len, splits)) == 6
    assert all(splits), "both hold something"
    threads = [{record["thread"] for record in records} for records in splits]
    assert not threads[0] & threads[1]
    card = (tmp_path / "data.README.md").read_text()
    assert "6 duplicates" in card
    assert "internal use" in card
    assert (out.stat().st_mode & 0o777) == 0o600
    assert [export.split_of("T1:C1:1.0", percent) for percent in (0, 100)] == ["train", "test"]


@pytest.mark.parametrize("fails", ["replace", "fsync"])
def test_an_export_that_the_disk_refuses_leaves_the_earlier_one_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    def full(*_: object) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    settings = load_settings({"THREADBOOK_HOME": str(tmp_path)}, tmp_path)
    with closing(Store(settings.database_url)) as store:
        store.migrate()
        write_turn(store, [ASKED, called("run_python", "c1", code="print(12)"), ran("c1"), Finished(report="12")])
    out = tmp_path / "data.jsonl"
    out.write_text("the earlier one")
    monkeypatch.setattr(os, fails, full)
    with pytest.raises(NotWritten, match=r"data\.jsonl could not be written: No space left on device\. What was"):
        export.run(settings, "sft", out=out)
    assert [path.name for path in tmp_path.glob("*data*")] == ["data.jsonl"]
    assert out.read_text() == "the earlier one"


def test_a_pipe_is_written_as_it_is(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with whole_file(tmp_path / "pipe") as part, part.open("wb") as file:
        file.write(b"1")
    assert os.read(reader, 10) == b"1"
    os.close(reader)
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_an_operator_who_may_not_export_gets_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = settings_in(tmp_path, '[access]\nexport = ["admins"]\n')
    write(settings, TURN)
    assert export.run(settings, "sft") == 1
    assert capsys.readouterr().out == ""


def test_what_a_killed_export_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    ended = subprocess.Popen(["/bin/true"])
    ended.wait()
    (tmp_path / f".out.jsonl.{ended.pid}.part").write_text("torn")
    under_way = tmp_path / f".out.jsonl.{os.getppid()}.part"
    under_way.write_text("of another export")
    with whole_file(tmp_path / "out.jsonl") as part:
        part.write_text("whole")
    assert sorted(tmp_path.iterdir()) == sorted([under_way, tmp_path / "out.jsonl"])
