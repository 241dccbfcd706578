"""What people judge on the playground's page counts as in Slack: rights, votes, examples, corrections, the export."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fakeredis
import pytest
from turn_world import ANA, BEN, World, cell, finish, hurried, new_database

from core.errors import SlackUnreachable
from core.installations.workspaces import Workspace, Workspaces
from core.slack.reading.reader import SlackReader
from core.values import ThreadKey
from tryout import labelling
from tryout.commands import export
from tryout.labelling import Labelling
from workers.models.scripted import ScriptedModel

ANSWER = "The bird is a kestrel."
Json = dict[str, Any]


@dataclass
class Page:
    """A world with one answer, and the page's object beside it."""

    world: World
    labels: Labelling
    key: ThreadKey

    def shown(self, user: str = BEN) -> list[Json]:
        answers, missing = self.labels.answers(self.key.team, user)
        assert missing == ""
        return list(answers)

    def judge(self, do: str, text: str = "", user: str = BEN) -> str:
        return self.labels.label(self.key.team, user, f"{self.key.id}/t1", do, text)

    def exported(self, kind: export.Format, capsys: pytest.CaptureFixture[str], **how: Any) -> list[Json]:
        assert export.run(self.world.settings, kind, **how) == 0
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.fixture
def new_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    redis = fakeredis.FakeRedis(server=fakeredis.FakeServer())
    opened: list[Any] = []

    def make(team: str = "") -> Page:
        world = World(tmp_path / "world", new_database(tmp_path), team=team)
        world.model = ScriptedModel([cell("print('kestrel')"), finish(ANSWER), finish("Done.")])
        key = world.say("which bird?")
        world.settle(key)
        there = Workspaces(Workspace(world.worker().context.slack, world.slack.client(), str))
        monkeypatch.setattr(labelling, "connect_redis", lambda *_, **__: redis)
        monkeypatch.setattr(labelling, "opened_workspaces", lambda *_: there)
        labels = Labelling(world.settings)
        opened.extend((world, labels))
        return Page(world, labels, key)

    with hurried():
        yield make
        for each in opened:
            each.close()


@pytest.fixture
def page(new_page: Any) -> Page:
    made: Page = new_page()
    return made


def test_an_answer_is_shown_with_its_question_and_what_people_said_of_it(page: Page) -> None:
    (answer,) = page.shown()
    assert (answer["question"], answer["report"], answer["author"]) == ("which bird?", ANSWER, "ana")
    assert answer["can_fix"]
    assert page.judge("down", "it is\na heron") == ""
    assert page.judge("up", user=ANA) == ""
    (answer,) = page.shown()
    assert (answer["up"], answer["down"], answer["mine"], answer["reason"]) == (1, 1, "down", "it is a heron")


def test_an_example_is_marked_taken_back_and_exported(page: Page, capsys: pytest.CaptureFixture[str]) -> None:
    assert page.exported("sft", capsys, only="examples") == []
    assert page.judge("example") == ""
    (answer,) = page.shown()
    assert (answer["is_example"], answer["examples"]) == (True, 1)
    (record,) = page.exported("sft", capsys, only="examples")
    assert ANSWER in json.dumps(record)
    assert page.judge("no_example") == ""
    assert page.exported("sft", capsys, only="examples") == []


def test_a_correction_becomes_what_is_learned_and_a_pair_with_the_text_before(
    page: Page, capsys: pytest.CaptureFixture[str]
) -> None:
    assert page.judge("fix", "The bird is a heron.") == ""
    (answer,) = page.shown()
    assert (answer["is_waiting"], answer["report"], answer["original"]) == (True, "The bird is a heron.", "")
    page.world.settle(page.key)
    (answer,) = page.shown()
    assert (answer["is_waiting"], answer["report"], answer["original"]) == (False, "The bird is a heron.", ANSWER)
    assert answer["editor"] == "ben"
    (pair,) = page.exported("preferences", capsys)
    assert pair["kind"] == "edit"
    assert "heron" in json.dumps(pair["chosen"])
    assert "kestrel" in json.dumps(pair["rejected"])
    (record,) = page.exported("sft", capsys)
    assert "heron" in json.dumps(record["messages"][-1])


@pytest.mark.parametrize("text", ["", "  ", ANSWER, f"{ANSWER}\n", "x" * 80_001])
def test_a_correction_that_says_nothing_new_is_not_kept(page: Page, text: str) -> None:
    assert "Nothing was kept" in page.judge("fix", text)
    page.world.settle(page.key)
    assert page.world.steps(page.key, "changed") == []


def test_whoever_may_not_look_sees_and_judges_nothing(new_page: Any) -> None:
    page = new_page(f'[access]\nlook = ["{ANA}"]\n')
    assert page.shown() == []
    assert "may not read its thread" in page.judge("up")
    assert page.world.store.votes(f"{page.key.id}/t1") == []
    assert len(page.shown(ANA)) == 1


def test_a_private_channel_is_shown_to_its_people_alone(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SlackReader, "may_read", lambda slack, channel, user, own: user == ANA)
    assert len(page.shown(ANA)) == 1
    assert page.shown() == []
    assert "may not read its thread" in page.judge("example")
    assert page.world.store.examples(f"{page.key.id}/t1") == {}


def test_whoever_may_not_edit_the_context_corrects_nothing(new_page: Any) -> None:
    page = new_page(f'[access]\ncontext = ["{ANA}"]\n')
    assert "`context` of [access]" in page.judge("fix", "The bird is a heron.")
    page.world.settle(page.key)
    assert page.world.steps(page.key, "changed") == []
    assert page.judge("fix", "The bird is a heron.", user=ANA) == ""


def test_an_answer_that_is_gone_or_none_of_ours_is_not_judged(page: Page) -> None:
    assert "Nothing was kept" in page.judge("praise")
    for answer in ("", "x", "T1:C1:1.1/t1", f"{page.key.id}/t9"):
        assert "Nothing was kept" in page.labels.label(page.key.team, BEN, answer, "up", "")
    page.world.store.purge_thread(page.key.id)
    assert page.shown() == []
    assert "not stored any more" in page.judge("up")


def test_while_slack_is_away_nothing_is_shown_and_the_page_says_so(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any) -> bool:
        raise SlackUnreachable("no answer")

    monkeypatch.setattr(SlackReader, "may_read", away)
    answers, missing = page.labels.answers(page.key.team, BEN)
    assert answers == []
    assert "nothing of them is lost" in missing
    assert "Try again" in page.judge("up")
