"""The unmodified Bolt app and SDK client, over real sockets, against the playground."""

from __future__ import annotations

import queue
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from patience import PATIENCE_S, eventually
from slack_bolt import App
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from bot.connection.socket_mode import connected
from playground import Address, Options, running

BOT = "U0THREADBK"
SALES = "C0SALES001"


@pytest.fixture
def server() -> Iterator[Address]:
    with running(
        options=Options(share_delay_s=0.05, retry_delays_s=(0.0, 0.1, 0.1), ack_timeout_s=PATIENCE_S)
    ) as address:
        yield address


@pytest.fixture
def people(server: Address) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"{server.url}/control", trust_env=False, timeout=PATIENCE_S) as client:
        yield client


@pytest.fixture
def client(server: Address) -> WebClient:
    return WebClient(token=server.bot_token, base_url=server.api_url)


@contextmanager
def bolt(server: Address, register: Callable[[App], None]) -> Iterator[App]:
    app = App(client=WebClient(token=server.bot_token, base_url=server.api_url))
    register(app)
    with connected(app, server.app_token):
        yield app


def listen(app: App, heard: queue.Queue[dict[str, Any]]) -> None:
    app.event("message")(lambda event, body: heard.put(body))
    app.event("app_mention")(lambda event, body: heard.put(body))


def test_a_mention_reaches_the_app_as_message_and_as_app_mention(server: Address, people: httpx.Client) -> None:
    heard: queue.Queue[dict[str, Any]] = queue.Queue()
    with bolt(server, lambda app: listen(app, heard)):
        posted = people.post(
            "/messages",
            data={"channel": "#sales", "user": "ana", "text": "@Threadbook what sold?"},
            files={"f": ("sales.csv", b"a,b\n1,2\n")},
        ).json()
        twins = {
            each["event"]["type"]: each["event"]
            for each in (heard.get(timeout=PATIENCE_S), heard.get(timeout=PATIENCE_S))
        }
    assert set(twins) == {"message", "app_mention"}
    assert twins["message"]["text"] == f"<@{BOT}> what sold?"
    assert twins["message"]["subtype"] == "file_share"
    assert twins["message"]["files"][0]["name"] == "sales.csv"
    assert twins["message"]["channel_type"] == "channel"
    assert "channel_type" not in twins["app_mention"]
    assert {each["ts"] for each in twins.values()} == {posted["ts"]}


def test_the_app_answers_in_the_thread_through_say(server: Address, people: httpx.Client) -> None:
    done: queue.Queue[str] = queue.Queue()

    def register(app: App) -> None:
        app.event("message")(lambda: None)

        @app.event("app_mention")
        def answer(event: dict[str, Any], say: Any, client: WebClient) -> None:
            client.reactions_add(channel=event["channel"], timestamp=event["ts"], name="eyes")
            done.put(say("On it.", thread_ts=event["ts"])["ts"])

    with bolt(server, register):
        posted = people.post("/messages", json={"channel": "#sales", "text": "@threadbook hello"}).json()
        answered = done.get(timeout=PATIENCE_S)
    thread = people.get("/messages", params={"channel": SALES, "thread_ts": posted["ts"]}).json()["messages"]
    assert [each["ts"] for each in thread] == [posted["ts"], answered]
    assert thread[0]["reactions"] == [{"name": "eyes", "users": [BOT], "count": 1}]
    assert (thread[1]["text"], thread[1]["bot_id"]) == ("On it.", "B0THREADBK")


def test_a_button_press_reaches_the_app_and_waits_for_its_ack(
    server: Address, people: httpx.Client, client: WebClient
) -> None:
    pressed: queue.Queue[dict[str, Any]] = queue.Queue()

    def register(app: App) -> None:
        app.event("message")(lambda: None)

        @app.action("go")
        def go(ack: Any, body: dict[str, Any]) -> None:
            ack()
            pressed.put(body)

    button = {"type": "button", "action_id": "go", "value": "7", "text": {"type": "plain_text", "text": "Go"}}
    posted = client.chat_postMessage(channel=SALES, text="Go?", blocks=[{"type": "actions", "elements": [button]}])
    with bolt(server, register):
        answer = people.post(
            "/press", json={"channel": SALES, "ts": posted["ts"], "user": "ben", "action_id": "go"}
        ).json()
        body = pressed.get(timeout=PATIENCE_S)
    assert answer == {"ok": True, "response": {}}
    assert body["user"]["id"] == "U0BEN00001"
    assert body["actions"][0]["value"] == "7"
    assert body["container"]["message_ts"] == posted["ts"]


def test_uploaded_files_are_shared_a_little_later_and_download_with_the_token(
    people: httpx.Client, client: WebClient, server: Address
) -> None:
    root = people.post("/messages", json={"channel": "#sales", "text": "chart please"}).json()["ts"]
    done = client.files_upload_v2(
        channel=SALES,
        thread_ts=root,
        initial_comment="Here.",
        file_uploads=[{"content": b"one", "filename": "one.txt"}, {"content": b"a,b", "filename": "two.csv"}],
    )
    assert [each["mimetype"] for each in done["files"]] == ["", ""]

    def shared() -> Any:
        file = client.files_info(file=done["files"][1]["id"])["file"]
        return file.get("shares") and file

    info = eventually(shared, "the share")
    assert info["shares"]["public"][SALES][0]["thread_ts"] == root
    thread = client.conversations_replies(channel=SALES, ts=root)["messages"]
    assert [each["name"] for each in thread[-1]["files"]] == ["one.txt", "two.csv"]
    request = urllib.request.Request(
        info["url_private_download"], headers={"Authorization": f"Bearer {server.bot_token}"}
    )
    with urllib.request.urlopen(request) as answer:
        assert (answer.read(), answer.headers["content-type"].split(";")[0]) == (b"a,b", "text/csv")
    with urllib.request.urlopen(info["url_private_download"]) as answer:
        assert answer.status == 200
        assert answer.headers["content-type"].startswith("text/html")
        assert b"Sign in" in answer.read()


def moved(people: httpx.Client) -> bool:
    held = people.get("/connections").json()
    return bool(held["connections"]) and not held["leaving"]


def test_the_sdk_moves_to_a_new_connection_when_it_is_asked_to(server: Address, people: httpx.Client) -> None:
    heard: queue.Queue[dict[str, Any]] = queue.Queue()
    with bolt(server, lambda app: listen(app, heard)):
        for number in range(2):
            people.post("/disconnect", json={"reason": "refresh_requested"})
            eventually(lambda: moved(people), "the new connection")
            people.post("/messages", json={"channel": "#sales", "text": str(number)})
            assert heard.get(timeout=PATIENCE_S)["event"]["text"] == str(number)


def test_a_listener_that_bolt_does_not_have_makes_slack_try_again(server: Address, people: httpx.Client) -> None:
    people.post("/options", json={"ack_timeout_s": 0.1})
    with bolt(server, lambda app: None):
        people.post("/messages", json={"channel": "#sales", "text": "anybody?"})

        def attempts() -> list[int]:
            entries = people.get("/wire", params={"kind": "envelope"}).json()["entries"]
            return [each["attempt"] for each in entries]

        eventually(lambda: attempts() == [0, 1, 2, 3], "four attempts")


def test_an_unknown_method_and_a_wrong_token_say_so(client: WebClient, server: Address) -> None:
    with pytest.raises(SlackApiError, match="unknown_method"):
        client.api_call("canvases.create")
    with pytest.raises(SlackApiError, match="invalid_auth"):
        WebClient(token="xoxb-wrong", base_url=server.api_url).auth_test()
