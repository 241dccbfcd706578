"""The one that does: performs what `decide` asks for, stores the step that comes of it, shows it, asks again.

Everything is resumable. A step is stored before it is shown, showing is idempotent (deterministic outbox keys), a cell
has the same id whenever the same steps are decided again, and mail becomes steps in one transaction. So after a crash
anywhere, `advance` goes on from what the Store holds.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from core.errors import BlobMissing, BlobsUnreachable, LeaseLost, OursToFix, SlackUnreachable
from core.metrics import RETRIES
from core.phrases import say
from core.slack_text import clip, escape
from core.store import StoredMessage, StoreUnreachable, TurnRow
from core.telemetry import bind_fields, get_logger
from core.values import FileRef, Lease, StoredFile, TurnStatus
from executor.client import HostUnavailable
from executor.values import Artifact, CellResult
from workers.agent.actions import (
    Action,
    AskHuman,
    AskModel,
    CorrectModel,
    Finish,
    GiveUp,
    RecordVerdict,
    RunCell,
    Wait,
)
from workers.agent.decide import decide
from workers.agent.messages import size
from workers.agent.standing import as_it_stands
from workers.agent.steps import (
    Asked,
    Briefed,
    CellRan,
    Checked,
    Compacted,
    Corrected,
    FileProblem,
    Finished,
    Forgot,
    GaveUp,
    Questioned,
    Replied,
    Step,
    Unread,
    dump_step,
    load_step,
)
from workers.agent.turn import AgentLimits, Turn, steps_after
from workers.budgets import allowance, asker, spent_of
from workers.deliver import Delivery
from workers.limits import environment_of
from workers.models.base import (
    ContextTooLong,
    ModelError,
    ModelNonsense,
    ModelRefused,
    ModelRequest,
    ModelUnavailable,
)
from workers.notices import worded
from workers.openings import as_asked, author_of, granted, next_turn, remembered
from workers.progress import STOPPED, progress_of, stopped_text
from workers.reports import render_report, report_input
from workers.stopping import complete_unless_stopped, stopped_by
from workers.wishes import reset_answer, reset_question, take_back, wish_among
from workers.workshop import ComeBack, Workshop

log = get_logger(__name__)

HOST_PATIENCE_S = 15.0
"""How long a turn waits for a session host that is being restarted."""
HOST_RETRY_S = 0.2
LIVE_OUTPUT_CHARS = 2_000
LIVE_INTERVAL_S = 0.5
NOTE_CHARS = 200

_MODEL_TROUBLE: dict[type[ModelError], str] = {
    ModelUnavailable: "model_down",
    ModelRefused: "model_refused",
    ModelNonsense: "model_nonsense",
    ContextTooLong: "model_context",
}

MOST_COMPACTIONS = 2
"""Times in a row that a prompt is made half as long when the endpoint finds it too long."""

_INTRODUCTIONS = {"offline-analyst": "offline_introduction"}
"""Models that say in a thread's first message what they are and how to get another."""

Result = TypeVar("Result")


def advance(shop: Workshop, lease: Lease) -> None:
    """Work on the lease's thread until its turn rests; what was written meanwhile is for the next go.

    Raises LeaseLost when another worker took over, ComeBack when Slack, the Store or the session host is away.
    """
    if (row := next_turn(shop, lease)) is not None:
        with bind_fields(thread=lease.thread_id, turn=row.id):
            log.info("turn goes on", model=row.model)
            _Run(shop, lease, row).until_rest()


def abandon(shop: Workshop, lease: Lease) -> None:
    """Close the thread's turn as our fault, unseen: it was resumed too often and got no further."""
    if (row := next_turn(shop, lease)) is not None:
        with _delivery(shop, lease, row) as show:
            _close_as_ours(shop, lease, row, show, [], at_last=True)


def _delivery(shop: Workshop, lease: Lease, row: TurnRow) -> Delivery:
    return Delivery(
        slack=shop.slack,
        store=shop.store,
        blobs=shop.blobs,
        lease=lease,
        turn=row,
        interval_s=shop.settings.slack.progress_interval_s,
    )


