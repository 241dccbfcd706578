"""The worker service from outside: its health, metrics and logs, `threadbook status` and `replay`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from patience import PATIENCE_S, reserved_port
from test_workers_service import COUNT, ROOT, Service, call, environment, service

pytestmark = pytest.mark.integration

SECRET = "a-key-without-any-shape-1234"
SCRIPT = [[call("run_python", code=COUNT), call("run_python", code="1 / 0"), call("finish", report="It ran.")]]


def command(running: Service, *arguments: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "threadbook", *arguments, "--json"],
        cwd=ROOT,
        env=environment(running.settings),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    return json.loads(done.stdout)


def numbers(page: str) -> dict[str, float]:
    return {
        name: float(value) for name, _, value in (line.rpartition(" ") for line in page.splitlines()) if name[:1] != "#"
    }


def test_a_turn_shows_in_health_metrics_logs_status_and_replay(tmp_path: Path, redis_url: str) -> None:
    with (
        reserved_port() as port,
        service(tmp_path, redis_url, SCRIPT, THREADBOOK_WORKER_HEALTH_PORT=str(port), OPENAI_API_KEY=SECRET) as running,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=PATIENCE_S) as http,
    ):

        def health() -> httpx.Response | None:
            try:
                return http.get("/healthz")
            except httpx.TransportError:
                return None

        def is_up() -> bool:
            answer = health()
            return answer is not None and answer.status_code == 200

        running.wait_for(is_up, "health")
        answer = health()
        assert answer is not None
        parts = answer.json()["parts"]
        service_parts = {"session_host", "workers", "janitor", "schedules", "clean_room"}
        assert set(parts) == {"redis", "store", "slack", "home"} | service_parts
        assert parts["workers"]["what"] == "2 of 2 alive"
        assert parts["session_host"]["what"].startswith("sandbox ")

        key = running.ask("run something")
        running.answered(key)
        turn_id = running.store.turns(key.id)[-1].id

        def sent() -> float:
            labels = 'method="chat.postMessage",result="ok"'
            return numbers(http.get("/metrics").text).get(f"threadbook_slack_calls_total{{{labels}}}", 0)

        running.wait_for(lambda: sent() > 0, "the counts of the job")
        shown = numbers(http.get("/metrics").text)
        assert shown['threadbook_turns_total{outcome="done"}'] == 1
        assert shown['threadbook_cell_seconds_count{status="ok"}'] == 1
        assert shown['threadbook_cell_seconds_count{status="error"}'] == 1
        assert shown["threadbook_queue_wait_seconds_count"] == 1
        assert shown["threadbook_first_word_seconds_count"] == 1
        assert shown['threadbook_sessions{state="idle"}'] == 1
        assert shown["threadbook_sessions_started_total"] == 1
        assert shown['threadbook_evictions_total{cause="idle"}'] == 0
        assert shown['threadbook_restores_total{result="ok"}'] == 0
        assert shown["threadbook_session_seconds_count"] == 0
        assert shown['threadbook_part_up{part="janitor"}'] == 1

        status = command(running, "status")
        assert [session["thread"] for session in status["sessions"]["sessions"]] == [key.id]
        assert [(node["node"], node["workers"]) for node in status["nodes"]] == [(running.settings.node_id, 2)]
        assert (status["turns"], status["waiting"], status["mail"]) == ([], [], [])
        (turn,) = command(running, "replay", turn_id)
        assert [step["status"] for step in turn["steps"] if step["kind"] == "cell"] == ["ok", "error"]

        written = running.log.read_text()
        assert SECRET not in written
        assert "xoxb-playground" not in written
        lines = [json.loads(line) for line in written.splitlines() if line.startswith("{")]
        cells = [line for line in lines if line["event"] == "cell_ended"]
        assert [line["status"] for line in cells] == ["ok", "error"]
        assert {(line["thread"], line["turn"]) for line in cells} == {(key.id, turn_id)}
        assert {line["cell"] for line in cells} == {cell.cell_id for cell in running.cells(key)}
        assert [line["turn"] for line in lines if line["event"] == "turn_rests"] == [turn_id]


def test_a_session_host_that_hangs_makes_the_service_unhealthy_until_it_answers(tmp_path: Path, redis_url: str) -> None:
    with (
        reserved_port() as port,
        service(tmp_path, redis_url, SCRIPT, THREADBOOK_WORKER_HEALTH_PORT=str(port)) as running,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=PATIENCE_S) as http,
    ):

        def state() -> tuple[int, bool]:
            try:
                answer = http.get("/healthz")
            except httpx.TransportError:
                return 0, False
            return answer.status_code, answer.json()["parts"]["slack"]["up"]

        running.wait_for(lambda: state() == (200, True), "health")
        session_host = running.session_host()
        session_host.suspend()
        try:
            running.wait_for(lambda: state()[0] != 200, "bad health")
        finally:
            session_host.resume()
        running.wait_for(lambda: state()[0] == 200, "good health")


def test_the_health_process_is_started_again(tmp_path: Path, redis_url: str) -> None:
    with (
        reserved_port() as port,
        service(tmp_path, redis_url, SCRIPT, THREADBOOK_WORKER_HEALTH_PORT=str(port)) as running,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=PATIENCE_S) as http,
    ):

        def is_served() -> bool:
            try:
                return http.get("/healthz").status_code == 200
            except httpx.TransportError:
                return False

        running.wait_for(is_served, "health")
        pids = json.loads((tmp_path / "worker.processes.json").read_text())
        psutil.Process(pids["health"][0]).kill()
        running.wait_for(lambda: json.loads((tmp_path / "worker.processes.json").read_text()) != pids, "a new process")
        running.wait_for(is_served, "health again")
