"""A channel's fixed layout, through whole turns: models that obey, ignore it, invent a heading, write prose only."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from fpdf import FPDF
from pptx import Presentation
from turn_world import CHANNEL, Json, Meanwhile, NewWorld, World, cell, failure, finish

from core import chromium
from core.values import ThreadKey
from tryout.stack.blocks_text import message_text
from workers.models.scripted import ScriptedModel

TEAM = '[report]\nsections = ["Summary", "Findings", "Method"]\n'
LOOK = cell("print('North 120')", "Totals")
OBEYS = "## Summary\n\nNorth sold 120.\n\n## Findings\n\n- North leads.\n\n## Method\n\nA sum by region."
IGNORES = "# Sales\n\nNorth sold 120.\n\n## What I did\n\nA sum by region."
INVENTS = OBEYS.replace("## Method", "## Outlook\n\nMore of it.\n\n## Method")
PROSE = "North sold 120."


def ask(world: World, *replies: Json, text: str = "which region wins?") -> ThreadKey:
    world.model = Meanwhile(ScriptedModel(list(replies)), {})
    key = world.say(text)
    world.settle(key)
    return key


def requests(world: World, purpose: str = "act") -> list[str]:
    assert isinstance(world.model, Meanwhile)
    told = [each for each in world.model.requests if each.purpose == purpose]
    return [json.dumps(each.messages, ensure_ascii=False) for each in told]


def report(world: World, key: ThreadKey) -> str:
    return str(world.steps(key, "finished")[-1]["report"])


def headings(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("## ")]


OURS = ["## Summary", "## Findings", "## Method"]


def corrections(world: World, key: ThreadKey) -> list[str]:
    return [str(step["text"]) for step in world.steps(key, "corrected") if step["reason"] == "layout"]


def test_a_model_that_obeys_is_told_the_layout_and_sends_it_once(new_world: NewWorld) -> None:
    world = new_world(team=TEAM)
    key = ask(world, LOOK, finish(OBEYS))
    assert "This channel has a fixed layout" in requests(world)[0]
    assert corrections(world, key) == []
    assert report(world, key) == OBEYS
    assert "A sum by region." in world.text(key)  # a method that the team wants in the thread is not folded away
    assert "[How it was done]" not in world.text(key)


def test_a_model_that_mends_its_report_is_asked_once(new_world: NewWorld) -> None:
    world = new_world(team=TEAM)
    key = ask(world, LOOK, finish(IGNORES), finish(OBEYS))
    (told,) = corrections(world, key)
    assert "Missing, or without a word below: Findings; Method." in told
    assert "Not in the layout: Sales; What I did." in told
    assert report(world, key) == OBEYS


def test_a_model_that_ignores_the_layout_loses_no_word(new_world: NewWorld) -> None:
    world = new_world(team=TEAM)
    key = ask(world, LOOK, finish(IGNORES), finish(IGNORES))
    assert len(corrections(world, key)) == 1
    text = report(world, key)
    assert headings(text) == OURS
    assert "### What I did\n\nA sum by region." in text
    assert text.endswith("## Findings\n\n*Not answered.*\n\n## Method\n\n*Not answered.*")
    assert world.statuses(key) == ["done"]
    assert len(requests(world, "check")) == 1  # the judge reads what people will read
    assert "Not answered." in requests(world, "check")[0]


def test_an_invented_heading_stays_inside_the_section_above_it(new_world: NewWorld) -> None:
    world = new_world(team=TEAM)
    key = ask(world, LOOK, finish(INVENTS), finish(INVENTS))
    (told,) = corrections(world, key)
    assert "Not in the layout: Outlook." in told
    assert headings(report(world, key)) == OURS
    assert "- North leads.\n\n### Outlook\n\nMore of it." in report(world, key)


def test_prose_alone_is_the_first_section_and_the_rest_is_not_answered(new_world: NewWorld) -> None:
    world = new_world(team=TEAM)
    key = ask(world, LOOK, finish(PROSE), finish(PROSE))
    assert report(world, key) == (
        "## Summary\n\nNorth sold 120.\n\n## Findings\n\n*Not answered.*\n\n## Method\n\n*Not answered.*"
    )
    assert world.text(key).count("Not answered.") == 2


def test_the_order_is_the_teams(new_world: NewWorld) -> None:
    world = new_world(team=TEAM)
    turned = "## Method\n\nA sum by region.\n\n## Findings\n\n- North leads.\n\n## Summary\n\nNorth sold 120."
    key = ask(world, LOOK, finish(turned))
    assert corrections(world, key) == []
    assert report(world, key) == OBEYS


def test_a_channel_has_its_own_layout_or_none(new_world: NewWorld) -> None:
    world = new_world(team=f'{TEAM}[channels.{CHANNEL}.report]\nsections = ["Answer"]\n')
    assert report(world, ask(world, LOOK, finish(PROSE))) == "## Answer\n\nNorth sold 120."
    world = new_world(team=f"{TEAM}[channels.{CHANNEL}.report]\nsections = []\n")
    assert report(world, ask(world, LOOK, finish(PROSE))) == PROSE


def test_step_by_step_keeps_its_own_form(new_world: NewWorld) -> None:
    world = new_world(team=TEAM)
    ask(world, finish("1. Load — a table"), text="which region wins? step by step please")
    assert "fixed layout" not in requests(world)[0]


def test_talk_needs_no_layout(new_world: NewWorld) -> None:
    world = new_world(team=TEAM)
    key = ask(world, finish("You are welcome."), text="thanks!")
    assert report(world, key) == "You are welcome."


def test_an_answer_that_says_it_is_none_needs_no_layout(new_world: NewWorld) -> None:
    world = new_world(team=TEAM)
    key = ask(world, LOOK, finish("There is no price in the data.", partial=True))
    assert report(world, key) == "There is no price in the data."


def test_a_figure_that_nothing_backs_is_marked_where_it_stands_in_the_layout(new_world: NewWorld) -> None:
    world = new_world(team=TEAM)
    moved = "## Method\n\nA sum.\n\n## Findings\n\n- 4,711 units.\n\n## Summary\n\nNorth sold 120."
    key = ask(world, LOOK, *[finish(moved)] * 3)
    step = world.steps(key, "finished")[-1]
    assert "- 4,711 (⚠ not computed here) units." in step["report"]
    for source in step["sources"]:
        assert step["report"][source["start"] :].startswith(source["figure"])


def test_a_report_that_was_sent_back_is_posted_laid_out_when_no_better_one_follows(new_world: NewWorld) -> None:
    world = new_world(team=f"{TEAM}[limits]\nmax_model_calls = 3\n")
    key = ask(world, LOOK, finish(PROSE), cell("print('North 120')", "Look again"))
    assert headings(report(world, key)) == OURS
    assert "North sold 120." in report(world, key)


def test_a_judge_that_is_away_costs_no_layout(new_world: NewWorld) -> None:
    world = new_world(team=TEAM)
    world.model = Meanwhile(ScriptedModel([LOOK, finish(PROSE), finish(PROSE), failure("unavailable")]), {})
    key = world.say("which region wins?")
    world.settle(key)
    assert headings(report(world, key)) == OURS


def test_the_words_for_what_is_missing_are_the_threads(new_world: NewWorld) -> None:
    world = new_world(team=TEAM)
    key = ask(world, LOOK, finish("北方卖了 120 件。"), finish("北方卖了 120 件。"), text="哪个地区最好？")
    assert "## Findings\n\n*未作回答。*" in report(world, key)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was written on the pages of a PDF: the file itself holds glyphs."""
    words: list[str] = []
    for name in ("write", "multi_cell"):
        plain = getattr(FPDF, name)

        def noted(self: FPDF, *args: object, _plain: Any = plain, **options: object) -> object:
            words.append(next((str(each) for each in args if isinstance(each, str)), ""))
            return _plain(self, *args, **options)

        monkeypatch.setattr(FPDF, name, noted)
    return words


