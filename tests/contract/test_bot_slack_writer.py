"""Writing into Slack, against the playground and the in-memory double: nothing twice, nothing left out, no nicety that
hurts. What both keep to here, the fast tests of whole turns may rely on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest
from fake_control import control_of
from patience import PATIENCE_S, eventually
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

import core.slack.writing.posts
import core.slack.writing.shares
import core.store.outbox
import core.store.part
from core.blobs import Blobs
from core.errors import LeaseLost, SlackFailed, SlackUnreachable
from core.settings import load_settings
from core.slack import blocks as kit
from core.slack.charts import chart
from core.slack.client import web_client
from core.slack.fake import FakeSlack
from core.slack.rates import LONGEST_WAIT_S, Crowded
from core.slack.writing.posts import IN_FLIGHT, Posted
from core.slack.writing.uploads import Upload
from core.slack.writing.writer import SlackWriter
from core.store import Store
from core.values import IncomingMessage, Lease, StoredFile, ThreadKey
from playground import Options, running
from workers.delivery.sharing import Sharing

TEAM, SALES = "T0PLAYGRND", "C0SALES001"
TABLE = {
    "type": "table",
    "rows": [[{"type": "raw_text", "text": "region"}], [{"type": "raw_text", "text": "north"}]],
}

CELL = {"type": "raw_text", "text": "north"}
DATA_TABLE: dict[str, Any] = {
    "type": "data_table",
    "caption": "Sales",
    "rows": [[{"type": "raw_text", "text": "region"}], [CELL]],
}

PLAN: dict[str, Any] = {
    "type": "plan",
    "title": "Working on it",
    "tasks": [{"type": "task_card", "task_id": "c1", "title": "Load", "status": "in_progress"}],
}
STOP: dict[str, Any] = {
    "type": "actions",
    "elements": [
        {"type": "button", "text": {"type": "plain_text", "text": "Stop"}, "action_id": "stop", "value": "T1:C1:1.0/t1"}
    ],
}


CHART = chart("bar", "Units", ["North", "South"], [("2026", [3.0, 4.5])])


class Thread:
    """A thread in a stand-in for Slack, with a lease on it. `http` is the stand-in's control API."""

    def __init__(self, http: httpx.Client, new_client: Callable[[], WebClient], folder: Path) -> None:
        self.http = http
        self.new_client = new_client
        self.ts = str(self.control("POST", "/messages", json={"channel": "#sales", "user": "ana", "text": "hi"})["ts"])
        self.key = ThreadKey(TEAM, SALES, self.ts)
        self.store = Store(f"sqlite:///{folder}/store.db")
        self.store.migrate()
        self.store.record_message(
            IncomingMessage(
                team=TEAM, channel=SALES, channel_type="channel", ts=self.ts, root_ts=self.ts, user="U1", text="hi"
            )
        )
        self.lease = Lease(thread_id=self.key.id, token=self.store.raise_fence(self.key.id), owner="test")
        self.slack = self.another()

    def close(self) -> None:
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
        return SlackWriter(self.new_client(), self.store)


@pytest.fixture(params=["playground", "fake"])
def thread(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Thread]:
    with request.getfixturevalue(f"{request.param}_thread") as opened:
        yield opened


@pytest.fixture
def playground_thread(tmp_path: Path) -> Iterator[Thread]:
    with (
        running(options=Options(share_delay_s=0.05)) as address,
        httpx.Client(base_url=f"{address.url}/control", trust_env=False, timeout=PATIENCE_S) as http,
    ):
        settings = load_settings({"SLACK_API_URL": address.api_url, "SLACK_BOT_TOKEN": address.bot_token}, tmp_path)
        yield closing(Thread(http, lambda: web_client(settings), tmp_path))


@pytest.fixture
def fake_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Thread]:
    monkeypatch.setattr(core.slack.writing.posts, "LOOK_AFTER_S", 0.0)
    monkeypatch.setattr(core.slack.writing.shares, "LOOK_AGAIN_S", 0.05)
    slack = FakeSlack()
    with control_of(slack) as http:
        yield closing(Thread(http, slack.client, tmp_path))


# --- posting


def test_a_post_is_in_the_thread_without_unfurling_and_carries_its_key(thread: Thread) -> None:
    ts = thread.post(text="see https://a.example")
    (message,) = thread.replies()
    assert (message["ts"], message["text"]) == (ts, "see `https://a.example`")
    (call,) = thread.control("GET", "/wire", params={"method": "chat.postMessage"})["entries"]
    assert (call["args"]["unfurl_links"], call["args"]["unfurl_media"]) == (False, False)
    assert call["args"]["metadata"] == {"event_type": "threadbook", "event_payload": {"outbox": "t1:answer"}}


def test_the_same_key_is_posted_once_by_any_process(thread: Thread) -> None:
    first = thread.post()
    again = thread.another().post(thread.lease, thread.key, "t1:answer", "North leads.")
    assert first == again
    assert len(thread.replies()) == 1
    assert thread.calls("chat.postMessage") == 1


