"""Socket Mode as Slack does it, seen through bare websockets: who gets what, when again, and when no more."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from patience import PATIENCE_S, eventually
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from playground import Address, Options, running

SALES = "C0SALES001"
PATIENT = Options(
    ack_timeout_s=PATIENCE_S,
    retry_delays_s=(0.0, PATIENCE_S, PATIENCE_S),
    share_delay_s=0.05,
    ticket_ttl_s=PATIENCE_S,
    trigger_ttl_s=PATIENCE_S,
)
"""A test that wants no ack in time, or deliveries given up, says so: else a slow moment would look like either."""
QUIET_S = 0.3


@pytest.fixture
def server() -> Iterator[Address]:
    with running(options=PATIENT) as address:
        yield address


@pytest.fixture
def people(server: Address) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"{server.url}/control", trust_env=False, timeout=PATIENCE_S) as client:
        yield client


def api(server: Address, method: str, token: str = "", **arguments: Any) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {token or server.bot_token}"}
    answer = httpx.post(
        f"{server.api_url}{method}", json=arguments, headers=headers, trust_env=False, timeout=PATIENCE_S
    )
    body: dict[str, Any] = answer.json()
    return body


def ticket(server: Address) -> str:
    url: str = api(server, "apps.connections.open", server.app_token)["url"]
    return url


@contextlib.contextmanager
def socket(server: Address) -> Iterator[ClientConnection]:
    with joined(ticket(server)) as connection:
        assert frame(connection)["type"] == "hello"
        yield connection


def joined(url: str) -> ClientConnection:
    return connect(url, proxy=None, open_timeout=PATIENCE_S, ping_interval=None)


def frame(connection: ClientConnection) -> dict[str, Any]:
    received: dict[str, Any] = json.loads(connection.recv(timeout=PATIENCE_S))
    return received


def hears_nothing(connection: ClientConnection) -> None:
    with pytest.raises(TimeoutError):
        connection.recv(timeout=QUIET_S)


def ack(connection: ClientConnection, envelope: dict[str, Any], payload: dict[str, Any] | None = None) -> None:
    connection.send(json.dumps({"envelope_id": envelope["envelope_id"], **({"payload": payload} if payload else {})}))


def hear(connection: ClientConnection) -> dict[str, Any]:
    """The next event, acknowledged."""
    envelope = frame(connection)
    ack(connection, envelope)
    event: dict[str, Any] = envelope["payload"]["event"]
    return event


def say(people: httpx.Client, text: str, **more: Any) -> dict[str, Any]:
    body: dict[str, Any] = people.post(
        "/messages", json={"channel": "#sales", "user": "ana", "text": text, **more}
    ).json()
    return body


def outcomes(people: httpx.Client) -> list[tuple[int, str]]:
    entries = people.get("/wire", params={"kind": "envelope"}).json()["entries"]
    return [(each["attempt"], each["outcome"]) for each in entries]


def test_the_first_frame_is_hello(server: Address) -> None:
    with joined(ticket(server)) as connection:
        hello = frame(connection)
    assert hello["type"] == "hello"
    assert (hello["num_connections"], hello["connection_info"]) == (1, {"app_id": "A0THREADBK"})
    assert hello["debug_info"]["approximate_connection_time"] == 18060


def test_a_ticket_opens_one_connection(server: Address) -> None:
    url = ticket(server)
    with joined(url) as connection:
        frame(connection)
        with pytest.raises(InvalidStatus):
            joined(url)


def test_each_envelope_goes_to_exactly_one_of_several_connections(server: Address, people: httpx.Client) -> None:
    seen: list[str] = []
    with socket(server) as one, socket(server) as two, socket(server) as three:
        for number in range(9):
            say(people, str(number))
        for connection in (one, two, three):
            share = [hear(connection)["text"] for _ in range(3)]
            seen += share
            hears_nothing(connection)
    assert sorted(seen) == [str(number) for number in range(9)]


def test_an_unacknowledged_event_comes_again_with_the_same_id_and_then_no_more(
    server: Address, people: httpx.Client
) -> None:
    people.post("/options", json={"ack_timeout_s": 0.2, "retry_delays_s": [0, 0.05, 0.05]})
    with socket(server) as connection:
        say(people, "hello?")
        envelopes = [frame(connection) for _ in range(4)]
        hears_nothing(connection)
    assert len({each["payload"]["event_id"] for each in envelopes}) == 1
    assert len({each["envelope_id"] for each in envelopes}) == 4
    assert [(each["retry_attempt"], each["retry_reason"]) for each in envelopes] == [
        (0, ""),
        (1, "timeout"),
        (2, "timeout"),
        (3, "timeout"),
    ]
    eventually(
        lambda: outcomes(people) == [(attempt, "timeout") for attempt in range(4)], "the end of the last attempt"
    )


def test_an_acknowledged_event_does_not_come_again(server: Address, people: httpx.Client) -> None:
    with socket(server) as connection:
        say(people, "hello")
        assert hear(connection)["text"] == "hello"
        eventually(lambda: outcomes(people) == [(0, "acknowledged")], "the ack")
        hears_nothing(connection)
    assert outcomes(people) == [(0, "acknowledged")]


def test_an_event_whose_connection_dies_comes_again_on_another(server: Address, people: httpx.Client) -> None:
    with socket(server) as one:
        say(people, "hello")
        first = frame(one)
    with socket(server) as two:
        second = frame(two)
        ack(two, second)
    assert second["payload"]["event_id"] == first["payload"]["event_id"]
    assert second["retry_attempt"] > 0
    assert second["retry_reason"] == "connection_failed"


def test_an_event_sent_while_nobody_listens_waits_for_the_next_connection(
    server: Address, people: httpx.Client
) -> None:
    say(people, "anybody?")
    with socket(server) as connection:
        assert hear(connection)["text"] == "anybody?"


def test_a_click_is_delivered_once_and_its_failure_is_seen(server: Address, people: httpx.Client) -> None:
    button = {"type": "button", "action_id": "go", "text": {"type": "plain_text", "text": "Go"}}
    ts = api(server, "chat.postMessage", channel=SALES, text="Go?", blocks=[{"type": "actions", "elements": [button]}])[
        "ts"
    ]
    with socket(server) as connection:
        hear(connection)
        eventually(lambda: outcomes(people)[-1][1] == "acknowledged", "the ack of the post")
        people.post("/options", json={"ack_timeout_s": 0.2})
        answer = people.post("/press", json={"channel": SALES, "ts": ts, "action_id": "go"})
        assert (answer.status_code, answer.json()["error"]) == (400, "operation_timeout")
        envelope = frame(connection)
        assert (envelope["type"], "retry_attempt" in envelope) == ("interactive", False)
        hears_nothing(connection)


def test_the_eleventh_connection_is_sent_away(server: Address) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(10):
            stack.enter_context(socket(server))
        with joined(ticket(server)) as eleventh:
            assert frame(eleventh)["reason"] == "too_many_websockets"
            with pytest.raises(ConnectionClosed):
                eleventh.recv(timeout=PATIENCE_S)


def test_a_connection_that_was_asked_to_go_gets_nothing_more(server: Address, people: httpx.Client) -> None:
    with socket(server) as old:
        people.post("/disconnect", json={"reason": "refresh_requested"})
        assert (goodbye := frame(old))["type"] == "disconnect"
        assert goodbye["reason"] == "refresh_requested"
        with socket(server) as new:
            say(people, "where are you?")
            assert hear(new)["text"] == "where are you?"


def test_nonsense_from_the_app_is_noted_and_harmless(server: Address, people: httpx.Client) -> None:
    with socket(server) as connection:
        for text in ("nonsense", "[]", '{"envelope_id": "of nothing"}'):
            connection.send(text)
        say(people, "still there?")
        assert hear(connection)["text"] == "still there?"
        eventually(lambda: len(people.get("/wire", params={"kind": "stray_frame"}).json()["entries"]) == 3, "the notes")


def test_the_bots_own_posts_edits_and_deletions_come_back_as_events(server: Address) -> None:
    with socket(server) as connection:
        ts = api(server, "chat.postMessage", channel=SALES, text="one")["ts"]
        posted = hear(connection)
        api(server, "chat.update", channel=SALES, ts=ts, text="two")
        changed = hear(connection)
        api(server, "chat.delete", channel=SALES, ts=ts)
        deleted = hear(connection)
    assert (posted["bot_id"], posted["user"], posted["app_id"]) == ("B0THREADBK", "U0THREADBK", "A0THREADBK")
    assert (changed["subtype"], changed["hidden"], changed["message"]["text"]) == ("message_changed", True, "two")
    assert changed["previous_message"]["text"] == "one"
    assert (deleted["subtype"], deleted["deleted_ts"]) == ("message_deleted", ts)


def test_a_person_may_edit_and_delete_and_the_app_hears(server: Address, people: httpx.Client) -> None:
    with socket(server) as connection:
        ts = say(people, "frist")["ts"]
        hear(connection)
        people.patch(f"/messages/{SALES}/{ts}", json={"text": "first"})
        changed = hear(connection)
        people.delete(f"/messages/{SALES}/{ts}")
        assert hear(connection)["subtype"] == "message_deleted"
    assert changed["message"]["edited"]["user"] == "U0ANA00001"
    assert changed["ts"] != ts


def test_a_deleted_message_with_replies_leaves_a_tombstone_and_its_thread_goes_on(
    server: Address, people: httpx.Client
) -> None:
    with socket(server) as connection:
        ts = say(people, "which region sold best?")["ts"]
        hear(connection)
        api(server, "chat.postMessage", channel=SALES, thread_ts=ts, text="North.")
        hear(connection)
        people.delete(f"/messages/{SALES}/{ts}")
        changed = hear(connection)
    assert (changed["subtype"], changed["hidden"]) == ("message_changed", True)
    stone = changed["message"]
    assert (stone["subtype"], stone["user"], stone["hidden"]) == ("tombstone", "USLACKBOT", True)
    assert changed["previous_message"]["text"] == "which region sold best?"
    api(server, "chat.postMessage", channel=SALES, thread_ts=ts, text="Still here.")
    messages = api(server, "conversations.replies", channel=SALES, ts=ts)["messages"]
    assert [each["text"] for each in messages] == ["This message was deleted.", "North.", "Still here."]


def test_a_channel_without_the_bot_and_an_unsubscribed_event_are_silent(server: Address, people: httpx.Client) -> None:
    with socket(server) as connection:
        say(people, "@threadbook are you here?", channel="#random")
        people.post("/options", json={"subscriptions": ["message.channels"]})
        people.post("/home", json={"user": "ana"})
        say(people, "@threadbook and here?")
        assert hear(connection)["channel"] == SALES
        hears_nothing(connection)


def test_a_direct_message_is_one_event_without_a_twin(server: Address, people: httpx.Client) -> None:
    with socket(server) as connection:
        say(people, "@threadbook hi", channel="D0ANA00001")
        event = hear(connection)
        assert (event["channel_type"], event["type"]) == ("im", "message")
        hears_nothing(connection)


def test_twins_come_in_the_order_and_with_the_files_that_a_test_wants(server: Address, people: httpx.Client) -> None:
    people.post("/options", json={"mention_first": True, "mention_files": False})
    with socket(server) as connection:
        people.post("/messages", data={"channel": "#sales", "text": "@threadbook"}, files={"f": ("a.csv", b"a")})
        mention, message = hear(connection), hear(connection)
    assert (mention["type"], "files" in mention, "subtype" in mention) == ("app_mention", False, False)
    assert (message["type"], message["files"][0]["name"]) == ("message", "a.csv")


def test_an_event_may_be_delivered_twice_with_one_id(server: Address, people: httpx.Client) -> None:
    people.post("/faults", json={"duplicate_events": 1})
    with socket(server) as connection:
        say(people, "once")
        envelopes = [frame(connection), frame(connection)]
        for each in envelopes:
            ack(connection, each)
    assert len({each["payload"]["event_id"] for each in envelopes}) == 1


def test_the_app_home_and_the_stop_button_are_events(server: Address, people: httpx.Client) -> None:
    root = say(people, "go")["ts"]
    with socket(server) as connection:
        hear(connection)
        people.post("/home", json={"user": "chenchen"})
        home = hear(connection)
        people.post("/stop", json={"user": "ben", "channel": SALES, "thread_ts": root})
        stop = hear(connection)
    assert (home["type"], home["user"], home["tab"]) == ("app_home_opened", "U0CHEN0001", "home")
    assert (stop["type"], stop["thread_ts"], stop["user"]) == ("agent_session_stopped", root, "U0BEN00001")


@pytest.mark.parametrize("block_id", ["b", "code"], ids=["a name of its own", "called like its field"])
def test_a_modal_can_be_refused_with_errors_and_then_accepted(
    server: Address, people: httpx.Client, block_id: str
) -> None:
    button = {"type": "button", "action_id": "edit", "text": {"type": "plain_text", "text": "Edit"}}
    ts = api(
        server, "chat.postMessage", channel=SALES, text="Edit?", blocks=[{"type": "actions", "elements": [button]}]
    )["ts"]
    field = {"type": "plain_text_input", "action_id": "code", "multiline": True}
    text = {"type": "plain_text", "text": "Code"}
    blocks = [{"type": "input", "block_id": block_id, "label": text, "element": field}]
    view = {"type": "modal", "callback_id": "edited", "title": text, "submit": text, "blocks": blocks}
    with socket(server) as connection:
        hear(connection)
        with _beside(people, "/press", {"channel": SALES, "ts": ts, "user": "ben", "action_id": "edit"}):
            click = frame(connection)
            opened = api(server, "views.open", trigger_id=click["payload"]["trigger_id"], view=view)["view"]["id"]
            ack(connection, click)
        for answer in ({"response_action": "errors", "errors": {block_id: "not Python"}}, None):
            with _beside(people, f"/views/{opened}/submit", {"values": {"code": "print(1)"}}) as result:
                submission = frame(connection)
                ack(connection, submission, answer)
            assert result["response"] == (answer or {})
    assert submission["accepts_response_payload"] is True
    assert submission["payload"]["view"]["callback_id"] == "edited"
    assert submission["payload"]["view"]["state"]["values"][block_id]["code"] == {
        "type": "plain_text_input",
        "value": "print(1)",
    }
    assert people.get("/views").json()["views"] == []


def test_an_answer_that_pushes_a_fourth_modal_is_refused(server: Address, people: httpx.Client) -> None:
    text = {"type": "plain_text", "text": "Go"}
    button = {"type": "button", "action_id": "go", "text": text}
    ts = api(server, "chat.postMessage", channel=SALES, text="Go?", blocks=[{"type": "actions", "elements": [button]}])
    view = {"type": "modal", "callback_id": "x", "title": text, "submit": text, "blocks": []}
    with socket(server) as connection:
        hear(connection)
        with _beside(people, "/press", {"channel": SALES, "ts": ts["ts"], "user": "ben", "action_id": "go"}):
            click = frame(connection)
            top = api(server, "views.open", trigger_id=click["payload"]["trigger_id"], view=view)["view"]["id"]
            ack(connection, click)
        for number in range(3):
            with _beside(people, f"/views/{top}/submit", {}) as result:
                ack(connection, frame(connection), {"response_action": "push", "view": view})
            views = people.get("/views").json()["views"]
            assert len(views) == min(number + 2, 3)
            assert result.get("error", "") == ("push_limit_reached" if number == 2 else "")
            top = views[-1]["id"]


@contextlib.contextmanager
def _beside(people: httpx.Client, path: str, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Does something as a person while the block plays the app; the result is there after the block."""
    result: dict[str, Any] = {}
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(people.post, path, json=body)
        yield result
        result |= answer.result(PATIENCE_S).json()


