"""Whole turns without a network or a subprocess: the real jobs, turn, Store and Slack writer around in-memory doubles.

A world is one Slack, one session host, one Store and one Redis. Every run of a thread is a new worker process as far as
anything can tell: it shares nothing with the one before but those four.
"""

from __future__ import annotations

import importlib
import pkgutil
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

import fakeredis
import pytest
import without_syncs
from timeless import timeless

import workers.turn
from core.blobs import Blobs
from core.commands.approvals import DECISION, Decision
from core.commands.registry import command_in
from core.leases import Leases
from core.queue import Wakes, signatures_of
from core.settings import Settings, load_settings
from core.slack.fake import TOKEN, FakeSlack
from core.slack.reading.files import file_refs
from core.slack.writing.writer import SlackWriter
from core.steps import dump_step
from core.store import Store, TurnRow
from core.store.database import Database
from core.store.lineage import inheritors_of
from core.values import FileRef, IncomingMessage, ThreadKey
from executor.fake import FakeSessions
from tryout.stack.blocks_text import message_text
from workers.agent.turn import Environment
from workers.models.base import Model, ModelReply, ModelRequest, OnDelta
from workers.models.scripted import ScriptedModel
from workers.repositories.cloning import Cloner
from workers.service import jobs
from workers.service.admission import Admission
from workers.service.backoff import Backoff
from workers.service.clean_rooms import Checker
from workers.service.context import LEASE_TTL_S, WorkerContext
from workers.sources.broker.client import BrokerClient
from workers.tools.client import ToolsClient
from workers.turn.clean_rooms.room import Room
from workers.turn.context import TurnContext
from workers.turn.downloads import Downloader, look_up_with
from workers.turn.files import ThreadFiles
from workers.turn.limits import limits_of
from workers.turn.prompts import load_prompts
from workers.turn.stop_check import StopBoard
from workers.turn.transfer.session_transfer import SessionTransfer
from workers.turn.transfer.unexported import Unexported

Json = dict[str, Any]

ANA, BEN = "U0ANA00001", "U0BEN00001"
CHANNEL = "C0SALES001"
"""What the bot takes for more than words."""
_ENVIRONMENT = Environment(
    python_version="3.11.0",
    packages=("pandas 2.0",),
    today="2026-01-02",
    cell_timeout_s=60,
    memory_mb=2048,
    file_max_mb=100,
    bash=False,
)
_prompts = cache(load_prompts)


# --- scripts of a model


def cell(code: str, title: str = "Look", **more: object) -> Json:
    """A reply that asks for a cell; `more` are further arguments of the call."""
    return _call("run_python", code=code, title=title, **more)


def finish(report: str, **more: object) -> Json:
    """A reply that ends the turn."""
    return _call("finish", report=report, **more)


def question(text: str, *options: str) -> Json:
    """A reply that asks the people in the thread."""
    return _call("ask_user", question=text, options=list(options))


def failure(kind: str) -> Json:
    """In place of a reply: "unavailable", "refused", "nonsense" or "too_long"."""
    return {"error": {"kind": kind}}


def _call(name: str, **arguments: Any) -> Json:
    return {"calls": [{"name": name, "arguments": arguments}]}


class Meanwhile:
    """A model during whose calls something else happens.

    `then[n]` is done once, while the reply number n is asked for, from 1; `then["check"]` while the judge is, and
    `then["route"]` while a second way is asked for.
    """

    def __init__(self, model: Model, then: Mapping[int | str, Callable[[], object]]) -> None:
        self._model = model
        self._then = dict(then)
        self.requests: list[ModelRequest] = []

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def native_tools(self) -> bool:
        return self._model.native_tools

    @property
    def sees(self) -> bool:
        return self._model.sees

    def complete(self, request: ModelRequest, on_delta: OnDelta) -> ModelReply:
        self.requests.append(request)
        replies = sum(message["role"] == "assistant" for message in request.messages)
        place = replies + 1 if request.purpose == "act" else request.purpose
        self._then.pop(place, lambda: None)()
        return self._model.complete(request, on_delta)


# --- the world


_LEAVE_NOTHING = frozenset(
    {
        *("sessions", "vars", "where", "ping", "users.info", "files.info", "conversations.replies", "download"),
        *("assistant.threads.setStatus", "agents.sessions.setStatus"),
    }
)


class Killed(BaseException):
    """What kill -9 looks like from inside: nothing after it has an effect."""


