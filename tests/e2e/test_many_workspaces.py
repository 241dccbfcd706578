"""The whole path of a workspace that comes and goes, with the real processes: install, ask, uninstall."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest
from cryptography.fernet import Fernet
from patience import PATIENCE_S, eventually, reserved_port

from core.settings import environment_with, load_settings
from core.store import Store
from playground import Options, running
from tryout.stack.processes import Processes

pytestmark = pytest.mark.process

CLIENT, SECRET, SIGNING = "123.456", "client-secret-of-the-app", "signing-secret-of-the-app"
CHANNEL = "C0SALES001"


def test_a_workspace_installs_asks_and_leaves(tmp_path: Path, redis_url: str) -> None:
    options = Options(client_id=CLIENT, client_secret=SECRET, signing_secret=SIGNING, retry_delays_s=(0.1,))
    with (
        running(options=options) as slack,
        reserved_port() as port,
        httpx.Client(trust_env=False, timeout=PATIENCE_S) as browser,
    ):
        bot = f"http://127.0.0.1:{port}"
        control = f"{slack.url}/control"
        told = {"request_url": f"{bot}/slack/events", "redirect_url": f"{bot}/slack/oauth_redirect"}
        browser.post(f"{control}/options", json=told).raise_for_status()
        environment = environment_with(
            SLACK_API_URL=slack.api_url,
            SLACK_BOT_TOKEN="",
            SLACK_APP_TOKEN="",
            SLACK_CLIENT_ID=CLIENT,
            SLACK_CLIENT_SECRET=SECRET,
            SLACK_SIGNING_SECRET=SIGNING,
            THREADBOOK_TOKEN_KEYS=Fernet.generate_key().decode(),
            THREADBOOK_MODEL="offline",
            REDIS_URL=redis_url,
            DATABASE_URL=f"sqlite:///{tmp_path / 'threadbook.db'}",
            THREADBOOK_HOME=str(tmp_path),
            THREADBOOK_FILES=str(tmp_path / "files"),
            NO_PROXY="127.0.0.1,localhost",
        )
        settings = load_settings(environment, tmp_path)
        store = Store(settings.database_url)
        store.migrate()
        with Processes(tmp_path / "logs", environment) as processes:
            processes.start("bot", "bot", "--http", "--port", str(port))
            processes.start("worker", "worker")

            def is_up() -> bool:
                processes.check()
                try:
                    return browser.get(f"{bot}/slack/install").status_code == 200
                except httpx.TransportError:
                    return False

            eventually(is_up, "the install page")
            eventually((tmp_path / "worker.ready").exists, "the worker")

            page = browser.get(f"{bot}/slack/install")
            (address,) = re.findall(r'href="([^"]+/oauth/v2/authorize[^"]*)"', page.text)
            back = browser.post(address.replace("&amp;", "&"), data={"answer": "allow"}).headers["location"]
            cookie = page.headers["set-cookie"].partition(";")[0]
            assert browser.get(back, headers={"Cookie": cookie}).status_code == 200

            posted = browser.post(
                f"{control}/messages",
                data={"channel": CHANNEL, "text": "<@U0THREADBK> what is the total amount?"},
                files={"file": ("sales.csv", b"region,amount\nnorth,10\nsouth,32\n")},
            ).raise_for_status()
            ts = posted.json()["message"]["ts"]

            def said() -> str:
                processes.check()
                asked = browser.get(f"{control}/messages", params={"channel": CHANNEL, "thread_ts": ts})
                return str([each for each in asked.json()["messages"] if each.get("bot_id")])

            thread = f"T0PLAYGRND:{CHANNEL}:{ts}"
            eventually(lambda: [turn.status for turn in store.turns(thread)] == ["done"], "the answer")
            assert "42" in said()

            browser.post(f"{control}/uninstall").raise_for_status()
            eventually(lambda: not store.installations(), "the end of the installation")
            before = said()
            again = browser.post(
                f"{control}/messages",
                json={"channel": CHANNEL, "thread_ts": ts, "text": "<@U0THREADBK> and the mean?"},
            )
            again.raise_for_status()
            assert said() == before
            processes.check()
        logs = "\n".join(path.read_text(errors="replace") for path in (tmp_path / "logs").iterdir())
        store.close()
    assert "xoxb-" not in logs
    assert SECRET not in logs
