"""Threads that are held at a moment of their turn, so that a fault strikes all of them at once."""

from __future__ import annotations

import itertools
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fault_world import ASKING_CHANNEL, World
from httpx import HTTPError
from patience import eventually
from sqlalchemy import Connection, text

from core.interactions import ApprovalButton
from core.steps import CellRan, Decided, Questioned, open_question
from core.store import StoreUnreachable
from core.values import ThreadKey
from executor.client import HostUnavailable, SessionClient
from tryout.stack.blocks_text import message_text

Json = dict[str, Any]
_numbers = itertools.count(1)


@dataclass
class Case:
    """One thread: a question of two cells, later a follow-up of one that needs the variables of the first."""

    world: World
    user: str = "ana"
    channel: str = "#sales"
    key: ThreadKey | None = None
    questions: list[str] = field(default_factory=list)
    letters: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.number = next(_numbers)

    @property
    def thread(self) -> ThreadKey:
        """Its id in Slack, once a question was asked."""
        assert self.key is not None
        return self.key

    def new_question(self, letters: str) -> str:
        """The text of the next question, a cell for each letter."""
        question = f"q{self.number}x{len(self.questions) + 1}"
        self.questions.append(question)
        self.letters += [f"{question}.{letter}" for letter in letters]
        return f"walk {question} {' '.join(letters)}"

    def ask(self, letters: str = "ab") -> None:
        """Post the next question: the first mentions the bot, others follow in the thread."""
        words = self.new_question(letters)
        self.post(words)

    def post(self, words: str) -> None:
        """Say these words in the thread."""
        if self.key is None:
            self.key = self.world.slack.say(self.channel, self.user, f"@threadbook {words}").thread
        else:
            self.world.slack.say(self.channel, self.user, words, thread_ts=self.key.root_ts)

    def answered(self) -> bool:
        """Whether everything asked so far has its report in Slack and the thread rests."""
        store = self.world.store
        turns = store.turns(self.thread.id)
        rests = bool(turns) and turns[-1].status != "running" and not store.unread(self.thread.id)
        return rests and all(self.reports(question) for question in self.questions)

    def ended(self) -> bool:
        """Whether the thread rests, with an answer or without."""
        turns = self.world.store.turns(self.thread.id)
        return bool(turns) and turns[-1].status != "running" and not self.world.store.unread(self.thread.id)

    def said(self) -> list[Json]:
        """What the bot posted."""
        return [message for message in self.world.slack.thread(self.thread) if message.get("bot_id")]

    def reports(self, question: str) -> int:
        """How many reports of this question stand in Slack."""
        return sum(f"Walked {question}:" in message_text(message) for message in self.said())

    def charts(self) -> int:
        """How many charts of cells stand in Slack, however often each."""
        return sum(file["name"].endswith(".png") for message in self.said() for file in message.get("files") or ())

    def dropped(self) -> int:
        """How many uploads Slack took and shows nowhere."""
        files = self.world.slack.http.get("/control/files").raise_for_status().json()["files"]
        shown = {file["id"] for file in files if file.get("shares")}
        with self.world.engine.connect() as db:
            taken = "SELECT response FROM outbox WHERE thread_id = :id AND method = 'files.completeUploadExternal'"
            rows = db.execute(text(taken), {"id": self.thread.id}).scalars().all()
        return sum(not shown.issuperset(row.get("file_ids") or ()) for row in rows)

    def cells(self) -> list[CellRan]:
        """The cells as the Store has them, over all turns."""
        store = self.world.store
        return [s for turn in store.turns(self.thread.id) for s in store.steps(turn.id) if isinstance(s, CellRan)]

    def approvals(self) -> list[tuple[Questioned, list[Decided]]]:
        """The questions whether a cell may run, each with all that was decided on it, over all turns."""
        found: list[tuple[Questioned, list[Decided]]] = []
        for turn in self.world.store.turns(self.thread.id):
            steps = self.world.store.steps(turn.id)
            decided = [step for step in steps if isinstance(step, Decided)]
            asked = [step for step in steps if isinstance(step, Questioned) and step.approval is not None]
            found += [(step, [each for each in decided if each.call_id == step.call_id]) for step in asked]
        return found

    def waits_for_yes(self, at_least: int = 1) -> bool:
        """Whether so many questions were asked, and the last one stands in the thread and waits."""
        turns = self.world.store.turns(self.thread.id)
        is_open = bool(turns) and turns[-1].status == "waiting" and open_question(self.world.store.steps(turns[-1].id))
        return bool(is_open) and len(self.approvals()) >= at_least and len(self.buttons()) == 1

    def comes_to_ask(self, count: int) -> None:
        """Wait until it has asked so many questions and waits. Fails with where the thread stands."""
        try:
            eventually(lambda: self.waits_for_yes(at_least=count), f"question {count} whether a cell may run")
        except AssertionError as error:
            turns = [(turn.id, turn.status) for turn in self.world.store.turns(self.thread.id)]
            asked = [(step.call_id, [each.outcome for each in decided]) for step, decided in self.approvals()]
            said = [message_text(message)[:200] for message in self.said()][-4:]
            raise AssertionError(f"{error}: {turns}, asked {asked}, buttons {self.buttons()}, said {said}") from None

    def buttons(self) -> list[str]:
        """The messages that still offer to let a cell run, by their ts."""
        offers = ApprovalButton(turn=self.thread.id, call="any", do="run").id
        return [
            message["ts"]
            for message in self.said()
            for block in message.get("blocks") or ()
            if any(element.get("action_id") == offers for element in block.get("elements") or ())
        ]

    def say_yes(self) -> None:
        """Press Run twice at once below the open question, and again while nobody takes it, until it is decided.

        The next question may be there by then. It is left alone.
        """
        asked, count, taken = self.buttons(), len(self.approvals()), set[str]()
        eventually(lambda: self._press_below(asked, taken) and self._decided(count), "the yes")

    def say_yes_until_answered(self) -> None:
        """Press Run below each question, until the answer has come."""
        taken: set[str] = set()
        eventually(lambda: self._press_below(None, taken) and self._has_answer(), "the yes and the answer")

    def _has_answer(self) -> bool:
        with suppress(HTTPError, StoreUnreachable):
            return self.answered() and self._decided()
        return False

    def _decided(self, count: int | None = None) -> bool:
        """Whether each of the first `count` questions, or of all, was decided once."""
        with suppress(StoreUnreachable):
            return all(len(decided) == 1 for _, decided in self.approvals()[:count])
        return False

    def _press_below(self, asked: Sequence[str] | None, taken: set[str]) -> bool:
        """Press below each open question, of these messages or of all, that is not among those `taken`.

        Whether there was none.
        """
        with suppress(HTTPError, StoreUnreachable):
            waiting = [ts for ts in self.buttons() if asked is None or ts in asked]
            presses = [ts for ts in waiting if ts not in taken for _ in range(2)]
            with ThreadPoolExecutor(max_workers=2) as people:
                taken.update(filter(None, people.map(self._press, presses)))
            return not waiting
        return False

    def _press(self, ts: str) -> str:
        """Press Run once; returns the message when the bot took the press."""
        offers = ApprovalButton(turn=self.thread.id, call="any", do="run").id
        with suppress(HTTPError, ValueError):  # nobody answers the press, or somebody else was quicker
            self.world.slack.press(self.thread, ts, offers, self.user)
            return ts
        return ""

    def journal(self) -> list[Json]:
        """What the session hosts noted of the thread's cells."""
        return [line for node in self.world.nodes for line in node.journal(self.thread.id)]


