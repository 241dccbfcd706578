"""A model that sees is sent the charts of its cells and the images of people, and a turn does not depend on them."""

from __future__ import annotations

import dataclasses
import io
import re
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image
from test_turn_privacy import ON, Listening
from turn_world import NewWorld, World, cell, finish

from core.blobs import Blobs
from core.errors import BlobsUnreachable
from core.steps import Briefed, CellRan, Replied
from core.values import ThreadKey
from workers.agent.pictures import MOST_BYTES, pictures_in
from workers.models.base import ModelRequest
from workers.models.scripted import ScriptedModel

DRAW = cell("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.title('Sales')", "Draw")


def image(kind: str = "PNG") -> bytes:
    data = io.BytesIO()
    Image.new("RGB", (40, 30), "red").save(data, kind)
    return data.getvalue()


def play(world: World, *replies: object, **more: Any) -> Listening:
    world.model = listening = Listening(ScriptedModel(replies, **{"sees": True, **more}))
    return listening


def named(request: ModelRequest) -> list[str]:
    return [picture["name"] for message in request.messages for picture in pictures_in(message)]


def replies(world: World, key: ThreadKey) -> list[Replied]:
    steps = (step for turn in world.turns(key) for step in world.store.steps(turn.id))
    return [step for step in steps if isinstance(step, Replied) and step.purpose == "act"]


def test_a_chart_goes_to_the_model_as_people_see_it(world: World) -> None:
    heard = play(world, DRAW, finish("See the chart."))
    key = world.say("Draw it")
    world.settle(key)
    steps = [step for turn in world.turns(key) for step in world.store.steps(turn.id)]
    (chart,) = [figure for step in steps if isinstance(step, CellRan) for figure in step.figures]
    last = [request for request in heard.requests if request.purpose == "act"][-1]
    assert named(last) == [chart.name]
    assert last.pictures == {chart.sha256: Blobs(world.settings.files).get(chart.sha256)}
    assert [reply.pictures for reply in replies(world, key)] == [0, 1]


def test_the_thread_is_told_which_chart_replaces_the_one_above(world: World) -> None:
    again = cell("import matplotlib.pyplot as plt\nplt.plot([1, 2], lw=3)\nplt.title('Sales')", "Draw again")
    play(world, DRAW, again, finish("See the chart."))
    key = world.say("Draw it")
    world.settle(key)
    told = [message["text"] for message in world.messages(key, ours=True) if message.get("files")]
    assert told[:2] == ["Draw", "Draw again\nDrawn again: Sales. This chart replaces the one above."]


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_an_image_of_a_person_goes_to_the_model(world: World, kind: str) -> None:
    heard = play(world, finish("A red square."))
    key = world.say("What is on it?", files={f"square.{kind.lower()}": image(kind)})
    world.settle(key)
    assert list(heard.requests[0].pictures.values()) == [image(kind)]