def _close_as_ours(
    shop: Workshop, lease: Lease, row: TurnRow, show: Delivery, steps: Sequence[Step], *, at_last: bool = False
) -> None:
    """End a turn with the sentence that it was our fault, and a reference that the log has too. Its mail is read.

    While Slack is away it is not told and raises ComeBack: whoever comes back finds the sentence among the steps. With
    `at_last` the turn ends all the same.
    """
    reference = uuid.uuid4().hex[:8]
    log.error("turn closed as our fault", turn=row.id, reference=reference)
    mail = shop.store.unread(lease.thread_id)
    end = GaveUp(reason="our_fault", text=say("our_fault", row.language, reference=reference), fault="ours")
    last: list[Step] = [*(as_asked(shop, message) for message in mail if message.kind != "stop"), end]
    shop.store.take_mail(lease, row.id, [message.id for message in mail], [dump_step(step) for step in last])
    try:
        show.gave_up(end, [step for step in steps if isinstance(step, CellRan)])
        show.rest([*steps, *last], "failed")
    except OursToFix as error:
        log.exception("the thread could not be told")
        if isinstance(error, SlackUnreachable) and not at_last:
            raise ComeBack(str(error)) from error
    shop.store.set_turn_status(lease, row.id, "failed")


class _Run:
    """One turn under one lease, from wherever it stands until it rests."""

    def __init__(self, shop: Workshop, lease: Lease, row: TurnRow) -> None:
        self._shop = shop
        self._lease = lease
        self._row = row
        self._language = row.language
        self._steps = [load_step(step) for step in shop.store.steps(row.id)]
        self._earlier = tuple(
            remembered(shop, past) for past in shop.store.turns(lease.thread_id) if past.number < row.number
        )
        self._resting = False
        self._shown_at = 0.0
        self._show = _delivery(shop, lease, row)

    def until_rest(self) -> None:
        """Perform action after action. What goes wrong ends the turn with a sentence in the thread, never in a loop."""
        with self._show:
            try:
                self._resume()
                while not self._resting:
                    self._join_mail()
                    if not self._resting and not self._settle_reset():
                        self._perform(self._next_action())
            except (LeaseLost, ComeBack):
                raise
            except (SlackUnreachable, StoreUnreachable, BlobsUnreachable) as error:
                raise ComeBack(str(error)) from error
            except HostUnavailable as error:
                self._show.say("host", say("host_unavailable", self._language))
                raise ComeBack("the session host is away") from error
            except Exception:
                log.exception("turn failed")
                with suppress(Exception):  # what people sent meanwhile is kept with its files, if that can be done
                    self._join_mail()
                _close_as_ours(self._shop, self._lease, self._row, self._show, self._steps)

    # --- from where it stands

    def _resume(self) -> None:
        """Show what a crash may have left unshown; nothing that was shown is shown twice."""
        self._settle_here()
        if self._row.model in _INTRODUCTIONS:
            text = say(_INTRODUCTIONS[self._row.model], self._language)
            self._show.say_once_per_thread("introduction", text)
        self._patiently(self._ready_session)
        self._tell_file_problems()
        for cell in self._cells:
            self._show_cell(cell)
        if self._steps and isinstance(last := self._steps[-1], Finished | Forgot | GaveUp):
            self._close(last)

    def _settle_here(self) -> None:
        """Note that this host has the thread now, with what it takes along; people are told what became of it."""
        here, before = self._shop.settings.host_id, self._shop.store.thread_host(self._lease.thread_id)
        if here == before:
            return
        came_along = self._patiently(partial(self._shop.luggage.unpack, self._lease))
        if before and any(isinstance(step, CellRan) for turn in (*self._earlier, self._steps) for step in turn):
            phrase = "session_moved" if came_along else "session_restarted"
            self._show.say(f"moved:{here}:{self._lease.token}", say(phrase, self._language))
        self._shop.store.set_thread_host(self._lease, here)

    def _join_mail(self) -> None:
        """Make steps of what people wrote since. A click that answers no open question is read and dropped."""
        unread = self._shop.store.unread(self._lease.thread_id)
        question = self._open_question()
        if wish := wish_among(unread, question):
            self._grant(wish, opens=not self._steps and unread[0].id == wish.id)
            self._join_mail()
            return
        if stop := _last_stop(unread, question):
            self._stop(stop, [message for message in unread if message.id <= stop.id])
            return
        outstanding = self._outstanding()
        if not unread and not outstanding:
            return
        joining = [message for message in unread if message.kind == "text" or question is not None]
        steps: list[Step] = [as_asked(self._shop, message) for message in joining]
        if files := {file.id: file for file in (*outstanding, *self._shop.intake.announced(joining))}:
            self._progress("status_reading_files")
            # While a question is open, a word such as "cancel" may be its answer.
            asked = self._stop_asked if question is None else lambda: False
            briefed = self._patiently(partial(self._brief, tuple(files.values()), asked))
            if briefed is None:
                self._join_mail()  # the stop is unread mail
                return
            steps.append(briefed)
        self._take(unread, steps)
        if question is not None and joining:
            self._show.answered(self._questions - 1, question, as_asked(self._shop, joining[0]))
        self._tell_file_problems()

    def _grant(self, wish: StoredMessage, *, opens: bool) -> None:
        """Take the last cell back, or ask whether the session is really to be reset: only a turn of its own may."""
        if wish.kind == "reset" and opens:
            self._take([wish], [as_asked(self._shop, wish), reset_question(self._language)])
            return
        steps: list[Step] = []
        text = say("reset_busy", self._language)
        if wish.kind == "undo":
            turns, author = (*self._earlier, self._steps), author_of(self._shop, wish)
            steps, text = self._patiently(partial(take_back, self._shop.sessions, turns, wish, author, self._language))
        self._show.say(f"{wish.kind}:{wish.ts}", escape(text))
        self._take([wish], steps)
        granted(self._shop.slack, self._lease, wish)

    def _settle_reset(self) -> bool:
        """Do what was answered to our question about a reset; False when there is nothing of the kind to do."""
        answer = reset_answer(self._steps, self._language)
        if answer is None:
            return False
        if answer.done:
            self._patiently(partial(self._shop.sessions.reset, self._lease.thread_id))
        self._end(answer)
        return True

    def _stop(self, stop: StoredMessage, mail: Sequence[StoredMessage]) -> None:
        """End the turn as a person wishes. What people sent before that is read, and its files are kept."""
        with suppress(HostUnavailable):  # after a crash the cell of a dead worker may still be running
            self._shop.sessions.interrupt(self._lease.thread_id)
        said = [message for message in mail if message.kind == "text"]
        steps: list[Step] = [as_asked(self._shop, message) for message in said]
        if files := self._shop.intake.announced(said):
            steps.append(Unread(files=files))
        author = author_of(self._shop, stop)
        end = GaveUp(reason=STOPPED, text=stopped_text(author, self._cells, self._language), fault="user")
        question, number = self._open_question(), self._questions - 1
        self._take(mail, [*steps, end])
        if question is not None:
            word = stop.text or say("stop_button", self._language)
            self._show.answered(number, question, Asked(user=stop.user, author=author, text=word, ts=stop.ts))
        self._close(end)

    def _brief(self, files: Sequence[FileRef], asked: Callable[[], bool]) -> Briefed | None:
        """What is known of these files once they are in place; None as soon as somebody asked to stop."""
        tries = sum(isinstance(step, Unread) for step in self._steps)
        label = f"{self._row.id}:{tries}" if tries else self._row.id
        return self._shop.intake.brief(self._lease, label, files, self._language, asked)

    def _outstanding(self) -> tuple[FileRef, ...]:
        """The files that were sent right before a stop and that nobody has read since."""
        files: dict[str, FileRef] = {}
        for step in (step for steps in (*self._earlier, self._steps) for step in steps):
            if isinstance(step, Briefed):
                files.clear()
            elif isinstance(step, Unread):
                files |= {file.id: file for file in step.files}
        return tuple(files.values())

    def _tell_file_problems(self) -> None:
        """Say of each file that could not be used why, in one message per briefing."""
        briefings = [step for step in self._steps if isinstance(step, Briefed)]
        for number, briefed in enumerate(briefings):
            if briefed.problems:
                lines = [say("files_problem_intro", self._language, name=p.name, why=p.why) for p in briefed.problems]
                if self._has_files:
                    lines.append(say("files_rest_goes_on", self._language))
                self._show.say(f"problems:{number}", escape("\n".join(lines)))

    # --- one action each

    def _next_action(self) -> Action:
        if self._steps and isinstance(self._steps[-1], Briefed) and not self._has_files:
            return GiveUp("needs_readable_file", say("needs_readable_file", self._language), "user")
        return decide(self._turn())

    def _perform(self, action: Action) -> None:
        match action:
            case AskModel():
                self._ask_model(action)
            case RunCell():
                self._run_cell(action)
            case AskHuman(call_id, question, options):
                self._append(Questioned(call_id=call_id, question=question, options=options))
            case CorrectModel(reason, text, call_id):
                self._append(Corrected(reason=reason, text=text, call_id=call_id))
            case RecordVerdict(is_final, reason):
                self._append(Checked(is_final=is_final, reason=reason))
            case Finish(report):
                self._end(Finished(report=report))
            case GiveUp(reason, text, fault):
                self._end(GaveUp(reason=reason, text=text, fault=fault))
            case Wait():
                self._park()

    def _ask_model(self, action: AskModel) -> None:
        self._progress("status_thinking" if action.purpose == "act" else "status_checking")
        words = Tail(self._tick)
        started = time.monotonic()
        try:
            request = ModelRequest(action.messages, action.tools, action.purpose)
            reply = complete_unless_stopped(self._shop.model, request, words.add, self._stop_asked)
        except ModelError as error:
            log.warning("model not asked", kind=type(error).__name__, error=str(error))
            if action.purpose == "check":  # a judge that cannot be asked must not cost the answer
                self._append(Checked(is_final=True, reason="the judge could not be asked"))
                return
            if isinstance(error, ContextTooLong) and self._may_compact:
                self._append(Compacted(context_chars=size(action.messages) // 2))
                return
            reason = next(key for kind, key in _MODEL_TROUBLE.items() if isinstance(error, kind))
            self._end(GaveUp(reason=reason, text=say(reason, self._language), fault="model"))
            return
        if reply is None:
            return
        spent = spent_of(reply.usage, self._shop.model.name, self._shop.settings)
        step = Replied(
            purpose=action.purpose,
            text=reply.text,
            calls=reply.calls,
            usage=reply.usage,
            finish=reply.finish,
            model=self._shop.model.name,
            cost_micros=spent.cost_micros,
            duration_s=round(time.monotonic() - started, 3),
        )
        body, user = dump_step(step), asker(self._steps)
        self._shop.store.append_step(self._lease, self._row.id, body, spent=spent, user=user)
        self._steps.append(step)

    @property
    def _may_compact(self) -> bool:
        """Whether the prompt was not made shorter too often already since the model last replied."""
        since = steps_after(self._steps, Replied)
        return sum(isinstance(step, Compacted) for step in (self._steps if since is None else since)) < MOST_COMPACTIONS

    def _run_cell(self, action: RunCell) -> None:
        output = Tail(partial(self._tick, running=action))
        self._progress("status_running", running=action)
        with bind_fields(cell=action.cell_id):
            result = self._lost_with_its_host(action) or self._patiently(partial(self._run_in_session, action, output))
            log.info("cell ended", status=result.status, seconds=round(result.duration_s, 3))
        self._patiently(partial(self._shop.luggage.pack, self._lease))
        step = self._ran(action, result)
        self._append(step)
        self._show_cell(step)

    def _lost_with_its_host(self, action: RunCell) -> CellResult | None:
        """The end of a cell that began at a host which is gone: perhaps it had effects, so it is not run again."""
        if not self._shop.luggage.began_elsewhere(self._lease.thread_id, action.cell_id):
            return None
        return CellResult(action.cell_id, "died", notice=say("cell_lost_with_host", self._language))

    def _run_in_session(self, action: RunCell, output: Tail) -> CellResult:
        self._ready_session()
        thread_id = self._lease.thread_id
        self._shop.store.check(self._lease)  # a worker that was paused past its lease starts no cell
        self._shop.luggage.begin_cell(self._lease, action.cell_id)
        with stopped_by(self._stop_asked, partial(self._shop.sessions.interrupt, thread_id)):
            sessions, told = self._shop.sessions, lambda _, text: output.add(text)
            if action.language == "bash":  # nobody can be asked yet, so the session host's answer is no
                return sessions.bash(thread_id, action.cell_id, action.code, on_output=told)
            return sessions.run(thread_id, action.cell_id, action.code, on_output=told)

    def _stop_asked(self) -> bool:
        return self._shop.store.stop_asked(self._lease.thread_id)

    def _ready_session(self) -> None:
        """See that the files of a thread without a live session are at hand when its session starts."""
        thread_id = self._lease.thread_id
        if not any(session.thread_id == thread_id for session in self._shop.sessions.sessions()):
            self._shop.intake.restore(thread_id)

    def _show_cell(self, cell: CellRan) -> None:
        """A cell's charts, and what it says of its session; of a cell that was stopped the card says it."""
        self._show.figures(cell)
        if cell.notice and cell.status == "ok":
            text = say("session_notice", self._language, notice=cell.told or cell.notice)
            self._show.say(f"notice:{cell.cell_id}", escape(text))

    def _park(self) -> None:
        if question := self._open_question():
            self._show.question(self._questions - 1, question)
        self._rest("waiting")

    def _end(self, step: Finished | Forgot | GaveUp) -> None:
        self._append(step)
        self._close(step)

    def _close(self, step: Finished | Forgot | GaveUp) -> None:
        """Show the end and close the turn; safe to do again."""
        status: TurnStatus = "done"
        if isinstance(step, Finished):
            self._progress("status_reporting")
            self._report()
        elif isinstance(step, Forgot):
            self._show.say("end", escape(step.text))
        else:
            status = "failed" if step.fault == "ours" else "stopped"
            self._show.gave_up(step, self._cells)
        self._rest(status)

    def _report(self) -> None:
        """Post the report and its files. The same steps make the same report."""
        store, blobs = self._shop.store, self._shop.blobs
        *earlier, steps = as_it_stands((*self._earlier, self._steps))
        given = report_input(
            steps,
            self._language,
            earlier=earlier,
            model=self._row.model,
            currency=self._shop.settings.budget.currency,
            duration_s=sum(step.duration_s for step in self._steps if isinstance(step, Replied | CellRan)),
            pictures=dict(self._pictures()),
        )
        report = render_report(given)
        files = [
            StoredFile(name=file.name, mimetype=file.mimetype, size=len(file.data), sha256=blobs.put(file.data))
            for file in report.files
        ]
        made = {file.name: file for cell in self._cells for file in cell.files}
        store.save_report(self._lease, self._row.id, report.markdown, [*files, *made.values()])
        self._show.messages("report", report.messages)
        self._show.files("report:files", [*files, *made.values()])

    def _pictures(self) -> Iterator[tuple[str, bytes]]:
        """The charts by their hash; one that the file store has lost is left out of the report."""
        for figure in (figure for cell in self._cells for figure in cell.figures):
            with suppress(BlobMissing):
                yield figure.sha256, self._shop.blobs.get(figure.sha256)

    # --- the parts of the above

    def _turn(self) -> Turn:
        shop, limits = self._shop, self._shop.settings.limits
        *earlier, steps = as_it_stands((*self._earlier, self._steps))
        return Turn(
            id=self._row.id,
            language=self._language,
            steps=steps,
            earlier=tuple(past for past in earlier if past),
            limits=AgentLimits(
                max_cells=limits.max_cells,
                max_model_calls=limits.max_model_calls,
                output_chars=limits.output_to_model_chars,
                files_chars=limits.files_chars,
                context_chars=limits.context_chars,
            ),
            allowance=allowance(shop.settings, shop.store, self._lease.thread_id, shop.model.name, steps),
            environment=environment_of(shop.environment, shop.settings, self._lease.thread_id),
            prompts=self._shop.prompts,
            native_tools=self._shop.model.native_tools,
        )

    def _ran(self, action: RunCell, result: CellResult) -> CellRan:
        """A cell's result as a step: its artifacts kept in the file store, its texts as the executor bounded them."""
        error = result.error
        return CellRan(
            call_id=action.call_id,
            cell_id=action.cell_id,
            title=action.title,
            code=action.code,
            language=action.language,
            status=result.status,
            stdout=result.stdout,
            stderr=result.stderr,
            result=result.result.text if result.result else "",
            error_name=error.name if error else "",
            error=(error.traceback or error.message) if error else "",
            error_line=error.line if error else None,
            figures=tuple(self._kept(made) for made in result.artifacts if made.kind == "figure"),
            files=tuple(self._kept(made) for made in result.artifacts if made.kind == "file"),
            rejected=tuple(FileProblem(name=refused.name, why=refused.why) for refused in result.rejected),
            files_read=result.files_read,
            duration_s=result.duration_s,
            notice=result.notice or "",
            told=worded(result, self._language),
        )

    def _kept(self, artifact: Artifact) -> StoredFile:
        sha256 = self._shop.blobs.put(Path(artifact.path))
        return StoredFile(name=artifact.name, mimetype=artifact.mimetype, size=artifact.size, sha256=sha256)

    def _append(self, step: Step) -> None:
        self._shop.store.append_step(self._lease, self._row.id, dump_step(step))
        self._steps.append(step)

    def _take(self, mail: Sequence[StoredMessage], steps: Sequence[Step]) -> None:
        ids = [message.id for message in mail]
        self._shop.store.take_mail(self._lease, self._row.id, ids, [dump_step(step) for step in steps])
        self._steps.extend(steps)

    @property
    def _has_files(self) -> bool:
        """Whether the thread has any file that can be read."""
        return any(isinstance(step, Briefed) and step.files for turn in (*self._earlier, self._steps) for step in turn)

    @property
    def _cells(self) -> list[CellRan]:
        return [step for step in self._steps if isinstance(step, CellRan)]

    @property
    def _questions(self) -> int:
        return sum(isinstance(step, Questioned) for step in self._steps)

    def _open_question(self) -> Questioned | None:
        """The question that nobody answered yet."""
        for step in reversed(self._steps):
            if isinstance(step, Questioned):
                return step
            if isinstance(step, Asked):
                return None
        return None

    def _progress(self, status: str, *, running: RunCell | None = None, said: str = "") -> None:
        self._shown_at = time.monotonic()
        note = "" if running else said.strip().rpartition("\n")[2]
        output = said if running else ""
        view = progress_of(
            self._steps, self._language, running=running, live_output=output, note=clip(note, NOTE_CHARS)
        )
        self._show.progress(view, status)

    def _tick(self, said: str, *, running: RunCell | None = None) -> None:
        """Something came out of the model or of a cell: worth a new state of the card now and then."""
        if time.monotonic() - self._shown_at > LIVE_INTERVAL_S:
            self._progress("status_running" if running else "status_thinking", running=running, said=said)

    def _rest(self, status: TurnStatus) -> None:
        self._patiently(partial(self._shop.luggage.pack, self._lease))
        self._show.rest(self._steps, status)
        self._shop.store.set_turn_status(self._lease, self._row.id, status)
        self._resting = True
        log.info("turn rests", status=status)

    def _patiently(self, call: Callable[[], Result]) -> Result:
        """The result of a call to the session host, tried again while the host is being restarted."""
        deadline = time.monotonic() + HOST_PATIENCE_S
        while True:
            try:
                return call()
            except HostUnavailable:
                if time.monotonic() > deadline:
                    raise
                RETRIES.labels("session_host", "unavailable").inc()
                time.sleep(HOST_RETRY_S)


def _last_stop(mail: Sequence[StoredMessage], question: Questioned | None) -> StoredMessage | None:
    """The last wish to stop that came. A word that is an option of the open question ("Cancel") is its answer."""
    options = {option.strip().casefold() for option in question.options} if question else set()
    stops = [message for message in mail if message.kind == "stop" and message.text.strip().casefold() not in options]
    return max(stops, key=lambda message: message.id, default=None)


class Tail:
    """The end of a text that comes in pieces; tells after each piece what it is now."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._text = ""
        self._tell = tell

    def add(self, piece: str) -> None:
        """One more piece."""
        self._text = (self._text + piece)[-LIVE_OUTPUT_CHARS:]
        self._tell(self._text)
