"""Builds a program for a thread: in its own sandbox, with a card that shows the progress, and posts it as one zip.

The folder of the build is below the node's home. If a worker dies during a build, the command runs again and continues
from this folder. On another node it begins again. One build runs on a node at a time; the others wait for it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from core.errors import OursToFix, SlackFailed, SlackUnreachable
from core.interactions import StopButton
from core.phrases import say
from core.settings import Settings
from core.slack import blocks as kit
from core.slack.blocks import Limit, SlackMessage
from core.slack.text import clip, escape
from core.slack.writing.uploads import Upload
from core.slack.writing.writer import SlackWriter
from core.steps import Proposed, Usage
from core.telemetry import get_logger
from core.values import Language, Lease, ThreadKey
from executor.launch import running_host
from executor.wire import limits_from
from workers.agent.text import one_line
from workers.builder.build import Builder, CannotBuild
from workers.builder.build_state import Order
from workers.builder.history.handover import HandedOver, hand_over
from workers.builder.history.iterations import HANDED_OVER, History, Iteration
from workers.builder.history.program_pages import how_to_run
from workers.builder.packages.lock import Lock, Packages, PackageStore, gather
from workers.builder.progress import Progress
from workers.builder.requirements.components import plan
from workers.builder.requirements.drafting import within
from workers.builder.requirements.requirement import Requirement, RunTable
from workers.builder.sandbox.session_walls import SandboxWalls
from workers.builder.sandbox.walls import Walls
from workers.delivery.reports.pack import zipped
from workers.turn.budgets import spent_of
from workers.turn.build_model import BuildModel
from workers.turn.holding import share_upload
from workers.turn.open_turn import OpenTurn

log = get_logger(__name__)

_LOOK_EVERY_S = 0.5
"""How often a build looks whether the one that runs on its node has ended."""
_FOLDER = "programs"
_ROWS = 20


@contextmanager
def walls_for(settings: Settings, thread_id: str, run: RunTable, packages: Path | None = None) -> Iterator[Walls]:
    """Walls with the limits of the thread, and no more memory than the requirement names. They end with the block.

    Programs may import from the folder `packages`.
    """
    own = limits_from(settings.session_limits(ThreadKey.parse(thread_id).channel))
    limits = replace(
        own, memory_mb=min(own.memory_mb, run.memory_mb), cell_grace_s=1.0, workspace_mb=256, spare_sessions=0
    )
    shown = [packages] if packages else []
    with (
        running_host(
            limits=limits, bash=True, syscalls=settings.sandbox.syscalls, shown=shown, toolchains=settings.toolchains
        ) as sessions,
        closing(SandboxWalls(sessions, packages=packages)) as walls,
    ):
        yield walls


def folder_of(home: Path, thread_id: str, proposal: str = "") -> Path:
    """Where the builds of a thread lie on this node, or the one of a requirement file."""
    names = [hashlib.sha256(each.encode()).hexdigest()[:20] for each in (thread_id, proposal) if each]
    return home.joinpath(_FOLDER, *names)


def packages_for(
    turn: OpenTurn, proposed: Proposed, requirement: Requirement, approved: Lock | None = None
) -> tuple[Packages, Lock | None]:
    """The packages that a program needs and that may be installed; and a lock that waits for a person's yes.

    `approved` is the lock that somebody said yes to.
    """
    settings = turn.context.settings
    known = History(folder_of(settings.home, turn.thread_id, proposed.origin or proposed.id)).all()
    before = approved or next((one.packages for one in reversed(known) if one.packages), None)
    waiting: list[Lock] = []

    def approve(lock: Lock) -> bool:
        if approved is not None and lock.digest == approved.digest:
            return True
        waiting.append(lock)
        return False

    found = gather(PackageStore(settings.home, settings.packages), requirement, before, approve)
    if waiting:
        found = replace(found, why=say("packages_not_approved", turn.language))
    return found, waiting[0] if waiting else None


def build(turn: OpenTurn, ts: str, proposed: Proposed, requirement: Requirement, packages: Packages) -> bool:
    """Build a program and post it. True when it was posted; else the thread was told what happened instead.

    `ts` is that of the command: its messages are posted once.
    """
    settings, language = turn.context.settings, turn.language
    thread = _Thread(turn, ts)
    requirement = within(requirement)
    folder = folder_of(settings.home, thread.id, proposed.origin or proposed.id)
    history = History(folder)
    card = _Card(thread, proposed, requirement)
    with _alone(settings, lambda: _is_awaited(turn, card, say("build_busy", language))) as is_ours:
        if not is_ours:
            card.close()
            _say_stopped(thread, proposed, say("build_stopped_by_person", language))
            return False
        known = history.all()
        resume = bool(known) and known[-1].state in ("open", "stopped")
        note = say("build_resumed", language) if resume else ""
        if proposed.origin and not known:
            note = say("build_anew", language)
        card.note(note)
        try:
            with walls_for(settings, thread.id, requirement.run, packages.folder) as walls:
                builder = Builder(
                    model=BuildModel(turn, language),
                    prompts=turn.context.prompts,
                    walls=walls,
                    history=history,
                    tell=card.tell,
                    cost_of=lambda usage: _cost(usage, turn.model.name, settings),
                    wanted=lambda: not turn.is_unwanted(),
                )
                order = Order(requirement, proposed.text, resume=resume, packages=packages, ordered_by=ts)
                iteration = _ended(known, ts) or builder.build(order)
                handed = _handed_over(history, iteration, requirement, proposed.text)
        except CannotBuild as error:
            card.close()
            _say(thread, proposed, "refused", say("build_refused", language, title=proposed.title, why=f"{error}."))
            return False
        card.end(handed.iteration)
        return _tell(thread, proposed, requirement, handed)


def _is_awaited(turn: OpenTurn, card: _Card, why: str) -> bool:
    """Whether to go on waiting for another build. The card says for what."""
    card.note(why)
    return not turn.is_unwanted()


def _ended(known: Sequence[Iteration], ts: str) -> Iteration | None:
    """The build that this command has ended already: its worker died before the program was posted."""
    last = known[-1] if known else None
    return last if last and last.ordered_by == ts and last.state not in ("open", "stopped") else None


def _handed_over(history: History, iteration: Iteration, requirement: Requirement, text: str) -> HandedOver:
    if iteration.hashes:  # by a worker that died afterwards
        return HandedOver(iteration, tuple(iteration.hashes))
    return hand_over(history, iteration, requirement, text)


@dataclass(frozen=True, slots=True)
class _Thread:
    """Where a build tells what happens."""

    turn: OpenTurn
    ts: str

    @property
    def id(self) -> str:
        return self.turn.thread_id

    @property
    def key(self) -> ThreadKey:
        return ThreadKey.parse(self.id)

    @property
    def lease(self) -> Lease:
        return self.turn.lease

    @property
    def language(self) -> Language:
        return self.turn.language

    @property
    def slack(self) -> SlackWriter:
        return self.turn.context.slack


class _Card:
    """The message that shows a build: a row for each component, with what its critics say."""

    def __init__(self, thread: _Thread, proposed: Proposed, requirement: Requirement) -> None:
        self._thread, self._proposed = thread, proposed
        self._rows = {one.name: "…" for one in plan(requirement).components}
        self._note = ""
        self._drawn_at = time.monotonic()
        slot = f"{thread.id}/{proposed.id}:card:{thread.ts}"
        message = self._message("build_card", runs=True)
        self._ts = thread.slack.post(thread.lease, thread.key, slot, message.text, message.blocks)

    def note(self, text: str) -> None:
        """Show a line below the components, which stays until something else happens."""
        if text != self._note:
            self._note = text
            self._draw(self._message("build_card", runs=True))

    def close(self) -> None:
        """Show that nothing is built here, without the button."""
        self._note = ""
        self._draw(self._message("build_card_ended", runs=False))

    def tell(self, one: Progress) -> None:
        """Show what happened, not more often than a card is drawn."""
        if one.kind == "asked":
            return
        if one.component in self._rows:
            mark = "✓" if one.good else "✗"
            self._rows[one.component] = f"{mark} {one_line(one.text, 200)}"
        elif one.kind != "plan":
            self._note = one_line(one.text, 200)
        now = time.monotonic()
        if now - self._drawn_at >= self._thread.turn.context.settings.slack.progress_interval_s:
            self._drawn_at = now
            self._draw(self._message("build_card", runs=True))

    def end(self, iteration: Iteration) -> None:
        """Show the outcome: components × critics, without the button."""
        for built in iteration.components:
            self._rows[built.name] = built.summary
        done = iteration.state in ("passed", "failed")
        self._draw(self._message("build_card_done" if done else "build_card_ended", runs=False))

    def _message(self, head: str, *, runs: bool) -> SlackMessage:
        language, proposed = self._thread.language, self._proposed
        line = say(head, language, title=proposed.title, version=proposed.version)
        rows = [f"{name}: {said}" for name, said in list(self._rows.items())[:_ROWS]]
        text = clip("\n".join([line, *rows, *([self._note] if self._note else [])]), Limit.SECTION)
        blocks = [kit.paragraph(text)]
        if runs:
            stop = kit.button(say("stop_button", language), StopButton(turn=self._thread.turn.row.id), style="danger")
            blocks.append(kit.actions(stop))
        return SlackMessage(kit.fallback(text), blocks)

    def _draw(self, message: SlackMessage) -> None:
        thread = self._thread
        try:
            thread.slack.update(thread.lease, thread.key, self._ts, message.text, message.blocks)
        except (SlackFailed, SlackUnreachable, OursToFix) as error:
            log.warning("build_card_not_drawn", error=error)


def _tell(thread: _Thread, proposed: Proposed, requirement: Requirement, handed: HandedOver) -> bool:
    """Post the program, or say why there is none."""
    iteration, language, title = handed.iteration, thread.language, proposed.title
    if iteration.state == "stopped":
        why = say("build_stopped_by_person", language) if thread.turn.is_unwanted() else iteration.why
        _say_stopped(thread, proposed, why)
        return False
    if iteration.state == "held back":
        _say(thread, proposed, "held", say("build_held", language, title=title, findings=_findings(iteration)))
        return False
    folder = folder_of(thread.turn.context.settings.home, thread.id, proposed.origin or proposed.id)
    run = how_to_run(plan(requirement), (*requirement.tests.case, *iteration.cases))
    several = len(iteration.components) > 1
    comment = say(
        "build_here",
        language,
        title=title,
        version=proposed.version,
        run=f"cd {title} && {run}" if run else "",
        tests=_tests(thread, requirement, iteration),
        security=_security(thread, iteration),
        failed="; ".join(_failed(iteration)),
        skipped=", ".join(
            dict.fromkeys(f"{name}.{one.critic}" if several else one.critic for name, one in iteration.skipped_checks)
        ),
    )
    if untested := list(_untested(iteration)):
        comment += "\n" + say("build_untested", language, names=one_line(", ".join(untested), 300))
    if left_out := iteration.mutation.left_out:
        names = one_line("; ".join(left_out), 300)
        comment += "\n" + say("build_left_out", language, count=len(left_out), names=names)
    if iteration.lacks_packages:
        missing = ", ".join(iteration.missing)
        comment += "\n" + say("packages_missing", language, packages=missing, why=one_line(iteration.missing_why, 300))
    upload = Upload(name=f"{title}.zip", data=_zip(History(folder), title), title=f"{title}.zip")
    key = f"{thread.id}/{proposed.id}:zip:{proposed.version}"
    try:
        share_upload(thread.turn, key, upload, escape(clip(comment, Limit.SECTION)))
    except SlackFailed as error:
        _say(thread, proposed, "unposted", say("build_not_posted", language, why=error.error))
        return False
    return True


def _zip(history: History, title: str) -> bytes:
    """The program's folder, without the builds whose program was not handed over."""
    folder = history.folder
    kept_back = {history.of(one.number) for one in history.all() if one.state not in HANDED_OVER}
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    paths = (path for path in files if kept_back.isdisjoint(path.parents))
    return zipped((f"{title}/{path.relative_to(folder).as_posix()}", path.read_bytes()) for path in paths)


