"""With `[privacy] redact` no personal value reaches the model, by whatever path; the sandbox works with the values."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from test_turn_sources import PEOPLE, Asked, asked, follows  # noqa: F401 - a fixture
from turn_world import ANA, BEN, CHANNEL, Death, NewWorld, World, cell, finish, question

from core.steps import CellRan, Replied, Step
from core.values import ThreadKey
from workers.agent.turn import SourceNote
from workers.models.base import Model, ModelReply, ModelRequest, OnDelta
from workers.models.scripted import ScriptedModel
from workers.turn import open_turn

ROOT = Path(__file__).parents[4]
ON = '[privacy]\nredact = ["email", "phone", "iban", "card", "id"]\n'
VALUES = ON + 'reports = "values"\n'


class Listening:
    """A model that keeps all that it is asked."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.requests: list[ModelRequest] = []

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def native_tools(self) -> bool:
        return self._model.native_tools

    @property
    def sees(self) -> bool:
        return self._model.sees

    def complete(self, request: ModelRequest, on_delta: OnDelta) -> ModelReply:
        self.requests.append(request)
        return self._model.complete(request, on_delta)

    @property
    def heard(self) -> str:
        return "\n".join(json.dumps([r.messages, r.tools], ensure_ascii=False, default=str) for r in self.requests)


def address(place: str) -> str:
    return f"{place}.secret@planted.example"


def steps_of(world: World, key: ThreadKey) -> list[Step]:
    return [step for turn in world.turns(key) for step in world.store.steps(turn.id)]


def play(world: World, *replies: object, **more: Any) -> Listening:
    world.model = listening = Listening(ScriptedModel(replies, **more))
    return listening


PLACES = (
    "question", "steering", "file", "name", "stdout", "stderr", "result", "error", "title", "schema", "description",
    "answer", "report", "artifact", "judge", "second", "malformed", "thought",
)  # fmt: skip


