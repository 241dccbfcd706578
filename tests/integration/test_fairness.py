"""Limits on running turns in a real service: other threads wait, show their place, and are answered in their order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_workers_service import Service, call, service

from core.values import ThreadKey

pytestmark = pytest.mark.integration

SLOW = [[call("run_python", code="import time\ntime.sleep(4)"), call("finish", report="Over.")]]


def waits(running: Service, key: ThreadKey) -> list[str]:
    """The status lines of a thread that say what it waits for."""
    calls: list[dict[str, Any]] = running.slack.wire(kind="call", method="assistant.threads.setStatus")
    said = [str(each["args"].get("status")) for each in calls if each["args"].get("thread_ts") == key.root_ts]
    return [status for status in said if "waits" in status]


def test_a_person_with_many_questions_waits_for_herself_and_others_do_not_wait_for_her(
    tmp_path: Path, redis_url: str
) -> None:
    with service(tmp_path, redis_url, SLOW, toml="[fairness]\nper_person = 1\n") as running:
        first = running.ask("the first question")
        running.wait_for(lambda: running.status(first) == "running", "the first turn")
        anas = [first]
        for question in ("the second question", "the third question"):
            anas.append(running.ask(question))
            running.wait_for(
                lambda: any(queued.thread_id == anas[-1].id for queued in running.store.wait_queue()), question
            )
        ben = running.slack.say("#sales", "ben", "@threadbook and mine?").thread
        for key in (*anas, ben):
            running.answered(key)
        ended = {key: running.store.turns(key.id)[0] for key in (*anas, ben)}
        began = [ended[key].created_at for key in anas]
        assert began == sorted(began), "the longest waiting goes first"
        ends = [ended[key].ended_at for key in anas]
        assert all(end is not None and begin >= end for end, begin in zip(ends, began[1:], strict=False))
        assert ended[ben].created_at < began[2], "others do not wait for her"
        alone = {"waits for a free worker, number 1 in the queue…"}
        assert set(waits(running, anas[0])) <= alone, "nobody is before her, however long a worker takes to come"
        shown = waits(running, anas[2])
        assert "waits until another question of the same person is done…" in shown
        assert all(sum("Over." in text for text in running.texts(key)) == 1 for key in (*anas, ben))


def test_a_command_that_asks_no_model_is_answered_while_its_person_waits(tmp_path: Path, redis_url: str) -> None:
    endless = [[call("run_python", code="import time\ntime.sleep(600)")]]
    with service(tmp_path, redis_url, endless, toml="[fairness]\nper_person = 1\n") as running:
        busy = running.ask("the first question")
        running.wait_for(lambda: running.status(busy) == "running", "the turn")
        other = running.ask("explain")
        running.wait_for(lambda: "no code here to explain" in "".join(running.texts(other)), "the answer of a command")
        assert running.status(busy) == "running"
        running.slack.say("#sales", "ana", "@threadbook stop", thread_ts=busy.root_ts)
        running.wait_for(lambda: running.status(busy) != "running", "the stop")
