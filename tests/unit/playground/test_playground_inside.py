"""The drawer of a thread shows what the local Slack saw, and what the app says of its own inside."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from playground.app import create_app
from playground.hub import Playground
from playground.options import Options
from playground.server import _server
from playground.wire import place_of

SALES = "C0SALES001"
Json = dict[str, Any]
Api = Callable[..., Json]
People = Callable[..., Json]


def sections(door: TestClient, ts: str, channel: str = SALES) -> dict[str, Json]:
    answer = door.get("/control/inside", params={"channel": channel, "thread_ts": ts}).json()
    return {each["name"]: each for each in answer["sections"]}


@pytest.fixture
def given(tmp_path: Path) -> Iterator[tuple[TestClient, list[Json], list[tuple[str, str, str]]]]:
    """A playground with an app that gives these sections, and the places that it was asked about."""
    told: list[Json] = []
    asked: list[tuple[str, str, str]] = []

    def inside(team: str, channel: str, thread_ts: str) -> Sequence[Json]:
        asked.append((team, channel, thread_ts))
        return told

    options = Options(share_delay_s=0.0, retry_delays_s=())
    app = create_app("http://testserver", tmp_path, options=options, inside=inside)
    with TestClient(app) as client:
        yield client, told, asked


def test_a_threads_calls_are_shown_with_their_results_and_no_others(door: TestClient, api: Api, people: People) -> None:
    root, other = (people("messages", channel=SALES, text=text)["ts"] for text in ("one", "two"))
    reply = api("chat.postMessage", channel=SALES, thread_ts=root, text="hello")["ts"]
    api("chat.update", channel=SALES, ts=reply, text="again")
    api("reactions.add", channel=SALES, timestamp=root, name="no_such_name_at_all!")
    api("chat.postMessage", channel=SALES, thread_ts=other, text="elsewhere")
    rows = sections(door, root)["Web API calls"]["rows"]
    assert [row["text"] for row in rows] == ["reactions.add", "chat.update", "chat.postMessage"]
    assert [row["state"] for row in rows[1:]] == ["ok", "ok"]
    assert rows[0]["state"] not in {"ok", "waiting"}


def test_a_token_is_in_no_row(door: TestClient, people: People) -> None:
    root = people("messages", channel=SALES, text="one")["ts"]
    form = {"token": "xoxb-playground", "channel": SALES, "thread_ts": root, "text": "hello"}
    assert door.post("/api/chat.postMessage", data=form).json()["ok"]
    assert sections(door, root)["Web API calls"]["rows"]
    assert "xoxb" not in door.get(f"/fragments/inside/{SALES}/{root}").text


def test_events_of_a_thread_are_shown_with_their_acknowledgement(
    door: TestClient, hub: Playground, people: People
) -> None:
    root = people("messages", channel=SALES, text="one")["ts"]
    event = {"type": "message", "channel": SALES, "ts": "9.1", "thread_ts": root}
    hub.wire.add("envelope", event="message", attempt=1, outcome="acknowledged", **place_of({"event": event}))
    hub.wire.add("envelope", event="message", attempt=0, outcome="waiting", channel=SALES, message="9.2")
    (row,) = (each for each in sections(door, root)["Events to the app"]["rows"] if each["note"])
    assert (row["text"], row["state"], row["note"]) == ("message", "acknowledged", "delivery 2")


@pytest.mark.parametrize(
    ("payload", "place"),
    [
        ({"event": {"channel": "C1", "ts": "2", "thread_ts": "1"}}, ("C1", "1")),
        ({"event": {"channel": "C1", "ts": "2"}}, ("C1", "2")),
        ({"event": {"channel": "C1", "ts": "3", "message": {"ts": "2", "thread_ts": "1"}}}, ("C1", "1")),
        ({"event": {"channel": "C1", "ts": "3", "deleted_ts": "2"}}, ("C1", "2")),
        ({"event": {"item": {"channel": "C1", "ts": "2"}}}, ("C1", "2")),
        ({"channel": {"id": "C1"}, "message": {"ts": "2", "thread_ts": "1"}}, ("C1", "1")),
        ({"event": {"type": "app_home_opened", "channel": "D1"}}, ("D1", "")),
        ({"type": "view_submission"}, ("", "")),
    ],
    ids=["reply", "message", "changed", "deleted", "reaction", "press", "home", "modal"],
)
def test_the_wire_log_knows_which_message_an_event_is_about(payload: Json, place: tuple[str, str]) -> None:
    assert tuple(place_of(payload).values()) == place


def test_the_apps_sections_come_first_and_newest_rows_first(
    given: tuple[TestClient, list[Json], list[tuple[str, str, str]]],
) -> None:
    door, told, asked = given
    told.append({"name": "Cells", "note": "", "rows": [{"at": 1.0, "text": "a"}, {"at": 2.0, "text": "b"}]})
    shown = sections(door, "1.1")
    assert list(shown) == ["Cells", "Events to the app", "Web API calls"]
    assert [row["text"] for row in shown["Cells"]["rows"]] == ["b", "a"]
    assert asked == [(door.app.hub.space.team_id, SALES, "1.1")]  # type: ignore[attr-defined]


def test_what_an_app_gives_is_bounded_and_escaped(
    given: tuple[TestClient, list[Json], list[tuple[str, str, str]]],
) -> None:
    door, told, _ = given
    code = "\n\n".join(["<script>alert(1)</script>", "x" * 5_000, *"abcdefg"])
    told.append({"name": "Cells", "rows": [{"text": "<b>" * 500, "state": "<i>", "note": "<u>", "code": code}] * 60})
    told.extend({"name": f"more {number}", "rows": []} for number in range(40))
    shown = sections(door, "1.1")
    cells = shown["Cells"]
    assert (len(shown), cells["left_out"], len(cells["rows"])) == (12, 10, 50)
    assert (len(cells["rows"][0]["text"]), len(cells["rows"][0]["code"])) == (200, 800)
    html = door.get(f"/fragments/inside/{SALES}/1.1").text
    assert "10 older ones are not shown" in html
    assert not any(tag in html for tag in ("<script", "<b>", "<i>", "<u>"))


def test_nothing_is_read_before_a_drawer_is_opened(
    given: tuple[TestClient, list[Json], list[tuple[str, str, str]]],
) -> None:
    door, _, asked = given
    posted = door.post("/control/messages", json={"channel": SALES, "text": "one"}).json()
    page = door.get(f"/{SALES}/{posted['ts']}").text
    assert 'aria-controls="inside" aria-expanded="false"' in page
    assert asked == []


def test_nobody_sees_behind_anothers_direct_messages(
    given: tuple[TestClient, list[Json], list[tuple[str, str, str]]],
) -> None:
    door, _, asked = given
    space = door.app.hub.space  # type: ignore[attr-defined]
    (other,) = [each for each in space.channels.values() if each.peer == space.find_user("ben").id]
    assert door.get(f"/fragments/inside/{other.id}/1.1").text == ""
    assert asked == []


def test_without_an_app_the_drawer_says_how_to_see_more(door: TestClient) -> None:
    assert "make run" in door.get(f"/fragments/inside/{SALES}/1.1").text


@pytest.mark.parametrize(("host", "is_told"), [("127.0.0.1", True), ("0.0.0.0", False)])
def test_the_apps_inside_is_offered_to_this_machine_alone(host: str, is_told: bool) -> None:
    with _server(host, 0, None, None, inside=lambda *_: []) as (server, _, _):
        assert (server.hub.inside is not None) == is_told
