"""The bot over a real socket against the playground: what it stores, what it wakes, and what people see at once."""

from __future__ import annotations

import gc
import json
import threading
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import fakeredis
import httpx
import pytest
from patience import PATIENCE_S, eventually
from rq import Queue
from sqlalchemy.exc import OperationalError

import bot.background
import bot.service
from bot import running_bot
from bot.connection.retry_buffer import RetryBuffer
from core.commands.approvals import Decision
from core.interactions import AskForm, Menu
from core.queue import SERIALIZER, SHARED_QUEUE
from core.rows import StoredMessage
from core.settings import Settings, load_settings
from core.slack.client import web_client
from core.slack.views.approvals import approval_message
from core.slack.views.menu import CHOICE
from core.slack.views.modals import field_id
from core.slack.writing.writer import SlackWriter
from core.steps import Approval, Asked, Draft, Questioned
from core.store import Store, StoreUnreachable
from core.values import Lease, ThreadKey
from playground import Address, Options, running

TEAM = "T0PLAYGRND"

QUIET_S = 0.3
CSV = {"f": ("sales.csv", b"region,sales\nnorth,1\n")}


class Workspace:
    """The playground through its control routes, and the bot's Store and queue."""

    def __init__(self, address: Address, settings: Settings, redis: fakeredis.FakeRedis) -> None:
        self.settings = settings
        self.redis = redis
        self.store = Store(settings.database_url)
        self.http = httpx.Client(base_url=f"{address.url}/control", trust_env=False, timeout=PATIENCE_S)
        self.team = TEAM

    def close(self) -> None:
        self.http.close()
        self.store.close()

    def control(self, method: str, path: str, **arguments: Any) -> dict[str, Any]:
        reply = self.http.request(method, path, **arguments)
        body: dict[str, Any] = reply.json()
        assert reply.is_success, body
        return body

    def say(self, text: str, *, channel: str = "#sales", user: str = "ana", thread: str = "", files: Any = None) -> str:
        data = {"channel": channel, "user": user, "text": text, "thread_ts": thread}
        body = {"json": data} if files is None else {"data": data, "files": files}
        return str(self.control("POST", "/messages", **body)["ts"])

    def messages(self, thread: str, channel: str = "#sales") -> list[dict[str, Any]]:
        found = self.control("GET", "/messages", params={"channel": channel, "thread_ts": thread})
        messages: list[dict[str, Any]] = found["messages"]
        return messages

    def mail(self) -> list[StoredMessage]:
        return [mail for thread in self.store.threads_needing_a_wake() for mail in self.store.unread(thread)]

    def bells(self) -> list[list[str]]:
        return [job.args for job in Queue(SHARED_QUEUE, connection=self.redis, serializer=SERIALIZER).jobs]

    def calls(self, method: str) -> list[dict[str, Any]]:
        entries: list[dict[str, Any]] = self.control("GET", "/wire", params={"kind": "call", "method": method})[
            "entries"
        ]
        return entries


class Pool(ThreadPoolExecutor):
    """The work that the bot does after its acks, and whether it is done."""

    pending: set[Future[Any]]

    def submit(self, *arguments: Any, **keywords: Any) -> Future[Any]:
        work = super().submit(*arguments, **keywords)
        self.pending.add(work)
        work.add_done_callback(self.pending.discard)
        return work


@pytest.fixture
def redis() -> Iterator[fakeredis.FakeRedis]:
    with fakeredis.FakeRedis(server=fakeredis.FakeServer()) as connection:
        yield connection


@pytest.fixture
def options() -> Options:
    return Options(retry_delays_s=(0.0, 0.1, 0.1), ack_timeout_s=PATIENCE_S)


@pytest.fixture
def address(options: Options) -> Iterator[Address]:
    with running(options=options) as started:
        yield started


@pytest.fixture
def settings(address: Address, tmp_path: Path) -> Settings:
    (tmp_path / "threadbook.toml").write_text("[channels.C0CHURN001]\nstrict_mention = true\n")
    environment = {
        "SLACK_API_URL": address.api_url,
        "SLACK_BOT_TOKEN": address.bot_token,
        "SLACK_APP_TOKEN": address.app_token,
    }
    return load_settings(environment, tmp_path)


