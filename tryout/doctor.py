"""`threadbook doctor`: each part that a service needs, tried for real, with a one-line fix for what does not work."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx
import redis
from rich.console import Console
from rich.table import Table
from slack_sdk.errors import SlackApiError, SlackClientError
from sqlalchemy.exc import SQLAlchemyError

from core.blobs import Blobs
from core.settings import Settings
from core.slack import web_client
from core.store import Store
from executor import launch
from executor.sandbox import probe
from executor.values import Sandbox

OPENAI = "https://api.openai.com/v1"
SCOPES = {"app_mentions:read", "chat:write", "files:read", "files:write", "reactions:write", "users:read"}
"""Bot scopes without which a mention with a file cannot be answered; the manifest asks for more."""


@dataclass(frozen=True)
class Finding:
    """How one part is. `state` is "ok", "missing" (a service cannot start) or "note" (works, but worth knowing)."""

    part: str
    state: str
    what: str
    fix: str = ""
    layers: tuple[probe.Row, ...] = ()


def run(settings: Settings, *, as_json: bool = False) -> int:
    """Look at every part, print what was found, return 1 if something is missing."""
    findings = [check(settings) for check in CHECKS]
    if as_json:
        print(json.dumps([asdict(finding) for finding in findings], ensure_ascii=False))
    else:
        table = Table("part", "state", "what", "fix")
        colours = {"ok": "green", "missing": "red", "note": "yellow"}
        for each in findings:
            table.add_row(each.part, f"[{colours[each.state]}]{each.state}[/]", each.what, each.fix)
        console = Console()
        console.print(table)
        for finding in findings:
            if finding.layers:
                walls = Table("layer", "state", "what it stops", "fix", title="The walls around a session")
                for row in finding.layers:
                    walls.add_row(row.layer, row.state, row.stops, row.fix)
                console.print(walls)
    return 1 if any(finding.state == "missing" for finding in findings) else 0


def python(settings: Settings) -> Finding:
    """The interpreter."""
    return Finding("Python", "ok", sys.version.split()[0])


def redis_server(settings: Settings) -> Finding:
    """Whether Redis answers."""
    client = redis.Redis.from_url(settings.redis_url, socket_connect_timeout=3, socket_timeout=3)
    try:
        return Finding("Redis", "ok", f"{client.info('server')['redis_version']} answers")
    except redis.RedisError as error:
        return Finding("Redis", "missing", str(error), "start a Redis server and set REDIS_URL; `make run` needs none")
    finally:
        client.close()


def store(settings: Settings) -> Finding:
    """Whether the Store can be opened and brought to this version."""
    opened = None
    try:
        opened = Store(settings.database_url)
        opened.migrate()
    except (SQLAlchemyError, OSError) as error:
        reason = str(error).splitlines()[0][:200]
        return Finding("Store", "missing", reason, "check DATABASE_URL: its user must be able to create tables")
    finally:
        if opened is not None:
            opened.close()
    return Finding("Store", "ok", settings.database_url.split(":", 1)[0] + ", schema up to date")


def files(settings: Settings) -> Finding:
    """Whether the file store takes and gives back a file."""
    try:
        blobs = Blobs(settings.files)
        kept = blobs.get(blobs.put(b"threadbook doctor\n")) == b"threadbook doctor\n"
    except (OSError, ValueError, ImportError) as error:
        return Finding("Files", "missing", str(error)[:200], "check THREADBOOK_FILES")
    return Finding("Files", "ok" if kept else "missing", "a file was written and read back")


def slack(settings: Settings) -> Finding:
    """Whether the bot token works and has the scopes that an answer needs."""
    if settings.slack_bot_token is None:
        fix = "create the app from bot/manifest.yaml, put SLACK_BOT_TOKEN and SLACK_APP_TOKEN into .env"
        return Finding("Slack", "missing", "no SLACK_BOT_TOKEN", fix)
    try:
        reply = web_client(settings).auth_test()
    except (SlackApiError, SlackClientError, OSError) as error:
        reason = error.response["error"] if isinstance(error, SlackApiError) else str(error)
        return Finding("Slack", "missing", f"auth.test: {reason}", "check SLACK_BOT_TOKEN and SLACK_API_URL")
    have = {scope.strip() for scope in str(reply.headers.get("x-oauth-scopes", "")).split(",") if scope.strip()}
    if lacking := SCOPES - have if have else set():
        fix = "add them under OAuth & Permissions, install the app again"
        return Finding("Slack", "missing", f"scopes missing: {', '.join(sorted(lacking))}", fix)
    if settings.slack_app_token is None:
        return Finding("Slack", "missing", "no SLACK_APP_TOKEN", "make an app-level token with connections:write")
    return Finding("Slack", "ok", f"{reply['user']} in {reply['team']}")


def model(settings: Settings) -> Finding:
    """Which model will answer."""
    if settings.model_choice == "offline":
        fix = "set OPENAI_API_KEY (and OPENAI_BASE_URL, OPENAI_MODEL) for a real model"
        return Finding("Model", "note", "the built-in, rule-based offline analyst", fix)
    if settings.model_choice == "openai":
        return _endpoint(settings)
    return Finding("Model", "note", settings.model_choice, "a script answers; set THREADBOOK_MODEL=openai for a model")


def _endpoint(settings: Settings) -> Finding:
    """Whether the model endpoint lets us in, by asking it which models it has."""
    base = (settings.openai_base_url or OPENAI).rstrip("/")
    key = settings.openai_api_key.get_secret_value() if settings.openai_api_key else ""
    try:
        reply = httpx.get(f"{base}/models", headers={"Authorization": f"Bearer {key}"}, timeout=15)
    except httpx.HTTPError as error:
        return Finding("Model", "missing", f"{base} does not answer: {error}", "check OPENAI_BASE_URL and the network")
    if reply.status_code in (401, 403):
        return Finding("Model", "missing", f"{base} refuses the key ({reply.status_code})", "check OPENAI_API_KEY")
    if not reply.is_success:  # some servers speak Chat Completions and nothing else
        return Finding("Model", "note", f"{settings.openai_model} at {base}, not tried (no list of models)")
    return Finding("Model", "ok", f"{settings.openai_model} at {base}, which lets us in")


def sandbox(settings: Settings) -> Finding:
    """The strongest isolation that a real session gets here, by starting one."""
    with tempfile.TemporaryDirectory() as folder:
        cell = Path(folder) / "probe.py"
        cell.write_text("print(1 + 1)\n")
        outcome = launch.run_files([cell])
    if outcome["cells"][0]["stdout"].strip() != "2":
        notice = outcome["cells"][0]["notice"] or outcome["cells"][0]["stderr"]
        return Finding("Sandbox", "missing", f"a session did not answer: {notice}", "see the worker's log")
    level = outcome["sandbox"]["level"]
    order = ("none", "reduced", "strong")
    weak = order.index(level) < order.index(settings.sandbox.minimum)
    layers = tuple(probe.table(Sandbox(**outcome["sandbox"])))
    fix = f"a service on real Slack needs {settings.sandbox.minimum!r}; see the walls below" if weak else ""
    return Finding("Sandbox", "note" if weak else "ok", f"level {level}, found by attacking a session", fix, layers)


CHECKS: tuple[Callable[[Settings], Finding], ...] = (python, redis_server, store, files, slack, model, sandbox)
