"""Running a cell in the thread's session, its result as a step, and what the thread sees of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path

from core.blobs import Blobs
from core.phrases import say
from core.slack.text import escape
from core.steps import CellRan, FunctionUsed, Questioned, Step
from core.telemetry import bind_fields, get_logger
from core.values import StoredFile
from executor.client import RequestError
from executor.values import Artifact, CellResult, Notice
from workers.agent.about_steps import cells, metrics_otherwise
from workers.agent.actions import RunCell
from workers.agent.prompt.step_blocks import decided_on_cell
from workers.agent.redrawn import titles_drawn_again
from workers.memory.functions.importing import setup_code
from workers.turn.cell_results import cell_ran
from workers.turn.holding import share_files
from workers.turn.limits import not_run, refused_import
from workers.turn.live import LineWatch, LiveProgress
from workers.turn.open_turn import OpenTurn
from workers.turn.privacy import with_values
from workers.turn.requests.dispatch import CellRequests
from workers.turn.sessions import ready_session, with_session_host
from workers.turn.silence import SilenceWatch
from workers.turn.stop_check import stopped_by
from workers.turn.team_memory import functions_for

log = get_logger(__name__)

NOT_TAKEN_BACK = (
    "A person allowed this, but what the cell did before it stopped to ask could not be taken back, so it did not run "
    "again by itself. See what is there, then send what is left of the cell, the statement or call unchanged."
)


def run_cell(turn: OpenTurn, action: RunCell) -> None:
    """Run the cell, keep its result as a step, show it. A cell that ran before gives its stored result."""
    with bind_fields(cell=action.cell_id):
        live = LiveProgress(turn, "status_running", action)
        answers = turn.context.broker is not None or turn.context.tools is not None
        requests = CellRequests(turn, action, live.again) if answers else None
        functions = functions_for(turn.context, turn.thread_id, action.code) if action.language == "python" else None
        result = _without_running(turn, action)
        if result is None:
            # The reply that asks for the cell may have been stored a moment ago: that has checked the lease.
            result = with_session_host(partial(_run, turn, action, live, requests, functions))
        log.info("cell_ended", status=result.status, seconds=round(result.duration_s, 3))
    export(turn)
    blobs = turn.context.blobs
    step = cell_ran(action, result, partial(_kept, blobs=blobs), partial(_kept_text, blobs=blobs), turn.language)
    if requests is not None:
        sources = requests.sources
        asked = {"statements": tuple(sources.statements), "lookups": tuple(sources.lookups)}
        ended = {"ended_by": requests.ended(result) or step.ended_by}
        step = step.model_copy(update={**asked, **ended, "tool_calls": requests.tools.calls})
    if functions:
        step = step.model_copy(update={"functions": functions})
    turn.append(step)
    show_cell(turn, step)


def export(turn: OpenTurn) -> None:
    """Keep the session for another node. When there is no room for it, the thread is told, once per turn and reason."""
    over = with_session_host(partial(turn.context.transfer.export_state, turn.lease))
    if over is not None:
        text = say(f"session_over_{over.scope}", turn.language, used_mb=over.used_mb, limit_mb=over.limit_mb)
        turn.show.say(f"quota:{over.scope}", text)


def show_cell(turn: OpenTurn, cell: CellRan) -> None:
    """Show a cell's charts, messages about its session, and metrics that it computes in another way than the team.

    For a person's own code, the whole result with its files is shown. If a cell was stopped, the card says so.
    """
    if cell.is_own:
        turn.show.own_cell(cell)
    before = takewhile(lambda each: each.cell_id != cell.cell_id, cells(turn.steps))
    turn.show.figures(cell, titles_drawn_again(cell, list(before)))
    if cell.is_own:
        share_files(turn, f"made:{cell.cell_id}", cell.files)
    if cell.notice and cell.status == "ok":
        text = say("session_notice", turn.language, notice=cell.notice_text or cell.notice)
        turn.show.say(f"notice:{cell.cell_id}", escape(text), below_card=True)
    if cell.status == "ok" and (names := _first_otherwise(turn.steps, cell)):
        text = say("metric_otherwise", turn.language, names=", ".join(names), count=len(names))
        turn.show.say(f"metric:{cell.cell_id}", escape(text), below_card=True)


def _first_otherwise(steps: Sequence[Step], cell: CellRan) -> list[str]:
    """The metrics that this cell computes in another way, and no cell of the turn before it: people hear it once."""
    earlier = takewhile(lambda ran: ran.cell_id != cell.cell_id, (step for step in steps if isinstance(step, CellRan)))
    told = {name for ran in earlier if ran.status == "ok" for name in metrics_otherwise(ran)}
    return [name for name in metrics_otherwise(cell) if name not in told]


def _kept(artifact: Artifact, blobs: Blobs) -> StoredFile:
    sha256 = blobs.put(Path(artifact.path))
    return StoredFile(name=artifact.name, mimetype=artifact.mimetype, size=artifact.size, sha256=sha256)


def _kept_text(name: str, text: str, blobs: Blobs) -> StoredFile:
    data = text.encode("utf-8", "replace")
    return StoredFile(name=name, mimetype="text/plain", size=len(data), sha256=blobs.put(data))


def _is_approved(steps: Sequence[Step], action: RunCell, command: str) -> bool:
    """Whether a person let just this command run. `decide` asks first; here it is looked up once more in the steps."""
    decided = decided_on_cell(steps, action.call_id)
    if decided is None or command != action.code:
        return False
    if decided.outcome == "edited":
        return command == decided.code
    asked = [step.approval for step in steps if isinstance(step, Questioned) and step.call_id == decided.call_id]
    return decided.outcome == "run" and any(each is not None and each.code == command for each in asked)


def _without_running(turn: OpenTurn, action: RunCell) -> CellResult | None:
    """The result of a cell that is not to run: its node is lost, or it imports what it may not. None if it may run."""
    # It may have had effects there, so it does not run again.
    if turn.context.transfer.began_elsewhere(turn.thread_id, action.cell_id):
        lost = Notice("text", {"text": say("cell_lost_with_host", turn.language)})
        return CellResult(action.cell_id, "died", notices=(lost,))
    if action.language == "python" and (why := refused_import(turn.context.settings, action.code)):
        return not_run(action.cell_id, why)
    return None


def _is_taken_back(turn: OpenTurn, action: RunCell) -> bool:
    """Whether nothing is left of the run that stopped to ask. A worker may have died after this: then the cell itself
    has begun, and its result is asked for again."""
    sessions = turn.context.sessions
    try:
        is_undone = sessions.undo(turn.thread_id, action.instead_of)
    except RequestError:  # a cell runs: it is this one
        return True
    return is_undone or action.cell_id in sessions.export_session(turn.thread_id).cells


def _run(
    turn: OpenTurn,
    action: RunCell,
    live: LiveProgress,
    requests: CellRequests | None,
    functions: Sequence[FunctionUsed] | None,
) -> CellResult:
    thread_id, context = turn.thread_id, turn.context
    if ready_session(turn) or not turn.wrote_just_now():
        context.store.check(turn.lease)  # a worker that was paused past its lease starts no cell
    if action.instead_of and not _is_taken_back(turn, action):
        return not_run(action.cell_id, NOT_TAKEN_BACK, "NotTakenBack")
    context.transfer.begin_cell(turn.lease, action.cell_id)
    if requests is not None:
        requests.begin()

    def stop() -> None:
        if requests is not None:
            requests.stop()
        context.sessions.interrupt(thread_id)

    watch = SilenceWatch(turn, action)

    def show(stream: str, text: str) -> None:
        watch.heard(text)
        live.add(text)

    try:
        with stopped_by(turn.stop_asked, stop), context.waiting.one_more(), watch, LineWatch(turn, action, live):
            if action.language == "bash":
                approve = partial(_is_approved, turn.steps, action)
                return context.sessions.bash(thread_id, action.cell_id, action.code, approve=approve, on_output=show)
            if functions is not None:  # also none of those that are named: an import must not find withdrawn ones
                context.sessions.run(thread_id, f"{action.cell_id}:team", setup_code(functions))
            code = with_values(turn, action.code)
            return context.sessions.run(thread_id, action.cell_id, code, on_output=show, on_request=requests)
    finally:
        watch.store_look()