class Moment:
    """Where a thread stands when the fault strikes. `reach` returns when it stands there, `release` lets it go on."""

    name = ""

    def __init__(self, case: Case) -> None:
        self.case = case

    def reach(self) -> None:
        """Bring the thread there."""
        raise NotImplementedError

    def strike(self) -> None:
        """What happens at the very moment of the fault."""

    def release(self) -> None:
        """Let the thread go on."""

    def follow_up(self) -> None:
        """Ask for one more cell, which needs the variables of all before."""
        self.case.ask("d")


class Arriving(Moment):
    """The message is sent at the moment of the fault: it is neither stored nor taken."""

    name = "as the message arrives"

    def reach(self) -> None:
        self.case.world.slack.say("#sales", "ben", "nobody is asked here")

    def strike(self) -> None:
        self.case.ask()


class ArrivingMeanwhile(Arriving):
    """The message is sent while the part is away."""

    def strike(self) -> None:
        """Nothing yet."""

    def release(self) -> None:
        self.case.ask()


class InModelCall(Moment):
    """The model was asked for the second cell and has not answered."""

    name = "during a model call"

    def reach(self) -> None:
        model, words = self.case.world.model, self.case.new_question("ab")
        self._step = self.case.letters[-1]
        model.held_replies[self._step] = threading.Event()
        self.case.post(words)
        eventually(lambda: self._step in model.waiting, "the model's call")

    def release(self) -> None:
        self.case.world.model.held_replies.pop(self._step).set()


