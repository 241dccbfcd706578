"""Presses and forms that decide whether a cell or a statement may run.

A press or a submitted form becomes a message of kind DECISION. The worker decides whether it counts: it takes the first
decision of somebody who may decide, and drops all others. If the question is already decided, a press only draws the
message again. "Edit" and "Redo with a hint" open a form for people who may decide.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from bot.handling import Handling
from bot.payloads import read_form, read_press
from bot.pressed import pressed
from core.commands.approvals import DECISION, Decision, Do
from core.errors import SlackFailed, SlackUnreachable
from core.interactions import ApprovalButton, EditForm, HintForm
from core.phrases import say
from core.rows import TurnRow
from core.slack.blocks import SlackMessage
from core.slack.text import escape
from core.slack.views import approvals as drawn
from core.slack.views.modals import View, field_id
from core.slack.writing.writer import SlackWriter
from core.steps import Commanded, Decided, Draft, Questioned, Step, decision_on, draft_of, open_question
from core.store import Store
from core.telemetry import get_logger
from core.thread_cells import told_from
from core.values import IncomingMessage, ThreadKey

log = get_logger(__name__)

_DECIDES: Final[Mapping[str, Do]] = {"run": "run", "skip": "skip", "reject": "reject"}


class Asked(NamedTuple):
    """A question whether something may run, as it is in the Store. `end` is its outcome."""

    turn: TurnRow
    draft: Draft
    is_open: bool
    end: Decided | Commanded | None

    @property
    def question(self) -> Questioned:
        """The question as its text reads now."""
        return self.draft.question

    @property
    def key(self) -> ThreadKey:
        """The thread that was asked."""
        return ThreadKey.parse(self.turn.thread_id)


class Approvals:
    """The listeners of `ApprovalButton`, `EditForm` and `HintForm`. Nothing is kept in memory."""

    def __init__(self, store: Store, slack: SlackWriter, handler: Handling) -> None:
        self._store = store
        self._slack = slack
        self._handler = handler

    def press(self, body: Mapping[str, Any], team: str) -> str:
        """Do what a button says. Returns the outcome, a word for the log. Raises StoreUnreachable: then no ack."""
        press = read_press(body)
        button = ApprovalButton.decode(press.value) if press else None
        if press is None or button is None or not press.ts:
            return "malformed"
        asked, user, ts = self._asked(button.turn, button.call, team), press.user, press.ts
        if asked is None or asked.key.channel != press.channel:
            return "unknown"
        if button.do == "show":
            if not self._may_read(asked, user, ts):
                return "refused"
            self._open(asked, user, press.trigger, drawn.code_view(asked.question, asked.turn.language))
            return "shown"
        if not asked.is_open:
            self._redraw(asked, press.shown, user)
            return "late"
        if button.do in ("edit", "redo"):
            claim = _message(asked, Decision(call=button.call, do="redo"), ts, user)
            if not self._handler.gate.may(claim):
                return "refused"
            language = asked.turn.language
            if button.do == "edit":
                if not self._may_read(asked, user, ts):
                    return "refused"
                view = drawn.edit_view(asked.draft, button.turn, language)
            else:
                view = drawn.hint_view(asked.question, button.turn, language)
            self._open(asked, user, press.trigger, view)
            return "form"
        if button.do == "run" and button.draft != asked.draft.number:
            self._tell_changed(asked, press.shown, user)
            return "outdated"
        if button.do == "run" and user in {step.user for step in asked.draft.agreed}:
            self._slack.whisper(asked.key, user, escape(say("approval_agreed_twice", asked.turn.language)))
            return "agreed before"
        decision = Decision(call=button.call, do=_DECIDES[button.do], draft=button.draft)
        self._handler.take_decision(_message(asked, decision, ts, user))
        return "taken"

    def submit(self, body: Mapping[str, Any], team: str) -> dict[str, str]:
        """Take in a form. Returns what is wrong with it, a sentence under each field; {} when the form may close.

        Raises StoreUnreachable: then no ack.
        """
        given = read_form(body)
        if given is None:
            return {}
        kinds = (EditForm, HintForm)
        form = next((kind.decode(given.metadata) for kind in kinds if given.callback == kind.ID), None)
        texts, user = drawn.submitted(given.view), given.user
        asked = self._asked(form.turn, form.call, team) if form is not None and texts else None
        if form is None or asked is None or asked.question.approval is None or not texts:
            log.info("form_ignored", form=given.callback[:40])
            return {}
        if not asked.is_open:
            self._tell_late(asked, user)
            return {}
        if isinstance(form, HintForm):
            decision = Decision(call=form.call, do="redo", hint=texts[0].strip())
        else:
            if form.draft != asked.draft.number:
                return {field_id(0): say("approval_other_edit", asked.turn.language, editor=asked.draft.editor)}
            if not "".join(texts).strip():
                return {field_id(0): say("approval_empty", asked.turn.language)}
            if asked.question.approval.what == "python" and (wrong := drawn.syntax_error(texts, asked.turn.language)):
                return wrong
            code = "\n".join(texts)
            do: Do = "run" if code == asked.question.approval.code else "edited"
            decision = Decision(call=form.call, do=do, code=code if do == "edited" else "", draft=form.draft)
        # A form has no ts of its own. When Slack sends one twice, the second finds the question decided.
        self._handler.take_decision(_message(asked, decision, f"{time.time():.6f}", user))
        return {}

    def _asked(self, turn_id: str, call: str, team: str) -> Asked | None:
        turn = self._store.turn(turn_id)
        if turn is None or ThreadKey.parse(turn.thread_id).team != team:
            return None
        steps = self._store.steps(turn_id)
        places = [n for n, step in enumerate(steps) if isinstance(step, Questioned) and step.call_id == call]
        question = steps[places[-1]] if places else None
        if not isinstance(question, Questioned) or question.approval is None:
            return None
        is_open = turn.status in ("running", "waiting") and open_question(steps) is question
        return Asked(turn, draft_of(steps, question), is_open, _end(steps[places[-1] :], call))

    def _may_read(self, asked: Asked, user: str, ts: str) -> bool:
        """Whether a person may read the whole text of a question, which can hold what cells read. Others are told."""
        held = told_from(list(self._store.thread_steps(asked.key.id).values()))
        return self._handler.gate.may_look(pressed(asked.key, user, ts), held, as_approver=True)

    def _open(self, asked: Asked, user: str, trigger: str, view: View) -> None:
        if not self._slack.open_form(asked.key, trigger, view):
            self._slack.whisper(asked.key, user, escape(say("approval_no_form", asked.turn.language)))

    def _redraw(self, asked: Asked, shown: str, user: str) -> None:
        """Draw a decided question again, and tell who pressed too late what was decided."""
        self._update(asked, shown, drawn.decided_message(asked.question, asked.end, asked.turn.language))
        self._tell_late(asked, user)

    def _tell_changed(self, asked: Asked, shown: str, user: str) -> None:
        """Take the buttons from a text that somebody changed, and tell who said yes to it where the new one is."""
        language = asked.turn.language
        self._update(asked, shown, drawn.outdated_message(asked.draft, language))
        text = say("approval_other_text", language, editor=asked.draft.editor)
        self._slack.whisper(asked.key, user, escape(text))

    def _update(self, asked: Asked, shown: str, message: SlackMessage) -> None:
        try:
            self._slack.update(None, asked.key, shown, message.text, message.blocks)
        except (SlackFailed, SlackUnreachable) as error:
            log.warning("approval_not_redrawn", error=error)

    def _tell_late(self, asked: Asked, user: str) -> None:
        language = asked.turn.language
        approval = asked.question.approval
        is_review = approval is not None and approval.what in ("plan", "stage")
        line = (
            drawn.reviewed_line(approval, asked.end, language)
            if approval is not None and is_review
            else drawn.decided_line(asked.end, language)
        )
        text = say("approval_late", language, line=line)
        self._slack.whisper(asked.key, user, escape(text))


def _end(steps: list[Step], call: str) -> Decided | Commanded | None:
    stop = (step for step in reversed(steps) if isinstance(step, Commanded) and step.command == "stop")
    return decision_on(steps, call) or next(stop, None)


def _message(asked: Asked, decision: Decision, ts: str, user: str) -> IncomingMessage:
    return pressed(asked.key, user, ts, text=decision.encode(), kind=DECISION)
