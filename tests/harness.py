"""The product in one process for tests: the playground, the real bot over Socket Mode, the real session host, and a
loop that does what an RQ worker does. Only RQ's own processes are left out; tests/integration starts those.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx
from patience import PATIENCE_S, eventually

from bot import running_bot
from core.blobs import Blobs
from core.settings import Settings, load_settings
from core.store import Store, TurnRow
from core.values import ThreadKey
from executor.launch import start_host, stop_host
from executor.wire import limits_from
from playground import Options
from playground import running as running_playground
from tryout.stack.blocks_text import message_text
from tryout.stack.slack_client import LocalSlack
from workers.models.base import Model, ModelReply, ModelRequest, OnDelta
from workers.service import jobs
from workers.service.context import WorkerContext, opened
from workers.service.model_choice import choose_model

Json = dict[str, Any]


PATIENT_TEAM = f"[limits]\ncell_timeout_s = {PATIENCE_S}\ncell_grace_s = {PATIENCE_S}\n"


@contextmanager
def session_host(home: Path, team: str = "") -> Iterator[None]:
    """A session host at the place where settings with this home look for it. It ends with this process.

    `team` is added to the home's threadbook.toml, which also sets very long time limits.
    """
    home.mkdir(exist_ok=True)
    (home / "threadbook.toml").write_text(PATIENT_TEAM + team, encoding="utf-8")
    settings = load_settings({"THREADBOOK_HOME": str(home)}, home)
    process = start_host(
        settings.session_socket,
        home / "sessions",
        limits_from(settings.session_limits()),
        maximum=limits_from(settings.largest_session_limits()),
        die_with_parent=True,
        bash=settings.sandbox.bash,
    )
    try:
        yield
    finally:
        stop_host(process)


def settings_for(home: Path, slack_url: str, redis_url: str, **env: str) -> Settings:
    """Settings as a process with this environment would load them."""
    return load_settings(
        {
            "SLACK_API_URL": f"{slack_url}/api/",
            "SLACK_BOT_TOKEN": "xoxb-playground",
            "SLACK_APP_TOKEN": "xapp-playground",
            "REDIS_URL": redis_url,
            "THREADBOOK_HOME": str(home),
            "THREADBOOK_NODE_ID": "test-host",
            **env,
        },
        cwd=home,
    )


class Puppet:
    """A model that passes requests on to another one. A test may exchange that one while everything runs."""

    def __init__(self, model: Model) -> None:
        self.model = model

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def native_tools(self) -> bool:
        return self.model.native_tools

    @property
    def sees(self) -> bool:
        return self.model.sees

    def complete(self, request: ModelRequest, on_delta: OnDelta) -> ModelReply:
        return self.model.complete(request, on_delta)


@dataclass
class Stack:
    """The running product and the person in front of it."""

    settings: Settings
    slack: LocalSlack
    store: Store
    puppet: Puppet
    channel: str = "#sales"
    problems: list[BaseException] = field(default_factory=list)
    busy: threading.Lock = field(default_factory=threading.Lock)
    """Held by the worker while it works: `with stack.busy:` keeps it from beginning anything."""

    def talk(self, key: ThreadKey) -> Talk:
        """The thread as it is."""
        return Talk(self, key)

    def say(
        self, text: str, files: Sequence[Path] = (), *, user: str = "ana", thread: ThreadKey | None = None
    ) -> ThreadKey:
        """Post a message without waiting; the first of a thread mentions the bot."""
        if thread is None:
            return self.slack.say(self.channel, user, f"@threadbook {text}", files).thread
        self.slack.say(self.channel, user, text, files, thread_ts=thread.root_ts)
        return thread

    def ask(self, text: str, files: Sequence[Path] = (), *, user: str = "ana", thread: ThreadKey | None = None) -> Talk:
        """Post a message and wait until its turn rests."""
        before = len(self.store.turns(thread.id)) if thread else 0
        key = self.say(text, files, user=user, thread=thread)
        self.wait_for(lambda: len(self.store.turns(key.id)) > before and self.rests(key), f"an answer to {text!r}")
        return Talk(self, key)

    def rests(self, key: ThreadKey) -> bool:
        """Whether everything said was read, no turn has work to do, and Slack shows what it took."""
        turns = self.store.turns(key.id)
        at_rest = bool(turns) and turns[-1].status != "running" and not self.store.unread(key.id)
        return at_rest and self.slack.shows_its_files(key)

    def fault(self, method: str, error: str) -> None:
        """From now on Slack answers calls of this method with this error."""
        order = {"method": method, "kind": "error", "error": error, "times": 1000}
        self.slack.http.post("/control/faults", json=order).raise_for_status()

    def downloads_answer(self, status: int) -> None:
        """From now on Slack's file servers answer with this status."""
        order = {"method": "download", "kind": "http_error", "status": status, "times": 1000}
        self.slack.http.post("/control/faults", json=order).raise_for_status()

    def channels(self) -> list[Json]:
        """Every conversation, in Slack's shape."""
        return list(self.slack.http.get("/control/channels").json()["channels"])

    def options(self, **changes: object) -> None:
        """Change Slack's options."""
        self.slack.http.post("/control/options", json=changes).raise_for_status()

    def renew(self) -> None:
        """Takes back all faults and changed options of Slack."""
        self.slack.http.delete("/control/faults").raise_for_status()
        self.options(scopes=Options().scopes, share_delay_s=0.0)

    def wait_for(self, happened: Callable[[], bool], what: str) -> None:
        """Wait until it happened. Fails with what did not."""

        def look() -> bool:
            if self.problems:
                raise self.problems[0]
            return happened()

        eventually(look, what)


