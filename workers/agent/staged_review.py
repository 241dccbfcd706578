"""Staged review: people decide on the plan first, and then on the result of each stage (`stages.py`). Pure."""

from __future__ import annotations

from collections.abc import Sequence

from core.phrases import say
from core.steps import APPROVAL_REJECTED, Approval, Asked, Corrected, Decided
from workers.agent import guards, stages
from workers.agent.actions import Action, AskApproval, Finish, GiveUp
from workers.agent.common_actions import ask_approval, correct
from workers.agent.finishing import as_checked, being_checked
from workers.agent.prompt.step_blocks import decided_on_cell, sanitize_name
from workers.agent.replies.intents import Report
from workers.agent.report.sourcing import trace_report
from workers.agent.staged_report import staged_report
from workers.agent.text import one_line, quoted
from workers.agent.turn import Episode, Turn


def staged_review(turn: Turn, episode: Episode, report: Report) -> Action | None:
    """A report in staged review: first the plan, then the result of each stage. People decide on each.

    None when they have agreed and more stages follow: the turn goes on.
    """
    plan, done = stages.plan_of(turn.steps), stages.results(turn.steps)
    decided = decided_on_cell(episode.steps, report.call_id)
    if decided is not None and decided.outcome in ("run", "edited", "skip") and plan is not None:
        if len(done) >= len(plan):
            text, sources = staged_report(turn, done)
            return Finish(text, partial=all(result.skipped for result in done), sources=sources)
        return None
    if decided is not None and decided.outcome in ("redo", "other", "reject"):
        return _sent_back(turn, report.call_id, decided)
    if plan is None:
        listed = stages.read_stages(report.text) or _whole_question(turn)
        return _ask_plan(turn, listed, report.call_id)
    if checking := being_checked(turn, episode, report):
        return checking
    now = stages.stage_now(turn.steps) or stages.Now(plan[-1], len(plan), len(plan))
    title = say("stage_title", turn.language, number=now.number, count=now.of, title=now.stage.title)
    folded = stages.code_since_last_stage(turn.steps)
    text = as_checked(turn, episode, trace_report(turn, report.text))
    return ask_approval(turn, Approval(what="stage", title=title, code=text, call=report.call_id, folded=folded))


def before_plan(turn: Turn, call_id: str) -> Action | None:
    """What must come before a cell in staged review. None once the plan is approved.

    The model is asked for a plan once. If it goes on with code, the whole question becomes the plan's only stage.
    """
    if not turn.staged or stages.plan_of(turn.steps) is not None:
        return None
    last = stages.last_plan(turn.steps)
    decided = last[1] if last is not None else None
    if decided is not None and decided.outcome == "reject":
        return _sent_back(turn, call_id, decided)
    if decided is not None and decided.outcome in ("redo", "other"):
        after = turn.steps[turn.steps.index(decided) :]
        if not any(isinstance(step, Corrected) for step in after):
            return _sent_back(turn, call_id, decided)
    if not guards.corrections(turn, stages.PLAN_FIRST):
        return correct(turn, stages.PLAN_FIRST, call_id, native_tools=turn.native_tools)
    return _ask_plan(turn, _whole_question(turn), stages.PLAN_CALL)


def _ask_plan(turn: Turn, listed: Sequence[stages.Stage], call_id: str) -> AskApproval:
    title = say("plan_title", turn.language, count=len(listed))
    return ask_approval(turn, Approval(what="plan", title=title, code=stages.plan_text(listed), call=call_id))


def _whole_question(turn: Turn) -> tuple[stages.Stage, ...]:
    asked = [step.text for step in turn.steps if isinstance(step, Asked) and step.text.strip()]
    return (stages.Stage(one_line(asked[0], 120) if asked else say("progress_report", turn.language), ""),)


def _sent_back(turn: Turn, call_id: str, decided: Decided) -> Action:
    author = decided.author or decided.user
    if decided.outcome == "reject":
        return GiveUp(APPROVAL_REJECTED, say("plan_stopped", turn.language, author=author), "user")
    hint = quoted(decided.hint)
    return correct(turn, "stage_sent_back", call_id, author=sanitize_name(author), hint=hint)