def photo(width: int, height: int) -> bytes:
    """Noise, which no format makes small, with a mark that says that it lies on its side."""
    noise = np.random.default_rng(7).integers(0, 256, (height, width, 3), dtype=np.uint8)
    noise[: height // 8] = (255, 0, 0)  # red along the upper edge of the stored picture
    data = io.BytesIO()
    exif = Image.Exif()
    exif[274] = 6  # to be turned clockwise
    Image.fromarray(noise).save(data, "JPEG", quality=98, exif=exif)
    return data.getvalue()


@pytest.fixture
def of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files as large as a real stack takes them: that of tests takes 1 MB."""
    monkeypatch.setattr("workers.turn.downloads.Downloader._refuse_too_large", lambda *_: None)


@pytest.mark.usefixtures("of_any_size")
def test_of_a_large_photo_the_model_is_sent_a_smaller_copy_that_stands_upright(world: World) -> None:
    large = photo(2400, 1600)
    assert len(large) > MOST_BYTES
    heard = play(world, finish("Noise with a red edge."))
    key = world.say("What is on it?", files={"photo.jpeg": large})
    world.settle(key)
    (sent,) = heard.requests[0].pictures.values()
    assert len(sent) <= MOST_BYTES
    with Image.open(io.BytesIO(sent)) as shown:
        assert (shown.format, shown.size) == ("JPEG", (1045, 1568))
        red, green, _ = shown.getpixel((1040, 800))  # the upper edge is on the right now
        assert red > 200
        assert green < 100
    assert "photo.jpeg (a smaller copy)" in heard.heard


@pytest.mark.usefixtures("of_any_size")
def test_of_a_large_photo_without_a_copy_nothing_is_sent_and_the_model_is_told(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = world.sessions_at("here")
    run = sessions.run
    monkeypatch.setattr(sessions, "run", lambda *a, **k: dataclasses.replace(run(*a, **k), artifacts=()))
    heard = play(world, finish("I cannot see it."))
    key = world.say("What is on it?", files={"photo.jpeg": photo(2400, 1600)})
    world.settle(key)
    assert not heard.requests[0].pictures
    assert "not attached, for want of room: photo.jpeg" in heard.heard


@pytest.mark.usefixtures("of_any_size")
def test_a_smaller_copy_never_takes_the_name_of_a_file_that_is_there(world: World) -> None:
    given = {"photo.jpeg": photo(2400, 1600), "photo.jpeg.smaller.jpg": image("JPEG")}
    heard = play(
        world, cell("print(len(open('photo.jpeg.smaller.jpg', 'rb').read()))", "Size"), finish("A red square.")
    )
    key = world.say("What is on them?", files=given)
    world.settle(key)
    assert list(heard.requests[0].pictures.values()) == [image("JPEG")]
    assert f"{len(image('JPEG'))}" in heard.heard
    assert "not attached, for want of room: photo.jpeg" in heard.heard


@pytest.mark.usefixtures("of_any_size")
def test_a_large_photo_that_is_given_again_is_sent_again(world: World) -> None:
    large = photo(2400, 1600)
    play(world, finish("Noise."))
    key = world.say("What is on it?", files={"photo.jpeg": large})
    world.settle(key)
    heard = play(world, finish("Noise with a red edge."))
    world.say("And now?", thread=key, files={"photo.jpeg": large})
    world.settle(key)
    assert heard.requests[0].pictures
    *_, briefed = (
        step for turn in world.turns(key) for step in world.store.steps(turn.id) if isinstance(step, Briefed)
    )
    assert [file.smaller is not None for file in briefed.files] == [True]


def test_a_broken_image_goes_to_nobody(world: World) -> None:
    heard = play(world, finish("I cannot read it."))
    key = world.say("What is on it?", files={"square.png": image()[:60], "a.csv": b"x\n1\n"})
    world.settle(key)
    assert named(heard.requests[0]) == []


def test_where_personal_values_are_masked_no_picture_leaves(new_world: NewWorld) -> None:
    world = new_world(team=ON)
    heard = play(world, DRAW, finish("See the chart."))
    key = world.say("Draw it", files={"square.png": image()})
    world.settle(key)
    assert all(not named(request) and not request.pictures for request in heard.requests)
    assert "cannot see pictures" in heard.heard


def test_a_file_store_that_is_away_costs_the_picture_and_not_the_answer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = play(world, finish("Done."))
    key = world.say("What is on it?", files={"square.png": image()})

    def away(*_: object) -> bytes:
        raise BlobsUnreachable("the file store is away")

    monkeypatch.setattr("core.blobs.Blobs.get", away)
    world.settle(key)
    assert named(heard.requests[0]) == ["square.png"]
    assert not heard.requests[0].pictures
    assert [reply.pictures for reply in replies(world, key)] == [0]


def test_the_digest_of_a_file_is_ours_and_not_what_the_sandbox_says(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Blobs(world.settings.files).put(b"of another thread")
    heard = play(world, finish("Done."))
    sessions = world.sessions_at("here")
    run = sessions.run

    def lying(*arguments: Any, **more: Any) -> Any:
        result = run(*arguments, **more)
        said = re.sub(r'"sha256": ?"[0-9a-f]{64}"', f'"sha256": "{other}"', result.stdout)
        assert other in said
        return dataclasses.replace(result, stdout=said)

    monkeypatch.setattr(sessions, "run", lying)
    key = world.say("What is on it?", files={"square.png": image()})
    world.settle(key)
    assert list(heard.requests[0].pictures.values()) == [image()]


def test_a_figure_that_something_else_left_open_is_no_chart_of_a_cell(world: World) -> None:
    plt.plot([1, 2])
    play(world, cell("print(1)"), finish("Done."))
    key = world.say("Print it")
    world.settle(key)
    assert "figure-1.png" not in world.files(key)