@pytest.fixture
def workspace(
    address: Address, settings: Settings, redis: fakeredis.FakeRedis, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Workspace]:
    """A workspace with the bot in it; the bot waits for names as long as a test does."""
    monkeypatch.setattr(bot.service, "connect_redis", lambda url, timeout_s: redis)
    monkeypatch.setattr(bot.service, "ThreadPoolExecutor", Pool)
    monkeypatch.setattr(Pool, "pending", set(), raising=False)
    monkeypatch.setattr(bot.background, "LOOKUP_WAIT_S", PATIENCE_S)
    with running_bot(settings):
        space = Workspace(address, settings, redis)
        yield space
        space.close()


def settled(workspace: Workspace) -> None:
    """Wait until every event was delivered and acknowledged or given up, and the work after the acks is done."""

    def still() -> bool:
        before = workspace.control("GET", "/wire")["entries"]
        if Pool.pending or any(entry.get("outcome") == "waiting" for entry in before):
            return False
        # What a pool did last may have made an event, which the next look would show.
        return bool(workspace.control("GET", "/wire")["entries"] == before and not Pool.pending)

    eventually(still, "rest")


def envelopes(workspace: Workspace) -> list[tuple[str, int, str]]:
    entries = workspace.control("GET", "/wire", params={"kind": "envelope"})["entries"]
    return [(entry["event"], entry["attempt"], entry["outcome"]) for entry in entries]


# --- the first second


def test_a_mention_with_a_file_is_stored_wakes_and_shows_a_sign(workspace: Workspace) -> None:
    ts = workspace.say("@Threadbook which region sold best?", files=CSV)
    thread = f"{TEAM}:C0SALES001:{ts}"
    settled(workspace)
    (mail,) = workspace.mail()
    (message,) = workspace.messages(ts)
    assert (mail.text, mail.author, mail.mention) == ("which region sold best?", "ana", True)
    assert [(file.name, file.size) for file in mail.files] == [("sales.csv", 21)]
    assert workspace.bells() == [[thread]]
    assert [(each["name"], each["users"]) for each in message["reactions"]] == [("eyes", ["U0THREADBK"])]
    status = workspace.control("GET", "/messages", params={"channel": "#sales", "thread_ts": ts})["status"]
    assert "getting ready" in str(status)


@pytest.mark.parametrize("mention_first", [True, False])
@pytest.mark.parametrize("mention_files", [True, False])
def test_twins_are_one_message_in_either_order(workspace: Workspace, mention_first: bool, mention_files: bool) -> None:
    workspace.control("POST", "/options", json={"mention_first": mention_first, "mention_files": mention_files})
    workspace.say("@Threadbook which region sold best?", files=CSV)
    settled(workspace)
    assert sorted(envelopes(workspace)) == [
        ("app_mention", 0, "acknowledged"),
        ("message:file_share", 0, "acknowledged"),
    ]
    (mail,) = workspace.mail()
    assert [file.name for file in mail.files] == ["sales.csv"]
    assert mail.files_known
    assert len(workspace.bells()) == 1
    assert len(workspace.messages(mail.ts)[0]["reactions"]) == 1


def test_an_event_that_is_delivered_twice_does_nothing_more(workspace: Workspace) -> None:
    workspace.control("POST", "/faults", json={"duplicate_events": 2})
    workspace.say("@Threadbook which region sold best?")
    settled(workspace)
    assert len(envelopes(workspace)) == 4
    assert len(workspace.mail()) == 1
    assert len(workspace.bells()) == 1


# --- kept before the ack


