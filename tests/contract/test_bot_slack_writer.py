"""Writing into Slack, against the playground and its faults: nothing twice, nothing left out, no nicety that hurts."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from patience import PATIENCE_S

import core.slack_uploads
from core.errors import LeaseLost, SlackFailed, SlackUnreachable
from core.settings import load_settings
from core.slack import SlackWriter, Upload, web_client
from core.store import Store
from core.values import IncomingMessage, Lease, ThreadKey
from playground import Address, Options, running

TEAM, SALES = "T0PLAYGRND", "C0SALES001"
TABLE = {
    "type": "table",
    "rows": [[{"type": "raw_text", "text": "region"}], [{"type": "raw_text", "text": "north"}]],
}


class Thread:
    """A thread in the playground with a lease on it."""

    def __init__(self, address: Address, folder: Path) -> None:
        settings = load_settings({"SLACK_API_URL": address.api_url, "SLACK_BOT_TOKEN": address.bot_token}, folder)
        self.http = httpx.Client(base_url=f"{address.url}/control", trust_env=False, timeout=PATIENCE_S)
        self.ts = str(self.control("POST", "/messages", json={"channel": "#sales", "user": "ana", "text": "hi"})["ts"])
        self.key = ThreadKey(TEAM, SALES, self.ts)
        self.store = Store(settings.database_url)
        self.store.migrate()
        self.store.record_message(
            IncomingMessage(
                team=TEAM, channel=SALES, channel_type="channel", ts=self.ts, root_ts=self.ts, user="U1", text="hi"
            )
        )
        self.lease = Lease(thread_id=self.key.id, token=self.store.raise_fence(self.key.id), owner="test")
        self.settings = settings
        self.slack = SlackWriter(web_client(settings), self.store)

    def close(self) -> None:
        self.http.close()
        self.store.close()

    def control(self, method: str, path: str, **arguments: Any) -> dict[str, Any]:
        reply = self.http.request(method, path, **arguments)
        body: dict[str, Any] = reply.json()
        assert reply.is_success, body
        return body

    def fault(self, method: str, kind: str, **more: Any) -> None:
        self.control("POST", "/faults", json={"method": method, "kind": kind, **more})

    def replies(self) -> list[dict[str, Any]]:
        found = self.control("GET", "/messages", params={"channel": "#sales", "thread_ts": self.ts})["messages"]
        return [message for message in found if message["ts"] != self.ts]

    def calls(self, method: str) -> int:
        return len(self.control("GET", "/wire", params={"kind": "call", "method": method})["entries"])

    def post(self, key: str = "t1:answer", text: str = "North leads.", blocks: Any = None) -> str:
        return self.slack.post(self.lease, self.key, key, text, blocks)

    def another(self) -> SlackWriter:
        """The writer of another process: nothing remembered."""
        return SlackWriter(web_client(self.settings), self.store)


@pytest.fixture
def address() -> Iterator[Address]:
    with running(options=Options(share_delay_s=0.05)) as started:
        yield started


@pytest.fixture
def thread(address: Address, tmp_path: Path) -> Iterator[Thread]:
    opened = Thread(address, tmp_path)
    yield opened
    opened.close()


# --- posting


def test_a_post_lands_in_the_thread_without_unfurling_and_says_its_key(thread: Thread) -> None:
    ts = thread.post(text="see https://a.example")
    (message,) = thread.replies()
    assert (message["ts"], message["text"]) == (ts, "see https://a.example")
    (call,) = thread.control("GET", "/wire", params={"method": "chat.postMessage"})["entries"]
    assert (call["args"]["unfurl_links"], call["args"]["unfurl_media"]) == (False, False)
    assert call["args"]["metadata"] == {"event_type": "threadbook", "event_payload": {"outbox": "t1:answer"}}


def test_the_same_key_is_posted_once_by_any_process(thread: Thread) -> None:
    first = thread.post()
    again = thread.another().post(thread.lease, thread.key, "t1:answer", "North leads.")
    assert first == again
    assert len(thread.replies()) == 1
    assert thread.calls("chat.postMessage") == 1


def test_a_reply_that_is_lost_on_the_wire_posts_nothing_twice(thread: Thread) -> None:
    thread.fault("chat.postMessage", "drop_reply")
    ts = thread.post()
    assert [message["ts"] for message in thread.replies()] == [ts]
    assert thread.calls("chat.postMessage") == 1
    row = thread.store.outbox_get("t1:answer")
    assert row is not None
    assert (row.status, row.ts) == ("sent", ts)


def test_a_lost_reply_that_nobody_can_look_into_posts_nothing_twice(thread: Thread) -> None:
    thread.fault("chat.postMessage", "drop_reply")
    thread.fault("conversations.replies", "error", error="internal_error", times=99)
    for writer in (thread.slack, thread.another()):
        with pytest.raises(SlackUnreachable):
            writer.post(thread.lease, thread.key, "t1:answer", "North leads.")
    assert thread.calls("chat.postMessage") == 1
    thread.control("DELETE", "/faults")
    ts = thread.another().post(thread.lease, thread.key, "t1:answer", "North leads.")
    assert [message["ts"] for message in thread.replies()] == [ts]
    assert thread.calls("chat.postMessage") == 1


def test_a_call_that_is_lost_on_the_wire_is_made_again(thread: Thread) -> None:
    thread.fault("chat.postMessage", "drop_call")
    ts = thread.post()
    assert [message["ts"] for message in thread.replies()] == [ts]
    assert thread.calls("chat.postMessage") == 2


def test_a_server_error_is_looked_into_and_tried_again(thread: Thread) -> None:
    thread.fault("chat.postMessage", "http_error", status=503)
    thread.fault("chat.postMessage", "error", error="fatal_error")
    thread.post()
    assert len(thread.replies()) == 1
    assert thread.calls("chat.postMessage") == 3


def test_a_process_that_died_after_sending_is_followed_by_one_that_finds_the_message(
    thread: Thread, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(thread.store, "outbox_done", killed)
        with pytest.raises(KeyboardInterrupt):
            thread.post()
    for number in range(3):
        thread.post(f"t1:other{number}", "meanwhile")
    ts = thread.another().post(thread.lease, thread.key, "t1:answer", "North leads.")
    assert [message["text"] for message in thread.replies()].count("North leads.") == 1
    assert ts == thread.replies()[0]["ts"]


def test_a_process_that_died_before_sending_is_followed_by_one_that_sends(thread: Thread) -> None:
    thread.store.outbox_begin(thread.lease, "t1:answer", "chat.postMessage", {"text": "North leads."})
    thread.post()
    assert [message["text"] for message in thread.replies()] == ["North leads."]


def test_a_slack_that_stays_away_is_said_and_nothing_is_marked_as_sent(thread: Thread) -> None:
    thread.fault("chat.postMessage", "drop_call", times=9)
    with pytest.raises(SlackUnreachable):
        thread.post()
    row = thread.store.outbox_get("t1:answer")
    assert row is not None
    assert row.status == "sending"
    thread.control("DELETE", "/faults")
    thread.post()
    assert len(thread.replies()) == 1


def test_a_rate_limit_is_waited_out(thread: Thread) -> None:
    thread.fault("chat.postMessage", "ratelimited", retry_after=1)
    thread.post()
    assert len(thread.replies()) == 1
    assert thread.calls("chat.postMessage") == 2


def test_a_rate_limit_that_outlasts_our_patience_is_no_refusal(thread: Thread) -> None:
    thread.fault("chat.postMessage", "ratelimited", retry_after=0, times=9)
    with pytest.raises(SlackUnreachable, match="ratelimited"):
        thread.post()


def test_a_refusal_is_raised_with_slacks_own_word(thread: Thread) -> None:
    thread.fault("chat.postMessage", "error", error="restricted_action")
    with pytest.raises(SlackFailed, match=r"chat\.postMessage: restricted_action"):
        thread.post()


@pytest.mark.parametrize("error", ["is_archived", "not_in_channel", "token_revoked"])
def test_what_somebody_can_put_right_in_slack_is_no_refusal_for_ever(thread: Thread, error: str) -> None:
    thread.fault("chat.postMessage", "error", error=error)
    with pytest.raises(SlackUnreachable, match=error):
        thread.post()
    thread.post()
    assert [message["text"] for message in thread.replies()] == ["North leads."]


def test_a_lost_lease_posts_nothing(thread: Thread) -> None:
    thread.store.raise_fence(thread.key.id)
    with pytest.raises(LeaseLost):
        thread.post()
    assert thread.replies() == []


def test_blocks_that_slack_refuses_are_posted_as_text_with_all_their_words(thread: Thread) -> None:
    blocks = [
        {"type": "header", "text": {"type": "plain_text", "text": "Answer & more"}},
        {"type": "section", "text": {"type": "mrkdwn", "text": "x" * 3_500}},
        TABLE,
        TABLE,
    ]
    thread.post(blocks=blocks)
    (message,) = thread.replies()
    assert "Answer &amp; more" in message["text"]
    assert "x" * 3_500 in message["text"]
    assert "north" in message["text"]
    assert thread.calls("chat.postMessage") == 2


def test_data_in_a_post_can_mention_nobody(thread: Thread) -> None:
    blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": "<!channel> <@U0ANA00001> hi"}}]
    thread.post(text="<!here> hi", blocks=blocks)
    (call,) = thread.control("GET", "/wire", params={"method": "chat.postMessage"})["entries"]
    sent = str(call["args"])
    assert "<!" not in sent
    assert "<@" not in sent
    assert "&lt;!channel>" in sent


def test_the_text_beside_blocks_is_a_summary(thread: Thread) -> None:
    thread.post(text="y" * 9_000, blocks=[{"type": "section", "text": {"type": "mrkdwn", "text": "all of it"}}])
    (message,) = thread.replies()
    assert len(message["text"]) == 3_000


# --- redrawing


def test_a_redraw_replaces_text_and_blocks_even_when_its_reply_is_lost(thread: Thread) -> None:
    ts = thread.post(blocks=[{"type": "section", "text": {"type": "mrkdwn", "text": "step 1"}}])
    thread.fault("chat.update", "drop_reply")
    blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": "step 2"}}]
    thread.slack.update(thread.lease, thread.key, ts, "working", blocks)
    (message,) = thread.replies()
    assert message["text"] == "working"
    assert message["blocks"][0]["text"]["text"] == "step 2"


def test_a_redraw_with_refused_blocks_becomes_text_that_may_be_edited_again(thread: Thread) -> None:
    ts = thread.post()
    thread.slack.update(
        thread.lease, thread.key, ts, "short", [{"type": "section", "text": {"type": "mrkdwn", "text": "z" * 9_000}}]
    )
    (message,) = thread.replies()
    assert 3_000 < len(message["text"]) <= 3_900
    thread.slack.update(thread.lease, thread.key, ts, "done")
    assert thread.replies()[0]["text"] == "done"


def test_a_card_that_people_deleted_is_let_go(thread: Thread) -> None:
    thread.slack.update(thread.lease, thread.key, "1700000000.000001", "working")
    assert thread.replies() == []


def test_a_redraw_that_slack_refuses_is_raised(thread: Thread) -> None:
    ts = thread.post()
    thread.fault("chat.update", "error", error="restricted_action")
    with pytest.raises(SlackFailed, match="restricted_action"):
        thread.slack.update(thread.lease, thread.key, ts, "working")


# --- files


def shared(thread: Thread) -> list[list[str]]:
    return [[file["name"] for file in message["files"]] for message in thread.replies() if message.get("files")]


def test_files_arrive_in_one_message_with_their_bytes(thread: Thread, tmp_path: Path) -> None:
    (tmp_path / "report.md").write_text("# Report\n")
    files = [Upload("chart.png", b"\x89PNG\r\n\x1a\n", "Sales"), Upload("report.md", tmp_path / "report.md")]
    thread.slack.upload(thread.lease, thread.key, "t1:files", files, "Charts & report <!channel>")
    (message,) = thread.replies()
    assert [file["name"] for file in message["files"]] == ["chart.png", "report.md"]
    assert [file["title"] for file in message["files"]] == ["Sales", "report.md"]
    assert thread.http.get(f"/files/{message['files'][1]['id']}").content == b"# Report\n"
    assert "<!channel>" not in message["text"]


def test_the_same_key_is_uploaded_once_by_any_process(thread: Thread) -> None:
    for slack in (thread.slack, thread.another()):
        slack.upload(thread.lease, thread.key, "t1:files", [Upload("a.csv", b"a\n1\n")])
    assert shared(thread) == [["a.csv"]]
    assert thread.calls("files.completeUploadExternal") == 1


def test_a_lost_reply_after_the_upload_shares_nothing_twice(thread: Thread) -> None:
    thread.fault("files.completeUploadExternal", "drop_reply")
    thread.slack.upload(thread.lease, thread.key, "t1:files", [Upload("a.csv", b"a\n1\n")])
    assert shared(thread) == [["a.csv"]]
    assert thread.calls("files.completeUploadExternal") == 1


def test_files_that_nobody_can_look_for_are_shared_once(thread: Thread, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core.slack_uploads, "SHARE_WAIT_S", 0.5)
    thread.fault("files.info", "error", error="internal_error", times=99)
    for _ in range(2):
        with pytest.raises(SlackUnreachable):
            thread.another().upload(thread.lease, thread.key, "t1:files", [Upload("a.csv", b"a\n1\n")])
    assert thread.calls("files.completeUploadExternal") == 1
    thread.control("DELETE", "/faults")
    thread.another().upload(thread.lease, thread.key, "t1:files", [Upload("a.csv", b"a\n1\n")])
    assert shared(thread) == [["a.csv"]]
    assert thread.calls("files.completeUploadExternal") == 1


def test_files_of_a_message_that_cannot_be_looked_up_now_are_not_taken_for_none(thread: Thread) -> None:
    thread.fault("conversations.replies", "error", error="internal_error", times=99)
    with pytest.raises(SlackUnreachable):
        thread.slack.message_files(thread.key, thread.ts)


def test_a_process_that_died_after_sharing_is_followed_by_one_that_sees_it(
    thread: Thread, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(thread.store, "outbox_done", killed)
        with pytest.raises(KeyboardInterrupt):
            thread.slack.upload(thread.lease, thread.key, "t1:files", [Upload("a.csv", b"a\n1\n")])
    thread.another().upload(thread.lease, thread.key, "t1:files", [Upload("a.csv", b"a\n1\n")])
    assert shared(thread) == [["a.csv"]]


def test_files_that_slack_takes_but_does_not_show_are_uploaded_once_more(
    thread: Thread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(core.slack_uploads, "SHARE_WAIT_S", 0.5)
    thread.control("POST", "/options", json={"share_files": False})
    thread.slack.upload(thread.lease, thread.key, "t1:files", [Upload("a.csv", b"a\n1\n")])
    assert thread.calls("files.completeUploadExternal") == 2
    row = thread.store.outbox_get("t1:files")
    assert row is not None
    assert (row.status, row.response["shared"]) == ("sent", False)


def test_empty_files_are_left_out(thread: Thread) -> None:
    thread.slack.upload(thread.lease, thread.key, "t1:a", [Upload("empty.csv", b"")])
    assert thread.calls("files.getUploadURLExternal") == 0
    thread.slack.upload(thread.lease, thread.key, "t1:b", [Upload("empty.csv", b""), Upload("a.csv", b"a\n")])
    assert shared(thread) == [["a.csv"]]


def test_an_upload_that_slack_refuses_is_raised(thread: Thread) -> None:
    thread.fault("files.getUploadURLExternal", "error", error="file_uploads_disabled")
    with pytest.raises(SlackFailed, match="file_uploads_disabled"):
        thread.slack.upload(thread.lease, thread.key, "t1:files", [Upload("a.csv", b"a\n")])


# --- niceties


def test_reactions_and_status_come_and_go(thread: Thread) -> None:
    for _ in range(2):
        thread.slack.react(thread.key, thread.ts, "eyes")
    thread.slack.set_status(thread.key, "is thinking…")
    found = thread.control("GET", "/messages", params={"channel": "#sales", "thread_ts": thread.ts})
    assert found["messages"][0]["reactions"][0]["name"] == "eyes"
    assert "is thinking…" in str(found["status"])
    for _ in range(2):
        thread.slack.unreact(thread.key, thread.ts, "eyes")
    thread.slack.set_status(thread.key, "")
    found = thread.control("GET", "/messages", params={"channel": "#sales", "thread_ts": thread.ts})
    assert not found["messages"][0].get("reactions")
    assert not found["status"]


@pytest.mark.parametrize("kind", ["drop_call", "http_error", "error"])
def test_a_nicety_never_fails_the_caller(thread: Thread, kind: str) -> None:
    thread.fault("*", kind, times=9)
    thread.slack.react(thread.key, thread.ts, "eyes")
    thread.slack.unreact(thread.key, thread.ts, "eyes")
    thread.slack.set_status(thread.key, "is thinking…")


def test_what_is_not_offered_is_said_once_in_the_log(thread: Thread, capsys: pytest.CaptureFixture[str]) -> None:
    thread.fault("reactions.add", "error", error="missing_scope", times=99)
    for _ in range(3):
        thread.slack.react(thread.key, thread.ts, "eyes")
    assert thread.calls("reactions.add") == 1
    assert capsys.readouterr().out.count("reactions.add") == 1


def test_one_bad_message_does_not_switch_a_nicety_off(thread: Thread) -> None:
    thread.slack.react(thread.key, "1700000000.000001", "eyes")
    thread.slack.react(thread.key, thread.ts, "eyes")
    assert thread.calls("reactions.add") == 2


# --- reading


def test_names_are_asked_for_once(thread: Thread) -> None:
    assert [thread.slack.user_name("U0BEN00001") for _ in range(3)] == ["ben"] * 3
    assert thread.calls("users.info") == 1


def test_an_unknown_person_goes_by_the_id(thread: Thread) -> None:
    assert thread.slack.user_name("U0NOBODY") == "U0NOBODY"
    thread.fault("users.info", "drop_call", times=9)
    assert thread.slack.user_name("U0MAYA0001") == "U0MAYA0001"
    thread.control("DELETE", "/faults")
    assert thread.slack.user_name("U0MAYA0001") == "maya"


def test_the_language_is_the_one_set_in_slack(thread: Thread) -> None:
    people = ("U0CHEN0001", "U0BEN00001", "U0NOBODY")
    assert [thread.slack.user_language(user) for user in people] == ["zh", "en", "en"]


def test_files_of_one_message_are_looked_up(thread: Thread) -> None:
    ts = thread.control(
        "POST",
        "/messages",
        data={"channel": "#sales", "user": "ana", "text": "here", "thread_ts": thread.ts},
        files={"f": ("sales.csv", b"a\n1\n")},
    )["ts"]
    (found,) = thread.slack.message_files(thread.key, ts)
    assert (found.name, found.size) == ("sales.csv", 4)
    assert thread.slack.file(found.id) == found
    assert thread.slack.message_files(thread.key, thread.ts) == ()
    assert thread.slack.file("F0NOTHING") is None


def test_a_thread_is_read_up_to_a_message(thread: Thread) -> None:
    says = [
        thread.control(
            "POST", "/messages", json={"channel": "#sales", "user": "ben", "text": str(n), "thread_ts": thread.ts}
        )
        for n in range(3)
    ]
    earlier = thread.slack.thread_messages(thread.key, before=says[2]["ts"])
    assert [message["text"] for message in earlier] == ["hi", "0", "1"]


def test_the_token_is_in_no_log_line(thread: Thread, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    thread.fault("chat.postMessage", "http_error")
    thread.post()
    assert "xoxb-playground" not in caplog.text