@dataclass
class Death:
    """A worker that dies right after its effect number `at`: a write to the Store, a call to Slack or to the host.

    `effects` names all that were counted. Dying before an effect is dying after the one before it, and what only reads
    or shows something for a moment leaves nothing behind: it is not counted.
    """

    at: int = 0
    effects: list[str] = field(default_factory=list)
    dead: bool = False
    then: Callable[[], None] = lambda: None
    _lock: Any = field(default_factory=threading.RLock)

    def watch(self, when: str, effect: str) -> None:
        """Called before and after each effect."""
        with self._lock:
            if self.dead:
                raise Killed
            if when == "after" and effect not in _LEAVE_NOTHING:
                self.effects.append(effect)
                if len(self.effects) == self.at:
                    self.dead = True
                    self.then()
                    raise Killed


class World:
    """One Slack, one Store, one Redis, and a session host on each node. `model` may be exchanged at any time."""

    def __init__(
        self, folder: Path, template: Path, *, team: str = "", hands_over: bool = False, database_url: str = ""
    ) -> None:
        """`template` is an empty database of the newest schema; `team` stands in threadbook.toml.

        With `hands_over` a thread takes its session along to another node. A `database_url` stands in for the template.
        """
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "threadbook.toml").write_text(f"[slack]\nprogress_interval_s = 60\n{team}", encoding="utf-8")
        shutil.copyfile(template, folder / "store.db")
        environment = {
            "THREADBOOK_HOME": str(folder),
            "THREADBOOK_NODE_ID": "here",
            "SLACK_BOT_TOKEN": TOKEN,
            "DATABASE_URL": database_url or f"sqlite:///{folder}/store.db",
        }
        self.settings: Settings = load_settings(environment, folder)
        self.model: Model = ScriptedModel([])
        self.second: Model | None = None
        """What writes second ways, where that is another model."""
        self.models: dict[str, Model] = {}
        """The further models, as `[models]` of threadbook.toml names them."""
        self.slack = FakeSlack()
        self.sessions = FakeSessions(folder / "here", bash=self.settings.sandbox.bash)
        self._hosts = {"here": self.sessions}
        self._folder = folder
        self._hands_over = hands_over
        self.store = Store(self.settings.database_url)
        self._redis = fakeredis.FakeRedis(server=fakeredis.FakeServer())
        self._bot = SlackWriter(self.slack.client(), self.store)
        self._acting = threading.local()

    def close(self) -> None:
        """Close the database."""
        self.store.close()
        self._redis.close()

    # --- what people do

    def say(
        self,
        text: str,
        *,
        files: Mapping[str, bytes] | None = None,
        user: str = ANA,
        thread: ThreadKey | None = None,
        channel: str = CHANNEL,
        announced_by_id: bool = False,
    ) -> ThreadKey:
        """A person writes, and the bot takes it in: it stands in the Store, with eyes under it in Slack.

        `announced_by_id`: the event has no more of the files than their ids, as in shared channels.
        """
        channel = thread.channel if thread else channel
        thread_ts = thread.root_ts if thread else ""
        posted = self.slack.say(text, user=user, thread_ts=thread_ts, files=files, channel=channel)
        key = thread or ThreadKey(self.slack.team, channel, posted["ts"])
        command = command_in(text)
        refs = file_refs(posted.get("files"))
        kind = command.name if command and (command.files or not refs) else "text"
        if announced_by_id:
            refs = tuple(FileRef(id=ref.id, name=ref.id, mode="file_access") for ref in refs)
        self._take_in(key, posted["ts"], user, text, kind, refs)
        with self._unwatched():
            self._bot.react(key, posted["ts"], "eyes")
        return key

    def press(self, key: ThreadKey, option: str, *, user: str = ANA) -> None:
        """A person presses an option of the newest question. The press has the ts of the question's message."""
        asking = [message for message in self.messages(key) if f"[{option}]" in message_text(message)]
        self._take_in(key, asking[-1]["ts"], user, option, "answer")

    def decide(
        self,
        key: ThreadKey,
        do: Any,
        *,
        user: str = ANA,
        code: str = "",
        hint: str = "",
        late_s: float = 0.0,
        call: str = "",
    ) -> None:
        """A person decides, `late_s` seconds from now, whether something may run: the newest question, or `call`."""
        call = call or self.steps(key, "questioned")[-1]["call_id"]
        ts = f"{float(self.slack._next_ts()) + late_s:.6f}"
        self._take_in(key, ts, user, Decision(call=call, do=do, code=code, hint=hint).encode(), DECISION)

    def press_stop(self, key: ThreadKey, *, user: str = ANA) -> None:
        """A person presses Stop on the card: no message of theirs is in the thread."""
        self._take_in(key, self.slack._next_ts(), user, "", "stop")

    def _take_in(
        self, key: ThreadKey, ts: str, user: str, text: str, kind: Any, files: tuple[FileRef, ...] = ()
    ) -> None:
        message = IncomingMessage(
            team=key.team,
            channel=key.channel,
            channel_type="channel",
            ts=ts,
            root_ts=key.root_ts,
            user=user,
            text=text,
            kind=kind,
            mention=True,
            files=files,
        )
        with self._unwatched():
            self.store.record_message(message, quiet=kind == "note" or (kind == "text" and not text and not files))

    # --- what workers do

    def sessions_at(self, node: str) -> FakeSessions:
        """The session host of a node."""
        if node not in self._hosts:
            self._hosts[node] = FakeSessions(self._folder / node, bash=self.settings.sandbox.bash)
        return self._hosts[node]

    def worker(self, node: str = "here") -> WorkerContext:
        """A worker process that has just started."""
        settings = self.settings.model_copy(update={"node_id": node})
        sessions = self.sessions_at(node)
        slack = SlackWriter(self.slack.client(), self.store)
        blobs = Blobs(settings.files)
        sessions._limits_of = partial(limits_of, settings)
        downloader = Downloader(
            lambda: TOKEN,
            max_bytes=1_000_000,
            look_up=look_up_with(self.slack.client()),
            transport=self.slack.transport,
        )
        context = TurnContext(
            settings=settings,
            store=self.store,
            blobs=blobs,
            slack=slack,
            sessions=sessions,
            files=ThreadFiles(
                store=self.store,
                slack=slack,
                sessions=sessions,
                blobs=blobs,
                downloader=downloader,
                cloner=Cloner(settings.repositories),
            ),
            transfer=SessionTransfer(
                self.store,
                blobs,
                sessions,
                node_id=node,
                enabled=self._hands_over,
                unexported=Unexported(self._folder / node),
                limits=settings.storage,
            ),
            model=self.model,
            models=self.models,
            prompts=_prompts(),
            environment=replace(_ENVIRONMENT, bash=self.settings.sandbox.bash),
            stops=StopBoard(self.store.stops_asked),
            second=self.second,
            broker=BrokerClient(settings.broker_socket, back_s=0.2) if settings.sources else None,
            tools=ToolsClient(settings.tools_socket, back_s=0.2) if settings.mcp else None,
        )
        leases = Leases(self._redis, self.store, LEASE_TTL_S)
        admission = Admission(self._redis, leases, settings.fairness)
        return WorkerContext(context, leases, self.wakes(), Backoff(self._redis), admission)

    def wakes(self) -> Wakes:
        """Those of a process that has read its key at its start."""
        signatures = signatures_of(self.store.wake_key)
        signatures.read()
        return Wakes(self._redis, self.store, signatures)

    def run(self, key: ThreadKey, *, node: str = "here", death: Death | None = None) -> None:
        """What RQ does after a wake: a worker process advances the thread."""
        with self.watched(death or Death()):
            jobs.run(self.worker(node), key.id)

    def settle(self, key: ThreadKey, death: Death | None = None) -> None:
        """Run the thread until it rests. A worker that dies is followed by one that does not."""
        for _ in range(10):
            try:
                self.run(key, death=death)
            except Killed:
                death = None
                self.sessions.halted = False
            if not self.works(key):
                return
        raise AssertionError(f"the thread does not come to rest:\n{self.text(key)}")

    def check(self, death: Death | None = None, times: int = 1) -> None:
        """What the process of the clean room does on this node, so many times; it may die."""
        context = self.worker().context
        room = Room(context.settings, context.blobs, context.sessions, context.files)
        checker = Checker(context.settings, context.store, context.slack, room, away_s=0.0)
        with self.watched(death or Death()):
            checker.begin()
            for _ in range(times):
                checker.next()

    def works(self, key: ThreadKey) -> bool:
        """Whether the thread has unread mail or a turn that is not at rest."""
        current = self.store.current_turn(key.id)
        running = current is not None and current.status == "running"
        return running or bool(self.store.unread(key.id))

    def put_off(self, key: ThreadKey) -> bool:
        """Whether the thread is to be tried again later."""
        return bool(Backoff(self._redis).postponed([key.id]))

    @contextmanager
    def watched(self, death: Death) -> Iterator[None]:
        """Inside the block every effect of a worker is counted, and death may come."""
        death.then = self._halt
        writing = Database.writing

        def watch(when: str, effect: str) -> None:
            if not getattr(self._acting, "people", False):
                death.watch(when, effect)

        @contextmanager
        def watched_writing(database: Database, **how: Any) -> Iterator[Any]:
            watch("before", "write")
            with writing(database, **how) as connection:
                yield connection
            watch("after", "write")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Database, "writing", watched_writing)
            for double in (self.slack, *self._hosts.values()):
                patch.setattr(double, "watch", watch)
            yield

    def _halt(self) -> None:
        """A cell runs in the thread of its worker here, and must not outlive it."""
        self.sessions.halted = True

    @contextmanager
    def _unwatched(self) -> Iterator[None]:
        """What people and the bot do in the block is no effect of a worker."""
        self._acting.people = True
        try:
            yield
        finally:
            self._acting.people = False

    def lose_lease(self, key: ThreadKey) -> None:
        """Another worker takes the thread, as far as the Store knows."""
        with self._unwatched():
            self.store.raise_fence(key.id)

    # --- what can be seen

    def messages(self, key: ThreadKey, *, ours: bool = False) -> list[Json]:
        """The thread in Slack's shape; of our bot alone with `ours`."""
        return [message for message in self.slack.thread(key.root_ts, key.channel) if not ours or message.get("bot_id")]

    def text(self, key: ThreadKey) -> str:
        """All that the bot said, as a reader sees it."""
        return "\n".join(message_text(message) for message in self.messages(key, ours=True))

    def seen(self, key: ThreadKey) -> list[tuple[str, list[str], list[str]]]:
        """The thread as people see it: words, names of files, reactions. Without lines that tell how long it took."""
        return [
            (timeless(message_text(message)), _names(message.get("files")), _names(message.get("reactions")))
            for message in self.messages(key)
        ]

    def files(self, key: ThreadKey) -> list[str]:
        """The names of the files that the bot put into the thread."""
        return [name for message in self.messages(key, ours=True) for name in _names(message.get("files"))]

    def signs(self, key: ThreadKey) -> list[str]:
        """The reactions on the message that began the thread."""
        return _names(self.messages(key)[0].get("reactions"))

    def inheritors(self, thread_id: str) -> list[str]:
        """The threads that hold words of this one."""
        with self.store._database.reading() as db:
            return inheritors_of(db, [thread_id])

    def turns(self, key: ThreadKey) -> list[TurnRow]:
        """The thread's turns, oldest first."""
        return self.store.turns(key.id)

    def statuses(self, key: ThreadKey) -> list[str]:
        """The status of each turn."""
        return [turn.status for turn in self.turns(key)]

    def kinds(self, key: ThreadKey) -> list[str]:
        """The kinds of the last turn's steps."""
        return [str(step["kind"]) for step in self.steps(key)]

    def steps(self, key: ThreadKey, kind: str = "") -> list[Json]:
        """The last turn's steps as they are stored, of one kind or all."""
        found = [dump_step(step) for step in self.store.steps(self.turns(key)[-1].id)]
        return [step for step in found if not kind or step["kind"] == kind]


