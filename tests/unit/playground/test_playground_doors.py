"""What the playground's doors refuse: malformed requests, and what other web pages ask a browser to send."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from playground.hub import Playground

SALES, LEADERS, MAYA = "C0SALES001", "C0LEADERS1", "U0MAYA0001"
HALF = rb'{"channel": "C0SALES001", "text": "half of a pair: \ud83d"}'
NESTED = b'{"channel": "C0SALES001", "text": "hi", "blocks": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
JSON = {"Content-Type": "application/json"}
BOT = {"Authorization": "Bearer xoxb-playground"}

People = Callable[..., dict[str, Any]]


@pytest.mark.parametrize("body", [HALF, NESTED])
def test_a_text_that_no_page_can_show_is_refused_and_the_channel_stays_readable(door: TestClient, body: bytes) -> None:
    by_a_person = door.post("/control/messages", content=body, headers=JSON)
    by_the_app = door.post("/api/chat.postMessage", content=body, headers=JSON | BOT)
    assert (by_a_person.status_code, by_a_person.json()["ok"]) == (400, False)
    assert by_the_app.json() == {"ok": False, "error": "invalid_json"}
    assert door.get(f"/{SALES}").status_code == 200


def test_blocks_in_a_form_are_read_as_strictly_as_json(door: TestClient) -> None:
    blocks = r'[{"type": "section", "text": {"type": "plain_text", "text": "\ud83d"}}]'
    answer = door.post("/api/chat.postMessage", data={"channel": SALES, "blocks": blocks}, headers=BOT)
    assert answer.json()["error"] == "invalid_arguments"


@pytest.mark.parametrize(
    ("method", "path", "missing"),
    [
        ("PATCH", "/messages/C0SALES001/{ts}", "text"),
        ("POST", "/reactions", "name"),
        ("POST", "/press", "action_id"),
        ("POST", "/shortcut", "callback_id"),
        ("POST", "/stop", "thread_ts"),
    ],
)
def test_a_control_request_without_a_field_is_told_which(
    door: TestClient, people: People, method: str, path: str, missing: str
) -> None:
    ts = people("messages", channel="#sales", text="hi")["ts"]
    answer = door.request(method, f"/control{path}".format(ts=ts), json={"channel": "#sales", "ts": ts})
    assert (answer.status_code, answer.json()) == (400, {"ok": False, "error": f"missing field: {missing}"})


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_request_that_another_web_page_makes_without_a_word_of_its_origin_is_refused(
    door: TestClient, hub: Playground, site: str
) -> None:
    call = {"token": "xoxb-playground", "channel": SALES, "text": "from elsewhere"}
    as_a_picture = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
    as_a_page = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}
    for headers in (as_a_picture, as_a_page):
        assert door.get("/api/chat.postMessage", params=call, headers=headers).status_code == 403
    assert not hub.space.channels[SALES].messages
    assert door.get(f"/{SALES}", headers=as_a_page).status_code == 200  # somebody follows a link to a thread


def test_a_host_that_is_no_name_is_refused(door: TestClient) -> None:
    assert door.get("/", headers={"Host": "["}).status_code == 403
    assert door.get("/", headers={"Origin": "http://["}).status_code == 403


def test_a_private_channel_is_shown_to_its_members_alone(door: TestClient, people: People) -> None:
    ts = people("messages", channel=LEADERS, text="between us")["ts"]
    assert "between us" in door.get(f"/{LEADERS}").text
    door.cookies.set("viewer", MAYA)
    assert door.get(f"/{LEADERS}").status_code == 404
    assert door.get(f"/fragments/message/{LEADERS}/{ts}").text == ""


def test_a_file_of_a_private_channel_is_opened_by_its_members_alone(door: TestClient, hub: Playground) -> None:
    door.post("/control/messages", data={"channel": LEADERS}, files={"file": ("pay.csv", b"between us")})
    (file,) = hub.space.files
    cached = {200: "private, no-cache", 404: "no-store"}  # the same browser may become somebody else
    for viewer, told in (("U0BEN00001", 200), (MAYA, 404)):
        door.cookies.set("viewer", viewer)
        answer = door.get(f"/f/{file}/pay.csv")
        assert (answer.status_code, "between us" in answer.text) == (told, told == 200)
        assert answer.headers["cache-control"] == cached[told]


def test_a_picture_of_a_block_is_opened_by_those_who_see_the_block(
    door: TestClient, hub: Playground, people: People, api: People
) -> None:
    picture = hub.new_file("chart.png", hub.space.bot.id, "image/png", 1)
    hub.store(picture, b"p")
    picture.state = "ready"
    door.cookies.set("viewer", MAYA)
    people("messages", channel="#sales", text=f"{picture.id} chart.png")
    assert door.get(f"/f/{picture.id}/chart.png").status_code == 404  # to name it is not enough
    blocks = [{"type": "image", "slack_file": {"id": picture.id}, "alt_text": "a chart"}]
    for channel, told in ((LEADERS, 404), (SALES, 200)):
        assert api("chat.postMessage", channel=channel, blocks=blocks, text="a chart")["ok"]
        assert door.get(f"/f/{picture.id}/chart.png").status_code == told


def test_who_may_not_see_a_channel_is_led_elsewhere_when_they_take_over(door: TestClient) -> None:
    into = door.post("/viewer", data={"user": MAYA, "back": LEADERS}, follow_redirects=False)
    assert into.headers["location"] == "/"
    into = door.post("/viewer", data={"user": MAYA, "back": SALES}, follow_redirects=False)
    assert into.headers["location"] == f"/{SALES}"


def test_more_files_than_a_message_may_have_are_refused_in_words(door: TestClient, hub: Playground) -> None:
    files = [("files", (f"{number}.csv", b"a")) for number in range(21)]
    answer = door.post("/control/messages", data={"channel": "#sales"}, files=files)
    assert (answer.status_code, answer.json()["error"]) == (400, "a message takes at most 20 files")
    assert not hub.space.files


def test_a_text_that_is_too_long_is_refused_in_words(door: TestClient) -> None:
    wanted = (400, "a message takes at most 40,000 characters: attach the text as a file")
    fields = {"channel": "#sales", "text": "x" * 40_001}
    for sent in ({"json": fields}, {"data": fields, "files": [("files", ("a.csv", b"a"))]}):
        answer = door.post("/control/messages", **sent)  # type: ignore[arg-type]
        assert (answer.status_code, answer.json()["error"]) == wanted


@pytest.mark.parametrize("after", ["9" * 5_000, "9" * 30, "x", ""])
def test_a_feed_begins_whatever_the_page_says_it_saw(door: TestClient, hub: Playground, after: str) -> None:
    hub.feed.close()
    assert door.get("/feed", params={"after": after}).status_code == 200
