"""Files that Slack does not take, for their kind or because they are empty: people are told, and get the others."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from turn_world import Death, NewWorld, World, cell, finish

from core.slack.fake import _refused
from core.values import ThreadKey
from workers.models.scripted import ScriptedModel

WRITES = 'open("rest.csv", "w").write("region,units\\nNorth,7\\n")\nprint("North 7")'
DRAWS = """\
import matplotlib.pyplot as plt
for name in ("one", "two"):
    plt.figure()
    plt.title(name)
    plt.plot([1, 2])
"""
REPORT = "It is **7**.\n\n| a | b |\n|---|---|\n| x | 7 |"
SAID = "Slack did not accept these files"


def answered(world: World, death: Death | None = None, code: str = WRITES, refused: str = ".html") -> ThreadKey:
    """A question with files, in a workspace that takes none with this ending."""
    ticket = world.slack._files_getUploadURLExternal

    def get_ticket(filename: str, length: int, **more: Any) -> Any:
        if filename.endswith(refused):
            raise _refused("files.getUploadURLExternal", "file_type_not_allowed")
        return ticket(filename, length, **more)

    world.slack._files_getUploadURLExternal = get_ticket  # type: ignore[method-assign]
    world.model = ScriptedModel([cell(code, "Write"), *[finish(REPORT)] * 3])
    key = world.say("how much?")
    world.settle(key, death)
    return key


def test_a_file_of_a_kind_that_slack_refuses_keeps_no_other_from_the_thread(world: World) -> None:
    key = answered(world)
    assert world.files(key) == ["rest.csv"]
    assert f"{SAID}: report.html (file_type_not_allowed)" in world.text(key)
    assert world.statuses(key) == ["done"]


@pytest.mark.parametrize(
    ("status", "refuses"), [(403, "all"), (413, "rest.csv"), (451, "all"), (200, "all"), (200, "rest.csv")]
)
def test_a_proxy_that_lets_no_such_file_out_keeps_no_answer_from_the_thread(
    world: World, status: int, refuses: str
) -> None:
    serve = world.slack.transport.handler

    def guarded(request: httpx.Request) -> Any:
        name = world.slack._files.get(request.url.path.split("/")[2], {}).get("name")
        if request.method == "POST" and refuses in ("all", name):
            return httpx.Response(status, html="<h1>blocked</h1>")
        return serve(request)

    world.slack.transport.handler = guarded
    key = answered(world, refused=".none")
    assert world.statuses(key) == ["done"]
    assert "It is **7**." in world.text(key)
    assert "rest.csv" not in world.files(key)
    assert ("report.html" in world.files(key)) == (refuses != "all")
    assert ("proxy_page" if status == 200 else f"http_{status}") in world.text(key)
    assert SAID in world.text(key)


def test_charts_beside_one_that_slack_refuses_are_charts_of_the_thread(world: World) -> None:
    key = answered(world, code=DRAWS, refused="two.png")
    assert "one.png" in world.files(key)
    assert "two.png" not in world.files(key)
    report = world.store.report(world.turns(key)[-1].id)
    assert report is not None
    assert "## Charts in this thread" in report.markdown


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # the card's thread dies with it
def test_a_worker_that_dies_among_refused_files_shows_none_twice(new_world: NewWorld) -> None:
    counted = Death()
    whole = new_world()
    shown = whole.seen(answered(whole, counted))
    first = counted.effects.index("files.getUploadURLExternal")
    for at in range(first, len(counted.effects) + 1):
        world = new_world()
        key = answered(world, Death(at))
        assert world.files(key) == ["rest.csv"], at
        assert world.text(key).count(SAID) == 1, at
        assert len(world.seen(key)) == len(shown), at


def test_an_empty_file_is_told_because_slack_takes_none(world: World) -> None:
    writes = 'open("none.csv", "w").close()\n' + WRITES
    world.model = ScriptedModel([cell(writes, "Write"), finish("It is 7.")])
    key = world.say("how much?")
    world.settle(key)
    assert world.files(key) == ["rest.csv"]
    assert "Slack takes no empty files, so these are not shown: none.csv." in world.text(key)
