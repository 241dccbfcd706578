"""What the playground's doors refuse: malformed requests, and what other web pages ask a browser to send."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

SALES = "C0SALES001"
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