def test_values_that_are_planted_everywhere_reach_no_request(
    new_world: NewWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = SourceNote("shop", "postgres", f"ask {address('description')}", f"- mail text, such as {address('schema')}")
    monkeypatch.setattr(open_turn, "allowed_sources", lambda *_: (note,))
    world = new_world(team=ON)
    noisy = (
        f"import sys\nprint('{address('stdout')}')\nsys.stderr.write('{address('stderr')}')\n"
        f"open('{address('artifact')}.txt', 'w').write('x')\n'{address('result')}'"
    )
    model = play(
        world,
        {"text": f"I wonder about {address('thought')}", **cell(noisy, title=f"Mail of {address('title')}")},
        cell(f"raise ValueError('{address('error')}')"),
        {"calls": [{"name": "run_python", "arguments": f'{{"code": "{address("malformed")}'}]},
        question(f"Is it {address('name')}?", "yes", "no"),
        finish(f"Ask {address('report')}."),
        finish(f"Ask {address('second')}, or 4111 1111 1111 1111."),
        checks=[
            {"when": "second", "text": '{"is_final": true}'},
            {"when": "", "text": json.dumps({"is_final": False, "reason": f"who is {address('judge')}?"})},
        ],
    )
    table = f"mail,phone,iban\n{address('file')},+49 30 1234567,DE89370400440532013000\n".encode()
    key = world.say(f"who is {address('question')}?", files={f"{address('name')}.csv": table})
    world.settle(key)
    world.say(f"yes, {address('answer')}", thread=key)
    world.settle(key)
    play_again = play(world, *([cell("print(1)")] * 7), finish("One."))
    world.say(f"and {address('steering')}?", thread=key)
    world.settle(key)
    heard = model.heard + play_again.heard
    assert len(model.requests) >= 7
    assert len(play_again.requests) >= 1
    assert "<email_1>" in heard
    assert [place for place in PLACES if f"{place}.secret" in heard] == []
    assert [value for value in ("30 1234567", "DE8937", "4111 1111") if value in heard] == []
    stored = json.dumps(
        [step.model_dump(mode="json") for turn in world.turns(key) for step in world.store.steps(turn.id)]
    )
    assert [
        place for place in ("question", "file", "stdout", "error", "answer") if f"{place}.secret" not in stored
    ] == []


def test_a_placeholder_in_code_is_the_value_in_the_sandbox(new_world: NewWorld) -> None:
    world = new_world(team=ON)
    model = play(world, cell("who = '<email_1>'\nprint(len(who), who.split('@')[1])"), finish("Done."))
    key = world.say("what is the host of ana@example.org?")
    world.settle(key)
    (ran,) = [step for step in world.store.steps(world.turns(key)[-1].id) if isinstance(step, CellRan)]
    assert (ran.stdout, ran.code.splitlines()[0]) == ("15 example.org\n", "who = '<email_1>'")
    assert "ana@example.org" not in model.heard


@pytest.mark.parametrize(
    ("team", "shown", "hidden"), [(ON, "<email_1>", "ana@example.org"), (VALUES, "ana@example.org", "<email_1>")]
)
def test_the_setting_says_what_people_read_in_a_report(new_world: NewWorld, team: str, shown: str, hidden: str) -> None:
    world = new_world(team=team)
    model = play(world, cell("print('ana@example.org')"), finish("Write to <email_1> today."))
    key = world.say("whom do I write to, ana@example.org?")
    world.settle(key)
    said = world.text(key).replace("&lt;", "<").replace("&gt;", ">").replace("mailto:ana@example.org|", "")
    report = said[said.index("Write to") :][:40]
    assert shown in report
    assert hidden not in report
    assert "ana@example.org" not in model.heard


def test_a_follow_up_has_the_same_placeholders_and_its_report_as_it_was_written(new_world: NewWorld) -> None:
    world = new_world(team=VALUES)
    play(world, cell("print(1)"), finish("Write to <email_1>."))
    key = world.say("ben@example.org or ana@example.org?")
    world.settle(key)
    model = play(world, *([cell("print(1)")] * 2), finish("Write to <email_2>."))
    world.say("ana@example.org then?", thread=key)
    world.settle(key)
    assert "ana@example.org" not in model.heard
    assert "<email_2> then?" in model.heard
    assert "Write to <email_1>." in model.heard


def test_after_a_reset_no_placeholder_gives_back_a_value_of_the_rows_before(asked: Asked) -> None:  # noqa: F811
    look = cell("n = len(query('select 1 as n from orders'))\nprint('zoe' + chr(64) + 'shop.example')")
    world = asked(look, finish("Somebody."), more=f"{PEOPLE}{VALUES}")
    key = world.key  # type: ignore[attr-defined]
    for words in ("reset", "yes"):
        follows(world, words, user=ANA)
    before = world.text(key)  # a card has shown the output
    later: list[Any] = [[] for _ in world.turns(key)]
    backwards = cell("print('<email_1>'[::-1])\nprint('max' + chr(64) + 'shop.example')")
    world.model = ScriptedModel(turns=[*later, [backwards, finish("Ask <email_1>, not <email_2>.")]])
    world.say("who is it?", thread=key, user=BEN)
    world.settle(key)
    (step,) = world.steps(key, "cell")
    assert step["stdout"].splitlines() == [">1_liame<", "max@shop.example"]
    assert world.text(key).count("zoe@") == before.count("zoe@")
    assert world.text(key).count("max@") >= 2, "on the card and in the report"


def test_a_worker_that_dies_anywhere_changes_no_placeholder(new_world: NewWorld) -> None:
    def story(at: int) -> tuple[list[str], str]:
        world = new_world(team=ON)
        model = play(world, cell("print('<email_2>')"), finish("Done."))
        key = world.say("ben@example.org, ana@example.org")
        death = Death(at=at) if at else Death()
        world.settle(key, death=death)
        ran = [
            step.stdout for turn in world.turns(key) for step in world.store.steps(turn.id) if isinstance(step, CellRan)
        ]
        assert "example.org" not in model.heard
        return ran, world.statuses(key)[-1]

    assert {repr(story(at)) for at in (0, 4, 6, 8, 9, 10, 11, 12)} == {repr((["ana@example.org\n"], "done"))}


def test_one_channel_may_mask_more_or_less_than_the_others(new_world: NewWorld) -> None:
    world = new_world(team=f'{ON}[channels.{CHANNEL}.privacy]\nredact = ["card"]\n')
    model = play(world, finish("Done."))
    world.settle(world.say("ana@example.org 4111111111111111"))
    assert "ana@example.org" in model.heard
    assert "4111111111111111" not in model.heard


def test_without_the_setting_nothing_is_masked_and_nothing_is_said_of_it(new_world: NewWorld) -> None:
    world = new_world()
    model = play(world, finish("Done."))
    key = world.say("ana@example.org")
    world.settle(key)
    assert "ana@example.org" in model.heard
    assert "Masked values" not in model.heard
    assert all(not step.masked for step in world.store.steps(world.turns(key)[-1].id) if isinstance(step, Replied))


def test_the_model_is_told_what_placeholders_are(new_world: NewWorld) -> None:
    world = new_world(team=ON)
    model = play(world, finish("Done."))
    world.settle(world.say("hello"))
    system = model.requests[0].messages[0]
    assert system["role"] == "system"
    assert "# Masked values" in system["content"]
    assert "email, phone, iban, card, id" in system["content"]


def test_nothing_but_the_masked_call_asks_a_model() -> None:
    """A new way to a model must mask too: then it belongs on this list, and into `docs/privacy.md`."""
    asking = [
        path.relative_to(ROOT).as_posix()
        for room in ("bot", "core", "workers")
        for path in sorted((ROOT / room).rglob("*.py"))
        if any(
            isinstance(node, ast.Attribute) and node.attr == "complete"
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        )
    ]
    # The builder has requirements and code before it, and no rows of a thread.
    assert asking == [
        "workers/builder/asking.py",
        "workers/turn/commands/build.py",
        "workers/turn/silence.py",
        "workers/turn/stop_check.py",
    ]
    draft = (ROOT / "workers/turn/commands/build.py").read_text(encoding="utf-8")
    assert "model = BuildModel(turn, thread.language)" in draft, "its calls are masked in workers/turn/build_model.py"
    look = (ROOT / "workers/turn/silence.py").read_text(encoding="utf-8")
    assert look.count("ModelRequest(") == look.count("ModelRequest(shown,") == 1
    text = (ROOT / "workers/turn/model_call.py").read_text(encoding="utf-8")
    assert text.count("complete_unless_stopped(") == 1
    assert "ModelRequest(shown," in text
