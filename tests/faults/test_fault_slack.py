"""Faults of Slack: the thread reads as if nothing had happened, or goes on once somebody has repaired it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from fault_cases import Case, InModelCall
from fault_checks import check_leftovers, check_thread
from fault_list import AWAY_S
from fault_table import Table
from fault_world import World
from patience import eventually

pytestmark = pytest.mark.fault


_UPLOADS = ("files.getUploadURLExternal", "files.completeUploadExternal", "files.info", "upload")
_WRITES = ("chat.postMessage", "chat.update", *_UPLOADS)
_KINDS: dict[str, dict[str, Any]] = {
    "429 with Retry-After": {"kind": "ratelimited", "retry_after": 1, "times": 2},
    "503 with a page": {"kind": "http_error", "status": 503, "times": 1},
    "call lost": {"kind": "drop_call", "times": 1},
    "done, reply lost": {"kind": "drop_reply", "times": 1},
    "done, reply 4 s late": {"kind": "slow", "seconds": 4, "times": 1},
    "internal_error": {"kind": "error", "error": "internal_error", "times": 1},
    "msg_too_long": {"kind": "error", "error": "msg_too_long", "times": 1},
    "invalid_blocks": {"kind": "error", "error": "invalid_blocks", "times": 1},
    "away for six calls": {"kind": "drop_call", "times": 6},
}


def _makes_sense(name: str, method: str) -> bool:
    if name in ("msg_too_long", "invalid_blocks"):
        return method.startswith("chat.")
    return method != "upload" or name in ("503 with a page", "call lost", "done, reply lost", "done, reply 4 s late")


ORDERS = [
    (f"Slack: {name}", method, {"method": method, **order})
    for name, order in _KINDS.items()
    for method in _WRITES
    if _makes_sense(name, method)
]
DROPPED = "Slack: share dropped after ok"
ORDERS += [
    ("Slack: share 4 s late", "files.completeUploadExternal", {"method": "share", "kind": "slow", "seconds": 4}),
    (DROPPED, "files.completeUploadExternal", {"method": "share", "kind": "drop_call"}),
    ("Slack: connection cut before the event", "as the message arrives", {"method": "envelope", "kind": "drop_call"}),
    ("Slack: connection cut before the ack", "as the message arrives", {"method": "envelope", "kind": "drop_reply"}),
    ("Slack: events twice", "as the message arrives", {"duplicate_events": 4}),
]


@pytest.mark.parametrize("kind", sorted({name for name, _, _ in ORDERS}))
def test_a_call_that_fails_is_repaired(kind: str, world: World, table: Table) -> None:
    for name, moment, order in ORDERS:
        if name == kind:
            world.control("POST", "faults", **order)
            _walk_through(world, table, name, moment, dropped=int(name == DROPPED))
            world.control("DELETE", "faults")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("Slack: mention before its twin", {"mention_first": True}),
        ("Slack: mention without its files", {"mention_first": True, "mention_files": False}),
    ],
)
def test_twins_in_any_order_are_one_message(name: str, options: dict[str, Any], world: World, table: Table) -> None:
    world.slack.set_options(**options)
    _walk_through(world, table, name, "as the message arrives")
    world.slack.set_options(mention_first=False, mention_files=True)


@pytest.mark.parametrize("abrupt", [False, True])
def test_a_bot_that_must_reconnect_misses_nothing(abrupt: bool, world: World, table: Table) -> None:
    world.control("POST", "disconnect", reason="refresh_requested", abrupt=abrupt, all=True)
    name = "Slack: all connections cut" if abrupt else "Slack: disconnect, refresh_requested"
    _walk_through(world, table, name, "as the message arrives")


def _walk_through(world: World, table: Table, name: str, moment: str, *, dropped: int = 0) -> None:
    case = Case(world)
    began = time.monotonic()
    case.ask("pb")  # a chart: files are looked up, and the card is redrawn
    eventually(case.answered, f"the answer under {name}, {moment}")
    result = "goes on, the next turn names files that Slack dropped" if dropped else "goes on"
    table.note(name, moment, result, time.monotonic() - began)
    check_thread(case, dropped=dropped)


@dataclass(frozen=True)
class Outage:
    """Something that a person does in Slack and undoes later."""

    name: str
    strike: Callable[[World], None]
    back: Callable[[World], None]


def _channel(**changes: bool) -> Callable[[World], None]:
    return lambda world: world.control("POST", "channels/C0SALES001", **changes)


def _options(**changes: bool) -> Callable[[World], None]:
    return lambda world: world.slack.set_options(**changes)


OUTAGES = (
    Outage("Slack: channel archived, later opened again", _channel(archived=True), _channel(archived=False)),
    Outage("Slack: bot removed, later invited again", _channel(bot=False), _channel(bot=True)),
    Outage("Slack: token revoked, later valid again", _options(revoked=True), _options(revoked=False)),
)


@pytest.mark.parametrize("outage", OUTAGES, ids=lambda outage: outage.name)
def test_an_answer_waits_until_it_can_be_given(outage: Outage, world: World, table: Table) -> None:
    moment = InModelCall(Case(world))
    moment.reach()
    outage.strike(world)
    moment.release()
    time.sleep(AWAY_S)
    outage.back(world)
    back = time.monotonic()
    eventually(moment.case.answered, "the answer")
    table.note(outage.name, moment.name, "goes on", time.monotonic() - back)
    moment.case.ask("c")
    eventually(moment.case.answered, "the follow-up")
    check_thread(moment.case)
    check_leftovers(world)


def test_a_question_that_was_deleted_gets_no_answer_elsewhere(world: World, table: Table) -> None:
    moment = InModelCall(Case(world))
    moment.reach()
    key = moment.case.thread
    world.control("DELETE", f"messages/{key.channel}/{key.root_ts}")
    before = len(world.slack.http.get("/control/messages", params={"channel": key.channel}).json()["messages"])
    moment.release()
    eventually(moment.case.ended, "the end of the turn")
    after = len(world.slack.http.get("/control/messages", params={"channel": key.channel}).json()["messages"])
    assert after == before
    table.note("Slack: the question is deleted", moment.name, "closed, nothing is posted elsewhere", None)
    check_leftovers(world)