def test_every_form_of_the_report_has_the_layout(
    new_world: NewWorld, written: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chromium.shutil, "which", lambda _: None)
    world = new_world(team=TEAM)
    turned = "## Findings\n\n- North leads.\n\n## Summary\n\nNorth sold 120."
    key = ask(world, LOOK, finish(turned), finish(turned))
    for words in ("as slides", "as pdf"):
        world.say(words, thread=key)
        world.settle(key)
    order = ["Summary", "North sold", "Findings", "North leads.", "Method", "Not answered."]

    def in_order(text: str) -> bool:
        places = [text.find(word) for word in order]
        return -1 not in places and places == sorted(places)

    thread = "\n".join(message_text(message) for message in world.messages(key, ours=True)[1:])
    assert in_order(thread)
    context = world.worker().context
    stored = {file.name: context.blobs.get(file.sha256) for file in context.store.report(world.turns(key)[0].id).files}
    assert in_order(stored["report.md"].decode())
    page = stored["report.html"].decode()
    assert in_order(page[page.index("<main") :])
    assert in_order("\n".join(written))
    deck = Presentation(io.BytesIO(uploaded(world, key, "report.pptx")))
    shown = "\n".join(shape.text_frame.text for slide in deck.slides for shape in slide.shapes if shape.has_text_frame)
    assert in_order(shown)


def uploaded(world: World, key: ThreadKey, name: str) -> bytes:
    files = [file for message in world.messages(key, ours=True) for file in message.get("files") or ()]
    return world.slack.content(next(file["id"] for file in files if file["name"] == name))