NewWorld = Callable[..., World]
"""Makes a world; the arguments are those of `World` after its folder and database."""


def _names(items: Sequence[Json] | None) -> list[str]:
    return [str(item["name"]) for item in items or ()]


def new_database(folder: Path) -> Path:
    """An empty database of the newest schema, to be copied: migrating takes longer than most turns here."""
    path = folder / "template.db"
    store = Store(f"sqlite:///{path}")
    store.migrate()
    store.close()
    return path


@contextmanager
def hurried() -> Iterator[None]:
    """Inside the block nothing waits long between two tries, and nothing for a disk."""
    # Each look for a stop asks the Store: more of them would take more of the processor than short turns do.
    quick = {"LOOK_EVERY_S": 0.02, "AGAIN_S": 0.001, "LOOK_AFTER_S": 0.0, "SHARE_WAIT_S": 0.05, "LOOK_AGAIN_S": 0.01}
    writing = ("posts", "shares", "uploads", "writer")
    modules = [importlib.import_module(f"core.slack.writing.{name}") for name in writing]
    modules += _modules_of_turns()
    with without_syncs.used(), pytest.MonkeyPatch.context() as patch:
        for module in modules:
            for name, value in quick.items():
                if hasattr(module, name):
                    patch.setattr(module, name, value)
        yield


def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn waits no more than a moment for a session host."""
    for module in _modules_of_turns():
        if hasattr(module, "WAIT_S"):
            monkeypatch.setattr(module, "WAIT_S", 0.02)


@cache
def _modules_of_turns() -> list[ModuleType]:
    found = pkgutil.walk_packages(workers.turn.__path__, "workers.turn.")
    return [importlib.import_module(each.name) for each in found]
