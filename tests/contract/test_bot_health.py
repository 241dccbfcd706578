"""The bot from outside: its health, its counts, and the thread in its log lines."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import structlog
from harness import settings_for
from patience import PATIENCE_S, eventually, reserved_port

from bot import running_bot
from core.telemetry import configure_logging
from playground import Options, running
from tryout.stack.slack_client import LocalSlack


@pytest.fixture(autouse=True)
def restored_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def test_the_bot_serves_its_health_and_counts_and_logs_the_thread(
    tmp_path: Path, redis_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with (
        reserved_port() as port,
        running(options=Options()) as playground,
        httpx.Client(base_url=playground.url, timeout=PATIENCE_S, trust_env=False) as people,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_S, trust_env=False) as outside,
    ):
        fault = {"method": "reactions.add", "kind": "error", "error": "not_reactable", "times": 10}
        people.post("/control/faults", json=fault).raise_for_status()
        settings = settings_for(tmp_path, playground.url, redis_url, THREADBOOK_BOT_HEALTH_PORT=str(port))
        configure_logging(settings, json=True)
        with running_bot(settings):

            def health() -> tuple[int, dict[str, bool]]:
                try:
                    answer = outside.get("/healthz")
                except httpx.TransportError:
                    return 0, {}
                return answer.status_code, {name: part["up"] for name, part in answer.json()["parts"].items()}

            eventually(lambda: health() == (200, {"redis": True, "store": True, "slack": True}), "health")
            thread = LocalSlack(people).say("#sales", "ana", "@threadbook what sold best?").thread
            page = ""

            def counted() -> bool:
                nonlocal page
                page = outside.get("/metrics").text
                return 'threadbook_slack_calls_total{method="reactions.add",result="not_reactable"}' in page

            eventually(counted, "the first sign")
            assert "threadbook_messages_total" in page
            assert 'threadbook_part_up{part="slack"} 1.0' in page
        eventually(lambda: health() == (0, {}), "the end of the health pages")
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    refused = [line for line in lines if line.get("method") == "reactions.add"]
    assert [line.get("thread") for line in refused] == [thread.id]
