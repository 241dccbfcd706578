"""An empty channel offers questions with files. One click posts one of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from playground.app import create_app
from playground.hub import Playground
from playground.options import Options
from playground.samples import Sample, sample_from

QUESTION = "How much = is it?"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "given.csv"
    path.write_text("a,b\n1,2\n")
    return path


@pytest.fixture
def door(tmp_path: Path, file: Path) -> Iterator[TestClient]:
    options = Options(share_delay_s=0.0, retry_delays_s=())
    app = create_app("http://testserver", tmp_path, options=options, samples=[Sample(QUESTION, (file,))])
    with TestClient(app) as client:
        client.hub = app.hub  # type: ignore[attr-defined]
        yield client


def hub_of(door: TestClient) -> Playground:
    hub: Playground = door.hub  # type: ignore[attr-defined]
    return hub


def test_a_sample_is_written_as_files_and_a_question(file: Path) -> None:
    assert sample_from(f"{file},{file}={QUESTION}") == Sample(QUESTION, (file, file))


@pytest.mark.parametrize("text", ["", "only words", "=no file?", "{file}=", "{file}=  ", "/nowhere/a.csv=What?"])
def test_another_way_to_write_it_is_refused(text: str, file: Path) -> None:
    with pytest.raises(ValueError, match="sample"):
        sample_from(text.format(file=file))


def test_a_click_posts_the_question_with_its_files_and_opens_the_thread(door: TestClient) -> None:
    hub = hub_of(door)
    channel = hub.space.channel("general")
    assert QUESTION in door.get(f"/{channel.id}").text
    answer = door.post(f"/samples/{channel.id}/0", follow_redirects=False)
    (posted,) = channel.messages.values()
    assert answer.headers["location"] == f"/{channel.id}/{posted.ts}"
    assert posted.text == f"<@{hub.space.bot.id}> {QUESTION}"
    assert [hub.space.files[each].name for each in posted.files] == ["given.csv"]
    assert "/samples/" not in door.get(f"/{channel.id}").text


def test_a_channel_without_the_bot_offers_none(door: TestClient) -> None:
    channel = hub_of(door).space.channel("random")
    assert "/samples/" not in door.get(f"/{channel.id}").text


def test_a_sample_that_is_not_there_posts_nothing(door: TestClient) -> None:
    channel = hub_of(door).space.channel("general")
    assert door.post(f"/samples/{channel.id}/7", follow_redirects=False).status_code == 303
    assert not channel.messages