def _tests(thread: _Thread, requirement: Requirement, iteration: Iteration) -> str:
    every = (verdict for built in iteration.components for verdict in built.verdicts)
    found = [verdict for verdict in every if verdict.critic == "tests" and verdict.total]
    if not found:
        there_are = requirement.tests.case or iteration.cases
        return say("build_tests_not_run" if there_are else "build_no_tests", thread.language)
    good, total = sum(one.good for one in found), sum(one.total for one in found)
    return say("build_tests", thread.language, good=good, total=total)


def _untested(iteration: Iteration) -> Iterator[str]:
    """The requirements that no passing test shows: at most a model has looked at them."""
    several = len(iteration.components) > 1
    for built in iteration.components:
        yield from (f"{built.name}.{row.id}" if several else row.id for row in built.coverage if row.state != "tested")


def _security(thread: _Thread, iteration: Iteration) -> str:
    if unseen := iteration.not_looked_at:
        return say("build_not_looked_at", thread.language, components=", ".join(unseen))
    count = len(list(_security_findings(iteration)))
    return say("build_findings", thread.language, count=count) if count else say("build_secure", thread.language)


def _security_findings(iteration: Iteration) -> Iterator[str]:
    for built in iteration.components:
        for verdict in built.verdicts:
            if verdict.critic in ("security", "review"):
                yield from (f"{one.where}: {one.message}" for one in verdict.findings)


