"""Decides what happens next in a turn. A pure function of the steps so far: the same steps give the same action. So the
next worker resumes a turn by asking again.

    another worker has the thread                     → LetGo
    a person gave a command                           → Obey; their own code → RunCell first
    nobody asked, closed, or a question is open       → Wait
    nobody decided in time whether something may run  → GiveUp
    the session began again, and has start-up code    → RunCell
    the model could not be asked                      → Compact when the prompt was too long, else GiveUp
      a judge, a debugger or a second way could not   → RecordVerdict, CorrectModel, RecordRoute: no answer is lost
    a function is to be learned                       → AskModel "learn", TryFunction, ProposeFunction (`learning.py`)
    files came and none can be read                   → GiveUp
    the model's last reply has an open intent         → do it: run the cell, ask the person, judge and post the report
      it is a cell that a plan came with              → RecordPlan first
      the team reviews in stages                      → AskApproval for plan and stages (`staged_review.py`)
      it is a cell that waits for a yes by the policy → AskApproval, then what the person decided
      it stopped to ask about a statement, and got a yes → RunCell once more, without the model
      a report                                        → it is checked, then posted (`finishing.py`)
      a report that is off the channel's layout       → CorrectModel "layout" once, then it is laid out by us
      a report may be posted, a second way is wanted  → AskModel "route", RunRoute, then Finish
    nobody asked the analyst anything                 → Close
    a playbook whose data has drifted                 → AskHuman whether to follow it
    a person decided on a report that was held back   → Finish or GiveUp
    too many replies that led to nothing              → GiveUp
    the same code or error too often                  → CorrectModel "change of approach", the next time GiveUp
    replies used up                                   → GiveUp
    an error came again                               → AskModel "debug" twice, then CorrectModel (`debugging.py`)
    even the shortest prompt is far too long          → GiveUp, with the count
    else                                              → AskModel
    a call of a model that is estimated to be dear    → AskApproval first (`costs.py`)

The first line that fits counts; the last line holds for every AskModel. Where the replies ran out or led to nothing,
or no prompt is short enough, the last report that was sent back is posted in place of GiveUp, if there is one.

A person's message never cancels cells that the model asked for; the model reads it together with their outputs. A
report or question written before that message is not posted: the model is told to read the message first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from core.commands.registry import RUN, STARTUP, argument_of
from core.phrases import number, say
from core.steps import (
    APPROVAL_EXPIRED,
    APPROVAL_REJECTED,
    OUR_CALLS,
    OWN_CALL,
    Approval,
    CellRan,
    Commanded,
    Corrected,
    Decided,
    LeaseGone,
    ModelFailed,
    Planned,
    Questioned,
)
from workers.agent import debugging, guards
from workers.agent.about_steps import asks_analyst, only_unreadable_files, pending_command
from workers.agent.actions import (
    Action,
    AskApproval,
    AskHuman,
    AskModel,
    Close,
    Compact,
    CorrectModel,
    Finish,
    GiveUp,
    LetGo,
    Obey,
    RecordPlan,
    RecordRoute,
    RecordVerdict,
    RunCell,
    Wait,
)
from workers.agent.allowed_cells import asking_cell, is_let_run, last_runs, needs_a_yes, runs_again
from workers.agent.cell_functions import cell_function
from workers.agent.code.risks import Touched, touched
from workers.agent.common_actions import ask_approval, correct
from workers.agent.costs import within_costs
from workers.agent.finishing import answer_of_hold, author_since, finish, give_up, out_of_replies, refused_report
from workers.agent.learning import learn
from workers.agent.playbooks import drift_question
from workers.agent.prompt.messages import messages, tokens_of
from workers.agent.prompt.step_blocks import decided_on_cell, sanitize_name
from workers.agent.replies import plans
from workers.agent.replies.intents import Intent, Malformed, Question, Report, RunBash, RunPython
from workers.agent.replies.parse import read_reply
from workers.agent.replies.revisions import unfit
from workers.agent.replies.tools import CHANGES_UNFIT, TOOLS, TOOLS_WITH_BASH, title_of
from workers.agent.staged_review import before_plan, staged_review
from workers.agent.startup import startup_cell
from workers.agent.text import CHARS_PER_TOKEN, quoted
from workers.agent.turn import Episode, Turn

_OTHER_TOOLS = ("unknown_tool", "wrong_language")
PROMPT_TOLERANCE = 1.25
"""A prompt may exceed the limit this many times: its last parts cannot be shortened, and our count is an estimate."""
MAX_COMPACTIONS = 2
"""Times in a row that a prompt is halved when the endpoint finds it too long."""


def decide(turn: Turn) -> Action:
    """Returns the next action. Never raises, whatever a model, a cell or a person has said."""
    return within_costs(turn, _next(turn))


def _next(turn: Turn) -> Action:
    if any(isinstance(step, LeaseGone) for step in turn.steps):
        return LetGo()
    if command := pending_command(turn.steps):
        return _own_cell(turn, command) or Obey(command)
    if turn.resting:
        return Wait()
    if expired := _expired(turn):
        return expired
    if asks_analyst(turn.steps) and (startup := startup_cell(turn)) is not None:
        return startup
    if isinstance(failure := turn.steps[-1], ModelFailed):
        return _after_failure(turn, failure)
    if learning := learn(turn):
        return learning
    if only_unreadable_files((*turn.earlier, turn.steps)):
        return GiveUp("needs_readable_file", say("needs_readable_file", turn.language), "user")
    episode = turn.episode
    if episode is not None:
        intents = read_reply(episode.reply, episode.number).intents
        done = {step.call_id for step in episode.steps if isinstance(step, CellRan | Corrected | Questioned)}
        done -= runs_again(episode.steps).keys()
        for intent in intents:
            if intent.call_id not in done:
                return _follow(turn, episode, intent, alone=_is_alone(turn, intent, intents))
    if not asks_analyst(turn.steps):
        return Close()
    return drift_question(turn.steps, turn.language) or _stop_or_change(turn) or debugging.next_step(turn) or _ask(turn)


def _own_cell(turn: Turn, command: Commanded) -> RunCell | None:
    """The cell for a person's own code. None if it ran already, if there is no code, or after a stop."""
    code = argument_of(command.command, command.text) if command.command in (RUN, STARTUP) else ""
    call_id = f"{OWN_CALL}{command.ts}"
    own = [step.call_id for step in turn.steps if isinstance(step, CellRan) and step.is_own]
    stopped = any(isinstance(step, Commanded) and step.command == "stop" for step in turn.steps_after_command(command))
    if not code.strip() or call_id in own or stopped:
        return None
    if command.command == RUN and (startup := startup_cell(turn)) is not None:
        return startup
    author = command.author or command.user
    title = say("own_cell", turn.language, author=sanitize_name(author), title=title_of(code))
    cell_id = f"{turn.id}/p{len(own) + 1}"
    return RunCell(call_id, cell_id, title, code, user=command.user, author=author)