def test_a_lost_reply_posts_nothing_twice(thread: Thread) -> None:
    thread.fault("chat.postMessage", "drop_reply")
    ts = thread.post()
    assert [message["ts"] for message in thread.replies()] == [ts]
    assert thread.calls("chat.postMessage") == 1
    row = thread.store.outbox_get("t1:answer")
    assert row is not None
    assert (row.status, row.ts) == ("sent", ts)


def test_a_lost_reply_that_cannot_be_looked_up_posts_nothing_twice(thread: Thread) -> None:
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


def test_a_lost_call_is_repeated(thread: Thread) -> None:
    thread.fault("chat.postMessage", "drop_call")
    ts = thread.post()
    assert [message["ts"] for message in thread.replies()] == [ts]
    assert thread.calls("chat.postMessage") == 2


def test_after_a_server_error_the_message_is_looked_up_and_posted_again(thread: Thread) -> None:
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


# --- looking for a lost post


def crowd(thread: Thread, count: int, text: str = "meanwhile") -> None:
    """People write on."""
    for _ in range(count):
        said = {"channel": "#sales", "user": "ben", "text": text, "thread_ts": thread.ts}
        thread.control("POST", "/messages", json=said)


def die_after_sending(thread: Thread, monkeypatch: pytest.MonkeyPatch, *message: Any) -> None:
    """The process is killed between Slack's reply and the note of it."""

    def killed(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(thread.store, "outbox_done", killed)
        with pytest.raises(KeyboardInterrupt):
            thread.post("t1:answer", *message)


BLOCKS = [
    {"type": "header", "text": {"type": "plain_text", "text": "Answer & more"}},
    {"type": "section", "text": {"type": "mrkdwn", "text": "*North* leads, see https://a.example"}},
]


@pytest.mark.parametrize(
    "message",
    [("North leads.",), ("North & south <https://a.example|lead>: ✓",), ("North leads.", BLOCKS), ("…",)],
)
def test_a_server_that_drops_metadata_gets_nothing_twice(
    thread: Thread, monkeypatch: pytest.MonkeyPatch, message: tuple[Any, ...]
) -> None:
    thread.control("POST", "/options", json={"keeps_metadata": False})
    thread.post("t1:card", *message)  # the same words stood there before
    die_after_sending(thread, monkeypatch, *message)
    crowd(thread, 2, "North leads.")
    ts = thread.another().post(thread.lease, thread.key, "t1:answer", *message)
    assert ts == thread.replies()[1]["ts"]
    assert thread.calls("chat.postMessage") == 2


def test_a_workspace_without_data_tables_gets_plain_ones_and_is_asked_once(thread: Thread) -> None:
    thread.fault("chat.postMessage", "error", error="invalid_blocks")
    thread.post("t1:one", "North leads.", [DATA_TABLE])
    thread.post("t1:two", "South leads.", [DATA_TABLE])
    thread.slack.update(thread.lease, thread.key, thread.replies()[1]["ts"], "South leads.", [DATA_TABLE])
    assert [message["blocks"][0]["type"] for message in thread.replies()] == ["table", "table"]
    assert thread.calls("chat.postMessage") == 3


def test_a_workspace_with_data_tables_gets_them(thread: Thread) -> None:
    thread.post("t1:one", "North leads.", [DATA_TABLE])
    thread.slack.update(thread.lease, thread.key, thread.replies()[0]["ts"], "North leads.", [DATA_TABLE])
    (message,) = thread.replies()
    assert message["blocks"][0]["type"] == "data_table"
    assert thread.calls("chat.postMessage") == 1


def test_an_edit_with_a_data_table_falls_back_too(thread: Thread) -> None:
    ts = thread.post("t1:one", "Wait")
    thread.fault("chat.update", "error", error="invalid_blocks")
    thread.slack.update(thread.lease, thread.key, ts, "North leads.", [DATA_TABLE])
    assert thread.replies()[0]["blocks"][0]["type"] == "table"


def test_a_data_table_that_is_wrong_in_itself_says_nothing_of_the_workspace(thread: Thread) -> None:
    thread.post("t1:one", "North leads.", [{**DATA_TABLE, "rows": [[*DATA_TABLE["rows"][0], CELL], [CELL]]}])
    thread.post("t1:two", "South leads.", [DATA_TABLE])
    assert [message["blocks"][0]["type"] for message in thread.replies()] == ["table", "data_table"]


def test_a_message_whose_tables_are_refused_in_both_forms_arrives_as_text(thread: Thread) -> None:
    thread.fault("chat.postMessage", "error", error="invalid_blocks", times=2)
    thread.post("t1:one", "North leads.", [DATA_TABLE])
    assert "north" in thread.replies()[0]["text"]
    thread.post("t1:two", "South leads.", [DATA_TABLE])
    assert thread.replies()[1]["blocks"][0]["type"] == "data_table"  # nothing was learned of the workspace


def test_a_workspace_without_plans_gets_their_lines_keeps_the_buttons_and_is_asked_once(thread: Thread) -> None:
    thread.fault("chat.postMessage", "error", error="invalid_blocks")
    ts = thread.post("t1:one", "Working on it", [PLAN, STOP])
    for sentence in ("Load", "Load & draw"):
        task = {**PLAN["tasks"][0], "title": sentence}
        thread.slack.update(thread.lease, thread.key, ts, "Working on it", [{**PLAN, "tasks": [task]}, STOP])
    (message,) = thread.replies()
    assert [block["type"] for block in message["blocks"]] == ["rich_text", "rich_text", "actions"]
    assert "◐ Load & draw" in str(message["blocks"][1])
    assert (thread.calls("chat.postMessage"), thread.calls("chat.update")) == (2, 2)


def test_a_card_that_is_redrawn_falls_back_too(thread: Thread) -> None:
    ts = thread.post("t1:one", "Wait")
    thread.fault("chat.update", "error", error="invalid_blocks")
    for _ in range(2):
        thread.slack.update(thread.lease, thread.key, ts, "Working on it", [PLAN, STOP])
    assert [block["type"] for block in thread.replies()[0]["blocks"]] == ["rich_text", "rich_text", "actions"]
    assert thread.calls("chat.update") == 3


def test_a_plan_that_is_wrong_in_itself_says_nothing_of_the_workspace(thread: Thread) -> None:
    thread.post("t1:one", "Working on it", [{**PLAN, "tasks": PLAN["tasks"] * 60}, STOP])
    thread.post("t1:two", "Working on it", [PLAN, STOP])
    assert [message["blocks"][0]["type"] for message in thread.replies()] == ["rich_text", "plan"]


def test_a_workspace_without_charts_gets_the_message_without_them_and_is_asked_once(thread: Thread) -> None:
    thread.fault("chat.postMessage", "error", error="invalid_blocks")
    thread.post("t1:one", "North leads.", [*BLOCKS, CHART, STOP])
    thread.post("t1:two", "South leads.", [*BLOCKS, CHART, STOP])
    thread.slack.update(thread.lease, thread.key, thread.replies()[1]["ts"], "East leads.", [CHART, STOP])
    first, second = ([block["type"] for block in message["blocks"]] for message in thread.replies())
    assert (first, second) == ([*(block["type"] for block in BLOCKS), "actions"], ["actions"])
    assert thread.calls("chat.postMessage") == 3


def test_a_workspace_with_charts_and_without_data_tables_keeps_both_apart(thread: Thread) -> None:
    thread.fault("chat.postMessage", "error", error="invalid_blocks", times=2)
    thread.post("t1:one", "North leads.", [CHART, DATA_TABLE])
    thread.post("t1:two", "South leads.", [CHART, DATA_TABLE])
    kinds = [[block["type"] for block in message["blocks"]] for message in thread.replies()]
    assert kinds == [["table"], [CHART["type"], "table"]], "only the tables were refused"


def test_a_chart_that_is_wrong_in_itself_says_nothing_of_the_workspace(thread: Thread) -> None:
    thread.post("t1:one", "North leads.", [{**CHART, "title": "x" * 90}, STOP])
    thread.post("t1:two", "South leads.", [CHART, STOP])
    assert [message["blocks"][0]["type"] for message in thread.replies()] == ["actions", CHART["type"]]


def test_a_chart_with_two_series_of_one_name_is_refused(thread: Thread) -> None:
    twice = chart("bar", "Units", ["North", "South"], [("2026", [3.0, 4.5]), ("2026", [2.0, 1.5])])
    thread.post("t1:one", "North leads.", [twice, STOP])
    thread.post("t1:two", "South leads.", [CHART, STOP])
    assert [message["blocks"][0]["type"] for message in thread.replies()] == ["actions", CHART["type"]]


def test_a_post_as_text_is_found_by_its_words_too(thread: Thread, monkeypatch: pytest.MonkeyPatch) -> None:
    thread.control("POST", "/options", json={"keeps_metadata": False})
    thread.fault("chat.postMessage", "error", error="invalid_blocks")
    die_after_sending(thread, monkeypatch, "North leads.", BLOCKS)
    thread.another().post(thread.lease, thread.key, "t1:answer", "North leads.", BLOCKS)
    assert len(thread.replies()) == 1


def test_the_same_words_of_another_row_are_not_taken_for_a_lost_post(thread: Thread) -> None:
    thread.control("POST", "/options", json={"keeps_metadata": False})
    thread.store.outbox_begin(thread.lease, "t1:answer", "chat.postMessage", {"text": "Working on it"})
    thread.post("t2:card", "Working on it")
    thread.post("t1:answer", "Working on it")
    assert [message["text"] for message in thread.replies()] == ["Working on it", "Working on it"]


@pytest.mark.parametrize("off_s", [-301, 300, 400, 86_400])
def test_a_lost_post_is_found_whatever_our_clock_says(
    thread: Thread, monkeypatch: pytest.MonkeyPatch, off_s: int
) -> None:
    moved = lambda: datetime.now(UTC) + timedelta(seconds=off_s)  # noqa: E731 - one line of it
    monkeypatch.setattr(core.store.outbox, "now", moved)
    thread.fault("chat.postMessage", "drop_reply")
    ts = thread.post()
    assert [message["ts"] for message in thread.replies()] == [ts]
    assert thread.calls("chat.postMessage") == 1


def test_a_look_up_at_one_page_a_minute_gets_on_with_every_try(thread: Thread, monkeypatch: pytest.MonkeyPatch) -> None:
    thread.control("POST", "/options", json={"most_replies": 15})
    crowd(thread, 40)
    die_after_sending(thread, monkeypatch)
    for page in (1, 2):
        writer = thread.another()
        one_a_minute(writer, monkeypatch)
        with pytest.raises(SlackUnreachable, match="ratelimited"):
            writer.post(thread.lease, thread.key, "t1:answer", "North leads.")
        assert thread.calls("conversations.replies") == page
    writer = thread.another()
    one_a_minute(writer, monkeypatch)
    ts = writer.post(thread.lease, thread.key, "t1:answer", "North leads.")
    assert [message["ts"] for message in thread.replies() if message["text"] == "North leads."] == [ts]
    assert thread.calls("chat.postMessage") == 1


def one_a_minute(writer: SlackWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer's process gets one page of a thread, and a 429 after it."""
    real, asked = writer._repeatable.conversations_replies, count()

    def replies(**arguments: Any) -> Any:
        if next(asked):
            reply: Any = {"ok": False, "error": "ratelimited"}
            raise SlackApiError("ratelimited", reply)
        return real(**arguments)

    monkeypatch.setattr(writer._repeatable, "conversations_replies", replies)


def test_a_post_is_looked_for_behind_the_last_one_that_is_known(
    thread: Thread, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd(thread, 3)
    card = thread.post("t1:card", "Working on it")
    die_after_sending(thread, monkeypatch)
    thread.another().post(thread.lease, thread.key, "t1:answer", "North leads.")
    (call,) = thread.control("GET", "/wire", params={"method": "conversations.replies"})["entries"]
    assert call["args"]["oldest"] == card


# --- a call that was not made


def crowded(writer: SlackWriter, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The rate budget has no slot for the writer's next call of this method."""
    real, refused = getattr(writer._once, name), count()

    def call(**arguments: Any) -> Any:
        if not next(refused):
            raise Crowded("no slot")
        return real(**arguments)

    monkeypatch.setattr(writer._once, name, call)


def test_a_post_without_a_slot_is_no_lost_reply(thread: Thread, monkeypatch: pytest.MonkeyPatch) -> None:
    crowded(thread.slack, monkeypatch, "chat_postMessage")
    with pytest.raises(SlackUnreachable, match="no slot"):
        thread.post()
    row = thread.store.outbox_get("t1:answer")
    assert row is not None
    assert row.status == "unsent"
    thread.another().post(thread.lease, thread.key, "t1:answer", "North leads.")
    assert (thread.calls("chat.postMessage"), thread.calls("conversations.replies")) == (1, 0)


@pytest.mark.parametrize("error", ["restricted_action", "not_in_channel"])
def test_a_refused_post_ends_its_row_and_is_not_looked_for(thread: Thread, error: str) -> None:
    thread.fault("chat.postMessage", "error", error=error)
    with pytest.raises((SlackFailed, SlackUnreachable)):
        thread.post()
    row = thread.store.outbox_get("t1:answer")
    assert row is not None
    assert (row.status, row.response) == ("unsent", {"error": error})
    thread.another().post(thread.lease, thread.key, "t1:answer", "North leads.")
    assert thread.calls("conversations.replies") == 0
    assert len(thread.replies()) == 1


def test_an_upload_without_a_slot_is_no_lost_reply_and_sends_no_bytes_again(
    thread: Thread, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowded(thread.slack, monkeypatch, "files_completeUploadExternal")
    with pytest.raises(SlackUnreachable, match="no slot"):
        thread.slack.upload(thread.lease, thread.key, "t1:files", [Upload("a.csv", b"a\n1\n")])
    assert thread.calls("files.info") == 0
    thread.another().upload(thread.lease, thread.key, "t1:files", [Upload("a.csv", b"a\n1\n")])
    eventually(lambda: shared(thread) == [["a.csv"]], "the share")
    assert thread.calls("files.getUploadURLExternal") == 1


def test_an_unreachable_slack_raises_and_nothing_is_marked_as_sent(thread: Thread) -> None:
    thread.fault("chat.postMessage", "drop_call", times=9)
    with pytest.raises(SlackUnreachable):
        thread.post()
    row = thread.store.outbox_get("t1:answer")
    assert row is not None
    assert row.status == "sending"
    thread.control("DELETE", "/faults")
    thread.post()
    assert len(thread.replies()) == 1


def test_a_rate_limit_is_waited_for(thread: Thread) -> None:
    thread.fault("chat.postMessage", "ratelimited", retry_after=1)
    thread.post()
    assert len(thread.replies()) == 1
    assert thread.calls("chat.postMessage") == 2


def test_a_rate_limit_that_lasts_too_long_is_temporary(thread: Thread) -> None:
    thread.fault("chat.postMessage", "ratelimited", retry_after=0, times=9)
    with pytest.raises(SlackUnreachable, match="ratelimited"):
        thread.post()


def test_a_refusal_is_raised_with_slacks_own_error(thread: Thread) -> None:
    thread.fault("chat.postMessage", "error", error="restricted_action")
    with pytest.raises(SlackFailed, match=r"chat\.postMessage: restricted_action"):
        thread.post()


@pytest.mark.parametrize(
    "error",
    [
        "is_archived",
        "message_limit_exceeded",
        "messages_tab_disabled",
        "no_permission",
        "not_in_channel",
        "restricted_action_read_only_channel",
        "restricted_action_thread_locked",
        "team_added_to_org",
        "token_revoked",
    ],
)
def test_an_error_that_an_admin_can_fix_or_that_passes_is_temporary(thread: Thread, error: str) -> None:
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


def test_refused_blocks_are_posted_as_text_without_loss(thread: Thread) -> None:
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


# --- who is in a channel


def test_a_channel_has_the_people_who_are_in_it_and_the_bot(thread: Thread) -> None:
    client = thread.new_client()
    thread.control("POST", f"/channels/{SALES}", json={"people": ["ana"]})
    members = client.conversations_members(channel=SALES)["members"]
    assert members == ["U0ANA00001", client.auth_test()["user_id"]]
    known = {user["id"] for user in client.users_list()["members"]}
    assert set(members) <= known
    mine = [client.users_conversations(user=user)["channels"] for user in ("U0ANA00001", "U0BEN00001")]
    assert [SALES in [each["id"] for each in channels] for channels in mine] == [True, False]


def test_a_channel_that_is_not_there_has_no_members(thread: Thread) -> None:
    with pytest.raises(SlackApiError, match="channel_not_found"):
        thread.new_client().conversations_members(channel="C0NOTHING1")


def test_who_is_not_in_a_channel_cannot_write_there(thread: Thread) -> None:
    thread.control("POST", f"/channels/{SALES}", json={"people": ["ana"]})
    with pytest.raises((SlackApiError, AssertionError), match="not_in_channel"):
        thread.control("POST", "/messages", json={"channel": "#sales", "user": "ben", "text": "hi"})


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


def test_a_deleted_card_is_left_alone(thread: Thread) -> None:
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
    thread.post()
    message, _ = thread.replies()
    assert [file["name"] for file in message["files"]] == ["chart.png", "report.md"]
    assert [file["title"] for file in message["files"]] == ["Sales", "report.md"]
    assert thread.http.get(f"/files/{message['files'][1]['id']}").content == b"# Report\n"
    assert "<!channel>" not in message["text"]


def test_the_same_key_is_uploaded_once_by_any_process(thread: Thread) -> None:
    for slack in (thread.slack, thread.another()):
        slack.upload(thread.lease, thread.key, "t1:files", [Upload("a.csv", b"a\n1\n")])
    thread.post()
    assert shared(thread) == [["a.csv"]]
    assert thread.calls("files.completeUploadExternal") == 1


def test_a_lost_reply_after_the_upload_shares_nothing_twice(thread: Thread) -> None:
    thread.fault("files.completeUploadExternal", "drop_reply")
    thread.slack.upload(thread.lease, thread.key, "t1:files", [Upload("a.csv", b"a\n1\n")])
    thread.post()
    assert shared(thread) == [["a.csv"]]
    assert thread.calls("files.completeUploadExternal") == 1


def test_a_lost_call_shares_the_same_files_again(thread: Thread) -> None:
    thread.fault("files.completeUploadExternal", "drop_call")
    thread.slack.upload(thread.lease, thread.key, "t1:files", [Upload("a.csv", b"a\n1\n")])
    thread.post()
    assert shared(thread) == [["a.csv"]]
    assert (thread.calls("files.completeUploadExternal"), thread.calls("files.getUploadURLExternal")) == (2, 1)


def test_files_that_cannot_be_looked_up_after_a_lost_reply_are_shared_once(thread: Thread) -> None:
    thread.fault("files.info", "error", error="internal_error", times=99)
    thread.fault("files.completeUploadExternal", "drop_reply")
    for _ in range(2):
        with pytest.raises(SlackUnreachable):
            thread.another().upload(thread.lease, thread.key, "t1:files", [Upload("a.csv", b"a\n1\n")])
    assert thread.calls("files.completeUploadExternal") == 1
    thread.control("DELETE", "/faults")
    thread.another().upload(thread.lease, thread.key, "t1:files", [Upload("a.csv", b"a\n1\n")])
    eventually(lambda: shared(thread) == [["a.csv"]], "the share")
    assert thread.calls("files.completeUploadExternal") == 1


def test_a_look_up_that_fails_now_does_not_mean_no_files(thread: Thread) -> None:
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
    follower = thread.another()
    follower.upload(thread.lease, thread.key, "t1:files", [Upload("a.csv", b"a\n1\n")])
    follower.post(thread.lease, thread.key, "t1:answer", "North leads.")
    assert shared(thread) == [["a.csv"]]


@pytest.mark.parametrize(("fault", "status", "told"), [("drop_reply", "sent", []), ("drop_call", "unsent", ["a.csv"])])
def test_files_that_are_lost_here_are_told_as_lost_only_if_slack_has_them_not(
    thread: Thread, tmp_path: Path, fault: str, status: str, told: list[str]
) -> None:
    thread.fault("files.info", "error", error="internal_error", times=99)
    thread.fault("files.completeUploadExternal", fault)
    with pytest.raises(SlackUnreachable):
        thread.slack.upload(thread.lease, thread.key, "t1:files", [Upload("a.csv", b"a\n1\n")])
    thread.control("DELETE", "/faults")
    said: list[str] = []
    follower = Sharing(
        thread.another(), Blobs(str(tmp_path / "empty")), thread.lease, "en", lambda key, text: said.append(text)
    )
    lost = StoredFile(name="a.csv", mimetype="text/csv", size=4, sha256="0" * 64)
    follower.share("t1:files", [lost])
    row = thread.store.outbox_get("t1:files")
    assert row is not None
    assert row.status == status
    assert ["a.csv" for text in said if "a.csv" in text] == told
    follower.share("t1:files", [lost])
    assert len(shared(thread)) == (status == "sent")


@pytest.mark.parametrize("reply", ["ok", "lost", "died"])
def test_files_that_slack_shows_very_late_are_shared_once(
    thread: Thread, monkeypatch: pytest.MonkeyPatch, reply: str
) -> None:
    monkeypatch.setattr(core.slack.writing.shares, "SHARE_WAIT_S", 0.2)
    monkeypatch.setattr(core.slack.writing.shares, "LOOK_AGAIN_S", 0.2)
    thread.fault("share", "slow", seconds=100)
    if reply == "lost":
        thread.fault("files.completeUploadExternal", "drop_reply")
    if reply == "died":
        with monkeypatch.context() as patch:
            patch.setattr(thread.store, "outbox_done", lambda *arguments: {}["killed"])
            with pytest.raises(KeyError):
                thread.slack.upload(thread.lease, thread.key, "t1:files", [Upload("a.csv", b"a\n1\n")])
    for writer in (thread.slack, thread.another()):
        writer.upload(thread.lease, thread.key, "t1:files", [Upload("a.csv", b"a\n1\n")])
        writer.post(thread.lease, thread.key, "t1:answer", "North leads.")
    thread.control("DELETE", "/faults")
    eventually(lambda: shared(thread), "the share")
    thread.another().upload(thread.lease, thread.key, "t1:files", [Upload("a.csv", b"a\n1\n")])
    assert shared(thread) == [["a.csv"]]
    assert (thread.calls("files.completeUploadExternal"), thread.calls("files.getUploadURLExternal")) == (1, 1)


def test_the_next_message_stands_below_the_files_before_it(thread: Thread) -> None:
    thread.slack.upload(thread.lease, thread.key, "t1:one", [Upload("a.png", b"a"), Upload("b.png", b"b")])
    thread.slack.upload(thread.lease, thread.key, "t1:two", [Upload("c.png", b"c")])
    thread.post()
    found = [[file["name"] for file in message.get("files") or ()] for message in thread.replies()]
    assert found == [["a.png", "b.png"], ["c.png"], []]
    assert thread.calls("files.getUploadURLExternal") == 3
    assert thread.calls("files.completeUploadExternal") == 2


def test_nothing_is_looked_up_behind_the_last_files(thread: Thread) -> None:
    thread.slack.upload(thread.lease, thread.key, "t1:files", [Upload("a.png", b"a"), Upload("b.png", b"b")])
    assert thread.calls("files.info") == 0


def test_files_that_slack_took_and_never_shows_are_found_later(thread: Thread, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core.slack.writing.shares, "SHARE_WAIT_S", 0.2)
    thread.slack.upload(thread.lease, thread.key, "t1:shown", [Upload("b.csv", b"a\n1\n")])
    thread.post()
    thread.control("POST", "/options", json={"share_files": False})
    thread.slack.upload(thread.lease, thread.key, "t1:files", [Upload("a.csv", b"a\n1\n")])
    assert thread.calls("files.completeUploadExternal") == 2
    assert thread.another().unshown(thread.lease, thread.key, but="t2") == []  # it may still come
    monkeypatch.setattr(core.slack.writing.shares, "LATE_AFTER_S", -60.0)
    assert thread.another().unshown(thread.lease, thread.key, but="t1") == []
    (row,) = thread.another().unshown(thread.lease, thread.key, but="t2")
    assert (row.key, row.response["names"]) == ("t1:files", ["a.csv"])
    thread.slack.give_up_files(thread.lease, row)
    assert thread.another().unshown(thread.lease, thread.key, but="t2") == []
    thread.another().upload(thread.lease, thread.key, "t1:files", [Upload("a.csv", b"a\n1\n")])
    assert thread.calls("files.completeUploadExternal") == 2


def test_empty_files_are_left_out(thread: Thread) -> None:
    thread.slack.upload(thread.lease, thread.key, "t1:a", [Upload("empty.csv", b"")])
    assert thread.calls("files.getUploadURLExternal") == 0
    thread.slack.upload(thread.lease, thread.key, "t1:b", [Upload("empty.csv", b""), Upload("a.csv", b"a\n")])
    thread.post()
    assert shared(thread) == [["a.csv"]]


def test_an_upload_that_slack_refuses_is_raised(thread: Thread) -> None:
    thread.fault("files.getUploadURLExternal", "error", error="file_uploads_disabled")
    with pytest.raises(SlackFailed, match="file_uploads_disabled"):
        thread.slack.upload(thread.lease, thread.key, "t1:files", [Upload("a.csv", b"a\n")])


def test_an_upload_that_slack_refused_is_no_longer_under_way(thread: Thread) -> None:
    thread.fault("files.completeUploadExternal", "error", error="posting_to_channel_denied")
    with pytest.raises(SlackFailed):
        thread.slack.upload(thread.lease, thread.key, "t1:files", [Upload("a.csv", b"a\n")])
    row = thread.store.outbox_get("t1:files")
    assert row is not None
    assert row.status == "unsent"


def test_a_server_without_uploads_is_asked_once(thread: Thread) -> None:
    thread.fault("files.getUploadURLExternal", "error", error="unknown_method", times=99)
    for key in ("t1:a", "t1:b"):
        with pytest.raises(SlackFailed, match="unknown_method"):
            thread.slack.upload(thread.lease, thread.key, key, [Upload("a.csv", b"a\n")])
    assert thread.calls("files.getUploadURLExternal") == 1


# --- niceties


def test_reactions_and_status_are_set_and_removed(thread: Thread) -> None:
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


def test_a_whisper_whose_blocks_slack_refuses_is_said_as_text(thread: Thread) -> None:
    too_many = [kit.paragraph(f"line {n}") for n in range(51)]
    thread.slack.whisper(thread.key, "U0ANA00001", "51 lines", too_many)
    calls = thread.control("GET", "/wire", params={"kind": "call", "method": "chat.postEphemeral"})["entries"]
    refused, said = (call["args"] for call in calls)
    assert len(refused["blocks"]) == 51
    assert not said.get("blocks")
    assert "line 50" in said["text"]


@pytest.mark.parametrize("kind", ["drop_call", "http_error", "error"])
def test_a_nicety_never_fails_the_caller(thread: Thread, kind: str) -> None:
    thread.fault("*", kind, times=9)
    thread.slack.react(thread.key, thread.ts, "eyes")
    thread.slack.unreact(thread.key, thread.ts, "eyes")
    thread.slack.set_status(thread.key, "is thinking…")


def test_a_missing_method_is_logged_once(thread: Thread, capsys: pytest.CaptureFixture[str]) -> None:
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


def test_names_are_looked_up_once(thread: Thread) -> None:
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
    assert thread.slack.message_files(thread.key, thread.ts) == ()


def test_a_thread_is_read_up_to_a_message(thread: Thread) -> None:
    says = [
        thread.control(
            "POST", "/messages", json={"channel": "#sales", "user": "ben", "text": str(n), "thread_ts": thread.ts}
        )
        for n in range(3)
    ]
    earlier = thread.slack.thread_messages(thread.key, upto=says[1]["ts"])
    assert [message["text"] for message in earlier] == ["hi", "0", "1"]
    thread.fault("conversations.replies", "error", error="missing_scope")
    assert thread.slack.thread_messages(thread.key, upto=says[1]["ts"]) == []
    thread.fault("conversations.replies", "drop_call", times=9)
    with pytest.raises(SlackUnreachable):
        thread.slack.thread_messages(thread.key, upto=says[1]["ts"])


def test_the_messages_after_one_are_read(thread: Thread) -> None:
    says = [
        thread.control(
            "POST", "/messages", json={"channel": "#sales", "user": "ben", "text": str(n), "thread_ts": thread.ts}
        )
        for n in range(20)
    ]
    later = thread.slack.messages_since(thread.key, says[2]["ts"])
    assert [message["text"] for message in later] == [str(n) for n in range(3, 20)]
    assert thread.slack.messages_since(thread.key, says[-1]["ts"]) == []


def test_our_own_id_is_looked_up(thread: Thread) -> None:
    assert thread.slack.bot_user().startswith("U0")


def test_the_token_is_in_no_log_line(thread: Thread, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    thread.fault("chat.postMessage", "http_error")
    thread.post()
    assert "xoxb-playground" not in caplog.text


@pytest.mark.parametrize(
    ("flags", "standing"),
    [
        ({}, "member"),
        ({"is_admin": True}, "admin"),
        ({"is_owner": True}, "admin"),
        ({"is_restricted": True}, "guest"),
        ({"team_id": "T0OTHER001"}, "stranger"),
        ({"team_id": "T0OTHER001", "enterprise_user": {"enterprise_id": "E0OURS0001"}}, "member"),
    ],
)
def test_what_slack_says_of_a_person_is_read(thread: Thread, flags: dict[str, Any], standing: str) -> None:
    thread.control("POST", "/users/ben", json=flags)
    assert thread.slack.standing("U0BEN00001", {TEAM, "T0FAKE0001", "E0OURS0001"}) == standing


def test_the_groups_of_a_person_are_looked_up_once(thread: Thread) -> None:
    thread.control("POST", "/users/ben", json={"groups": ["S0SALES001"]})
    groups = ("S0SALES001", "S0NOBODY01")
    for _ in range(2):
        assert thread.slack.groups_of("U0BEN00001", groups) == {"S0SALES001"}
        assert thread.slack.groups_of("U0ANA00001", groups) == frozenset()
    assert thread.calls("usergroups.users.list") == 2


def test_a_pressed_post_that_waits_for_its_budget_is_not_posted_by_another_press(
    thread: Thread, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first press has waited for as long as a call may, and has not posted yet."""

    class Later(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) + timedelta(seconds=LONGEST_WAIT_S)

    thread.store.outbox_begin(None, "t1:shared", "chat.postMessage", {"text": "the report"}, thread_id=thread.key.id)
    monkeypatch.setattr(core.slack.writing.posts, "datetime", Later)
    posted = thread.slack.post_once(None, thread.key, "t1:shared", "the report", pressed=True)
    assert posted == Posted("", new=False)
    assert thread.replies() == []


class Tomorrow(datetime):
    """A clock that is set back a day later."""

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return datetime.now(tz) + timedelta(days=1)


def test_a_pressed_post_that_came_to_no_end_is_posted_although_the_clock_was_set_back(
    thread: Thread, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as then:
        then.setattr(core.store.part, "datetime", Tomorrow)
        thread.store.outbox_begin(
            None, "t1:shared", "chat.postMessage", {"text": "the report"}, thread_id=thread.key.id
        )
    assert thread.slack.post_once(None, thread.key, "t1:shared", "the report", pressed=True).new
    assert [reply["text"] for reply in thread.replies()] == ["the report"]


class LongAgo(datetime):
    """A clock by which what is on its way now was given up long ago."""

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return datetime.now(tz) - 2 * IN_FLIGHT


def press_twice(thread: Thread, monkeypatch: pytest.MonkeyPatch) -> tuple[Posted, Posted]:
    """What became of a press, and of somebody else's while the post of the first one is on its way."""
    others: list[Posted] = []
    numbers = count()
    real_post = core.slack.writing.posts.post_message

    def press() -> Posted:
        return thread.slack.post_once(None, thread.key, "t1:shared", "the report", pressed=True)

    def post(*given: Any, **named: Any) -> Any:
        if next(numbers) == 0:
            others.append(press())
        return real_post(*given, **named)

    monkeypatch.setattr(core.slack.writing.posts, "post_message", post)
    first = press()
    (other,) = others
    return first, other


def test_a_pressed_post_that_is_tried_again_is_not_posted_by_another_press(
    thread: Thread, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first try was long ago and was refused. While the second one is on its way, somebody else presses."""
    thread.fault("chat.postMessage", "error", error="not_in_channel")
    with monkeypatch.context() as then:
        then.setattr(core.store.part, "datetime", LongAgo)
        with pytest.raises(SlackUnreachable):
            thread.slack.post_once(None, thread.key, "t1:shared", "the report", pressed=True)
    first, other = press_twice(thread, monkeypatch)
    assert first.new
    assert other == Posted("", new=False)
    assert [reply["text"] for reply in thread.replies()] == ["the report"]


def test_a_pressed_post_that_a_dead_process_began_is_posted_by_one_of_two_presses(
    thread: Thread, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as then:
        then.setattr(core.store.part, "datetime", LongAgo)
        begun = {"text": "the report"}
        thread.store.outbox_begin(None, "t1:shared", "chat.postMessage", begun, thread_id=thread.key.id)
    first, other = press_twice(thread, monkeypatch)
    assert first.new
    assert other == Posted("", new=False)
    assert [reply["text"] for reply in thread.replies()] == ["the report"]