@pytest.mark.parametrize("kind", ["drop_call", "drop_reply"])
def test_an_event_whose_connection_broke_comes_again_on_another(
    server: Address, people: httpx.Client, kind: str
) -> None:
    people.post("/faults", json={"method": "envelope", "kind": kind})
    with socket(server) as one, socket(server) as two:
        say(people, "hello")
        heard: list[dict[str, Any]] = []
        for connection in (one, two):
            with contextlib.suppress(ConnectionClosed):  # of the one that broke
                heard.append(frame(connection))
                ack(connection, heard[-1])
    assert [each["retry_attempt"] for each in heard] in ([1], [0, 1], [1, 0])
    assert len({each["payload"]["event_id"] for each in heard}) == 1


def test_a_clock_that_is_moved_on_brings_the_retries_nearer(server: Address, people: httpx.Client) -> None:
    people.post("/options", json={"retry_delays_s": [600, 600], "ack_timeout_s": 0.2})
    with socket(server) as connection:
        say(people, "hello")
        assert frame(connection)["retry_attempt"] == 0
        eventually(lambda: outcomes(people) == [(0, "timeout")], "the end of the first attempt")
        people.post("/clock", json={"advance": 601})
        assert frame(connection)["retry_attempt"] == 1
        people.post("/clock", json={"rate": 6000})
        again = frame(connection)
        assert again["retry_attempt"] == 2
        ack(connection, again)
    assert people.post("/clock", json={"rate": 0}).status_code == 400


def test_files_of_another_workspace_come_as_ids(server: Address, people: httpx.Client) -> None:
    people.post("/options", json={"connect_files": True})
    with socket(server) as connection:
        people.post("/messages", data={"channel": "#sales", "text": "look"}, files=[("file", ("a.csv", b"a,b\n1,2\n"))])
        (file,) = hear(connection)["files"]
    assert (file["file_access"], "url_private" in file, "name" in file) == ("check_file_info", False, False)
    assert api(server, "files.info", file=file["id"])["file"]["name"] == "a.csv"