@dataclass(frozen=True)
class Talk:
    """A thread at rest: what people see and what the Store holds."""

    stack: Stack
    key: ThreadKey

    @property
    def messages(self) -> list[Json]:
        """The thread in Slack's shape."""
        return self.stack.slack.thread(self.key)

    @property
    def text(self) -> str:
        """All that the bot said, as a reader sees it."""
        return "\n".join(
            message_text(message) for message in self.messages if message.get("bot_id") or message.get("app_id")
        )

    @property
    def turns(self) -> list[TurnRow]:
        """The turns, oldest first."""
        return self.stack.store.turns(self.key.id)

    @property
    def turn(self) -> TurnRow:
        """The last turn."""
        return self.turns[-1]

    def steps(self, kind: str = "") -> list[Any]:
        """The last turn's steps, of one kind or all."""
        return [step for step in self.stack.store.steps(self.turn.id) if not kind or step.kind == kind]

    @property
    def report(self) -> str:
        """The last turn's report in Markdown."""
        found = self.stack.store.report(self.turn.id)
        assert found is not None, f"turn {self.turn.status}, the thread says:\n{self.text}"
        return found.markdown

    @property
    def kept(self) -> dict[str, bytes]:
        """The files of the last turn's report, also those that nobody has asked for."""
        report = self.stack.store.report(self.turn.id)
        blobs = Blobs(self.stack.settings.files)
        return {file.name: blobs.get(file.sha256) for file in report.files} if report else {}

    @property
    def files(self) -> list[Json]:
        """The files that the bot put into the thread."""
        return [
            file
            for message in self.messages
            if message.get("bot_id") or message.get("app_id")
            for file in message.get("files") or ()
        ]

    def reactions(self) -> set[str]:
        """The reactions on the thread's first message."""
        return {reaction["name"] for reaction in self.messages[0].get("reactions") or ()}

    def ask(self, text: str, files: Sequence[Path] = (), *, user: str = "ana") -> Talk:
        """Go on in the thread and wait."""
        return self.stack.ask(text, files, user=user, thread=self.key)


PATIENT_SLACK = Options(share_delay_s=0.0, ack_timeout_s=PATIENCE_S, trigger_ttl_s=PATIENCE_S)
"""Sharing takes no time, and a busy machine has all the time it needs, so these tests wait only for the product."""

Start = Callable[[Model], Stack]
"""Gives the running stack a model and returns it (the fixture `start`)."""


@contextmanager
def running_stack(home: Path, redis_url: str, model: Model | None = None, **env: str) -> Iterator[Stack]:
    """Everything except a session host. `session_host(home)` starts that, and one can serve many stacks of a home."""
    with ExitStack() as parts:
        slack = parts.enter_context(running_playground(options=PATIENT_SLACK))
        settings = settings_for(
            home, slack.url, redis_url, DATABASE_URL=f"sqlite:///{home / f'{slack.port}.db'}", **env
        )
        puppet = Puppet(model or choose_model(settings))
        worker = parts.enter_context(opened(settings, puppet))
        worker.context.store.migrate()
        people = LocalSlack(parts.enter_context(httpx.Client(base_url=slack.url, timeout=PATIENCE_S, trust_env=False)))
        stack = Stack(settings, people, worker.context.store, puppet)
        stop = threading.Event()
        worker = threading.Thread(target=_work, args=(worker, stop, stack), name="worker", daemon=True)
        worker.start()
        parts.callback(worker.join, PATIENCE_S)
        parts.callback(stop.set)
        parts.enter_context(patch("bot.background.LOOKUP_WAIT_S", PATIENCE_S))
        parts.enter_context(running_bot(settings))
        yield stack
    if stack.problems:
        raise stack.problems[0]


def _work(worker: WorkerContext, stop: threading.Event, stack: Stack) -> None:
    while not stop.wait(0.02):
        try:
            with stack.busy:
                for thread_id in worker.context.store.threads_needing_a_wake():
                    if not worker.backoff.postponed([thread_id]):
                        jobs.run(worker, thread_id)
        except BaseException as error:
            stack.problems.append(error)
            return