def test_the_ack_goes_out_after_the_message_is_kept(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    may_write, asked = threading.Event(), threading.Event()
    record = Store.record_message

    def slow(self: Store, *arguments: Any, **keywords: Any) -> Any:
        asked.set()
        assert may_write.wait(PATIENCE_S)
        return record(self, *arguments, **keywords)

    monkeypatch.setattr(Store, "record_message", slow)
    workspace.say("which region sold best?", channel="D0ANA00001")
    assert asked.wait(PATIENCE_S)
    time.sleep(QUIET_S)
    assert envelopes(workspace) == [("message", 0, "waiting")]
    may_write.set()
    eventually(lambda: envelopes(workspace) == [("message", 0, "acknowledged")])
    assert len(workspace.mail()) == 1


def test_a_message_that_could_not_be_stored_is_not_acked_and_comes_again(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, failures = Store.record_message, [OperationalError("INSERT", {}, Exception("disk full"))]

    def failing_once(self: Store, *arguments: Any, **keywords: Any) -> Any:
        if failures:
            raise failures.pop()
        return record(self, *arguments, **keywords)

    monkeypatch.setattr(Store, "record_message", failing_once)
    workspace.control("POST", "/options", json={"ack_timeout_s": 1.0})
    workspace.say("which region sold best?", channel="D0ANA00001")
    eventually(lambda: "timeout" in [outcome for _, _, outcome in envelopes(workspace)], "a missing ack")
    workspace.control("POST", "/options", json={"ack_timeout_s": PATIENCE_S})
    eventually(lambda: "acknowledged" in [outcome for _, _, outcome in envelopes(workspace)], "a later ack")
    assert envelopes(workspace)[0] == ("message", 0, "timeout")
    assert len(workspace.mail()) == 1


def test_a_message_is_not_lost_with_a_bot_that_dies_while_the_store_is_away(
    workspace: Workspace, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slack sends it again three times in five minutes: here it never does."""
    workspace.control("POST", "/options", json={"ack_timeout_s": 0.5, "retry_delays_s": []})
    is_done, dead = RetryBuffer._is_done, set[RetryBuffer]()

    def unless_dead(self: RetryBuffer, waiting: Any) -> bool:
        if not restarted.is_set():
            dead.add(self)
        return self not in dead and is_done(self, waiting)

    restarted = threading.Event()
    monkeypatch.setattr(RetryBuffer, "_is_done", unless_dead)
    with monkeypatch.context() as away:

        def unreachable(self: Store, *arguments: Any, **keywords: Any) -> Any:
            raise StoreUnreachable("connection refused")

        away.setattr(Store, "record_message", unreachable)
        workspace.say("which region sold best?", channel="D0ANA00001")
        eventually(lambda: [outcome for _, _, outcome in envelopes(workspace)] == ["timeout"], "no ack")
        eventually(lambda: list((settings.home / "spool").glob("*.json")), "a kept event")
        eventually(lambda: dead, "a try of the bot that dies")
    assert workspace.mail() == []
    restarted.set()
    monkeypatch.setattr(bot.service, "connect_redis", lambda url, timeout_s: fakeredis.FakeRedis())
    with running_bot(settings):
        assert [mail.text for mail in eventually(workspace.mail)] == ["which region sold best?"]
        eventually(lambda: not list((settings.home / "spool").iterdir()), "an empty spool")


def test_a_failed_wake_loses_no_message(workspace: Workspace, redis: fakeredis.FakeRedis) -> None:
    redis.connection_pool.connection_kwargs["server"].connected = False
    workspace.say("which region sold best?", channel="D0ANA00001")
    eventually(lambda: envelopes(workspace) == [("message", 0, "acknowledged")])
    assert len(workspace.mail()) == 1


# --- who is meant


def test_a_direct_message_needs_no_mention(workspace: Workspace) -> None:
    workspace.say("which region sold best?", channel="D0ANA00001")
    (mail,) = eventually(workspace.mail)
    assert (mail.channel, mail.channel_type) == ("D0ANA00001", "im")


def test_a_reply_in_our_thread_needs_no_mention_whoever_writes_it(workspace: Workspace) -> None:
    ts = workspace.say("@Threadbook which region sold best?")
    eventually(workspace.mail)
    workspace.say("only 2023 please", thread=ts, user="ben")
    mail = eventually(lambda: len(workspace.mail()) == 2 and workspace.mail())
    assert [(one.author, one.text) for one in mail] == [
        ("ana", "which region sold best?"),
        ("ben", "only 2023 please"),
    ]


def test_replies_to_a_mention_that_the_store_takes_late_are_read(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = True

    def record(store: Store, *arguments: Any, **named: Any) -> Any:
        if full:
            raise StoreUnreachable("the disk is full; it can be read")
        return real(store, *arguments, **named)

    real = Store.record_message
    monkeypatch.setattr(Store, "record_message", record)
    ts = workspace.say("@Threadbook which region sold best?")
    workspace.say("only 2023 please", thread=ts, user="ben")
    eventually(lambda: ("message", 0, "acknowledged") in envelopes(workspace), "the ack for the reply")
    full = False
    eventually(lambda: len(workspace.mail()) == 2, "the reply")
    assert [mail.text for mail in workspace.mail()] == ["which region sold best?", "only 2023 please"]


def test_a_message_that_is_not_for_us_is_acked_and_not_stored(workspace: Workspace) -> None:
    ts = workspace.say("lunch?")
    workspace.say("sure", thread=ts, user="ben")
    settled(workspace)
    assert workspace.mail() == []
    assert {outcome for _, _, outcome in envelopes(workspace)} == {"acknowledged"}
    assert not workspace.store.knows_thread(ThreadKey(TEAM, "C0SALES001", ts))


def test_a_strict_channel_needs_a_mention_in_every_message(workspace: Workspace) -> None:
    ts = workspace.say("@Threadbook why do they go?", channel="#churn")
    eventually(workspace.mail)
    workspace.say("interesting", channel="#churn", thread=ts)
    workspace.say("@Threadbook by contract please", channel="#churn", thread=ts)
    settled(workspace)
    assert [mail.text for mail in workspace.mail()] == ["why do they go?", "by contract please"]


def test_edits_and_deletions_are_followed_and_run_nothing_new(workspace: Workspace) -> None:
    ts = workspace.say("@Threadbook which region sold best?")
    eventually(workspace.mail)
    workspace.control("PATCH", f"/messages/C0SALES001/{ts}", json={"text": "@Threadbook which region sold worst?"})
    other = workspace.say("lunch?")
    workspace.control("PATCH", f"/messages/C0SALES001/{other}", json={"text": "@Threadbook lunch?"})
    workspace.control("DELETE", f"/messages/C0SALES001/{other}")
    settled(workspace)
    assert [mail.text for mail in workspace.mail()] == ["which region sold worst?"]
    workspace.control("DELETE", f"/messages/C0SALES001/{ts}")
    eventually(lambda: not workspace.mail())
    settled(workspace)
    assert {outcome for _, _, outcome in envelopes(workspace)} == {"acknowledged"}


def test_a_question_that_was_deleted_below_its_replies_is_no_question(workspace: Workspace) -> None:
    ts = workspace.say("@Threadbook which region sold best?")
    eventually(workspace.mail)
    workspace.say("good question", user="ben", thread=ts)
    workspace.control("DELETE", f"/messages/C0SALES001/{ts}")
    eventually(lambda: "which region sold best?" not in [mail.text for mail in workspace.mail()])
    settled(workspace)
    assert {outcome for _, _, outcome in envelopes(workspace)} == {"acknowledged"}


def test_a_guest_is_refused_in_the_thread(workspace: Workspace) -> None:
    workspace.control("POST", "/users/ben", json={"is_restricted": True})
    ts = workspace.say("@Threadbook which region sold best?", user="ben")
    eventually(lambda: len(workspace.messages(ts)) > 1)
    settled(workspace)
    assert workspace.mail() == workspace.bells() == []
    assert "guests of this workspace" in workspace.messages(ts)[-1]["text"]


# --- only the name


def test_a_bare_mention_gets_one_short_help_and_wakes_nobody(workspace: Workspace) -> None:
    workspace.control("POST", "/faults", json={"duplicate_events": 2})
    ts = workspace.say("@Threadbook")
    settled(workspace)
    _, *answers = workspace.messages(ts)
    assert len(answers) == 1
    assert "Ask me a question about your data" in answers[0]["text"]
    assert answers[0]["user"] == "U0THREADBK"
    assert workspace.bells() == []
    assert workspace.store.threads_needing_a_wake() == []


def test_help_comes_in_the_persons_language(workspace: Workspace) -> None:
    ts = workspace.say("@Threadbook", user="chenchen")
    eventually(lambda: len(workspace.messages(ts)) == 2)
    assert "请在本消息列里直接提问" in workspace.messages(ts)[1]["text"]


def test_help_in_a_strict_channel_says_so(workspace: Workspace) -> None:
    ts = workspace.say("@Threadbook", channel="#churn")
    eventually(lambda: len(workspace.messages(ts, "#churn")) == 2)
    assert "only when I am mentioned" in workspace.messages(ts, "#churn")[1]["text"]


def test_after_the_help_the_question_needs_no_mention(workspace: Workspace) -> None:
    ts = workspace.say("@Threadbook")
    eventually(lambda: len(workspace.messages(ts)) == 2)
    workspace.say("which region sold best?", thread=ts)
    assert [mail.text for mail in eventually(workspace.mail)] == ["which region sold best?"]


@pytest.mark.parametrize("mention_files", [True, False])
def test_a_bare_mention_with_a_file_is_a_question(workspace: Workspace, mention_files: bool) -> None:
    workspace.control("POST", "/options", json={"mention_first": True, "mention_files": mention_files})
    ts = workspace.say("@Threadbook", files=CSV)
    settled(workspace)
    (mail,) = workspace.mail()
    assert (mail.text, [file.name for file in mail.files]) == ("", ["sales.csv"])
    assert len(workspace.bells()) == 1
    assert len(workspace.messages(ts)) == 1, "no help where there is a question"


def test_a_bare_mention_whose_twin_never_comes_is_looked_up(workspace: Workspace) -> None:
    workspace.control("POST", "/options", json={"mention_files": False, "subscriptions": ["app_mention"]})
    workspace.say("@Threadbook", files=CSV)
    (mail,) = eventually(workspace.mail)
    assert [file.name for file in mail.files] == ["sales.csv"]
    eventually(workspace.bells)


# --- called into a talk


def test_a_mention_inside_a_talk_wants_the_talk_read_and_wakes(workspace: Workspace) -> None:
    ts = workspace.say("numbers for the review", user="ben", files=CSV)
    workspace.say("@Threadbook which region sold best?", thread=ts)
    settled(workspace)
    (mail,) = workspace.mail()
    assert (mail.text, mail.talk_wanted) == ("which region sold best?", True)
    assert workspace.bells() == [[mail.thread.id]]
    assert workspace.calls("conversations.replies") == [], "the worker reads it, before its first step"


@pytest.mark.parametrize("mention_first", [True, False])
def test_a_bare_mention_inside_a_talk_wants_the_talk_read_once(workspace: Workspace, mention_first: bool) -> None:
    workspace.control("POST", "/options", json={"mention_first": mention_first})
    ts = workspace.say("which region sold best?", user="ben", files=CSV)
    workspace.say("@Threadbook", thread=ts)
    settled(workspace)
    (mail,) = workspace.mail()
    assert (mail.text, mail.talk_wanted) == ("", True)
    assert workspace.bells() == [[mail.thread.id]]
    assert len(workspace.messages(ts)) == 2, "no help where there may be a question"


# --- whose thread it is


@pytest.mark.parametrize("words", ["stop", "undo", "help", "leave", ""])
def test_a_word_to_the_bot_in_peoples_talk_does_not_make_the_talk_the_bots(workspace: Workspace, words: str) -> None:
    ts = workspace.say("lunch?", user="ben")
    workspace.say(f"@Threadbook {words}", thread=ts)
    settled(workspace)
    before = workspace.mail()
    workspace.say("at the usual place?", thread=ts, user="maya")
    settled(workspace)
    assert workspace.mail() == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("leave", "I have left this thread"),
        ("@Threadbook leave", "I have left this thread"),
        ("离开", "我已退出本消息列"),
        ("Be quiet!", "I have left this thread"),
    ],
)
def test_a_thread_that_was_left_is_read_again_only_after_a_mention(workspace: Workspace, words: str, said: str) -> None:
    ts = workspace.say("@Threadbook which region sold best?")
    eventually(workspace.bells)
    read(workspace, ts)
    workspace.say(words, thread=ts, user="ben")
    settled(workspace)
    workspace.say("so, between us: what do you think?", thread=ts, user="maya")
    settled(workspace)
    assert workspace.mail() == []
    assert [message["text"] for message in workspace.messages(ts) if said in message["text"]]
    workspace.say("@Threadbook and which sold worst?", thread=ts)
    settled(workspace)
    workspace.say("in 2023, I mean", thread=ts, user="maya")
    settled(workspace)
    assert [mail.text for mail in workspace.mail()] == ["and which sold worst?", "in 2023, I mean"]


def test_a_direct_message_can_be_left_too(workspace: Workspace) -> None:
    ts = workspace.say("which region sold best?", channel="D0ANA00001")
    eventually(workspace.bells)
    read(workspace, ts, "D0ANA00001")
    workspace.say("be silent", channel="D0ANA00001", thread=ts)
    settled(workspace)
    workspace.say("hm", channel="D0ANA00001", thread=ts)
    settled(workspace)
    assert workspace.mail() == []
    workspace.say("which region sold worst?", channel="D0ANA00001")
    assert [mail.text for mail in eventually(workspace.mail)] == ["which region sold worst?"]


def test_leaving_stops_the_turn_that_is_open(workspace: Workspace) -> None:
    ts = workspace.say("@Threadbook which region sold best?")
    eventually(workspace.bells)
    store, lease = workspace.store, read(workspace, ts)
    turn = store.open_turn(lease, "en", "model")
    workspace.say("leave", thread=ts)
    settled(workspace)
    assert store.stop_asked(lease.thread_id)
    assert store.has_left(ThreadKey.parse(lease.thread_id))
    store.set_turn_status(lease, turn.id, "stopped")


def test_a_word_that_answers_our_question_is_no_leave(workspace: Workspace) -> None:
    root, _, lease = question(workspace, ("Stay", "Leave"))
    workspace.say("leave", thread=root)
    (mail,) = eventually(workspace.mail)
    assert (mail.kind, mail.text) == ("text", "leave")
    assert not workspace.store.has_left(ThreadKey.parse(lease.thread_id))


def test_the_help_has_a_button_that_makes_the_bot_leave(workspace: Workspace) -> None:
    ts = workspace.say("@Threadbook")
    eventually(lambda: len(workspace.messages(ts)) == 2)
    for _ in range(2):
        press(workspace, workspace.messages(ts)[1]["ts"], "leave")
    settled(workspace)
    workspace.say("which region sold best?", thread=ts)
    settled(workspace)
    assert workspace.mail() == []
    assert len([message for message in workspace.messages(ts) if "I have left" in message["text"]]) == 1


def read(workspace: Workspace, ts: str, channel: str = "C0SALES001") -> Lease:
    """A worker has read the thread's mail in a turn, which is over."""
    store, thread = workspace.store, f"{TEAM}:{channel}:{ts}"
    lease = Lease(thread_id=thread, token=store.raise_fence(thread), owner="test")
    turn = store.open_turn(lease, "en", "model")
    store.take_mail(lease, turn.id, [mail.id for mail in store.unread(thread)], [])
    store.set_turn_status(lease, turn.id, "done")
    return lease


def test_slow_names_do_not_delay_the_ack(
    workspace: Workspace, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = threading.Event()
    monkeypatch.setattr(bot.background, "LOOKUP_WAIT_S", 0.1)
    monkeypatch.setattr(SlackWriter, "user_name", lambda self, user: str(slow.wait()))
    workspace.say("@Threadbook ask @ben, @maya, @chenchen and @ana")
    try:
        eventually(lambda: [outcome for _, _, outcome in envelopes(workspace)] == ["acknowledged"] * 2)
    finally:
        slow.set()
    (mail,) = workspace.mail()
    assert (mail.text, mail.author) == ("ask @U0BEN00001, @U0MAYA0001, @U0CHEN0001 and @U0ANA00001", "")


# --- a server that offers less


@pytest.mark.parametrize(
    ("method", "error"),
    [
        ("reactions.add", "missing_scope"),
        ("assistant.threads.setStatus", "unknown_method"),
        ("users.info", "missing_scope"),
        ("conversations.replies", "missing_scope"),
    ],
)
def test_a_missing_method_loses_only_the_nicety(workspace: Workspace, method: str, error: str) -> None:
    workspace.control("POST", "/faults", json={"method": method, "kind": "error", "error": error, "times": 99})
    first = workspace.say("hello team")
    workspace.say("@Threadbook which region sold best?", thread=first)
    settled(workspace)
    workspace.say("@Threadbook and worst?")
    settled(workspace)
    assert {"which region sold best?", "and worst?"} <= {mail.text for mail in workspace.mail()}
    assert len(workspace.bells()) == 2
    assert {outcome for _, _, outcome in envelopes(workspace)} == {"acknowledged"}
    if method in ("reactions.add", "assistant.threads.setStatus"):
        assert len(workspace.calls(method)) == 1, "what is not offered is not asked for again"


def test_other_events_are_acked(workspace: Workspace) -> None:
    workspace.control("POST", "/home", json={"user": "ana"})
    workspace.control("POST", "/home", json={"user": "ana", "tab": "messages"})
    settled(workspace)
    seen = envelopes(workspace)
    assert seen
    assert {(attempt, outcome) for _, attempt, outcome in seen} == {(0, "acknowledged")}


# --- presses


def question(workspace: Workspace, options: tuple[str, str] = ("net", "gross")) -> tuple[str, str, Lease]:
    """A thread that waits on a question with two buttons: (root ts, question's ts, lease)."""
    ts = workspace.say("@Threadbook revenue by region")
    eventually(workspace.bells)
    store, thread = workspace.store, f"{TEAM}:C0SALES001:{ts}"
    lease = Lease(thread_id=thread, token=store.raise_fence(thread), owner="test")
    turn = store.open_turn(lease, "en", "model")
    asked = Asked(user="U1", author="Ana", text="revenue by region", ts=ts)
    step = Questioned(call_id="c1", question="Net or gross?", options=options)
    store.take_mail(lease, turn.id, [mail.id for mail in store.unread(thread)], [asked, step])
    store.set_turn_status(lease, turn.id, "waiting")
    buttons = [
        {
            "type": "button",
            "text": {"type": "plain_text", "text": text},
            "action_id": f"answer:{n}",
            "value": json.dumps({"turn": turn.id, "call": "c1", "n": n}),
        }
        for n, text in enumerate(step.options)
    ]
    other = {"type": "button", "text": {"type": "plain_text", "text": "other"}, "action_id": "other", "value": "x"}
    posted = httpx.post(
        f"{workspace.settings.slack_api_url}chat.postMessage",
        headers={"Authorization": "Bearer xoxb-playground"},
        json={
            "channel": "C0SALES001",
            "thread_ts": ts,
            "text": "Net or gross?",
            "blocks": [{"type": "actions", "elements": [*buttons, other]}],
        },
        trust_env=False,
    ).json()
    workspace.redis.flushall()
    return ts, posted["ts"], lease


def press(workspace: Workspace, ts: str, action_id: str, user: str = "ben") -> None:
    workspace.control("POST", "/press", json={"channel": "#sales", "ts": ts, "action_id": action_id, "user": user})


def test_a_pressed_option_is_an_answer_and_wakes_the_thread(workspace: Workspace) -> None:
    root, ts, _ = question(workspace)
    press(workspace, ts, "answer:1")
    (mail,) = eventually(workspace.mail)
    assert (mail.kind, mail.text, mail.author, mail.root_ts) == ("answer", "gross", "ben", root)
    assert workspace.bells() == [[mail.thread.id]]


def test_a_second_press_changes_nothing(workspace: Workspace) -> None:
    _, ts, _ = question(workspace)
    press(workspace, ts, "answer:1", "ben")
    press(workspace, ts, "answer:0", "ana")
    settled(workspace)
    assert [(mail.text, mail.author) for mail in workspace.mail()] == [("gross", "ben")]


def test_a_press_on_an_answered_question_is_acked_and_does_nothing(workspace: Workspace) -> None:
    _, ts, lease = question(workspace)
    turn = workspace.store.current_turn(lease.thread_id)
    assert turn is not None
    workspace.store.set_turn_status(lease, turn.id, "done")
    press(workspace, ts, "answer:1")
    assert workspace.mail() == []
    assert workspace.bells() == []


def test_an_unknown_press_is_acked(workspace: Workspace) -> None:
    _, ts, _ = question(workspace)
    press(workspace, ts, "other")
    assert workspace.mail() == []


def approval(workspace: Workspace) -> tuple[str, str]:
    """A thread in which a cell waits for a yes: (root ts, question's ts)."""
    ts = workspace.say("@Threadbook revenue by region")
    eventually(workspace.bells)
    store, key = workspace.store, ThreadKey(TEAM, "C0SALES001", ts)
    lease = Lease(thread_id=key.id, token=store.raise_fence(key.id), owner="test")
    turn = store.open_turn(lease, "en", "model")
    mail = store.unread(key.id)
    step = Questioned(
        call_id="approve:1",
        question="May this code run?",
        options=("Run", "Skip", "Reject"),
        approval=Approval(what="python", title="Look", code="a = 1\nprint(a)"),
    )
    asked = Asked(user=mail[0].user, author="Ana", text="revenue by region", ts=ts)
    store.take_mail(lease, turn.id, [each.id for each in mail], [asked, step])
    store.set_turn_status(lease, turn.id, "waiting")
    message = approval_message(Draft(step), turn.id, "en")
    writer = SlackWriter(web_client(workspace.settings), store)
    posted = writer.post(lease, key, f"{turn.id}:question:0", message.text, message.blocks)
    workspace.redis.flushall()
    return ts, posted


def open_views(workspace: Workspace) -> list[dict[str, Any]]:
    views: list[dict[str, Any]] = workspace.control("GET", "/views")["views"]
    return views


def filled(text: str) -> dict[str, Any]:
    return {"values": {field_id(0): {field_id(0): {"type": "plain_text_input", "value": text}}}}


def test_code_is_edited_in_a_form_that_keeps_a_wrong_line_open(workspace: Workspace) -> None:
    _, ts = approval(workspace)
    press(workspace, ts, "approve:edit", "ana")
    (view,) = eventually(lambda: open_views(workspace))
    assert view["blocks"][0]["element"]["initial_value"] == "a = 1\nprint(a)"
    submit = f"/views/{view['id']}/submit"
    wrong = workspace.control("POST", submit, json=filled("a = (\n"))["response"]
    assert wrong["response_action"] == "errors"
    assert wrong["errors"]["field:0"].startswith("Line 1:")
    assert workspace.mail() == []
    workspace.control("POST", submit, json=filled("a = 2\nprint(a)"))
    (mail,) = eventually(workspace.mail)
    decision = Decision.decode(mail.text)
    assert decision is not None
    assert (mail.kind, decision.do, decision.code) == ("decision", "edited", "a = 2\nprint(a)")
    assert open_views(workspace) == []


def test_who_may_not_decide_gets_a_sentence_that_only_they_see(workspace: Workspace) -> None:
    root, ts = approval(workspace)
    for button in ("run", "edit"):
        press(workspace, ts, f"approve:{button}", "ben")
    settled(workspace)
    assert (workspace.mail(), open_views(workspace)) == ([], [])
    assert len(workspace.calls("chat.postEphemeral")) == 2
    assert len([each for each in workspace.messages(root) if "only_for" not in each]) == 2


def test_a_yes_is_kept_and_wakes_the_thread(workspace: Workspace) -> None:
    root, ts = approval(workspace)
    press(workspace, ts, "approve:run", "ana")
    (mail,) = eventually(workspace.mail)
    assert (mail.kind, mail.root_ts) == ("decision", root)
    assert workspace.bells() == [[mail.thread.id]]


# --- connections


@pytest.mark.parametrize("abrupt", [False, True])
def test_the_bot_comes_back_after_a_disconnect(workspace: Workspace, abrupt: bool) -> None:
    (first,) = workspace.control("GET", "/connections")["connections"]
    workspace.control("POST", "/disconnect", json={"abrupt": abrupt})
    eventually(
        lambda: [one for one in workspace.control("GET", "/connections")["connections"] if one != first],
        "a new connection",
    )
    workspace.say("@Threadbook which region sold best?")
    assert eventually(workspace.mail)
    with warnings.catch_warnings():
        # The SDK leaves the socket of a connection that it lost to the garbage collector.
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def test_two_bots_keep_a_message_once(
    workspace: Workspace, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = workspace.redis.connection_pool.connection_kwargs["server"]
    monkeypatch.setattr(bot.service, "connect_redis", lambda url, timeout_s: fakeredis.FakeRedis(server=server))
    with running_bot(settings):
        eventually(lambda: len(workspace.control("GET", "/connections")["connections"]) == 2)
        for number in range(4):
            workspace.say(f"@Threadbook question {number}")
        workspace.say("@Threadbook", channel="#general")
        settled(workspace)
        assert sorted(mail.text for mail in workspace.mail()) == [f"question {number}" for number in range(4)]
        assert len(workspace.bells()) == 4
        posts = [call for call in workspace.calls("chat.postMessage") if call["args"]["channel"] == "C0GENERAL1"]
        assert len(posts) == 1


def choose(workspace: Workspace, ts: str, user: str = "ana", callback_id: str = Menu.ID) -> dict[str, Any]:
    given = {"channel": "#sales", "ts": ts, "user": user, "callback_id": callback_id}
    return workspace.control("POST", "/shortcut", json=given)


def test_the_menu_of_any_message_opens_and_asks_about_it_in_the_name_of_who_chose(workspace: Workspace) -> None:
    ts = workspace.say("herons: 4", user="ben")
    choose(workspace, ts)
    (view,) = eventually(lambda: open_views(workspace))
    submit = f"/views/{view['id']}/submit"
    chosen = {"values": {CHOICE: {CHOICE: {"type": "radio_buttons", "selected_option": {"value": "ask"}}}}}
    workspace.control("POST", submit, json=chosen)
    (form,) = open_views(workspace)
    assert form["callback_id"] == AskForm.ID
    empty = workspace.control("POST", submit, json=filled(" "))["response"]
    assert empty["response_action"] == "errors"
    workspace.control("POST", submit, json=filled("is that a lot?"))
    (mail,) = eventually(workspace.mail)
    assert mail.text.startswith("is that a lot?")
    assert mail.talk_wanted
    assert any("asks: is that a lot?" in str(message) for message in workspace.messages(ts))
    assert open_views(workspace) == []


def test_a_shortcut_that_the_app_has_not_is_refused(workspace: Workspace) -> None:
    ts = workspace.say("herons: 4", user="ben")
    with pytest.raises(AssertionError, match="shortcut_not_found"):
        choose(workspace, ts, callback_id="another")
