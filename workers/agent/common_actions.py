"""Actions that several modules of the agent decide on: to correct the model, and to ask whether something may run."""

from __future__ import annotations

from core.steps import Approval
from workers.agent.about_steps import approvals_asked
from workers.agent.actions import AskApproval, CorrectModel
from workers.agent.turn import Turn


def correct(turn: Turn, prompt: str, call_id: str | None, /, **variables: object) -> CorrectModel:
    """Tell the model this prompt; its name is the reason of the correction."""
    return CorrectModel(prompt, turn.prompts.render(prompt, **variables), call_id)


def ask_approval(turn: Turn, approval: Approval) -> AskApproval:
    """Ask people to decide. The number tells this question from those before it."""
    return AskApproval(approval, approvals_asked(turn.steps) + 1)