def _expired(turn: Turn) -> GiveUp | None:
    """The end of a turn in which nobody decided in time. None once somebody decided or wrote "continue" since."""
    if not isinstance(last := turn.steps[-1], Decided) or last.outcome != "expired":
        return None
    asked = (step.approval for step in turn.steps if isinstance(step, Questioned) and step.call_id == last.call_id)
    approval = next((each for each in asked if each), None)
    title = approval.title if approval else ""
    if approval and approval.what == "statement":  # its own title names the source or the tool, not the step
        cell = asking_cell(turn.steps, last.call_id)
        title = cell.title if cell else ""
    title = title or say("progress_cell", turn.language)
    return GiveUp(APPROVAL_EXPIRED, say(APPROVAL_EXPIRED, turn.language, title=title), "user")


def _after_failure(turn: Turn, failure: ModelFailed) -> Action:
    """If a judge or second way cannot be asked, no answer is lost. A prompt that is too long is halved some times."""
    if failure.purpose == "check":
        return RecordVerdict(True, "the judge could not be asked")
    if failure.purpose == "debug":
        return CorrectModel(debugging.DONE, "")
    if failure.purpose == "route":
        return RecordRoute("", "unasked")
    if failure.reason == "model_context":
        if guards.compactions(turn) < MAX_COMPACTIONS:
            return Compact(failure.prompt_chars // 2)
        if (refused := refused_report(turn)) is not None:  # asking again later would not help
            return refused
    tokens = number(failure.prompt_chars // CHARS_PER_TOKEN, turn.language)
    return GiveUp(failure.reason, say(failure.reason, turn.language, tokens=tokens))


def _follow(turn: Turn, episode: Episode, intent: Intent, alone: bool) -> Action:
    """Acts on one intent of the last reply. `alone`: a question or report rests on no other call of the reply."""
    match intent:
        case Malformed():
            return _correct_malformed(turn, intent)
        case RunBash() if not turn.has_bash:
            return _correct_malformed(turn, Malformed(intent.call_id, "unknown_tool", intent.called))
        case RunPython() | RunBash():
            return _run(turn, episode, intent)
        case Question() | Report():
            what = "question" if isinstance(intent, Question) else "report"
            if not alone:
                return correct(turn, "too_early", intent.call_id, what=what)
            if isinstance(intent, Report) and episode.reply.user:
                return Finish(intent.text, author=episode.reply.author)
            if author_since(episode, intent) and guards.replies_left(turn):
                return correct(turn, "new_message", intent.call_id, what=what, native_tools=turn.native_tools)
            if isinstance(intent, Report) and turn.staged:
                return staged_review(turn, episode, intent) or _stop_or_change(turn) or _ask(turn)
            if isinstance(intent, Question) and not (guards.replies_left(turn) or episode.reply.user):
                return out_of_replies(turn, intent)
            if isinstance(intent, Question):
                return AskHuman(intent.call_id, intent.question, intent.options)
            return finish(turn, episode, intent)
        case _:
            assert_never(intent)


def _is_alone(turn: Turn, intent: Intent, intents: Sequence[Intent]) -> bool:
    """Whether a question or report of a reply counts. It comes first, and a report comes with no cell.

    A report may speak of what a cell behind it makes. The last reply's report counts all the same: none would follow.
    """
    if intent is not intents[0]:
        return False
    with_cells = any(isinstance(each, RunPython | RunBash) for each in intents)
    return not (isinstance(intent, Report) and with_cells and guards.replies_left(turn))


def _run(turn: Turn, episode: Episode, intent: RunPython | RunBash) -> Action:
    if not episode.reply.user and (first := before_plan(turn, intent.call_id)) is not None:
        return first
    if why := _why_skipped(episode):
        return correct(turn, "skipped", intent.call_id, why=why)
    if any(isinstance(step, Decided) and step.outcome in ("redo", "other") for step in episode.steps):
        settled = decided_on_cell(episode.steps, intent.call_id)
        if settled is None:
            return correct(turn, "not_approved", intent.call_id, outcome="behind", author="", hint="")
    if not guards.cells_left(turn) and intent.call_id not in runs_again(episode.steps):
        here = sum(isinstance(step, Corrected) and step.reason == guards.OUT_OF_CELLS for step in episode.steps)
        if guards.corrections(turn, guards.OUT_OF_CELLS) > here:  # other cells of this reply do not count
            return give_up(turn, "out_of_cells", turn.limits.max_cells)
        return correct(
            turn, guards.OUT_OF_CELLS, intent.call_id, max_cells=turn.limits.max_cells, native_tools=turn.native_tools
        )
    if isinstance(intent, RunPython) and (plan := _new_plan(turn, episode, intent)) is not None:
        return plan
    cell_id = f"{turn.id}/c{guards.cells_run(turn) + 1}"
    if isinstance(intent, RunBash):
        cell = RunCell(intent.call_id, cell_id, intent.title, intent.command, "bash")
    else:
        stopped = runs_again(episode.steps).get(intent.call_id, "")
        cell = RunCell(intent.call_id, cell_id, intent.title, intent.code, plan_step=intent.step, instead_of=stopped)
    if user := episode.reply.user:
        title = say("spoken_cell", turn.language, author=sanitize_name(episode.reply.author), title=cell.title)
        cell = replace(cell, title=title, user=user, author=episode.reply.author)
        if cell.language == "python":
            return cell
    decided = decided_on_cell(episode.steps, intent.call_id)
    if decided is None or decided.outcome == "expired":
        return _ask_approval(turn, cell) or cell
    return _as_decided(turn, cell, decided)


def _why_skipped(episode: Episode) -> str:
    """Why the cells that are left of a reply do not run: one before "failed", or "waits" for a yes that it did not get,
    or the people were "asked". "" if they do."""
    again = runs_again(episode.steps)
    ended = (cell for cell in last_runs(episode.steps) if not cell.is_own and cell.call_id not in again)
    if (failed := next((cell for cell in ended if cell.status != "ok"), None)) is not None:
        return "waits" if needs_a_yes(failed) else "failed"
    asked = any(isinstance(step, Questioned) and not step.call_id.startswith(OUR_CALLS) for step in episode.steps)
    return "asked" if asked else ""


def _new_plan(turn: Turn, episode: Episode, intent: RunPython) -> RecordPlan | None:
    """The plan that came with a cell, once. In staged review the plan that people approved counts. The same plan again
    is no new plan."""
    kept = any(isinstance(step, Planned) and step.call_id == intent.call_id for step in episode.steps)
    if kept or not intent.plan or turn.staged or episode.reply.user:
        return None
    before = plans.plan_of(turn.steps)
    if before is not None and before.steps == intent.plan:
        return None
    return RecordPlan(intent.plan, intent.why if before is not None else "", intent.call_id)


def _ask_approval(turn: Turn, cell: RunCell) -> AskApproval | None:
    """The question whether this cell may run; None when the policy lets it run. A command of bash is always asked."""
    found = touched(cell.code) if cell.language == "python" else Touched()
    asks = {
        "never": False,
        "plan": False,
        "first cell": not guards.cells_run(turn),
        "risky": bool(found.risks),
        "every cell": True,
    }
    if cell.language == "python" and (not asks[turn.approvals] or is_let_run(turn.steps, cell.code)):
        return None
    approval = Approval(
        what=cell.language,
        title=cell.title,
        code=cell.code,
        call=cell.call_id,
        risks=found.risks,
        reads=found.reads,
        writes=found.writes,
    )
    return ask_approval(turn, approval)


def _as_decided(turn: Turn, cell: RunCell, decided: Decided) -> Action:
    match decided.outcome:
        case "run":
            return cell
        case "edited":
            if decided.code == cell.code:
                return cell
            by = sanitize_name(decided.editor or decided.author or decided.user)
            shown = cell.title or say("progress_cell", turn.language)
            title = say("edited_cell", turn.language, author=by, title=shown)
            return replace(cell, code=decided.code, title=title)
        case "reject":
            author = decided.author or decided.user
            return GiveUp(
                APPROVAL_REJECTED, say(APPROVAL_REJECTED, turn.language, author=author, title=cell.title), "user"
            )
        case _:
            author, hint = sanitize_name(decided.author or decided.user), quoted(decided.hint)
            return correct(turn, "not_approved", cell.call_id, outcome=decided.outcome, author=author, hint=hint)


def _stop_or_change(turn: Turn) -> Action | None:
    """The guards that end a turn or ask for a change of approach. None when the turn may go on."""
    if turn.episode is not None and answer_of_hold(turn.episode) and (refused := refused_report(turn)) is not None:
        return refused
    futile = guards.futile_replies(turn)
    if futile >= turn.limits.max_futile:
        unread = guards.corrections(turn, guards.NO_DATA_READ) >= turn.limits.max_futile
        return give_up(turn, "data_not_read" if unread else "nonsense_replies", futile)
    if again := guards.repetition(turn):
        if guards.corrections(turn, guards.CHANGE_OF_APPROACH):
            return give_up(turn, "stuck_on_error" if again.what == "error" else "stuck_on_code", again.times)
        return correct(
            turn,
            guards.CHANGE_OF_APPROACH,
            None,
            what=again.what,
            count=again.times,
            detail=again.detail,
            ran=again.ran,
        )
    if not guards.replies_left(turn):
        return out_of_replies(turn)
    return None


def _ask(turn: Turn) -> Action:
    """The next request; or the end of the turn when even the shortest one is far above the team's limit."""
    tools = TOOLS_WITH_BASH if turn.has_bash else TOOLS
    told, most = messages(turn), turn.limits.context_chars // CHARS_PER_TOKEN
    if (tokens := tokens_of(told)) > most * PROMPT_TOLERANCE:
        if (refused := refused_report(turn)) is not None:
            return refused
        counts = {"tokens": number(tokens, turn.language), "most": number(most, turn.language)}
        return GiveUp("prompt_too_long", say("prompt_too_long", turn.language, **counts), "user")
    return AskModel("act", told, tools if turn.native_tools else ())


def _correct_malformed(turn: Turn, intent: Malformed) -> CorrectModel:
    if intent.reason == "empty_reply":
        return correct(turn, "empty_reply", intent.call_id, native_tools=turn.native_tools)
    if intent.reason == CHANGES_UNFIT:
        misfit = unfit(turn.steps, intent.raw)
        count = misfit.count if misfit else 0
        return correct(turn, CHANGES_UNFIT, intent.call_id, passage=misfit.passage if misfit else "", count=count)
    text = turn.prompts.render(
        "malformed",
        reason=intent.reason,
        detail=intent.detail,
        native_tools=turn.native_tools,
        bash=turn.has_bash,
        inside=cell_function(intent.detail, turn.environment) if intent.reason in _OTHER_TOOLS else "",
    )
    return CorrectModel(intent.reason, text, intent.call_id)