def _findings(iteration: Iteration) -> str:
    return one_line("; ".join(list(_security_findings(iteration))[:3]), 600)


def _failed(iteration: Iteration) -> Iterator[str]:
    for built in iteration.components:
        for verdict in built.verdicts:
            if verdict.state == "failed":
                said = verdict.findings[0].message if verdict.findings else verdict.note
                yield one_line(f"{built.name}, {verdict.critic}: {said}", 200)


def _say_stopped(thread: _Thread, proposed: Proposed, why: str) -> None:
    language = thread.language
    sentence = one_line(why, 300).rstrip(".。") + ("。" if language in ("zh", "ja") else ".")
    _say(thread, proposed, "stopped", say("build_stopped", language, title=proposed.title, why=sentence))


def _say(thread: _Thread, proposed: Proposed, what: str, text: str) -> None:
    key = f"{thread.id}/{proposed.id}:{what}:{thread.ts}"
    thread.slack.post(thread.lease, thread.key, key, escape(text))


def _cost(usage: Usage, model: str, settings: Settings) -> int | None:
    return spent_of(usage, model, settings).cost_micros


@contextmanager
def _alone(settings: Settings, is_awaited: Callable[[], bool]) -> Iterator[bool]:
    """Inside the block no other build runs on this node. False when nobody waits for this one any more."""
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(settings.home / "build.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        while not (ours := _lock(lock)) and is_awaited():
            _pause()
        yield ours
    finally:
        os.close(lock)


def _pause() -> None:
    time.sleep(_LOOK_EVERY_S)


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