class InCell(Moment):
    """The second cell runs."""

    name = "in mid-cell"
    letters = "ab"

    def reach(self) -> None:
        words = self.case.new_question(self.letters)
        self._step = self.case.letters[-1]
        self.case.world.model.held_cells.add(self._step)
        self.case.post(words)
        eventually(self._second_cell_runs, "the second cell")

    def release(self) -> None:
        """Put the file into the workspace that the cell waits for; the next session host finds it there.

        A repeated cell waits for no file: the node that was killed may have taken the file with it.
        """
        self.case.world.model.held_cells.discard(self._step)

        def given() -> bool:
            with tempfile.NamedTemporaryFile() as go, suppress(HostUnavailable, StoreUnreachable):
                self.sessions.put(self.case.thread.id, f"go-{self.case.questions[-1]}", Path(go.name))
                return True
            return False

        self._released = threading.Thread(target=eventually, args=(given, "the session host"), daemon=True)
        self._released.start()

    @property
    def sessions(self) -> SessionClient:
        """The session host that has the thread now."""
        return self.case.world.node_of(self.case.thread.id).sessions

    def _second_cell_runs(self) -> bool:
        with suppress(HostUnavailable):
            live = {one.thread_id: one.cell_id or "" for one in self.sessions.sessions()}
            return live.get(self.case.thread.id, "").endswith("/c2")
        return False


class ChartShown(InCell):
    """The first cell's chart stands in the thread, and the second cell runs."""

    name = "after the first chart"
    letters = "pb"

    def reach(self) -> None:
        super().reach()
        eventually(lambda: self.case.charts() == 1, "the chart")


class ChartShared(Moment):
    """Slack takes the first cell's chart: its reply does not come, and it shows the chart only after 14 s."""

    name = "while the first chart is shared, which takes Slack 14 s"

    def reach(self) -> None:
        world, case = self.case.world, self.case
        case.ask("a")  # the thread must be there before a fault can name it
        eventually(case.answered, "the first answer")
        call = "files.completeUploadExternal"
        before = max((entry["n"] for entry in world.slack.wire(kind="call")), default=0)
        where = {"thread_ts": case.thread.root_ts}
        world.control("POST", "faults", method="share", kind="slow", seconds=14)
        world.control("POST", "faults", method=call, kind="slow", seconds=100, where=where)
        case.ask("pb")
        eventually(lambda: world.slack.wire(kind="call", method=call, after=str(before)), "the call that shares it")


class BetweenCellAndStep(InCell):
    """The second cell has ended; the session host has its result, the Store has not: a lock on the thread's row."""

    name = "between cell and step"

    def reach(self) -> None:
        super().reach()
        self._lock: Connection = self.case.world.engine.connect()
        self._lock.execute(text("SELECT 1 FROM threads WHERE id = :id FOR UPDATE"), {"id": self.case.thread.id})
        super().release()
        eventually(lambda: sum("result" in line for line in self.case.journal()) == 2, "the second result")

    def release(self) -> None:
        with suppress(Exception):  # a Postgres that was stopped has forgotten the lock
            self._lock.rollback()
        with suppress(Exception):
            self._lock.close()


class Delivering(Moment):
    """Slack has the report, and its reply has not come."""

    name = "while delivering"

    def reach(self) -> None:
        world = self.case.world
        words = self.case.new_question("ab")
        question = self.case.questions[-1]
        before = world.model.before_report

        def order(asked: str) -> None:
            if asked == question:
                where = {"thread_ts": self.case.thread.root_ts}
                fault = {"method": "chat.postMessage", "kind": "slow", "seconds": 100, "where": where}
                world.control("POST", "faults", **fault)
            else:
                before(asked)

        world.model.before_report = order
        self.case.post(words)
        eventually(lambda: self.case.reports(question), "the report")

    def release(self) -> None:
        self.case.world.control("DELETE", "faults")


class AtRest(Moment):
    """The question was answered; a follow-up is asked after the fault."""

    name = "at rest"

    def reach(self) -> None:
        self.case.ask()
        eventually(self.case.answered, "the first answer")

    def release(self) -> None:
        self.case.ask("c")


class WaitingForYes(Moment):
    """The first cell ran after a yes; the second one waits for its own, and no process holds the turn."""

    name = "while waiting for an approval"

    def reach(self) -> None:
        self.case.channel = ASKING_CHANNEL
        self.case.ask()
        eventually(self.case.waits_for_yes, "the first question whether a cell may run")
        self.case.say_yes()
        self.case.comes_to_ask(2)

    def release(self) -> None:
        """A person presses, and presses again while nobody answers: a press that the bot took must be enough.

        A cell that a fault cut off is asked about again, and gets another yes.
        """
        self._pressing = threading.Thread(target=self.case.say_yes_until_answered, daemon=True)
        self._pressing.start()

    def follow_up(self) -> None:
        self._pressing.join()
        before = len(self.case.approvals())
        super().follow_up()
        self.case.comes_to_ask(before + 1)
        self.case.say_yes()


AFTER_A_CHART: tuple[Callable[[Case], Moment], ...] = (ChartShown, ChartShared)
MOMENTS: tuple[Callable[[Case], Moment], ...] = (
    Arriving,
    InModelCall,
    InCell,
    BetweenCellAndStep,
    Delivering,
    AtRest,
    WaitingForYes,
)
