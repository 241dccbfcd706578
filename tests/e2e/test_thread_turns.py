"""A thread from question to report, with a model that follows a script: what each part of the product adds to it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from harness import Json, Stack, Start, Talk, session_host, settings_for
from patience import PATIENCE_S

from playground import Options
from tryout.stack.blocks_text import message_text
from workers.models.base import ModelReply, ModelRequest, OnDelta
from workers.models.scripted import ScriptedModel
from workers.service import jobs
from workers.service.context import opened

pytestmark = pytest.mark.integration

SALES = "region,amount\nNorth,10\nSouth,32\n"


def code(source: str, title: str = "Look at the data") -> dict[str, Any]:
    return {"calls": [{"name": "run_python", "arguments": {"code": source, "title": title}}]}


def finish(report: str) -> dict[str, Any]:
    return {"calls": [{"name": "finish", "arguments": {"report": report}}]}


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    path = tmp_path / "sales.csv"
    path.write_text(SALES)
    return path


READ = "import pandas as pd\ndf = pd.read_csv('sales.csv')\ntotal = int(df['amount'].sum())\nprint(total)"
CHART = "import matplotlib.pyplot as plt\ndf.plot.bar(x='region', y='amount', title='Sales by region', xlabel='Region')"


def test_a_question_with_a_file_ends_in_a_report_with_chart_and_files(start: Start, sales: Path) -> None:
    model = ScriptedModel([code(READ), code(CHART, "Sales by region"), finish("Together **42** were sold.")])
    talk = start(model).ask("How much was sold?", [sales])
    assert talk.turn.status == "done"
    assert [step.kind for step in talk.steps()][:2] == ["asked", "briefed"]
    assert talk.steps("cell")[0].stdout.strip() == "42"
    assert "42" in talk.report
    assert "Together **42** were sold." in talk.text
    names = [file["name"] for file in talk.files]
    assert "report.html" in names
    assert {"report.md", "analysis.ipynb", "analysis.py"} <= set(talk.kept)
    assert any(file["mimetype"] == "image/png" for file in talk.files)
    (chart,) = (block for each in talk.messages for block in each.get("blocks") or () if "chart" in block)
    assert (chart["title"], chart["chart"]["type"]) == ("Sales by region", "bar")
    assert talk.reactions() == {"white_check_mark"}


def test_a_second_person_goes_on_with_the_variables_of_the_first(start: Start, sales: Path) -> None:
    model = ScriptedModel(
        turns=[
            [code(READ), finish("Together **42** were sold.")],
            [code("print(total * 2, 'again')"), finish("Twice that is **84**.")],
        ]
    )
    first = start(model).ask("How much was sold?", [sales], user="ana")
    second = first.ask("And twice that?", user="ben")
    assert second.steps("cell")[0].stdout.strip() == "84 again"
    assert [turn.status for turn in second.turns] == ["done", "done"]
    authors = [second.stack.store.steps(turn.id)[0].author for turn in second.turns]
    assert len(set(authors)) == 2
    assert "84" in second.report


class Held:
    """A model that answers only when the test says so."""

    native_tools = True
    sees = False
    name = "held"

    def __init__(self, model: ScriptedModel) -> None:
        self.model = model
        self.asked = threading.Semaphore(0)
        self.go = threading.Semaphore(0)

    def complete(self, request: ModelRequest, on_delta: OnDelta) -> ModelReply:
        self.asked.release()
        assert self.go.acquire(timeout=PATIENCE_S)
        return self.model.complete(request, on_delta)


def test_a_message_sent_while_the_turn_runs_joins_it(start: Start, sales: Path) -> None:
    held = Held(ScriptedModel([code(READ), code("print('only the South')"), finish("The South sold **32**.")]))
    stack = start(held)
    key = stack.say("How much was sold?", [sales])
    assert held.asked.acquire(timeout=PATIENCE_S)
    stack.say("only the South please", user="ben", thread=key)
    stack.wait_for(lambda: len(stack.store.unread(key.id)) == 1, "the second message")
    for _ in range(10):
        held.go.release()
    stack.wait_for(lambda: stack.rests(key), "the answer")
    talk = Talk(stack, key)
    assert len(talk.turns) == 1
    assert [step.text for step in talk.steps("asked")] == ["How much was sold?", "only the South please"]
    kinds = [step.kind for step in talk.steps()]
    assert kinds.index("replied") < len(kinds) - 1 - kinds[::-1].index("asked") < kinds.index("finished")


def question(text: str, *options: str) -> dict[str, Any]:
    return {"calls": [{"name": "ask_user", "arguments": {"question": text, "options": list(options)}}]}


def has_buttons(message: Json) -> bool:
    return any(block["type"] == "actions" for block in message.get("blocks") or ())


def test_a_question_waits_without_a_worker_and_a_press_goes_on(start: Start, sales: Path) -> None:
    model = ScriptedModel([question("Which region?", "North", "South"), code(READ), finish("The South: **32**.")])
    talk = start(model).ask("How much was sold?", [sales])
    assert talk.turn.status == "waiting"
    asking = next(message for message in talk.messages if has_buttons(message))
    stack = talk.stack
    stack.slack.press(talk.key, asking["ts"], "answer:1", "ben")
    stack.wait_for(lambda: talk.turn.status == "done", "the rest of the turn")
    assert talk.steps("asked")[-1].text == "South"
    redrawn = next(message for message in talk.messages if message["ts"] == asking["ts"])
    assert not has_buttons(redrawn)
    assert not redrawn.get("reactions")
    assert talk.reactions() == {"white_check_mark"}
    assert "South" in message_text(redrawn)


def test_a_question_can_be_answered_in_words(start: Start, sales: Path) -> None:
    model = ScriptedModel([question("Which region?", "North", "South"), code(READ), finish("The East: nothing.")])
    asked = start(model).ask("How much was sold?", [sales])
    asked.stack.say("the East", thread=asked.key)
    asked.stack.wait_for(lambda: asked.turn.status == "done", "the rest of the turn")
    assert asked.steps("asked")[-1].text == "the East"


@pytest.mark.parametrize(
    ("kind", "words"),
    [("unavailable", "does not answer"), ("refused", "refuses our access"), ("nonsense", "I could not understand")],
)
def test_a_model_in_trouble_is_said_kindly_and_the_next_message_tries_again(
    start: Start, sales: Path, kind: str, words: str
) -> None:
    model = ScriptedModel(turns=[[{"error": {"kind": kind}}], [code(READ), finish("Together **42** were sold.")]])
    talk = start(model).ask("How much was sold?", [sales])
    assert talk.turn.status == "stopped"
    assert words in talk.text
    assert talk.reactions() == {"warning"}
    again = talk.ask("And how much was it in all?")
    assert again.turn.status == "done"
    assert "42" in again.report


class Broken:
    """A model with a bug of ours in it, until it is repaired."""

    native_tools = True
    sees = False
    name = "broken"

    def __init__(self, model: ScriptedModel) -> None:
        self.model = model
        self.repaired = False

    def complete(self, request: ModelRequest, on_delta: OnDelta) -> ModelReply:
        if not self.repaired:
            raise ZeroDivisionError("a bug")
        return self.model.complete(request, on_delta)


def test_a_bug_of_ours_ends_in_one_sentence_with_a_reference_and_loses_nothing(start: Start, sales: Path) -> None:
    broken = Broken(ScriptedModel([code(READ), finish("Together **42** were sold.")]))
    talk = start(broken).ask("How much was sold?", [sales])
    assert talk.turn.status == "failed"
    reference = talk.steps("gave_up")[0].text.split("reference ")[1][:8]
    assert talk.text.count(reference) == 1
    assert "ZeroDivisionError" not in talk.text
    broken.repaired = True
    talk.stack.say("continue", thread=talk.key)
    talk.stack.wait_for(lambda: talk.turn.status == "done", "the report")
    assert "42" in talk.report
    assert len(talk.turns) == 1


class BrokenWhileSlackIsAway(Broken):
    """The same, and Slack takes no message from the moment on when the mistake shows."""

    stack: Stack

    def complete(self, request: ModelRequest, on_delta: OnDelta) -> ModelReply:
        for method in ("chat.postMessage", "chat.update"):
            self.stack.fault(method, "account_inactive")
        return super().complete(request, on_delta)


def test_a_bug_of_ours_while_slack_is_away_is_told_when_slack_is_back(start: Start, sales: Path) -> None:
    broken = BrokenWhileSlackIsAway(ScriptedModel([]))
    broken.stack = start(broken)
    key = broken.stack.say("How much was sold?", [sales])
    talk = broken.stack.talk(key)
    broken.stack.wait_for(lambda: bool(talk.turns) and bool(talk.steps("gave_up")), "the end of the turn")
    with broken.stack.busy:
        reference = talk.steps("gave_up")[0].text.split("reference ")[1][:8]
        assert (talk.turn.status, talk.text.count(reference)) == ("running", 0)
        broken.stack.renew()
    broken.stack.wait_for(lambda: talk.turn.status == "failed", "the turn told")
    assert talk.text.count(reference) == 1
    assert len(talk.steps("gave_up")) == 1


def test_the_same_question_again_in_another_thread_starts_with_nothing(start: Start, sales: Path) -> None:
    model = ScriptedModel([code("print('total' in globals())"), code(READ), finish("Together **42** were sold.")])
    stack = start(model)
    for _ in range(2):
        assert stack.ask("How much was sold?", [sales]).steps("cell")[0].stdout.strip() == "False"


@pytest.mark.parametrize("method", ["reactions.add", "assistant.threads.setStatus", "users.info", "reactions.remove"])
def test_a_server_without_a_nicety_is_good_enough(start_alone: Start, sales: Path, method: str) -> None:
    stack = start_alone(ScriptedModel([code(READ), finish("Together **42** were sold.")]))
    stack.fault(method, "unknown_method")
    assert stack.ask("How much was sold?", [sales]).turn.status == "done"


def test_files_that_slack_refuses_are_said_and_the_report_stands(start: Start, sales: Path) -> None:
    stack = start(ScriptedModel([code(READ), code(CHART), finish("Together **42** were sold.")]))
    stack.fault("files.getUploadURLExternal", "missing_scope")
    talk = stack.ask("How much was sold?", [sales])
    assert talk.turn.status == "done"
    assert "missing_scope" in talk.text
    assert "Together **42** were sold." in talk.text


def test_an_empty_answer_of_the_files_door_names_the_missing_scope(start: Start, sales: Path) -> None:
    stack = start(ScriptedModel([finish("I could not read it.")]))
    stack.options(scopes=[scope for scope in Options().scopes if scope != "files:read"])
    talk = stack.ask("How much was sold?", [sales])
    assert "files:read" in talk.text


def test_a_session_that_dies_comes_back_with_its_variables_and_files(start: Start, sales: Path) -> None:
    again = "print(total, pd.read_csv('sales.csv').shape)"
    script = [code(READ), code("import os\nos._exit(3)"), code(again), finish("Together **42** were sold.")]
    talk = start(ScriptedModel(script)).ask("How much was sold?", [sales])
    assert [cell.status for cell in talk.steps("cell")] == ["ok", "died", "ok"]
    assert talk.steps("cell")[-1].stdout.strip() == "42 (2, 2)"


def test_what_could_not_be_kept_is_said_to_people(start: Start, sales: Path) -> None:
    script = [
        code(READ + "\nrows = (row for row in [1, 2])"),
        code("import os\nos._exit(3)"),
        code("print(total)"),
        finish("Together **42** were sold."),
    ]
    talk = start(ScriptedModel(script)).ask("How much was sold?", [sales])
    assert talk.steps("cell")[-1].stdout.strip() == "42"
    assert any("rows" in cell.notice for cell in talk.steps("cell"))
    assert "rows" in "\n".join(message_text(message) for message in talk.messages[1:])


def test_a_thread_that_moves_to_another_host_takes_its_files_along(
    start: Start, sales: Path, tmp_path: Path, redis_url: str
) -> None:
    model = ScriptedModel(turns=[[code(READ), finish("**42**.")], [code(READ), finish("Again **42**.")]])
    stack = start(model)
    first = stack.ask("How much was sold?", [sales])
    elsewhere = tmp_path / "other-host"
    env = {"DATABASE_URL": stack.settings.database_url, "THREADBOOK_FILES": stack.settings.files}
    env |= {"SLACK_API_URL": stack.settings.slack_api_url, "THREADBOOK_NODE_ID": "another-host"}
    with (
        session_host(elsewhere),
        stack.busy,
        opened(settings_for(elsewhere, "http://-", redis_url, **env), model) as tools,
    ):
        stack.say("and again?", thread=first.key)
        stack.wait_for(lambda: bool(stack.store.unread(first.key.id)), "the follow-up")
        jobs.run(tools, first.key.id)
    assert [turn.status for turn in first.turns] == ["done", "done"]
    assert first.steps("cell")[0].stdout.strip() == "42"
    assert stack.store.thread_node(first.key.id) == "another-host"
    assert "earlier variables are lost" in first.text


def test_the_title_of_a_chart_reaches_nobody_and_leads_nowhere(start: Start, sales: Path) -> None:
    title = "Sales <!channel> <https://evil.example|here>"
    talk = start(ScriptedModel([code(READ), code(CHART, title), finish("**42**.")])).ask("How much?", [sales])
    chart = next(each for each in talk.messages if any(f["mimetype"] == "image/png" for f in each.get("files") or ()))
    assert "<" not in chart["text"]
    assert "`https://evil.example%7Chere`" in chart["text"]
