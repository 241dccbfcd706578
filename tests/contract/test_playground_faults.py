"""Ordered faults, as the SDK's client lives through them; and files, as an unfriendly network serves them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import RemoteDisconnected
from typing import Any

import httpx
import pytest
from patience import PATIENCE_S, eventually
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_handlers import RateLimitErrorRetryHandler

from playground import Address, Options, running

SALES = "C0SALES001"


@pytest.fixture(scope="module")
def address() -> Iterator[Address]:
    with running(options=Options(share_delay_s=0.05)) as running_address:
        yield running_address


@pytest.fixture
def server(address: Address) -> Address:
    httpx.post(f"{address.url}/control/reset", trust_env=False, timeout=PATIENCE_S)
    return address


def control(server: Address, path: str, **given: object) -> dict[str, Any]:
    answer: dict[str, Any] = httpx.post(
        f"{server.url}/control/{path}", json=given, trust_env=False, timeout=PATIENCE_S
    ).json()
    assert answer["ok"], answer
    return answer


@pytest.fixture
def options(server: Address) -> Iterator[Callable[..., None]]:
    """Changes options; as they were after the test."""
    before: dict[str, Any] = httpx.get(f"{server.url}/control/options", trust_env=False, timeout=PATIENCE_S).json()[
        "options"
    ]
    changed: set[str] = set()

    def change(**given: object) -> None:
        changed.update(given)
        control(server, "options", **given)

    yield change
    control(server, "options", **{name: before[name] for name in changed})


def client(server: Address, *, retries: bool = True) -> WebClient:
    return WebClient(server.bot_token, base_url=server.api_url, **({} if retries else {"retry_handlers": []}))


def fault(server: Address, **given: object) -> None:
    assert httpx.post(f"{server.url}/control/faults", json=given, trust_env=False, timeout=PATIENCE_S).json() == {
        "ok": True
    }


def texts(server: Address) -> list[str]:
    answer = httpx.get(
        f"{server.url}/control/messages", params={"channel": SALES}, trust_env=False, timeout=PATIENCE_S
    ).json()
    return [each["text"] for each in answer["messages"]]


def test_a_rate_limit_says_how_long_to_wait(server: Address) -> None:
    fault(server, method="chat.postMessage", kind="ratelimited", retry_after=7)
    with pytest.raises(SlackApiError, match="ratelimited") as refused:
        client(server).chat_postMessage(channel=SALES, text="a")
    assert (refused.value.response.status_code, refused.value.response.headers["Retry-After"]) == (429, "7")
    assert texts(server) == []


def test_the_sdks_own_retry_gets_through_a_rate_limit(server: Address) -> None:
    fault(server, method="chat.postMessage", kind="ratelimited", retry_after=0)
    patient = client(server, retries=False)
    patient.retry_handlers.append(RateLimitErrorRetryHandler(max_retry_count=1))
    patient.chat_postMessage(channel=SALES, text="a")
    assert texts(server) == ["a"]


def test_a_dropped_reply_makes_the_default_client_post_twice(server: Address) -> None:
    fault(server, method="chat.postMessage", kind="drop_reply")
    client(server).chat_postMessage(channel=SALES, text="a")
    assert texts(server) == ["a", "a"]


def test_a_client_without_retries_sees_the_dropped_reply_of_a_done_call(server: Address) -> None:
    fault(server, method="chat.postMessage", kind="drop_reply")
    with pytest.raises(RemoteDisconnected):
        client(server, retries=False).chat_postMessage(channel=SALES, text="a")
    assert texts(server) == ["a"]


def test_a_dropped_call_did_nothing(server: Address) -> None:
    fault(server, method="*", kind="drop_call")
    with pytest.raises(RemoteDisconnected):
        client(server, retries=False).chat_postMessage(channel=SALES, text="a")
    assert texts(server) == []


def test_an_error_is_served_as_often_as_it_was_ordered(server: Address) -> None:
    fault(server, method="chat.update", kind="error", error="is_inactive", times=2)
    ts = client(server).chat_postMessage(channel=SALES, text="a")["ts"]
    for _ in range(2):
        with pytest.raises(SlackApiError, match="is_inactive"):
            client(server).chat_update(channel=SALES, ts=ts, text="b")
    client(server).chat_update(channel=SALES, ts=ts, text="b")
    assert texts(server) == ["b"]


def test_a_server_error_is_no_json(server: Address) -> None:
    fault(server, method="auth.test", kind="http_error", status=502)
    with pytest.raises(SlackApiError) as refused:
        client(server, retries=False).auth_test()
    assert refused.value.response.status_code == 502


@pytest.mark.parametrize(
    "nonsense",
    [
        {"method": "auth.test"},
        {"kind": "error"},
        {"method": "a", "kind": "explode"},
        {"method": "a", "kind": "error", "x": 1},
        {"method": "a", "kind": "slow", "seconds": "long"},
        {"method": "a", "kind": "slow", "where": "there"},
    ],
)
def test_a_fault_that_makes_no_sense_is_refused(server: Address, nonsense: dict[str, object]) -> None:
    assert (
        httpx.post(f"{server.url}/control/faults", json=nonsense, trust_env=False, timeout=PATIENCE_S).status_code
        == 400
    )


def test_an_option_that_does_not_exist_is_refused_by_name(server: Address) -> None:
    answer = httpx.post(f"{server.url}/control/options", json={"ack_timeot_s": 1}, trust_env=False, timeout=PATIENCE_S)
    assert answer.status_code == 400
    assert "ack_timeot_s" in answer.json()["error"]


def test_a_share_may_get_lost_after_a_complete_that_said_ok(server: Address) -> None:
    httpx.post(f"{server.url}/control/options", json={"share_files": False}, trust_env=False, timeout=PATIENCE_S)
    try:
        file = client(server).files_upload_v2(channel=SALES, content=b"a", filename="a.txt")["files"][0]["id"]

        def processed() -> Any:
            info = client(server).files_info(file=file)["file"]
            return info.get("mimetype") and info

        info = eventually(processed, "the file's type")
    finally:
        httpx.post(f"{server.url}/control/options", json={"share_files": True}, trust_env=False, timeout=PATIENCE_S)
    assert info["shares"] == {}
    assert texts(server) == []


def test_an_upload_ticket_takes_no_second_body_and_no_foreign_size(server: Address) -> None:
    ticket = client(server).files_getUploadURLExternal(filename="a.txt", length=3)
    assert httpx.post(ticket["upload_url"], content=b"abc", trust_env=False, timeout=PATIENCE_S).text == "OK - 3"
    client(server).files_completeUploadExternal(files=[{"id": ticket["file_id"]}], channel_id=SALES)
    assert httpx.post(ticket["upload_url"], content=b"abc", trust_env=False, timeout=PATIENCE_S).status_code == 404


def test_bytes_that_never_came_cannot_be_completed(server: Address) -> None:
    ticket = client(server).files_getUploadURLExternal(filename="a.txt", length=3)
    with pytest.raises(SlackApiError, match="file_not_found"):
        client(server).files_completeUploadExternal(files=[{"id": ticket["file_id"]}], channel_id=SALES)


def test_a_foreign_web_page_and_a_foreign_name_are_turned_away(server: Address) -> None:
    with httpx.Client(base_url=server.url, trust_env=False, timeout=PATIENCE_S) as browser:
        assert browser.post("/control/reset", headers={"Origin": "https://evil.example"}).status_code == 403
        assert browser.get("/control/users", headers={"Host": "evil.example"}).status_code == 403
        assert browser.post("/control/reset", headers={"Origin": server.url}).status_code == 200


def test_the_wire_log_shows_calls_without_tokens(server: Address) -> None:
    client(server).chat_postMessage(channel=SALES, text="a")
    answer = httpx.get(
        f"{server.url}/control/wire", params={"method": "chat.postMessage"}, trust_env=False, timeout=PATIENCE_S
    )
    (entry,) = answer.json()["entries"]
    assert (entry["args"]["text"], entry["ok"]) == ("a", True)
    assert server.bot_token not in answer.text


def test_a_slow_call_is_done_at_once_and_answered_when_the_faults_are_forgotten(server: Address) -> None:
    fault(server, method="chat.postMessage", kind="slow", seconds=60)
    with ThreadPoolExecutor(1) as elsewhere:
        reply = elsewhere.submit(client(server).chat_postMessage, channel=SALES, text="a")
        eventually(lambda: texts(server) == ["a"], "the post")
        assert not reply.done()
        httpx.delete(f"{server.url}/control/faults", trust_env=False, timeout=PATIENCE_S)
        assert reply.result(timeout=PATIENCE_S)["ok"]


def test_a_fault_may_be_meant_for_calls_with_certain_arguments(server: Address) -> None:
    fault(server, method="chat.postMessage", kind="error", error="is_archived", where={"text": "b"})
    client(server).chat_postMessage(channel=SALES, text="a")
    with pytest.raises(SlackApiError, match="is_archived"):
        client(server).chat_postMessage(channel=SALES, text="b")
    client(server).chat_postMessage(channel=SALES, text="b")


def test_a_revoked_token_is_named_as_such(server: Address, options: Callable[..., None]) -> None:
    options(revoked=True)
    with pytest.raises(SlackApiError, match="token_revoked"):
        client(server).chat_postMessage(channel=SALES, text="a")


def test_an_archived_channel_and_one_without_the_bot_take_no_posts(server: Address) -> None:
    for change, error in (({"archived": True}, "is_archived"), ({"archived": False, "bot": False}, "not_in_channel")):
        control(server, f"channels/{SALES}", **change)
        with pytest.raises(SlackApiError, match=error):
            client(server).chat_postMessage(channel=SALES, text="a")
    control(server, f"channels/{SALES}", bot=True)
    client(server).chat_postMessage(channel=SALES, text="a")


def test_a_deleted_parent_takes_no_replies(server: Address) -> None:
    parent = control(server, "messages", channel=SALES, text="a")["ts"]
    httpx.delete(
        f"{server.url}/control/messages/{SALES}/{parent}", trust_env=False, timeout=PATIENCE_S
    ).raise_for_status()
    with pytest.raises(SlackApiError, match="thread_not_found"):
        client(server).chat_postMessage(channel=SALES, thread_ts=parent, text="b")


def test_one_share_of_many_may_come_late_or_never(server: Address) -> None:
    fault(server, method="share", kind="slow", seconds=60)
    fault(server, method="share", kind="drop_call")
    for name in ("late", "lost", "third"):
        client(server).files_upload_v2(channel=SALES, content=b"a", filename="a.txt", initial_comment=name)
    eventually(lambda: texts(server) == ["third"], "the third")
    httpx.delete(f"{server.url}/control/faults", trust_env=False, timeout=PATIENCE_S)
    eventually(lambda: texts(server) == ["third", "late"], "the late one")


def test_bytes_of_files_may_be_lost_on_their_way(server: Address) -> None:
    def send() -> httpx.Response:
        return httpx.post(ticket["upload_url"], content=b"abc", trust_env=False, timeout=PATIENCE_S)

    ticket = client(server).files_getUploadURLExternal(filename="a.txt", length=3)
    fault(server, method="upload", kind="http_error", status=503)
    assert send().status_code == 503
    for kind in ("drop_call", "drop_reply"):
        fault(server, method="upload", kind=kind)
        with pytest.raises(httpx.RemoteProtocolError):
            send()
    client(server).files_completeUploadExternal(files=[{"id": ticket["file_id"]}], channel_id=SALES)
    place = client(server).files_info(file=ticket["file_id"])["file"]["url_private"]
    fault(server, method="download", kind="error")
    headers = {"Authorization": f"Bearer {server.bot_token}"}
    assert "Sign in" in httpx.get(place, headers=headers, trust_env=False, timeout=PATIENCE_S).text
    assert httpx.get(place, headers=headers, trust_env=False, timeout=PATIENCE_S).text == "abc"
